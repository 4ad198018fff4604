"""SAC's whole update as one function of tensors that ``torch.compile`` turns into machine code.

The update of :mod:`.sac` spends a third of its time (in bf16: half) between the matrix products: on small operations
and on the interpreter. Here the same update is written without modules and optimisers, on the very tensors that these
hold, so that a compiler can fuse all of it. It needs a C++ compiler, and half a minute the first time (seconds, once
PyTorch has it in its cache); it pays from some ten thousand updates on. ``tests/agents/control/test_compiled.py`` holds
it to the readable update.
"""

import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch as th
from torch import Tensor
from torch.func import grad_and_value

from .networks import EPSILON, HALF_LOG_TAU, LOG_STD_RANGE
from .replay import Batch
from .updates import Plan

if TYPE_CHECKING:
    from .sac import SAC

Tensors = list[Tensor]


class Learned(NamedTuple):
    """The parameters of a network, and what Adam remembers of each (but how often it stepped)."""

    params: Tensors
    firsts: Tensors
    seconds: Tensors


def perceptrons(x: Tensor, plan: Plan, params: Sequence[Tensor]) -> Tensor:
    """As :class:`.updates.Mlp`, in operations that a compiler may differentiate: ``[n, B, in]`` to ``[n, B, out]``."""
    step = 4 if plan.layer_norm else 2
    h = x
    for i in range(0, len(params) - 2, step):
        z = th.bmm(plan.lowered(h), plan.lowered(params[i])) + plan.lowered(params[i + 1])  # the sum joins what follows
        if plan.layer_norm:
            z = th.nn.functional.layer_norm(z, z.shape[-1:], eps=1e-6)
            z = params[i + 3] + z * params[i + 2]
        h = plan.activation.pure(z)
    h = h.to(x.dtype)
    if params[-2].shape[-1] == 1:
        return (h * params[-2].transpose(1, 2)).sum(-1, keepdim=True) + params[-1]
    return th.baddbmm(params[-1], h, params[-2])


def drawn(out: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """As :meth:`.networks.SquashedGaussian.action_log_prob`."""
    mean, raw = out.chunk(2, dim=-1)
    log_std = raw.clamp(*LOG_STD_RANGE)
    actions = (mean + log_std.exp() * noise).tanh()
    gap = 1 - actions * actions + EPSILON
    return actions, (-0.5 * noise * noise - log_std - gap.log() - HALF_LOG_TAU).sum(-1)


def adam(learned: Learned, grads: Sequence[Tensor], scales: Tensor) -> None:
    """Adam's step with torch's default constants, in place; ``scales`` as from :func:`counted`."""
    for param, grad, first, second in zip(learned.params, grads, *learned[1:], strict=True):
        first.lerp_(grad, 0.1)
        second.mul_(0.999).addcmul_(grad, grad, value=0.001)
        param.sub_(scales[0] * first / (scales[1] * second.sqrt() + 1e-8))


def counted(optimizer: Any) -> Tensor:
    """Counts a step of :class:`.updates.Adam`; the factors of its moments for this step, the same for all parameters.

    They are found here, since a compiler would raise to powers anew for every few parameters.
    """
    *_, (count, *_) = optimizer.lists
    step = int(count.add_(1))
    return th.tensor([optimizer.param_groups[0]["lr"] / (1 - 0.9**step), (1 - 0.999**step) ** -0.5])


class CompiledUpdate:
    """The update of one agent; it changes the agent's own parameters, targets and optimiser states.

    Raises:
        ValueError: settings that it does not cover.
        RuntimeError: there is no C++ compiler.
    """

    def __init__(self, agent: "SAC") -> None:
        if agent.critic.head.n_out != 1 or not agent.actor._flat or agent.device.type != "cpu":
            raise ValueError("compiled=True is for flat observations, squared-error critics and the CPU: leave it out")
        if agent.policy.optimizer_kwargs or agent.actor.log_std_line is not None:
            raise ValueError(
                "compiled=True knows neither optimizer_kwargs nor log_std_offset: leave out one or the other"
            )
        if not any(map(shutil.which, ("c++", "g++", "clang++", "cl"))):
            raise RuntimeError("compiled=True needs a C++ compiler: install one (Debian: g++), or leave it out")
        self._agent = agent
        self._known: tuple[Any, ...] = ()
        self._actor_plan, self._critic_plan = agent.actor.net.plan, agent.critic.net.plan
        self._critics: Callable[..., Any] = th.compile(self._update_critics, fullgraph=True, dynamic=False)
        self._both: Callable[..., Any] = th.compile(self._update_both, fullgraph=True, dynamic=False)

    def __call__(self, batch: Batch, with_actor: bool) -> dict[str, Tensor]:
        """One update; the actor and the temperature move only if ``with_actor``."""
        agent = self._agent
        n, shape = agent.critic.net.n, batch.actions.shape
        noise = th.randn(shape)  # all drawn in the order of the readable update
        other_noise = th.randn(shape) if with_actor else noise
        members = (
            th.arange(n) if agent.settings.critic_subset is None else th.randperm(n)[: agent.settings.critic_subset]
        )
        scales = counted(agent.critic.optimizer)
        actor, temperature, *tensors = self._tensors()
        with th.no_grad():
            if not with_actor:
                q = self._critics(actor.params, *tensors, tuple(batch[:5]), noise, members, scales)
                return {"critic_loss": q[0], "q": q[1]}
            noises, others = (noise, other_noise), counted(agent.actor.optimizer)
            if agent.ent_coef_optimizer is not None:
                counted(agent.ent_coef_optimizer)  # in step with the actor's
            told = self._both(actor, temperature, *tensors, tuple(batch[:5]), noises, members, scales, others)
        return dict(zip(("critic_loss", "q", "actor_loss", "ent_coef"), told, strict=True))

    def _tensors(self) -> tuple[Learned, Learned | None, Learned, Tensors, Tensor]:
        """Everything that is learnt; looked up anew only where an optimiser's state was loaded meanwhile."""
        agent = self._agent
        optimizers: tuple[Any, ...] = (agent.actor.optimizer, agent.ent_coef_optimizer, agent.critic.optimizer)
        lists = [None if optimizer is None else optimizer.lists for optimizer in optimizers]
        if not self._known or any(new is not old for new, old in zip(lists, self._known[0], strict=True)):
            actor, temperature, critic = (None if found is None else _learned(found) for found in lists)
            targets = [param.detach() for param in agent.critic_target.net.weights]
            self._known = (lists, (actor, temperature, critic, targets, agent._temperature.log.detach()))
        found: tuple[Learned, Learned | None, Learned, Tensors, Tensor] = self._known[1]
        return found

    def _update_critics(
        self,
        actor: Tensors,
        critic: Learned,
        targets: Tensors,
        log_ent_coef: Tensor,
        batch: tuple[Tensor, ...],
        noise: Tensor,
        members: Tensor,
        scales: Tensor,
    ) -> tuple[Tensor, Tensor]:
        observations, actions, rewards, next_observations, discounts = batch
        n = critic.params[0].shape[0]
        next_actions, log_prob = drawn(perceptrons(next_observations[None], self._actor_plan, actor)[0], noise)
        x = th.cat([next_observations, next_actions], 1).expand(n, -1, -1)
        value = perceptrons(x, self._critic_plan, targets)[..., 0].index_select(0, members).amin(0)
        if self._agent.settings.backup_entropy:
            value = value - log_ent_coef.exp() * log_prob
        target = rewards + discounts * value
        x = th.cat([observations, actions], 1).expand(n, -1, -1)

        def loss(params: Tensors) -> tuple[Tensor, Tensor]:
            q = perceptrons(x, self._critic_plan, params)[..., 0]
            return (0.5 * (q - target) ** 2).mean(1).sum(), q.mean()

        grads, (found, q) = grad_and_value(loss, has_aux=True)(critic.params)
        adam(critic, grads, scales)
        for slow, param in zip(targets, critic.params, strict=True):
            slow.lerp_(param, self._agent.tau)
        return found, q

    def _update_both(
        self,
        actor: Learned,
        temperature: Learned | None,
        critic: Learned,
        targets: Tensors,
        log_ent_coef: Tensor,
        batch: tuple[Tensor, ...],
        noise: tuple[Tensor, Tensor],
        members: Tensor,
        scales: Tensor,
        others: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        found, q = self._update_critics(actor.params, critic, targets, log_ent_coef, batch, noise[0], members, scales)
        observations, ent_coef, n = batch[0], log_ent_coef.exp(), critic.params[0].shape[0]

        def loss(params: Tensors) -> tuple[Tensor, Tensor]:
            actions, log_prob = drawn(perceptrons(observations[None], self._actor_plan, params)[0], noise[1])
            x = th.cat([observations, actions], 1).expand(n, -1, -1)
            values = perceptrons(x, self._critic_plan, critic.params)[..., 0]
            value = values.min(0).values if self._agent.settings.actor_objective == "min" else values.mean(0)
            return (ent_coef * log_prob - value).mean(), log_prob.mean()

        grads, (actor_loss, log_prob) = grad_and_value(loss, has_aux=True)(actor.params)
        adam(actor, grads, others)
        if temperature is not None:
            adam(temperature, [-(log_prob + self._agent._temperature.entropy_target).view(1)], others)
        return found, q, actor_loss, ent_coef


def _learned(lists: tuple[Tensors, ...]) -> Learned:
    params, firsts, seconds, _ = lists
    return Learned([param.detach() for param in params], firsts, seconds)
