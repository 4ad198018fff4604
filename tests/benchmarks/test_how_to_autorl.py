"""Search for hyperparameters: equal budgets, seeds apart, the gap, and a kill in the middle that changes nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest

from tiltyard.agents.spaces import SPACES
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.diverging import RECORD
from tiltyard.benchmarks.how_to_autorl import DATABASE, _Search, _study, search, searched
from tiltyard.benchmarks.leaderboard.board import leaderboard
from tiltyard.benchmarks.leaderboard.tuned import conditions
from tiltyard.benchmarks.race import race
from tiltyard.benchmarks.runs import NAME, Run, read_run
from tiltyard.benchmarks.search_methods import Bracket, brackets, climb
from tiltyard.benchmarks.suites import Entry, Suite, Task
from tiltyard.benchmarks.tuning import Choice, Point, read_tuning

SUITE = """
seeds = [0, 1, 2]
[[tasks]]
env_id = "Pendulum-v1"
eval_episodes = 2
eval_points = 1
[[tasks.entries]]
agent = "sac"
budget = 126
seconds = 2
params = { batch_size = 8, policy_kwargs = { net_arch = [8] } }
"""
LINE = ["--space", "learning_rate,gamma", "--seeds", "10000-10001"]


def trained(folder: Path) -> list[Any]:
    return [read_run(one) for one in sorted(folder.iterdir()) if one.is_dir() and NAME.fullmatch(one.name)]


def suite_file(tmp_path: Path) -> str:
    path = tmp_path / "pendulum.toml"
    path.write_text(SUITE)
    return str(path)


@pytest.mark.parametrize(
    ("method", "trials", "sizes"),
    [
        ("random", 7, [(7, 1)]),
        ("tpe", 3, [(1, 1)] * 3),
        ("hyperband", 17, [(9, 3), (5, 2), (3, 1)]),  # algorithm 1 with R = 9 and eta = 3
        ("hyperband", 20, [(9, 3), (5, 2), (3, 1), (3, 3)]),
        ("hyperband", 4, [(4, 3)]),
    ],
)
def test_brackets_by_hand(method: Any, trials: int, sizes: list[tuple[int, int]]) -> None:
    found = list(brackets(method, trials))
    assert [(one.size, len(one.shares)) for one in found] == sizes
    assert all(one.shares == (1 / 9, 1 / 3, 1.0)[-len(one.shares) :] for one in found)


def test_a_third_goes_on_and_at_least_one() -> None:
    bracket = Bracket(7, (1 / 3, 1.0))
    scores = {i: (float(x), 0.0) for i, x in enumerate([0, 5, 1, 5, 2, 3, 4])}
    assert bracket.kept(scores, 0, of=7) == [1, 3]  # two of seven, of equals the first
    assert bracket.kept({4: (1.0,), 5: (2.0,)}, 0, of=2) == [5]
    assert bracket.kept({4: (1.0,), 5: (2.0,), 6: (0.0,)}, 0, of=7) == [4, 5], "those that failed count as tried"
    assert bracket.kept({4: (1.0,)}, 0, of=7) == [4]
    assert bracket.kept({}, 0, of=7) == []
    assert bracket.kept(scores, 1, of=7) == []


@pytest.mark.slow
def test_a_trial_that_diverges_has_failed_and_the_search_goes_on(tmp_path: Path) -> None:
    how: dict[str, Any] = {"seeds": (10_000, 10_001), "root": tmp_path / "t", "search_seed": 3, "test_seeds": (0,)}
    space = ["learning_rate=1e-12:1e30"]
    (one,) = search(suite_file(tmp_path), "random", trials=4, space=space, **how)
    assert len(one.tried) == 2
    assert list(one.diverged.values()) == [(2, 2), (2, 2)]
    assert max(one.tried) < min(one.diverged), "rates at which it diverged are the highest"
    assert one.best in one.tried
    assert one.runs == 8
    assert one.steps == 8 * 126
    assert 4 * 126 < one.trained < 8 * 126, "those that diverged did not train to the end"
    (row,) = searched([one])
    assert f"{len(one.tried)}, {len(one.diverged)} diverged" in row
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "t").glob(f"*/{RECORD}")}
    assert search(suite_file(tmp_path), "random", trials=4, space=space, **how) == [one]
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "t").glob(f"*/{RECORD}")} == before, "not run again"


@pytest.mark.slow
def test_survivors_of_a_bracket_that_diverge_are_replaced(tmp_path: Path) -> None:
    """Before it learns at all a ninth of the budget is over, so that every trial ends it, and each goes on in turn."""
    space, how = ["learning_rate=1e25:1e30"], {"seeds": (10_000,), "root": tmp_path / "t"}
    with pytest.raises(ValueError, match="sac on Pendulum-v1 diverged at every value of learning_rate that was tried"):
        search(suite_file(tmp_path), "hyperband", trials=3, space=space, **how)
    assert len(list((tmp_path / "t").glob(f"*/{RECORD}"))) == 3


def climbed(fatal: set[tuple[int, int]]) -> tuple[_Search, list[tuple[int, int]]]:
    """A bracket of nine trials, whose scores are their numbers, and all (level, trial) that ran; some diverge."""
    (bracket,) = brackets("hyperband", 9)
    study, ran = optuna.create_study(), list[tuple[int, int]]()
    for _ in range(9):
        study.ask()
    one = _Search(Run("Pendulum-v1", "sac", 10_000, 90), {}, study, 0, "hyperband")

    def score(going: Mapping[int, tuple[int, Sequence[int]]]) -> dict[int, dict[int, tuple[float, ...]]]:
        ((at, those),) = going.values()
        ran.extend((at, number) for number in those)
        for number in those:
            if (at, number) in fatal:
                one.fail(number, 1, 1)
        return {0: {number: (float(number),) for number in those if (at, number) not in fatal}}

    climb(bracket, range(9), [one], score)
    return one, ran


def test_the_next_best_goes_on_where_all_survivors_diverge() -> None:
    plain, ran = climbed(set())
    assert ran[9:] == [(1, 6), (1, 7), (1, 8), (2, 8)]
    assert (plain.full, plain.diverged) == ({8: (8.0,)}, {})
    assert {number: share for number, (share, _) in plain.stopped.items()} == {
        **dict.fromkeys(range(6), pytest.approx(1 / 9)),
        **dict.fromkeys((6, 7), pytest.approx(1 / 3)),
    }
    one, ran = climbed({(2, 8), (2, 7), (1, 6), (1, 5)})
    assert ran[9:] == [(1, 6), (1, 7), (1, 8), (2, 8), (2, 7), (1, 5), (1, 4), (2, 4)]
    assert (one.full, set(one.diverged)) == ({4: (4.0,)}, {5, 6, 7, 8})
    assert set(one.stopped) == {0, 1, 2, 3}
    none, ran = climbed({(1, number) for number in range(9)})
    assert (none.full, none.stopped, len(none.diverged), len(ran)) == ({}, {}, 9, 18)


@pytest.mark.slow
def test_a_search_in_which_every_trial_diverges_says_so(tmp_path: Path) -> None:
    how: dict[str, Any] = {"seeds": (10_000,), "root": tmp_path / "t"}
    with pytest.raises(ValueError, match="sac on Pendulum-v1 diverged at every value of learning_rate that was tried"):
        search(suite_file(tmp_path), "tpe", trials=3, space=["learning_rate=1e25:1e30"], **how)


def test_the_gap_is_the_score_in_tuning_minus_that_in_the_test() -> None:
    choice = Choice("t", "a", "x", {1: (0.5, 0.7, 0.9), 2: (0.0, 0.0, 0.0)}, None, 0, 0.0, tests=(0.1, 0.3, 0.5))
    gap = choice.gap
    assert gap is not None
    assert gap.estimate == pytest.approx(0.4)
    half = 2.7764451 * np.sqrt(2 * 0.04 / 3)  # t of 4 degrees of freedom, both variances 0.04
    assert (gap.low, gap.high) == pytest.approx((0.4 - half, 0.4 + half))
    assert replace(choice, tests=()).gap is None
    assert np.isnan(replace(choice, tests=(0.3,)).gap.low), "one test run has no interval"


def test_a_point_near_an_end_of_the_space_is_said_to_be_there() -> None:
    ends = {"gamma": (0.0, 1.0, False), "rate": (1e-4, 1e-2, True)}

    def choice(gamma: float, rate: float) -> Choice:
        best = Point((("gamma", gamma), ("rate", rate)))
        return Choice("t", "a", "gamma, rate", {best: (1.0,)}, None, 0, 0.0, space=ends)

    assert not choice(0.5, 1e-3).at_edge
    assert choice(0.97, 1e-3).at_edge
    assert choice(0.5, 1.1e-4).at_edge


@pytest.mark.slow
def test_a_search_keeps_its_budget_and_is_read_where_a_grid_is(tmp_path: Path, capsys: Any) -> None:
    suite, out = suite_file(tmp_path), tmp_path / "tuning"
    line = ["tune", suite, "--method", "random", "--trials", "3", *LINE, "--test-seeds", "0-2", "--out", str(out)]
    assert main(line) == 0
    page = capsys.readouterr().out
    tuning = read_tuning(out)
    (one,) = tuning.choices
    assert one.settings == ("learning_rate", "gamma")
    assert len(one.tried) == 3
    assert one.runs == 6
    assert one.steps == 6 * 126, "runs of the test are no trials"
    assert len(one.tests) == 3
    runs = trained(out)
    tests = [run for run in runs if run.run.seed < 10_000]
    assert {run.run.seed for run in tests} == {0, 1, 2}
    assert {one.value_in(run.run.params) for run in tests} == {one.best}
    assert sorted(run.normalised for run in tests) == sorted(one.tests)
    gap = np.mean(one.tried[one.best]) - np.mean(one.tests)
    assert f"{gap:.3f}" in page
    assert json.loads((out / "tuning.json").read_text())["choices"][0]["best"] == dict(one.best.values)
    chosen = dict(one.best.values)
    entry = Entry("sac", 126, 1.0, {"batch_size": 8, "policy_kwargs": {"net_arch": [8]}, **chosen})
    raced = race(Suite("r", "", (Task("Pendulum-v1", (entry,), 2, 1),), (0, 1, 2)), root=out)
    (condition,) = conditions(tuning, leaderboard(raced, rng=np.random.default_rng(0)), across=False)
    assert condition.raced == condition.best == one.best
    assert condition.cells()[2] == "3 points of a search"
    assert condition.sampled() is not None, "the noise of tuning can be resampled"


@pytest.mark.slow
def test_a_search_that_is_longer_begins_with_the_same_trials(tmp_path: Path) -> None:
    how: dict[str, Any] = {"space": ["learning_rate"], "seeds": (10_000,), "root": tmp_path / "t", "workers": 2}
    (first,) = search(suite_file(tmp_path), "random", trials=3, **how)
    (longer,) = search(suite_file(tmp_path), "random", trials=4, **how)
    assert list(longer.tried.items())[:3] == list(first.tried.items())
    assert len(longer.tried) == 4
    with pytest.raises(ValueError, match="another search of sac"):
        search(suite_file(tmp_path), "tpe", trials=3, **how)
    with pytest.raises(ValueError, match="another search of sac"):
        search(suite_file(tmp_path), "random", trials=3, **{**how, "space": ["learning_rate=1e-4:1e-3"]})


def test_steps_beyond_the_budget_are_told() -> None:
    one = Choice("t", "a", "gamma", {0.9: (0.5,)}, None, 300, 60.0, trained=24_576)
    assert next(iter(searched([one])))[8] == "300 (trained for 24,576)"


def test_a_search_does_not_go_on_with_scores_of_other_runs(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space, storage = {"gamma": SPACES["gamma"]}, f"sqlite:///{tmp_path / DATABASE}"
    run = Run("Pendulum-v1", "sac", 10_000, 100, {"gamma": 0.9, "batch_size": 8}, eval_episodes=2, eval_points=1)

    def study(one: Run, seeds: tuple[int, ...] = (10_000, 10_001), score: str = "final") -> str:
        return str(_study(one, space, "tpe", storage, 0, (score, *seeds)).study_name)

    name = study(run)
    assert study(run) == name
    assert study(replace(run, params={"gamma": 0.95, "batch_size": 8})) == name, "what is searched may be anything"
    for changed in replace(run, budget=200), replace(run, eval_episodes=3), replace(run, eval_points=2):
        with pytest.raises(ValueError, match="other seeds, budget or evaluation"):
            study(changed)
    for scored in {"seeds": (10_002,)}, {"score": "area"}:
        with pytest.raises(ValueError, match="other seeds, budget or evaluation"):
            study(run, **scored)


@pytest.mark.slow
def test_hyperband_gives_up_early_and_counts_every_step(tmp_path: Path) -> None:
    how: dict[str, Any] = {"space": ["learning_rate"], "seeds": (10_000,), "root": tmp_path, "workers": 2}
    (one,) = search(suite_file(tmp_path), "hyperband", trials=4, **how)
    budgets = sorted(run.run.budget for run in trained(tmp_path))
    assert budgets == [14, 14, 14, 14, 42, 126]
    assert one.steps == sum(budgets)
    assert one.trained == one.steps, "soft actor-critic does not overshoot"
    assert len(one.tried) == 1
    assert [share for _, share, _ in one.stopped] == pytest.approx([1 / 9] * 3)


@pytest.mark.slow
def test_what_is_killed_goes_on_and_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    suite = suite_file(tmp_path)
    argv = ["tune", suite, "--method", "tpe", "--trials", "4", "--space", "learning_rate,gamma", "--seeds", "10000"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert main([*argv, "--out", str(whole)]) == 0
    command = [sys.executable, "-m", "tiltyard.benchmarks.cli", *argv, "--out", str(broken)]
    code = f"import sys; from tiltyard.benchmarks.cli import main; sys.exit(main({command[3:]!r}))"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, start_new_session=True)
    while not (broken.is_dir() and any(NAME.fullmatch(one.name) for one in broken.iterdir())):
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert (broken / DATABASE).is_file()
    assert not (broken / "tuning.json").exists()
    assert main([*argv, "--out", str(broken)]) == 0
    assert read_tuning(broken).choices[0].tried == read_tuning(whole).choices[0].tried


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["--method", "randm", "--trials", "3"], "did you mean 'random'"),
        (["--method", "random"], "needs --trials"),
        (["--method", "random", "--trials", "2"], "at least 3 trials"),
        (["--method", "random", "--trials", "3", "--test-seeds", "10000"], "seed 10000 is for tuning"),
        (["--method", "random", "--trials", "3", "--seeds", "7"], "seed 7 is for races"),
        (["--method", "random", "--trials", "3", "--space", "n_epochs"], "SAC has no setting n_epochs"),
        (["--grid", "gamma=0.9,0.99,0.999", "--method", "tpe"], "and not both"),
        (["--grid", "gamma=0.9,0.99,0.999", "--trials", "3"], "--trials belong to --method"),
        ([], "give --grid or --method"),
    ],
)
def test_what_cannot_be_searched_is_a_sentence(line: list[str], message: str, tmp_path: Path, capsys: Any) -> None:
    assert main(["tune", suite_file(tmp_path), *line, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()
