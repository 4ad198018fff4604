"""Transitions are a set: their order does not matter, and what a query is not given does not reach it."""

import numpy as np
import pytest
import torch as th

from tiltyard.agents.models.in_context import ArmTransformer, Context, InContextTransformer


def made() -> InContextTransformer:
    th.manual_seed(0)
    network = InContextTransformer(2, 3, width=16, depth=3, heads=2)
    th.nn.init.normal_(network.head.weight)
    return network


def transitions(n: int) -> tuple[th.Tensor, th.Tensor, th.Tensor, th.Tensor]:
    th.manual_seed(n)
    return th.randn(2, n, 2), th.randint(3, (2, n)), th.randn(2, n), th.randn(2, n, 2)


def test_a_permutation_of_the_context_leaves_the_logits_as_they_are() -> None:
    network, data, queries = made(), transitions(7), th.randn(2, 4, 2)
    order, every = th.randperm(7), th.ones(2, 4, 7, dtype=th.bool)
    first = network(queries, network.read(*data), every)
    second = network(queries, network.read(*(part[:, order] for part in data)), every)
    th.testing.assert_close(first, second, atol=1e-6, rtol=1e-5)
    other = network(queries, network.read(data[0], data[1], data[2] + 1, data[3]), every)
    assert not th.allclose(first, other, atol=1e-3)  # rewards are looked at


def test_a_query_knows_what_it_is_given_and_no_other_query() -> None:
    network, data, queries = made(), transitions(6), th.randn(2, 3, 2)
    seen = th.arange(6) < th.tensor([0, 2, 6])[:, None]
    found = network(queries, network.read(*data), seen.expand(2, 3, 6))
    for place, count in enumerate((0, 2, 6)):
        few = network.read(*(part[:, :count] for part in data))
        alone = network(queries[:, place : place + 1], few, th.ones(2, 1, count, dtype=th.bool))
        th.testing.assert_close(found[:, place], alone[:, 0], atol=1e-6, rtol=1e-5)


def test_more_of_the_same_is_told_from_less() -> None:
    network, one = made(), transitions(1)
    queries = th.zeros(2, 1, 2)
    found = [
        network(queries, network.read(*(part.repeat_interleave(n, dim=1) for part in one)), th.ones(2, 1, n).bool())
        for n in (1, 4)
    ]
    assert not th.allclose(found[0], found[1], atol=1e-3)


def test_a_context_of_a_dataset_is_flat_and_grows() -> None:
    context = Context.of(np.zeros((2, 3, 2, 2)), np.ones((2, 3), int), np.ones((2, 3)), np.zeros((2, 3, 2, 2)))
    assert context.observations.shape == (2, 3, 4)
    grown = Context.empty(2, 4).joined(context).joined(context._replace(rewards=context.rewards + 1))
    assert grown.rewards[0].tolist() == [1, 1, 1, 2, 2, 2]
    assert grown.latest(2).rewards[0].tolist() == [2, 2]
    with pytest.raises(ValueError, match=r"arrays \[tasks, transitions, ...\] of one size.*actions \(2, 2\)"):
        Context.of(np.zeros((2, 3, 1)), np.ones((2, 2), int), np.ones((2, 3)), np.zeros((2, 3, 1)))


def arms() -> tuple[ArmTransformer, tuple[th.Tensor, ...], th.Tensor]:
    """A network for three actions of two features, six transitions, and four query states."""
    th.manual_seed(0)
    network = ArmTransformer(6, 3, width=16, depth=3, heads=2)
    th.nn.init.normal_(network.head.weight)
    data = (th.randn(2, 6, 6), th.randint(3, (2, 6)), th.randn(2, 6), th.randn(2, 6, 6))
    return network, data, th.randn(2, 4, 6)


def test_logits_go_with_the_features_in_whatever_order_actions_are_listed() -> None:
    network, (seen, actions, rewards, following), queries = arms()
    order = th.tensor([2, 0, 1])
    every = th.ones(2, 4, 6, dtype=th.bool)

    def listed(one: th.Tensor) -> th.Tensor:
        return one.unflatten(-1, (3, 2))[..., order, :].flatten(-2)

    first = network(queries, network.read(seen, actions, rewards, following), every)
    again = network.read(listed(seen), order.argsort()[actions], rewards, following)
    th.testing.assert_close(network(listed(queries), again, every), first[..., order], atol=1e-5, rtol=1e-5)
    assert not th.allclose(first[..., 0], first[..., 1], atol=1e-3)
    for data in ((seen, (actions + 1) % 3, rewards, following), (seen, actions, rewards + 1, following)):
        assert not th.allclose(network(queries, network.read(*data), every), first, atol=1e-3)


def test_actions_of_a_state_see_each_other_and_those_of_another_state_do_not() -> None:
    network, data, queries = arms()
    seen = (th.arange(6) < th.tensor([0, 2, 4, 6])[:, None]).expand(2, 4, 6)
    found = network(queries, network.read(*data), seen)
    assert found.shape == (2, 4, 3)
    for place, count in enumerate((0, 2, 4, 6)):
        few = network.read(*(part[:, :count] for part in data))
        alone = network(queries[:, place : place + 1], few, th.ones(2, 1, count, dtype=th.bool))
        th.testing.assert_close(found[:, place], alone[:, 0], atol=1e-5, rtol=1e-5)
    changed = queries.clone()
    changed[:, 1, :2] += 1  # the first action of the second state
    other = network(changed, network.read(*data), seen)
    th.testing.assert_close(other[:, [0, 2, 3]], found[:, [0, 2, 3]], atol=1e-6, rtol=1e-5)
    assert not th.allclose(other[:, 1, 1:], found[:, 1, 1:], atol=1e-4)


def test_features_that_actions_cannot_share_are_refused() -> None:
    with pytest.raises(ValueError, match="of each of 3 actions, which 7 numbers do not divide into"):
        ArmTransformer(7, 3, width=16, depth=1, heads=2)
