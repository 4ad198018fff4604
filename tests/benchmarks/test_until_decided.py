"""Races that stop by themselves: which runs are taken, what is decided, and what is refused."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from tiltyard.benchmarks import load_runs
from tiltyard.benchmarks.adastop import AdaStop
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.engines import ENGINES
from tiltyard.benchmarks.race import RaceIncomplete
from tiltyard.benchmarks.runs import FinishedRun, Run
from tiltyard.benchmarks.sequential import replayed
from tiltyard.benchmarks.suites import Entry, Suite, Task
from tiltyard.benchmarks.until_decided import decide, race_until_decided

MEANS = {"ppo": 0.2, "sac": 0.9, "td3": 0.2}
TASKS = ("tiltyard/Hopper-v5", "tiltyard/Walker2d-v5")
Asked = list[tuple[tuple[str, ...], tuple[int, ...]]]


def taken(asked: Asked) -> Callable[[Sequence[str], Sequence[int]], list[FinishedRun]]:
    """Gives runs whose scores are known: the agent's mean and a little noise by seed, more on the second task."""

    def take(names: Sequence[str], seeds: Sequence[int]) -> list[FinishedRun]:
        asked.append((tuple(names), tuple(seeds)))
        return [finished(name, task, seed) for name in names for seed in seeds for task in TASKS]

    return take


def finished(name: str, task: str, seed: int) -> FinishedRun:
    noise = np.random.default_rng([seed, sorted(MEANS).index(name)]).normal(0.0, 0.1)
    score = MEANS[name] + noise + (0.1 if task == TASKS[1] else -0.1)
    return FinishedRun(Run(task, name, seed, 100), (score,), (), score, (), {}, 1.0, "", "", Path())


def test_an_agent_that_is_decided_takes_no_more_runs() -> None:
    asked: Asked = []
    test = AdaStop(sorted(MEANS), rng=np.random.default_rng(0), group=5, groups=3)
    found = decide(test, taken(asked), planned=90, progress=lambda line: None)
    assert found.test.decisions == {("ppo", "sac"): "smaller", ("ppo", "td3"): "undecided", ("sac", "td3"): "larger"}
    assert asked[0] == (("ppo", "sac", "td3"), (0, 1, 2, 3, 4))
    assert asked[-1] == (("ppo", "td3"), (10, 11, 12, 13, 14))
    assert found.test.runs["sac"] < found.test.runs["ppo"] == 15
    assert len(found.runs) == 2 * sum(found.test.runs.values()) < found.planned
    assert found.means["sac"] == pytest.approx(0.9, abs=0.15)  # over both tasks, whose offsets cancel
    assert "ppo < sac" in str(found)
    assert "ppo and td3 undecided" in str(found)
    assert "runs in place of 90; family-wise error at most 5%" in str(found)


def test_an_agent_that_diverges_is_left_out_and_the_others_go_on() -> None:
    """It gets no verdict, not even the one that an earlier group gave; before, the whole race ended."""
    asked: Asked = []
    take = taken(asked)

    def diverging(names: Sequence[str], seeds: Sequence[int]) -> list[FinishedRun]:
        runs = take(names, seeds)
        lost = [one.run for one in runs if one.run.agent == "sac" and one.run.seed >= 5][:2]
        if lost:
            finished = [one for one in runs if one.run not in lost]
            raise RaceIncomplete("", {run.name: "it diverged" for run in lost}, finished, lost)
        return runs

    level = 1e-3  # so that no pair is decided by the first group
    test = AdaStop(sorted(MEANS), rng=np.random.default_rng(0), group=5, groups=3, level=level)
    lines: list[str] = []
    found = decide(test, diverging, planned=90, progress=lines.append)
    assert [names for names, _ in asked] == [("ppo", "sac", "td3")] * 2 + [("ppo", "td3")]
    assert found.test.decisions == {("ppo", "td3"): "undecided"}
    assert (found.diverged, found.means.keys()) == ({"sac": 2}, {"ppo", "td3"})
    assert lines[1] == "seeds 5-9: 2 runs of sac diverged: it is left out"
    assert str(found).splitlines()[1:] == [
        "sac: no verdict, 2 runs diverged",
        "seeds: ppo 15, td3 15; 78 runs in place of 90; family-wise error at most 0%",
    ]


def test_a_race_ends_where_no_two_agents_are_left_to_compare() -> None:
    def take(names: Sequence[str], seeds: Sequence[int]) -> list[FinishedRun]:
        runs = [finished(name, task, seed) for name in names for seed in seeds for task in TASKS]
        lost = [one.run for one in runs if one.run.agent == "sac"]
        raise RaceIncomplete("", {run.name: "" for run in lost}, [one for one in runs if one.run not in lost], lost)

    test = AdaStop(["ppo", "sac"], rng=np.random.default_rng(0), group=5, groups=3)
    found = decide(test, take, planned=60, progress=lambda line: None)
    assert (found.test.decisions, found.diverged, found.means) == ({}, {"sac": 10}, {})


def test_a_run_that_fails_otherwise_still_ends_the_race() -> None:
    def take(names: Sequence[str], seeds: Sequence[int]) -> list[FinishedRun]:
        lost = [finished(names[0], TASKS[0], seed).run for seed in seeds[:2]]
        raise RaceIncomplete("one was killed", {run.name: "" for run in lost}, [], lost[:1])

    test = AdaStop(sorted(MEANS), rng=np.random.default_rng(0), group=5, groups=3)
    with pytest.raises(RaceIncomplete, match="one was killed"):
        decide(test, take, planned=60)


def test_groups_of_fewer_than_four_decide_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 4 runs a side, got groups of 3"):
        race_until_decided("smoke", root=tmp_path, group=3)


def test_agents_must_run_every_task_once(tmp_path: Path) -> None:
    sac = Entry("sac", 100, 1.0)
    tasks = (Task(TASKS[0], (sac, Entry("td3", 100, 1.0))), Task(TASKS[1], (sac,)))
    with pytest.raises(ValueError, match="td3 has 0 entries on tiltyard/Walker2d-v5 of suite half"):
        race_until_decided(Suite("half", "", tasks, (0,)), root=tmp_path)
    twice = (Task(TASKS[0], (sac, Entry("sac", 100, 1.0, {"gamma": 0.9}))),)
    with pytest.raises(ValueError, match="sac has 2 entries"):
        race_until_decided(Suite("twice", "", twice, (0,)), root=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("other", ["Acrobot-v1", TASKS[0]])
def test_raw_returns_are_averaged_with_nothing(other: str, tmp_path: Path) -> None:
    entries = (Entry("ppo", 100, 1.0), Entry("dqn", 100, 1.0))
    suite = Suite("mixed", "", (Task("CartPole-v1", entries), Task(other, entries)), (0,))
    with pytest.raises(ValueError, match=r"the returns of \S+ are not normalised, so that no mean over the 2 tasks"):
        race_until_decided(suite, root=tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_race_chooses_the_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["race", "smoke", "--until-decided", "--seeds", "0-3"]) != 0
    assert "chooses the seeds" in capsys.readouterr().err


LEARNER = """
[[tasks.entries]]
agent = "{agent}"
budget = 110
seconds = 2
params = {{ batch_size = 8, policy_kwargs = {{ net_arch = [8] }} }}
"""
TOML = """
name = "moment"
summary = "Two learners for a moment."
seeds = [0]

[[tasks]]
env_id = "Pendulum-v1"
eval_episodes = 2
eval_points = 1
""" + "".join(LEARNER.format(agent=agent) for agent in ("sac", "td3"))


@pytest.mark.slow
def test_a_race_until_decided(tmp_path: Path) -> None:
    (tmp_path / "moment.toml").write_text(TOML)
    lines: list[str] = []
    suite, root = str(tmp_path / "moment.toml"), tmp_path / "runs"
    found = race_until_decided(suite, root=root, group=4, groups=1, progress=lines.append)
    assert len(found.runs) == found.planned == 8
    assert lines == [f"seeds 0-3: {int(found.test.decisions['sac', 'td3'] == 'undecided')} of 1 pairs undecided"]
    (again,) = replayed(load_runs(root))
    assert (again.test.decisions, again.means) == (found.test.decisions, pytest.approx(found.means))


def broken_engine(runs: Sequence[Run], root: Path, workers: int | None = None) -> Iterator[tuple[Run, str]]:
    """An engine on which every run fails."""
    yield from ((run, "the machine is off") for run in runs)


def test_a_race_that_fails_says_how_the_whole_of_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The printed command resumes the whole race from its suite file, not the last group of seeds alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(ENGINES, "broken", f"{__name__}:broken_engine")
    entries = 'entries = [{ agent = "ppo", budget = 64 }, { agent = "dqn", budget = 64 }]'
    Path("mine.toml").write_text(f'seeds = [0]\n[[tasks]]\nenv_id = "CartPole-v1"\n{entries}\n')
    with pytest.raises(RaceIncomplete, match="the machine is off") as caught:
        race_until_decided("mine.toml", root="runs", engine="broken")
    assert str(caught.value).endswith("run: tiltyard race mine.toml --engine broken --out runs --until-decided")
