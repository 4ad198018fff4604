"""The network of elements: its distribution of actions is exact, and equal words draw attention."""

from itertools import product

import numpy as np
import pytest
import torch as th

from tiltyard.agents.models.elements import (
    DRAG,
    ELEMENT_VERBS,
    OPEN,
    SPAN_VERBS,
    ActionDistribution,
    ActionHeads,
    ElementsNetwork,
    Shape,
    matches,
)

SMALL = Shape(width=16, layers=1, heads=2, token_width=8)


def observations(batch: int = 2) -> tuple[th.Tensor, th.Tensor]:
    """Three elements and five words, in the second one element and two words."""
    elements, goal = th.zeros(batch, 64, 24, dtype=th.int16), th.zeros(batch, 48, dtype=th.int16)
    for row, (n, g) in enumerate([(3, 5), (1, 2)][:batch]):
        elements[row, :n, 0] = 2
        elements[row, :n, 12] = th.arange(10, 10 + n)
        goal[row, :g] = th.arange(11, 11 + g)
    return elements, goal


def distribution() -> ActionDistribution:
    th.manual_seed(0)
    network, heads = ElementsNetwork(SMALL), ActionHeads(16)
    th.nn.init.normal_(heads.verb.weight)
    th.nn.init.normal_(heads.longer)
    found: ActionDistribution = heads(network(*observations()))
    return found


def possible(n: int, g: int) -> list[tuple[int, ...]]:
    """All different actions on a screen of n elements under a goal of g words."""
    found: list[tuple[int, ...]] = []
    for verb in range(18):
        if verb == DRAG:
            found += [(verb, i, j, 0, 0) for i, j in product(range(n), repeat=2)]
        elif verb in ELEMENT_VERBS:
            found += [(verb, i, 0, 0, 0) for i in range(n)]
        elif verb == OPEN:
            found += [(verb, 0, i, 0, 0) for i in range(64)]
        elif verb in SPAN_VERBS:
            found += [(verb, 0, 0, i, k) for i in range(g) for k in range(g - i)]
        else:
            found.append((verb, 0, 0, 0, 0))
    return found


@pytest.mark.parametrize(("row", "n", "g"), [(0, 3, 5), (1, 1, 2)])
def test_probabilities_of_all_actions_add_up_to_one_and_give_the_entropy(row: int, n: int, g: int) -> None:
    found, actions = distribution(), possible(n, g)
    logs = []
    for action in actions:
        both = th.zeros(2, 5, dtype=th.long)
        both[row] = th.tensor(action)
        logs.append(found.log_prob(both)[row])
    log = th.stack(logs)
    assert float(log.exp().sum()) == pytest.approx(1.0, abs=1e-5)
    assert float(-(log.exp() * log).sum()) == pytest.approx(float(found.entropy()[row]), abs=1e-5)


def test_drawn_actions_are_possible_and_as_frequent_as_said() -> None:
    found, known = distribution(), set(possible(3, 5))
    th.manual_seed(1)
    drawn = [tuple(found.actions()[0].tolist()) for _ in range(2000)]
    assert set(drawn) <= known
    for action in ((8, 0, 0, 0, 0), max(known, key=lambda one: float(found.log_prob(th.tensor([one, one]))[0]))):
        share = float(found.log_prob(th.tensor([action, action]))[0].exp())
        assert drawn.count(action) / 2000 == pytest.approx(share, abs=4 * (share * (1 - share) / 2000) ** 0.5)
    assert tuple(found.actions(deterministic=True)[0].tolist()) in known


def test_a_uniform_distribution_by_hand() -> None:
    one = ActionDistribution(*(th.zeros(1, *size) for size in ((18,), (5, 2), (2, 2), (64,), (2, 3), (3, 12))))
    # A tap is one of 18 verbs on one of 2 elements; a drag one on 2 x 2; goal words one of 3 and one of 12 lengths.
    for action, ways in (([0, 1, 0, 0, 0], 36), ([2, 1, 0, 0, 0], 72), ([7, 0, 0, 2, 11], 648), ([8, 0, 0, 0, 0], 18)):
        assert float(one.log_prob(th.tensor([action]))) == pytest.approx(-np.log(ways), abs=1e-5)
    wanted = np.log(18) + (5 * np.log(2) + np.log(2) + np.log(64) + 2 * (np.log(3) + np.log(12))) / 18
    assert float(one.entropy()) == pytest.approx(wanted, abs=1e-5)


def test_matches_by_hand() -> None:
    text = th.tensor([[[5, 6, 0, 0, 0, 0, 0, 0], [7, 0, 0, 0, 0, 0, 0, 0], [0] * 8]])
    detail = th.tensor([[[0] * 4, [9, 8, 0, 0], [0] * 4]])
    found = matches(text, detail, th.tensor([[8, 5, 0]]))
    assert found.text[0].tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert found.detail[0].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert found.shares[0].tolist() == [[0.5, 0, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 0]]


def test_padding_changes_nothing() -> None:
    th.manual_seed(0)
    network = ElementsNetwork(SMALL)
    elements, goal = observations()
    both, alone = network(elements, goal), network(elements[1:], goal[1:])
    assert both.elements.shape[1] == 3
    assert alone.elements.shape[1] == 1
    th.testing.assert_close(both.summary[1:], alone.summary)
    th.testing.assert_close(both.goal[1:, :2], alone.goal)


def test_it_learns_to_tap_the_element_that_the_goal_names_by_words_never_seen_before() -> None:
    th.manual_seed(0)
    network, heads = ElementsNetwork(SMALL), ActionHeads(16)
    optimizer = th.optim.Adam([*network.parameters(), *heads.parameters()], 3e-3)

    def batch(low: int, high: int) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        words = th.stack([low + th.randperm(high - low)[:6] for _ in range(64)])
        elements, goal = th.zeros(64, 64, 24, dtype=th.long), th.zeros(64, 48, dtype=th.long)
        elements[:, :4, 0], elements[:, :4, 12] = 2, words[:, :4]
        wanted = th.randint(4, (64,))
        goal[:, 0], goal[:, 1] = words[:, 4], words[th.arange(64), wanted]
        actions = th.zeros(64, 5, dtype=th.long)
        actions[:, 1] = wanted
        return elements, goal, actions

    for _ in range(150):
        elements, goal, actions = batch(1, 2000)
        loss = -heads(network(elements, goal)).log_prob(actions).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    elements, goal, actions = batch(2000, 4000)
    chosen = heads(network(elements, goal)).actions(deterministic=True)
    assert (chosen == actions).all(1).float().mean() > 0.8
