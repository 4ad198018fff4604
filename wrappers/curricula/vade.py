"""VADE: Thompson sampling of problems from a finite pool, by Beta posteriors of their success probabilities."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..components import Curriculum, Episodes

Floats = npt.NDArray[np.float64]


def information_gain(p: Floats) -> Floats:
    """I(p) = p (1 - p)^2: how much a problem of success probability p can teach; largest at p = 1/3."""
    gain: Floats = p * (1 - p) ** 2
    return gain


class VADE(Curriculum):
    """Chooses the n problems of greatest p (1 - p)^2, where p is drawn from Beta(a + 1, b + 1) for each of the pool.

    a and b count a problem's successes and failures, and forget on two scales, as the policy that they were counted of
    changes: at each batch, a and b of every problem shrink by ``decay``, and those of the problems just answered by
    ``decay_visited`` before their new counts are added. An estimate that is not renewed widens until its problem is
    drawn again. No completion is sampled for the estimates alone.

    Departures: the rates of forgetting are ours. The information gain and the posteriors are those of the authors'
    page; that decay acts on counts towards the prior Beta(1, 1), at each batch, is read from its outline.

    Args:
        pool: number of problems, or their seeds.
        decay: what is left of every count after a batch.
        decay_visited: what is left of the counts of a problem that has been answered anew.

    Paper: VADE: Variance-Aware Dynamic Sampling via Online Sample-Level Difficulty Estimation for Multimodal RL (2025).
    """

    def __init__(self, *, pool: int | Sequence[int] = 512, decay: float = 0.99, decay_visited: float = 0.7) -> None:
        self.seeds = _drawn(pool) if isinstance(pool, int) else [int(seed) for seed in pool]
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"a pool names at least one problem, each once; got {self.seeds!r:.80}")
        for name, rate in (("decay", decay), ("decay_visited", decay_visited)):
            if not 0 < rate <= 1:
                raise ValueError(f"{name} lies above 0 and up to 1, got {rate}")
        self.decay, self.decay_visited = decay, decay_visited
        self.successes, self.failures = np.zeros((2, len(self.seeds)))
        self._place = {seed: i for i, seed in enumerate(self.seeds)}

    def sample(self, n: int, rng: np.random.Generator) -> list[int]:
        """The ``n`` problems (all, if the pool has fewer) that a draw of their success probabilities favours."""
        p = rng.beta(self.successes + 1, self.failures + 1)
        best = np.argsort(-information_gain(p), kind="stable")[:n]
        return [self.seeds[i] for i in best.tolist()]

    def update(self, episodes: Episodes) -> None:
        """Forgets, and counts which completions succeeded."""
        self.successes *= self.decay
        self.failures *= self.decay
        counts: dict[int, list[int]] = {}
        for seed, success in zip(episodes.seed.tolist(), episodes.info["success"].tolist(), strict=True):
            if seed in self._place:
                counts.setdefault(self._place[seed], [0, 0])[0 if success else 1] += 1
        for i, (successes, failures) in counts.items():
            self.successes[i] = self.decay_visited * self.successes[i] + successes
            self.failures[i] = self.decay_visited * self.failures[i] + failures

    def mean(self) -> Floats:
        """The posterior means of the success probabilities, in the order of :attr:`seeds`."""
        mean: Floats = (self.successes + 1) / (self.successes + self.failures + 2)
        return mean

    def state_dict(self) -> dict[str, Any]:
        """The pool and its counts."""
        return {"seeds": np.array(self.seeds), "successes": self.successes.copy(), "failures": self.failures.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""
        self.seeds = np.asarray(state["seeds"]).tolist()
        self._place = {seed: i for i, seed in enumerate(self.seeds)}
        self.successes = np.array(state["successes"], np.float64)
        self.failures = np.array(state["failures"], np.float64)


def _drawn(n: int) -> list[int]:
    """Seeds of ``n`` problems, the same for ever."""
    return (
        [int(seed) for seed in np.random.default_rng([2511, n]).choice(2**31, size=n, replace=False)] if n > 0 else []
    )
