"""Steps of critics and actors with their backward passes written out: autograd builds no graph and calls no hooks.

For flat observations, critics with one output that learn by squared error, and the squashed Gaussian actor: what SAC,
TD3 and their relatives are by default. Gradients are those of :mod:`.soft`'s readable steps but for rounding, which
``tests/agents/control/test_explicit.py`` holds them to; anything else takes the readable steps.
"""

from typing import Any, NamedTuple, cast

import torch as th
from torch import Tensor

from .actor_critic import Metrics
from .heads import SquaredError
from .networks import EPSILON, HALF_LOG_TAU, LOG_STD_RANGE, Critics, SquashedGaussian
from .replay import Batch
from .updates import Adam, backward, forward, through_least


class Drawn(NamedTuple):
    """Drawn actions, and what the backward pass needs of them."""

    actions: Tensor  # [B, A]
    log_prob: Tensor  # [B]
    gap: Tensor  # [B, A] 1 - a^2, guarded
    spread: Tensor  # [B, A] the deviation times the noise
    raw: Tensor  # [B, A] the log-deviation before it is bounded
    kept: list[tuple[Tensor, ...]]  # a layer, see :func:`.updates.forward`

    def rows(self, first: int, last: int) -> "Drawn":
        """Those of some samples."""
        tensors = (self.actions, self.log_prob, self.gap, self.spread, self.raw)
        actions, log_prob, gap, spread, raw = (part[first:last] for part in tensors)
        kept = [_rows(layer, first, last) for layer in self.kept]
        return Drawn(actions, log_prob, gap, spread, raw, kept)


def plain_critic(critic: Critics) -> bool:
    """Whether :func:`step_critics` covers these critics."""
    known = type(critic.head) is SquaredError and type(critic.optimizer) is Adam
    return known and critic._flat and not critic.borrowed


def plain_actor(actor: Any) -> bool:
    """Whether :func:`draw` and :func:`step_actor` cover this actor."""
    known = type(actor) is SquashedGaussian and type(actor.optimizer) is Adam
    return known and actor._flat and actor.log_std_line is None


@th.no_grad()
def step_critics(critic: Critics, batch: Batch, target: Tensor) -> Metrics:
    """One step of all critics towards ``target`` ``[B]``, by half the squared error."""
    x = critic.inputs(batch.observations, batch.actions)
    out, kept = forward(x.expand(critic.net.n, *x.shape), critic.net.plan, critic.net.params)
    error = out - target[:, None]
    _, grads = backward(error / len(target), critic.net.plan, kept, weights=True, inputs=False)
    cast(Adam, critic.optimizer).apply(grads)
    return {"critic_loss": 0.5 * error.square().mean(dim=1).sum(), "q": out.mean()}


@th.no_grad()
def draw(actor: SquashedGaussian, observations: Tensor, noise: Tensor) -> Drawn:
    """Actions at ``observations`` ``[B, n]`` with ``noise`` ``[B, A]``."""
    out, kept = forward(actor.features(observations)[None], actor.net.plan, actor.net.params)
    mean, raw = out[0].chunk(2, dim=-1)
    log_std = raw.clamp(*LOG_STD_RANGE)
    spread = log_std.exp() * noise
    actions = (mean + spread).tanh_()
    gap = 1 - actions * actions + EPSILON  # in this order: nothing is lost where 1 - a^2 is tiny
    log_prob = (-0.5 * noise * noise - log_std - gap.log() - HALF_LOG_TAU).sum(-1)
    return Drawn(actions, log_prob, gap, spread, raw, kept)


@th.no_grad()
def step_actor(
    actor: SquashedGaussian, critic: Critics, observations: Tensor, drawn: Drawn, alpha: Tensor, objective: str
) -> Tensor:
    r"""One step of the actor down :math:`\alpha \log \pi(a|s) - Q(s, a)`; returns that loss."""
    x = critic.inputs(observations, drawn.actions)
    n, size = critic.net.n, len(x)
    out, kept = forward(x.expand(n, *x.shape), critic.net.plan, critic.net.params)
    if objective == "min":
        value, member = out[..., 0].min(0)
        g_inputs = through_least(out.new_full((size,), -1 / size), critic.net.plan, kept, member, x.shape[-1])
    else:
        value = out[..., 0].mean(0)
        g = out.new_full(out.shape, -1 / (n * size))
        every, _ = backward(g, critic.net.plan, kept, weights=False, inputs=True)
        assert every is not None
        g_inputs = every.sum(0)
    step_along(actor, drawn, g_inputs[:, -actor.n_actions :], alpha / size)
    return (alpha * drawn.log_prob - value).mean()


def step_along(actor: SquashedGaussian, drawn: Drawn, g_actions: Tensor, g_log_prob: Tensor) -> None:
    """One step of the actor, given the gradients of its actions ``[B, A]`` and of each log-probability ``[1]``."""
    actions, inside = drawn.actions, (drawn.raw >= LOG_STD_RANGE[0]) & (drawn.raw <= LOG_STD_RANGE[1])
    g_mean = (g_actions + 2 * g_log_prob * actions / drawn.gap) * (1 - actions * actions)
    g_out = th.cat([g_mean, (g_mean * drawn.spread - g_log_prob) * inside], dim=-1)
    _, grads = backward(g_out[None], actor.net.plan, drawn.kept, weights=True, inputs=False)
    cast(Adam, actor.optimizer).apply(grads)


def _rows(layer: tuple[Tensor, ...], first: int, last: int) -> tuple[Tensor, ...]:
    """What a layer kept, for some samples; weights and scales (second, and last of a normalised layer) have none."""
    h, weight, *rest = layer
    return (h[:, first:last], weight, *(part[:, first:last] for part in rest[:5]), *rest[5:])
