"""The page of a driving suite: what is averaged, what is tested, and what it says."""

import json

import numpy as np
import pytest

from tiltyard.benchmarks import load_runs
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.studies.driving import amounts, condition_of, play, report, score, sign_flips, tables

NUMBERS = (
    "completion",
    "success",
    "km",
    "at_fault_per_km",
    "red_lights_per_km",
    "infractions_per_km",
    "imposed_braking",
)


def told(env_id, agent, reward, seed, test, train):
    sides = {"test": test, "train": train}
    return {
        **{"env_id": env_id, "agent": agent, "reward": reward, "seed": seed, "episodes": 100},
        **{
            side: {"driving_score": score, **dict.fromkeys([*NUMBERS, "imposed_braking"], 0.5)}
            for side, score in sides.items()
        },
    }


@pytest.fixture
def files():
    rng = np.random.default_rng(0)
    references = [told("S", "expert", "", -1, 90.0, 91.0), told("S", "random", "", -1, 1.0, 1.0)]
    ppo = [told("S", "fast-ppo", "carl", seed, 50 + rng.normal(), 60 + rng.normal()) for seed in range(8)]
    of_sum = [told("S", "fast-ppo", "sum", seed, 20 + rng.normal(), 20 + rng.normal()) for seed in range(8)]
    return references + ppo + of_sum


def test_all_flips_of_signs_are_counted():
    assert sign_flips(np.array([1.0, 2.0, 3.0, 4.0])) == 2 / 16
    assert sign_flips(np.array([1.0, -1.0])) == 1.0


def test_verdicts_name_what_was_compared(files):
    rows, verdicts = tables(files)
    assert [(row["name"], row["runs"]) for row in rows] == [
        *[("fast-ppo", 8), ("fast-ppo, reward sum", 8)],
        *[("expert", 1), ("random", 1)],
    ]
    assert {one["what"]: one["said"] for one in verdicts} == {
        "fast-ppo, reward sum over fast-ppo": "worse",
        "fast-ppo over the expert": "worse",
        "fast-ppo on training maps over test maps": "better",
    }
    few = [one for one in files if one["seed"] < 3]
    assert tables(few)[1] == []  # three runs a side give no verdict


def test_the_page_is_made_of_files(files, tmp_path):
    with pytest.raises(FileNotFoundError, match="run the score command first"):
        report("driving-v2", tmp_path)
    (tmp_path / "runs").mkdir()
    for number, one in enumerate(files):
        (tmp_path / "runs" / f"{number}.json").write_text(json.dumps(one))
    page = report("driving-v2", tmp_path)
    assert "| S | expert | 1 | 90.0 | 91.0 |" in page
    assert (tmp_path / "README.md").read_text() == page
    assert page.startswith("# driving-v2 on the road")
    assert "lower bound" not in page
    assert "lower bound" in report("driving-v1", tmp_path)  # scored before imposed braking was mended


def test_counts_are_for_each_km_of_all_episodes_together():
    def info(km, faults, infraction):
        totals = {"driving_score": 10.0, "completion": 0.5, "km": km, "at_fault_collisions": faults, "red_lights": 0.0}
        return {"success": False, "infraction": infraction, "scores": {**totals, "imposed_braking": 1.0}}

    found = amounts([info(1.0, 0, ""), info(3.0, 1, "collision")])
    assert (found["km"], found["at_fault_per_km"], found["infractions_per_km"]) == (4.0, 0.25, 0.25)


def test_a_condition_is_the_reward_trained_with():
    assert condition_of({}) == "carl"
    assert condition_of({"env_kwargs": {"training_reward": "sum"}}) == "sum"


def test_an_agent_drives_by_the_actions_that_it_was_trained_with(tmp_path):
    small = ["--steps", "16", "--eval-episodes", "2", "--eval-points", "1", "--out", str(tmp_path)]
    settings = ["--set", "n_envs=2", "n_steps=8", 'env_kwargs={"action": "box"}']
    assert main(["train", "--env", "tiltyard/Merge-v0", "--agent", "fast-ppo", *small, *settings]) == 0
    (run,) = load_runs(tmp_path)
    found = json.loads(play((str(run.folder), "", "", 2)))
    assert found["test"]["km"] > 0
    assert (found["agent"], found["reward"]) == ("fast-ppo", "carl")


def test_there_must_be_a_race_to_score(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        score(tmp_path / "none", 1, tmp_path)
