"""GRPO on phones: several episodes of one problem, each step weighted by how much better its episode was than others.

Paper: Shao et al., DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models (2024), sec. 4.1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
import numpy.typing as npt
import torch as th
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.common.utils import update_learning_rate
from torch import Tensor

from .settings import takes
from .trajectories import Pool, Running, Trajectory
from .trajectory_agent import CHUNK, PARTS, TrajectoryAgent, TrajectorySettings

Floats = npt.NDArray[np.float64]


def group_advantages(outcome: Floats, group_size: int) -> Floats:
    """``(r - mean) / (deviation + 1e-6)`` within each group of neighbours ``[E]``; 0 where all are alike."""
    groups = outcome.reshape(-1, group_size)
    found: Floats = (groups - groups.mean(1, keepdims=True)) / (groups.std(1, keepdims=True) + 1e-6)
    return found.reshape(-1)


def clipped_loss(log_prob: Tensor, old: Tensor, advantages: Tensor, clip_range: float) -> Tensor:
    r""":math:`-\min(\rho A, clip(\rho, 1 - \epsilon, 1 + \epsilon) A)` with :math:`\rho = \pi / \pi_{old}`; ``[B]``."""
    ratio = (log_prob - old).exp()
    return -th.minimum(ratio * advantages, ratio.clamp(1 - clip_range, 1 + clip_range) * advantages)


@dataclass(frozen=True)
class PhoneGRPOSettings(TrajectorySettings):
    """Those of GRPO, beside what agents of whole episodes take (``rollouts`` has no meaning: there are ``n_envs``).

    Args:
        group_size: episodes of one problem; it divides the number of environments.
        clip_range: epsilon.
        ent_coef: weight of the entropy.
    """

    _: KW_ONLY
    actor_updates: int = 8
    learning_rate: float | Schedule = 3e-4
    group_size: int = 8
    clip_range: float = 0.2
    ent_coef: float = 0.0


class PhoneGRPO(TrajectoryAgent):
    """Group-relative policy optimisation of the outcome, without a critic and without a reference policy.

    An iteration takes one episode in every environment, ``group_size`` of each problem, and then ``actor_updates``
    steps on them. Departures from the paper: no penalty for leaving a reference policy, and every step counts alike,
    however long its episode.
    """

    settings: PhoneGRPOSettings

    @takes(PhoneGRPOSettings)
    def __init__(self, settings: PhoneGRPOSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        if self.n_envs % self.settings.group_size:
            raise ValueError(
                f"group_size divides the number of environments: {self.n_envs} are no groups of "
                f"{self.settings.group_size}; set n_envs or group_size"
            )
        super()._setup_model()

    def keep(self, found: Sequence[Trajectory]) -> None:
        """Only the last groups are learnt from."""
        self.kept.clear()
        self.kept.extend(found)

    def collect(self, callback: BaseCallback, until: int) -> list[Trajectory] | None:
        """One episode in every environment, neighbours on the same problem; the list has their order."""
        assert self.env is not None
        size = self.settings.group_size
        seeds = self.rng.integers(2**31, size=self.n_envs // size).repeat(size)
        self.env.unwrapped.seed_envs(seeds.tolist())  # type: ignore[attr-defined]
        self._last_obs = self.env.reset()  # type: ignore[assignment]
        self._running = [Running(one) for one in self._each(self._last_obs)]
        found: list[Trajectory | None] = [None] * self.n_envs
        callback.on_rollout_start()
        self.policy.set_training_mode(False)
        while any(one is None for one in found):
            actions, _ = self.policy.predict(self._last_obs, deterministic=False)  # type: ignore[arg-type]
            new_obs, rewards, dones, infos = self.env.step(actions)
            self.num_timesteps += sum(one is None for one in found)
            callback.update_locals(locals())
            if not callback.on_step():
                return None
            self._update_info_buffer(infos, dones & np.array([one is None for one in found]))
            self._last_obs = new_obs  # type: ignore[assignment]
            ended = iter(self._taken_down(actions, rewards, dones, infos))
            for i in np.flatnonzero(dones):
                one = next(ended)
                found[i] = found[i] or one
        callback.on_rollout_end()
        return [one for one in found if one is not None]

    def improve(self, pool: Pool, updates: int, *, offline: bool) -> dict[str, float]:
        """See the class.

        Raises:
            TypeError: offline; these episodes are of no group.
        """
        if offline:
            raise TypeError("GRPO learns from its own episodes alone: begin with clone(), then learn()")
        advantages = group_advantages(pool.outcome, self.settings.group_size)[pool.episode]
        useful = np.flatnonzero(advantages)
        told = {"success": float(pool.outcome.mean()), "steps_kept": len(useful) / len(pool)}
        if not len(useful):
            return told
        old = self._log_probs(pool)
        update_learning_rate(self.policy.optimizer, self.lr_schedule(self._current_progress_remaining))
        self.policy.set_training_mode(True)
        losses = []
        for _ in range(updates):
            some = useful[self.rng.integers(len(useful), size=self.settings.batch_size)]
            losses.append(self.minimise(self.policy, self._surrogates(pool, some, old, advantages)))
        self._n_updates += updates
        return told | {"actor_loss": float(np.mean(losses))}

    def _surrogates(
        self, pool: Pool, batch: npt.NDArray[np.int64], old: Tensor, advantages: Floats
    ) -> Iterator[Tensor]:
        """The parts of a batch's loss."""
        for places in pool.alike(batch, PARTS):
            some = batch[places]
            distribution = self.policy.distribution(pool.observations(some, self.device))
            weights = th.as_tensor(advantages[some], dtype=th.float32, device=self.device)
            log_prob = distribution.log_prob(pool.taken(some, self.device))
            loss = clipped_loss(log_prob, old[some], weights, self.settings.clip_range)
            yield (loss - self.settings.ent_coef * distribution.entropy()).sum() / len(batch)

    @th.no_grad()
    def _log_probs(self, pool: Pool) -> Tensor:
        parts = [np.arange(i, min(i + CHUNK, len(pool))) for i in range(0, len(pool), CHUNK)]
        seen = ((self.policy.distribution(pool.observations(p, self.device)), p) for p in parts)
        return th.cat([found.log_prob(pool.taken(part, self.device)) for found, part in seen])
