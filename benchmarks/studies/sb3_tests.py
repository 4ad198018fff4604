"""Stable-Baselines3's own tests with Tiltyard's agents in place of their classes: how many pass, file by file.

    python benchmarks/studies/sb3_tests.py CHECKOUT [--files save_load,her] [--agents PPO=fast-ppo] [--column after]
    python benchmarks/studies/sb3_tests.py --report

CHECKOUT is a source tree of Stable-Baselines3 with its ``tests`` folder, of the version that is installed (``pip
download stable_baselines3==VERSION --no-deps --no-binary :all:`` has them); none of it is part of this repository. Its
tests are copied to a temporary folder and run there, a file a process, against the installed library, in which ``PPO``,
``SAC`` and the others are replaced before the tests import them: by the agents of the same names here, and A2C and
DDPG, which have no agents of their own, by what ``stable_baselines3:A2C`` is as an agent, SB3's class with our
checkpoints. Install TensorBoard first: without it tests of its file are skipped, and one of the logger's fails.

Outcomes go to ``docs/results/sb3-tests/results.json`` as one column ("before", "after", ...), and the page beside it is
written from all columns. Tests that cannot pass with checkpoints that run no code stand in :data:`REFUSED`, each with
the reason; what else fails is listed as open.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.provenance import commit, hardware, versions

FOLDER = Path("docs/results/sb3-tests")
FILES = (
    *("save_load", "her", "train_eval_mode", "cnn", "tensorboard", "run", "dict_env", "sde", "spaces", "callbacks"),
    *("custom_policy", "deterministic", "gae", "identity", "logger", "n_step_replay", "predict", "vec_normalize"),
)
AGENTS = {
    "PPO": "ppo",
    "A2C": "stable_baselines3:A2C",
    "SAC": "sac",
    "TD3": "td3",
    "DQN": "dqn",
    "DDPG": "stable_baselines3:DDPG",
}
"""SB3's class -> a name of the agents' catalogue."""
OUTCOMES = ("passed", "failed", "skipped")

_OLD = (
    "the test makes a file as an older SB3 would have written it, with {what}, and expects a warning: a checkpoint of "
    "ours that does not fit its agent is refused as damaged, and files of SB3 itself are pickles, which are not read"
)
REFUSED: dict[str, str] = {
    "test_save_load.py::test_load_invalid_object": (
        "the test spoils a pickled function inside the file and expects a warning that names custom_objects: our "
        "checkpoints hold no pickles, and a function is stored by its values"
    ),
    "test_save_load.py::test_save_load_env_cnn[stable_baselines3:A2C]": _OLD.format(what="weights missing"),
    "test_save_load.py::test_save_load_no_target_params": _OLD.format(what="an optimiser of other parameters"),
}
"""Tests that the safe checkpoint forbids, and why."""


def run_file(tests: Path, name: str, agents: Mapping[str, str], limit: float) -> dict[str, dict[str, str]]:
    """Runs one file in a process of its own; outcomes by test.

    Args:
        tests: a folder with the copied ``tests``.
        name: of the file, without ``test_`` and ``.py``.
        agents: what stands in for which class.
        limit: seconds.

    Raises:
        RuntimeError: pytest could not run it.
        subprocess.TimeoutExpired: it took longer than ``limit``.
    """
    job, out = tests / f"{name}.job.json", tests / f"{name}.json"
    content = {"classes": dict(agents), "tests": [f"tests/test_{name}.py"], "out": str(out)}
    job.write_text(json.dumps(content), encoding="utf-8")
    worker = Path(__file__).resolve().with_name("_sb3_tests_worker.py")
    environ = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, str(worker), str(job)],
        cwd=tests,
        env=environ,
        timeout=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    if not out.exists():
        raise RuntimeError(f"pytest ended without a result for test_{name}.py: {done.stderr[-2000:]}")
    found: dict[str, dict[str, str]] = json.loads(out.read_text(encoding="utf-8"))["outcomes"]
    if not found:
        raise RuntimeError(f"there is no test in test_{name}.py, or it cannot be read: {done.stdout[-2000:]}")
    return found


def copied(checkout: Path, folder: Path) -> Path:
    """Copies the tests and pytest's settings of a checkout, without its library, which would hide the installed one.

    Raises:
        FileNotFoundError: no checkout with tests.
    """
    if not (checkout / "tests").is_dir():
        raise FileNotFoundError(f"{checkout} has no folder tests: give a source tree of Stable-Baselines3")
    shutil.copytree(checkout / "tests", folder / "tests")
    shutil.copy(checkout / "pyproject.toml", folder)
    return folder


def version_of(checkout: Path) -> str:
    """The version of Stable-Baselines3 in a checkout."""
    return (checkout / "stable_baselines3" / "version.txt").read_text(encoding="utf-8").strip()


def counts(outcomes: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    """How many tests passed, failed and were skipped."""
    return {name: sum(one["outcome"] == name for one in outcomes.values()) for name in OUTCOMES}


def failing(column: Mapping[str, Any], *, refused: bool) -> list[tuple[str, str]]:
    """Tests of a column that failed, with the reason (if the safe checkpoint forbids them) or the error."""
    found = {test: one for of in column["files"].values() for test, one in of.items() if one["outcome"] == "failed"}
    return [
        (test, REFUSED.get(test, one["why"])) for test, one in sorted(found.items()) if (test in REFUSED) == refused
    ]


def page(columns: Mapping[str, Mapping[str, Any]]) -> str:
    """All columns as a page; details are of the last."""
    files = list(dict.fromkeys(name for column in columns.values() for name in column["files"]))
    counted = {key: {name: counts(of) for name, of in column["files"].items()} for key, column in columns.items()}
    last = list(columns.values())[-1]
    return render(
        "sb3_tests.md.jinja",
        columns=columns,
        files=files,
        counted=counted,
        of={key: [failing(column, refused=True), failing(column, refused=False)] for key, column in columns.items()},
        last=last,
    )


def tables(found: Mapping[str, Mapping[str, Mapping[str, str]]]) -> str:
    """Counts a file as lines for the terminal."""
    lines = [f"{'':20} passed failed skipped"]
    for name, of in found.items():
        one = counts(of)
        lines.append(f"{name:20} {one['passed']:6} {one['failed']:6} {one['skipped']:7}")
    return "\n".join(lines)


def measured(checkout: Path, files: Sequence[str], agents: Mapping[str, str], limit: float) -> dict[str, Any]:
    """Runs the files, one after the other, at low priority; what a column of the results holds.

    Raises:
        ValueError: the checkout is of another version than the library that is installed.
    """
    about = {"commit": commit(), "hardware": hardware(), "versions": versions()}
    if (theirs := version_of(checkout)) != (installed := version("stable_baselines3")):
        raise ValueError(f"the checkout is Stable-Baselines3 {theirs}, and {installed} is installed: take its tests")
    if hasattr(os, "nice"):
        os.nice(10)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        tests = copied(checkout, Path(folder))
        for name in files:
            found[name] = run_file(tests, name, agents, limit)
            print(tables({name: found[name]}), flush=True)
    return {"agents": dict(agents), "sb3": theirs, **about, "files": found}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the tests, stores the outcomes as a column, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, nargs="?", help="source tree of Stable-Baselines3")
    parser.add_argument("--files", default=",".join(FILES))
    parser.add_argument("--agents", default="", help="changes to what stands in: PPO=fast-ppo,...")
    parser.add_argument("--column", default="after")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds a file may take")
    parser.add_argument("--report", action="store_true", help="only write the page from results.json")
    parser.add_argument("--out", type=Path, default=FOLDER)
    given = parser.parse_args(arguments)
    if given.checkout is None and not given.report:
        parser.error("give a source tree of Stable-Baselines3, or --report")
    path = given.out / "results.json"
    columns: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if given.checkout is not None:
        agents = AGENTS | dict(pair.split("=", 1) for pair in given.agents.split(",") if pair)
        new = measured(given.checkout, given.files.split(","), agents, given.limit)
        old = columns.get(given.column, {"files": {}})
        columns[given.column] = new | {"files": old["files"] | new["files"]}
        given.out.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(columns, indent=1) + "\n", encoding="utf-8")
    (given.out / "README.md").write_text(page(columns), encoding="utf-8")
    for name, column in columns.items():
        print(f"\n{name}\n{tables(column['files'])}")


if __name__ == "__main__":
    main()
