"""Published claims, put to the smallest honest experiment that could refute them.

A claim is a file ``benchmarks/claims/<handle with _>.py`` with a :class:`.claim.Claim` named ``CLAIM`` and its
``measure(*, seeds=None) -> Measurement``. :func:`run_claim` registers what is about to run, measures, judges by one
rule (:mod:`..verdicts`) that the claim's author cannot bend, and stores the verdict with its command. Nulls are stored
like anything else. A verdict is never taken back in silence: records keep every verdict that stood before, and where an
experiment turns out not to show what it was to show, its claim says why in :attr:`.claim.Claim.withdrawn`.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from ... import unknown
from .. import provenance
from ..threads import one_thread
from ..verdicts import RULE, Judgement, Part, judge, overall
from .claim import FEWEST, Claim, Comparison, Measurement
from .progress import folder_of, kept_in
from .record import RESULTS, Verdict, definition, kept, register, spelled, store, stored

__all__ = ["RESULTS", "Verdict", "claims", "judged", "load", "rejudge", "run_claim", "store", "stored"]

_NOT_CLAIMS = {"__init__", "claim", "effects", "harness", "papers", "pools", "progress", "proxies", "record"}


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


def judged(claim: Claim, parts: Mapping[str, Part], details: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a :class:`.record.Verdict` that the rule decides: verdict, its reason, and parts.

    The premise comes first: where it does not hold, or a part that decides is out of reach, the claim is undecided.
    """
    found = judge(parts)
    reason = claim.premise.missing(details) if isinstance(claim, Comparison) else ""
    reason = reason or next((one.reason for one in found.values() if one.decides and one.reason), "")
    judgement: Judgement = "undecided" if reason else overall(found)
    return {"judgement": judgement, "reason": reason, "parts": tuple(found.values()), "rule": RULE}


def run_claim(
    handle: str,
    *,
    seeds: int | Sequence[int] | None = None,
    folder: str | Path | None = None,
    kept: str | Path | None = None,
    workers: int | None = None,
    engine: str = "local",
) -> Verdict:
    """Runs a claim's experiment and judges it.

    Args:
        handle: of the paper table, such as ``"rliable"``.
        seeds: by default the claim's own, whose verdict takes the place of the stored one. Given one
            by one they replicate: their verdict is added to the stored record. A number is for trying things out: its
            verdict is returned but stored only where ``folder`` is given.
        folder: where ``<handle>.json`` is stored; :data:`.record.RESULTS` by default.
        kept: a folder in which runs are kept as they finish, until the verdict is stored: where it is interrupted, the
            same call goes on from them, unless code or libraries have changed meanwhile. None keeps none.
        workers: runs at a time, which change no result; by default one on this machine, and on a Ray cluster as many
            as it has cores for.
        engine: ``"local"``, processes of this machine, or ``"ray"``, the cluster that ``RAY_ADDRESS`` names.

    Warns:
        UserWarning: the files that define the claim have changed since the verdict that is replicated.

    Raises:
        ConnectionError: no Ray cluster answers, or none starts on this machine.
        KeyError: no such claim, or no such engine.
        MissingExtra: Ray is not installed.
        ValueError: seeds to replicate with that are fewer than three, given twice or for tuning, or that the stored
            verdict has had; or no such verdict; or fewer workers than one.
        folders.Busy: another process is running the same.
        RuntimeError: a process that ran a part was killed.
    """
    claim, measure = load(handle)
    given = seeds is not None and not isinstance(seeds, int)
    home, trial = Path(folder or RESULTS), isinstance(seeds, int) and folder is None
    before = None if trial else _before(home, handle)
    chosen = _seeds(claim, seeds)
    if given:
        _check_fresh(handle, chosen, before)
    digest = _definition(handle)
    if before is not None and given and before.definition not in ("", digest):
        warnings.warn(
            f"the files that define {handle} have changed since its stored verdict (digest {before.definition}, now "
            f"{digest}): if more than their wording did, this replicates another experiment",
            UserWarning,
            2,
        )
    where = None if kept is None else folder_of(Path(kept), handle, spelled(chosen), digest)
    begun = where is not None and where.exists()
    with kept_in(where, workers, engine) as progress:
        if not trial and not begun:
            register(handle, digest, chosen, provenance.commit(), home)
        start = time.perf_counter()
        with one_thread():
            found = measure(seeds=seeds)
        seconds = time.perf_counter() - start + progress.saved
        verdict = _verdict(claim, found, chosen, digest, seconds, replicated=given)
        if not trial:
            _keep(verdict, before, home, replicated=given)
    return verdict


def _verdict(
    claim: Claim, found: Measurement, seeds: Sequence[int], digest: str, seconds: float, *, replicated: bool
) -> Verdict:
    """What a claim's record says of an experiment that has just been done."""
    given = f" --seeds {spelled(seeds)}" if replicated else ""
    return Verdict(
        handle=claim.handle,
        **judged(claim, found.parts, found.details),
        sentence=claim.sentence,
        effect=claim.effect,
        remark=claim.remark,
        date=datetime.now(UTC).date().isoformat(),
        seeds=spelled(seeds),
        definition=digest,
        command=f"tiltyard claim {claim.handle}{given}",
        versions=provenance.versions(),
        commit=provenance.commit(),
        hardware=provenance.hardware(),
        seconds=round(seconds, 1),
        details=dict(found.details),
        withdrawn=claim.withdrawn,
    )


def rejudge(handle: str, folder: str | Path | None = None) -> Verdict:
    """Judges a stored verdict's runs by today's rule; nothing is run.

    Where a judgement changes, of the claim or of a part, the new verdict is stored and the old one joins its history;
    else the record stays as it is. A part that was out of reach stays so. The remark is the claim's present one.

    Args:
        handle: of the paper table.
        folder: where ``<handle>.json`` is stored; :data:`.record.RESULTS` by default.

    Raises:
        KeyError: no such claim.
        ValueError: no such verdict, or one that keeps no values.
    """
    claim, _ = load(handle)
    home = Path(folder or RESULTS)
    before = _before(home, handle)
    if before is None:
        raise ValueError(f"there is no verdict to judge again: run tiltyard claim {handle} first")
    found = judged(claim, {one.name: one.part for one in before.parts}, before.details)
    unreached = {one.name: one for one in before.parts if one.reason}
    found["parts"] = tuple(unreached.get(one.name, one) for one in found["parts"])
    if before.reason:
        found |= {"judgement": before.judgement, "reason": before.reason}
    today = datetime.now(UTC).date().isoformat()
    verdict = replace(before, **found, remark=claim.remark, withdrawn=claim.withdrawn, date=today)
    if _judgements(verdict) == _judgements(before):
        return before
    _keep(verdict, before, home, replicated=False)
    return stored(home)[handle]


def _judgements(verdict: Verdict) -> list[str]:
    return [verdict.judgement, *(one.judgement for one in verdict.parts)]


def _keep(verdict: Verdict, before: Verdict | None, folder: Path, *, replicated: bool) -> None:
    """Stores a verdict in the place of that before, which joins the history; or a replication's beside it."""
    if before is not None and replicated:
        verdict = replace(before, replications=(*before.replications, kept(verdict)))
    elif before is not None:
        verdict = replace(verdict, history=(*before.history, kept(before)), replications=before.replications)
    store(verdict, folder)


def _before(folder: Path, handle: str) -> Verdict | None:
    return stored(folder).get(handle)


def _seeds(claim: Claim, seeds: int | Sequence[int] | None) -> Sequence[int]:
    if seeds is None:
        seeds = claim.seeds if isinstance(claim, Comparison) else 0
    return range(seeds) if isinstance(seeds, int) else seeds


def _definition(handle: str) -> str:
    return definition(Path(__file__).with_name(f"{handle.replace('-', '_')}.py"))


def _check_fresh(handle: str, seeds: Sequence[int], before: Verdict | None) -> None:
    """Refuses to replicate nothing, on too few seeds, or on seeds that count twice or that a verdict has had."""
    if before is None:
        raise ValueError(
            f"there is no verdict on {handle} in docs/results/claims of this folder: work in a checkout of Tiltyard, "
            f"or run tiltyard claim {handle} first"
        )
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"each seed counts once, got {spelled(seeds)}")
    if len(seeds) < FEWEST:
        raise ValueError(f"a verdict needs at least {FEWEST} seeds, got {len(seeds)}")
    had = {seed for one in (kept(before), *before.replications) for seed in _listed(one["seeds"])}
    if again := sorted(had & set(seeds)):
        raise ValueError(
            f"seed {again[0]} has had a verdict on {handle}: a replication takes fresh seeds, such as "
            f"{max(had) + 1}-{max(had) + len(seeds)}"
        )


def _listed(text: str) -> list[int]:
    from ..commands import parse_seeds

    return parse_seeds(text) or []
