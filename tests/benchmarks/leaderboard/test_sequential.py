"""Pages of races until decided: their verdicts are AdaStop's, computed again from the record and the runs."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from tiltyard.benchmarks import provenance
from tiltyard.benchmarks.diverging import RECORD
from tiltyard.benchmarks.leaderboard.board import leaderboard
from tiltyard.benchmarks.leaderboard.report import write_report
from tiltyard.benchmarks.runs import RUN, FinishedRun
from tiltyard.benchmarks.sequential import NO_VERDICT, Sequential, replayed
from tiltyard.benchmarks.suites import Comparison, Entry, Suite, Task
from tiltyard.benchmarks.until_decided import Decided, decide

MakeRun = Callable[..., FinishedRun]
HOPPER, CHEETAH = "tiltyard/Hopper-v5", "tiltyard/HalfCheetah-v5"
LEVELS = {"ppo": 0.3, "sac": 0.9, "td3": 0.3}
SUITE = Suite(
    "mine",
    "",
    tasks=tuple(Task(task, tuple(Entry(agent, 20_000, 1) for agent in LEVELS)) for task in (HOPPER, CHEETAH)),
    seeds=(0,),
    comparisons=(Comparison("Both", (HOPPER, CHEETAH), "td3"),),
)


@pytest.fixture
def made(make_run: MakeRun, tmp_path: Path) -> dict[str, FinishedRun]:
    """All runs that the race could take, by name."""
    runs = [
        make_run(task, agent, seed, LEVELS[agent])
        for task in (HOPPER, CHEETAH)
        for agent in LEVELS
        for seed in range(8)
    ]
    return {run.run.name: replace(run, folder=tmp_path / run.run.name) for run in runs}


@pytest.fixture
def raced(made: dict[str, FinishedRun], tmp_path: Path) -> Decided:
    """What the race has decided; its record lies beside the runs."""
    names = {
        agent: [
            [run.name for run in SUITE.runs(seeds=(seed,)) if run.agent == agent and run.name in made]
            for seed in range(8)
        ]
        for agent in LEVELS
    }
    record = Sequential("mine", "final", 4, 2, 0.05, names)
    record.write(tmp_path)

    def take(needed: Sequence[str], seeds: Sequence[int]) -> list[FinishedRun]:
        return [made[name] for agent in needed for seed in seeds for name in names[agent][seed]]

    return decide(record.test(), take, planned=48, progress=lambda line: None)


def test_decisions_are_computed_again_from_the_runs(raced: Decided) -> None:
    assert raced.test.decisions == {("ppo", "sac"): "smaller", ("ppo", "td3"): "undecided", ("sac", "td3"): "larger"}
    (found,) = replayed(raced.runs)
    assert (found.test.decisions, found.test.runs) == (raced.test.decisions, raced.test.runs)
    assert found.means == pytest.approx(raced.means)
    half = [run for run in raced.runs if run.run.seed < 4 and run.run.agent != "td3"]
    (early,) = replayed(half)  # one of its agents is missing: nothing is decided without it
    assert set(early.test.decisions.values()) == {"undecided"}
    assert "no group is finished yet" in early.said


def test_scores_are_judged_on_their_own_scale_whatever_is_shown(raced: Decided) -> None:
    (found,) = replayed([replace(run, normalised=0.0) for run in raced.runs])
    assert found.test.decisions == raced.test.decisions


def test_the_page_has_no_test_of_a_fixed_number_of_runs(raced: Decided, tmp_path: Path) -> None:
    page = write_report(SUITE, raced.runs, tmp_path / "page", command="").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")]
    overall = {row[0]: row[4:6] for row in rows if len(row) == 7}
    assert overall["sac"] == ["", "better by AdaStop"]
    assert overall["ppo"] == ["", "undecided by AdaStop"]
    by_task = [row[5:7] for row in rows if row[0] in ("Hopper-v5", "HalfCheetah-v5") and row[1] != "td3"]
    assert by_task == [["", NO_VERDICT]] * 4
    assert "over the 0 comparisons of this page" in page
    assert "mine was raced until decided: AdaStop added seeds in groups of 4, 2 groups at most" in page


def test_other_runs_keep_their_tests(made: dict[str, FinishedRun], tmp_path: Path) -> None:
    page = write_report(SUITE, made.values(), tmp_path / "page", command="").read_text()
    assert "AdaStop" not in page
    assert "over the 6 comparisons of this page" in page


def test_the_board_says_how_the_runs_came_to_be(raced: Decided) -> None:
    board = leaderboard(raced.runs, rng=np.random.default_rng(0), resamples=50)
    assert "do not hold their level for these agents" in board.notes[0]
    assert "ppo < sac" in board.notes[0]


def test_an_agent_that_diverged_is_left_out_again(raced: Decided, tmp_path: Path) -> None:
    """Pages say so, and decide the other pairs as the race did; the seed is none of the suite's own."""
    (lost,) = [run for run in raced.runs if run.run.agent == "ppo" and run.run.seed == 1 and run.run.env_id == HOPPER]
    partial = lost.run.partial(tmp_path)
    partial.mkdir(parents=True)
    (partial / RUN).write_text(json.dumps({"run": asdict(lost.run), "versions": provenance.versions()}))
    (partial / RECORD).write_text(json.dumps({"timesteps": 512, "wall_seconds": 2.0, "error": "diverged"}))
    runs = [run for run in raced.runs if run is not lost]
    (found,) = replayed(runs)
    assert (found.test.decisions, found.means.keys()) == ({("sac", "td3"): "larger"}, {"sac", "td3"})
    assert "; ppo has no verdict, since runs of it diverged (seeds: sac " in found.said
    page = write_report(SUITE, runs, tmp_path / "page", command="").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")]
    overall = {row[0]: row[5] for row in rows if len(row) == 7}
    assert (overall["sac"], overall["ppo"]) == ("better by AdaStop", "no verdict: 1 run diverged")
    assert "- 1 of 8 runs of ppo on Hopper-v5 diverged; scores are of the others." in page


@pytest.mark.parametrize("text", ["{", '{"suite": "mine"}', "[]"])
def test_a_damaged_record_is_named(raced: Decided, text: str, tmp_path: Path) -> None:
    (path,) = tmp_path.glob("until-decided-*.json")
    path.write_text(text)
    with pytest.raises(ValueError, match=f"{path.name} is no record of a race until decided"):
        replayed(raced.runs)
