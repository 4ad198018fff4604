from dataclasses import replace

import numpy as np
import pytest

from tiltyard.agents.control.lpg_training import Ended
from tiltyard.benchmarks.claims.groove import CLAIM, LOSS, OURS, SHOWN, UNIFORM
from tiltyard.benchmarks.testbeds.learned_rules import SETS, LearnedRules, Levels, regrets

SMALLEST = LearnedRules().smallest()


def ended(levels: list[float], regret: list[float]) -> Ended:
    zero = np.zeros(len(levels))
    return Ended(np.array(levels)[:, None], zero, np.array(regret), zero, zero)


def test_regrets_by_hand() -> None:
    # Level 1 returns in the second cohort, where it has 0.5 - (0.1 + 0.3) / 2 more than the new ones; level 2 in the
    # third, with 0.1 - 0.3.
    shift, mean = regrets(
        [ended([1, 2], [0.6, 0.4]), ended([1, 3, 4], [0.5, 0.1, 0.3]), ended([2, 5], [0.1, 0.3]), ended([1], [9.0])]
    )
    assert shift == pytest.approx((0.3 - 0.2) / 2)
    np.testing.assert_allclose(mean, [0.5, 0.3, 0.2, 9.0])


def test_without_replay_there_is_no_shift() -> None:
    assert regrets([ended([1, 2], [0.6, 0.4])])[0] == 0
    assert SMALLEST.run(Levels(), 0.01, 5000).shift == 0


def test_conditions_meet_the_same_worlds_and_the_same_first_rule() -> None:
    runs = [SMALLEST.run(Levels(score), 1e-9, 5001) for score in (None, "regret", "positive_value_loss")]
    for run in runs:
        assert run.earned == pytest.approx(SMALLEST.measured(5001).untrained, rel=1e-4)
    sets = [SMALLEST.sets(seed) for seed in (5001, 5001, 5002)]
    worth = [np.concatenate([worlds.worth() for worlds in one.values()]) for one in sets]
    np.testing.assert_array_equal(worth[0], worth[1])
    assert (worth[0] != worth[2]).any()


def test_the_sets_are_unlike_the_training_family() -> None:
    family, larger, others = (LearnedRules().sets(5003)[name] for name in SETS)
    assert larger.n_states > family.n_states
    assert others.n_actions != family.n_actions


def test_shares_lie_below_the_optimum_and_a2c_learns() -> None:
    bed = replace(LearnedRules(), worlds=10, lifetimes=dict.fromkeys(SETS, 30))
    found = bed.measured(5004)
    for name in SETS:
        assert found.random[name] + 0.15 < found.a2c[name] < 1
        assert found.untrained[name] < 1


def test_scores_decide_what_is_replayed() -> None:
    bed = replace(SMALLEST, meta_steps=24)
    regret, loss = (bed.run(Levels(score), 1e-9, 5005) for score in ("regret", "positive_value_loss"))
    assert regret.shift != loss.shift


def test_the_premise_asks_for_meta_training_and_for_a2c() -> None:
    holding = {UNIFORM: 0.6, "agents of an untrained rule": 0.2, "agents of A2C": 0.6, "random policies": 0.2}
    assert CLAIM.premise.holds is not None
    assert CLAIM.premise.holds(holding)
    assert not CLAIM.premise.holds({**holding, UNIFORM: 0.29})
    assert not CLAIM.premise.holds({**holding, "agents of A2C": 0.29})


def test_the_smallest_claim_tells_all() -> None:
    found = CLAIM.smallest().measure(seeds=3)
    assert set(found.parts) == {f"over {UNIFORM}", f"over {LOSS}", "regret on replayed levels over new ones"}
    assert set(found.details[SHOWN]) >= {OURS, UNIFORM, LOSS}
