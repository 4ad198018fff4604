"""All conditions meet the same bandits and datasets, losses are shares, and constants come from the tuning seed."""

from dataclasses import replace

import numpy as np
import pytest

from tiltyard.agents.models.in_context import Context
from tiltyard.benchmarks.testbeds import in_context_bandits as bed

SMALL = replace(bed.InContextBandits(), pulls=40, short=10, sizes=(5, 20), tests=60, n_envs=4, rounds=1, short_rounds=1)


def test_losses_are_shares_of_what_even_odds_lose() -> None:
    means = np.array([[0.2, 0.8], [0.9, 0.1]])  # even odds lose 0.3 and 0.4
    assert bed.gap(means, np.array([[0.5, 0.5], [0.5, 0.5]])) == pytest.approx(1)
    assert bed.gap(means, np.array([[0.0, 1.0], [1.0, 0.0]])) == 0
    assert bed.gap(means, np.array([[1.0, 0.0], [1.0, 0.0]])) == pytest.approx(0.6 / 0.7)


def test_counts_are_those_before_each_pull() -> None:
    context = Context.of(np.zeros((1, 3, 1)), np.array([[2, 0, 2]]), np.array([[0.5, 1.0, 0.25]]), np.zeros((1, 3, 1)))
    counts, sums = bed.told(context)
    assert counts[0].tolist() == [[0, 0, 0, 0, 0], [0, 0, 1, 0, 0], [1, 0, 1, 0, 0], [1, 0, 2, 0, 0]]
    assert sums[0, :, 2].tolist() == [0, 0.5, 0.5, 0.75]


def test_datasets_and_bandits_are_those_of_the_seed() -> None:
    first, again, other = SMALL.data(0), SMALL.data(0), SMALL.data(1)
    np.testing.assert_array_equal(first[0].rewards, again[0].rewards)
    assert not np.array_equal(first[1], other[1])
    _, info = SMALL.family("gaussian", 60, "test").reset(seed=SMALL.first(0))
    np.testing.assert_array_equal(first[1], info["means"])
    assert len(np.unique(np.concatenate([first[1], other[1]]))) == 2 * 60 * bed.ARMS


def test_rules_are_scored_with_constants_of_the_tuning_seed() -> None:
    mean, ucb, lcb = (SMALL.run(rule, float("nan"), 0) for rule in (bed.MEAN, bed.UCB, bed.LCB))
    assert mean.keys() == {bed.ONLINE, bed.OFFLINE}
    assert (ucb.keys(), lcb.keys()) == ({bed.ONLINE}, {bed.OFFLINE})
    assert 0 < ucb[bed.ONLINE] < 1
    best = SMALL.constant(bed.ucb, bed.ONLINE)
    scores = {one: SMALL._score(bed.ucb(one), bed.ONLINE, bed.TUNING) for one in bed.CONSTANTS}
    assert scores[best] == min(scores.values()) < max(scores.values())


def test_an_agent_that_knows_nothing_is_scored_as_even_odds() -> None:
    agent = SMALL.pretrained("gaussian", 0)
    agent.policy.network.head.weight.data.zero_()
    agent.policy.network.head.bias.data.zero_()
    assert SMALL._online_dpt(agent, 0)[bed.ONLINE] == pytest.approx(1, abs=0.05)
    found = SMALL.run(bed.DPT, float("nan"), 0)
    assert found.keys() == {bed.ONLINE, bed.OFFLINE, bed.TV, bed.TV_GREEDY, bed.TV_EVEN}
    assert found[bed.TV] == pytest.approx(found[bed.TV_EVEN], abs=0.25)
