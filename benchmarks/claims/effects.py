"""Intervals and reports that claims share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from ..statistics import Interval
from ..testbeds.control import Trained
from ..testbeds.course import Course
from ..verdicts import Part, Sample, student_interval
from .claim import GRID, Found, Tuning

SUCCESS = 0.02
"""Two points of success: a difference this small counts as none."""


def held_out_success(grid: Sequence[float] = GRID, seeds: int = 3) -> Tuning:
    """Tunes learning rates by success on the problems held out, mean over training."""
    return Tuning(mean_held_out, grid, seeds)


def interval(values: npt.ArrayLike) -> Interval:
    """Mean of one value a seed, ``[seeds]`` or ``[seeds, tasks]`` (averaged over tasks), with Student's t interval."""
    array = np.asarray(values, float)
    return student_interval(array.reshape(len(array), -1).mean(axis=1))


def summary(values: Mapping[str, npt.ArrayLike]) -> dict[str, dict[str, float]]:
    """:func:`interval` of each as JSON."""
    return {name: asdict(interval(of)) for name, of in values.items()}


def part(values: npt.ArrayLike, **how: Any) -> Part:
    """An effect with one value a seed, ``[seeds]``; ``how`` are fields of :class:`..verdicts.Part`."""
    array = np.asarray(values, np.float64)
    return Part(Sample.of(array), tuple(float(value) for value in array), **how)


def leads(
    found: Found[Any, Any],
    value: Callable[[Any], Any],
    over: Iterable[str] = (),
    *,
    top: float = 1.0,
    margin: float | None = SUCCESS,
    **how: Any,
) -> dict[str, Part]:
    """By how much the claim's condition exceeds each baseline (or each of ``over``): a part each, paired by seed.

    Args:
        found: all outcomes.
        value: of a run.
        over: other conditions.
        top: the largest value that a run can have, which bounds the lead; infinite where there is none.
        margin: a lead this small counts as none.
        how: other fields of :class:`..verdicts.Part`.
    """
    return {
        f"over {name}": part(lead, highest=top - float(found[name].each(value).mean()), margin=margin, **how)
        for name, lead in found.minus(value, over).items()
    }


def course_leads(found: Found[Any, Course]) -> dict[str, Part]:
    """:func:`leads` in held-out success, mean over training."""
    return leads(found, mean_held_out)


def mean_held_out(course: Course) -> float:
    """Success on the problems held out, mean over training."""
    return course.mean_held_out


def end(course: Course) -> float:
    """Success on the problems held out after training."""
    return course.end


def tree_report(found: Found[Any, Course]) -> dict[str, Any]:
    """:func:`report` with the learning rates that were tried."""
    return {"learning rates tried": found.grid, **report(found)}


def rates_told(found: Found[Any, Any]) -> dict[str, Any]:
    """Learning rates that were tried, on how many seeds, and those that were chosen."""
    tuning = found.claim.tuning
    assert tuning is not None
    return {"grid": found.grid, "tuning seeds": min(found.seeds, tuning.seeds), "chosen": found.rates}


def tried_told(found: Found[Any, Any]) -> dict[str, dict[str, float]]:
    """The mean score in tuning of every form of each condition, by parameters and learning rate."""
    assert found.claim.tuning is not None
    forms = found.claim.tuning.variants
    told: dict[str, dict[str, float]] = {name: {} for name in forms}
    for (name, rate, i), scores in found.tried.items():
        told[name][f"{dict(forms[name][i].params)}, rate {rate}"] = float(np.mean(scores))
    return told


def report(found: Found[Any, Course]) -> dict[str, Any]:
    """What claims tell of courses, as JSON: learning rates, success and entropy on the problems held out."""
    first = next(iter(found.outcomes.values()))
    ends: dict[str, Callable[[Course], float]] = {
        "held-out success, mean over training": mean_held_out,
        "held-out success at the end": lambda course: course.held_out[-1],
        "trained problems' success at the end": lambda course: course.success[-1, : course.trained].mean(),
        "entropy of an answer at the end, nats": lambda course: course.entropy[-1, course.trained :].mean(),
    }
    return {
        "seeds": found.seeds,
        "answers": int(first.runs[0].completions[-1]),
        "learning rate": found.rates,
        "held-out success before": asdict(interval(first.each(lambda course: course.held_out[0]))),
        **{name: summary(found.each(value)) for name, value in ends.items()},
    }


def mean_curves(found: Found[Any, Trained[float]], digits: int) -> dict[str, list[float]]:
    """Each condition's scores after every phase, mean over seeds."""
    curves = found.each(lambda run: run.scores)
    return {name: rows.mean(axis=0).round(digits).tolist() for name, rows in curves.items()}


def averages(of: Mapping[str, Iterable[Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """The mean of several measurements of the same names."""
    rows = {name: list(several) for name, several in of.items()}
    return {
        name: {key: float(np.mean([one[key] for one in several])) for key in several[0]}
        for name, several in rows.items()
    }


def one_of(found: Found[Any, Any], names: Iterable[str]) -> str:
    """The condition that did best in tuning at its own learning rate."""
    best = {name: max(float(np.mean(of)) for key, of in found.tried.items() if key[0] == name) for name in names}
    return max(best, key=lambda name: best[name])
