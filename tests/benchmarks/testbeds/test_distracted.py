import numpy as np
import pytest

from tiltyard.benchmarks.claims.vagram import ALONE, BASELINE, CLAIM, SCORES
from tiltyard.benchmarks.testbeds.distracted import Distracted, Modelled, Puck, brake, late, pushed, turned


class Still(np.random.Generator):
    """Draws no noise."""

    def normal(self, *args: object, size: object = None, **kwargs: object) -> object:  # type: ignore[override]
        return np.zeros(size)  # type: ignore[call-overload]


def still() -> Still:
    return Still(np.random.PCG64(0))


def test_a_push_by_hand() -> None:
    # Speed 0.9 * 1 - 0.2, place 0.5 + 0.2 * 0.7; the second is pushed beyond 1, which counts as 1, and held at 2.
    puck, rewards = pushed(np.array([[0.5, 1.0], [1.99, 0.0]]), np.array([-1.0, 7.0]), still())
    np.testing.assert_allclose(puck, [[0.64, 0.7], [2.0, 0.2]])
    np.testing.assert_allclose(rewards, [-0.64, -2.0])


def test_distractors_turn_in_pairs() -> None:
    found = turned(np.array([[1.0, 0.0, 0.0, 2.0]]), still())
    expected = [np.cos(0.5), np.sin(0.5), -2 * np.sin(1.5), 2 * np.cos(1.5)]
    np.testing.assert_allclose(found[0], 0.98 * np.array(expected))
    assert turned(np.zeros((3, 0)), still()).shape == (3, 0)


def test_distractors_do_not_matter() -> None:
    rewards = []
    for distractors in (0, 4):
        env = Puck(distractors, steps=5)
        seen, _ = env.reset(seed=3)
        assert seen.shape == (2 + distractors,)
        env.puck = np.array([[0.5, 0.0]])
        steps = [env.step(np.zeros(1)) for _ in range(5)]
        assert [step[3] for step in steps] == [False] * 4 + [True]
        rewards.append(steps[0][1])
    assert rewards == pytest.approx([-0.5, -0.5], abs=0.06)  # whatever noise its speed has


def test_the_expert_scores_one_and_idling_nothing() -> None:
    class Expert:
        def predict(self, seen: object, deterministic: bool = True) -> tuple[object, None]:
            return brake(seen), None

    class Idle:
        def predict(self, seen: object, deterministic: bool = True) -> tuple[object, None]:
            return np.zeros((len(seen), 1)), None  # type: ignore[arg-type]

    bed = Distracted()
    assert bed.score(Expert(), 12) == 1.0
    assert bed.score(Idle(), 12) == 0.0


def test_the_second_half_is_scored() -> None:
    assert late(Modelled([0.0, 9.0, 1.0, 2.0], {})) == 1.5


def test_the_premise_is_that_mbpo_learns_and_falls() -> None:
    assert not CLAIM.premise.missing({SCORES: {BASELINE: 0.1, BASELINE + ALONE: 0.6}})
    for scores in ({BASELINE: 0.1, BASELINE + ALONE: 0.3}, {BASELINE: 0.55, BASELINE + ALONE: 0.6}):
        assert "its premise does not hold here" in CLAIM.premise.missing({SCORES: scores})


def test_conditions_differ_in_the_loss_and_the_distractors_alone() -> None:
    assert {name: (of.name, dict(of.settings)) for name, of in CLAIM.conditions.items()} == {
        "VaGraM": ("vagram", {"distractors": 12}),
        "MBPO": ("mbpo", {"distractors": 12}),
        "VaGraM, no distractors": ("vagram", {"distractors": 0}),
        "MBPO, no distractors": ("mbpo", {"distractors": 0}),
    }
