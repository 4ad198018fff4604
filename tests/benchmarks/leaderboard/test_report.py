import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from markdown_it import MarkdownIt
from matplotlib.figure import Figure
from PIL import Image

from tiltyard.benchmarks import provenance
from tiltyard.benchmarks.diverging import RECORD
from tiltyard.benchmarks.leaderboard import report
from tiltyard.benchmarks.leaderboard.board import leaderboard
from tiltyard.benchmarks.leaderboard.figures import success_by_episodes
from tiltyard.benchmarks.leaderboard.groups import place
from tiltyard.benchmarks.leaderboard.lost import diverged_of, missing
from tiltyard.benchmarks.leaderboard.report import COLOURS, NO_PAIRED_VERDICT, NO_VERDICT, write_report
from tiltyard.benchmarks.leaderboard.scales import ScaleName
from tiltyard.benchmarks.permutation import exact_p, holm, sign_flip_p
from tiltyard.benchmarks.runs import RUN, FinishedRun
from tiltyard.benchmarks.scores import area, last_five
from tiltyard.benchmarks.suites import SUITES, Comparison, Entry, Suite, Task
from tiltyard.benchmarks.training_log import Logged
from tiltyard.benchmarks.verdicts import student_interval
from tiltyard.envs.catalogue import find as find_env

MakeRun = Callable[..., FinishedRun]
HOPPER, CHEETAH = "tiltyard/Hopper-v5", "tiltyard/HalfCheetah-v5"
SUITE = Suite(
    "mine",
    "",
    tasks=tuple(Task(task, (Entry("sac", 20_000, 1), Entry("td3", 20_000, 1))) for task in (HOPPER, CHEETAH)),
    seeds=tuple(range(6)),
    comparisons=(Comparison("Both, side by side", (HOPPER, CHEETAH), "td3"),),
)


@pytest.fixture
def runs(make_run: MakeRun) -> list[FinishedRun]:
    levels = {(HOPPER, "sac"): 0.5, (HOPPER, "td3"): 0.5, (CHEETAH, "sac"): 0.9, (CHEETAH, "td3"): 0.2}
    found = [make_run(*key, seed, level) for key, level in levels.items() for seed in range(6)]
    return [*found, *(make_run(HOPPER, "bc", seed, 0.1) for seed in range(6))]


def rows_of(page: Path, agent: str) -> list[list[str]]:
    lines = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if line.startswith("|")]
    return [line for line in lines if agent in line[:2]]


def raw_runs(make_run: MakeRun, *agents: str) -> list[FinishedRun]:
    """Of CartPole, whose random and expert scores are not known: returns of about 200."""
    of_hopper = [make_run(HOPPER, agent, seed, 0.5) for agent in agents for seed in range(4)]
    scores = [200.0 + one.run.seed for one in of_hopper]
    return [
        replace(one, run=replace(one.run, env_id="CartPole-v1"), scores=(score,), successes=(), normalised=score)
        for one, score in zip(of_hopper, scores, strict=True)
    ]


@pytest.mark.parametrize(("colours", "label"), [(COLOURS, "return"), (1, "mean return")])
@pytest.mark.parametrize("scale", ["expert", "published"])
def test_raw_returns_are_called_so(
    colours: int, label: str, scale: ScaleName, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words and in the figure, of curves and of a ranking (of more agents than there are colours)."""
    agents = ("dqn", "ppo")
    monkeypatch.setattr(report, "COLOURS", colours)
    task = Task("CartPole-v1", tuple(Entry(agent, 20_000, 1) for agent in agents))
    suite = Suite("mine", "", (task,), (0, 1, 2, 3), comparisons=(Comparison("All", ("CartPole-v1",), "ppo"),))
    save, kept = Figure.savefig, []
    monkeypatch.setattr(Figure, "savefig", lambda figure, path: kept.append(figure) or save(figure, path))
    page = write_report(suite, raw_runs(make_run, *agents), tmp_path, command="", scale=scale).read_text()
    assert "\nScores are raw returns. Brackets are" in page
    assert "normalised" not in page
    assert {ax.get_ylabel() or ax.get_xlabel() for ax in kept[0].axes} == {label}


def test_raw_returns_beside_normalised_scores_are_named(make_run: MakeRun, tmp_path: Path) -> None:
    tasks = tuple(Task(env_id, (Entry("sac", 20_000, 1),)) for env_id in (HOPPER, "CartPole-v1"))
    comparisons = tuple(Comparison(task.env_id[-4:], (task.env_id,), "sac") for task in tasks)
    suite = Suite("mine", "", tasks, (0, 1, 2, 3), comparisons=comparisons)
    runs = [*(make_run(HOPPER, "sac", seed, 0.5) for seed in range(4)), *raw_runs(make_run, "sac")]
    page = write_report(suite, runs, tmp_path, command="").read_text()
    one = "0 is a random policy, 1 the scripted expert"
    assert f"\nScores are normalised: {one}; of CartPole-v1, raw returns. Brackets are" in page


def test_odds_and_verdicts_stand_in_the_tables(runs: list[FinishedRun], tmp_path: Path) -> None:
    page = write_report(SUITE, runs, tmp_path, command="tiltyard race mine")
    overall, *by_task = rows_of(page, "sac")
    hopper = sorted(run.normalised for run in runs if (run.run.env_id, run.run.agent) == (HOPPER, "sac"))
    rivals = sorted(run.normalised for run in runs if (run.run.env_id, run.run.agent) == (HOPPER, "td3"))
    wins = sum(mine > other for mine in hopper for other in rivals) / 36
    assert overall[3].startswith(f"{(1 + wins) / 2:.2f}")  # every run on HalfCheetah beats every run there
    # of 924 ways to divide 12 runs 2 set them wholly apart; three tests are on the page
    raw = exact_p([0.9] * 6, [0.2] * 6), exact_p(hopper, rivals)
    assert {row[0]: row[5:7] for row in by_task}["HalfCheetah-v5"] == [f"{3 * raw[0]:.3f}", "better"]
    both = [
        [sum(one.normalised for one in runs if (one.run.agent, one.run.seed) == (agent, seed)) / 2 for seed in range(6)]
        for agent in ("sac", "td3")
    ]
    adjusted = holm([raw[0], raw[1], exact_p(*both)])
    assert {row[0]: row[5] for row in by_task}["Hopper-v5"] == f"{adjusted[1]:.3f}"
    assert overall[4] == f"{adjusted[2]:.3f}"
    verdict = overall[5]
    assert f"\nOver all tasks, against td3: {verdict}: sac.\n" in page.read_text()
    assert verdict in ("better", "no significant difference")
    assert not rows_of(page, "bc")  # it ran one of the two tasks
    assert "`tiltyard race mine`" in page.read_text()
    assert "Not finished" not in page.read_text()
    assert "Holm's method over the 3 comparisons of this page, at 5%" in page.read_text()


@pytest.mark.parametrize(
    ("seeds", "verdict"),
    [(2, ["", NO_VERDICT]), (3, ["", NO_VERDICT]), (4, ["0.014", "better"]), (6, ["0.006", "better"])],
)
def test_there_is_no_verdict_below_four_runs_a_side(
    runs: list[FinishedRun], tmp_path: Path, seeds: int, verdict: list[str]
) -> None:
    for few in ("sac", "td3"):  # either side may be the short one
        some = [run for run in runs if run.run.agent != few or run.run.seed < seeds]
        page = write_report(SUITE, some, tmp_path, command="")
        overall, *by_task = rows_of(page, "sac")
        odds = f"1.00 [{0.025 ** (1 / seeds):.2f}, 1.00]" if seeds > 2 else "-"
        assert {row[0]: row[4:7] for row in by_task}["HalfCheetah-v5"] == [odds, *verdict]
        assert (overall[5] == NO_VERDICT) == (f"against td3: {NO_VERDICT}: sac." in page.read_text()) == (seeds < 4)


def test_a_paired_suite_compares_runs_of_the_same_seed(make_run: MakeRun, tmp_path: Path) -> None:
    """What seeds do to both agents is larger than what sets these apart, and falls out of their differences."""
    suite = replace(SUITE, comparisons=(Comparison("One", (HOPPER,), "td3"),), paired=True)
    levels = {"sac": 0.02, "td3": 0.0}
    made = [make_run(HOPPER, agent, seed, 0.5) for agent in levels for seed in range(8)]
    runs = [
        replace(run, normalised=0.1 * run.run.seed**1.5 + (1 + run.run.seed / 8) * levels[run.run.agent])
        for run in made
    ]
    (overall, by_task) = rows_of(write_report(suite, runs, tmp_path, command=""), "sac")
    differences = [0.02 * (1 + seed / 8) for seed in range(8)]
    assert overall[4:6] == by_task[5:7] == [f"{sign_flip_p(differences):.3f}", "better"] == ["0.008", "better"]
    assert overall[3] == by_task[4] == f"{student_interval(differences):+.3f}" == "+0.029 [+0.024, +0.034]"
    text = (tmp_path / "README.md").read_text()
    assert "| agent | IQM | mean | minus td3, paired |" in text
    assert "exchange the runs of a pair" in text
    unpaired = write_report(replace(suite, paired=False), runs, tmp_path, command="")
    assert all("no significant difference" in row for row in rows_of(unpaired, "sac"))


def test_conditions_are_called_by_their_labels(make_run: MakeRun, tmp_path: Path) -> None:
    tuned = Entry("sac", 20_000, 1, {"tau": 0.1}, label="SAC, slow"), Entry("sac", 20_000, 1, {"tau": 0.2}, label="SAC")
    task = Task(HOPPER, (*tuned, Entry("td3", 20_000, 1)))
    suite = replace(SUITE, tasks=(task,), comparisons=(Comparison("One", (HOPPER,), "SAC"),))
    runs = [make_run(HOPPER, "sac", seed, 0.5, params={"tau": tau}) for seed in range(4) for tau in (0.1, 0.2)]
    runs += [make_run(HOPPER, "td3", seed, 0.1) for seed in range(4)]
    page = write_report(suite, runs, tmp_path, command="")
    assert rows_of(page, "SAC")[0][3] == ""
    assert len(rows_of(page, "SAC, slow")) == len(rows_of(page, "td3")) == 2
    unlabelled = replace(task, entries=tuple(replace(entry, label="") for entry in task.entries))
    assert suite.digest == replace(suite, tasks=(unlabelled,)).digest


def test_only_seeds_that_both_ran_are_pairs_and_five_pairs_get_no_verdict(make_run: MakeRun, tmp_path: Path) -> None:
    suite = replace(SUITE, comparisons=(Comparison("One", (HOPPER,), "td3"),), paired=True)
    runs = [make_run(HOPPER, "sac", seed, 0.9) for seed in range(9)]
    for first, verdict in ((3, ["0.031", "better"]), (4, ["", NO_PAIRED_VERDICT])):
        others = [make_run(HOPPER, "td3", seed, 0.2) for seed in range(first, 12)]
        overall, _ = rows_of(write_report(suite, [*runs, *others], tmp_path, command=""), "sac")
        assert overall[4:6] == verdict


def test_the_score_may_be_the_area_under_the_curve(make_run: MakeRun, tmp_path: Path) -> None:
    """An agent that learns sooner and ends no higher is better by its area alone."""
    curves = {"sac": (0.0, 800.0, 1000.0), "td3": (0.0, 200.0, 1000.0)}
    runs = [
        replace(run, curve=tuple(zip((1000, 2000, 4000), curves[run.run.agent], (0.0,) * 3, strict=True)))
        for agent in curves
        for run in [make_run(HOPPER, agent, seed, 0.5) for seed in range(4)]
    ]
    assert area(runs[0]) == pytest.approx((400 * 1000 + 900 * 2000) / 3000)
    assert area(replace(runs[0], curve=runs[0].curve[-1:])) == 1000.0
    row = find_env(HOPPER)
    by_area = replace(SUITE, comparisons=(Comparison("One", (HOPPER,), "td3"),), score="area")
    for scale in ("expert", "published"):
        overall, by_task = rows_of(write_report(by_area, runs, tmp_path, command="", scale=scale), "sac")
        assert overall[5] == by_task[6] == "better"
    overall, _ = rows_of(write_report(by_area, runs, tmp_path, command=""), "sac")
    assert overall[2] == f"{row.normalise(area(runs[0])):.3f}" + overall[2][5:]
    assert "area under its evaluation curve" in (tmp_path / "README.md").read_text()


def test_the_score_may_be_the_mean_of_the_last_five_evaluations(make_run: MakeRun, tmp_path: Path) -> None:
    """An agent whose last evaluation is a lucky one is worse by the five."""
    curves = {"sac": (0.0, 500.0, 500.0, 500.0, 500.0, 500.0), "td3": (3000.0, 100.0, 100.0, 100.0, 100.0, 1000.0)}
    runs = [
        replace(run, curve=tuple((1000 * i, score, 0.0) for i, score in enumerate(curves[run.run.agent])))
        for agent in curves
        for run in [make_run(HOPPER, agent, seed, 0.5) for seed in range(4)]
    ]
    assert (last_five(runs[0]), last_five(runs[-1])) == (500.0, 280.0)
    assert last_five(replace(runs[0], curve=runs[0].curve[-1:])) == 500.0
    suite = replace(SUITE, comparisons=(Comparison("One", (HOPPER,), "td3"),), score="last-five")
    overall, by_task = rows_of(write_report(suite, runs, tmp_path, command=""), "sac")
    assert overall[5] == by_task[6] == "better"
    assert overall[2] == f"{find_env(HOPPER).normalise(500.0):.3f}" + overall[2][5:]
    assert "mean of its last five evaluations" in (tmp_path / "README.md").read_text()


def test_pass_at_k_and_what_training_logged_stand_in_a_table(make_run: MakeRun, tmp_path: Path) -> None:
    """Of 25 problems with four completions each, five were solved once: pass@1 0.05, pass@4 0.2."""
    right = tuple(i in range(0, 20, 4) for i in range(100))
    logged = {"rollout/entropy": Logged(0.5, 0.25), "rollout/uniform_groups": Logged(0.75, 0.5)}
    runs = [
        make_run(HOPPER, agent, seed, 0.5, params={"eval_group": 4}, successes=right, training=logged)
        for agent in ("sac", "td3")
        for seed in range(2)
    ]
    suite = replace(SUITE, comparisons=(Comparison("One", (HOPPER,), "td3"),))
    *_, row = rows_of(write_report(suite, runs, tmp_path, command=""), "sac")
    assert row == ["Hopper-v5", "sac", "0.050", "0.200", "0.250", "0.750", "-", "-"]
    assert "| pass@1 | pass@4 | entropy at the end, nats a token |" in (tmp_path / "README.md").read_text()


def test_what_ppo_logs_tells_nothing_of_completions(make_run: MakeRun, tmp_path: Path) -> None:
    logged = {"train/clip_fraction": Logged(0.5, 0.25)}
    runs = [make_run(HOPPER, agent, seed, 0.5, training=logged) for agent in ("sac", "td3") for seed in range(2)]
    suite = replace(SUITE, comparisons=(Comparison("One", (HOPPER,), "td3"),))
    assert "| pass@1 |" not in write_report(suite, runs, tmp_path, command="").read_text()


def test_odds_whose_interval_ends_at_one_half_tell_nothing_apart(make_run: MakeRun, tmp_path: Path) -> None:
    levels = {"sac": (0.5, 0.5, 0.9, 0.9), "td3": (0.5,) * 4}  # all of the higher two are drawn away in 1 of 16
    made = [make_run(HOPPER, agent, seed, 0.5) for agent in levels for seed in range(4)]
    runs = [replace(run, normalised=levels[run.run.agent][run.run.seed]) for run in made]
    for reference, other, odds in (("td3", "sac", "0.75 [0.50, 1.00]"), ("sac", "td3", "0.25 [0.00, 0.50]")):
        suite = replace(SUITE, comparisons=(Comparison("One", (HOPPER,), reference),))
        for row in rows_of(write_report(suite, runs, tmp_path, command=""), other):
            assert odds in row
            assert "no significant difference" in row


def test_agents_whose_mechanism_cannot_act_get_no_verdict(runs: list[FinishedRun], tmp_path: Path) -> None:
    inert = replace(SUITE.comparisons[0], remark="A remark.", inert={"sac": "there is nothing to do"})
    text = write_report(replace(SUITE, comparisons=(inert,)), runs, tmp_path, command="").read_text()
    assert "A remark.\n\nThese could not do here" in text
    assert "\n- sac: there is nothing to do.\n\n|" in text
    overall, *by_task = rows_of(tmp_path / "README.md", "sac")
    assert overall[4:6] == ["", "inert here"]
    assert {row[6] for row in by_task} == {"inert here"}
    assert "Over all tasks, against td3: inert here: sac." in text


def test_agents_keep_their_names_in_every_comparison(make_run: MakeRun, tmp_path: Path) -> None:
    runs = [make_run(HOPPER, "sac", seed, 0.5, params={"tau": 0.1}) for seed in range(4)]
    runs += [make_run(CHEETAH, "sac", seed, 0.5, params=params) for seed in range(4) for params in ({"tau": 0.2}, {})]
    suite = replace(SUITE, comparisons=(Comparison("One", (CHEETAH,), "sac, tau=0.2", ("sac", "sac, tau=0.2")),))
    page = write_report(suite, runs, tmp_path, command="")
    assert {row[0] for row in rows_of(page, "sac, tau=0.2")} == {"sac, tau=0.2", "HalfCheetah-v5"}
    assert all("no significant difference" in " ".join(row) for row in rows_of(page, "sac"))

    alike = [make_run(CHEETAH, "sac", seed, 0.5, params={"tau": 0.2}) for seed in range(4)]
    suite = replace(suite, comparisons=(suite.comparisons[0], Comparison("Alone", (HOPPER,), "sac, tau=0.1")))
    page = write_report(suite, [*alike, *runs[:4]], tmp_path, command="")  # on one task alone nothing sets them apart
    assert len(rows_of(page, "sac, tau=0.2")) == 2
    assert len(rows_of(page, "sac, tau=0.1")) == 2


def test_a_named_agent_that_ran_only_one_of_its_tasks_is_left_out(runs: list[FinishedRun], tmp_path: Path) -> None:
    one = replace(SUITE, comparisons=(replace(SUITE.comparisons[0], agents=("bc",)), *SUITE.comparisons))
    page = write_report(one, runs, tmp_path, command="")
    assert rows_of(page, "sac")
    assert not rows_of(page, "bc")


def test_agents_are_compared_across_what_they_learn_from(make_run: MakeRun, tmp_path: Path) -> None:
    data = {"dataset": "tiltyard/hopper/medium-v0"}
    runs = [make_run(HOPPER, "sac", seed, 0.1) for seed in range(3)]
    runs += [make_run(HOPPER, "sac", seed, 0.4, params=data) for seed in range(3)]
    runs += [make_run(HOPPER, "serl", seed, 0.9, params={**data, "offline_steps": 5}) for seed in range(3)]
    runs += [make_run(HOPPER, "bc", seed, 0.5, budget=0, params={**data, "offline_steps": 9}) for seed in range(3)]
    beside = Comparison("Side by side", (HOPPER,), "serl from medium-v0, then online", across=True, remark="A remark.")
    suite = replace(SUITE, comparisons=(beside, Comparison("Apart", (HOPPER,), "sac")))
    page = write_report(suite, runs, tmp_path, command="")
    together, _, apart = page.read_text().partition("## Apart")
    names = ("serl from medium-v0, then online", "bc from medium-v0", "sac from medium-v0, then online", "sac")
    rows = [line.strip("| ").split(" | ") for line in together.splitlines() if line.startswith("| Hopper-v5")]
    assert [(row[1], row[7]) for row in rows] == [
        *zip(names, ("5 updates, 20,000 steps", "9 updates", "20,000 steps", "20,000 steps"), strict=True)
    ]
    assert {row[8] for row in rows} == {"0.8"}  # 51 s of 50, 51 and 52
    assert "at step 0" not in page.read_text().lower()  # the made-up curves begin later, so there is nothing to tell
    assert "## Side by side\n\nA remark.\n\n|" in together
    assert "serl" not in apart

    begun = [replace(run, curve=((0, 0.0, 0.25), *run.curve)) for run in runs]
    text, _, other = write_report(suite, begun, tmp_path, command="").read_text().partition("## Apart")
    assert "At step 0: success after the updates on data alone.\n\n" in text
    assert "| length | at step 0 | minutes |" in text
    assert "| length | minutes |" in other  # of agents that learn in the environment alone
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| Hopper-v5")]
    assert [row[8] for row in rows] == ["25%", "", "", ""]  # of those who do updates on data, then steps

    named = replace(suite, comparisons=(replace(beside, agents=names[1:3]),))
    shown = write_report(named, runs, tmp_path, command="").read_text()
    assert [line.split(" | ")[1] for line in shown.splitlines() if line.startswith("| Hopper-v5")] == [*names[1:3]]


def test_the_figure_is_drawn(runs: list[FinishedRun], tmp_path: Path) -> None:
    write_report(SUITE, runs, tmp_path, command="")
    figure = Image.open(tmp_path / "both-side-by-side.png")
    assert figure.width > figure.height > 300
    assert len(figure.convert("RGB").getcolors(100_000) or []) > 50


def test_many_agents_are_drawn_as_a_ranking(make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    methods = [f"m{i}" for i in range(COLOURS + 1)]
    task = Task("tiltyard/Maze-v0", tuple(Entry("grpo", 100, 1, {"method": method}) for method in methods))
    suite = Suite("mine", "", (task,), (0, 1, 2, 3), comparisons=(Comparison("All", (task.env_id,), "m3"),))
    runs = [
        make_run(task.env_id, "grpo", seed, 0.02 * i + 0.01 * seed, params={"method": method})
        for i, method in enumerate(methods)
        for seed in range(4)
    ]
    save, kept = Figure.savefig, []
    monkeypatch.setattr(Figure, "savefig", lambda figure, path: kept.append(figure) or save(figure, path))
    page = write_report(suite, runs, tmp_path, command="").read_text()
    assert "![Scores at the end](all.png)" in page
    assert "over the 20 comparisons of this page" in page  # over all tasks and on the one task is the same test
    all_tasks, maze = kept[0].axes
    assert [label.get_text() for label in all_tasks.get_yticklabels()] == methods[::-1]
    assert all_tasks.yaxis_inverted()  # the best above
    own = [run for run in runs if run.run.params["method"] == "m3"]
    middle = sorted(run.normalised for run in own)[1:3]  # of four runs an IQM leaves out the least and the greatest
    scores = {"IQM, all tasks": np.mean(middle), "Maze-v0": np.mean([run.scores for run in own])}
    for axes in (all_tasks, maze):
        assert axes.lines[-1].get_xdata() == pytest.approx([scores[axes.get_title()]] * 2)
        (dot,) = [line for line in axes.lines if line.get_marker() == "o" and line.get_ydata()[0] == 17]  # m3's row
        assert dot.get_xdata()[0] == pytest.approx(scores[axes.get_title()])
    assert Image.open(tmp_path / "all.png").height > 400
    inert = replace(suite.comparisons[0], inert={"m0": "it cannot act"})  # whose verdict is no comparison
    page = write_report(replace(suite, comparisons=(inert,)), runs, tmp_path, command="").read_text()
    assert "over the 19 comparisons of this page" in page


def test_success_can_be_drawn_against_episodes(make_run: MakeRun, tmp_path: Path) -> None:
    runs = []
    for seed, later in enumerate((0, 0, 3_000)):
        folder = tmp_path / f"run-{seed}"
        folder.mkdir()
        log = f"time/total_timesteps,time/episodes\n2000,100\n2000,\n10000,{500 + later}\n"
        (folder / "progress.csv").write_text(log)
        curve = ((1000, 0.0, 0.1), (6000, 0.0, 0.2), (10_000, 0.0, 0.2 * seed))
        runs.append(make_run(HOPPER, "sac", seed, 0.5, folder=folder, curve=curve))
    (result,) = leaderboard(runs, rng=np.random.default_rng(0)).results
    episodes, success, band = success_by_episodes(result)
    assert episodes.tolist() == [50, 300 + 500, 500 + 1000]
    assert success.tolist() == pytest.approx([0.1, 0.2, 0.2])
    assert band is not None
    assert (band.low[2], band.high[2]) == pytest.approx((0.0, 0.4))

    both = {"plain": SUITE.comparisons[0], "episodes": replace(SUITE.comparisons[0], by_episodes=True)}
    for name, comparison in both.items():
        suite = replace(SUITE, comparisons=(replace(comparison, tasks=(HOPPER,)),))
        write_report(suite, runs, tmp_path / name, command="")
    figures = [Image.open(tmp_path / name / "both-side-by-side.png").tobytes() for name in both]
    assert figures[0] != figures[1]

    (runs[1].folder / "progress.csv").write_text("time/total_timesteps\n2000\n")
    with pytest.raises(ValueError, match="does not count episodes"):
        success_by_episodes(result)


def test_runs_that_are_not_finished_are_counted(runs: list[FinishedRun], tmp_path: Path) -> None:
    some = [run for run in runs if run.run.seed < 2]
    assert missing(SUITE, some) == {HOPPER: 8, CHEETAH: 8}
    assert (
        "- Not finished: 8 runs of tiltyard/Hopper-v5." in write_report(SUITE, some, tmp_path, command="").read_text()
    )


def with_diverged(runs: list[FinishedRun], root: Path, *lost: tuple[str, str, int]) -> list[FinishedRun]:
    """Runs that lie in ``root``, without those of these tasks, agents and seeds, which diverged there."""
    moved = [replace(run, folder=root / run.run.name) for run in runs]
    gone = [run for run in moved if (run.run.env_id, run.run.agent, run.run.seed) in lost]
    for one in gone:
        partial = one.run.partial(root)
        partial.mkdir(parents=True)
        (partial / RUN).write_text(json.dumps({"run": asdict(one.run), "versions": provenance.versions()}))
        (partial / RECORD).write_text(json.dumps({"timesteps": 512, "wall_seconds": 2.0, "error": "diverged"}))
    return [run for run in moved if run not in gone]


def test_a_condition_with_runs_that_diverged_gets_no_verdict(runs: list[FinishedRun], tmp_path: Path) -> None:
    lost = (CHEETAH, "sac", 5)
    some = with_diverged(runs, tmp_path / "runs", lost)
    assert [one.run for one in diverged_of(SUITE, some)] == [run.run for run in runs if run.run.agent == "sac"][-1:]
    page = write_report(SUITE, some, tmp_path, command="")
    text = page.read_text()
    assert "- 1 of 6 runs of sac on HalfCheetah-v5 diverged; scores are of the others." in text
    assert "Not finished" not in text
    assert "in no score" not in text, "said by condition already"
    assert missing(SUITE, some) == {CHEETAH: 1}
    both, *tasks = rows_of(page, "sac")
    said = "no verdict: 1 run diverged"
    assert said in both
    assert {row[0]: said in row for row in tasks} == {
        "HalfCheetah-v5": True,
        "Hopper-v5": False,
    }
    assert "the 1 comparisons of this page" in text, "that on Hopper alone"


def test_runs_beyond_the_suites_seeds_that_diverged_count_too(runs: list[FinishedRun], tmp_path: Path) -> None:
    """Seeds that ``race --seeds`` adds stand on the page, so that those of them that diverged do."""
    suite = replace(SUITE, seeds=(0, 1, 2, 3))
    some = with_diverged(runs, tmp_path / "runs", (CHEETAH, "sac", 5))
    assert [one.run.seed for one in diverged_of(suite, some)] == [5]
    assert "1 of 6 runs of sac on HalfCheetah-v5" in write_report(suite, some, tmp_path, command="").read_text()


def test_a_board_without_a_suite_names_runs_that_diverged(runs: list[FinishedRun], tmp_path: Path) -> None:
    """Its scores are of the others, which a reader would take for all."""
    some = with_diverged(runs, tmp_path, (CHEETAH, "sac", 5))
    (name,) = {run.run.name for run in runs} - {run.run.name for run in some}
    said = f"a run diverged, and is in no score, rank or probability here: {name}"
    assert said in leaderboard(some, rng=np.random.default_rng(0), resamples=10).notes
    many = with_diverged(runs, tmp_path / "many", *((CHEETAH, "sac", seed) for seed in range(8)))
    (said,) = [one for one in leaderboard(many, rng=np.random.default_rng(0), resamples=10).notes if "diverged" in one]
    assert said.startswith("6 runs diverged, and are in no score")


def test_nothing_is_compared_with_a_reference_that_diverged(runs: list[FinishedRun], tmp_path: Path) -> None:
    some = with_diverged(runs, tmp_path / "runs", (HOPPER, "td3", 1), (HOPPER, "td3", 2))
    page = write_report(SUITE, some, tmp_path, command="")
    both, *tasks = rows_of(page, "sac")
    said = "no verdict: 2 runs of the reference diverged"
    assert said in both
    assert {row[0]: said in row for row in tasks} == {"HalfCheetah-v5": False, "Hopper-v5": True}


def test_a_condition_of_which_every_run_diverged_is_told(runs: list[FinishedRun], tmp_path: Path) -> None:
    suite = replace(SUITE, comparisons=(*SUITE.comparisons, Comparison("Hopper", (HOPPER,), "td3")))
    some = with_diverged(runs, tmp_path / "runs", *((CHEETAH, "sac", seed) for seed in range(6)))
    text = write_report(suite, some, tmp_path, command="").read_text()
    assert "- all 6 runs of sac on HalfCheetah-v5 diverged." in text


def test_a_race_under_way_is_reported_by_the_seeds_that_ran_everywhere(runs: list[FinishedRun], tmp_path: Path) -> None:
    some = [
        run for run in runs if run.run.seed < 4 and (run.run.env_id, run.run.agent, run.run.seed) != (CHEETAH, "sac", 1)
    ]
    rows = rows_of(write_report(SUITE, some, tmp_path, command=""), "sac")
    mine, rivals = ([run for run in some if run.run.agent == agent] for agent in ("sac", "td3"))
    wins = [
        np.mean([run.normalised > other.normalised for run in mine for other in rivals if both(run, other, task)])
        for task in (HOPPER, CHEETAH)
    ]
    assert [rows[0][3].partition(" ")[0], *rows[0][4:6]] == [f"{np.mean(wins):.2f}", "", NO_VERDICT]
    assert rows[0][6] == "3"


def both(run: FinishedRun, other: FinishedRun, task: str) -> bool:
    return run.run.env_id == other.run.env_id == task and run.run.seed != 1


def test_a_suite_without_finished_comparisons_says_so(runs: list[FinishedRun], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="suite smoke has nothing to report"):
        write_report(SUITES[0], runs, tmp_path, command="")


@pytest.mark.parametrize("suite", [suite for suite in SUITES if suite.comparisons], ids=lambda suite: suite.name)
def test_comparisons_name_tasks_and_agents_of_their_suite(suite: Suite) -> None:
    for comparison in suite.comparisons:
        plain = [(run.params.get("method", run.agent), run) for run in suite.runs()]
        places = [(name, *place(run, across=comparison.across)) for name, run in plain]
        assert {task for _, task, _ in places}.issuperset(comparison.tasks)
        agents = {(agent, data) for agent, task, data in places if task in comparison.tasks}
        labels = {entry.label for task in suite.tasks for entry in task.entries} - {""}
        for name in (comparison.reference, *comparison.agents, *comparison.inert):
            told = any(name.split()[0].rstrip(",") == agent and name.endswith(data) for agent, data in agents)
            assert told or name in labels


NASTY = "</td><script>alert(1)</script> \"'&amp; a|b `c` [d](http://e.f) ![g](h) \\| $x_{$ [bold] [/y]\n| z |\x1b[2J"


def test_nothing_that_a_run_says_of_itself_is_markdown(make_run: MakeRun, tmp_path: Path) -> None:
    task_words = {"env_kwargs": {NASTY: NASTY}, "dataset": f"a/{NASTY}", "offline_steps": 1}
    runs = [
        make_run(
            HOPPER, agent, seed, 0.5, params={**task_words, "method": method, NASTY: NASTY * (agent == "sac")}, **of
        )
        for agent, method in (("sac", NASTY), ("td3", "plain"))
        for seed in range(3)
        for of in ({"hardware": NASTY, "versions": {NASTY: NASTY}},)
    ]
    shown = leaderboard(runs, rng=np.random.default_rng(0))
    task, names = shown.results[0].task, [result.agent for result in shown.results]
    suite = replace(SUITE, comparisons=(Comparison("One", (task,), names[0]),))
    text = write_report(suite, runs, tmp_path, command="tiltyard race mine").read_text(encoding="utf-8")
    assert "\x1b" not in text
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inner = [child for token in tokens for child in token.children or []]
    assert not [token for token in (*tokens, *inner) if token.type.startswith("html")]
    assert [token.attrs["src"] for token in inner if token.type == "image"] == ["one.png"]
    assert not [token for token in inner if token.type == "link_open"]
    assert [token.content for token in inner if token.type == "code_inline"] == ["tiltyard race mine"]
    assert sum(token.type == "tr_open" for token in tokens) == 6  # two heads, two agents in each table
    inside = [tokens[i + 1].children or [] for i, token in enumerate(tokens) if token.type == "td_open"]
    cells = ["".join(child.content for child in children) for children in inside]
    assert len(cells) == 2 * 7 + 2 * 9
    assert sum("<script>alert(1)</script> \"'&amp; a|b `c` [d](http://e.f)" in cell for cell in cells) == 4


def test_a_damaged_log_leaves_its_run_out_of_what_is_drawn_by_episodes(make_run: MakeRun, tmp_path: Path) -> None:
    good = "time/total_timesteps,time/episodes\n20000,5\n"
    logs = (good, good, good, good[:20], good.replace("5", "x"), "\0" + good, "", good.replace("time/total", "other"))
    runs = []
    for seed, log in enumerate(logs):
        folder = tmp_path / f"run-{seed}"
        folder.mkdir()
        (folder / "progress.csv").write_text(log)
        runs.append(make_run(HOPPER, "sac", seed, 0.5, folder=folder))
    suite = replace(SUITE, comparisons=(Comparison("One", (HOPPER,), "sac", by_episodes=True),))
    with pytest.warns(UserWarning, match="left out of what is drawn by episodes") as caught:
        page = write_report(suite, runs, tmp_path, command="")
    told = " ".join(str(warning.message) for warning in caught)
    assert [f"run-{seed}/" in told for seed in range(len(logs))] == [False] * 3 + [True] * 5
    assert rows_of(page, "sac")[0][6] == "3"


def test_a_row_says_how_many_of_its_runs_started_from_a_changed_tree(runs: list[FinishedRun], tmp_path: Path) -> None:
    assert "changed tree" not in write_report(SUITE, runs, tmp_path, command="").read_text()
    first = next(run for run in runs if run.run.agent == "sac")
    marked = [replace(run, commit=f"{run.commit}+changes") if run is first else run for run in runs]
    text = write_report(SUITE, marked, tmp_path, command="").read_text()
    assert "runs started from a changed tree" in next(line for line in text.splitlines() if line.startswith("| sac"))
