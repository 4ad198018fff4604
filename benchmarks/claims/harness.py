"""Published claims, put to the smallest honest experiment that could refute them.

A claim is a file ``benchmarks/claims/<handle with _>.py`` with a :class:`.claim.Claim` named ``CLAIM`` and its
``measure(*, seeds=None) -> Measurement``. :func:`run_claim` measures, judges by one rule (:func:`judge`) that the
claim's author cannot bend, and stores the verdict with its command. Nulls are stored like anything else. A verdict is
never taken back in silence: where an experiment turns out not to show what it was to show, its claim says why in
:attr:`.claim.Claim.withdrawn`, and what was measured stays.
"""

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

from ... import unknown
from .. import provenance
from ..statistics import Interval
from ..threads import one_thread
from .claim import Claim, Measurement

Judgement = Literal["reproduced", "not reproduced at this scale", "inconclusive"]
RESULTS = Path("docs/results/claims")
"""Where verdicts are stored, from the root of the repository."""

_NOT_CLAIMS = {"__init__", "claim", "effects", "harness", "papers"}


@dataclass(frozen=True)
class Verdict:
    """A judged measurement, as stored.

    Attributes:
        handle: of the paper table.
        judgement: see :func:`judge`.
        sentence: the claim.
        effect: what the number is.
        threshold: supported above.
        interval: of the effect.
        command: the command line that repeats the experiment.
        versions: of what was installed.
        commit: of Tiltyard's checkout, ``""`` for an installed wheel.
        hardware: processor, cores, memory.
        seconds: the experiment took.
        details: of the measurement.
        withdrawn: why the judgement does not count, see :class:`.claim.Claim`; empty while it does.
    """

    handle: str
    judgement: Judgement
    sentence: str
    effect: str
    threshold: float
    interval: Interval
    command: str
    versions: dict[str, str]
    commit: str
    hardware: str
    seconds: float
    details: dict[str, Any]
    withdrawn: str = ""

    @property
    def standing(self) -> str:
        """The judgement as it counts now: itself, or ``withdrawn``."""
        return "withdrawn" if self.withdrawn else self.judgement

    def __str__(self) -> str:
        lines = [
            f"{self.handle}: {self.standing}",
            *([f"  withdrawn {self.withdrawn} (before: {self.judgement})"] if self.withdrawn else []),
            f"  claim     {self.sentence}",
            f"  measured  {self.effect}: {self.interval:.2f} (supported above {self.threshold:g})",
            f"  command   {self.command} ({self.seconds:.0f} s)",
        ]
        return "\n".join(lines)


def judge(effect: Interval, threshold: float) -> Judgement:
    """``reproduced`` with the whole interval above the threshold, ``not reproduced at this scale`` with none of it.

    Anything else, an interval that is not finite included, is ``inconclusive``.
    """
    if not all(map(math.isfinite, (effect.estimate, effect.low, effect.high))):
        return "inconclusive"
    if effect.low > threshold:
        return "reproduced"
    return "not reproduced at this scale" if effect.high <= threshold else "inconclusive"


def claims() -> tuple[str, ...]:
    """The handles of all claims that have an experiment, in alphabetical order; imports none of them."""
    names = (path.stem for path in Path(__file__).parent.glob("*.py"))
    return tuple(sorted(name.replace("_", "-") for name in names if name not in _NOT_CLAIMS))


def load(handle: str) -> tuple[Claim, Callable[..., Measurement]]:
    """The claim of a paper and its experiment.

    Raises:
        KeyError: no such claim; the message holds the nearest.
    """
    if handle not in claims():
        raise KeyError(unknown("claim", handle, claims()))
    module = import_module(f"{__package__}.{handle.replace('-', '_')}")
    claim: Claim = module.CLAIM
    if claim.handle != handle:
        raise ValueError(f"{module.__file__} must be named after its claim's handle {claim.handle!r}")
    return claim, module.measure


def run_claim(handle: str, *, seeds: int | None = None, folder: str | Path | None = None) -> Verdict:
    """Runs a claim's experiment and judges it.

    Args:
        handle: of the paper table, such as ``"rliable"``.
        seeds: repetitions of the experiment; by default the claim's own number. Another number is for trying things
            out: its verdict is returned but stored only where ``folder`` is given.
        folder: where ``<handle>.json`` is stored; :data:`RESULTS` by default.

    Raises:
        KeyError: no such claim.
    """
    claim, measure = load(handle)
    start = time.perf_counter()
    with one_thread():
        found = measure(seeds=seeds)
    verdict = Verdict(
        handle=handle,
        judgement=judge(found.effect, claim.margin),
        sentence=claim.sentence,
        effect=claim.effect,
        threshold=claim.margin,
        interval=found.effect,
        command=f"tiltyard claim {handle}",
        versions=provenance.versions(),
        commit=provenance.commit(),
        hardware=provenance.hardware(),
        seconds=round(time.perf_counter() - start, 1),
        details={**found.details, **({} if seeds is None else {"seeds": seeds})},
        withdrawn=claim.withdrawn,
    )
    if seeds is None or folder is not None:
        store(verdict, folder or RESULTS)
    return verdict


def store(verdict: Verdict, folder: str | Path = RESULTS) -> Path:
    """Writes ``<handle>.json`` whole or not at all, and returns its path."""
    path = Path(folder) / f"{verdict.handle}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".partial")
    whole.write_text(json.dumps(asdict(verdict), indent=1, default=_plain) + "\n", encoding="utf-8")
    whole.replace(path)
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
        verdict = Verdict(**{**record, "interval": Interval(**record["interval"])})
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no verdict ({error}): delete it and run the claim again") from error
    if verdict.handle != path.stem or verdict.judgement not in get_args(Judgement):
        raise ValueError(f"{path} holds no verdict of {path.stem!r}: delete it and run the claim again")
    return verdict


def _plain(value: Any) -> Any:
    """NumPy's scalars and arrays as JSON's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"details of a measurement must be what JSON can hold, got {type(value).__name__}")
