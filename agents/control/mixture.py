"""An actor with a mixture of experts in its middle, and which of its neurons are dormant.

Papers: Huang et al., MENTOR: Mixture-of-Experts Network with Task-Oriented Perturbation for Visual Reinforcement
Learning (2024); Sokar et al., The Dormant Neuron Phenomenon in Deep Reinforcement Learning (2023), definition 3.1. "The
authors' code" is github.com/suninghuang19/mentor.
"""

from collections.abc import Sequence
from typing import Any

import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn
from torch.nn import functional as F

from .networks import Actor, Deterministic
from .updates import Mlp, Passed


class Mixture(nn.Module):
    r"""Small perceptrons f_i side by side, of which a gate g chooses ``top_k`` for every input.

    .. math::
        y = \frac{\sum_{i \in \text{top}_k} p_i f_i(x)}{\sum_{i \in \text{top}_k} p_i}, \quad p = \text{softmax}(g(x))

    All experts are computed, as in the authors' code.

    Args:
        width: of inputs and outputs.
        n_experts: how many.
        top_k: how many of them act at once.
        expert_width: of an expert's hidden layer.
        gate_width: of the gate's hidden layer.
        dropout: of the gate's hidden layer, while it trains.

    Raises:
        ValueError: ``top_k`` is not from 1 to ``n_experts``.
    """

    def __init__(
        self,
        width: int,
        *,
        n_experts: int = 16,
        top_k: int = 4,
        expert_width: int = 256,
        gate_width: int = 256,
        dropout: float = 0.1,
    ) -> None:
        if not 1 <= top_k <= n_experts:
            raise ValueError(f"top_k says how many of {n_experts} experts act: from 1 to {n_experts}, not {top_k}")
        super().__init__()
        self.top_k = top_k
        self.experts = Mlp(n_experts, width, [expert_width], width, orthogonal=1.0)
        self.gate = nn.Sequential(
            nn.Linear(width, gate_width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(gate_width, n_experts)
        )
        for layer in self.gate:
            if isinstance(layer, nn.Linear):
                nn.init.orthogonal_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mixed outputs ``[B, width]`` of inputs ``[B, width]``, and the gate's log p ``[B, n_experts]``."""
        log_shares = self.gate(x).log_softmax(dim=1)
        return th.einsum("bn,nbw->bw", chosen(log_shares.exp(), self.top_k), self.experts(x)), log_shares


def chosen(shares: Tensor, k: int) -> Tensor:
    """The ``k`` largest of each row of ``[B, n]``, scaled so that they add up to 1; the others are 0."""
    top, where = shares.topk(k, dim=1)
    return th.zeros_like(shares).scatter(1, where, top / top.sum(dim=1, keepdim=True))


def entropy(log_shares: Tensor) -> Tensor:
    """The mean entropy, in nats, of distributions whose log-probabilities are ``[B, n]``."""
    return -(log_shares.exp() * log_shares).sum(dim=1).mean()


class ExpertActor(Deterministic):
    """TD3's actor whose middle is a :class:`Mixture`: layers of ``net_arch``, the experts, and a last layer.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        extractor: of features.
        net_arch: widths of the layers before the experts, at least one.
        activation_fn: between the layers.
        layer_norm: normalise the layers before the experts, but not the last of them.
        orthogonal: gain of the last layers where weights begin orthogonally; see :class:`~.updates.Mlp`.
        normalize_images: divide images by 255.
        log_std_offset: has no meaning here.
        mixture: keywords of :class:`Mixture`.

    Raises:
        ValueError: no layer before the experts, or an offset.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Box,
        extractor: BaseFeaturesExtractor,
        *,
        net_arch: list[int],
        activation_fn: type[nn.Module] = nn.ReLU,
        layer_norm: bool = False,
        orthogonal: float | None = None,
        normalize_images: bool = True,
        log_std_offset: float | None = None,
        mixture: dict[str, Any] | None = None,
    ) -> None:
        if not net_arch:
            raise ValueError("experts stand behind a hidden layer: net_arch must have one")
        how: dict[str, Any] = {"activation_fn": activation_fn, "layer_norm": layer_norm, "orthogonal": orthogonal}
        how |= {"normalize_images": normalize_images, "log_std_offset": log_std_offset}
        super().__init__(observation_space, action_space, extractor, net_arch=net_arch, **how)
        *widths, width = net_arch
        shape: dict[str, Any] = {"activation": activation_fn, "orthogonal": orthogonal}
        self.net = Mlp(1, extractor.features_dim, widths, width, layer_norm=layer_norm, **shape)
        self.mixture = Mixture(width, **(mixture or {}))
        self.last = Mlp(1, width, [], self.n_actions, **shape)
        self.activation = activation_fn()

    def out_and_log_shares(self, observations: Any) -> tuple[Tensor, Tensor]:
        """The output ``[B, A]``, before its tanh, and the gate's log-probabilities ``[B, n_experts]``."""
        hidden = self.activation(self.net(self.features(observations))[0])
        mixed, log_shares = self.mixture(hidden)
        return self.last(self.activation(mixed))[0], log_shares

    def out(self, observations: Any) -> Tensor:
        """See :class:`~.networks.Actor`."""
        return self.out_and_log_shares(observations)[0]

    def gradients(self, passed: Passed, g: Tensor) -> list[Tensor]:
        """None are written out.

        Raises:
            TypeError: always.
        """
        raise TypeError('the actor "mixture-of-experts" is for MENTOR: other agents write its gradients out')

    def layer_outputs(self, observations: Any) -> list[Tensor]:
        """See :func:`layer_outputs`: of all layers, the gate's among them."""
        before = layer_outputs(self.net, self.features(observations))
        hidden = self.activation(before[-1][0])
        first = self.mixture.gate[0](hidden)
        gates = [first, self.mixture.gate[1:](first)]
        mixed = self.mixture(hidden)[0]
        after = layer_outputs(self.last, self.activation(mixed))
        return [*before, *layer_outputs(self.mixture.experts, hidden), *gates, *after]


def layer_outputs(net: Mlp, x: Tensor) -> list[Tensor]:
    """What each linear layer of an ensemble gives for ``[B, n_in]``, before its activation: ``[n, B, w]`` each."""
    params, plan = net.params, net.plan
    step = 4 if plan.layer_norm else 2
    found: list[Tensor] = []
    hidden = x.expand(net.n, *x.shape[-2:])
    for i in range(0, len(params), step):
        found.append(th.baddbmm(params[i + 1], hidden, params[i]))
        if i + 2 < len(params):
            out = found[-1]
            if plan.layer_norm:
                out = F.layer_norm(out, out.shape[-1:], eps=1e-6) * params[i + 2] + params[i + 3]
            hidden = plan.activation.forward(out.clone())
    return found


@th.no_grad()
def dormant_ratio(actor: Actor, observations: Any, threshold: float) -> Tensor:
    r"""The share of the neurons of all linear layers that are dormant.

    Neuron i of a layer of N is, where :math:`E|h_i| < \tau \frac{1}{N} \sum_j E|h_j|` over the observations, with h
    the layer's outputs before its activation, as in the authors' code.

    Args:
        actor: with one ensemble ``net``, or an :class:`ExpertActor`.
        observations: ``[B, ...]``.
        threshold: tau.
    """
    outputs: Sequence[Tensor] = (
        actor.layer_outputs(observations)
        if isinstance(actor, ExpertActor)
        else layer_outputs(actor.net, actor.features(observations))
    )
    strengths = [out.abs().mean(dim=-2) for out in outputs]  # [n, N], or [N] of a gate
    dormant = [(one < threshold * one.mean(dim=-1, keepdim=True)).sum() for one in strengths]
    return th.stack(dormant).sum() / sum(one.numel() for one in strengths)
