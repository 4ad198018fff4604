"""The package of docs/adding/outside.md ("A plugin"), installed and used."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tiltyard.agents.catalogue import Row as Agent
from tiltyard.benchmarks import Run
from tiltyard.envs.catalogue import Row as Env

ROOT = Path(__file__).parents[1]
RECIPE = (ROOT / "docs" / "adding" / "outside.md").read_text()
PYTHONPATH = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]


def write_example(folder: Path) -> None:
    """The recipe's files: each block that follows its name on a line of its own."""
    for name, text in re.findall(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```", RECIPE, re.MULTILINE | re.DOTALL):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def run(*words: str, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command of Python's in a fresh process, with ``path`` in front of what it can import."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), *PYTHONPATH] if path else PYTHONPATH)}
    return subprocess.run([sys.executable, *words], cwd=cwd, env=env, capture_output=True, text=True, check=False)


EACH = """
import json, sys
from tiltyard.benchmarks.cli import main
for words in json.loads(sys.argv[1]):
    code = main(words)
    sys.stdout.flush(), sys.stderr.write(f"exit {code}\\n")
"""


def tiltyard(*lines: str, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Command lines one after another in a fresh process, which pays once for what they import."""
    return run("-c", EACH, json.dumps([line.split() for line in lines]), cwd=cwd, path=path)


def codes(done: subprocess.CompletedProcess[str]) -> list[int]:
    """The exit codes of :func:`tiltyard`'s command lines."""
    return [int(code) for code in re.findall(r"^exit (\d+)$", done.stderr, re.MULTILINE)]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example beside it."""
    folder = tmp_path_factory.mktemp("outside") / "work"
    folder.mkdir()
    write_example(folder.parent / "source")
    return folder


@pytest.fixture(scope="module")
def installed(work: Path) -> Path:
    """Where pip put the example, with its metadata."""
    target = work.parent / "site"
    pip = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    done = run(*pip, str(work.parent / "source"), cwd=work)
    assert done.returncode == 0, done.stderr
    assert (target / "corridor-1.0.dist-info" / "entry_points.txt").is_file()
    return target


@pytest.fixture(scope="module")
def trained(work: Path, installed: Path) -> Path:
    """The folder of a run of the plugin's agent in its environment."""
    train = "train --env corridor/Corridor-v0 --agent patient --steps 300 --eval-episodes 4 --eval-points 2 --out one"
    done = tiltyard(train, cwd=work, path=installed)
    assert codes(done) == [0], done.stderr
    assert "normalised" not in done.stdout
    (folder,) = (work / "one").iterdir()
    return folder


@pytest.mark.slow
def test_a_plugin_trains_and_another_process_evaluates_and_races_it(work: Path, installed: Path, trained: Path) -> None:
    assert trained.name.startswith("Corridor-v0-patient-s0-")
    final = json.loads((trained / "final.json").read_text())
    assert len(final["successes"]) == 4
    (work / "mine.toml").write_text((work.parent / "source" / "my_suite.toml").read_text().replace("500", "100"))
    done = tiltyard(
        f"evaluate {trained} --episodes 4",
        "race mine.toml --seeds 0 --out raced",  # beside a class of another library
        "leaderboard raced",
        cwd=work,
        path=installed,
    )
    assert codes(done) == [0, 0, 0], done.stderr
    evaluated, _, shown = done.stdout.partition("2 runs finished")
    assert f"{sum(final['scores']) / 4:.3f}" in evaluated
    names = sorted(folder.name.rpartition("-s0-")[0] for folder in (work / "raced").iterdir())
    assert names == ["Corridor-v0-patient", "Corridor-v0-stable_baselines3.A2C"]
    assert "raw returns" in shown
    assert "stable_baselines3:A2C" in shown


def test_a_plugins_rows_are_found_by_name_and_registered(work: Path, installed: Path) -> None:
    code = (
        "import sys, gymnasium, tiltyard\n"
        "assert 'corridor' not in sys.modules\n"  # nothing of a plugin is imported before it is asked for
        "from tiltyard.envs import catalogue; from tiltyard.benchmarks.suites import find\n"
        "row = catalogue.find('corridor/Corridor-v0')\n"
        "print(row.summary, row.scored, gymnasium.make(row.id).spec.id, find('corridor-v1').agents)"
    )
    done = run("-c", code, cwd=work, path=installed)
    assert done.stdout == "Walk to the end of a corridor False corridor/Corridor-v0 ('patient',)\n", done.stderr


def test_a_plugins_rows_are_listed_and_shown_beside_ours(work: Path, installed: Path) -> None:
    listed = [f"list {what}" for what in ("envs", "agents", "suites")]
    shown = [f"show {name}" for name in ("corridor/Corridor-v0", "patient", "corridor-v1")]
    done = tiltyard(*listed, *shown, cwd=work, path=installed)
    assert codes(done) == [0] * 6, done.stderr
    for line in (
        "corridor/Corridor-v0\tother\tWalk to the end of a corridor\t",
        "patient\tother\tA2C that looks further ahead\t-\n",
        "corridor-v1\tcorridor/Corridor-v0\tpatient (2,000)\t0, 1, 2\t",
        "corridor/Corridor-v0: Walk to the end of a corridor\n",
        "\nsuites\n  corridor-v1\n",
        "patient: A2C that looks further ahead\n  domains   other\n  settings  ",
        "corridor-v1: The corridor\n\ncorridor/Corridor-v0\n  agents    patient (2,000)\n",
    ):
        assert line in done.stdout
    assert "n_steps=16" in done.stdout
    assert "tiltyard/Hopper-v5\trobotics" in done.stdout  # ours are still there


def test_a_plugins_version_is_recorded_and_another_one_is_named(work: Path, installed: Path, trained: Path) -> None:
    assert json.loads((trained / "run.json").read_text())["versions"]["corridor"] == "1.0"
    newer = shutil.copytree(installed, work.parent / "newer")
    metadata = newer / "corridor-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 2.0"))
    code = f"from tiltyard.benchmarks.runs import read_run; print(len(read_run({str(trained)!r}).scores))"
    done = run("-c", code, cwd=work, path=newer)
    assert "was run with corridor 1.0 (now 2.0): its numbers may differ" in done.stderr
    assert "VersionWarning" not in run("-c", code, cwd=work, path=installed).stderr


ROW = "from tiltyard.envs.catalogue import Row"
SUITE = """
from tiltyard.benchmarks.suites import Entry, Suite, Task
SUITES = (Suite("mine", "", Task("CartPole-v1", (Entry("sac", 10, 1.0),)), (0,)),)
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("ENVS = ('corridor/Corridor-v0',)", "its ENVS holds 'corridor/Corridor-v0'"),
        (f"{ROW}\nENVS = (Row('my/Env-v0', 'a:B', None, 'other', 'x'))", "its ENVS is Row(id='my/Env-v0'"),
        (f"{ROW}\nENVS = (Row('my env', 'a:B', None, 'other', 'x'),)", "ValueError: an environment's id is written"),
        (SUITE, "TypeError: tasks of suite 'mine' are a tuple, of one (value,), got Task("),
    ],
    ids=["import", "error", "exit", "rows", "one-row", "id", "suite"],
)
def test_a_broken_plugin_is_named_once_and_breaks_nothing(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(text)
    metadata = tmp_path / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[tiltyard.plugins]\nbroken = broken\n")
    code = (
        "from tiltyard.envs import catalogue; from tiltyard.agents.catalogue import find\n"
        "catalogue.find('tiltyard/Hopper-v5'); catalogue.find('tiltyard/Maze-v0'); print(find('sac').name)\n"
        "from tiltyard.benchmarks.suites import find; find('smoke').agents"
    )
    done = run("-c", code, cwd=tmp_path, path=tmp_path)
    assert (done.returncode, done.stdout) == (0, "sac\n"), done.stderr
    assert done.stderr.count("plugin 'broken' is left out") == 1
    assert says in done.stderr


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"id": "my env"}, "id is written namespace/Name-v0, got 'my env'"),
        ({"id": ["my/Env-v0"]}, "id is written namespace/Name-v0"),
        ({"entry_point": "mine.Env"}, "written \"module:Class\", got 'mine.Env'"),
        ({"vector_entry_point": "mine:"}, "written \"module:Class\", got 'mine:'"),
        ({"domain": "robotic"}, "unknown domain 'robotic'; did you mean 'robotics'"),
        ({"max_episode_steps": -3}, "max_episode_steps is a whole number, 0 for no limit, got -3"),
        ({"kwargs": [("level", 2)]}, "kwargs are keywords by name"),
        ({"random_score": 1.0, "expert_score": 1.0}, "are both 1.0, between which no return can be normalised"),
    ],
)
def test_a_row_of_an_environment_that_nothing_could_be_made_of_is_refused(given: dict[str, Any], says: str) -> None:
    usual = {"id": "my/Env-v0", "entry_point": "a:B", "vector_entry_point": None, "domain": "other", "summary": "x"}
    Env(**usual)
    with pytest.raises(ValueError, match=re.escape(says)):
        Env(**(usual | given))


TRAINER = "tiltyard.agents.language.trainer:PolicyGradient"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": ""}, "an agent is named by a word"),
        ({"entry_point": "mine.Agent"}, "written \"module:Class\", got 'mine.Agent'"),
        ({"domains": "other"}, "domains are a tuple, such as (\"other\",), got 'other'"),
        ({"domains": ("robotic",)}, "unknown domain 'robotic'; did you mean 'robotics'"),
        ({"settings": {"n_steps": 16}}, "unknown scope 'n_steps'"),
        ({"settings": {"*": 16}}, "got 16 under '*'"),
        ({"env_kwargs": {"drivign": {"action": "discrete"}}}, "unknown scope 'drivign'; did you mean 'driving'"),
        ({"n_envs": 4}, "n_envs of agent 'mine' stand under"),
        ({"settings": {"tiltyard/Hoper-v5": {}}}, "unknown environment 'tiltyard/Hoper-v5'; did you mean"),
        ({"entry_point": TRAINER, "settings": {"*": {"rewards": "lazer"}}}, "unknown reward 'lazer'; did you mean"),
        ({"entry_point": TRAINER, "settings": {"text": {"method": "gropo"}}}, "unknown method 'gropo'; did you mean"),
    ],
)
def test_a_row_of_an_agent_whose_settings_would_have_no_effect_is_refused(given: dict[str, Any], says: str) -> None:
    usual = {"name": "mine", "entry_point": "a:B", "domains": ("other",), "summary": "x"}
    Agent(**usual, settings={"*": {"a": 1}, "my/Env-v0": {"a": 2}, "CartPole-v1": {}}, n_envs={"text": 2})
    with pytest.raises(ValueError, match=re.escape(says)):
        Agent(**(usual | given))


CLASHING = """
from tiltyard.agents.catalogue import Row as Agent
from tiltyard.benchmarks.suites import Entry, Suite, Task
from tiltyard.envs.catalogue import Row as Env

ENVS = (Env("tiltyard/Hopper-v5", "clashing:Env", None, "other", "Another hopper"),)
AGENTS = tuple(Agent(name, "clashing:Agent", ("other",), "Another agent") for name in ("sac", "twice", "twice"))
SUITES = (Suite("smoke", "Another smoke", (Task("CartPole-v1", (Entry("sac", 10, 1.0),)),), seeds=(0,)),)
"""


def test_names_that_are_taken_are_left_out_and_named_everywhere(tmp_path: Path) -> None:
    (tmp_path / "clashing.py").write_text(CLASHING)
    metadata = tmp_path / "clashing-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: clashing\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[tiltyard.plugins]\nclashing = clashing\n")
    lines = ["show smoke", "show tiltyard/Hopper-v5", "list agents", "list envs", "list suites"]
    done = tiltyard(*lines, cwd=tmp_path, path=tmp_path)
    assert codes(done) == [0] * len(lines), done.stderr
    assert "Another smoke" not in done.stdout
    assert "Another hopper" not in done.stdout
    assert done.stdout.count("Another agent") == 1
    for name, whose in (
        ("smoke", "the name of a row of Tiltyard's in SUITES"),
        ("tiltyard/Hopper-v5", "the name of a row of Tiltyard's in ENVS"),
        ("sac", "the name of a row of Tiltyard's in AGENTS"),
        ("twice", "the name of a row before it in AGENTS"),
    ):
        assert done.stderr.count(f"'{name}' of plugin 'clashing' is left out: that is {whose}; give it another") == 1


@pytest.fixture(scope="module")
def typed(work: Path) -> Path:
    """The folder of a run whose parts were named by their modules, beside those."""
    words = "train --env corridor:corridor/Corridor-v0 --agent corridor.parts:Patient --steps 60 --eval-episodes 3"
    done = tiltyard(f"{words} --eval-points 1 --out typed", cwd=work.parent / "source")
    assert codes(done) == [0], done.stderr
    (folder,) = (work.parent / "source" / "typed").iterdir()
    return folder


@pytest.mark.slow  # four processes
def test_without_a_plugin_module_names_do_from_the_folder_one_works_in(work: Path, typed: Path) -> None:
    evaluate = f"evaluate {typed}"
    done = tiltyard(evaluate, f"{evaluate} --trust --episodes 3", cwd=work.parent / "source")
    assert codes(done) == [2, 0], done.stderr
    refused = done.stderr.partition("exit 2")[0]
    assert "names corridor.parts:Patient: using it imports the module 'corridor.parts'" in refused
    assert "--trust" in refused
    assert "return" in done.stdout


def test_a_strangers_run_is_shown_and_refused_without_importing_what_it_names(work: Path, typed: Path) -> None:
    folder, hostile = typed, work.parent / "hostile"
    hostile.mkdir()
    for module in ("evil_agent", "evil_env"):
        (hostile / f"{module}.py").write_text(f"open({str(hostile / 'ran')!r}, 'a').write('{module}')")
    for name, agent, env in (("a", "evil_agent:Agent", "CartPole-v1"), ("e", "ppo", "evil_env:Some/Env-v0")):
        record = json.loads((folder / "run.json").read_text())
        record["run"] |= {"agent": agent, "env_id": env}
        copy = hostile / name / Run(**record["run"]).name  # a folder of another name would be left out before
        copy.mkdir(parents=True)
        for path in folder.iterdir():
            (copy / path.name).write_bytes(path.read_bytes())
        (copy / "run.json").write_text(json.dumps(record))
        done = tiltyard(f"evaluate {copy}", f"leaderboard {name}", cwd=hostile, path=hostile)
        assert codes(done)[0] == 2, done.stderr
        assert "add --trust" in done.stderr.partition("exit")[0]
    assert not (hostile / "ran").exists()
