"""Factorial studies: which of several choices (data, algorithm, reward model, prompts) matters, and by how much.

Every combination of two levels of each factor is run with the same seeds. The main effect of a factor is the mean at
its second level minus that at its first, over all combinations of the others; an interaction is by how much one
factor's effect differs between the levels of another, halved. All of these are contrasts of a seed's own runs, so each
has one value a seed and a Student's t interval, with Holm's correction over all that are looked at.

Paper: Unpacking DPO and PPO: Disentangling Best Practices for Learning from Preference Feedback (2024), whose factors
are preference data, algorithm, reward model and policy training prompts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ..permutation import holm
from ..statistics import Floats, Interval
from ..verdicts import Sample


@dataclass(frozen=True)
class Effect:
    """A main effect or an interaction.

    Attributes:
        factors: one, or two of an interaction.
        interval: of the effect, 95%, of this effect alone.
        p: two-sided, with Holm's correction over all effects of the table; 1 where runs have no spread.
        share: of the variance between combinations that it explains (eta squared).
    """

    factors: tuple[str, ...]
    interval: Interval
    p: float
    share: float


def contrast(values: npt.ArrayLike, factors: Sequence[int]) -> Floats:
    """The effect of one factor, or the interaction of several, for every seed, ``[runs]``.

    Args:
        values: ``[2, ..., 2, runs]``, a two for each factor in order.
        factors: their axes.

    Raises:
        ValueError: another shape, or axes that are no factors.
    """
    array = _checked(values)
    if not factors or len(set(factors)) < len(factors) or not set(factors) <= set(range(array.ndim - 1)):
        raise ValueError(f"factors are different axes from 0 to {array.ndim - 2}, got {list(factors)}")
    sign = np.ones(array.shape[:-1])
    for axis in factors:
        sign = sign * np.expand_dims(np.array([-1.0, 1.0]), tuple(i for i in range(array.ndim - 1) if i != axis))
    return np.asarray((array * sign[..., None]).reshape(-1, array.shape[-1]).sum(0) / (sign.size / 2))


def effects(values: npt.ArrayLike, names: Sequence[str]) -> list[Effect]:
    """All main effects and interactions of two factors, the largest share of the variance first.

    Args:
        values: scores, ``[2, ..., 2, runs]``; runs of one index have one seed, three at least.
        names: of the factors, in the order of the axes.

    Raises:
        ValueError: another shape, fewer than three runs, or not a name for each factor.
    """
    array = _checked(values)
    if len(names) != array.ndim - 1 or len(set(names)) < len(names):
        raise ValueError(f"give a name of its own to each of {array.ndim - 1} factors, got {list(names)}")
    chosen = [(i,) for i in range(len(names))] + list(combinations(range(len(names)), 2))
    samples = {axes: Sample.of(contrast(array, axes)) for axes in chosen}
    raw = {axes: min(1.0, 2 * min(one.above(0.0), one.below(0.0))) for axes, one in samples.items()}
    corrected = dict(zip(raw, holm(list(raw.values())), strict=True))
    cells = array.mean(-1)
    whole = float(((cells - cells.mean()) ** 2).sum())
    found = [
        Effect(
            tuple(names[i] for i in axes),
            one.interval(),
            corrected[axes],
            one.mean**2 / 4 * cells.size / whole if whole else 0.0,
        )
        for axes, one in samples.items()
    ]
    return sorted(found, key=lambda effect: -effect.share)


def table(cells: Mapping[tuple[bool, ...], Sequence[float]]) -> Floats:
    """Scores by combination (which factors are at their second level) as the array ``[2, ..., 2, runs]``.

    Raises:
        ValueError: a combination is not there, or has another number of runs.
    """
    count = len(next(iter(cells), ()))
    runs = {len(scores) for scores in cells.values()}
    if not count or len(cells) != 2**count or len(runs) != 1:
        raise ValueError("give every combination of the factors once, all with the same number of runs")
    array = np.empty((2,) * count + (runs.pop(),))
    for levels, scores in cells.items():
        array[tuple(map(int, levels))] = scores
    return array


def _checked(values: npt.ArrayLike) -> Floats:
    array = np.asarray(values, np.float64)
    if array.ndim < 2 or set(array.shape[:-1]) != {2} or not np.isfinite(array).all():
        raise ValueError(f"scores are finite and [2, ..., 2, runs], a two for each factor; got shape {array.shape}")
    return array
