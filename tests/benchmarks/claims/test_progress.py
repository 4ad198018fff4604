"""Claims go on where they were stopped, on several processes, and neither changes what they find."""

import logging
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import cloudpickle
import numpy as np
import pytest

from tiltyard.benchmarks import folders, provenance
from tiltyard.benchmarks.claims import harness
from tiltyard.benchmarks.claims.claim import Comparison, Found, Measurement, Premise, Tuning
from tiltyard.benchmarks.claims.effects import part
from tiltyard.benchmarks.claims.harness import run_claim
from tiltyard.benchmarks.claims.progress import Job, Progress, kept_in

WAITED = 600.0
"""Seconds that a run which waits takes."""


@dataclass(frozen=True)
class Noise:
    """A testbed of normal scores that notes its runs in a file, and may fail, be stopped or killed on one of them.

    Attributes:
        log: a line a run.
        ends: what happens on the run of this seed, where the log has no word of it yet.
    """

    log: Path
    ends: tuple[str, int] = ("", -1)

    def run(self, condition: float, rate: float, seed: int) -> float:
        with self.log.open("a") as file:
            file.write(f"{condition} {rate} {seed}\n")
        if self.ends == ("fails", seed):
            raise OSError("no space left on device")
        if self.ends == ("killed", seed):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.ends == ("waits", seed):
            time.sleep(WAITED)
        return condition - abs(np.log10(rate) + 2) + np.random.default_rng(seed).normal()

    def smallest(self) -> Self:
        return self


def claim(log: Path, *ends: Any) -> Comparison:
    return Comparison(
        handle="made-up",
        sentence="Two is more than one.",
        effect="two minus one",
        testbed=Noise(log, ends or ("", -1)),
        conditions={"two": 2.0, "one": 1.0},
        ours="two",
        baselines=("one",),
        seeds=4,
        premise=Premise("None."),
        parts=lambda found: {"": part(found["two"].each(float) - found["one"].each(lambda run: 0.9 * run))},
        details=lambda found: {"again": again(found)},
        tuning=Tuning(float, (0.001, 0.01, 0.1), seeds=2),
    )


def again(found: Found[float, float]) -> Any:
    """Runs that a claim asks for once more, after those that it reports."""
    return [found.faster(10, most=2).each(float)["one"].tolist(), found.on_tuning_seeds(["two"])["two"]]


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets which claim stands in a claim file of our own."""

    class Module:
        CLAIM: Comparison
        measure: Any

    monkeypatch.setattr(harness, "claims", lambda: ("made-up",))
    monkeypatch.setitem(sys.modules, "tiltyard.benchmarks.claims.made_up", Module)  # type: ignore[arg-type]

    def put(one: Comparison) -> None:
        Module.CLAIM, Module.measure = one, staticmethod(one.measure)

    return put


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def same(a: Measurement, b: Measurement) -> bool:
    return {name: one.values for name, one in a.parts.items()} == {name: one.values for name, one in b.parts.items()}


def test_equal_runs_are_done_once_and_each_is_kept(tmp_path: Path) -> None:
    bed = Noise(tmp_path / "log")
    asked = [Job(bed, name, 2.0, 0.1, seed) for name in ("one", "other") for seed in (0, 1)]
    asked += [Job(bed, "other", 2.0, 0.01, 0), Job(bed, "three", 3.5, 0.1, 0), Job(Noise(tmp_path / "of"), "", 2, 1, 0)]
    progress = Progress(tmp_path / "kept")
    first = progress.runs(asked)
    assert first[:2] == first[2:4]
    assert len(set(first)) == 5
    again = Progress(tmp_path / "kept")
    assert again.runs(asked) == first
    assert again.resumed == len(asked)
    assert (len(lines(bed.log)), len(lines(tmp_path / "of"))) == (4, 1)


@pytest.mark.parametrize("ends", [1001, 2])
def test_a_claim_that_was_stopped_goes_on_with_the_runs_that_are_missing(
    ends: int, made_up: Any, tmp_path: Path
) -> None:
    whole = claim(tmp_path / "whole")
    expected = whole.measure()
    log, kept = tmp_path / "log", tmp_path / "kept"
    made_up(claim(log, "fails", ends))
    with pytest.raises(OSError, match="no space"):
        run_claim("made-up", folder=tmp_path, kept=kept)
    assert not (tmp_path / "made-up.json").exists()
    before = lines(log)
    made_up(claim(log))
    verdict = run_claim("made-up", folder=tmp_path, kept=kept)
    after = lines(log)[len(before) :]
    assert before[-1] == after[0]  # the run that failed
    assert sorted([*before, *after[1:]]) == sorted(lines(tmp_path / "whole"))  # each of the others once
    assert [list(one.values) for one in verdict.parts] == [list(one.values) for one in expected.parts.values()]
    assert verdict.details == expected.details
    assert list(kept.iterdir()) == []  # with the verdict what was kept for it goes
    assert len(lines(tmp_path / "registered.tsv")) == 2  # a head, and the experiment once


def test_the_seconds_of_a_claim_are_those_of_all_its_parts(made_up: Any, tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Slow(Noise):
        def run(self, condition: float, rate: float, seed: int) -> float:
            time.sleep(0.05)
            return super().run(condition, rate, seed)

    for ends in (("fails", 3), ("", -1)):
        one = claim(tmp_path / "log", *ends)
        made_up(replace(one, testbed=Slow(tmp_path / "log", ends)))
        if ends[0]:
            with pytest.raises(OSError, match="no space"):
                run_claim("made-up", folder=tmp_path, kept=tmp_path / "kept")
        else:
            verdict = run_claim("made-up", folder=tmp_path, kept=tmp_path / "kept")
    assert verdict.seconds >= 0.05 * (len(lines(tmp_path / "log")) - 1)


def test_other_code_shares_no_runs(made_up: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, kept = tmp_path / "log", tmp_path / "kept"
    made_up(claim(log, "fails", 1))
    for version in ("one", "another"):
        monkeypatch.setattr(provenance, "sources", lambda version=version: version)
        with pytest.raises(OSError, match="no space"):
            run_claim("made-up", folder=tmp_path, kept=kept)
    assert len(list(kept.iterdir())) == 2
    assert lines(log)[: len(lines(log)) // 2] * 2 == lines(log)


def test_a_digest_of_the_sources_changes_with_each_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "benchmarks" / "provenance.py"))
    found = set()
    for name, text in (("agents/a.py", "1"), ("agents/a.py", "2"), ("envs/b/c.py", "1"), ("tests/d.py", "1")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        found.add(provenance.sources.__wrapped__())
    assert len(found) == 3  # tests change no number


def test_processes_change_no_result_and_share_what_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log, kept = tmp_path / "log", tmp_path / "kept"
    one = claim(log)
    expected = one.measure()
    alone = sorted(lines(log))
    log.unlink()
    told = len(caplog.records)
    with suppress(ArithmeticError), kept_in(kept, workers=2):
        found = one.measure()
        raise ArithmeticError  # so that what is kept stays
    assert same(found, expected)
    assert found.details == expected.details
    assert sorted(lines(log)) == alone
    assert len(caplog.records) == 2 * told
    with kept_in(kept) as progress:
        assert same(one.measure(), expected)
    assert progress.resumed == len(alone) == len(lines(log))


def test_a_process_that_is_killed_is_told_and_what_had_finished_is_kept(made_up: Any, tmp_path: Path) -> None:
    log, kept = tmp_path / "log", tmp_path / "kept"
    made_up(claim(log, "killed", 3))
    with pytest.raises(RuntimeError, match="was killed.*the same command goes on"):
        run_claim("made-up", folder=tmp_path, kept=kept, workers=2)
    before = lines(log)
    made_up(claim(log))
    run_claim("made-up", folder=tmp_path, kept=kept, workers=2)
    tuned = [line for line in lines(log)[len(before) :] if line.endswith("1000")]
    assert [line for line in before if line.endswith("1000")]
    assert len(tuned) <= 1  # of those on tuning seeds, a claim's last: rates are not tuned again


def test_two_processes_do_not_run_the_same_claim(made_up: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "PATIENCE", 0.0)
    made_up(claim(tmp_path / "log", "fails", 1))
    with pytest.raises(OSError, match="no space"):
        run_claim("made-up", folder=tmp_path, kept=tmp_path / "kept")
    (folder,) = (tmp_path / "kept").iterdir()
    with folders.held(folder), pytest.raises(folders.Busy, match=f"{folder.name} is being run by another process"):
        run_claim("made-up", folder=tmp_path, kept=tmp_path / "kept")


@pytest.mark.slow
def test_a_real_ray_changes_no_result_keeps_what_finished_and_gives_what_a_run_raises(
    made_up: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    log, kept = tmp_path / "log", tmp_path / "kept"
    expected = claim(tmp_path / "alone").measure()
    made_up(claim(log, "fails", 3))
    with pytest.raises(OSError, match="no space"):
        run_claim("made-up", folder=tmp_path, kept=kept, engine="ray", workers=2)
    tuned = sorted(line for line in lines(log) if line.startswith("1.0 ") and line.endswith(("1000", "1001")))
    assert len(tuned) == 6
    made_up(claim(log, "killed", 2))
    with pytest.raises(RuntimeError, match="was killed.*the same command goes on"):
        run_claim("made-up", folder=tmp_path, kept=kept, engine="ray")
    assert sum(line.endswith(" 2") for line in lines(log)) >= 3  # executed anew, twice
    made_up(claim(log))
    verdict = run_claim("made-up", folder=tmp_path, kept=kept, engine="ray")
    assert [list(one.values) for one in verdict.parts] == [list(one.values) for one in expected.parts.values()]
    assert verdict.details == expected.details
    assert sorted(line for line in lines(log) if line in tuned) == tuned  # what had been tuned was kept


@pytest.mark.parametrize(
    ("how", "error", "told"),
    [
        ({"workers": 0}, ValueError, "workers must be at least 1, got 0"),
        ({"engine": "ray", "workers": -1}, ValueError, "workers must be at least 1, got -1"),
        ({"engine": "rya"}, KeyError, "unknown engine 'rya'.*ray"),
    ],
)
def test_workers_and_engines_that_there_are_not_are_refused_before_anything_is_registered(
    how: dict[str, Any], error: type[Exception], told: str, made_up: Any, tmp_path: Path
) -> None:
    made_up(claim(tmp_path / "log"))
    with pytest.raises(error, match=told):
        run_claim("made-up", folder=tmp_path, kept=tmp_path / "kept", **how)
    assert not (tmp_path / "log").exists()
    assert not (tmp_path / "registered.tsv").exists()


def test_a_ray_cluster_that_does_not_answer_is_told_before_anything_is_registered(
    made_up: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    made_up(claim(tmp_path / "log"))
    with pytest.raises(ConnectionError, match="no Ray cluster answers at RAY_ADDRESS=127.0.0.1:9"):
        run_claim("made-up", folder=tmp_path, kept=tmp_path / "kept", engine="ray")
    assert not (tmp_path / "registered.tsv").exists()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_the_one_that_made_them_however_that_ends(how: int, tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_progress import claim\n"
        "from tiltyard.benchmarks.claims.progress import Job, Progress, kept_in\n"
        "if __name__ == '__main__':\n"
        "    with kept_in(None, 2):\n"
        "        claim(Path(sys.argv[1]), 'waits', 1000).measure()\n"
    )
    (tmp_path / "script.py").write_text(script)
    log = tmp_path / "log"
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "script.py", str(log)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run in the background
    )
    while not log.exists() or len(lines(log)) < 2:
        assert parent.poll() is None
        time.sleep(0.05)
    group = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _group(path) == parent.pid]
    assert len(group) >= 3
    parent.send_signal(how)
    _, said = parent.communicate(timeout=WAITED / 2)  # what they are running is not waited for
    assert ("KeyboardInterrupt" in said) == (how == signal.SIGINT)
    while any(_group(Path(f"/proc/{pid}")) == parent.pid for pid in group):
        time.sleep(0.05)


def _group(process: Path) -> int | None:
    """The process group, None of a process that has ended."""
    try:
        after = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it ended meanwhile
        return None
    return None if after[0] == "Z" else int(after[2])
