r"""Levels that are played again where they scored high: prioritised level replay, and GROOVE's algorithmic regret.

    teacher = GROOVE([-2, -2], [2, 2], lambda goal: baseline.evaluate(goal), seed=0)
    env = TaughtEnv(gymnasium.make("tiltyard/PointMaze-v0", allow_unreachable=True), teacher, {"goal": [0, 1]})

GROOVE's paper trains update rules with it, for which there is :mod:`tiltyard.agents.control.lpg_training`.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .alp_gmm import RandomTeacher
from .clustering import Floats


def ranked(scores: Floats, temperature: float) -> Floats:
    r"""Probabilities in proportion to :math:`(1 / \mathrm{rank})^{1 / \beta}`, the highest of ``scores`` ``[n]`` first.

    Paper: Prioritized Level Replay (2021).
    """
    rank = np.empty(len(scores))
    rank[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    weights = np.exp(-np.log(rank) / temperature)
    return np.asarray(weights / weights.sum())


class LevelReplay(RandomTeacher):
    r"""Prioritised level replay: half of the levels are new, half are levels seen before, by their scores.

    A new level is drawn uniformly from the box. One seen before is drawn from a buffer by
    :math:`(1 - \rho) P_S + \rho P_C`, where :math:`P_S` is :func:`ranked` and :math:`P_C` is in proportion to how long
    ago a level was last drawn. What :meth:`update` is told is the score. Where the buffer is full, the lowest score
    leaves it. A level that was drawn is not drawn again until it has been told, or so many others as the buffer holds.

    The defaults of replay and buffer are those of GROOVE's authors, who always take the highest scores; temperature and
    staleness are those of level replay: but for the staleness, the highest score is drawn nearly always.

    Args:
        low: ``[d]`` least value of each parameter.
        high: ``[d]`` largest value of each parameter.
        seed: of all draws; from the system's entropy if None.
        size: of the buffer.
        least: levels in the buffer before any is drawn from it.
        replay: probability of a level seen before.
        temperature: beta; near 0 only the highest score counts, and much above 1 all count alike.
        staleness: rho.

    Raises:
        ValueError: an empty box, or a number beyond its bounds.

    Paper: Prioritized Level Replay (2021); Discovering General Reinforcement Learning Algorithms with Adversarial
    Environment Design (2023), and its authors' code, github.com/EmptyJackson/groove.
    """

    def __init__(
        self,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        *,
        seed: int | None = None,
        size: int = 4000,
        least: int = 32,
        replay: float = 0.5,
        temperature: float = 0.1,
        staleness: float = 0.1,
    ) -> None:
        super().__init__(low, high, seed=seed)
        if not 1 <= least <= size:
            raise ValueError(f"least lies between 1 and size={size}, got {least}")
        if not (0 <= replay <= 1 and 0 <= staleness <= 1 and temperature > 0):
            raise ValueError(
                "replay and staleness are probabilities and temperature is above 0, "
                f"got {replay}, {staleness} and {temperature}"
            )
        self.size, self.least, self.replay = size, least, replay
        self.temperature, self.staleness = temperature, staleness
        self.levels = np.empty((0, len(self.low)))
        """``[n, d]``, those in the buffer."""
        self.scores = np.empty(0)
        """``[n]``, the latest of each."""
        self.drawn = np.empty(0)
        """``[n]``, how many draws had been made when each was last drawn or told for the first time."""
        self.draws = 0
        self._in_play: dict[bytes, int] = {}

    def probabilities(self) -> Floats:
        """How likely each level of the buffer ``[n]`` is drawn from it, whether or not one is in play."""
        age = self.draws - self.drawn
        stale = age / age.sum() if age.sum() > 0 else np.full(len(age), 1 / max(len(age), 1))
        return np.asarray((1 - self.staleness) * ranked(self.scores, self.temperature) + self.staleness * stale)

    def sample(self) -> Floats:
        """See the class."""
        self.draws += 1
        level = None
        if len(self.levels) >= self.least and self.rng.random() < self.replay:
            level = self._replayed()
        if level is None:
            level = super().sample()
        self._in_play[level.tobytes()] = self.draws
        return level

    def _replayed(self) -> Floats | None:
        """A level of the buffer; None where all are in play."""
        self._in_play = {key: at for key, at in self._in_play.items() if self.draws - at <= self.size}
        idle = np.array([level.tobytes() not in self._in_play for level in self.levels])
        share = self.probabilities() * idle
        if not share.sum() > 0:
            return None
        chosen = self.rng.choice(len(share), p=share / share.sum())
        self.drawn[chosen] = self.draws
        return np.array(self.levels[chosen])

    def update(self, params: npt.ArrayLike, episode_return: float) -> None:
        """Learns that the level ``params`` ``[d]`` scored so much; the score stands where other teachers have returns.

        Raises:
            ValueError: parameters of another shape, or a number that is not finite.
        """
        super().update(params, episode_return)
        level = np.asarray(params, np.float64)
        self._in_play.pop(level.tobytes(), None)
        known = np.flatnonzero((self.levels == level).all(axis=1))
        if len(known):
            self.scores[known[0]] = episode_return
            return
        self.levels = np.concatenate([self.levels, level[None]])
        self.scores, self.drawn = np.append(self.scores, episode_return), np.append(self.drawn, self.draws)
        if len(self.levels) > self.size:
            kept = np.arange(len(self.levels)) != self.scores.argmin()
            self.levels, self.scores, self.drawn = self.levels[kept], self.scores[kept], self.drawn[kept]


class GROOVE(LevelReplay):
    """Level replay by algorithmic regret: what a hand-made learner earns on a level, minus what the student earns.

    Args:
        low: ``[d]`` least value of each parameter.
        high: ``[d]`` largest value of each parameter.
        antagonist: of parameters ``[d]``, the return there of the hand-made learner (in the paper, A2C trained on the
            level from scratch for as long as the student). Regret with a fixed agent's return in its place is cheaper.
        **settings: of :class:`LevelReplay`.

    Paper: Discovering General Reinforcement Learning Algorithms with Adversarial Environment Design (2023).
    """

    def __init__(
        self,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        antagonist: Callable[[Floats], float],
        *,
        seed: int | None = None,
        size: int = 4000,
        least: int = 32,
        replay: float = 0.5,
        temperature: float = 0.1,
        staleness: float = 0.1,
    ) -> None:
        super().__init__(
            low, high, seed=seed, size=size, least=least, replay=replay, temperature=temperature, staleness=staleness
        )
        self.antagonist = antagonist

    def update(self, params: npt.ArrayLike, episode_return: float) -> None:
        """Learns that the student earned ``episode_return`` with ``params`` ``[d]``."""
        RandomTeacher.update(self, params, episode_return)
        best = float(self.antagonist(np.array(params, np.float64)))
        super().update(params, best - episode_return)
