"""Self-play: a town in which every slot of the vector is an agent, and many share a world."""

from typing import Any

import numpy as np
from gymnasium.spaces import Box

from ...core import BatchedVectorEnv, Info, Ints, SingleEnv
from ...seeding import problem_keys
from ..town import observe, session
from ..town.episode import WEIGHTS
from .driving import Driving

LOWEST_WEIGHT = 0.2
"""Weights of the reward's factors and of the penalty are drawn from here to 1."""


class SelfPlay(Driving):
    """Drive through a town whose cars are driven by the same policy: worlds x ``agents`` slots.

    Slot i is agent ``i % agents`` of world ``i // agents``. With ``agents=1``, the default and that of
    :class:`SelfPlayEnv`, it is one agent among scripted traffic, and slots do not meet.

    **Reward**: that of the other scenes, with weights of its factors and of its penalty that each agent draws anew in
    each episode (``info["weights"]`` at reset); they are the last 7 entries of its observation.

    **Reset**: a slot whose episode ends begins another *in the same running world*: its car is taken away and comes in
    again elsewhere, on a free piece of road, with a new route. What it did stays in its last info. When all slots of a
    world begin at once, as in ``reset()``, the world begins anew, by the seed of its first slot; a respawn is decided
    by that world's own stream. So a world is the same, bit for bit, for the same seeds and the same actions of all of
    its slots, whatever the others do.

    Args:
        num_envs: slots; a multiple of ``agents``.
        agents: of each world that are driven by policies, 1 to 100.
        reward_weights: "random", or "full" for weights of 1, as the other scenes have.
        **kwargs: of :class:`~.driving.Driving`.
    """

    def __init__(self, num_envs: int, *, agents: int = 1, reward_weights: str = "random", **kwargs: Any) -> None:
        if not 1 <= agents <= 100:
            raise ValueError(f"agents must be between 1 and 100, got {agents!r}")
        if num_envs % agents:
            raise ValueError(f"num_envs counts agents: {num_envs} is no multiple of {agents} agents a world")
        if reward_weights not in ("random", "full"):
            raise ValueError(f'reward_weights must be "random" or "full", got {reward_weights!r}')
        self._agents = agents
        self.reward_weights = reward_weights
        super().__init__(num_envs, **kwargs)

    @property
    def policies(self) -> int:
        """Agents of each world that are driven by policies."""
        return self._agents

    def _allocate(self) -> None:
        super()._allocate()
        if self.observation == "vector":
            self.observation_space = Box(-1.0, 1.0, (observe.SIZE + WEIGHTS,), np.float32)

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Begins worlds anew where all of their slots begin, and lets the others come in again elsewhere."""
        keys = problem_keys(self.split, seeds, episodes)
        if self.reward_weights == "random":
            session.draw_weights(self.weights, indices, keys, LOWEST_WEIGHT)
        worlds = indices // self._agents
        whole = np.bincount(worlds, minlength=self.world_count)[worlds] == self._agents
        firsts = whole & (indices % self._agents == 0)
        if firsts.any():
            self._begin_worlds(worlds[firsts], keys[firsts])
        if not whole.all():
            arguments = (self.library.atlas, self.library.places, self.batch, self.episodes)
            session.respawn(*arguments, indices[~whole], self._options)
        self._note_begun(indices)

    def reset_info(self) -> Info:
        """As in the other scenes, and ``weights`` ``[7]``."""
        return {**super().reset_info(), "weights": self.weights.copy()}

    def _need_env_state(self) -> None:
        if self._agents > 1:
            raise TypeError("a world of several agents cannot be put back for one of them: snapshots need agents=1")
        super()._need_env_state()


class SelfPlayEnv(SingleEnv):
    """:class:`SelfPlay` as a ``gymnasium.Env``: one agent."""

    batched_class = SelfPlay


class SelfPlayVectorEnv(BatchedVectorEnv):
    """:class:`SelfPlay` as a native ``gymnasium.vector.VectorEnv``."""

    batched_class = SelfPlay
