r"""Which contexts to train on, one after the other, so that their policies serve all contexts.

    teacher = MBTL(low=[-2, -2], high=[2, 2], episodes=200)                              # by single episodes, or
    env = TaughtEnv(gymnasium.make("tiltyard/PointMaze-v0", allow_unreachable=True), teacher, {"goal": [0, 1]})

    sources = SourceSelection(np.linspace(0, 1, 30)[:, None])
    source = sources.choose()                                                            # by whole trainings:
    sources.observe(source, performance, transfer)                                       # train, evaluate, tell

A Gaussian process models the performance J(x) of a policy trained on context x; used on x' it is taken to lose
:math:`\theta |x - x'|`. Paper: Model-Based Transfer Learning for Contextual Reinforcement Learning (2024), algorithm 1.
"The authors' code" is github.com/jhoon-cho/MBTL.
"""

from itertools import product

import numpy as np
import numpy.typing as npt

from .alp_gmm import RandomTeacher
from .clustering import Floats

LENGTHS, SCALES = np.geomspace(0.02, 2.0, 12), np.geomspace(0.05, 2.0, 8)
"""Length scales (in units of the box) and deviations that a fit of the Gaussian process chooses from."""


def gaussian_process(x: Floats, y: Floats, at: Floats, *, noise: float) -> tuple[Floats, Floats]:
    r"""Mean and deviation ``[n]`` at contexts ``at`` ``[n, d]``, given performances ``y`` ``[k]`` at ``x`` ``[k, d]``.

    The kernel is :math:`s^2 \exp(-|x - x'|^2 / 2 l^2)`, its s and l those of the largest marginal likelihood on a grid,
    the prior mean 0.

    Args:
        x: contexts that were trained on.
        y: their performances.
        at: where it is asked.
        noise: deviation of the performances.
    """
    near = np.square(x[:, None] - x[None]).sum(axis=-1)
    far = np.square(at[:, None] - x[None]).sum(axis=-1)

    def fitted(length: float, scale: float) -> tuple[float, Floats]:
        covariance = scale**2 * np.exp(-near / (2 * length**2)) + noise**2 * np.eye(len(x))
        root = np.linalg.cholesky(covariance)
        half = np.linalg.solve(root, y)
        return float(-0.5 * half @ half - np.log(np.diag(root)).sum()), root

    (length, scale), root = max(
        (((length, scale), fitted(length, scale)) for length, scale in product(LENGTHS, SCALES)),
        key=lambda found: found[1][0],
    )
    between = np.linalg.solve(root[1], scale**2 * np.exp(-far / (2 * length**2)).T)  # [k, n]
    variance = np.maximum(scale**2 - np.square(between).sum(axis=0), 0)
    return between.T @ np.linalg.solve(root[1], y), np.sqrt(variance)


class SourceSelection:
    r"""Chooses source contexts for zero-shot transfer to all contexts, by Bayesian optimisation.

    The next source is the one that promises most over all targets:

    .. math::
        \arg\max_x \frac1n \sum_{x'} [\mu(x) + \lambda_k \sigma(x) - \theta |x - x'| - V(x')]_+, \quad
        \lambda_k = \sqrt{\log(k + 1)}

    after k sources, where V(x') is the best performance at x' so far; the first source is in the middle (both as in the
    authors' code).

    Args:
        contexts: ``[n, d]``, of which sources are chosen, and which all count as targets.
        slope: theta: what transfer loses over the whole range of a parameter, in units of performance.
        noise: deviation of performances.

    Raises:
        ValueError: fewer than two contexts, or a negative slope or noise.
    """

    def __init__(self, contexts: npt.ArrayLike, *, slope: float = 0.5, noise: float = 0.1) -> None:
        given = np.asarray(contexts, np.float64)
        if given.ndim != 2 or len(given) < 2 or not np.isfinite(given).all():
            raise ValueError(f"contexts are finite, two or more in an array [n, d], got shape {given.shape}")
        if not (slope >= 0 and noise > 0):
            raise ValueError(f"slope is at least 0 and noise above 0, got {slope} and {noise}")
        spread = np.ptp(given, axis=0)
        self.places = (given - given.min(axis=0)) / np.where(spread > 0, spread, 1.0)
        self.distances = np.abs(self.places[:, None] - self.places[None]).sum(axis=-1)
        self.slope, self.noise = slope, noise
        self.sources: list[int] = []
        self.performances: list[float] = []
        self.values = np.zeros((0, len(given)))
        """``[k, n]`` performance of each source at each context: seen, or as the model has it."""

    @property
    def best(self) -> Floats:
        """V, the best performance at each context so far, ``[n]``; 0 before the first source."""
        return self.values.max(axis=0) if self.sources else np.zeros(len(self.places))

    def serving(self) -> npt.NDArray[np.int64]:
        """Which source to use at each context, ``[n]``, as indices of contexts.

        Raises:
            ValueError: there is none yet.
        """
        if not self.sources:
            raise ValueError("there is no source yet: train on choose() and tell observe()")
        return np.asarray(np.array(self.sources)[self.values.argmax(axis=0)], np.int64)

    def acquisition(self) -> Floats:
        """What each context promises as the next source, ``[n]``; minus infinity where it is one already."""
        x, y = self.places[self.sources], np.array(self.performances)
        mean, deviation = gaussian_process(x, y, self.places, noise=self.noise)
        hoped = mean + np.sqrt(np.log(len(self.sources) + 1)) * deviation
        gain = np.maximum(hoped[:, None] - self.slope * self.distances - self.best, 0).mean(axis=1)
        gain[self.sources] = -np.inf
        return np.asarray(gain)

    def choose(self) -> int:
        """The index of the next source.

        Raises:
            ValueError: every context is one.
        """
        if len(self.sources) == len(self.places):
            raise ValueError("every context has been trained on")
        if not self.sources:
            return int(np.abs(self.places - 0.5).sum(axis=1).argmin())
        return int(self.acquisition().argmax())

    def observe(self, source: int, performance: float, transfer: npt.ArrayLike | None = None) -> None:
        """Learns how well a policy does that was trained on context ``source``.

        Args:
            source: index of a context.
            performance: on it, between 0 and 1 of what can be had.
            transfer: ``[n]`` on all contexts, where it was evaluated; the model's guess if None.

        Raises:
            ValueError: no such context, numbers that are not finite, or another number of contexts.
        """
        if not 0 <= source < len(self.places):
            raise ValueError(f"source is the index of one of {len(self.places)} contexts, got {source}")
        guess = np.maximum(performance - self.slope * self.distances[source], 0)
        seen = guess if transfer is None else np.asarray(transfer, np.float64)
        if seen.shape != guess.shape or not (np.isfinite(seen).all() and np.isfinite(performance)):
            raise ValueError(f"observe takes finite performances at {len(guess)} contexts, got shape {seen.shape}")
        self.sources.append(source)
        self.performances.append(float(performance))
        self.values = np.concatenate([self.values, seen[None]])


class MBTL(RandomTeacher):
    """Model-based transfer learning as a teacher: so many episodes in one context, then in the next that promises most.

    Contexts are a grid over the box. The performance of a context is the mean return of the last quarter of its
    episodes, in units of the range of returns seen so far; what a source is worth elsewhere is the model's guess. After
    the last context of the grid it begins again.

    Departures: the paper trains a policy a source and uses the best one at each context; through ``TaughtEnv`` one
    policy goes from source to source. For several use :class:`SourceSelection`, which is the paper's algorithm.

    Args:
        low: ``[d]`` least value of each parameter.
        high: ``[d]`` largest value of each parameter.
        seed: of nothing: the curriculum is deterministic.
        per_axis: contexts along each parameter.
        episodes: in each context.
        slope: see :class:`SourceSelection`; the authors' 0.005 from one of a hundred contexts to the next.
        noise: see :class:`SourceSelection`; the authors' 0.1.

    Raises:
        ValueError: an empty box, fewer than two contexts along a parameter, or more than 10,000 in all.
    """

    def __init__(
        self,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        *,
        seed: int | None = None,
        per_axis: int = 20,
        episodes: int = 100,
        slope: float = 0.5,
        noise: float = 0.1,
    ) -> None:
        super().__init__(low, high, seed=seed)
        if per_axis < 2 or per_axis ** len(self.low) > 10_000:
            raise ValueError(f"per_axis is at least 2, and 10,000 contexts in all are the most, got {per_axis}")
        if episodes < 1:
            raise ValueError(f"episodes are at least 1 in each context, got {episodes}")
        axes = [np.linspace(*ends, per_axis) for ends in zip(self.low, self.high, strict=True)]
        self.contexts = np.array(list(product(*axes)))
        self.episodes, self.slope, self.noise = episodes, slope, noise
        self._range = (np.inf, -np.inf)
        self._begin()

    def _begin(self) -> None:
        self.selection = SourceSelection(self.contexts, slope=self.slope, noise=self.noise)
        self._returns: list[float] = []
        self._source = self.selection.choose()

    def sample(self) -> Floats:
        """The context ``[d]`` that is trained on."""
        context: Floats = self.contexts[self._source].copy()
        return context

    def update(self, params: npt.ArrayLike, episode_return: float) -> None:
        """Learns of an episode; the last one in a context chooses the next.

        One that was begun in an earlier context, beside others of a vector, tells nothing of this one.
        """
        super().update(params, episode_return)
        self._range = min(self._range[0], episode_return), max(self._range[1], episode_return)
        if not np.array_equal(np.asarray(params, np.float64), self.contexts[self._source]):
            return
        self._returns.append(episode_return)
        if len(self._returns) < self.episodes:
            return
        last = float(np.mean(self._returns[-max(1, self.episodes // 4) :]))
        spread = self._range[1] - self._range[0]
        self._returns = []
        self.selection.observe(self._source, (last - self._range[0]) / spread if spread > 0 else 0.0)
        if len(self.selection.sources) == len(self.contexts):
            self._begin()
        else:
            self._source = self.selection.choose()
