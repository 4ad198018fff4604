"""What a page says of the tuning behind it: its budget, and differences with its noise."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.choices import Tuning, merged, read_tuning
from tiltyard.benchmarks.diverging import DivergedRun
from tiltyard.benchmarks.leaderboard.board import leaderboard
from tiltyard.benchmarks.leaderboard.tuned import NOT_BEST, Section, section
from tiltyard.benchmarks.rebuild import PAGE, rebuilt, trials_of
from tiltyard.benchmarks.runs import FinishedRun
from tiltyard.benchmarks.suites import Comparison, Entry, Suite, Task

MakeRun = Callable[..., FinishedRun]
HOPPER, CHEETAH = "tiltyard/Hopper-v5", "tiltyard/HalfCheetah-v5"
RATES = {"sac": 1e-3, "td3": 3e-4}
SUITE = Suite(
    "mine",
    "",
    tasks=tuple(
        Task(task, tuple(Entry(agent, 20_000, 1, {"learning_rate": rate}) for agent, rate in RATES.items()))
        for task in (HOPPER, CHEETAH)
    ),
    seeds=tuple(range(6)),
    comparisons=(
        Comparison("Both", (HOPPER, CHEETAH), "td3"),
        Comparison("Hopper alone", (HOPPER,), "td3"),
    ),
)


@pytest.fixture
def runs(make_run: MakeRun) -> list[FinishedRun]:
    levels = {(HOPPER, "sac"): 0.8, (HOPPER, "td3"): 0.3, (CHEETAH, "sac"): 0.5, (CHEETAH, "td3"): 0.5}
    return [
        make_run(*key, seed, level, params={"learning_rate": RATES[key[1]]})
        for key, level in levels.items()
        for seed in range(6)
    ]


def tuning(folder: Path, best: Mapping[str, float], **changes: Any) -> Path:
    """A folder as ``tiltyard tune`` leaves it, in which an agent's best rate leads by far."""
    choices = [
        {
            "task": task,
            "agent": agent,
            "setting": "learning_rate",
            "tried": [[rate, [0.5, 0.52] if rate == top else [0.1, 0.13]] for rate in (3e-4, 1e-3, 3e-3)],
            "present": None,
            "steps": 120_000,
            "seconds": 600.0,
            "best": top,
        }
        for task in (HOPPER, CHEETAH)
        for agent, top in best.items()
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tuning.json").write_text(json.dumps({"seeds": "10000,10001", "choices": choices, **changes}))
    return folder


def tables(page: str) -> list[list[str]]:
    section = page.partition("\n## Tuning\n")[2]
    return [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]


def told(trials: Tuning, runs: list[FinishedRun]) -> Section | None:
    board = leaderboard(runs, rng=np.random.default_rng(0), resamples=5)
    return section(trials, [(SUITE.comparisons[0], board)])


def test_a_page_tells_what_tuning_cost_and_adds_to_the_noise(runs: list[FinishedRun], tmp_path: Path) -> None:
    page = tmp_path / "results" / "mine"
    tuning(tmp_path / "results" / "mine-tuning", RATES)  # found, for it lies beside the page
    text = rebuilt(SUITE, runs, page)[PAGE].decode()
    rows = tables(text)
    assert ["sac", "learning_rate", "0.0003, 0.001, 0.003", "0.001", "0.001", "12", "240,000", "20"] in rows
    assert ["td3", "learning_rate", "0.0003, 0.001, 0.003", "0.0003, at the edge of the grid"] in [
        row[:4] for row in rows
    ]
    effects = {row[2]: row for row in rows if row[1] == "td3"}
    assert list(effects) == ["Hopper-v5, HalfCheetah-v5", "Hopper-v5", "HalfCheetah-v5"]  # and not once more, of Hopper
    assert effects["Hopper-v5"][6] == "better"
    assert effects["HalfCheetah-v5"][6] == "no significant difference"
    mine, theirs = (
        [run.normalised for run in runs if (run.run.env_id, run.run.agent) == (HOPPER, agent)] for agent in RATES
    )
    assert effects["Hopper-v5"][4].startswith(f"{sum(mine) / 6 - sum(theirs) / 6:.3f} [")
    assert "[mine-tuning](../mine-tuning/README.md)" in text
    other = tmp_path / "elsewhere" / "mine"
    assert trials_of(SUITE, page, None) == trials_of(SUITE, other, tmp_path / "results" / "mine-tuning")
    assert trials_of(SUITE, other, None) is None


def test_steps_that_trials_trained_for_beyond_their_budget_are_told(runs: list[FinishedRun], tmp_path: Path) -> None:
    folder = tuning(tmp_path / "t", RATES)
    record = json.loads((folder / "tuning.json").read_text())
    for one in record["choices"]:
        one["trained"] = 150_000 if one["agent"] == "sac" else 121_000
    (folder / "tuning.json").write_text(json.dumps(record))
    found = told(read_tuning(folder), runs)
    assert found is not None
    assert {row[0]: row[6] for row in found.budget} == {"sac": "240,000 (trained for 300,000)", "td3": "240,000"}


def test_no_effect_is_given_of_a_condition_with_runs_that_diverged(runs: list[FinishedRun], tmp_path: Path) -> None:
    board = leaderboard(runs, rng=np.random.default_rng(0), resamples=5)
    trials, found = read_tuning(tuning(tmp_path / "t", RATES)), [(SUITE.comparisons[0], board)]
    gone = replace(next(run.run for run in runs if run.run.agent == "sac"), seed=6)
    whole, part = section(trials, found), section(trials, found, diverged=[DivergedRun(gone, {}, 5, 1.0, "diverged")])
    assert whole is not None
    assert part is not None
    assert [row[0] for row in whole.effects] == ["sac"] * 3
    assert part.effects == []


def test_no_effect_is_given_of_a_value_that_the_trials_do_not_choose(runs: list[FinishedRun], tmp_path: Path) -> None:
    trials = read_tuning(tuning(tmp_path / "t", {"sac": 3e-3, "td3": 3e-4}))
    found = told(trials, runs)
    assert found is not None
    assert (found.left, found.effects) == ([f"sac: {NOT_BEST}"], [])


def test_a_value_at_which_training_diverged_on_one_task_is_best_on_none(
    runs: list[FinishedRun], tmp_path: Path
) -> None:
    folder = tuning(tmp_path / "t", {"sac": 3e-3, "td3": 3e-4})
    record = json.loads((folder / "tuning.json").read_text())
    lost = next(one for one in record["choices"] if (one["task"], one["agent"]) == (CHEETAH, "sac"))
    lost["tried"], lost["diverged"] = lost["tried"][:2], [[3e-3, 1, 2]]
    lost["tried"][1][1] = [0.2, 0.22]
    (folder / "tuning.json").write_text(json.dumps(record))
    found = told(read_tuning(folder), runs)
    assert found is not None
    assert found.left == [], "0.003 leads on Hopper and diverged on the other: the best of both is 0.001, as raced"
    (row,) = (row for row in found.budget if row[0] == "sac")
    assert row[2:6] == ["0.0003, 0.001, 0.003", "0.001", "0.001", "12"]


def test_trials_of_other_agents_say_nothing(runs: list[FinishedRun], tmp_path: Path) -> None:
    trials = read_tuning(tuning(tmp_path / "t", {"tqc": 1e-3}))
    assert told(trials, runs) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"choices": [{"task": "x"}]},
        {"choices": 3},
        {"seeds": None},
        {"choices": [{"task": "x", "agent": "y", "setting": "z", "tried": [[1, [0.1]], [2, []]], "steps": 1}]},
    ],
)
def test_a_damaged_tuning_is_named(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"tuning\.json is damaged"):
        read_tuning(tuning(tmp_path / "t", RATES, **changes))


def test_a_folder_without_trials_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="tiltyard tune"):
        read_tuning(tmp_path)


def test_the_tunings_that_are_published_can_be_read() -> None:
    from tiltyard.benchmarks.docs import RESULTS

    found = [read_tuning(path.parent) for path in sorted(RESULTS.glob("*-tuning/tuning.json"))]
    assert {("driving-v1-tuning", 4), ("gui-v2-tuning", 5)} <= {(one.folders[0], len(one.choices)) for one in found}


def test_a_grid_that_was_widened_later_is_one_grid(tmp_path: Path) -> None:
    first = read_tuning(tuning(tmp_path / "mine-tuning", RATES))
    later = tuning(tmp_path / "mine-tuning-wider", {"sac": 1e-3})
    record = json.loads((later / "tuning.json").read_text())
    for choice in record["choices"]:
        choice["tried"] = [[1e-4, [0.0, 0.2]], *choice["tried"][:2]]
    (later / "tuning.json").write_text(json.dumps(record))
    both = merged([first, read_tuning(later)])
    assert both.folders == ("mine-tuning", "mine-tuning-wider")
    sac = next(one for one in both.choices if one.agent == "sac")
    assert list(sac.tried) == [1e-4, 3e-4, 1e-3, 3e-3]
    assert (sac.tried[1e-4], sac.tried[1e-3]) == ((0.0, 0.2), (0.5, 0.52))
    assert (sac.steps, sac.seconds) == (160_000, 800.0)  # two of the three later values were there before
    assert trials_of(SUITE, tmp_path / "mine", None) == both
    assert sum(one.agent == "td3" for one in both.choices) == 2
