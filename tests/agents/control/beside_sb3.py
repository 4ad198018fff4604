"""Our agents beside those of Stable-Baselines3: equal networks, equal draws."""

from typing import Any

import torch as th
from torch import nn
from torch.distributions import normal

from tiltyard.agents.control.updates import Mlp


def copy_networks(theirs: Any, ours: Any) -> None:
    """Gives one of our agents the weights of SB3's."""
    for mine, critic in ((ours.critic, theirs.critic), (ours.critic_target, theirs.critic_target)):
        for i, network in enumerate(critic.q_networks):
            fill(mine.net, i, [layer for layer in network if isinstance(layer, nn.Linear)])
    trunk = [layer for layer in theirs.actor.latent_pi if isinstance(layer, nn.Linear)]
    fill(ours.actor.net, 0, trunk)
    *_, weight, bias = ours.actor.net.weights
    heads = (theirs.actor.mu, theirs.actor.log_std)
    weight.data[0] = th.cat([head.weight.data.T for head in heads], 1)
    bias.data[0, 0] = th.cat([head.bias.data for head in heads])


def fill(net: Mlp, member: int, layers: list[Any]) -> None:
    """Gives one member of an ensemble the weights of linear layers."""
    for layer, weight, bias in zip(layers, list(net.weights)[::2], list(net.weights)[1::2], strict=False):
        weight.data[member], bias.data[member, 0] = layer.weight.data.T, layer.bias.data


class constant_noise:  # noqa: N801
    """Hands out given standard normal draws, whatever asks for them."""

    def __init__(self, *draws: th.Tensor) -> None:
        self.draws, self.saved = list(draws), (th.randn, normal._standard_normal)

    def __enter__(self) -> None:
        th.randn = lambda *args, **kwargs: self.draws.pop(0)  # type: ignore[assignment]
        normal._standard_normal = lambda *args, **kwargs: self.draws.pop(0)

    def __exit__(self, *_: Any) -> None:
        th.randn, normal._standard_normal = self.saved
        assert not self.draws
