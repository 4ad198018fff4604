"""Agents of gui-v1 on other splits and faces: alone as together, intervals by hand, and the page from its numbers."""

import json
from pathlib import Path

import numpy as np

from tiltyard.benchmarks.studies.phone_transfer import (
    FACES,
    alone,
    condition,
    over_runs,
    own_settings,
    page,
    together,
)
from tiltyard.envs.gui.baselines import WordMatcher

RESULTS = Path(__file__).parents[3] / "docs/results/gui-v1-transfer"


class ByGoal:
    """A word matcher for each goal, however observations are ordered."""

    def __init__(self):
        self.matchers = {}

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        single = np.ndim(observation["goal"]) == 1
        rows = (
            [observation]
            if single
            else [{k: v[i] for k, v in observation.items()} for i in range(len(observation["goal"]))]
        )
        actions = [self.matchers.setdefault(one["goal"].tobytes(), WordMatcher()).predict(one)[0] for one in rows]
        return (actions[0] if single else np.array(actions)), state


def test_problems_are_the_same_alone_together_and_in_words():
    keywords = {"split": "test", "level": 1, "apps": ["settings", "clock", "music", "notes", "maps"]}
    won = together(ByGoal(), 24, **keywords)
    assert 0 < sum(won) < 24
    for name in ("numbers", "words"):
        env_id, face = FACES[name]
        assert alone(ByGoal(), env_id, 24, **keywords, **face) == won


def test_conditions_say_what_was_learnt_from():
    def named(agent, budget, **params):
        return condition({"agent": agent, "budget": budget, "params": params})

    assert named("digirl", 100) == "digirl"
    assert named("digirl", 0, dataset="a/b") == "digirl from noisy data"
    assert named("digirl", 100, dataset="a/b") == "digirl from noisy data, then online"
    assert named("phone-bc", 64, learning_rate=0.0) == "base, trained no further"
    assert named("digirl", 100, step_filter=False) == "digirl, step_filter=False"
    assert named("digirl", 100, env_kwargs={"drift": 1.0}) == "digirl, trained after drift"


def test_drift_is_measured_on_runs_that_have_all_parts(tmp_path):
    kept = []
    for name, params in (("whole", {"env_kwargs": {"drift": 1.0}}), ("without", {"curriculum": False})):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps({"run": {"params": params}}))
        kept += [name] if own_settings(folder) else []
    assert kept == ["whole"]


def test_intervals_over_runs_by_hand():
    assert over_runs([0.2, 0.4, 0.6]) == "0.40 [-0.10, 0.90]"  # 4.303 * 0.2 / sqrt(3)
    assert over_runs([0.3, 0.3]) == "0.30"


def test_the_page_is_what_its_numbers_say():
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == page(RESULTS)
