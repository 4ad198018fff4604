import math

import numpy as np
import pytest

from tiltyard.benchmarks.claims.archer import CLAIM
from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.testbeds.race_curves import Curves, episodes_to, log_ratio, mean_log_ratio, pooled

EPISODES = np.array([100.0, 200.0, 400.0, 800.0])


def test_episodes_to_a_goal_are_those_of_the_first_time_there() -> None:
    curve = np.array([0.1, 0.3, 0.2, 0.4])
    assert episodes_to(0.2, EPISODES, curve) == pytest.approx(150)
    assert episodes_to(0.3, EPISODES, curve) == 200
    assert episodes_to(0.35, EPISODES, curve) == pytest.approx(700)
    assert episodes_to(0.1, EPISODES, curve) == 100
    assert math.isnan(episodes_to(0.5, EPISODES, curve))


def test_the_ratio_is_of_episodes_to_where_the_other_ends() -> None:
    slow = Curves(EPISODES * 10, np.array([[0.0, 0.1, 0.2, 0.3], [0.0, 0.1, 0.2, 0.5]]))  # ends at 0.4
    quick = Curves(EPISODES, np.array([[0.4, 0.5, 0.6, 0.6]]))
    assert log_ratio(quick, slow, [0], [0, 1]) == pytest.approx(np.log10(8000 / 100))
    never = Curves(EPISODES, np.zeros((3, 4)))
    assert log_ratio(never, slow, [0, 2], [0, 1]) == pytest.approx(1)  # what it was given: 800 of 8,000
    assert log_ratio(slow, slow, [0, 1], [0, 1]) == 0


def test_the_effect_is_a_mean_over_games_with_an_interval_over_runs() -> None:
    rng = np.random.default_rng(0)
    noise = 0.02 * rng.standard_normal((5, 4))
    theirs = Curves(EPISODES * 10, np.array([0.0, 0.2, 0.4, 0.6]) + noise)
    ours = Curves(EPISODES, np.array([0.0, 0.4, 0.7, 0.8]) + noise[::-1])
    found = mean_log_ratio([(ours, theirs), (theirs, theirs)], np.random.default_rng(1))
    alone = mean_log_ratio([(ours, theirs)], np.random.default_rng(1))
    assert found.estimate == pytest.approx(alone.estimate / 2)
    assert alone.low < alone.estimate < alone.high
    assert 1 < alone.low < alone.high < 1.7
    assert np.log10(8000 / 350) < alone.estimate < np.log10(8000 / 300)


def test_runs_of_an_agent_are_pooled_by_task() -> None:
    runs = [{"a": Curves(EPISODES + shift, np.full((1, 4), 0.1 * shift))} for shift in (0.0, 2.0)]
    together = pooled(runs)["a"]
    assert together.episodes.tolist() == (EPISODES + 1).tolist()
    assert together.success.tolist() == [[0.0] * 4, [0.2] * 4]


def test_each_game_is_told_by_itself() -> None:
    def run(task: str, rise: float) -> dict[str, Curves]:
        return {task: Curves(EPISODES, rise * np.array([[0.125, 0.25, 0.375, 0.5]]))}

    outcomes = {
        name: Outcome(name, 0.0, [run("b", 1.0) | run("a", rise)] * 3)
        for name, rise in {"archer": 2.0, "ppo": 1.0, "grpo": 0.5}.items()
    }
    found = Found(CLAIM, CLAIM.testbed, outcomes, {})
    effect = CLAIM.parts(found)[""]
    assert effect.sample.mean == pytest.approx((np.log10(800 / 200) + 0) / 2)
    assert effect.highest == pytest.approx(np.log10(800 / max(EPISODES[0], 1)))
    told = CLAIM.details(found)
    assert list(told) == ["a", "b"]
    assert told["a"]["episodes to the goal"] == {"archer": 200, "ppo": 800, "grpo": None}
    assert set(told["b"]["episodes to the goal"].values()) == {800}
    assert told["a"]["runs"]["ppo"] == 3


def test_its_conditions_are_the_agents_of_the_suite() -> None:
    runs = CLAIM.testbed.suite.runs()  # type: ignore[attr-defined]
    assert set(CLAIM.conditions) == {str(run.params.get("method", run.agent)) for run in runs}
