r"""N-PG-IGT and HARPG: policy gradients with a momentum that is corrected for having been measured elsewhere.

Paper: Fatkhullin et al., Stochastic Policy Gradient Methods: Improved Sample Complexity for Fisher-non-degenerate
Policies (2023), algorithms 1 and 2.
"""

from typing import Any

import torch as th
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import GymEnv, Schedule
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ... import unknown
from .on_policy.fast_ppo import FastPPO
from .on_policy.rollout import Rollout, part_of
from .on_policy.shown import Shown
from .on_policy.sources import source_of

VARIANTS = ("n-pg-igt", "n-harpg", "harpg", "n-pg")
"""The paper's, and normalised policy gradient without momentum, their baseline."""


def to_go(rewards: Tensor, starts: Tensor, gamma: float) -> Tensor:
    r""":math:`\sum_{h \ge t} \gamma^h r_h` to the end of each trajectory, h counted from its beginning; ``[T, N]``.

    Args:
        rewards: ``[T, N]``.
        starts: ``[T, N]``, whether a trajectory begins with this step.
        gamma: discount.
    """
    found, age, total = th.zeros_like(rewards), th.zeros_like(rewards), th.zeros_like(rewards[0])
    for step in range(1, len(rewards)):
        age[step] = (age[step - 1] + 1) * ~starts[step]
    paid = gamma**age * rewards
    for step in reversed(range(len(rewards))):
        total = paid[step] + total
        found[step] = total
        total = total * ~starts[step]
    return found


def gradient(logp: Tensor, weights: Tensor, count: int, parameters: list[Tensor]) -> Tensor:
    r"""The estimate :math:`g = \frac1n \sum_\tau \sum_t w_t \nabla \log \pi(a_t|s_t)` over n trajectories, flat."""
    return _flat(th.autograd.grad((logp * weights).sum() / count, parameters))


def hessian_product(logp: Tensor, weights: Tensor, which: Tensor, parameters: list[Tensor], along: Tensor) -> Tensor:
    r"""The estimate of the Hessian of the return times ``along``, flat, without forming either.

    With :math:`\Phi_\tau = \sum_t w_t \log \pi(a_t|s_t)` it is the mean over trajectories of

    .. math::
        \nabla \Phi_\tau \langle \nabla \log p_\tau, u \rangle + \nabla^2 \Phi_\tau u

    Args:
        logp: ``[B]`` log-probabilities, with their graph.
        weights: ``[B]`` discounted rewards to go.
        which: ``[B]`` the trajectory of each step, 0, 1, ...
        parameters: of the policy.
        along: u.
    """
    count = int(which.max()) + 1
    of_each = logp.new_zeros(count).index_add(0, which, logp)  # log p of each trajectory, but for the environment
    dual = th.ones(count, requires_grad=True)
    dot = _flat(th.autograd.grad(of_each, parameters, dual, create_graph=True)) @ along
    scores = th.autograd.grad(dot, dual, retain_graph=True)[0].detach()
    phi = (logp * weights).sum() / count
    slope = _flat(th.autograd.grad(phi, parameters, create_graph=True))
    second = _flat(th.autograd.grad(slope @ along, parameters, retain_graph=True, allow_unused=True), parameters)
    return gradient(logp, weights * scores[which], count, parameters) + second


def _flat(parts: Any, like: list[Tensor] | None = None) -> Tensor:
    if like is not None:
        parts = [th.zeros_like(one) if part is None else part for part, one in zip(parts, like, strict=True)]
    return th.cat([part.reshape(-1) for part in parts])


class MomentumPG(FastPPO):
    r"""REINFORCE with a corrected momentum d, a step of fixed length along it, and no value function.

    N-PG-IGT acts at parameters beyond the present ones, where a gradient stands for those before as well:

    .. math::
        \tilde\theta = \theta_t + \tfrac{1 - \eta}{\eta} (\theta_t - \theta_{t-1}), \quad
        d_t = (1 - \eta) d_{t-1} + \eta g(\tilde\theta), \quad \theta_{t+1} = \theta_t + \gamma_t d_t / |d_t|

    HARPG carries d along by the Hessian at a random point between the last two parameters, of trajectories of its own:

    .. math::
        d_t = (1 - \eta) (d_{t-1} + B(\hat\theta) (\theta_t - \theta_{t-1})) + \eta g(\theta_t)

    "harpg" goes by :math:`\gamma_t d_t`, "n-harpg" by its direction alone. "n-pg", a step along g, is their baseline.
    :math:`\eta = (2 / (t + 2))^p`, p 4/5 for N-PG-IGT and 1 for HARPG. Every iteration begins new episodes; g has
    rewards to go, discounted from the beginning of the episode, and no baseline, as in the paper.

    Departures: an iteration has a trajectory an environment, of at most ``n_steps``, and more where episodes are
    shorter, where the paper's has one; the constant of eta's schedule and the constant step length are ours.

    Args:
        policy: as of :class:`~.on_policy.fast_ppo.FastPPO`; its value network is not used.
        env: to learn in.
        learning_rate: gamma_t: the length of a step, or for "harpg" a factor.
        n_steps: the most steps of a trajectory.
        gamma: discount.
        variant: one of :data:`VARIANTS`.
        momentum_power: p; the variant's own if None.
        norm_obs: whether observations are normalised.
        norm_reward: whether rewards are divided by the deviation of the discounted return.
        stats_window_size: episodes that logged means are of.
        tensorboard_log: folder of logs.
        policy_kwargs: of the policy.
        verbose: 0 to 2.
        seed: of everything random.
        device: of the networks.
    """

    acts_in = (Box, Discrete, MultiDiscrete)

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 0.05,
        n_steps: int = 64,
        gamma: float = 0.99,
        *,
        variant: str = "n-pg-igt",
        momentum_power: float | None = None,
        norm_obs: bool = False,
        norm_reward: bool = False,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        if variant not in VARIANTS:
            raise ValueError(unknown("variant", variant, VARIANTS))
        self.variant, self.momentum_power = variant, momentum_power
        self.phase = th.zeros(2)  # iteration, and whether the next rollout is for the Hessian: checkpoints hold it
        common: dict[str, Any] = {"stats_window_size": stats_window_size, "tensorboard_log": tensorboard_log}
        common |= {"policy_kwargs": policy_kwargs, "verbose": verbose, "seed": seed, "device": device}
        common |= {"norm_obs": norm_obs, "norm_reward": norm_reward, "_init_setup_model": _init_setup_model}
        super().__init__(policy, env, learning_rate, n_steps, gamma=gamma, **common)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.center = self._now()  # theta_t
        self.before = self.center.clone()  # theta_{t-1}
        self.direction, self.carried = th.zeros_like(self.center), th.zeros_like(self.center)

    @property
    def iteration(self) -> int:
        """t, the steps of the parameters so far."""
        return int(self.phase[0])

    @property
    def at_midpoint(self) -> bool:
        """Whether the next rollout is acted between the last two parameters."""
        return bool(self.phase[1])

    @property
    def eta(self) -> float:
        """The weight of a new gradient."""
        power = {"n-pg-igt": 0.8, "n-pg": 0.0}.get(self.variant, 1.0)
        power = power if self.momentum_power is None else self.momentum_power
        return float((2 / (self.iteration + 2)) ** power)

    def _parameters(self) -> list[Tensor]:
        return [one for name, one in self.policy.named_parameters() if "value" not in name]

    def _now(self) -> Tensor:
        return _flat([one.detach() for one in self._parameters()]).clone()

    @th.no_grad()
    def _put(self, flat: Tensor) -> None:
        parameters = self._parameters()
        for one, part in zip(parameters, th.split(flat, [one.numel() for one in parameters]), strict=True):
            one.copy_(part.view_as(one))

    def acting_at(self) -> Tensor:
        """The parameters that the next rollout is acted with."""
        moved = self.center - self.before
        if self.variant == "n-pg-igt":
            return self.center + (1 - self.eta) / self.eta * moved
        return self.before + float(th.rand(())) * moved if self.at_midpoint else self.center

    def collect_rollouts(  # type: ignore[override]
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: Rollout, n_rollout_steps: int
    ) -> bool:
        """New episodes, acted with :meth:`acting_at`; for callbacks and afterwards the policy is the learnt one."""
        self._last_obs = env.reset()  # type: ignore[assignment]
        self._source = source_of(env)
        self.reward_scale.reset(env.num_envs)
        self.acted = self.acting_at()
        self._put(self.acted)
        seen: Any = Shown(callback, lambda: self._put(self.center), lambda: self._put(self.acted))
        try:
            return super().collect_rollouts(env, seen, rollout_buffer, n_rollout_steps)
        finally:
            self._put(self.center)

    def train(self) -> None:
        """Learns from the last rollout: a step, or first what carries the momentum along."""
        rollout = self.rollout_buffer
        self._samples()  # moments of observations and rewards take in what was seen
        rewards = rollout.rewards / float(self.reward_scale.var) ** 0.5 if self.norm_reward else rollout.rewards
        ended = rollout.terminated | rollout.truncated
        starts = th.cat([th.ones_like(ended[:1]), ended[:-1]])
        valid = rollout.valid.flatten()
        weights = to_go(rewards * rollout.valid, starts, self.gamma).flatten()[valid]
        which = (starts.cumsum(dim=0) - 1) * self.n_envs + th.arange(self.n_envs)
        which = th.unique(which.flatten()[valid], return_inverse=True)[1]
        self._put(self.acted)
        parameters = self._parameters()
        actions = rollout.actions.flatten(0, 1)[valid]
        _, logp, _ = self.policy.evaluate_normalized(part_of(self._seen, valid), actions)  # type: ignore[operator]
        count = int(which.max()) + 1
        if self.at_midpoint:
            moved = self.center - self.before
            self.carried = hessian_product(logp, weights, which, parameters, moved)
            self._put(self.center)
        else:
            found = gradient(logp, weights, count, parameters)
            self._step(found)
        self.phase[1] = "harpg" in self.variant and not self.at_midpoint

    def _step(self, found: Tensor) -> None:
        """Takes in a gradient, and moves."""
        self._update_learning_rate(self.policy.optimizer)
        eta, length = self.eta, float(self.lr_schedule(self._current_progress_remaining))
        self.direction = (1 - eta) * (self.direction + self.carried) + eta * found
        norm = float(self.direction.norm())
        scale = length if self.variant == "harpg" else length / norm if norm > 0 else 0.0
        self.before, self.center = self.center, self.center + scale * self.direction
        self._put(self.center)
        self.phase[0] += 1
        self._n_updates += 1
        self.logger.record("train/gradient_norm", float(found.norm()))
        self.logger.record("train/momentum_norm", norm)

    def set_parameters(self, *args: Any, **kwargs: Any) -> None:
        """As in SB3; the momentum goes on from there."""
        super().set_parameters(*args, **kwargs)
        self.center = self._now()

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        return names, [*variables, "before", "direction", "carried", "phase"]

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "center", "acted"]
