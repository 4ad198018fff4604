"""VADE: Thompson sampling of problems from a finite pool, by Beta posteriors of their success probabilities."""

import numpy as np

from ..components import Episodes
from .pool import Floats, FromPool


def information_gain(p: Floats) -> Floats:
    """I(p) = p (1 - p)^2: how much a problem of success probability p can teach; largest at p = 1/3."""
    gain: Floats = p * (1 - p) ** 2
    return gain


class VADE(FromPool):
    """Chooses the n problems of greatest p (1 - p)^2, where p is drawn from Beta(a + 1, b + 1) for each of the pool.

    a and b count a problem's successes and failures, and forget on two scales, as the policy that they were counted of
    changes: at each batch, a and b of every problem shrink by ``decay``, and those of the problems just answered by
    ``decay_visited`` before their new counts are added. An estimate that is not renewed widens until its problem is
    drawn again. No completion is sampled for the estimates alone.

    Departures: the rates of forgetting are ours. The information gain and the posteriors are those of the authors'
    page; that decay acts on counts towards the prior Beta(1, 1), at each batch, is read from its outline.

    Args:
        size: problems in the pool.
        pool_seed: decides which.
        decay: what is left of every count after a batch.
        decay_visited: what is left of the counts of a problem that has been answered anew.

    Paper: VADE: Variance-Aware Dynamic Sampling via Online Sample-Level Difficulty Estimation for Multimodal RL (2025).
    """

    def __init__(self, *, size: int = 512, pool_seed: int = 0, decay: float = 0.99, decay_visited: float = 0.7) -> None:
        super().__init__(size=size, pool_seed=pool_seed)
        for name, rate in (("decay", decay), ("decay_visited", decay_visited)):
            if not 0 < rate <= 1:
                raise ValueError(f"{name} lies above 0 and up to 1, got {rate}")
        self.decay, self.decay_visited = decay, decay_visited

    def counts(self) -> tuple[Floats, Floats]:
        """Successes and failures of each problem of the pool, as far as they are remembered; ``[size]`` each."""
        return self.pool.column("successes", 0.0), self.pool.column("failures", 0.0)

    def mean(self) -> Floats:
        """The posterior means of the success probabilities, ``[size]``."""
        successes, failures = self.counts()
        mean: Floats = (successes + 1) / (successes + failures + 2)
        return mean

    def sample(self, n: int, rng: np.random.Generator) -> list[int]:
        """The ``n`` problems (all, if the pool has fewer) that a draw of their success probabilities favours."""
        successes, failures = self.counts()
        gain = information_gain(rng.beta(successes + 1, failures + 1))
        return [int(seed) for seed in self.pool.seeds[np.argsort(-gain, kind="stable")[:n]]]

    def update(self, episodes: Episodes) -> None:
        """Forgets, and counts which completions succeeded."""
        success = np.array(episodes.info["success"].tolist(), np.float64)
        places = self.pool.places(episodes.seed.tolist())
        visited = np.bincount(places, minlength=len(self.pool)) > 0
        for column, new in zip(self.counts(), (success, 1 - success), strict=True):
            column *= np.where(visited, self.decay * self.decay_visited, self.decay)
            column += np.bincount(places, new, minlength=len(self.pool))
