"""Group-relative policy optimisation on recorded steps: several actions tried at each, compared by a rule.

What :mod:`.ui_r1`, :mod:`.ui_s1` and :mod:`.craft_gui` share. No environment is asked: an action is as good as it
agrees with the recorded one (:mod:`.action_match`). The loss is that of GRPO (:mod:`.phone_grpo`).
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.common.utils import update_learning_rate
from torch import Tensor

from .action_match import Agreement, agreement
from .phone_grpo import clipped_loss, group_advantages
from .trajectories import Pool
from .trajectory_agent import CHUNK, TrajectoryAgent, TrajectorySettings

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SLIGHT = 1e-6
"""Advantages below this are rounding errors of groups whose members are alike."""


class Attempts(NamedTuple):
    """Actions tried at S recorded steps, G at each.

    Attributes:
        steps: of the pool ``[S]``.
        actions: ``[S, G, 5]``.
        log_prob: under the policy that they were drawn from ``[S, G]``.
        advantages: ``[S, G]``.
        counted: which of them are learnt from ``[S, G]``.
    """

    steps: Ints
    actions: Tensor
    log_prob: Tensor
    advantages: Floats
    counted: Bools


@dataclass(frozen=True)
class RecordedStepsSettings(TrajectorySettings):
    """What agents take that try actions at recorded steps, beside what all agents of whole episodes do.

    Args:
        group_size: actions tried at each step, at least 2.
        rollout_updates: of the actor on actions that were tried, before others are.
        clip_range: epsilon of the clipped ratio.
        ent_coef: weight of the entropy.
    """

    _: KW_ONLY
    learning_rate: float | Schedule = 3e-4
    group_size: int = 8
    rollout_updates: int = 4
    clip_range: float = 0.2
    ent_coef: float = 0.0

    def __post_init__(self) -> None:
        if self.group_size < 2:
            raise ValueError(f"group_size is at least 2, since actions are compared in groups, got {self.group_size}")


class RecordedSteps(TrajectoryAgent):
    """Tries actions at the steps of successful episodes; a method says how good they are (:meth:`tried`).

    Failed episodes show no expert and are left out. In :meth:`learn` the agent's own successes join the recorded ones.
    """

    settings: RecordedStepsSettings

    @abstractmethod
    def tried(self, pool: Pool, experts: Ints, progress: float) -> Attempts:
        """Actions tried at some steps, with their advantages.

        Args:
            pool: the episodes.
            experts: numbers of those that are learnt from.
            progress: share of the updates that are done, from 0 to below 1.
        """

    def improve(self, pool: Pool, updates: int, *, offline: bool) -> dict[str, float]:
        """See the class; where nothing succeeded nothing is learnt."""
        experts = np.flatnonzero(pool.outcome > 0)
        told = {"episodes_kept": len(experts) / len(pool.outcome)}
        if not len(experts):
            return told
        update_learning_rate(self.policy.optimizer, self.lr_schedule(self._current_progress_remaining))
        losses: list[float] = []
        reached: list[float] = []
        for done in range(0, updates, self.settings.rollout_updates):
            progress = done / updates if offline else 1 - self._current_progress_remaining
            attempts = self.tried(pool, experts, min(progress, np.nextafter(1, 0)))
            reached.append(float(attempts.counted.mean()) if attempts.counted.size else 0.0)
            losses += self.learnt(pool, attempts, min(self.settings.rollout_updates, updates - done))
        self._n_updates += len(losses)
        means = {"actor_loss": losses, "actions_kept": reached}
        return told | {name: float(np.mean(values)) for name, values in means.items() if values}

    def learnt(self, pool: Pool, attempts: Attempts, updates: int) -> list[float]:
        """Updates of the actor on steps where one action was better than another; the losses, none where none was."""
        told = attempts.counted & (np.abs(attempts.advantages) > SLIGHT)
        useful = np.flatnonzero(told.any(1))
        if not len(useful):
            return []
        self.policy.set_training_mode(True)
        weights, counted = (
            th.as_tensor(part, dtype=th.float32, device=self.device) for part in (attempts.advantages, attempts.counted)
        )
        losses = []
        for _ in range(updates):
            some = useful[self.rng.integers(len(useful), size=self.settings.batch_size)]
            distribution = self.policy.distribution(pool.observations(attempts.steps[some], self.device))
            log_prob = th.stack([distribution.log_prob(one) for one in attempts.actions[some].unbind(1)], 1)
            loss = clipped_loss(log_prob, attempts.log_prob[some], weights[some], self.settings.clip_range)
            mean = (loss * counted[some]).sum() / counted[some].sum()
            losses.append(self.minimise(self.policy, mean - self.settings.ent_coef * distribution.entropy().mean()))
        return losses

    # -- parts of methods ----------------------------------------------------------------------------------------

    def compared(self, pool: Pool, episodes: Ints, reward: Callable[[Agreement], Floats]) -> Attempts:
        """Actions tried at steps of these episodes, drawn evenly, each compared with the others at its step.

        Args:
            pool: the episodes.
            episodes: numbers of some.
            reward: of actions ``[S, G]``.
        """
        steps = np.flatnonzero(np.isin(pool.episode, episodes))
        steps = steps[filled(self.rng, len(steps), self.settings.batch_size * self.settings.rollout_updates)]
        actions, log_prob = self.attempt(pool, steps)
        rewards = reward(self.agree(pool, steps, actions))
        advantages = group_advantages(rewards.reshape(-1), rewards.shape[1]).reshape(rewards.shape)
        return Attempts(steps, actions, log_prob, advantages, np.ones(rewards.shape, np.bool_))

    @th.no_grad()
    def attempt(self, pool: Pool, steps: Ints) -> tuple[Tensor, Tensor]:
        """Actions ``[S, G, 5]`` drawn from the policy at recorded steps, and their log-probabilities ``[S, G]``."""
        self.policy.set_training_mode(False)
        actions, log_prob = [], []
        for i in range(0, len(steps), CHUNK):
            distribution = self.policy.distribution(pool.observations(steps[i : i + CHUNK], self.device))
            drawn = [distribution.actions() for _ in range(self.settings.group_size)]
            actions.append(th.stack(drawn, 1))
            log_prob.append(th.stack([distribution.log_prob(one) for one in drawn], 1))
        return th.cat(actions), th.cat(log_prob)

    def agree(self, pool: Pool, steps: Ints, actions: Tensor) -> Agreement:
        """Of actions ``[S, G, 5]`` with those recorded at the steps; all ``[S, G]``."""
        shape = actions.shape[:2]
        seen = {name: part.numpy() for name, part in pool.observations(steps, "cpu").items()}
        every = np.repeat(np.arange(shape[0]), shape[1])
        flat: Any = actions.reshape(-1, actions.shape[2]).cpu().numpy()
        found = agreement(flat, pool.actions[steps][every], seen["elements"][every], seen["goal"][every])
        return Agreement(found.verb.reshape(shape), found.exact.reshape(shape), found.graded.reshape(shape))


def filled(rng: np.random.Generator, n: int, wanted: int) -> Ints:
    """``wanted`` numbers below ``n`` in a random order, none of them again before all have been drawn."""
    rounds = [rng.permutation(n) for _ in range(-(-wanted // n))]
    return np.concatenate(rounds)[:wanted].astype(np.int64)
