"""SPO: a persistent value tracker of each problem's success as the baseline, and prioritised sampling by it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ....wrappers.curricula.pool import Floats, FromPool
from ..context import Context
from ..rollouts import Rollouts
from ..tracker import Tracker
from .base import Provider


class ValueTracker(Provider):
    """``Rollouts.baseline``: the tracked success at each row's problem, read before this batch counts.

    Paper: Single-stream Policy Optimization (2025), sec. 3.
    """

    def start(self, context: Context) -> None:
        """Knows nothing yet."""
        self.tracker = Tracker()

    def supply(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """With ``baseline``; the batch counts from now on."""
        rollouts = replace(rollouts, baseline=self.tracker.read(rollouts))
        self.tracker.update(rollouts, context.score)
        return rollouts

    def networks(self) -> dict[str, Any]:
        """What is known of each problem."""
        return {"tracker": self.tracker}


class PrioritisedSampling(FromPool):
    """Draws problems from a pool in proportion to sqrt(v (1 - v)) + epsilon, v the tracked success.

    Before the first iteration each problem is answered ``offline`` times, and v begins there: alpha = N (s + 1/2) /
    (n + 1), beta = N (n - s + 1/2) / (n + 1), of s successes among n, worth N = 1 / (1 - rho_min) = 8 completions.
    They are graded and count as timesteps.

    Departures: the authors draw a batch from a larger one that walks through the data set; here from the whole pool.

    Args:
        size: problems in the pool; the paper's is its data set.
        pool_seed: decides which.
        epsilon: share of uniform exploration.
        offline: completions of each problem before training (0: v begins at 1/2, worth one completion).

    Paper: Single-stream Policy Optimization (2025), sec. 3; numbers of the authors' code.
    """

    needs = ("tracker",)

    def __init__(self, *, size: int = 128, pool_seed: int = 0, epsilon: float = 0.05, offline: int = 8) -> None:
        if not epsilon > 0 or offline < 0:
            raise ValueError(f"epsilon must be above 0 and offline at least 0, got {epsilon} and {offline}")
        super().__init__(size=size, pool_seed=pool_seed)
        self.epsilon, self.offline = epsilon, offline
        self.measured = False

    def begin(self, context: Context) -> None:
        """Measures the pool, once, then reads the tracker."""
        tracker: Tracker = context.providers["tracker"].networks()["tracker"]
        seeds = self.pool.seeds.tolist()
        if not self.measured:
            successes = np.zeros(len(seeds))
            if self.offline:
                rewards = context.play(seeds, group_size=self.offline).reward.clamp(0, 1)
                successes = rewards.view(len(seeds), self.offline).double().sum(1).cpu().numpy()
            tracker.measure(seeds, successes, self.offline)
            self.measured = True
        self.pool.columns["success"] = np.array([tracker.success(seed) for seed in seeds])

    def weights(self) -> Floats:
        """sqrt(v (1 - v)) + epsilon, ``[size]``."""
        success = self.pool.column("success", 0.5)
        return np.sqrt(success * (1 - success)) + self.epsilon

    def state_dict(self) -> dict[str, Any]:
        """The pool, and whether it has been measured."""
        return {"pool": super().state_dict(), "measured": self.measured}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""
        super().load_state_dict(state["pool"])
        self.measured = bool(state["measured"])
