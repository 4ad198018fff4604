"""Power of races: against closed forms and hand-made suites."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import nct, t

from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.docs import LOST, RESULTS
from tiltyard.benchmarks.leaderboard.report import write_report
from tiltyard.benchmarks.permutation import exact_p, permutation_ps
from tiltyard.benchmarks.power import detectable, needed, page_tests, power, smallest_p, spread_of, too_few
from tiltyard.benchmarks.runs import FinishedRun, Run
from tiltyard.benchmarks.suites import RELEASED, Comparison, Entry, Suite, Task
from tiltyard.benchmarks.suites import find as find_suite
from tiltyard.envs.catalogue import find

HOPPER, WALKER = "tiltyard/Hopper-v5", "tiltyard/Walker2d-v5"


def test_many_p_values_at_once_are_those_of_one_by_one() -> None:
    rng = np.random.default_rng(0)
    for n, m in ((4, 4), (5, 7)):
        a, b = rng.normal(1.0, 1.0, (20, n)), rng.normal(size=(20, m))
        assert permutation_ps(a, b, rng=rng) == pytest.approx([exact_p(*pair) for pair in zip(a, b, strict=True)])
    a, b = rng.normal(0.8, 1.0, (20, 9)), rng.normal(size=(20, 9))
    sampled = permutation_ps(a, b, rng=rng)
    assert sampled == pytest.approx([exact_p(*pair) for pair in zip(a, b, strict=True)], abs=0.03)


def test_power_is_about_that_of_students_t() -> None:
    runs, effect = 10, 1.2
    cut, away = t.ppf(0.975, 2 * runs - 2), effect * np.sqrt(runs / 2)
    found = power(runs, effect, tests=1)
    assert found.alone == found.among == pytest.approx(nct.sf(cut, 2 * runs - 2, away), abs=0.03)


def test_paired_power_is_about_that_of_students_t_of_differences() -> None:
    runs, effect = 12, 1.2
    cut, away = t.ppf(0.975, runs - 1), effect * np.sqrt(runs / 2)  # differences have a deviation of root two
    found = power(runs, effect, tests=1, paired=True)
    assert found.alone == found.among == pytest.approx(nct.sf(cut, runs - 1, away), abs=0.03)
    assert smallest_p(6, paired=True) == 2 / 64
    assert power(5, 100.0, tests=1, paired=True).alone == 0
    assert power(6, 100.0, tests=1, paired=True).among == 1
    assert power(6, 100.0, tests=2, paired=True).among == 0
    assert detectable(5, tests=1, paired=True) is None


def test_too_few_runs_find_nothing_however_large() -> None:
    assert power(3, 100.0, tests=1).alone == 0
    assert smallest_p(5) == pytest.approx(2 / 252)
    assert power(5, 100.0, tests=6).among == 1  # 5% / 6 is above 2 / 252
    assert power(5, 100.0, tests=7).among == 0
    assert detectable(5, tests=7) is None


def test_needed_and_detectable_answer_each_other() -> None:
    runs = needed(2.5, tests=2)
    assert runs is not None
    least = detectable(runs, tests=2)
    assert least is not None
    assert 1.9 < least <= 2.51
    assert power(runs - 1, 2.5, tests=2).among < 0.8 <= power(runs, 2.5, tests=2).among
    assert needed(0.05, tests=100) is None


def suite(*comparisons: Comparison) -> Suite:
    entries = tuple(Entry(name, 100, 1.0) for name in ("sac", "td3", "tqc"))
    return Suite("made", "", (Task(HOPPER, entries), Task(WALKER, entries[:2])), (0, 1), comparisons=comparisons)


def test_tests_on_a_page_are_counted() -> None:
    assert page_tests(suite()) == 2 + 1
    assert page_tests(suite(Comparison("a", (HOPPER,), "sac"))) == 2
    assert page_tests(suite(Comparison("a", (HOPPER, WALKER), "sac"))) == 3  # td3 on each task and over both
    assert page_tests(suite(Comparison("a", (HOPPER,), "sac", inert={"tqc": "cannot act"}))) == 1
    assert page_tests(suite(), ["sac", "td3"]) == 2


def labelled(*comparisons: Comparison) -> Suite:
    entries = (Entry("stable_baselines3:A2C", 100, 1.0, label="a2c"), Entry("dqn", 100, 1.0), Entry("ppo", 100, 1.0))
    return Suite("labelled", "", (Task("CartPole-v1", entries),), (0, 1, 2, 3), comparisons=comparisons)


@pytest.mark.parametrize(("agents", "tests"), [((), 2), (("a2c", "dqn"), 1), (("dqn", "stable_baselines3:A2C"), 1)])
def test_a_labelled_reference_is_none_of_the_tests(agents: tuple[str, ...], tests: int, tmp_path: Path) -> None:
    made = labelled(Comparison("a", ("CartPole-v1",), "a2c", agents))
    assert page_tests(made) == tests
    curve = ((50, 1.0, 0.0), (100, 2.0, 0.0))
    runs = [FinishedRun(run, (2.0,), (), run.seed, curve, {}, 1.0, "", "", Path(run.name)) for run in made.runs()]
    page = write_report(made, runs, tmp_path, command="").read_text(encoding="utf-8")
    assert f"over the {tests} comparisons of this page" in page


def test_labels_keep_apart_what_one_agent_is_given() -> None:
    """Two learning rates of DQN beside A2C are two tests; a label that is inert is none."""
    dqn = [Entry("dqn", 100, 1.0, {"learning_rate": rate}, label=f"dqn {rate}") for rate in (0.1, 0.2)]
    suite = labelled(Comparison("a", ("CartPole-v1",), "a2c"))
    entries = (suite.tasks[0].entries[0], *dqn)
    both = replace(suite, tasks=(replace(suite.tasks[0], entries=entries),))
    assert page_tests(both) == 2
    inert = replace(both.comparisons[0], inert={"dqn 0.1": "learns nothing"})
    assert page_tests(replace(both, comparisons=(inert,))) == 1


RACED = [name for name, one in ((name, find_suite(name)) for name in RELEASED) if one.comparisons]


@pytest.mark.parametrize("name", RACED)
def test_as_many_as_stand_on_a_published_page(name: str) -> None:
    page = (RESULTS / name / "README.md").read_text(encoding="utf-8")
    if LOST not in page:  # else it is of an older rule
        assert f"over the {page_tests(find_suite(name))} comparisons of this page" in page


def test_a_suite_of_too_few_seeds_for_any_verdict_is_told() -> None:
    both = suite(Comparison("a", (HOPPER, WALKER), "sac"))  # three tests: 2 / C(2n, n) is below 5% / 3 from five on
    assert too_few(replace(both, seeds=(0, 1, 2, 3, 4))) == ""
    assert too_few(replace(both, seeds=(0, 1, 2, 3))).endswith("3 tests at 5% take 5 seeds at least")
    assert too_few(replace(both, seeds=(0,), comparisons=())) == ""
    assert {name for name in RACED if too_few(find_suite(name))} == {"text-v1"}  # of the older rule


def finished(agent: str, seed: int, score: float, *returns: float) -> FinishedRun:
    curve = tuple((step, value, 0.0) for step, value in enumerate(returns))
    return FinishedRun(Run(HOPPER, agent, seed, 100), (score,), (), score, curve, {}, 1.0, "", "", Path())


def test_the_spread_is_pooled_over_conditions() -> None:
    runs = [finished("sac", 0, 0.0), finished("sac", 1, 0.2), finished("td3", 0, 0.5), finished("td3", 1, 0.9)]
    found = spread_of([*runs, finished("tqc", 0, 9.0)])
    assert found.deviation == pytest.approx(np.sqrt((0.02 + 0.08) / 2))
    assert found.source == "4 earlier runs of 2 conditions"
    with pytest.raises(ValueError, match="give --sd"):
        spread_of(runs[1:3])


def test_raw_returns_are_no_part_of_the_spread() -> None:
    runs = [finished("sac", seed, score) for seed, score in enumerate((0.0, 0.2))]
    raw = [replace(run, run=replace(run.run, env_id="CartPole-v1"), normalised=100.0 * run.run.seed) for run in runs]
    found = spread_of([*runs, *raw])
    assert found.deviation == spread_of(runs).deviation
    assert found.source == "2 earlier runs of 1 conditions, without 2 of raw returns"
    with pytest.raises(ValueError, match="no agent has two of them on one task whose returns are normalised"):
        spread_of(raw)


def test_what_pairs_have_in_common_is_left_out_of_the_spread() -> None:
    """Row means 0.5 and 1.6, column means 0.5 and 1.6, mean 1.05: every cell is off by 0.05, with one degree."""
    runs = [finished("sac", 0, 0.0), finished("sac", 1, 1.0), finished("td3", 0, 1.0), finished("td3", 1, 2.2)]
    found = spread_of(runs, paired=True)
    assert found.deviation == pytest.approx(0.1)
    assert found.source == "4 earlier runs of 2 conditions, paired by seed"
    several = [*runs, finished("td3", 2, 2.2)]  # which sac has not run
    assert spread_of(several, paired=True) == spread_of(several)


def test_the_spread_is_of_the_score_that_counts() -> None:
    low, high = find("tiltyard/Hopper-v5").random_score, find("tiltyard/Hopper-v5").expert_score
    assert low is not None
    assert high is not None
    runs = [finished("sac", seed, 0.0, low, low + seed * (high - low)) for seed in (0, 1)]
    assert spread_of(runs, "area").deviation == pytest.approx(np.sqrt(0.125))  # areas are 0 and a half
    with pytest.raises(ValueError, match="give --sd"):
        spread_of(runs[:1], "area")


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["power", "smoke", "--effect", "0.1", "--sd", "0.05"]) == 0
    told = capsys.readouterr().out
    assert "smoke: 3 seeds" in told
    assert "with 3 seeds no effect, however large" in told
    assert main(["power", "smoke", "--effect", "0.1", "--runs", str(tmp_path)]) != 0
    assert "--sd" in capsys.readouterr().err
    assert main(["power", "text-v2-stale", "--effect", "0.05", "--sd", "0.02", "--seeds", "0-5"]) == 0
    told = capsys.readouterr().out
    assert "paired by seed" in told
    assert "with 6 seeds no effect, however large, can come first among 5 tests" in told
    assert main(["power", "smoke", "--effect=-1", "--sd", "0.1"]) != 0
    assert "--effect must be above 0" in capsys.readouterr().err
    assert main(["power", "smoke", "--effect", "inf", "--sd", "0.1"]) != 0
    assert "--effect must be above 0 and finite, got inf" in capsys.readouterr().err
    assert main(["power", "control-v2", "--effect", "0"]) != 0  # the spread of which is not known
    assert "--effect must be above 0" in capsys.readouterr().err


def test_the_spread_of_earlier_runs_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    raw = Path(__file__).parents[2] / "docs" / "results" / "smoke" / "runs"
    assert main(["power", "smoke", "--effect", "0.1", "--runs", str(raw)]) == 0
    told = capsys.readouterr().out
    assert "for 0.1 that takes" in told
    assert main(["power", "smoke", "--effect", "0.1"]) == 0  # the published ones
    assert capsys.readouterr().out == told
    assert main(["power", "text-v2-stale", "--effect", "0.02"]) == 0
    assert "72 earlier runs of 6 conditions, paired by seed in" in capsys.readouterr().out


def test_earlier_runs_on_other_tasks_count_only_where_there_are_none_on_the_suites(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    smoke = Path(__file__).parents[2] / "docs" / "results" / "smoke" / "runs"
    task = '[[tasks]]\nenv_id = "ENV"\neval_episodes = 10\nentries = [{agent = "ppo", budget = 100}]\n'
    (tmp_path / "drive.toml").write_text("seeds = [0, 1, 2, 3]\n" + task.replace("ENV", "tiltyard/Highway-v0"))
    (tmp_path / "reach.toml").write_text("seeds = [0, 1, 2, 3]\n" + task.replace("ENV", "tiltyard/Reacher-v5"))
    expected = {"drive": "6 earlier runs of 2 conditions in", "reach": "runs, on other tasks than the suite's"}
    for name, said in expected.items():
        assert main(["power", str(tmp_path / f"{name}.toml"), "--effect", "0.1", "--runs", str(smoke)]) == 0
        assert said in capsys.readouterr().out


def test_a_suite_without_runs_asks_for_a_deviation(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["power", "control-v2", "--effect", "0.1"]) == 2
    assert "how far apart seeds of control-v2 end is not known: give --sd" in capsys.readouterr().err
