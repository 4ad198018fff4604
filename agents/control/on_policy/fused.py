"""PPO's gradient without autograd, for networks that are plain stacks of linear layers.

Autograd's graph of a small network costs more than its matrix products: here each layer is one product a way, in
buffers that are made once, and the gradient of the loss in the network's outputs is written out. The numbers are
those of autograd, which ``tests/agents/control/on_policy/test_fused.py`` holds them to.
"""

from collections.abc import Callable
from typing import Any

import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.torch_layers import FlattenExtractor, MlpExtractor
from torch import Tensor, nn

from .distributions import Bernoulli, Categorical, Gaussian, MultiCategorical
from .policies import NormalizedPolicy
from .rollout import Samples
from .update import Losses, Settings, advantages_in

_BACKWARD: dict[type[nn.Module], Callable[[Tensor, Tensor], Any]] = {
    nn.Tanh: lambda grad, out: th.ops.aten.tanh_backward.grad_input(grad, out, grad_input=grad),
    nn.ReLU: lambda grad, out: th.ops.aten.threshold_backward.grad_input(grad, out, 0.0, grad_input=grad),
}
_FORWARD: dict[type[nn.Module], Callable[[Tensor], Tensor]] = {nn.Tanh: th.tanh_, nn.ReLU: th.relu_}


class Stack:
    """Linear layers with an activation after all but the last.

    Args:
        layers: in order.
        activation: ``nn.Tanh`` or ``nn.ReLU``.
    """

    def __init__(self, layers: list[nn.Linear], activation: type[nn.Module]) -> None:
        self.layers, self.activation = layers, activation
        self._buffers: dict[int, tuple[list[Tensor], list[Tensor], Tensor]] = {}

    @th.no_grad()
    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs ``[B, K]``, in a buffer that the next call with as many rows overwrites."""
        outputs, _, _ = self._buffers_for(len(inputs))
        for layer, out in zip(self.layers, outputs, strict=True):
            th.addmm(layer.bias, inputs, layer.weight.t(), out=out)
            inputs = out if layer is self.layers[-1] else _FORWARD[self.activation](out)
        return inputs

    @th.no_grad()
    def backward(self, inputs: Tensor, gradient: Tensor) -> None:
        """Fills the layers' ``grad``, given those of the outputs ``[B, K]`` of the last :meth:`forward`."""
        outputs, back, ones = self._buffers_for(len(inputs))
        for index in range(len(self.layers) - 1, -1, -1):
            layer, below = self.layers[index], outputs[index - 1] if index else inputs
            assert layer.weight.grad is not None
            assert layer.bias.grad is not None
            th.mm(gradient.t(), below, out=layer.weight.grad)
            th.mv(gradient.t(), ones, out=layer.bias.grad)
            if index:
                gradient = th.mm(gradient, layer.weight, out=back[index - 1])
                _BACKWARD[self.activation](gradient, below)

    def _buffers_for(self, rows: int) -> tuple[list[Tensor], list[Tensor], Tensor]:
        if rows not in self._buffers:
            weight = self.layers[0].weight
            outputs = [weight.new_empty(rows, layer.out_features) for layer in self.layers]
            back = [weight.new_empty(rows, layer.out_features) for layer in self.layers[:-1]]
            self._buffers[rows] = outputs, back, weight.new_ones(rows)
        return self._buffers[rows]


class FusedPolicy:
    """Actor and critic of a policy as two stacks, which share its parameters.

    Args:
        policy: for which :func:`is_fusable` holds.
    """

    def __init__(self, policy: NormalizedPolicy) -> None:
        self.policy = policy
        parts = policy.mlp_extractor
        self.actor = Stack([*_linear(parts.policy_net), policy.action_net], policy.activation_fn)  # type: ignore[list-item]
        self.critic = Stack([*_linear(parts.value_net), policy.value_net], policy.activation_fn)
        self.log_std = policy.log_std if isinstance(policy.action_space, Box) else None
        self.parameters = list(policy.parameters())
        for parameter in self.parameters:
            parameter.grad = th.zeros_like(parameter)

    @th.no_grad()
    def gradients(self, batch: Samples, settings: Settings) -> Losses:
        """Fills the parameters' ``grad`` with that of :func:`~.update.losses_of` and returns the losses."""
        observations = batch.observations
        assert isinstance(observations, Tensor)
        observations = observations.flatten(1)
        outputs, values = self.actor.forward(observations), self.critic.forward(observations).squeeze(1)
        logp, entropy, back = outputs_gradient(self.policy.distribution, outputs, self.log_std, batch.actions)
        advantages = advantages_in(batch, settings)
        log_ratio = logp - batch.logp_old
        ratio = log_ratio.exp()
        clipped = ratio.clamp(1 - settings.clip_range, 1 + settings.clip_range)
        surrogate, bounded = advantages * ratio, advantages * clipped
        size = len(batch)
        weight = th.where(surrogate <= bounded, surrogate, 0.0).mul_(-1.0 / size)
        of_outputs, of_log_std = back(weight, -settings.ent_coef / size)
        error, inside = values - batch.returns, None
        if (limit := settings.clip_range_vf) is not None:
            change = values - batch.values_old
            inside = change.abs() <= limit
            error = batch.values_old + change.clamp(-limit, limit) - batch.returns
        of_values = error * (2.0 * settings.vf_coef / size)
        self.actor.backward(observations, of_outputs)
        self.critic.backward(observations, (of_values if inside is None else of_values * inside).unsqueeze(1))
        if self.log_std is not None and of_log_std is not None:
            assert self.log_std.grad is not None
            self.log_std.grad.copy_(of_log_std)
        policy, value, entropy_loss = -th.min(surrogate, bounded).mean(), error.square().mean(), -entropy.mean()
        total = policy + settings.ent_coef * entropy_loss + settings.vf_coef * value
        kl, outside = (ratio - 1 - log_ratio).mean(), (ratio != clipped).float().mean()
        return Losses(policy, value, entropy_loss, total, kl, outside)


Back = Callable[[Tensor, float], tuple[Tensor, Tensor | None]]
"""Weights ``[B]`` of the log-probabilities and the weight of each entropy -> gradients of outputs and log_std."""


def outputs_gradient(
    distribution: Any, outputs: Tensor, log_std: Tensor | None, actions: Tensor
) -> tuple[Tensor, Tensor, Back]:
    """Log-probabilities, entropies, and what carries gradients of both back to the outputs.

    Normal: d logp / d mean = z / sigma, d logp / d log sigma = z^2 - 1, d H / d log sigma = 1.
    Categorical: d logp / d logits = [chosen] - p, d H / d logits = -p (log p + H).
    Bernoulli: d logp / d logit = a - p, d H / d logit = -logit p (1 - p).
    """
    if isinstance(distribution, Gaussian):
        assert log_std is not None
        logp, entropy = distribution.log_prob(outputs, log_std, actions)
        inverse = (-log_std).exp()
        z = (actions - outputs) * inverse

        def of_normal(weights: Tensor, of_entropy: float) -> tuple[Tensor, Tensor | None]:
            weighted = z * weights.unsqueeze(1)
            of_std = (weighted * z).sum(0) - weights.sum() + of_entropy * len(weights)
            return weighted.mul_(inverse), of_std

        return logp, entropy, of_normal
    if isinstance(distribution, Bernoulli):
        p = outputs.sigmoid()

        def of_yes_or_no(weights: Tensor, of_entropy: float) -> tuple[Tensor, Tensor | None]:
            return (actions - p) * weights.unsqueeze(1) - outputs * p * (1 - p) * of_entropy, None

        return *distribution.log_prob(outputs, log_std, actions), of_yes_or_no
    if isinstance(distribution, MultiCategorical):
        parts = zip(th.split(outputs, list(distribution.sizes), 1), actions.unbind(1), strict=True)
        logps, entropies, backs = zip(*(_of_choice(*part) for part in parts), strict=True)

        def of_choices(weights: Tensor, of_entropy: float) -> tuple[Tensor, Tensor | None]:
            return th.cat([back(weights, of_entropy)[0] for back in backs], 1), None

        return th.stack(logps).sum(0), th.stack(entropies).sum(0), of_choices
    assert isinstance(distribution, Categorical)
    return _of_choice(outputs, actions)


def _of_choice(logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Back]:
    logps = logits.log_softmax(1)
    p = logps.exp()
    index = actions.long().reshape(-1, 1)
    logp, entropy = logps.gather(1, index).squeeze(1), -(p * logps).sum(1)

    def back(weights: Tensor, of_entropy: float) -> tuple[Tensor, Tensor | None]:
        found = p * -weights.unsqueeze(1)
        found.scatter_add_(1, index, weights.unsqueeze(1))
        if of_entropy:
            found.addcmul_(p, logps + entropy.unsqueeze(1), value=-of_entropy)
        return found, None

    return logp, entropy, back


def is_fusable(policy: Any) -> bool:
    """Whether a policy is one that :class:`FusedPolicy` computes: SB3's MLP, tanh or ReLU, of floats.

    Whole numbers SB3's extractors turn into floats first, and those of images into shares of 255.
    """
    return (
        type(policy) is NormalizedPolicy
        and not policy.use_sde
        and type(policy.features_extractor) is FlattenExtractor
        and policy.share_features_extractor
        and isinstance(policy.observation_space, Box)
        and policy.observation_space.dtype.kind == "f"
        and type(policy.mlp_extractor) is MlpExtractor
        and policy.activation_fn in _FORWARD
        and policy.device.type == "cpu"
    )


def _linear(layers: nn.Module) -> list[nn.Linear]:
    return [layer for layer in layers.modules() if isinstance(layer, nn.Linear)]
