"""Peg insertion with a reward only when the peg is in: demonstrations of the scripted expert, and success."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np

from ...agents.control.datasets import Transitions
from ..datasets.episodes import Episode
from ..datasets.record import record
from ..evaluation import evaluation_seeds

TASK = "tiltyard/PegInsertion-v0"


@lru_cache(maxsize=4)
def demonstrations(count: int, seed: int) -> Transitions:
    """``count`` episodes of the scripted expert on training problems."""
    first = 1000 * seed
    return as_transitions(record(TASK, "expert", range(first, first + count)))


def as_transitions(episodes: Sequence[Episode]) -> Transitions:
    """Episodes as an agent's ``learn_offline`` takes them."""
    lengths = [len(episode.rewards) for episode in episodes]
    ends = np.zeros(sum(lengths), np.bool_)
    ends[np.cumsum(lengths) - 1] = True
    terminations = np.zeros(len(ends), np.float32)
    terminations[ends] = [episode.terminated for episode in episodes]
    return Transitions(
        observations=np.concatenate([episode.observations[:-1] for episode in episodes]).astype(np.float32),
        actions=np.concatenate([episode.actions for episode in episodes]).astype(np.float32),
        rewards=np.concatenate([episode.rewards for episode in episodes]).astype(np.float32),
        next_observations=np.concatenate([episode.observations[1:] for episode in episodes]).astype(np.float32),
        terminations=terminations,
        ends=ends,
        episodes=np.repeat(np.arange(len(episodes)), lengths),
        episode_returns=np.array([episode.rewards.sum() for episode in episodes], np.float64),
    )


@dataclass(frozen=True)
class Success:
    """Scores an agent by the share of test problems that its deterministic policy solves.

    Attributes:
        episodes: test problems.
        limit: steps given to each.
    """

    episodes: int = 20
    limit: int = 100

    def __call__(self, agent: Any, seed: int) -> float:
        """See the class."""
        env = gymnasium.make_vec(TASK, self.episodes, "vector_entry_point", split="test")
        several: Any = evaluation_seeds(seed, self.episodes)  # Gymnasium's types know one seed alone
        observations, _ = env.reset(seed=several)
        solved = np.zeros(self.episodes, np.bool_)
        for _ in range(self.limit):  # who has solved a problem goes on with another, which changes nothing
            actions, _ = agent.predict(observations, deterministic=True)
            observations, rewards, *_ = env.step(actions)
            solved |= rewards > 0
            if solved.all():
                break
        env.close()
        return float(solved.mean())
