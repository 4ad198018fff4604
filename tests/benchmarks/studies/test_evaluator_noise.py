"""The study of evaluators: its episodes, its summary by hand, and its page."""

from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.studies import evaluator_noise
from tiltyard.benchmarks.studies.evaluator_noise import SETTINGS, SIZES, TINY, halves, page, run, summary
from tiltyard.envs.gui.elements import DONE


def ended(learner: str, rate: float, *successes: float) -> list[dict[str, Any]]:
    rows = enumerate(successes)
    return [{"learner": learner, "rate": rate, "seed": i, "success": one, "cpu_seconds": 6.0} for i, one in rows]


def test_episodes_are_successes_and_failures_in_turn_and_end_on_their_own_screen() -> None:
    found = halves(6, 0, TINY, split="train")
    assert [one.success for one in found] == [True, False] * 6
    assert [one.rewards.sum() > 0 for one in found] == [True, False] * 6
    for one in found:
        assert (one.observations["goal"] == one.observations["goal"][0]).all()  # none is the next episode's
        if one.actions[-1, 0] == DONE:
            assert (one.observations["elements"][-1] == one.observations["elements"][-2]).mean() > 0.9


def test_what_is_lost_is_against_the_same_seed_without_errors() -> None:
    runs = [*ended("digirl", 0.0, 0.5, 0.7, 0.6), *ended("digirl", 0.3, 0.3, 0.6, 0.6), *ended("start", 0.0, 0.1)]
    start, clean, noisy = summary(runs)
    assert (start["learner"], start["success"], start["lost"]) == ("start", [0.1], [0.0])  # one seed has no interval
    assert clean["success"][0] == pytest.approx(0.6)
    assert noisy["success"][0] == pytest.approx(0.5)
    estimate, low, high = noisy["lost"]
    assert estimate == pytest.approx(0.1)  # 0.2, 0.1 and 0.0
    assert 0 <= low < estimate < high <= 0.2 + 1e-9


@pytest.mark.parametrize("part", ["model", "race"])
def test_the_page_shows_the_parts_that_were_run(part: str) -> None:
    share = {"estimate": 0.25, "low": 0.1, "high": 0.5, "n": 100}
    rows = [{"seed": 0, "train": 60, "false_positive": share, "false_negative": share, "cpu_seconds": 60.0}]
    race = ended("digirl", 0.0, 0.5, 0.7, 0.6)
    about = {"command": "python it", "commit": "abc", "hardware": "a machine", "versions": {"torch": "2"}}
    parts = {"model": rows if part == "model" else [], "race": race if part == "race" else []}
    text = page({**about, **parts, "settings": SETTINGS, "sizes": SIZES, "summary": summary(parts["race"])})
    assert ("| 0 | 60 | 0.25 [0.10, 0.50] | 0.25 [0.10, 0.50] |" in text) == (part == "model")
    assert ("| digirl | 0.0 | 3 | 0.600 [" in text) == (part == "race")
    assert "Command: `python it`" in text


def test_a_learner_begins_with_the_policy_given_and_errs_as_told(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def look(agent: Any, sizes: Any) -> float:
        seen.append((agent.evaluator, agent.policy.state_dict(), agent.num_timesteps))
        return 0.5

    monkeypatch.setattr(evaluator_noise, "success", look)
    base = evaluator_noise.learner("phone-bc", 1, 0.0, TINY).policy.state_dict()
    found = run("filtered-cloning", 0, 0.2, base, TINY | {"steps": 0})
    evaluator, policy, steps = seen[0]
    assert (found["learner"], found["rate"], found["seed"], found["success"]) == ("filtered-cloning", 0.2, 0, 0.5)
    assert (evaluator.false_positive, evaluator.false_negative, steps) == (0.2, 0.2, 0)
    assert all(np.array_equal(policy[name], part) for name, part in base.items())
