import dataclasses
import math
from collections.abc import Callable
from io import StringIO
from itertools import product

import numpy as np
import pytest
from rich.console import Console

from tiltyard.benchmarks.leaderboard import Board, leaderboard, print_leaderboard
from tiltyard.benchmarks.leaderboard.page import render
from tiltyard.benchmarks.runs import FinishedRun
from tiltyard.envs.catalogue import find

MakeRun = Callable[..., FinishedRun]
HOPPER, CHEETAH, HIGHWAY = "tiltyard/Hopper-v5", "tiltyard/HalfCheetah-v5", "tiltyard/Highway-v0"


def board_of(runs: list[FinishedRun]) -> Board:
    return leaderboard(runs, rng=np.random.default_rng(0))


def with_score(run: FinishedRun, normalised: float) -> FinishedRun:
    return dataclasses.replace(run, normalised=normalised)


def test_standings_by_hand(make_run: MakeRun) -> None:
    scores = {"sac": [0.1, 0.2, 0.6, 0.3], "td3": [0.2, 0.2, 0.1, 0.0]}
    runs = [with_score(make_run(HOPPER, a, i, 0.5), x) for a, xs in scores.items() for i, x in enumerate(xs)]
    (section,) = board_of(runs).sections
    first, second = section.standings
    assert (section.name, first.agent, first.rank, second.agent, second.rank) == ("robotics", "sac", 1, "td3", 2)
    assert first.metrics["iqm"].value == pytest.approx((0.2 + 0.3) / 2)
    assert first.metrics["mean"].value == pytest.approx(0.3)
    assert first.metrics["optimality_gap"].value == pytest.approx(0.7)
    # of the 16 pairs sac loses (0.1, 0.2) twice, ties (0.1, 0.1) and (0.2, 0.2) twice
    assert first.beats_next is not None
    assert first.beats_next.value == pytest.approx((16 - 2 - 3 + 0.5 * 3) / 16)
    assert first.metrics["iqm"].interval is not None
    assert first.metrics["iqm"].interval.low < 0.25 < first.metrics["iqm"].interval.high
    assert (second.next_agent, second.beats_next) == ("", None)


def test_a_domain_each_and_no_overall_ranking_when_no_agent_ran_everywhere(smoke_runs: list[FinishedRun]) -> None:
    board = board_of(smoke_runs)
    assert [section.name for section in board.sections] == ["text", "gui", "driving", "robotics"]
    assert [s.standings[0].agent for s in board.sections] == ["grpo", "ppo", "ppo", "dsac-t"]
    assert len(board.results) == 8
    assert board.notes == ("Phone-v0: the word matcher, which learns nothing, has a mean return of 0.42",)
    assert sorted(run.folder for run in board.runs) == sorted(run.folder for run in smoke_runs)


def test_overall_section_holds_the_agents_that_ran_every_task(make_run: MakeRun) -> None:
    runs = [
        make_run(env, agent, seed, 0.5) for env in (HOPPER, HIGHWAY) for agent in ("sac", "ppo") for seed in (0, 1, 2)
    ]
    runs += [make_run(HOPPER, "td3", seed, 0.9) for seed in (0, 1, 2)]
    board = board_of(runs)
    assert [section.name for section in board.sections] == ["all domains", "driving", "robotics"]
    assert {standing.agent for standing in board.sections[0].standings} == {"sac", "ppo"}
    assert all(standing.tasks == (HIGHWAY, HOPPER) for standing in board.sections[0].standings)


def test_an_agent_that_lacks_a_task_is_not_ranked(make_run: MakeRun) -> None:
    runs = [make_run(env, "sac", seed, 0.2) for env in (HOPPER, CHEETAH) for seed in (0, 1, 2)]
    runs += [make_run(HOPPER, "td3", seed, 0.9) for seed in (0, 1, 2)]
    (section,) = board_of(runs).sections
    assert [(s.agent, s.rank) for s in section.standings] == [("sac", 1), ("td3", None)]
    assert section.standings[1].flags == ("not ranked: no runs on HalfCheetah-v5",)


def test_fewer_than_three_runs_are_flagged_and_get_no_interval(make_run: MakeRun) -> None:
    runs = [make_run(HOPPER, "sac", seed, 0.5) for seed in (0, 1)]
    runs += [make_run(HOPPER, "td3", seed, 0.2) for seed in (0, 1, 2)]
    board = board_of(runs)
    standing = board.sections[0].standings[0]
    assert standing.flags == ("only 2 runs: no interval below 3",)
    assert all(metric.interval is None for metric in standing.metrics.values())
    assert standing.profile is None
    assert (standing.next_agent, standing.beats_next) == ("td3", None)
    result = next(result for result in board.results if result.agent == "sac")
    assert (result.score.interval, result.success.interval, result.curve_band) == (None, None, None)


def test_equal_runs_are_flagged_instead_of_an_interval_without_width(make_run: MakeRun) -> None:
    runs = [with_score(make_run(HOPPER, "sac", seed, 0.5), 0.25) for seed in (0, 1, 2)]
    standing = board_of(runs).sections[0].standings[0]
    assert standing.metrics["iqm"].interval is None
    assert standing.flags[0] == "no interval: 3 identical runs" == standing.metrics["iqm"].why


def test_runs_of_other_versions_are_kept_apart_by_name(make_run: MakeRun) -> None:
    runs = [make_run(HOPPER, "sac", seed, 0.5) for seed in range(4)]
    old = {**runs[0].versions, "mujoco": "3.10.0", "python": "3.12.1"}
    board = board_of(runs + [make_run(HOPPER, "sac", seed, 0.9, versions=old) for seed in (0, 1, 2)])
    assert {s.agent: s.runs for s in board.sections[0].standings} == {"sac": 4, "sac (mujoco 3.10.0)": 3}
    assert board.notes == (
        "3 runs with mujoco 3.10.0 (the others 3.11.0) are kept apart, for other versions may give other numbers",
    )


def test_python_alone_does_not_keep_runs_apart(make_run: MakeRun) -> None:
    runs = [make_run(HOPPER, "sac", seed, 0.5) for seed in range(3)]
    other = {**runs[0].versions, "python": "3.12.1"}
    board = board_of([*runs, make_run(HOPPER, "sac", 3, 0.5, versions=other)])
    assert [(s.agent, s.runs) for s in board.sections[0].standings] == [("sac", 4)]


def test_other_settings_and_budgets_are_kept_apart_by_name(make_run: MakeRun) -> None:
    runs = [make_run(HOPPER, "sac", 0, 0.5), make_run(HOPPER, "sac", 0, 0.5, params={"gamma": 0.9})]
    runs += [make_run(HOPPER, "td3", 0, 0.5, budget=budget) for budget in (1000, 20_000)]
    runs += [make_run(HIGHWAY, "td3", 0, 0.5, budget=5000)]
    names = {result.agent for result in board_of(runs).results if result.task == HOPPER}
    assert names == {"sac", "sac, gamma=0.9", "td3, 1,000 steps", "td3, 20,000 steps"}


def test_settings_that_all_runs_of_an_agent_share_are_told_once(make_run: MakeRun) -> None:
    both = {"gamma": 0.9, "tau": 0.01}
    runs = [make_run(HOPPER, "sac", seed, 0.5, params=both) for seed in range(3)]
    runs += [make_run(HOPPER, "sac", 3, 0.5, params={**both, "tau": 0.02})]
    runs += [make_run(HOPPER, "td3", 0, 0.5, params={"gamma": 0.9})]
    board = board_of(runs)
    assert {result.agent for result in board.results} == {"sac, tau=0.01", "sac, tau=0.02", "td3"}
    assert board.notes == ("all runs of sac, td3 have gamma=0.9",)


def test_methods_name_themselves_and_another_level_is_another_task(make_run: MakeRun) -> None:
    sums = "tiltyard/ChainSum-v0"
    params = [{"method": method, "batch_size": 64} for method in ("rloo", "ngrpo")]
    runs = [make_run(sums, "grpo", 0, 0.5, params=each) for each in params]
    runs += [make_run(sums, "grpo", 0, 0.5, params={**each, "env_kwargs": {"level": 2}}) for each in params]
    board = board_of(runs)
    tasks = (sums, f"{sums} with level=2")
    assert {(result.task, result.agent) for result in board.results} == set(product(tasks, ("rloo", "ngrpo")))
    assert board.notes == ("all runs of grpo have batch_size=64",)


def test_learning_from_data_is_another_task_in_a_section_of_its_own(make_run: MakeRun) -> None:
    data = {"dataset": "tiltyard/hopper/medium-v0", "offline_steps": 500}
    runs = [make_run(HOPPER, "sac", seed, 0.5) for seed in range(3)]
    runs += [make_run(HOPPER, "iql", seed, 0.6, params=data, budget=0) for seed in range(3)]
    runs += [make_run(HOPPER, "iql", seed, 0.7, params=data) for seed in range(3)]
    board = board_of(runs)
    assert {section.title: [(one.agent, one.runs) for one in section.standings] for section in board.sections} == {
        "Robotics": [("sac", 3)],
        "Robotics, offline": [("iql", 3)],
        "Robotics, offline to online": [("iql", 3)],
    }
    assert {result.task for result in board.results} == {
        HOPPER,
        f"{HOPPER} from medium-v0",
        f"{HOPPER} from medium-v0, then online",
    }


def test_a_seed_found_twice_counts_once_and_is_named(make_run: MakeRun) -> None:
    runs = [make_run(HOPPER, "sac", seed, 0.5) for seed in (0, 1, 2)]
    again = dataclasses.replace(runs[1], folder=runs[1].folder.with_name("zz-copy"))
    board = board_of([again, *runs])
    assert board.sections[0].standings[0].runs == 3
    assert "seed 1 of sac on Hopper-v5 was found twice" in board.notes[0]
    assert "zz-copy does not" in board.notes[0]


def test_a_run_without_a_finite_score_is_left_out_by_name(make_run: MakeRun) -> None:
    runs = [make_run(HOPPER, "sac", seed, 0.5) for seed in range(4)]
    runs[2] = with_score(runs[2], math.nan)
    board = board_of(runs)
    assert board.sections[0].standings[0].runs == 3
    assert board.notes == ("seed 2 of sac on Hopper-v5 has no finite score and was left out",)


def test_commits_are_named_when_they_differ(make_run: MakeRun) -> None:
    runs = [make_run(HOPPER, "sac", seed, 0.5, commit=commit) for seed, commit in enumerate(["aaaa", "bbbb", "bbbb"])]
    assert "2 commits of Tiltyard (aaaa, bbbb)" in board_of(runs).notes[0]


def test_unequal_runs_per_task_use_what_all_tasks_have(make_run: MakeRun) -> None:
    runs = [make_run(HOPPER, "sac", seed, 0.5) for seed in range(5)]
    runs += [make_run(CHEETAH, "sac", seed, 0.5) for seed in range(3)]
    standing = board_of(runs).sections[0].standings[0]
    assert standing.runs == 3
    assert standing.flags == ("only the first 3 runs of Hopper-v5 count: another task has no more",)


def test_an_agents_intervals_do_not_move_when_another_joins(make_run: MakeRun) -> None:
    runs = [make_run(HOPPER, "sac", seed, 0.5) for seed in range(9)]
    rivals = [make_run(HOPPER, "ppo", seed, 0.1) for seed in range(9)]
    alone = board_of(runs).sections[0].standings[0]
    assert alone.metrics == board_of(runs + rivals).sections[0].standings[0].metrics
    other = leaderboard(runs, rng=np.random.default_rng(1)).sections[0].standings[0]
    assert alone.metrics != other.metrics


def test_curves_are_normalised_and_meet_at_common_steps(make_run: MakeRun) -> None:
    runs = [make_run(HIGHWAY, "ppo", seed, 0.5) for seed in range(3)]
    points = [((10, 0.1), (30, 0.3)), ((10, 0.1), (20, 0.1), (40, 0.3)), ((0, 0.0), (30, 0.3))]
    runs = [
        dataclasses.replace(run, curve=tuple((step, score, 0.0) for step, score in curve))
        for run, curve in zip(runs, points, strict=True)
    ]
    (result,) = board_of(runs).results
    assert result.steps.tolist() == [10, 20, 30]
    assert result.curve[1] == pytest.approx(find(HIGHWAY).normalise((0.2 + 0.1 + 0.2) / 3))
    assert result.curve_band is not None
    assert np.isnan(result.curve_band.low).tolist() == [True, False, False]  # at 10 all runs are alike
    assert (result.curve_band.low[1:] <= result.curve[1:]).all()


def test_profiles_reach_from_random_to_just_above_the_best_run(make_run: MakeRun) -> None:
    def ends(*scores: float) -> tuple[float, float]:
        runs = [with_score(make_run(HOPPER, "sac", seed, 0.5), score) for seed, score in enumerate(scores)]
        thresholds = board_of(runs).sections[0].thresholds
        return float(thresholds[0]), float(thresholds[-1])

    assert ends(0.1, 0.2, 0.5) == pytest.approx((0.0, 0.6))
    assert ends(-0.1, 0.2, 0.9) == pytest.approx((-0.1, 1.0))
    assert ends(0.1, 0.2, 1.5) == pytest.approx((0.0, 1.5))
    assert ends(-0.3, -0.2, -0.1) == pytest.approx((-0.3, 0.05))


def test_no_runs_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one finished run"):
        board_of([])


def named(runs: list[FinishedRun]) -> dict[str, list[str]]:
    """Agents by section."""
    return {section.name: [standing.agent for standing in section.standings] for section in board_of(runs).sections}


@pytest.mark.parametrize(("agent", "params"), [("ppo", {}), ("grpo", {"method": "ppo"})])
def test_a_method_and_a_control_agent_of_one_name_are_never_pooled(
    make_run: MakeRun, agent: str, params: dict[str, str]
) -> None:
    both = [make_run("tiltyard/ChainSum-v0", agent, seed, 0.5, params=params) for seed in range(3)]
    both += [make_run(HIGHWAY, "ppo", seed, 0.5) for seed in range(3)]
    assert named(both) == {"text": ["language:ppo"], "driving": ["control:ppo"]}  # and nobody ranked in all domains
    assert named([*both, *(make_run(HIGHWAY, "dqn", seed, 0.9) for seed in range(3))])["driving"] == [
        "dqn",
        "control:ppo",
    ]


def test_the_kind_is_shown_only_where_both_are(make_run: MakeRun) -> None:
    for env in ("tiltyard/ChainSum-v0", HIGHWAY):
        assert list(named([make_run(env, "ppo", seed, 0.5) for seed in range(3)]).values()) == [["ppo"]]


def test_a_method_is_pooled_with_itself_however_it_was_named(make_run: MakeRun) -> None:
    env = "tiltyard/ChainSum-v0"
    spelt = [("grpo", {"method": "gspo"}), ("gspo", {}), ("language:gspo", {})]
    runs = [make_run(env, agent, seed, 0.5, params=params) for seed, (agent, params) in enumerate(spelt)]
    (result,) = board_of(runs).results
    assert (result.agent, len(result.runs)) == ("gspo", 3)


def test_settings_that_one_spelling_alone_was_given_keep_it_apart(make_run: MakeRun) -> None:
    env = "tiltyard/ChainSum-v0"
    set_once = [make_run(env, "grpo", seed, 0.5, params={"method": "gspo", "batch_size": 32}) for seed in range(3)]
    plain = [make_run(env, "gspo", seed, 0.5) for seed in range(3)]
    assert sorted(named([*set_once, *plain])["text"]) == ["gspo", "gspo, batch_size=32"]


def test_a_row_and_a_method_of_one_name_are_never_pooled(make_run: MakeRun) -> None:
    env = "tiltyard/ChainSum-v0"
    runs = [make_run(env, "filtered-bc", seed, 0.5) for seed in range(3)]
    runs += [make_run(env, "grpo", seed, 0.5, params={"method": "filtered-bc"}) for seed in range(3)]
    assert sorted(named(runs)["text"]) == ["filtered-bc", "grpo with method=filtered-bc"]


@pytest.mark.parametrize("seeds", [1, 2])
def test_no_probability_of_improvement_is_shown_below_three_runs(make_run: MakeRun, seeds: int) -> None:
    levels = {"sac": 0.9, "td3": 0.1}
    runs = [make_run(HOPPER, agent, seed, level) for agent, level in levels.items() for seed in range(seeds)]
    console = Console(record=True, width=120, file=StringIO())
    board = print_leaderboard(runs, console=console)
    assert "%" not in console.export_text().partition("Every task")[0].replace("IQM [95%]", "")
    assert '<td class="n">100%' not in render(board)
    assert board.sections[0].standings[0].next_agent == "td3"
