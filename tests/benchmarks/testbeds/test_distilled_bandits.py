"""Students and teachers meet the same bandits, regrets and ratios are those of the formulas, and errors are odds."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch as th

from tiltyard.agents.control.history_algorithms import linucb
from tiltyard.agents.models.in_context import Context
from tiltyard.benchmarks.testbeds import distilled_bandits as bed

SMALL = replace(bed.DistilledBandits(), arms=3, features=2, pulls=12, tests=40, n_envs=4, rounds=1, gradient_steps=1)
OWN, MIXED, EVEN = (bed.Student("linucb", how) for how in (("linucb",), ("linucb", "uniform"), ("uniform",)))


def test_regret_by_hand() -> None:
    means = np.array([[0.2, 0.8], [0.9, -0.1]])
    assert bed.regret(means, np.array([[0, 0, 1], [0, 1, 0]])) == pytest.approx((2 * 0.6 + 1.0) / 2)
    assert bed.Imitated(3.0, 2.8, 2.5, 9.0, np.array([0.2, 0.4])).excess == pytest.approx(0.2)
    assert bed.Imitated(3.0, 2.8, 2.5, 9.0, np.array([0.2, 0.4])).error == pytest.approx(0.3)


def test_ratios_of_distributions() -> None:
    assert SMALL.ratio(OWN) == pytest.approx(1)
    assert SMALL.ratio(EVEN) == pytest.approx(3.0**12)
    assert SMALL.ratio(MIXED) == pytest.approx(1 / (0.5 + 0.5 * 3.0**-12))
    ninth = bed.Student("linucb", ("uniform",) * 9 + ("linucb",))
    assert SMALL.ratio(ninth) == pytest.approx(10, rel=1e-3)


def test_histories_are_the_algorithms_in_the_bandits_of_the_seed() -> None:
    means, context = SMALL.played(linucb(3), 0)
    again, other = SMALL.played(linucb(3), 0), SMALL.played(linucb(3), 1)
    np.testing.assert_array_equal(context.rewards, again[1].rewards)
    assert len(np.unique(np.concatenate([means, other[0]]))) == 2 * 40 * 3
    for t in (0, 1, 11):
        before = Context(*(part[:, :t] for part in context))
        wanted = linucb(3)(before, context.observations[:, t], np.random.default_rng(0))
        np.testing.assert_array_equal(context.actions[:, t], wanted)
    _, info = SMALL.family(40, "test").reset(seed=SMALL.first(0))
    np.testing.assert_array_equal(means, info["means"])


def test_odds_are_those_of_the_action_played_given_what_lies_before_it() -> None:
    agent = SMALL.pretrained(OWN, 0.01, 0)
    th.nn.init.normal_(agent.policy.network.head.weight)
    _, context = SMALL.played(linucb(3), 0)
    found = bed.odds(agent, context)
    for t in (0, 5, 11):
        before = Context(*(part[:, :t] for part in context))
        with th.no_grad():
            given = agent.policy.logits(context.observations[:, t : t + 1], before).softmax(-1)[:, 0].numpy()
        by_hand = np.take_along_axis(given, context.actions[:, t : t + 1], axis=1).mean()
        assert found[t] == pytest.approx(by_hand, abs=1e-5)


@pytest.mark.parametrize(("condition", "known"), [(MIXED, True), (bed.Student("optimal", ("thompson",)), False)])
def test_a_student_that_knows_nothing_is_scored_as_even_odds(
    condition: bed.Student, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretrained = bed.DistilledBandits.pretrained

    def blank(self: Any, *args: Any) -> Any:
        agent = pretrained(self, *args)
        agent.policy.network.head.weight.data.zero_()
        return agent

    monkeypatch.setattr(bed.DistilledBandits, "pretrained", blank)
    found = replace(SMALL, tests=400).run(condition, 0.01, 0)
    assert found.regret == pytest.approx(found.random, rel=0.1)
    assert found.teacher < 0.8 * found.random
    assert found.error == pytest.approx(2 / 3, abs=1e-6) if known else math.isnan(found.error)


def test_the_teacher_of_best_arms_is_thompson_sampling() -> None:
    assert bed.Student("optimal", ("uniform",)).teacher == "thompson"
    assert OWN.teacher == "linucb"
