"""Other scales than random to expert, and curves along time: numbers by hand, and what is left out."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tiltyard.benchmarks.leaderboard.board import leaderboard
from tiltyard.benchmarks.leaderboard.figures import axis_words, draw_curves
from tiltyard.benchmarks.leaderboard.report import write_report
from tiltyard.benchmarks.leaderboard.scales import PUBLISHED, on_published, scaled
from tiltyard.benchmarks.records import clock_of
from tiltyard.benchmarks.runs import FinishedRun
from tiltyard.benchmarks.suites import Comparison, Entry, Suite, Task
from tiltyard.envs.catalogue import find

MakeRun = Callable[..., FinishedRun]
HOPPER, HIGHWAY = "tiltyard/Hopper-v5", "tiltyard/Highway-v0"


def with_return(run: FinishedRun, score: float) -> FinishedRun:
    """The run with the same return in every episode and at every point of its curve."""
    curve = tuple((step, score, 0.0) for step, *_ in run.curve)
    return replace(run, scores=(score,) * 100, curve=curve, normalised=find(run.run.env_id).normalise(score))


@pytest.fixture
def runs(make_run: MakeRun) -> list[FinishedRun]:
    returns = {"sac": 4000.0, "td3": 2000.0}
    return [
        with_return(make_run(HOPPER, agent, seed, 0.5), score + 30 * (seed - 1))
        for agent, score in returns.items()
        for seed in range(3)
    ]


def test_published_scores_are_those_of_d4rl(runs: list[FinishedRun]) -> None:
    assert PUBLISHED[HOPPER] == (-20.272305, 3234.3)
    (section,) = leaderboard(runs, rng=np.random.default_rng(0), scale="published").sections
    first, second = section.standings
    assert first.metrics["mean"].value == pytest.approx((4000 + 20.272305) / (3234.3 + 20.272305))
    assert second.metrics["mean"].value == pytest.approx((2000 + 20.272305) / (3234.3 + 20.272305))


def test_the_best_known_is_the_best_agent_or_the_expert(runs: list[FinishedRun]) -> None:
    row = find(HOPPER)
    board = leaderboard(runs, rng=np.random.default_rng(0), scale="best")
    values = {one.agent: one.metrics["mean"].value for one in board.sections[0].standings}
    top = max(4000.0, row.expert_score)
    assert values["sac"] == pytest.approx((4000 - row.random_score) / (top - row.random_score))
    assert values["td3"] == pytest.approx((2000 - row.random_score) / (top - row.random_score))
    (result, _) = board.results
    assert result.curve[0] == pytest.approx(values["sac"])
    better = [with_return(run, 2 * top) for run in runs if run.run.agent == "sac"]
    found, scale, _ = scaled([*better, *runs[3:]], "best")
    assert found[0].normalised == pytest.approx(1.0)
    assert scaled(found[:1], scale)[0][0].normalised == pytest.approx(1.0)  # a scale stays what it is for fewer runs
    assert scaled(runs[3:], scale)[0][0].normalised < scaled(runs[3:], "best")[0][0].normalised


def test_what_has_no_published_scores_is_left_out_and_named(runs: list[FinishedRun], make_run: MakeRun) -> None:
    roads = [make_run(HIGHWAY, "ppo", seed, 0.5) for seed in range(3)]
    board = leaderboard([*runs, *roads], rng=np.random.default_rng(0), scale="published")
    assert {result.task for result in board.results} == {HOPPER}
    assert board.notes[0] == "left out, for they have no published scores: Highway-v0"
    assert on_published(runs)
    assert not on_published(roads)
    with pytest.raises(ValueError, match="no environment of these runs has published scores: Highway-v0"):
        scaled(roads, "published")
    with pytest.raises(ValueError, match="scale"):
        scaled(runs, "human")  # type: ignore[arg-type]


def test_a_report_says_its_scale_and_leaves_verdicts_as_they_are(make_run: MakeRun, tmp_path: Path) -> None:
    runs = [make_run(HOPPER, agent, seed, level) for agent, level in (("sac", 0.8), ("td3", 0.3)) for seed in range(5)]
    runs += [make_run(HIGHWAY, "sac", 0, 0.5)]
    both = Comparison("Hopper", (HOPPER,), "td3"), Comparison("Road", (HIGHWAY,), "sac")
    tasks = tuple(Task(task, (Entry("sac", 20_000, 1),)) for task in (HOPPER, HIGHWAY))
    suite = Suite("mine", "", tasks, (0,), comparisons=both)
    here, there = (
        write_report(suite, runs, tmp_path / scale, command="", scale=scale, axis="wall-clock").read_text()
        for scale in ("expert", "published")
    )
    assert "0 is a random policy, 1 the scripted expert." in here
    assert "0 is D4RL's random policy, 1 D4RL's expert" in there
    assert "left out, for they have no published scores: Highway-v0" in there
    verdicts = [[line.split(" | ")[-3:-1] for line in page.splitlines() if "better" in line] for page in (here, there)]
    assert verdicts[0] == verdicts[1] != []


def test_curves_along_recorded_time(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(HOPPER, "sac", 0, 0.5, points=2, curve=((10, 0.0, 0.0), (20, 100.0, 0.0)), clock=((1, 2), (3, 8)))
    slower = replace(run, run=replace(run.run, seed=1), clock=((2.0, 2.0), (4.0, 8.0)))
    board = leaderboard([run, slower], rng=np.random.default_rng(0))
    (result,) = board.results
    wall, processor = result.timed["wall-clock"], result.timed["processor"]
    assert wall.at.tolist() == [2.0, 3.0]  # which both cover
    low, high = (find(HOPPER).normalise(x) for x in (0.0, 100.0))
    assert wall.mean.tolist() == pytest.approx([(low + high) / 4 + low / 2, (low + high) / 4 + high / 2])
    assert processor.at.tolist() == [2.0, 8.0]
    assert not wall.estimated
    assert axis_words("processor", board.results) == "processor seconds"
    draw_curves(board, tmp_path / "curves.png", axis="processor")
    assert (tmp_path / "curves.png").stat().st_size > 1000


def test_times_that_were_not_recorded_are_read_off_evenly_or_not_known(make_run: MakeRun) -> None:
    run = make_run(HOPPER, "sac", 0, 0.5, budget=40, points=4)
    (result,) = leaderboard([run], rng=np.random.default_rng(0)).results
    assert result.timed["wall-clock"].at.tolist() == [12.5, 25.0, 37.5, 50.0]  # of 50 seconds
    assert result.timed["wall-clock"].estimated
    assert "processor" not in result.timed
    assert axis_words("wall-clock", [result]) == "seconds by the clock, read off evenly"
    offline = make_run(HOPPER, "bc", 0, 0.5, params={"dataset": "tiltyard/hopper/medium-v0", "offline_steps": 9})
    (result,) = leaderboard([offline], rng=np.random.default_rng(0)).results
    assert not result.timed


def test_a_clock_is_pairs_that_never_count_backwards() -> None:
    assert clock_of({"clock": [[1, 2.5], [2, 3]]}, 2) == ((1.0, 2.5), (2.0, 3.0))
    assert clock_of({"clock": [[1, 2.5], [2, 3]]}, 5) == ()  # of a run that went on from another
    assert clock_of({}, 2) == ()
    for wrong in ([[1, 2], [2, 1]], [[-1, 2]], [1, 2], [[1, 2, 3]], [[1, "2"]], {"a": 1}, [[1, float("nan")]]):
        with pytest.raises(ValueError, match="clock"):
            clock_of({"clock": wrong}, 1)
