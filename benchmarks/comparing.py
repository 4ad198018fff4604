"""A new evaluation of a run's agent beside the stored one: bit for bit, or within noise where rounding may differ."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import provenance
from .packages import changes
from .runs import SAMPLED, FinishedRun

if TYPE_CHECKING:
    from .evaluation import Evaluation

NOISE = 4.0
"""Standard errors by which two means of the same policy may differ; chance goes beyond once in 16,000."""
EXACTLY = "bit for bit"


@dataclass(frozen=True)
class Comparison:
    """An evaluation beside the stored one.

    Attributes:
        exact: whether returns and successes are equal bit for bit.
        noisy: why they need not be, in words; "" where they must be.
        gap: difference of the mean returns or of the success rates, whichever is larger, in standard errors.
        said: all of it in a sentence.
    """

    exact: bool
    noisy: str
    gap: float
    said: str

    @property
    def agrees(self) -> bool:
        """Equal, or near enough where they need not be."""
        return self.exact or bool(self.noisy) and self.gap <= NOISE


def compare(found: "Evaluation", stored: FinishedRun, lengths: Sequence[int] | None = None) -> Comparison:
    """Holds a new evaluation of a run's agent, of as many episodes, against the stored one.

    Args:
        found: the new one.
        stored: the run.
        lengths: steps of each stored episode, where these are to be the same too.
    """
    exact = found.scores == stored.scores and found.successes == stored.successes
    exact = exact and (lengths is None or list(lengths) == list(found.lengths))
    differing = sum(a != b for a, b in zip(found.scores, stored.scores, strict=True))
    gap = _gap(found.scores, stored.scores)
    rates = _gap(found.successes, stored.successes) if found.successes and stored.successes else 0.0
    noisy = _noise(stored)
    if exact:
        said = f"the same {len(found.scores)} returns and successes, {EXACTLY}"
    else:
        mean = sum(stored.scores) / len(stored.scores)
        said = f"{differing} of {len(found.scores)} returns differ" if differing else "successes or lengths differ"
        said += f"; mean {found.mean:.6g}, stored {mean:.6g}, {gap:.1f} standard errors apart"
        said += f", success rates {rates:.1f}" * (rates > NOISE)
        said += f" ({noisy})" if noisy else " (same versions and hardware, so they must be equal)"
    return Comparison(exact, noisy, max(gap, rates), said)


def _noise(stored: FinishedRun) -> str:
    """Why an evaluation here need not be equal bit for bit; "" where it must be."""
    if stored.run.params.get(SAMPLED):
        return "the run's actions are sampled"
    if changed := changes(stored):
        return f"run with {', '.join(changed)}"
    if stored.hardware != provenance.hardware():
        return f"run on {stored.hardware}"
    return ""


def _gap(new: Sequence[float], old: Sequence[float]) -> float:
    """Difference of two means in standard errors; infinite where neither side varies and they differ."""
    a, b = np.array(new, np.float64), np.array(old, np.float64)
    error = math.sqrt((a.var() + b.var()) / len(a))
    apart = abs(float(a.mean() - b.mean()))
    return apart / error if error else math.inf * apart if apart else 0.0
