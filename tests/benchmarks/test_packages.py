"""Versions of other packages behind a run: what is recorded, what has changed, and which runs may be pooled."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from tiltyard.agents.spaces import space_of
from tiltyard.benchmarks import FinishedRun, Run, provenance
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.datasets.make import Wanted, _Making, silent
from tiltyard.benchmarks.datasets.medium import Medium
from tiltyard.benchmarks.leaderboard.groups import group
from tiltyard.benchmarks.loading import one_version
from tiltyard.benchmarks.packages import _distributions, behind, behind_all, changes, expected, versions_of
from tiltyard.benchmarks.pbt import RECORD, _Training, train_population

ROOT = Path(__file__).parents[2]
ENV = """
import gymnasium, numpy as np

class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}
    def step(self, action):
        return np.zeros(1, np.float32), REWARD, True, False, {}

gymnasium.register("own/Env-v0", Env)
"""
RACE = """
from tiltyard.benchmarks.cli import main
import sys
for words in sys.argv[1:]:
    code = main(words.split())
    sys.stdout.flush()
    print("exit", code, file=sys.stderr)
"""
TRAIN = "train --env own_env:own/Env-v0 --agent sb3_contrib:TRPO --steps 8 --eval-episodes 3 --eval-points 1 --out runs"
TRAIN += " --set n_steps=8 --set batch_size=8 --seed "


def tiltyard(*lines: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, "-c", RACE, *lines], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


def install(site: Path, name: str, version: str, *modules: str, editable: bool = False) -> None:
    """What pip leaves of a distribution: its modules and its metadata."""
    metadata = site / f"{name}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (metadata / "top_level.txt").write_text("\n".join(modules))
    (metadata / "direct_url.json").write_text(json.dumps({"url": "file:///", "dir_info": {"editable": editable}}))
    for module in modules:
        (site / f"{module}.py").write_text("")


def done(env_id: str = "CartPole-v1", agent: str = "ppo", seed: int = 0, **others: str) -> FinishedRun:
    """A finished run with versions of other packages."""
    run, versions = Run(env_id, agent, seed, 100), {**provenance.versions(), **others}
    return FinishedRun(run, (1.0,), (), 1.0, ((100, 1.0, 0.0),), versions, 1.0, "", "", Path(run.name))


def test_runs_of_ours_and_of_the_libraries_every_run_records_have_no_others():
    for env_id, agent in (("tiltyard/Hopper-v5", "sac"), ("CartPole-v1", "stable_baselines3:A2C")):
        assert behind(Run(env_id, agent, 0, 100), loaded=True) == {}


def test_the_package_of_an_agents_class_is_recorded_by_its_version():
    from importlib.metadata import version

    assert behind(Run("CartPole-v1", "sb3_contrib:TRPO", 0, 100)) == {"sb3_contrib": version("sb3_contrib")}


def test_code_that_changed_between_two_seeds_is_named_and_not_pooled(tmp_path):
    (tmp_path / "own_env.py").write_text(ENV.replace("REWARD", "1.0"))
    first = tiltyard(TRAIN + "0", TRAIN + "1", cwd=tmp_path)
    assert first.stderr.count("exit 0") == 2, first.stderr
    (tmp_path / "own_env.py").write_text(ENV.replace("REWARD", "5.0"))
    (old, *_) = sorted((tmp_path / "runs").iterdir())
    second = tiltyard(TRAIN + "2", "leaderboard runs", f"verify {old} --trust", cwd=tmp_path)
    assert second.stderr.count("left out, of other versions") == 2, second.stderr
    assert re.search(r"left out.*source of own_env [0-9a-f]{12}[,)]", second.stderr)
    assert re.search(r"standard errors apart \(run with source of own_env \w{12} \(now \w{12}\)\)", second.stdout)
    versions = [json.loads(path.read_text())["versions"] for path in (tmp_path / "runs").glob("*/run.json")]
    assert len({told["source of own_env"] for told in versions}) == 2
    assert all("sb3_contrib" in told for told in versions)


def test_sources_are_hashed_where_no_distribution_holds_them_or_one_may_be_edited(tmp_path, monkeypatch):
    install(tmp_path / "a", "held_package", "1.5", "held_module")
    install(tmp_path / "a", "edited_package", "1.5", "edited_module", editable=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "a")])
    monkeypatch.setattr("tiltyard.benchmarks.packages._distributions", _distributions.__wrapped__)  # uncached
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "loose"
    (package / "below").mkdir(parents=True)
    for name in ("__init__.py", "parts.py", "below/more.py"):
        (package / name).write_text("a = 1")
    assert versions_of(["held_module", "nothing_of_this_name", "os.path", "torch"]) == {"held_package": "1.5"}
    assert set(versions_of(["edited_module"])) == {"edited_package", "source of edited_module"}
    before = versions_of(["loose.parts"])
    assert set(before) == {"source of loose"}
    assert "loose" not in sys.modules
    (package / "below" / "more.py").write_text("a = 2")
    assert versions_of(["loose.parts"]) != before


def test_what_changed_is_what_was_recorded_or_is_behind_the_run_and_is_here():
    from importlib.metadata import version

    now = version("sb3_contrib")
    assert changes(done(agent="sb3_contrib:TRPO", sb3_contrib=now)) == []
    assert changes(done(agent="sb3_contrib:TRPO", sb3_contrib="1.0")) == [f"sb3_contrib 1.0 (now {now})"]
    assert changes(done(agent="sb3_contrib:TRPO")) == [f"sb3_contrib unrecorded (now {now})"]
    assert changes(done(agent="away:Agent", **{"away": "1.0", "source of gone": "abc", "source of ": "", "": ""})) == []


def test_runs_are_pooled_by_what_is_behind_their_own_agent_and_environment():
    mine = [done("away:A-v0", seed=seed, away="1.0") for seed in range(3)]
    changed, unrecorded = done("away:A-v0", seed=3, away="2.0"), done("away:A-v0", seed=4)
    others = [done(seed=seed) for seed in range(5)] + [done("other:B-v0", other="7")]
    kept, left = one_version([*mine, *others, changed, unrecorded])
    assert (kept, left) == ([*mine, *others], [changed, unrecorded])
    names = {name for _, name in group([*mine, *others, changed, unrecorded])[0]}
    assert names == {"ppo", "ppo (away 2.0)", "ppo (away unrecorded)"}


def test_one_run_with_a_made_up_version_leaves_out_itself_alone():
    runs = [done(seed=0, rich="13.0"), *(done(seed=seed) for seed in (1, 2, 3))]
    assert expected(runs) == [{}] * 4
    assert one_version(runs) == (runs[1:], runs[:1])


@pytest.mark.parametrize("versions", [("1.0", "2.0", "2.0"), ("1.0", "1.0", "2.0")])
def test_the_version_that_is_here_counts_before_that_of_most(versions, monkeypatch):
    monkeypatch.setattr("tiltyard.benchmarks.packages.behind", lambda run: {"away": "1.0"})
    runs = [done("away:A-v0", seed=seed, away=version) for seed, version in enumerate(versions)]
    assert {run.versions["away"] for run in one_version(runs)[0]} == {"1.0"}


def trpo() -> Run:
    """Another package's agent, for a moment, on a tuning seed."""
    return Run("CartPole-v1", "sb3_contrib:TRPO", 10_000, 8, {"n_steps": 8, "batch_size": 8}, 2, 1)


def test_a_tuning_records_what_its_trials_recorded(tmp_path):
    (tmp_path / "mine.toml").write_text(
        'seeds = [0]\n[[tasks]]\nenv_id = "CartPole-v1"\neval_episodes = 2\neval_points = 1\n'
        'entries = [{agent = "sb3_contrib:TRPO", budget = 8, params = {n_steps = 8, batch_size = 8}}]\n'
    )
    rates = [0.0001, 0.001, 0.01]
    for rate in rates:
        replace(trpo(), params={**trpo().params, "learning_rate": rate}).execute(tmp_path / "out")
    line = ["tune", str(tmp_path / "mine.toml"), "--grid", f"learning_rate={','.join(map(str, rates))}"]
    assert main([*line, "--seeds", "10000", "--out", str(tmp_path / "out")]) == 0
    told = json.loads((tmp_path / "out" / "tuning.json").read_text())["versions"]
    assert told == provenance.versions() | {"sb3_contrib": version("sb3_contrib")}
    assert f"sb3_contrib {version('sb3_contrib')}" in (tmp_path / "out" / "README.md").read_text()


def test_a_population_records_what_its_members_recorded(tmp_path):
    space = space_of(trpo().row.load(), ["learning_rate"])
    for run in _Training(trpo(), space, "perturb", 2, tmp_path, 1, "")._next(0, [])[0]:
        run.execute(tmp_path)
    how = {"population": 2, "steps": 8, "ready": 8, "space": ["learning_rate"], "params": trpo().params}
    train_population("CartPole-v1", "sb3_contrib:TRPO", **how, eval_episodes=2, root=tmp_path)
    told = json.loads((tmp_path / RECORD).read_text())
    assert told["test"] is not None
    assert told["versions"] == provenance.versions() | {"sb3_contrib": version("sb3_contrib")}


def test_a_dataset_records_what_is_behind_the_agent_that_learnt(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    wanted = Wanted("tiltyard/Hopper-v5", ("medium",), (1.0,), 1, 0, "sb3_contrib:TRPO", 100, {}, 0.0)
    making = _Making(wanted, "me/mine-v0", False, silent)
    assert making._metadata([])["tiltyard"]["versions"] == provenance.versions()  # nothing learnt
    making._trained = Medium(tmp_path, {})
    others = {"sb3_contrib": version("sb3_contrib")}
    assert making._metadata([])["tiltyard"]["versions"] == provenance.versions() | others


def test_runs_of_versions_that_are_gone_count_in_nothing_that_is_made_of_others():
    runs = [done(seed=0, sb3_contrib="0.0"), done(seed=1, nowhere="3.1")]
    assert behind_all(runs) == {"nowhere": "3.1"}
