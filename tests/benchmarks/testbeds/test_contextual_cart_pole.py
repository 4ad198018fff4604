from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.benchmarks.claims.mbtl import CLAIM, INDEPENDENT, OF_EACH, ORACLE, needed
from tiltyard.benchmarks.testbeds.contextual_cart_pole import (
    CartPoles,
    Contexts,
    equidistant,
    mbtl,
    moved,
    multitask,
    random,
)

THREE = Contexts(np.array([0.1, 1.0, 8.0]), np.array([[0.6, 0.2, 0.0], [0.5, 0.6, 0.1], [0.0, 0.3, 0.9]]), np.zeros(3))


def test_a_step_is_gymnasiums() -> None:
    env: Any = gymnasium.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    env.state = np.array([0.1, -0.3, 0.15, 0.8])
    after, *_ = env.step(1)
    found = moved(np.array([[0.1, -0.3, 0.15, 0.8]]), np.array([10.0]), np.array([0.5]))
    np.testing.assert_allclose(found[0], after, rtol=1e-5)


def test_each_context_is_served_by_its_best_source_by_hand() -> None:
    np.testing.assert_allclose(THREE.served([1, 2, 0]).performance, [0.4, 2.0 / 3, 2.1 / 3])
    assert THREE.independent == pytest.approx(0.7)


def test_strategies_choose_so_many_different_contexts() -> None:
    rng = np.random.default_rng(0)
    for strategy in (mbtl, random, equidistant):
        found = strategy(THREE, rng, 3)
        assert sorted(found.sources) == [0, 1, 2]
        assert found.performance[-1] == pytest.approx(0.7)
    assert multitask(THREE, rng, 2).performance.tolist() == [0, 0]
    assert equidistant(THREE, rng, 1).sources == [1]


def test_training_beats_what_is_not_trained_and_transfer_falls_with_distance() -> None:
    bed = CartPoles(count=6, trainings=2)
    found = bed.contexts(3)
    idle = bed.evaluate(np.zeros((1, 4)), found.lengths, np.random.default_rng(0)).mean()
    assert found.independent > idle + 0.2
    ends = found.transfer[0, -1] + found.transfer[-1, 0]
    assert ends < found.transfer[0, 0] + found.transfer[-1, -1] - 0.2


def test_trainings_are_counted_until_independent_training_is_matched() -> None:
    bed = CLAIM.smallest()
    found = bed.compare(seeds=3)
    for name in bed.conditions:
        counts = needed(found, name)
        for seed, run, count in zip(range(3), found[name].runs, counts, strict=True):
            goal = found.testbed.contexts(seed).independent
            met = run.performance >= goal
            assert count == (int(met.argmax()) + 1 if met.any() else 6)


def test_the_premise_is_that_transfer_matters() -> None:
    single = "the best single policy"
    assert not CLAIM.premise.missing({OF_EACH: {INDEPENDENT: 0.8, ORACLE: 0.9, single: 0.85}})
    assert CLAIM.premise.missing({OF_EACH: {INDEPENDENT: 0.9, ORACLE: 0.9, single: 0.85}})
    assert CLAIM.premise.missing({OF_EACH: {INDEPENDENT: 0.8, ORACLE: 0.9, single: 0.9}})
