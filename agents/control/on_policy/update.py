"""PPO's update: the clipped surrogate, the value loss and the entropy bonus, over views of one shuffled copy."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch as th
from torch import Tensor

from .rollout import Samples

Evaluate = Callable[[Any, Tensor], tuple[Tensor, Tensor, Tensor]]
"""Observations and actions of a minibatch -> values, log-probabilities and entropies."""


@dataclass(frozen=True)
class Losses:
    """Of one minibatch; see :func:`losses_of`."""

    policy: Tensor
    value: Tensor
    entropy: Tensor
    total: Tensor
    approx_kl: Tensor
    clip_fraction: Tensor


@dataclass(frozen=True)
class Settings:
    """What an update is done with; names and meaning are SB3's.

    Attributes:
        batch_size: of a minibatch.
        n_epochs: passes over the samples.
        clip_range: epsilon of the ratio.
        clip_range_vf: limit of a value's change, or None.
        normalize_advantage: whether advantages have mean 0 and deviation 1 in each minibatch.
        ent_coef: weight of the entropy.
        vf_coef: weight of the value loss.
        max_grad_norm: limit of the gradient's norm.
        target_kl: stop at 1.5 times this divergence, or None.
    """

    batch_size: int
    n_epochs: int
    clip_range: float
    clip_range_vf: float | None
    normalize_advantage: bool
    ent_coef: float
    vf_coef: float
    max_grad_norm: float
    target_kl: float | None


Gradients = Callable[[Samples, Settings], Losses]
"""Fills the parameters' ``grad`` with the loss's gradient on a minibatch, and returns the losses."""


def advantages_in(batch: Samples, settings: Settings) -> Tensor:
    """A minibatch's advantages, normalised if so set."""
    if not settings.normalize_advantage or len(batch) < 2:
        return batch.advantages
    deviation, mean = th.std_mean(batch.advantages)
    return (batch.advantages - mean) / (deviation + 1e-8)


def autograd_of(evaluate: Evaluate, optimizer: th.optim.Optimizer) -> Gradients:
    """Gradients by autograd, of any policy."""

    def gradients(batch: Samples, settings: Settings) -> Losses:
        losses = losses_of(batch, *evaluate(batch.observations, batch.actions), settings)
        optimizer.zero_grad(set_to_none=True)
        losses.total.backward()  # type: ignore[no-untyped-call]
        return losses

    return gradients


def losses_of(batch: Samples, values: Tensor, logp: Tensor, entropy: Tensor, settings: Settings) -> Losses:
    """L = -mean(min(rho A, clip(rho, 1 - eps, 1 + eps) A)) + vf_coef mean((R - V)^2) - ent_coef mean(H).

    rho = exp(log pi - log pi_old). The value loss has SB3's clip, where there is one: V = V_old + clip(V - V_old).

    Paper: Proximal Policy Optimization Algorithms (2017), eq. 7 and 9.
    """
    advantages = advantages_in(batch, settings)
    log_ratio = logp - batch.logp_old
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - settings.clip_range, 1 + settings.clip_range)
    policy = -th.min(advantages * ratio, advantages * clipped).mean()
    if settings.clip_range_vf is not None:
        limit = settings.clip_range_vf
        values = batch.values_old + (values - batch.values_old).clamp(-limit, limit)
    value = (batch.returns - values).square().mean()
    entropy_loss = -entropy.mean()
    total = policy + settings.ent_coef * entropy_loss + settings.vf_coef * value
    with th.no_grad():
        kl = (ratio - 1 - log_ratio).mean()
        outside = (ratio != clipped).float().mean()
    return Losses(policy.detach(), value.detach(), entropy_loss.detach(), total, kl, outside)


def run_update(
    samples: Samples,
    gradients: Gradients,
    optimizer: th.optim.Optimizer,
    settings: Settings,
    generator: th.Generator,
) -> tuple[dict[str, float], int]:
    """All epochs; returns the metrics that SB3's PPO logs, and how many epochs were done.

    Samples are shuffled once an epoch into one contiguous copy, of which minibatches are views.
    """
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    names = ("policy", "value", "entropy", "approx_kl", "clip_fraction")
    seen: dict[str, list[Tensor]] = {name: [] for name in names}
    last, epochs = th.zeros(()), 0
    for epochs in range(1, settings.n_epochs + 1):  # noqa: B007 (counted for the caller)
        shuffled = samples.taken(th.randperm(len(samples), generator=generator).to(samples.advantages.device))
        seen["approx_kl"].clear()  # SB3's is that of the last epoch
        stop = False
        for start in range(0, len(samples), settings.batch_size):
            batch = shuffled.between(start, min(start + settings.batch_size, len(samples)))
            losses = gradients(batch, settings)
            for name, found in seen.items():
                found.append(getattr(losses, name))
            last = losses.total.detach()
            if settings.target_kl is not None and losses.approx_kl > 1.5 * settings.target_kl:
                stop = True
                break
            th.nn.utils.clip_grad_norm_(parameters, settings.max_grad_norm)
            optimizer.step()
        if stop:
            break
    means = {name: float(np.mean([float(one) for one in found])) for name, found in seen.items()}
    return {
        "train/entropy_loss": means["entropy"],
        "train/policy_gradient_loss": means["policy"],
        "train/value_loss": means["value"],
        "train/approx_kl": means["approx_kl"],
        "train/clip_fraction": means["clip_fraction"],
        "train/loss": float(last),
    }, epochs
