"""What says whether an episode was a success: rates of errors, and what agents learn from."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiltyard.agents
from tiltyard.agents.control.cloning import Cloning, FilteredCloning
from tiltyard.agents.control.evaluator import Evaluator, NoisyOutcome, Truth, error, made
from tiltyard.agents.control.trajectories import Trajectory

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, tiny


class Praise:
    """Finds everything good."""

    def judge(self, trajectory: Trajectory) -> bool:
        return True


def judged(evaluator: Evaluator, n: int = 1000) -> tuple[float, float]:
    """How often failures and successes are judged successes."""
    good, bad = episodes(1, right=1.0)[0], episodes(1, right=0.0)[0]
    return tuple(float(np.mean([evaluator.judge(one) for _ in range(n)])) for one in (bad, good))  # type: ignore[return-value]


def test_noise_flips_failures_and_successes_at_their_own_rates() -> None:
    assert judged(Truth(), 3) == (0, 1)
    assert judged(NoisyOutcome(), 20) == (0, 1)
    assert judged(NoisyOutcome(false_positive=1.0), 20) == (1, 1)
    assert judged(NoisyOutcome(false_negative=1.0), 20) == (0, 0)
    bad, good = judged(NoisyOutcome(false_positive=0.1, false_negative=0.3, seed=1))
    assert bad == pytest.approx(0.1, abs=0.04)  # four standard errors of 1000 draws
    assert good == pytest.approx(0.7, abs=0.06)


def test_error_rates_by_hand() -> None:
    # Of three failures two are judged successes, of four successes one a failure. Wilson's interval of 1 in 4, with
    # z^2 / n = 0.9604: (1/4 + 0.4802) / 1.9604 -+ 1.96 sqrt(3/64 + 0.9604 / 16) / 1.9604: 0.3725 -+ 0.3269.
    found = error([True, True, False, False, True, True, True], [False] * 3 + [True] * 4)
    assert (found.false_positive.estimate, found.false_positive.n) == (pytest.approx(2 / 3), 3)
    one = found.false_negative
    assert (one.estimate, one.n) == (0.25, 4)
    assert (one.low, one.high) == (pytest.approx(0.0456, abs=1e-4), pytest.approx(0.6994, abs=1e-4))
    with pytest.raises(ValueError, match="error rates need failures and successes"):
        error([True, False], [True, True])


@pytest.mark.parametrize(
    ("asked", "kind", "sentence"),
    [
        ({"false_positive": 1.5}, ValueError, "evaluator: false_positive must be a probability from 0 to 1, got 1.5"),
        ({"false_negative": "x"}, ValueError, "evaluator: false_negative must be a probability from 0 to 1, got 'x'"),
        ({"false_positve": 0.1}, ValueError, "evaluator: unknown keyword 'false_positve'; did you mean 'false_pos"),
        ({"false_positive": 0.1, "seed": -1}, ValueError, "evaluator: seed must be a whole number of at least 0"),
        ({"model": "/nowhere/at/all"}, FileNotFoundError, "there is no outcome model /nowhere/at/all.safetensors"),
        ({"model": 3}, ValueError, "evaluator: model must be the name of a file, got 3"),
        ({"model": "x", "false_positive": 0.1}, ValueError, "unknown keyword 'false_positive'"),
        (object(), TypeError, r"an evaluator has judge\(trajectory\) -> bool, which <object"),
        ("truth", TypeError, "evaluator must be a dict or Evaluator or None, got 'truth'"),
    ],
)
def test_what_judges_nothing_is_refused_at_construction(asked: Any, kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        Cloning(env=tiny(2), **SMALL, evaluator=asked)


def test_an_agents_seed_decides_the_noise_unless_one_is_given() -> None:
    noise = {"false_positive": 0.5, "false_negative": 0.5}
    (one,) = episodes(1, right=1.0)

    def said(of_agent: int, **more: Any) -> list[bool]:
        evaluator = made({**noise, **more}, of_agent)
        return [evaluator.judge(one) for _ in range(50)]

    assert said(0) == said(0) != said(1)
    assert said(0, seed=7) == said(1, seed=7) == said(7)
    agents = [Cloning(env=tiny(2), **{**SMALL, "seed": 3}, evaluator=noise) for _ in range(2)]
    assert [[agent.evaluator.judge(one) for _ in range(50)] for agent in agents] == [said(3)] * 2


def test_own_episodes_are_judged_recorded_ones_are_not_and_logs_say_the_truth() -> None:
    learner = FilteredCloning(env=tiny(), **SMALL, rollouts=16, actor_updates=1, evaluator=Praise())
    learner.learn_offline(episodes(20, right=0.0), 0)
    learner.learn(48)
    recorded, own = list(learner.kept)[:20], list(learner.kept)[20:]
    assert not any(one.success for one in recorded)
    assert len(own) >= 48
    assert all(one.success for one in own)
    assert sum(one.rewards.sum() for one in own) == sum(learner.ep_success_buffer or []) < len(own)


def test_who_is_told_that_all_failed_learns_nothing_from_successes_alone() -> None:
    learner = FilteredCloning(env=tiny(), **SMALL, rollouts=16, evaluator={"false_negative": 1.0})
    before = [part.detach().clone() for part in learner.policy.parameters()]
    learner.learn(64)
    assert sum(one.rewards.sum() for one in learner.kept) > 0
    assert all(old.equal(new) for old, new in zip(before, learner.policy.parameters(), strict=True))


def test_the_truth_is_what_agents_learn_from_unless_told_otherwise() -> None:
    learner = tiltyard.agents.make("digirl", tiny(4), **{**SMALL, "rollouts": 4})
    assert isinstance(learner.evaluator, Truth)  # type: ignore[attr-defined]


def test_checkpoints_keep_what_is_plain_data_and_refuse_what_is_code(tmp_path: Path) -> None:
    noise = {"false_positive": 0.25}
    Cloning(env=tiny(2), **SMALL, evaluator=noise).save(tmp_path / "noisy")
    again = Cloning.load(tmp_path / "noisy")
    assert isinstance(again.evaluator, NoisyOutcome)
    assert again.evaluator.false_positive == 0.25
    praised = Cloning(env=tiny(2), **SMALL, evaluator=Praise())
    with pytest.raises(TypeError, match=r"save\(path, exclude=\['evaluator'\]\)"):
        praised.save(tmp_path / "praised")
    praised.save(tmp_path / "praised", exclude=["evaluator"])
    assert isinstance(Cloning.load(tmp_path / "praised", evaluator=Praise()).evaluator, Praise)
