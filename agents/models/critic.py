"""A value of every token of a completion, for methods that compare rewards with a learnt expectation."""

from copy import deepcopy

import torch
from torch import Tensor, nn

from ...wrappers.components import Episodes
from ..optimizers import AdamW
from .batches import pieces
from .transformer import Transformer

RATE = 10.0
"""The critic's learning rate, in learning rates of the policy."""

STEPS = 4
"""Gradient steps of the critic an iteration."""


class Critic(nn.Module):
    """V(what stands to the left of a token): the policy's network as it is now, with a number in place of logits.

    It begins at V = 0, knowing the language and no value.

    Args:
        network: is copied.
    """

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.body = deepcopy(network).requires_grad_(True)
        self.weight = nn.Parameter(network.embedding.weight.new_zeros(network.width))
        self.bias = nn.Parameter(network.embedding.weight.new_zeros(()))
        self.optimizer = AdamW(self.parameters(), betas=(0.9, 0.98), weight_decay=0.0)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Values ``[B, T]`` before each token of ``mask`` ``[B, T]`` (never True in the first column); 0 elsewhere."""
        hidden = self.body(tokens[:, :-1])[mask[:, 1:]]
        values = torch.zeros(mask.shape, dtype=hidden.dtype, device=hidden.device)
        return values.index_put(mask.nonzero(as_tuple=True), hidden @ self.weight + self.bias)

    @torch.no_grad()
    def begin_as(self, body: nn.Module, weight: Tensor, bias: float) -> None:
        """Takes over a network of the same kind and the number ``weight @ hidden + bias`` that it gives of a token."""
        self.body.load_state_dict(body.state_dict())
        self.weight.copy_(weight)
        self.bias.fill_(bias)

    @torch.no_grad()
    def values(self, rollouts: Episodes) -> Tensor:
        """Values ``[B, T]`` of a batch."""
        values = torch.zeros_like(rollouts.logp_old)
        for rows, length in pieces(rollouts.mask):
            values[rows, :length] = self(rollouts.tokens[rows, :length], rollouts.mask[rows, :length])
        return values

    def fit(self, rollouts: Episodes, returns: Tensor, *, learning_rate: float, max_grad_norm: float) -> Tensor:
        """Takes :data:`STEPS` gradient steps on (V - returns)^2 / 2, the mean over written tokens; returns the first.

        Args:
            rollouts: B completions.
            returns: ``[B, T]``, what the values should be.
            learning_rate: of Adam.
            max_grad_norm: the gradient is scaled down to this norm.
        """
        self.optimizer.param_groups[0]["lr"] = learning_rate
        losses = []
        for _ in range(STEPS):
            self.optimizer.zero_grad()
            total = torch.zeros((), device=returns.device)
            for rows, length in pieces(rollouts.mask):
                mask = rollouts.mask[rows, :length]
                error = (self(rollouts.tokens[rows, :length], mask) - returns[rows, :length])[mask]
                loss = error.square().sum() / (2 * rollouts.mask.sum())
                loss.backward()  # type: ignore[no-untyped-call]
                total += loss.detach()
            nn.utils.clip_grad_norm_(self.parameters(), max_grad_norm)
            self.optimizer.step()
            losses.append(total)
        return losses[0]
