"""Early episodes of a student begin where a teacher has been: an environment wrapper, whatever the agent.

    snapshots = teacher_snapshots(gymnasium.make("tiltyard/Hopper-v5"))  # its own expert; or any policy
    env = S3RL(gymnasium.make("tiltyard/Hopper-v5"), snapshots)  # train here, evaluate in the bare environment

Environments of ours that name their ``env_state`` can be put into a snapshot, and Gymnasium's MuJoCo tasks.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.wrappers import (
    HumanRendering,
    OrderEnforcing,
    PassiveEnvChecker,
    RecordEpisodeStatistics,
    RecordVideo,
    RenderCollection,
    StickyAction,
    TimeLimit,
)
from stable_baselines3.common.monitor import Monitor

from ..checks import check_whole
from ..perturbations.action_delay import ActionDelay
from ..perturbations.random_physics import RandomPhysics
from .alp_gmm import TaughtEnv
from .clustering import Ints, k_means
from .snapshots import Snapshots, restore_snapshot

Info = dict[str, Any]

MAY_BE_BELOW = (
    ActionDelay,
    HumanRendering,
    Monitor,
    OrderEnforcing,
    PassiveEnvChecker,
    RandomPhysics,
    RecordEpisodeStatistics,
    RecordVideo,
    RenderCollection,
    StickyAction,
    TimeLimit,
)
"""Wrappers whose ``reset`` begins to count, to record or to draw anew, and takes nothing from the first observation."""


class S3RL(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """For the first ``snapshot_steps`` steps, episodes begin in a teacher's state and are cut after ``truncate_steps``.

    Status classification: snapshots are clustered by value; a start is drawn from a cluster drawn uniformly, so that
    rare stages of the task come as often as common ones. Student trajectory truncation: ``truncated`` after a few steps
    (agents bootstrap there), so that many starts are seen. Later episodes are the environment's own; ``info`` says at
    every reset whether its episode is ``from_snapshot``.

    The environment is reset before it is put into a snapshot: its stream of problems, its time limit and other wrappers
    behave as at any reset. A reset with ``options`` is the caller's own and starts natively; so do all episodes of a
    ``TaughtEnv`` around this one. Steps are those of this environment alone; of n environments trained on together,
    each gets its share of ``snapshot_steps``.

    Args:
        env: like the one the snapshots are of. Wrappers that change observations, or that go by how an episode begins,
            belong around this one: those below it are not told that the episode begins elsewhere.
        snapshots: of the teacher.
        snapshot_steps: until episodes are the environment's own; the paper's tenth of a million steps.
        clusters: of the k-means of values; 1 draws from all snapshots alike.
        truncate_steps: from a snapshot on; None for none (the ablation, with the environment's own time limit left).
        seed: of the choice of snapshots, until ``reset(seed=...)`` seeds it.

    Raises:
        ValueError: no snapshots, a number below its least, or a wrapper below this one that changes observations or has
            a ``reset`` of its own and is none of :data:`MAY_BE_BELOW`.

    Paper: Snapshot Reinforcement Learning: Leveraging Prior Trajectories for Efficiency (2024); the numbers,
    and values as what is clustered, are those of the authors' code for MuJoCo.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        snapshots: Snapshots,
        *,
        snapshot_steps: int = 100_000,
        clusters: int = 6,
        truncate_steps: int | None = 100,
        seed: int | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,
            snapshots=snapshots,
            snapshot_steps=snapshot_steps,
            clusters=clusters,
            truncate_steps=truncate_steps,
            seed=seed,
        )
        super().__init__(env)
        if not isinstance(snapshots, Snapshots):
            raise TypeError(f"snapshots are what teacher_snapshots makes, got {snapshots!r:.200}")
        if not snapshots.states:
            raise ValueError("there are no snapshots to start from: make some with teacher_snapshots")
        cut = 1 if truncate_steps is None else truncate_steps
        check_whole(clusters=clusters, snapshot_steps=snapshot_steps, truncate_steps=cut)
        if clusters < 1 or snapshot_steps < 0 or (truncate_steps is not None and truncate_steps < 1):
            raise ValueError(
                "need clusters and truncate_steps of at least 1 and snapshot_steps of at least 0, "
                f"got {clusters}, {truncate_steps}, {snapshot_steps}"
            )
        _check_below(env)
        self.snapshots, self.snapshot_steps, self.truncate_steps = snapshots, snapshot_steps, truncate_steps
        self.steps = 0
        self._ends_at: int | None = None
        labels = k_means(snapshots.values[:, None], clusters, np.random.default_rng(0))
        self.clusters: list[Ints] = [np.flatnonzero(labels == label) for label in np.unique(labels)]
        self._rng = np.random.default_rng(seed)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Begins in a teacher's state, or natively once its time is over."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        observation, info = self.env.reset(seed=seed, options=options)
        self._ends_at = None
        early = self.steps < self.snapshot_steps and not options
        if early:
            cluster = self.clusters[self._rng.integers(len(self.clusters))]
            observation, restored = restore_snapshot(self.env, self.snapshots.states[self._rng.choice(cluster)])
            info = {**info, **restored}  # with what wrappers below tell, such as a delay
            if self.truncate_steps is not None:
                self._ends_at = self.steps + self.truncate_steps
        return observation, {**info, "from_snapshot": early}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps; ``truncated`` once an episode from a snapshot has had its steps."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.steps += 1
        cut = self._ends_at is not None and self.steps >= self._ends_at
        return observation, reward, terminated, truncated or cut, info


def _check_below(env: gymnasium.Env[Any, Any]) -> None:
    """A restored state is the bare environment's: no wrapper below sees its first observation, nor may change it."""
    layer = env
    while isinstance(layer, gymnasium.Wrapper):
        name = type(layer).__name__
        if (
            isinstance(layer, gymnasium.ObservationWrapper)
            or layer.observation_space != env.unwrapped.observation_space
        ):
            raise ValueError(f"{name} changes observations: put it around S3RL, not below it")
        if isinstance(layer, TaughtEnv | S3RL):
            raise ValueError(f"{name} says how episodes begin, and S3RL would begin them elsewhere: use one of the two")
        if type(layer).reset is not gymnasium.Wrapper.reset and not isinstance(layer, MAY_BE_BELOW):
            raise ValueError(
                f"{name} has a reset of its own, which is not told that S3RL's episodes begin in a snapshot: put it "
                "around S3RL, not below it"
            )
        layer = layer.env
