"""Names in a suite's comparisons: those of ours are all known, others are refused before a page says what is not so."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tiltyard.benchmarks.leaderboard.board import Board, leaderboard
from tiltyard.benchmarks.leaderboard.report import write_report
from tiltyard.benchmarks.leaderboard.spelling import check_comparison
from tiltyard.benchmarks.runs import FinishedRun
from tiltyard.benchmarks.suites import SUITES, Comparison, Entry, Suite, Task

MakeRun = Callable[..., FinishedRun]
HOPPER, CHEETAH = "tiltyard/Hopper-v5", "tiltyard/HalfCheetah-v5"
SUITE = Suite(
    "mine",
    "",
    tasks=tuple(Task(task, (Entry("sac", 20_000, 1), Entry("td3", 20_000, 1))) for task in (HOPPER, CHEETAH)),
    seeds=(0, 1, 2),
)
NOTHING = Board((), (), (), 0.95)


@pytest.mark.parametrize("suite", [one for one in SUITES if one.comparisons], ids=lambda suite: suite.name)
def test_the_comparisons_of_our_suites_name_what_there_is(suite: Suite) -> None:
    for comparison in suite.comparisons:
        check_comparison(comparison, suite, NOTHING)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reference": "tdd3"}, "unknown agent 'tdd3'; did you mean 'td3'?"),
        ({"agents": ("sac", "tdd3")}, "unknown agent 'tdd3'; did you mean 'td3'?"),
        ({"inert": {"sacc": "why"}}, "unknown agent 'sacc'; did you mean 'sac'?"),
        ({"tasks": ("tiltyard/Hoper-v5",)}, "unknown task 'tiltyard/Hoper-v5'; did you mean 'tiltyard/Hopper-v5'"),
        ({"tasks": ()}, "has no tasks"),
    ],
)
def test_a_misspelled_name_is_refused_with_the_nearest_one(
    change: dict[str, object], said: str, make_run: MakeRun, tmp_path: Path
) -> None:
    good = Comparison("Side by side", (HOPPER,), "td3")
    wrong = replace(good, **change)  # type: ignore[arg-type]
    runs = [make_run(HOPPER, agent, seed, 0.5) for agent in ("sac", "td3") for seed in range(3)]
    with pytest.raises(ValueError, match="comparison 'Side by side' of suite mine") as error:
        write_report(replace(SUITE, comparisons=(good, wrong)), runs, tmp_path / "page", command="")
    assert said in str(error.value)
    assert not (tmp_path / "page").exists()


def test_what_is_not_finished_yet_is_known_and_so_is_what_a_guest_is_called(make_run: MakeRun) -> None:
    runs = [make_run(HOPPER, "sac", seed, 0.5) for seed in range(3)]
    guests = [make_run(HOPPER, "ppo", seed, 0.5, params={"gamma": gamma}) for seed, gamma in enumerate((0.9, 0.99))]
    board = leaderboard([*runs, *guests], rng=np.random.default_rng(0))
    check_comparison(Comparison("One", (HOPPER,), "td3", ("sac", "ppo, gamma=0.9")), SUITE, board)


@pytest.mark.parametrize("others", [("Acrobot-v1",), (HOPPER,)])
def test_raw_returns_stand_in_no_comparison_with_other_tasks(
    others: tuple[str, ...], make_run: MakeRun, tmp_path: Path
) -> None:
    tasks = ("CartPole-v1", *others)
    entries = (Entry("dqn", 20_000, 1), Entry("ppo", 20_000, 1))
    suite = Suite("mine", "", tuple(Task(task, entries) for task in tasks), (0, 1, 2))
    score = make_run(HOPPER, "sac", 0, 0.5)
    runs = [
        replace(score, run=replace(score.run, env_id=task, agent=agent, seed=seed))
        for task in tasks
        for agent in ("dqn", "ppo")
        for seed in range(3)
    ]
    both = replace(suite, comparisons=(Comparison("Both", tasks, "dqn"),))
    with pytest.raises(ValueError, match="returns are not normalised: give it a comparison of its own"):
        write_report(both, runs, tmp_path, command="")
    alone = replace(suite, comparisons=(Comparison("Alone", ("CartPole-v1",), "dqn"),))
    assert write_report(alone, runs, tmp_path, command="").is_file()
