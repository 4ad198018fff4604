"""A claim's record: its verdict as it stands, every verdict before it, and what fresh seeds said since.

``docs/results/claims/<handle>.json`` is rewritten whole, but its history and its replications only ever grow.
``registered.tsv`` beside it has a line for every experiment, written before its first seed runs: when, which claim, the
digest of its definition (the claim's file and its testbeds' files), and the seeds.
"""

import ast
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

from ..folders import write_whole
from ..statistics import Interval
from ..verdicts import Judged, Judgement, told

RESULTS = Path("docs/results/claims")
"""Where verdicts are stored, from the root of the repository."""
REGISTERED = "registered.tsv"
TESTBEDS = Path(__file__).resolve().parents[1] / "testbeds"


@dataclass(frozen=True)
class Verdict:
    """A judged experiment, as stored.

    Attributes:
        handle: of the paper table.
        judgement: of the whole claim, see :func:`..verdicts.overall`; undecided where there is a ``reason``.
        reason: why the experiment cannot decide the claim; empty where it can.
        sentence: the claim.
        effect: what the numbers are.
        remark: what a reader must know besides.
        parts: the effects with their verdicts.
        rule: by which they were judged.
        date: of the verdict, ``2026-11-23``.
        seeds: of the runs, such as ``0-19``.
        definition: digest of what was run, see :func:`definition`; "" of experiments before digests were kept.
        command: the command line that repeats the experiment.
        versions: of what was installed.
        commit: of Tiltyard's checkout, ``""`` for an installed wheel.
        hardware: processor, cores, memory.
        seconds: the experiment took.
        details: of the measurement.
        withdrawn: why the judgement does not count, see :class:`.claim.Claim`; empty while it does.
        history: verdicts before this one, oldest first, as :func:`kept` makes them.
        replications: the same of experiments on fresh seeds.
    """

    handle: str
    judgement: Judgement
    reason: str
    sentence: str
    effect: str
    remark: str
    parts: tuple[Judged, ...]
    rule: str
    date: str
    seeds: str
    definition: str
    command: str
    versions: dict[str, str]
    commit: str
    hardware: str
    seconds: float
    details: dict[str, Any]
    withdrawn: str = ""
    history: tuple[dict[str, Any], ...] = ()
    replications: tuple[dict[str, Any], ...] = ()

    @property
    def standing(self) -> str:
        """The judgement as it counts now: itself, or ``withdrawn``."""
        return "withdrawn" if self.withdrawn else self.judgement

    @property
    def measured(self) -> list[str]:
        """A line a part: its name, interval and verdict."""
        return [f"{one.name or 'effect'}: {told(one.interval)}, {one.judgement}" for one in self.parts]

    def __str__(self) -> str:
        lines = [
            f"{self.handle}: {self.standing}",
            *([f"  withdrawn {self.withdrawn} (before: {self.judgement})"] if self.withdrawn else []),
            *([f"  because   {self.reason}"] if self.reason else []),
            f"  claim     {self.sentence}",
            f"  measured  {self.effect}",
            *(f"    {replace(one, name=one.name or 'effect')}" for one in self.parts),
            *([f"  note      {self.remark}"] if self.remark else []),
            f"  command   {self.command} ({self.seconds:.0f} s)",
        ]
        return "\n".join(lines)


def kept(verdict: Verdict) -> dict[str, Any]:
    """What stays of a verdict once another takes its place: when, by which rule, what, from which seeds and code."""
    parts = [
        {"name": one.name, "judgement": one.judgement, "interval": asdict(one.interval), "values": list(one.values)}
        for one in verdict.parts
    ]
    names = ("date", "rule", "judgement", "reason", "withdrawn", "seeds", "definition", "commit", "versions")
    return {name: getattr(verdict, name) for name in names} | {"parts": parts}


def store(verdict: Verdict, folder: str | Path = RESULTS) -> Path:
    """Writes ``<handle>.json`` whole or not at all, and returns its path.

    Raises:
        ValueError: the verdict's history or replications lack something that the stored ones have.
    """
    path = Path(folder) / f"{verdict.handle}.json"
    if path.exists():
        before, now = _read(path), json.loads(_json(asdict(verdict)))
        for name in ("history", "replications"):
            old = json.loads(_json(list(getattr(before, name))))
            if now[name][: len(old)] != old:
                raise ValueError(f"the {name} of {path} may only grow: what it holds is missing from the new record")
    write_whole(path, _json(asdict(verdict)) + "\n")
    return path


def stored(folder: str | Path = RESULTS) -> dict[str, Verdict]:
    """The verdicts in a folder, by handle.

    Raises:
        ValueError: a file that is not a verdict (named).
    """
    return {verdict.handle: verdict for verdict in map(_read, sorted(Path(folder).glob("*.json")))}


def _read(path: Path) -> Verdict:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        parts = tuple(_part(one) for one in record["parts"])
        lists = {name: tuple(record[name]) for name in ("history", "replications")}
        verdict = Verdict(**{**record, "parts": parts, **lists})
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no verdict ({error}): move it away and run the claim again") from error
    if verdict.handle != path.stem or verdict.judgement not in get_args(Judgement):
        raise ValueError(f"{path} holds no verdict of {path.stem!r}: move it away and run the claim again")
    return verdict


def _part(record: Mapping[str, Any]) -> Judged:
    numbers = {name: math.nan if record[name] is None else record[name] for name in ("p", "detectable")}
    ends = {name: math.nan if value is None else value for name, value in record["interval"].items()}
    return Judged(**{**record, **numbers, "interval": Interval(**ends), "values": tuple(record["values"])})


def _json(record: Any) -> str:
    return json.dumps(_finite(json.loads(json.dumps(record, default=_plain))), indent=1, allow_nan=False)


def _finite(value: Any) -> Any:
    """The same with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    """NumPy's scalars and arrays as JSON's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"details of a measurement must be what JSON can hold, got {type(value).__name__}")


def spelled(seeds: Iterable[int]) -> str:
    """Seeds as a command line takes them: ``0-4,7``."""
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def definition(source: Path) -> str:
    """Digest of a claim's file and of the testbeds that it imports, and those import."""
    found: dict[str, str] = {}
    waiting = [source]
    while waiting:
        path = waiting.pop()
        if str(path) not in found and path.is_file():
            text = path.read_text(encoding="utf-8")
            found[str(path)] = text
            waiting += [TESTBEDS / f"{name}.py" for name in _testbeds(text)]
    parts = sorted(f"{Path(path).name}\n{text}" for path, text in found.items())
    return sha256("\0".join(parts).encode()).hexdigest()[:16]


def _testbeds(text: str) -> set[str]:
    """Names of the testbeds' modules that a source imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            names |= {(node.module or "").rpartition(".")[-1], *(alias.name for alias in node.names)}
    return {name for name in names if (TESTBEDS / f"{name}.py").is_file()}


def register(handle: str, digest: str, seeds: Sequence[int], commit: str, folder: str | Path = RESULTS) -> None:
    """Notes what is about to be run, before its first seed."""
    path = Path(folder) / REGISTERED
    path.parent.mkdir(parents=True, exist_ok=True)
    head = "" if path.exists() else "when\tclaim\tdefinition\tseeds\tcommit\n"
    when = datetime.now(UTC).isoformat(timespec="seconds")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{head}{when}\t{handle}\t{digest}\t{spelled(seeds)}\t{commit}\n")
