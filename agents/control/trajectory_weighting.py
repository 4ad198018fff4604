"""Which trajectories of a dataset are learnt from how often: good ones more, for any agent that learns from data.

Paper: Hong, Agrawal, Tachet des Combes, Laroche, Harnessing Mixed Offline Reinforcement Learning Datasets via
Trajectory Weighting (2023). An offline agent stays near the policy that made its data, so where most of them are poor
it stays near a poor one; drawing good trajectories more often is the same as having data of a better policy.
"""

import numpy as np
import numpy.typing as npt

from ... import unknown
from .datasets import Transitions

Floats = npt.NDArray[np.float64]

SAMPLERS = ("uniform", "return-weighting", "advantage-weighting")
_LEAST_SPREAD = 1e-6  # of the returns' size: closer together is rounding, not better and worse


def check_sampler(sampler: str, temperature: float) -> None:
    """Raises ``ValueError`` unless :func:`sampling_weights` can do this."""
    if sampler not in SAMPLERS:
        raise ValueError(unknown("sampler", sampler, SAMPLERS))
    if not temperature > 0:
        raise ValueError(f"sampler_temperature must be above 0, got {temperature}")


def sampling_weights(transitions: Transitions, sampler: str, temperature: float) -> Floats | None:
    r"""How often each transition is drawn, ``[N]``, summing to 1; None for equally often.

    Every transition of a trajectory of return G from :math:`s_0` is drawn with a probability in proportion to
    :math:`\exp(x / \alpha)`, where x is the return ("return-weighting") or the advantage over what is usual from such
    a start, :math:`G - \hat V(s_0)` ("advantage-weighting", which a lucky start does not fool), scaled so that the
    dataset's least is 0 and its largest 1. As in the authors' code, :math:`\hat V` is a linear regression of returns on
    first observations, and a long trajectory counts once a step.

    Where all trajectories are equally good, none is preferred (the authors' code divides by zero).

    Args:
        transitions: the dataset.
        sampler: one of :data:`SAMPLERS`.
        temperature: alpha; the authors' 0.1 draws the best trajectory exp(10) times as often as the worst.
    """
    check_sampler(sampler, temperature)
    if sampler == "uniform":
        return None
    returns = transitions.episode_returns
    merits = returns - expected_returns(transitions) if sampler == "advantage-weighting" else returns
    spread = np.ptp(merits)
    scaled = (merits - merits.max()) / spread if spread > _LEAST_SPREAD * np.abs(returns).max() else 0 * merits
    weights = np.exp(scaled / temperature)[transitions.episodes]
    return np.asarray(weights / weights.sum())


def expected_returns(transitions: Transitions) -> Floats:
    """What a linear regression on first observations expects each episode to return, ``[E]``."""
    starts = transitions.observations[np.flatnonzero(np.roll(transitions.ends, 1))].astype(float)
    starts = np.column_stack([starts - starts.mean(axis=0), np.ones(len(starts))])
    return np.asarray(starts @ np.linalg.lstsq(starts, transitions.episode_returns, rcond=None)[0])


def positive_sided_variance(returns: npt.ArrayLike) -> float:
    r""":math:`E[\max(G - E[G], 0)^2]` of trajectories' returns: how much better than usual a dataset's best are.

    The paper's measure of what there is to gain by weighting: 0 where all trajectories are equally good, and small
    where what differs is only how bad the bad ones are.
    """
    values = np.asarray(returns, float)
    if values.size == 0:
        raise ValueError("the positive-sided variance is of at least one return")
    return float((np.maximum(values - values.mean(), 0) ** 2).mean())
