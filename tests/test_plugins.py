"""The package of docs/adding/outside.md ("A plugin"), installed and used."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tiltyard.benchmarks import Run

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


def tiltyard(*words: str, cwd: Path, path: Path | None = None) -> str:
    done = run("-m", "tiltyard.benchmarks.cli", *words, cwd=cwd, path=path)
    assert done.returncode == 0, done.stderr
    return done.stdout


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


def test_a_plugins_environment_and_agent_train_and_are_evaluated(work: Path, installed: Path) -> None:
    train = "train --env corridor/Corridor-v0 --agent patient --steps 300 --eval-episodes 4 --eval-points 2 --out one"
    said = tiltyard(*train.split(), cwd=work, path=installed)
    assert "normalised" not in said
    (folder,) = (work / "one").iterdir()
    assert folder.name.startswith("Corridor-v0-patient-s0-")
    final = json.loads((folder / "final.json").read_text())
    assert len(final["successes"]) == 4
    shown = tiltyard("evaluate", str(folder), "--episodes", "4", cwd=work, path=installed)
    assert f"{sum(final['scores']) / 4:.3f}" in shown


def test_a_suite_file_races_a_plugins_agent_beside_a_class(work: Path, installed: Path) -> None:
    (work / "mine.toml").write_text((work.parent / "source" / "my_suite.toml").read_text().replace("500", "100"))
    race = ("race", "mine.toml", "--seeds", "0", "--out", "raced")
    assert "2 runs finished" in tiltyard(*race, cwd=work, path=installed)
    names = sorted(folder.name.rpartition("-s0-")[0] for folder in (work / "raced").iterdir())
    assert names == ["Corridor-v0-patient", "Corridor-v0-stable_baselines3.A2C"]
    shown = tiltyard("leaderboard", "raced", cwd=work, path=installed)
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("1 / 0", "ZeroDivisionError"),
        ("ENVS = ('corridor/Corridor-v0',)", "its ENVS holds 'corridor/Corridor-v0'"),
    ],
    ids=["import", "error", "rows"],
)
def test_a_broken_plugin_is_named_once_and_breaks_nothing(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(text)
    metadata = tmp_path / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[tiltyard.plugins]\nbroken = broken\n")
    code = (
        "from tiltyard.envs import catalogue; from tiltyard.agents.catalogue import find\n"
        "catalogue.find('tiltyard/Hopper-v5'); catalogue.find('tiltyard/Maze-v0'); print(find('sac').name)"
    )
    done = run("-c", code, cwd=tmp_path, path=tmp_path)
    assert (done.returncode, done.stdout) == (0, "sac\n"), done.stderr
    assert done.stderr.count("plugin 'broken' is left out") == 1
    assert says in done.stderr


def test_without_a_plugin_module_names_do_from_the_folder_one_works_in(work: Path) -> None:
    source = work.parent / "source"
    words = "--env corridor:corridor/Corridor-v0 --agent corridor.parts:Patient --steps 60 --eval-episodes 3"
    tiltyard("train", *words.split(), "--eval-points", "1", "--out", "typed", cwd=source)
    (folder,) = (source / "typed").iterdir()
    refused = run("-m", "tiltyard.benchmarks.cli", "evaluate", str(folder), cwd=source)
    assert refused.returncode == 2
    assert "names corridor.parts:Patient: using it imports the module 'corridor.parts'" in refused.stderr
    assert "--trust" in refused.stderr
    assert "return" in tiltyard("evaluate", str(folder), "--trust", "--episodes", "3", cwd=source)


def test_a_strangers_run_is_shown_and_refused_without_importing_what_it_names(work: Path) -> None:
    source, hostile = work.parent / "source", work.parent / "hostile"
    if not (source / "typed").is_dir():
        test_without_a_plugin_module_names_do_from_the_folder_one_works_in(work)
    hostile.mkdir()
    for module in ("evil_agent", "evil_env"):
        (hostile / f"{module}.py").write_text(f"open({str(hostile / 'ran')!r}, 'a').write('{module}')")
    (folder,) = (source / "typed").iterdir()
    for name, agent, env in (("a", "evil_agent:Agent", "CartPole-v1"), ("e", "ppo", "evil_env:Some/Env-v0")):
        record = json.loads((folder / "run.json").read_text())
        record["run"] |= {"agent": agent, "env_id": env}
        copy = hostile / name / Run(**record["run"]).name  # a folder of another name would be left out before
        copy.mkdir(parents=True)
        for path in folder.iterdir():
            (copy / path.name).write_bytes(path.read_bytes())
        (copy / "run.json").write_text(json.dumps(record))
        refused = run("-m", "tiltyard.benchmarks.cli", "evaluate", str(copy), cwd=hostile, path=hostile)
        assert refused.returncode == 2, refused.stderr
        assert "add --trust" in refused.stderr
        run("-m", "tiltyard.benchmarks.cli", "leaderboard", name, cwd=hostile, path=hostile)
    assert not (hostile / "ran").exists()
