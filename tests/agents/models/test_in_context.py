"""Transitions are a set: their order does not matter, and what a query is not given does not reach it."""

import numpy as np
import pytest
import torch as th

from tiltyard.agents.models.in_context import Context, InContextTransformer


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
