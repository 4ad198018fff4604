"""DUMP: problems come in distributions, and those whose advantages are large, or that were seldom drawn, come more."""

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import unknown
from ..checks import check_numbers, check_whole
from ..components import Episodes, Problem
from .pool import Floats, FromPool

LENGTHS: dict[str, Callable[[Problem], int]] = {
    "question": lambda problem: len(problem.question),
    "solution": lambda problem: len(problem.solve()),
}
"""By what a pool is divided into distributions of like size."""


def scores(value: Floats, drawn: Floats) -> Floats:
    """UCB_j = value_j + sqrt(2 ln(N + 1) / (n_j + 1)) of each distribution, ``[arms]``; N is the sum of ``drawn``."""
    found: Floats = value + np.sqrt(2 * np.log(drawn.sum() + 1) / (drawn + 1))
    return found


def advantages(reward: Floats, group: npt.NDArray[np.int64]) -> Floats:
    """GRPO's (r - mean) / (std + 1e-6) in the group of each row, ``[B]``, std by n - 1; r itself in a group of one."""
    _, index, size = np.unique(group, return_inverse=True, return_counts=True)
    centred = reward - (np.bincount(index, reward) / size)[index]
    deviation = np.sqrt(np.bincount(index, centred**2) / np.maximum(size - 1, 1))[index]
    found: Floats = np.where(size[index] > 1, centred / (deviation + 1e-6), reward)
    return found


class DUMP(FromPool):
    """Draws a distribution d_j with the probability softmax(UCB_j / temperature), then a problem of it, all alike.

    value_j is the mean absolute advantage of the last ``window`` completions of d_j, n_j is how many there have been:
    a distribution in which completions earn differently can still teach; one whose problems are all solved, or never,
    has advantages of 0 and is drawn for its bonus alone, which grows with the logarithm of all completions. Before the
    first batch all are alike. Advantages are GRPO's, of rewards as they are shaped, whatever the method.

    Departures: the paper's distributions are datasets, such as puzzles of three to fourteen people. An environment here
    is one level of one task, so that its problems are divided by how long they are: those of the pool in ``arms``
    parts of like size by characters of the expert's solution (``by="solution"``) or of the question; or, for an
    environment that mixes several, by what a function says of each question.

    Args:
        size: problems in the pool, which are all read before training begins.
        pool_seed: decides which.
        by: "solution", "question", or a function of a question that names its distribution.
        arms: distributions, where they are parts by length.
        window: completions of a distribution that its value is the mean of.
        temperature: tau, of the softmax.

    Raises:
        TypeError: a number that is none.
        ValueError: an unknown ``by``; fewer than two arms, or more than problems; a window below one, a temperature
            that is not above 0.

    Paper: DUMP: Automated Distribution-Level Curriculum Learning for RL-based LLM Post-training (2025), algorithm 1;
    the bonus, the window of 300 and the temperature of 0.1 as in the authors' ``curriculum_learning.py``.
    """

    def __init__(
        self,
        *,
        size: int = 256,
        pool_seed: int = 0,
        by: str | Callable[[str], Hashable] = "solution",
        arms: int = 4,
        window: int = 300,
        temperature: float = 0.1,
    ) -> None:
        super().__init__(size=size, pool_seed=pool_seed)
        check_whole(arms=arms, window=window)
        check_numbers(temperature=temperature)
        if not callable(by) and by not in LENGTHS:
            raise ValueError(unknown("by", by, LENGTHS))
        if not 2 <= arms <= size:
            raise ValueError(f"arms are parts of the pool, 2 to {size} of them, got {arms}")
        if window < 1 or not 0 < temperature < np.inf:
            raise ValueError(f"a window of 1 or more and a temperature above 0, got {window} and {temperature}")
        self.by, self.arms, self.window, self.temperature = by, arms, window, temperature
        self.arm: npt.NDArray[np.int64] | None = None  # [size], of each problem of the pool
        self.recent: list[deque[float]] = []  # of each arm, its last absolute advantages
        self.drawn: list[int] = []  # of each arm, completions

    def begin(self, context: Any) -> None:
        """Reads the pool's problems, before the first iteration."""
        if self.arm is None:
            self.divide(context.problems([int(seed) for seed in self.pool.seeds]))

    def divide(self, problems: Sequence[Problem]) -> None:
        """Sorts the pool's ``problems`` into distributions; what is remembered of them stays."""
        if callable(self.by):
            names = [self.by(problem.question) for problem in problems]
            number = {name: i for i, name in enumerate(dict.fromkeys(names))}
            self.arm = np.array([number[name] for name in names], np.int64)
        else:
            lengths = np.array([LENGTHS[self.by](problem) for problem in problems])
            rank = np.argsort(np.argsort(lengths, kind="stable"), kind="stable")
            self.arm = rank * self.arms // len(problems)
        arms = int(self.arm.max()) + 1
        if len(self.drawn) != arms:
            self.recent, self.drawn = [deque(maxlen=self.window) for _ in range(arms)], [0] * arms

    def value(self) -> Floats:
        """The mean absolute advantage of each distribution's last completions, ``[arms]``; 0 before the first."""
        return np.array([np.mean(recent) if recent else 0.0 for recent in self.recent])

    def probabilities(self) -> Floats:
        """How likely each distribution is drawn now, ``[arms]``."""
        logits = scores(self.value(), np.array(self.drawn, np.float64)) / self.temperature
        likely = np.exp(logits - logits.max())
        shares: Floats = likely / likely.sum()
        return shares

    def sample(self, n: int, rng: np.random.Generator) -> list[int]:
        """Seeds of the next ``n`` problems; a problem may come twice where its distribution has too few."""
        arm = self._known()
        wanted = np.bincount(rng.choice(len(self.drawn), n, p=self.probabilities()), minlength=len(self.drawn))
        seeds = [self.pool.seeds[arm == j] for j in range(len(wanted))]
        drawn = [rng.choice(of, k, replace=k > len(of)) for of, k in zip(seeds, wanted, strict=True) if k]
        return [int(seed) for seed in rng.permutation(np.concatenate(drawn))]

    def update(self, episodes: Episodes) -> None:
        """Counts completions and keeps their absolute advantages."""
        arm = self._known()[self.pool.places(episodes.seed.tolist())]
        size = np.abs(advantages(np.array(episodes.reward.tolist()), np.array(episodes.group.tolist())))
        for j, advantage in zip(arm.tolist(), size.tolist(), strict=True):
            self.recent[j].append(advantage)
            self.drawn[j] += 1

    def _known(self) -> npt.NDArray[np.int64]:
        if self.arm is None:
            raise ValueError("dump does not know its problems yet: call begin(context) or divide(problems) first")
        return self.arm

    def state_dict(self) -> dict[str, Any]:
        """What is remembered of each distribution."""
        return {"recent": [list(recent) for recent in self.recent], "drawn": list(self.drawn)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""
        self.recent, self.drawn = [deque(recent, self.window) for recent in state["recent"]], list(state["drawn"])
