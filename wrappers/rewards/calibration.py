"""How far a classifier's probabilities can be believed: reliability on held-out states, and the temperature that helps.

Successes and failures weigh alike here, however many there are of each: a probability of 0.7 says that of as many
successes as failures with this score 70% are successes. Under an agent that rarely succeeds, fewer will be.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
BINS = 10
LEAST, MOST = 1 / 20, 20.0
"""Temperatures tried."""


@dataclass(frozen=True)
class Calibration:
    """Verdicts on held-out states.

    Attributes:
        confidence: mean probability in each of ten bins of equal width, NaN where there was none ``[10]``.
        frequency: share of successes in each bin ``[10]``.
        weight: share of all held-out weight in each bin ``[10]``.
        error: expected calibration error, the weighted mean of their differences (Guo et al. 2017, eq. 3).
        false_positives: share of held-out failures that are called successes.
        false_negatives: share of held-out successes that are called failures.
        temperature: by which logits are divided.
        successes: number of them held out for this report.
        failures: likewise.
    """

    confidence: Floats
    frequency: Floats
    weight: Floats
    error: float
    false_positives: float
    false_negatives: float
    temperature: float
    successes: int
    failures: int

    def plot(self, path: str | Path) -> None:
        """Draws the reliability curve and the histogram of probabilities."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(4.4, 4.6), layout="constrained")
        curve, histogram = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        filled = self.weight > 0
        curve.plot([0, 1], [0, 1], color="#999999", linewidth=1, label="calibrated")
        curve.plot(self.confidence[filled], self.frequency[filled], color="#2f6fdb", linewidth=1)
        sizes = 12 + 240 * self.weight[filled]
        curve.scatter(
            self.confidence[filled], self.frequency[filled], sizes, color="#2f6fdb", label="held out (area: share)"
        )
        curve.set(ylabel="share of successes", xlim=(-0.02, 1.02), ylim=(-0.06, 1.06))
        curve.set_title(f"calibration error {self.error:.3f}, temperature {self.temperature:.2f}", fontsize=10)
        curve.legend(frameon=False, loc="upper left")
        edges = np.arange(BINS) / BINS
        histogram.bar(edges, self.weight, width=1 / BINS, align="edge", color="#2f6fdb", edgecolor="white")
        histogram.set(xlabel="probability of success", ylabel="share", ylim=(0, 1))
        for axes in (curve, histogram):
            axes.grid(alpha=0.3)
        figure.savefig(path, dpi=120)


def calibration(successes: Floats, failures: Floats, *, temperature: float, threshold: float) -> Calibration:
    """The report on the logits ``[n]`` of held-out successes and ``[m]`` failures, not yet divided by ``temperature``.

    Args:
        successes: logits of states that are.
        failures: logits of states that are not.
        temperature: see :func:`fit_temperature`.
        threshold: probability from which on a state is called a success.
    """
    logits, labels, weights = _pooled(successes, failures)
    probability = sigmoid(logits / temperature)
    bins = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    weight: Floats = np.bincount(bins, weights, BINS).astype(np.float64)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(bins, weights * probability, BINS) / weight
        frequency = np.bincount(bins, weights * labels, BINS) / weight
    claimed = probability >= threshold
    return Calibration(
        confidence,
        frequency,
        weight,
        error=float(np.nansum(weight * np.abs(confidence - frequency))),
        false_positives=float(claimed[labels == 0].mean()),
        false_negatives=float(1 - claimed[labels == 1].mean()),
        temperature=temperature,
        successes=len(successes),
        failures=len(failures),
    )


def fit_temperature(successes: Floats, failures: Floats) -> float:
    """The T that makes the cross-entropy of ``sigmoid(logit / T)`` least (Guo et al. 2017, section 4.2).

    Labels are Platt's (1999): ``(n + 1) / (n + 2)`` and ``1 / (m + 2)`` instead of 1 and 0, without which a few
    held-out states that are all judged rightly would ask for endless confidence.

    Args:
        successes: logits ``[n]`` of states that are.
        failures: logits ``[m]`` of states that are not.
    """
    logits, labels, weights = _pooled(successes, failures)
    smooth = np.where(labels == 1, (len(successes) + 1) / (len(successes) + 2), 1 / (len(failures) + 2))

    def loss(temperatures: Floats) -> Floats:
        z = logits / temperatures[:, None]
        losses: Floats = (np.logaddexp(0, z) - smooth * z) @ weights
        return losses

    low, high = np.log(LEAST), np.log(MOST)
    for _ in range(4):  # each round a tenth of the last: within a thousandth of the best in the end
        tried = np.linspace(low, high, 41)
        best = tried[loss(np.exp(tried)).argmin()]
        reach = (high - low) / 20
        low, high = max(best - reach, np.log(LEAST)), min(best + reach, np.log(MOST))
    return float(np.exp(best))


def sigmoid(logits: npt.ArrayLike) -> Floats:
    """``1 / (1 + exp(-logit))``, without overflow."""
    probability: Floats = np.exp(-np.logaddexp(0, -np.asarray(logits, np.float64)))
    return probability


def _pooled(successes: Floats, failures: Floats) -> tuple[Floats, Floats, Floats]:
    """Logits, labels and weights of all: each class weighs half."""
    counts = len(successes), len(failures)
    logits = np.concatenate((successes, failures)).astype(np.float64)
    labels = np.repeat([1.0, 0.0], counts)
    return logits, labels, np.repeat([0.5 / counts[0], 0.5 / counts[1]], counts)
