r"""ExploRS: an intrinsic reward that the agent learns for the sake of the extrinsic one, and a bonus for rare states.

Paper: Devidze, Reward Design for Reinforcement Learning Agents (2025), chapter on agent-driven design; Devidze et al.,
Exploration-Guided Reward Shaping for Reinforcement Learning under Sparse Rewards (2022). "The authors' code" is
github.com/machine-teaching-group/neurips2022_exploration-guided-reward-shaping.
"""

from typing import Any

import numpy as np
import torch as th
from gymnasium.spaces import Discrete
from gymnasium.spaces.utils import flatdim
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import GymEnv, Schedule
from torch import Tensor, nn

from .barfi import to_go
from .base import check_box
from .on_policy.fast_ppo import FastPPO
from .on_policy.rollout import Samples, flat, part_of

CELLS = 2**16
"""Entries of the table of visits, into which cells of observations are hashed."""


def bonus(visits: Tensor, weight: float, limit: float) -> Tensor:
    r""":math:`B = \lambda / \sqrt{(\lambda / B_{max})^2 + N}`: the limit at first, and less with every visit.

    Args:
        visits: N, ``[B]``.
        weight: lambda.
        limit: B_max; 0 for no bonus.
    """
    if not limit or not weight:
        return th.zeros_like(visits)
    return weight / th.sqrt((weight / limit) ** 2 + visits)


def shaping_objective(intrinsic: Tensor, logp: Tensor, actions: Tensor, advantages: Tensor) -> Tensor:
    r"""What the intrinsic reward is to maximise, by a step of a softmax policy whose values it would be.

    .. math::
        \sum_t \pi(a_t|s_t) A_t (R_\phi(s_t, a_t) - \sum_b \pi(b|s_t) R_\phi(s_t, b))

    Args:
        intrinsic: R of all actions, ``[B, n]``, with their graph.
        logp: log-probabilities of all actions, ``[B, n]``.
        actions: taken, ``[B]`` int64.
        advantages: extrinsic ones, ``[B]``.
    """
    shares, taken = logp.exp(), actions[:, None]
    lead = intrinsic.gather(1, taken).squeeze(1) - (shares * intrinsic).sum(dim=1)
    return (shares.gather(1, taken).squeeze(1) * advantages * lead).sum()


class ExploRS(FastPPO):
    r"""PPO on :math:`r + R_\phi(s, a) + B(s')`.

    The intrinsic reward R follows the extrinsic return by one step of the policy (:func:`shaping_objective`), whose
    advantages are the extrinsic returns to go minus a critic of their own; B counts visits of cells of observations
    (:func:`bonus`). Both are added to rewards as the policy learns from them, after these are normalised.

    Departures: PPO on whole rollouts, where the authors' learner is REINFORCE or Q-learning on single episodes; R and
    the extrinsic critic are linear in the observation, where theirs are tables, or networks.

    Args:
        policy: as of :class:`~.on_policy.fast_ppo.FastPPO`.
        env: to learn in; its actions are one choice.
        learning_rate: of the policy.
        n_steps: of each environment in a rollout.
        batch_size: of a minibatch.
        n_epochs: passes over each rollout.
        gamma: discount.
        gae_lambda: lambda of generalised advantage estimation.
        ent_coef: weight of the entropy.
        reward_learning_rate: of R and of the extrinsic critic, by plain gradient steps; at 0 R stays 0.
        bonus_weight: lambda, the authors' 1.
        bonus_limit: B_max, the authors' 1; at 0 there is no bonus.
        cell_width: of a cell along each number of a normalised observation.
        norm_obs: whether observations are normalised.
        norm_reward: whether rewards are divided by the deviation of the discounted return.
        stats_window_size: episodes that logged means are of.
        tensorboard_log: folder of logs.
        policy_kwargs: of the policy.
        verbose: 0 to 2.
        seed: of everything random.
        device: of the networks.
    """

    acts_in = (Discrete,)

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 3e-4,
        n_steps: int = 64,
        batch_size: int = 2048,
        n_epochs: int = 4,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        ent_coef: float = 0.0,
        *,
        reward_learning_rate: float = 0.01,
        bonus_weight: float = 1.0,
        bonus_limit: float = 1.0,
        cell_width: float = 0.5,
        norm_obs: bool = True,
        norm_reward: bool = True,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        self.reward_learning_rate, self.cell_width = reward_learning_rate, cell_width
        self.bonus_weight, self.bonus_limit = bonus_weight, bonus_limit
        self.visits = th.zeros(CELLS)
        common: dict[str, Any] = {"stats_window_size": stats_window_size, "tensorboard_log": tensorboard_log}
        common |= {"policy_kwargs": policy_kwargs, "verbose": verbose, "seed": seed, "device": device}
        common |= {"norm_obs": norm_obs, "norm_reward": norm_reward, "_init_setup_model": _init_setup_model}
        common |= {"gae_lambda": gae_lambda, "ent_coef": ent_coef}
        super().__init__(policy, env, learning_rate, n_steps, batch_size, n_epochs, gamma, **common)

    def _setup_model(self) -> None:
        check_box(type(self), self.observation_space)
        super()._setup_model()
        width, self.choices = flatdim(self.observation_space), int(self.action_space.n)  # type: ignore[attr-defined]
        self.intrinsic, self.extrinsic = nn.Linear(width, self.choices), nn.Linear(width, 1)
        for network in (self.intrinsic, self.extrinsic):
            nn.init.zeros_(network.weight)
            nn.init.zeros_(network.bias)
        self.hashing = th.as_tensor(np.random.default_rng(width).integers(1, 2**31, width))

    def _samples_of(self, rewards: Tensor) -> Samples:
        """Those of the rollout, with the intrinsic reward and the bonus added."""
        rollout = self.rollout_buffer
        chosen = rollout.actions.flatten().long()[:, None]
        with th.no_grad():
            inner = self.intrinsic(self._inputs()).gather(1, chosen).reshape(rewards.shape)
        return super()._samples_of(rewards + (inner + self._bonuses()) * rollout.valid)

    def _bonuses(self) -> Tensor:
        """B of the observations after each step, ``[T, N]``; after an episode's last one, of the next one's first."""
        rollout = self.rollout_buffer
        after: Any = flat(part_of(rollout.observations, slice(1, rollout.n_steps + 1)))
        cells, found = self.cells(after).reshape(rollout.rewards.shape), []
        for row, valid in zip(cells, rollout.valid, strict=True):
            found.append(bonus(self.visits[row], self.bonus_weight, self.bonus_limit))
            self.visits.index_add_(0, row[valid], th.ones(int(valid.sum())))
        return th.stack(found)

    def cells(self, observations: Any) -> Tensor:
        """Entries ``[B]`` of the table of visits that observations ``[B, ...]`` belong to."""
        values = self._read(observations)
        return ((values / self.cell_width).round().long() * self.hashing).sum(dim=1) % CELLS

    def _read(self, observations: Any) -> Tensor:
        """Observations as the policy reads them, ``[B, width]``."""
        read: Tensor = self.policy.normalized(observations)  # type: ignore[operator]
        return read.reshape(len(read), -1).float().cpu()

    def _inputs(self) -> Tensor:
        seen: Any = self._seen
        read: Tensor = seen.reshape(self.rollout_buffer.rewards.numel(), -1).float().cpu()
        return read

    def train(self) -> None:
        """Learns from the last rollout: first the intrinsic reward, then the policy."""
        if self.reward_learning_rate:
            self._learn_intrinsic()
        super().train()
        self.logger.record("train/intrinsic_reward", float(self.intrinsic(self._inputs()).detach().abs().mean()))

    def _learn_intrinsic(self) -> None:
        """A gradient step of R along its objective, and one of the extrinsic critic towards returns."""
        rollout, valid = self.rollout_buffer, self.rollout_buffer.valid.flatten()
        returns = to_go(rollout.rewards * rollout.valid, rollout.terminated | rollout.truncated, self.gamma)
        inputs, targets = self._inputs()[valid], returns.flatten()[valid]
        advantages = targets - self.extrinsic(inputs).squeeze(1)
        actions = rollout.actions.flatten().long()[valid]
        gain = shaping_objective(self.intrinsic(inputs), self._logp_of_all()[valid], actions, advantages.detach())
        loss = advantages.square().mean() / 2 - gain / rollout.n_envs
        parameters = [*self.intrinsic.parameters(), *self.extrinsic.parameters()]
        with th.no_grad():
            for one, slope in zip(parameters, th.autograd.grad(loss, parameters), strict=True):
                one.sub_(self.reward_learning_rate * slope)

    @th.no_grad()
    def _logp_of_all(self) -> Tensor:
        """Log-probabilities ``[T N, n]`` of all actions under the policy that acted."""
        seen: Any = self._seen
        every = []
        for action in range(self.choices):
            chosen = th.full_like(self.rollout_buffer.actions.flatten(), action)
            every.append(self.policy.evaluate_normalized(seen, chosen)[1])  # type: ignore[operator]
        return th.stack(every, dim=1).cpu()

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        return [*names, "intrinsic", "extrinsic"], [*variables, "visits"]

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "hashing"]
