"""Learning rates refined from gradient norms: warm-up and annealing that follow from an earlier run of the same task.

For SGD with gradients of norm G_t the bound on the last iterate is least with

    eta_t  proportional to  w_t sum_{p > t} w_p,    w_t = G_t^-2,

which is linear decay where norms are constant, has a warm-up where they are large at first and fall, and anneals faster
where they fall at the end. For Adam-like optimisers w_t = G_t^-1 with the L1 norm. Norms are smoothed by a running
median over a tenth of training, and the schedule is scaled to a largest value of 1, its peak. The last step's is 0.

    with gradient_norms(agent.policy.optimizer, order=1) as norms:
        agent.learn(100_000)
    again = PPO("MlpPolicy", env, learning_rate=refined_schedule(norms, peak=3e-4, power=1))

Paper: When, Why and How Much? Adaptive Learning Rate Scheduling by Refinement (2023), algorithm 1 and section 3. The
running median and its padding are those of the authors' code.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from .schedules import POINTS, TableSchedule

Floats = npt.NDArray[np.float64]
SMOOTHING = 0.1
"""Width of the running median, as a share of training."""


def refined(norms: npt.ArrayLike, *, power: float = 2.0, smoothing: float = SMOOTHING) -> Floats:
    """The schedule that suits a run with these gradient norms, ``[T]``, with a largest value of 1.

    >>> refined([2.0, 1.0, 1.0, 1.0], smoothing=0.0).tolist()  # w = 1/4, 1, 1, 1
    [0.375, 1.0, 0.5, 0.0]

    Args:
        norms: of every gradient step, ``[T]``.
        power: 2 for SGD with L2 norms, 1 for Adam with L1 norms.
        smoothing: width of the running median in shares of training; 0 leaves the norms as they are.

    Raises:
        ValueError: fewer than two steps, norms that are not positive finite numbers, or a width beyond 0 to 1.
    """
    observed = np.asarray(norms, np.float64)
    if observed.ndim != 1 or len(observed) < 2:
        raise ValueError(f"a schedule needs the gradient norms of at least two steps, got shape {observed.shape}")
    if not (np.isfinite(observed).all() and (observed > 0).all()):
        raise ValueError("gradient norms must be finite and above 0: leave out steps whose gradient was 0 or none")
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing is a share of training from 0 to 1, got {smoothing}")
    weight = _smoothed(observed, smoothing) ** -power
    behind = weight.sum() - weight.cumsum()  # of the steps after each
    behind[-1] = 0.0
    rate = weight * behind
    return np.asarray(rate / rate.max())


def _smoothed(norms: Floats, share: float) -> Floats:
    from scipy.ndimage import median_filter

    width = 2 * (int(share * len(norms)) // 2) + 1
    padded = np.pad(norms, (0, 2 * width), mode="reflect")
    return np.asarray(median_filter(padded, size=width, mode="nearest")[: len(norms)])


def refined_schedule(
    norms: npt.ArrayLike, *, peak: float, power: float = 2.0, smoothing: float = SMOOTHING
) -> TableSchedule:
    """:func:`refined` as a ``learning_rate`` of Stable-Baselines3's and our agents, which checkpoints keep.

    Args:
        norms: of every gradient step of an earlier run, in order.
        peak: the largest learning rate.
        power: as in :func:`refined`.
        smoothing: as in :func:`refined`.

    Returns:
        A function of the remaining progress, 1 at the start of ``learn`` and 0 at its end.
    """
    rates = refined(norms, power=power, smoothing=smoothing)
    return _of_remaining(peak * np.interp(np.linspace(0, 1, POINTS), np.linspace(0, 1, len(rates)), rates), "refined")


def linear_decay(peak: float, *, warm_up: float = 0.0) -> TableSchedule:
    """The paper's default where nothing is known: linear to 0, after a linear rise over a share of training.

    Args:
        peak: the largest learning rate.
        warm_up: share of training, below 1.

    Returns:
        A function of the remaining progress.

    Raises:
        ValueError: a share that is none.
    """
    if not 0 <= warm_up < 1:
        raise ValueError(f"a warm-up is a share of training, at least 0 and below 1, got {warm_up}")
    if not warm_up:
        return TableSchedule([0.0, peak], "linear_decay")
    done = np.linspace(0, 1, POINTS)
    return _of_remaining(peak * np.minimum(done / warm_up, (1 - done) / (1 - warm_up)), "linear_decay")


def _of_remaining(values: Floats, name: str) -> TableSchedule:
    return TableSchedule(values[::-1].tolist(), name)


@contextmanager
def gradient_norms(optimizer: Any, *, order: int = 2) -> Iterator[Sequence[float]]:
    """Notes the norm of the whole gradient before every step of a torch optimiser while the block runs.

    A step without any gradient, or with one of 0, is left out. Gradients that were clipped are noted as they are then.

    Args:
        optimizer: such as ``agent.policy.optimizer``.
        order: 1 or 2, of the norm.

    Yields:
        The norms, which grow as training goes on.

    Raises:
        ValueError: another order.
    """
    import torch

    if order not in (1, 2):
        raise ValueError(f"the order of the norm is 1 or 2, got {order}")
    found: list[float] = []

    def note(taken: torch.optim.Optimizer, *_: Any) -> None:
        parts = [one.grad for group in taken.param_groups for one in group["params"] if one.grad is not None]
        if parts and (norm := float(torch.stack([part.norm(order) for part in parts]).norm(order))):
            found.append(norm)

    handle = optimizer.register_step_pre_hook(note)
    try:
        yield found
    finally:
        handle.remove()
