"""A decoder-only transformer, from scratch: RMSNorm, rotary positions, SwiGLU, tied embeddings, a key-value cache."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .tokenizer import ANSWER, PAD

SIZES: dict[str, dict[str, int]] = {
    "transformer-100k": {"width": 64, "depth": 2, "heads": 2},
    "transformer-300k": {"width": 96, "depth": 3, "heads": 3},
    "transformer-1m": {"width": 160, "depth": 3, "heads": 5},
    "transformer-10m": {"width": 320, "depth": 8, "heads": 5},
}
"""Networks by name, and the number of their parameters. Wide rather than deep: a CPU works best on large products."""


@dataclass
class Cache:
    """Keys and values of every layer, preallocated: each ``[B, heads, capacity, width / heads]``; column = position."""

    keys: list[Tensor]
    values: list[Tensor]

    @classmethod
    def empty(cls, network: "Transformer", batch: int, capacity: int) -> "Cache":
        """Room for ``capacity`` positions of ``batch`` lanes."""
        shape = (batch, network.heads, capacity, network.width // network.heads)
        like = network.embedding.weight
        return cls(
            [torch.empty(shape, dtype=like.dtype, device=like.device) for _ in network.blocks],
            [torch.empty(shape, dtype=like.dtype, device=like.device) for _ in network.blocks],
        )

    def take(self, lanes: Tensor, filled: int, capacity: int) -> "Cache":
        """A cache of ``capacity`` positions for ``lanes`` (int64, repeats allowed), of which ``filled`` are copied."""

        def taken(old: Tensor) -> Tensor:
            new = torch.empty((len(lanes), old.shape[1], capacity, old.shape[3]), dtype=old.dtype, device=old.device)
            new[:, :, :filled] = old[:, :, :filled].index_select(0, lanes)
            return new

        return Cache([taken(layer) for layer in self.keys], [taken(layer) for layer in self.values])


class Rotary(nn.Module):
    """Rotary positions: pairs of channels turn by angles proportional to the position, so scores see distances only.

    Paper: RoFormer: Enhanced Transformer with Rotary Position Embedding (2021), eq. 34.
    """

    def __init__(self, channels: int, base: float = 10_000.0) -> None:
        super().__init__()
        self.register_buffer("rates", base ** (-torch.arange(0, channels, 2) / channels), persistent=False)
        self.rates: Tensor

    def angles(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Cosine and sine ``[stop - start, channels / 2]`` of the positions from ``start``."""
        angles = torch.outer(torch.arange(start, stop, device=self.rates.device, dtype=self.rates.dtype), self.rates)
        return angles.cos(), angles.sin()


def turn(x: Tensor, angles: tuple[Tensor, Tensor]) -> Tensor:
    """Rotates the channel pairs (i, i + half) of ``x`` ``[..., T, channels]``."""
    cos, sin = angles
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Block(nn.Module):
    """Pre-norm attention and SwiGLU, each with a residual."""

    def __init__(self, width: int, heads: int, depth: int) -> None:
        super().__init__()
        hidden = 8 * round(width / 3)
        self.heads = heads
        self.norm_1, self.norm_2 = nn.RMSNorm(width, eps=1e-6), nn.RMSNorm(width, eps=1e-6)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        for layer in (self.qkv, self.up):
            nn.init.normal_(layer.weight, std=width**-0.5)
        for layer in (self.out, self.down):  # each adds to the residual stream, 2 * depth times in all
            nn.init.normal_(layer.weight, std=(layer.in_features * 2 * depth) ** -0.5)

    def project(self, x: Tensor, angles: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values ``[B, heads, T, channels]`` of ``x`` ``[B, T, width]``."""
        batch, length, width = x.shape
        qkv = self.qkv(self.norm_1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        return turn(q, angles), turn(k, angles), v

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Adds the attention's result ``[B, heads, T, channels]`` and the feed-forward part to ``x``."""
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        gate, value = self.up(self.norm_2(x)).chunk(2, dim=-1)
        added: Tensor = self.down(F.silu(gate) * value)
        return x + added


class Transformer(nn.Module):
    """Maps tokens to next-token logits.

    Args:
        vocabulary_size: number of tokens.
        width: channels of the residual stream; a multiple of ``2 * heads``.
        depth: number of blocks.
        heads: attention heads.
    """

    def __init__(self, vocabulary_size: int, *, width: int, depth: int, heads: int) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.embedding = nn.Embedding(vocabulary_size, width)
        self.rotary = Rotary(width // heads)
        self.blocks = nn.ModuleList(Block(width, heads, depth) for _ in range(depth))
        self.norm = nn.RMSNorm(width, eps=1e-6)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        forbidden = torch.zeros(vocabulary_size)
        forbidden[[PAD, ANSWER]] = -1e4  # never written; finite, so that 0 * logp stays 0 in the entropy
        self.register_buffer("forbidden", forbidden, persistent=False)
        self.forbidden: Tensor

    @property
    def layers(self) -> list[Block]:
        """The blocks, typed."""
        return cast("list[Block]", self.blocks)

    def forward(self, tokens: Tensor, cache: Cache | None = None, mask: Tensor | None = None) -> Tensor:
        """Hidden states ``[B, T, width]`` of ``tokens`` ``[B, T]`` (int64), each seeing what lies to its left.

        Args:
            tokens: padded on the right (what follows a token cannot reach it), or on the left with ``mask``.
            cache: receives the keys and values of positions 0 to T - 1.
            mask: bool ``[B, 1, T, T]``, True where a query may look; replaces the causal mask.
        """
        x = self.embedding(tokens)
        angles = self.rotary.angles(0, tokens.shape[1])
        for i, block in enumerate(self.layers):
            q, k, v = block.project(x, angles)
            if cache is not None:
                cache.keys[i][:, :, : k.shape[2]], cache.values[i][:, :, : v.shape[2]] = k, v
            attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
            x = block.finish(x, attended)
        hidden: Tensor = self.norm(x)
        return hidden

    def step(self, tokens: Tensor, cache: Cache, position: int, mask: Tensor | None = None) -> Tensor:
        """Hidden states ``[B, width]`` of one more token a lane, ``tokens`` ``[B]`` at ``position`` (all lanes alike).

        ``mask``, bool ``[B, 1, 1, position + 1]``, is True where the new token may look; None means everywhere.
        """
        x = self.embedding(tokens).unsqueeze(1)
        angles = self.rotary.angles(position, position + 1)
        for i, block in enumerate(self.layers):
            q, k, v = block.project(x, angles)
            keys, values = cache.keys[i], cache.values[i]
            keys[:, :, position], values[:, :, position] = k[:, :, 0], v[:, :, 0]
            seen = slice(0, position + 1)
            attended = F.scaled_dot_product_attention(q, keys[:, :, seen], values[:, :, seen], attn_mask=mask)
            x = block.finish(x, attended)
        hidden: Tensor = self.norm(x[:, 0])
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """Next-token logits ``[..., vocabulary]``; fillers and the answer mark are out of reach."""
        return F.linear(hidden, self.embedding.weight) + self.forbidden
