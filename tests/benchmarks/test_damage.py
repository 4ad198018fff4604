"""Damaged run folders: the leaderboard names each and leaves it out, never stops, never counts a changed score."""

import io
import json
import os
import shutil
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks import FinishedRun, Run, Suite, load_runs, provenance, race
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.runs import is_finished, read_run
from tiltyard.benchmarks.suites import Entry, Task

Damage = Callable[[Path], object]
Case = tuple[str, Damage]
FILES = ("run.json", "final.json", "evaluations.npz", "checkpoint.zip", "progress.csv")
PARAMS = {
    "learning_starts": 60,
    "buffer_size": 1000,
    "policy_kwargs": {"net_arch": [16]},
    "env_kwargs": {"healthy_reward": 3.0},
}
TASK = Task("tiltyard/Hopper-v5", (Entry("sac", 150, 1.0, PARAMS),), eval_episodes=4, eval_points=3)
SUITE = Suite("tiny", "", (TASK,), (0, 1))
VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "text": "[/x]<script>|`\n",
    "minus": -1,
    "zero": 0,
    "half": 0.5,
    "huge": 1e308,
    "huger": 10**400,
    "nan": float("nan"),
    "infinity": float("inf"),
    "list": [],
    "object": {},
    "surrogate": "\ud800",
    "escape": "\x1b[2J",
    "deep": json.loads("[" * 400 + "]" * 400),
}


def write_run(run: Run, root: Path) -> Path:
    """A finished run as training leaves it; its numbers are made up, all different."""
    folder = run.folder(root)
    folder.mkdir(parents=True)
    rng = np.random.default_rng(run.seed)
    results, successes = 20 + rng.standard_normal((3, 4)), rng.random((3, 4)) < 0.5
    facts = {"command": run.command, "versions": provenance.versions(), "commit": "0123abc", "hardware": "a CPU"}
    record = {"run": asdict(run), **facts, "started": "2026-01-01T00:00:00Z"}
    (folder / "run.json").write_text(json.dumps(record, indent=1))
    final = {"scores": results[-1].tolist(), "successes": successes[-1].tolist(), "normalised": 0.01}
    (folder / "final.json").write_text(json.dumps({**final, "timesteps": 150, "wall_seconds": 2.5}, indent=1))
    np.savez(folder / "evaluations.npz", **points(results, successes))
    (folder / "progress.csv").write_text("time/total_timesteps,time/episodes\n50,3\n150,9\n")
    (folder / "checkpoint.zip").write_bytes(b"PK of an agent")
    return folder


def points(results: Any, successes: Any) -> dict[str, Any]:
    return {
        "timesteps": [50, 100, 150],
        "results": results,
        "ep_lengths": np.full((3, 4), 20),
        "successes": successes,
    }


def cases() -> Iterator[Case]:
    """Every damage, named; the folder beside the damaged one is whole."""
    for name in FILES:
        yield from _file_cases(name)
    for name in ("run.json", "final.json"):
        yield from _json_cases(name)
    yield from _swaps()
    yield from _array_cases()
    yield from _archive_cases()
    yield "folder: a file", lambda folder: (shutil.rmtree(folder), folder.write_text("x"))
    yield "folder: empty", lambda folder: (shutil.rmtree(folder), folder.mkdir())
    yield "folder: dangling", lambda folder: (shutil.rmtree(folder), folder.symlink_to("nowhere"))
    yield "folder: a loop", lambda folder: (shutil.rmtree(folder), folder.symlink_to(folder))
    yield "folder: the other run", lambda folder: (shutil.rmtree(folder), folder.symlink_to(other(folder)))
    yield "folder: renamed", lambda folder: folder.rename(folder.with_name("Hopper-v5-sac-s7-01234567"))


def other(folder: Path) -> Path:
    return next(path for path in folder.parent.iterdir() if path != folder)


def _file_cases(name: str) -> Iterator[Case]:
    def at(change: Callable[[Path], object]) -> Damage:
        return lambda folder: change(folder / name)

    def put(make: Callable[[Path], object]) -> Damage:
        return lambda folder: ((folder / name).unlink(), make(folder / name))

    def edit(change: Callable[[bytes], bytes]) -> Damage:
        return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))

    yield f"{name}: gone", at(Path.unlink)
    yield f"{name}: empty", edit(lambda _: b"")
    yield f"{name}: a folder", put(Path.mkdir)
    yield f"{name}: a pipe", put(os.mkfifo)
    yield f"{name}: a dangling link", put(lambda path: path.symlink_to("nowhere"))
    yield f"{name}: a link to itself", put(lambda path: path.symlink_to(path.name))
    yield f"{name}: endless", put(lambda path: path.symlink_to("/dev/zero"))
    yield f"{name}: of the other run", put(lambda path: path.symlink_to(other(path.parent) / path.name))
    yield f"{name}: a terabyte of nothing", at(lambda path: os.truncate(path, 1 << 40))
    yield f"{name}: not UTF-8", edit(lambda data: data[:20] + b"\xff\xfe" + data[22:])
    yield f"{name}: UTF-16", edit(lambda data: data.decode("latin-1").encode("utf-16"))
    yield f"{name}: more at its end", edit(lambda data: data + data)
    yield f"{name}: zeros", edit(lambda data: bytes(len(data)))
    yield f"{name}: nested deep", edit(lambda _: b"[" * 100_000)
    yield f"{name}: nested to its end", edit(lambda _: b'{"run":' * 100_000 + b"1" + b"}" * 100_000)
    for i in range(16):
        yield f"{name}: cut at {i}/16", edit(lambda data, i=i: data[: len(data) * i // 16])
    for i in range(40):
        yield f"{name}: byte {i}/40 flipped", edit(lambda data, i=i: flipped(data, i))


def flipped(data: bytes, i: int) -> bytes:
    at = (2 * i + 1) * len(data) // 80
    return data[:at] + bytes([data[at] ^ (1 << i % 8)]) + data[at + 1 :]


def _json_cases(name: str) -> Iterator[Case]:
    def put(path: tuple[Any, ...], value: Any) -> Damage:
        def change(folder: Path) -> None:
            record = json.loads((folder / name).read_text())
            inner = record
            for key in path[:-1]:
                inner = inner[key]
            if value is ...:
                del inner[path[-1]]
            else:
                inner[path[-1]] = value
            (folder / name).write_text(json.dumps(record))

        return change

    keys: dict[str, list[tuple[Any, ...]]] = {
        "run.json": [
            *((key,) for key in ("run", "command", "versions", "commit", "hardware", "started")),
            *(("run", key) for key in ("env_id", "agent", "seed", "budget", "params", "eval_episodes", "eval_points")),
            *(("run", "params", key) for key in PARAMS),
            ("run", "params", "env_kwargs", "healthy_reward"),
            ("versions", "mujoco"),
        ],
        "final.json": [
            *((key,) for key in ("scores", "successes", "normalised", "timesteps", "wall_seconds")),
            *((key, i) for key in ("scores", "successes") for i in (0, 3)),
        ],
    }
    for path in keys[name]:
        where = f"{name}: {'.'.join(map(str, path))}"
        yield f"{where} left out", put(path, ...)
        for called, value in VALUES.items():
            yield f"{where} {called}", put(path, value)
    if name == "run.json":
        for key, value in (("dataset", 3), ("offline_steps", "x"), ("env_kwargs", "x"), ("eval_sampled", 1)):
            yield f"run.json: a run with {key}={value!r}, whose name fits", renamed({key: value})
        yield "run.json: an environment that is not there, whose name fits", renamed({}, env_id="tiltyard/None-v0")
        yield "run.json: an unknown agent, in a folder named after it", renamed({}, agent="unknown-agent")


def renamed(params: dict[str, Any], **changes: Any) -> Damage:
    """Another run in the folder, under the name that it would have."""

    def change(folder: Path) -> None:
        record = json.loads((folder / "run.json").read_text())
        record["run"] |= {"params": record["run"]["params"] | params, **changes}
        (folder / "run.json").write_text(json.dumps(record))
        folder.rename(folder.with_name(Run(**record["run"]).name))

    return change


def _swaps() -> Iterator[Case]:
    def final(key: str, change: Callable[[list[Any]], list[Any]]) -> Damage:
        def damage(folder: Path) -> None:
            record = json.loads((folder / "final.json").read_text())
            record[key] = change(record[key])
            (folder / "final.json").write_text(json.dumps(record))

        return damage

    def invert(values: list[bool]) -> list[bool]:
        return [not value for value in values]

    yield "scores: two swapped", final("scores", lambda x: [x[1], x[0], *x[2:]])
    yield "scores: one bit more", final("scores", lambda x: [float(np.nextafter(x[0], 100)), *x[1:]])
    yield "scores: the best alone", final("scores", lambda x: [max(x)] * len(x))
    yield "scores: one less", final("scores", lambda x: x[1:])
    yield "scores: one more", final("scores", lambda x: [*x, x[0]])
    yield "scores: doubled", final("scores", lambda x: [2 * value for value in x])
    yield "scores: as text", final("scores", lambda x: list(map(str, x)))
    yield "scores: a list each", final("scores", lambda x: [[value] for value in x])
    yield "successes: all inverted", final("successes", invert)
    yield "successes: all true", final("successes", lambda x: [True] * len(x))
    yield "successes: as numbers", final("successes", lambda x: list(map(int, x)))
    yield "successes: one less", final("successes", lambda x: x[1:])


def _array_cases() -> Iterator[Case]:
    def rewritten(change: Callable[[dict[str, Any]], object], write: Any = np.savez) -> Damage:
        def damage(folder: Path) -> None:
            with np.load(folder / "evaluations.npz") as found:
                arrays = dict(found)
            change(arrays)
            write(folder / "evaluations.npz", **arrays)

        return damage

    def put(name: str, change: Callable[[Any], Any]) -> Damage:
        return rewritten(lambda arrays: arrays.__setitem__(name, change(arrays[name])))

    changes: dict[str, Callable[[Any], Any]] = {
        "objects": lambda x: x.astype(object),
        "text": lambda x: x.astype("U32"),
        "complex": lambda x: x + 1j,
        "32 bits": lambda x: x.astype(np.float32),
        "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
        "dates": lambda x: x.astype("int64").astype("M8[s]"),
        "flat": lambda x: x.ravel(),
        "one axis more": lambda x: x[..., None],
        "one row less": lambda x: x[:-1],
        "no row": lambda x: x[:0],
        "a single number": lambda x: x.ravel()[0],
        "turned": lambda x: x.T,
        "upside down": lambda x: x[::-1],
        "more": lambda x: x + 1 if x.dtype != bool else ~x,
        "nan": lambda x: np.full(x.shape, np.nan),
        "huge": lambda x: np.full(x.shape, 1e308),
        "negative": lambda x: -x.astype(np.int64) - 1,
        "column-major": lambda x: np.asfortranarray(x),
    }
    for name in ("timesteps", "results", "ep_lengths", "successes"):
        yield f"evaluations.npz: no {name}", rewritten(lambda arrays, name=name: arrays.pop(name))
        for called, change in changes.items():
            yield f"evaluations.npz: {name} {called}", put(name, change)
    for name in ("results", "successes"):
        yield f"evaluations.npz: the first {name} last", put(name, lambda x: np.roll(x, 1, axis=0))
        yield f"evaluations.npz: last {name} swapped", put(name, lambda x: np.concatenate([x[:-1], x[-1:, ::-1]]))
    yield "evaluations.npz: an array more", rewritten(lambda arrays: arrays.update(more=np.zeros(3)))
    yield "evaluations.npz: compressed", rewritten(lambda arrays: None, np.savez_compressed)


def _archive_cases() -> Iterator[Case]:
    def member(name: str, data: bytes, kind: int = zipfile.ZIP_STORED) -> Damage:
        def damage(folder: Path) -> None:
            path = folder / "evaluations.npz"
            with zipfile.ZipFile(path) as archive:
                members = {one: archive.read(one) for one in archive.namelist()} | {name: data}
            with zipfile.ZipFile(path, "w", kind) as archive:
                for one, content in members.items():
                    archive.writestr(one, content)

        return damage

    def header(text: str) -> bytes:
        line = text.encode().ljust(117) + b"\n"
        return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + bytes(96)

    shapes = (
        "(10**12,)",
        "(1000000000000,)",
        "(1000000, 1000000)",
        "(-1, -12)",
        "(3, 4, 1)",
        "()",
        "(3, 4",
        "3",
        "'x'",
    )
    for shape in shapes:
        said = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
        yield f"evaluations.npz: a shape of {shape}", member("results.npy", header(said))
    for kind in ("|O", "|V99999", "<f16", "<M8[s]", "[('a', '<f8')]", "__import__('os')", "(" * 100):
        said = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': (3, 4), }}"
        yield f"evaluations.npz: of {kind[:20]}", member("results.npy", header(said))
    yield "evaluations.npz: a header of brackets", member("results.npy", header("(" * 60_000))
    yield "evaluations.npz: a header of another version", member("results.npy", b"\x93NUMPY\x03\x00" + b"\xff" * 200)
    yield "evaluations.npz: a bomb", member("results.npy", bytes(200 << 20), zipfile.ZIP_DEFLATED)
    yield "evaluations.npz: LZMA", member("x", b"", zipfile.ZIP_LZMA)
    yield "evaluations.npz: another archive", lambda folder: _zip_of(folder / "evaluations.npz", {"a": b"b"})
    yield "evaluations.npz: no archive, an array", lambda folder: np.save(_open(folder / "evaluations.npz"), np.ones(3))
    yield (
        "evaluations.npz: a pickle",
        lambda folder: np.array([{}], object).dump(folder / "evaluations.npz"),
    )
    for i in range(24):  # the directory of the archive lies at its end

        def damage(folder: Path, i: int = i) -> None:
            path = folder / "evaluations.npz"
            data = bytearray(path.read_bytes())
            data[-1 - 11 * i] ^= 0xFF
            path.write_bytes(bytes(data))

        yield f"evaluations.npz: the archive's directory, {i}", damage


def _zip_of(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def _open(path: Path) -> io.BufferedWriter:
    return path.open("wb")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("whole")
    for run in SUITE.runs():
        write_run(run, root)
    return root


ALL = list(cases())
SLOW = pytest.mark.slow
FEW = 12


def sampled(every: int, fast: int) -> list[Any]:
    """All damages, of which every ``every``-th is tried by default, the others among the slow tests."""
    return [pytest.param(case, id=case[0], marks=() if i % every == fast else SLOW) for i, case in enumerate(ALL)]


def told(run: FinishedRun) -> tuple[Any, ...]:
    return run.scores, run.successes, run.normalised, run.curve


def test_there_are_damages_enough_and_the_undamaged_count(whole: Path) -> None:
    assert len(ALL) > 900
    assert len({label for label, _ in ALL}) == len(ALL)
    assert [run.run for run in load_runs(whole)] == SUITE.runs()


@pytest.mark.parametrize("case", sampled(FEW, 5))
def test_a_damaged_run_is_named_and_left_out_or_counts_with_the_scores_it_has(
    whole: Path, case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, (_, damage) = tmp_path / "runs", case
    shutil.copytree(whole, root)
    damage(root / SUITE.runs()[0].name)
    assert main(["leaderboard", str(root), "--out", str(tmp_path / "site")]) == 0
    said = capsys.readouterr().err
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = load_runs(root)
    originals = {run.name: told(read_run(run.folder(whole))) for run in SUITE.runs()}
    assert [told(run) for run in kept] == [originals[run.run.name] for run in kept]
    assert SUITE.runs()[1].name in {run.folder.name for run in kept}
    for folder in root.iterdir():
        assert folder.name in said or folder in [run.folder for run in kept]
        assert is_finished(folder) == (folder in [run.folder for run in kept])


def test_a_run_by_an_agent_of_another_package_counts_and_nothing_is_imported_for_it(
    whole: Path, tmp_path: Path
) -> None:
    root = tmp_path / "runs"
    shutil.copytree(whole, root)
    renamed({}, agent="this:Agent")(root / SUITE.runs()[0].name)
    assert main(["leaderboard", str(root), "--out", str(tmp_path / "site")]) == 0
    assert {run.run.agent for run in load_runs(root)} == {"sac", "this:Agent"}
    assert "this" not in sys.modules


@pytest.mark.slow
def test_a_race_replaces_what_is_damaged_and_keeps_what_is_not(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = (
        "folder: a file",
        "folder: dangling",
        "folder: the other run",
        "run.json: a pipe",
        "evaluations.npz: empty",
    )
    for case in ALL:
        if case[0] not in chosen:
            continue
        root = tmp_path / case[0].replace(" ", "-")
        shutil.copytree(whole, root)
        damaged, other_run = SUITE.runs()
        case[1](damaged.folder(root))
        with pytest.warns(UserWarning, match="executed anew") if damaged.folder(root).is_dir() else nullcontext():
            runs = race(SUITE, root=root, workers=1)
        assert [run.run for run in runs] == SUITE.runs()
        assert told(runs[1]) == told(read_run(other_run.folder(whole)))
        assert told(runs[0]) not in [told(read_run(run.folder(whole))) for run in SUITE.runs()]
        assert {path.name for path in root.iterdir()} == {run.name for run in SUITE.runs()}
