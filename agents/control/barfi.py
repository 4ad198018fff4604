r"""BARFI: the reward that a policy learns from is learnt too, so that the policy does well by the primary reward alone.

    agent = make("barfi", env)
    agent.auxiliary = heuristic  # a function of observations [B, ...] and actions [B, ...] that returns [B]
    agent.learn(20_000)

Paper: Gupta et al., Behavior Alignment via Reward Function Optimization (2023). Of its text the abstract alone was at
hand: the implicit gradient is derived here by the implicit function theorem, and tested against finite differences.
"""

from collections.abc import Callable
from typing import Any

import torch as th
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.spaces.utils import flatdim
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import GymEnv, Schedule
from torch import Tensor, nn

from ..optimizers import Adam
from .base import check_box
from .n_pg_igt_harpg import gradient, hessian_product
from .on_policy.fast_ppo import FastPPO
from .on_policy.rollout import flat, part_of

Auxiliary = Callable[[Tensor, Tensor], Tensor]
Product = Callable[[Tensor], Tensor]


def to_go(rewards: Tensor, ended: Tensor, gamma: Tensor | float) -> Tensor:
    r""":math:`\sum_{j \ge t} \gamma^{j - t} r_j` to the end of each episode or of the rollout, ``[T, N]``.

    Args:
        rewards: ``[T, N]``.
        ended: ``[T, N]``, whether the episode ended with this step.
        gamma: discount; gradients go through it.
    """
    found, total = [], th.zeros_like(rewards[0])
    for step in reversed(range(len(rewards))):
        total = rewards[step] + gamma * total * ~ended[step]
        found.append(total)
    return th.stack(found[::-1])


def inverse_product(product: Product, vector: Tensor, *, terms: int, step: float) -> Tensor:
    r""":math:`(-H)^{-1} u` by a Neumann series, :math:`\eta \sum_{i \le n} (I + \eta H)^i u`.

    It converges where eigenvalues of H lie between :math:`-2 / \eta` and 0, as at a maximum.

    Args:
        product: from a vector to H times it.
        vector: u.
        terms: n.
        step: eta.
    """
    power, total = vector, vector
    for _ in range(terms):
        power = power + step * product(power)
        total = total + power
    return step * total


def along(logp: Tensor, parameters: list[Tensor], vector: Tensor) -> Tensor:
    r""":math:`\langle u, \nabla \log \pi(a_t|s_t) \rangle` of each step, ``[B]``.

    Args:
        logp: ``[B]`` log-probabilities, with their graph.
        parameters: of the policy.
        vector: u, flat.
    """
    dual = th.ones_like(logp, requires_grad=True)
    slopes = th.autograd.grad(logp, parameters, dual, create_graph=True)
    dot = th.cat([slope.reshape(-1) for slope in slopes]) @ vector
    return th.autograd.grad(dot, dual)[0].detach()


def second_order(value: Tensor, parameters: list[Tensor], vector: Tensor) -> Tensor:
    """The Hessian of a function of the parameters times a vector; 0 where it is linear in them or does not know them.

    Args:
        value: of the function, with its graph.
        parameters: of the policy.
        vector: flat.
    """
    zero = th.zeros_like(vector)
    if not value.requires_grad:
        return zero
    slope = _whole(th.autograd.grad(value, parameters, create_graph=True, allow_unused=True), parameters)
    dot = slope @ vector
    if not dot.requires_grad:
        return zero
    return _whole(th.autograd.grad(dot, parameters, allow_unused=True), parameters)


def _whole(slopes: Any, parameters: list[Tensor]) -> Tensor:
    pairs = zip(slopes, parameters, strict=True)
    return th.cat([(th.zeros_like(one) if slope is None else slope).reshape(-1) for slope, one in pairs])


class AlignmentReward(nn.Module):
    r""":math:`r_\phi = \phi_1(s) + \phi_2(s) r_p + \phi_3(s) r_{aux}` and the discount :math:`\gamma_\phi`.

    The three functions are linear in the observation, as the policy reads it; in the beginning they are 0, 1 and 1, the
    sum of both rewards.

    Args:
        width: numbers of an observation.
        gamma: the discount in the beginning.
    """

    def __init__(self, width: int, gamma: float) -> None:
        super().__init__()
        self.weights = nn.Linear(width, 3)
        nn.init.zeros_(self.weights.weight)
        self.weights.bias.data = th.tensor([0.0, 1.0, 1.0])
        self.logit = nn.Parameter(th.logit(th.tensor(float(gamma)), eps=1e-4))

    @property
    def gamma(self) -> Tensor:
        """The discount, between 0 and 1."""
        return th.sigmoid(self.logit)

    def forward(self, observations: Tensor, primary: Tensor, auxiliary: Tensor) -> Tensor:
        """Rewards ``[B]``, given observations ``[B, width]`` and both rewards ``[B]``."""
        first, second, third = self.weights(observations).unbind(dim=1)
        mixed: Tensor = first + second * primary + third * auxiliary
        return mixed


class BARFI(FastPPO):
    r"""REINFORCE on a behaviour alignment reward, which an outer loop improves by the implicit gradient.

    The policy's parameters :math:`\theta` follow :math:`\Delta`, the policy gradient of :math:`r_\phi` and the entropy;
    the reward's follow what that changes in the primary return J, where the policy has converged,
    :math:`\Delta(\theta, \phi) = 0`:

    .. math::
        \Delta = E \sum_t \nabla \log \pi(a_t|s_t) \sum_{j \ge t} \gamma_\phi^{j - t} r_\phi(s_j, a_j)
            + \lambda \nabla H, \quad
        \frac{dJ}{d\phi} = \nabla_\theta J^\top (-\nabla_\theta \Delta)^{-1} \nabla_\phi \Delta
            - \lambda_\gamma \nabla_\phi \gamma_\phi

    The inverse is a Neumann series of Hessian-vector products. With a misleading auxiliary reward its weight
    :math:`\phi_3` should fall, with a helpful one it should stay.

    Departures: one on-policy update of the policy a rollout, and every ``inner_updates`` rollouts one of the reward
    from the same rollout, where the paper's inner loop runs for longer on stored data between two of the outer;
    functions of the state are linear; the mean over environments is subtracted from returns; Adam for both.

    Args:
        policy: as of :class:`~.on_policy.fast_ppo.FastPPO`; its value network is not used.
        env: to learn in; its reward is the primary one.
        learning_rate: of the policy.
        n_steps: of each environment in a rollout.
        gamma: discount of the primary return, and of r_phi in the beginning.
        ent_coef: lambda, weight of the entropy.
        reward_learning_rate: of r_phi; at 0 it stays the sum of both rewards.
        inner_updates: updates of the policy for each of r_phi.
        implicit_terms: of the Neumann series.
        implicit_step: eta of the Neumann series.
        gamma_coef: lambda_gamma, what a discount of 1 costs.
        norm_obs: whether observations are normalised.
        stats_window_size: episodes that logged means are of.
        tensorboard_log: folder of logs.
        policy_kwargs: of the policy.
        verbose: 0 to 2.
        seed: of everything random.
        device: of the networks.

    Attributes:
        auxiliary: function of a batch of observations and actions, as the environment gives and takes them, that
            returns the auxiliary rewards ``[B]``; 0 everywhere if None. Checkpoints hold no functions: set it again.
    """

    acts_in = (Box, Discrete, MultiDiscrete)

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 3e-3,
        n_steps: int = 64,
        gamma: float = 0.99,
        ent_coef: float = 0.01,
        *,
        reward_learning_rate: float = 0.02,
        inner_updates: int = 1,
        implicit_terms: int = 5,
        implicit_step: float = 0.1,
        gamma_coef: float = 0.0,
        norm_obs: bool = False,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        self.reward_learning_rate, self.inner_updates, self.gamma_coef = (
            reward_learning_rate,
            inner_updates,
            gamma_coef,
        )
        self.implicit_terms, self.implicit_step = implicit_terms, implicit_step
        self.auxiliary: Auxiliary | None = None
        self.iteration = th.zeros(1)
        common: dict[str, Any] = {"stats_window_size": stats_window_size, "tensorboard_log": tensorboard_log}
        common |= {"policy_kwargs": policy_kwargs, "verbose": verbose, "seed": seed, "device": device}
        common |= {"norm_obs": norm_obs, "norm_reward": False, "_init_setup_model": _init_setup_model}
        super().__init__(policy, env, learning_rate, n_steps, gamma=gamma, ent_coef=ent_coef, **common)

    def _setup_model(self) -> None:
        check_box(type(self), self.observation_space)
        super()._setup_model()
        self.alignment = AlignmentReward(flatdim(self.observation_space), self.gamma).to(self.device)
        self.alignment_optimizer = Adam(self.alignment.parameters(), self.reward_learning_rate)

    def _parameters(self) -> list[Tensor]:
        return [one for name, one in self.policy.named_parameters() if "value" not in name]

    def train(self) -> None:
        """Learns from the last rollout: the policy, and every so often the reward before it."""
        self._update_learning_rate(self.policy.optimizer)
        self._samples()  # moments of observations take in what was seen
        self.iteration += 1
        if self.reward_learning_rate and int(self.iteration) % self.inner_updates == 0:
            self._improve_reward()
        weights = self._centred(to_go(self._rewards(), self._ended(), self.alignment.gamma)).detach()
        logp, entropy = self._evaluated()
        loss = -(logp * weights).sum() / self._episodes() - self.ent_coef * entropy.sum() / self._episodes()
        self.policy.optimizer.zero_grad()
        th.autograd.backward(loss)
        self.policy.optimizer.step()
        self._n_updates += 1
        self.logger.record("train/gamma_phi", float(self.alignment.gamma.detach()))
        for i, mean in enumerate(self.alignment.weights(self._inputs()).mean(dim=0).tolist(), 1):
            self.logger.record(f"train/phi_{i}", mean)

    def _improve_reward(self) -> None:
        """A step of the reward's parameters along the implicit gradient."""
        parameters, count = self._parameters(), self._episodes()
        primary = self._centred(to_go(self._primary(), self._ended(), self.gamma))
        inner = self._centred(to_go(self._rewards(), self._ended(), self.alignment.gamma))

        def product(vector: Tensor) -> Tensor:
            return self._hessian_product(vector, inner.detach())

        slope = gradient(self._evaluated()[0], primary, count, parameters)
        wanted = inverse_product(product, slope, terms=self.implicit_terms, step=self.implicit_step)
        steps = along(self._evaluated()[0], parameters, wanted)
        gain = (steps * inner).sum() / count - self.gamma_coef * self.alignment.gamma
        self.alignment_optimizer.zero_grad()
        th.autograd.backward(-gain)
        self.alignment_optimizer.step()

    def _hessian_product(self, vector: Tensor, weights: Tensor) -> Tensor:
        r""":math:`\nabla_\theta \Delta` times a vector; of the entropy's share the states stay as they are."""
        parameters = self._parameters()
        found = hessian_product(self._evaluated()[0], weights, self._which(), parameters, vector)
        return found + second_order(self.ent_coef * self._evaluated()[1].sum() / self._episodes(), parameters, vector)

    def _evaluated(self) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies of the rollout's valid steps, ``[B]``, with their graph."""
        valid = self._valid()
        actions = self.rollout_buffer.actions.flatten(0, 1)[valid]
        _, logp, entropy = self.policy.evaluate_normalized(self._seen[valid], actions)  # type: ignore[operator, index]
        return logp, entropy

    def _valid(self) -> Tensor:
        return self.rollout_buffer.valid.flatten()

    def _ended(self) -> Tensor:
        return self.rollout_buffer.terminated | self.rollout_buffer.truncated

    def _primary(self) -> Tensor:
        return self.rollout_buffer.rewards * self.rollout_buffer.valid

    def _inputs(self) -> Tensor:
        """Observations as the policy reads them, ``[T N, width]``."""
        return self._seen.reshape(self.rollout_buffer.rewards.numel(), -1).float()  # type: ignore[union-attr]

    def _rewards(self) -> Tensor:
        """r_phi, ``[T, N]``, with its graph."""
        rollout, helped = self.rollout_buffer, th.zeros(self.rollout_buffer.rewards.numel())
        if self.auxiliary is not None:
            seen: Any = flat(part_of(rollout.observations, slice(0, rollout.n_steps)))
            helped = self.auxiliary(seen, rollout.actions.flatten(0, 1))
            if helped.shape != (rollout.rewards.numel(),) or not bool(th.isfinite(helped).all()):
                raise ValueError(f"an auxiliary reward is finite and of shape [B], got shape {tuple(helped.shape)}")
        mixed = self.alignment(self._inputs(), self._primary().flatten(), helped)
        rewards: Tensor = mixed.reshape(rollout.rewards.shape) * rollout.valid
        return rewards

    def _centred(self, returns: Tensor) -> Tensor:
        """Returns ``[T, N]`` minus their mean over environments, where there are several; of valid steps, ``[B]``."""
        centred = returns - returns.mean(dim=1, keepdim=True) if returns.shape[1] > 1 else returns
        return centred.flatten()[self._valid()]

    def _which(self) -> Tensor:
        """The trajectory of each valid step, ``[B]``: 0, 1, ..."""
        ended = self._ended()
        starts = th.cat([th.ones_like(ended[:1]), ended[:-1]])
        which = (starts.cumsum(dim=0) - 1) * self.n_envs + th.arange(self.n_envs)
        found: Tensor = th.unique(which.flatten()[self._valid()], return_inverse=True)[1]
        return found

    def _episodes(self) -> int:
        """Trajectories of the rollout, those that it cuts off included."""
        return int(self._which().max()) + 1

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        return [*names, "alignment", "alignment_optimizer"], [*variables, "iteration"]

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "auxiliary"]
