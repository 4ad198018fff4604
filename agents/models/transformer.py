"""A decoder-only transformer, from scratch: RMSNorm, rotary positions, SwiGLU, tied embeddings, a key-value cache.

The parts are those that open models agree on since LLaMA (Touvron et al. 2023, section 2.2), for what is learnt about
a method here to carry over to them. Each has its use in a small network too: norms before the parts keep training
stable at high rates; rotary positions see distances alone and need no table; tied embeddings save a second table of up
to a quarter of all weights.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .cache import Angles, Cache, turn
from .tokenizer import ANSWER, PAD

FORBIDDEN = -1e4
"""Added to the logits of tokens that are never written; finite, so that 0 * logp stays 0 in the entropy."""

SIZES: dict[str, dict[str, int]] = {
    "transformer-100k": {"width": 64, "depth": 2, "heads": 2},
    "transformer-300k": {"width": 96, "depth": 3, "heads": 3},
    "transformer-1m": {"width": 160, "depth": 3, "heads": 5},
    "transformer-5m": {"width": 256, "depth": 6, "heads": 4},
    "transformer-10m": {"width": 320, "depth": 8, "heads": 5},
}
"""Networks by name, and the number of their parameters. Wide rather than deep: a CPU works best on large products."""


class Rotary(nn.Module):
    """Rotary positions: pairs of channels turn by angles proportional to the position, so scores see distances only.

    Paper: RoFormer: Enhanced Transformer with Rotary Position Embedding (2021), eq. 34.
    """

    def __init__(self, channels: int, base: float = 10_000.0) -> None:
        super().__init__()
        self.register_buffer("rates", base ** (-torch.arange(0, channels, 2) / channels), persistent=False)
        self.rates: Tensor

    def angles(self, positions: Tensor) -> Angles:
        """Cosine and sine ``[len(positions), channels / 2]`` of ``positions`` (int64)."""
        angles = torch.outer(positions.to(self.rates.dtype), self.rates)
        return angles.cos(), angles.sin()


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

    def project(self, x: Tensor, angles: Angles) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values ``[B, heads, T, channels]`` of ``x`` ``[B, T, width]``."""
        batch, length, width = x.shape
        qkv = self.qkv(self.norm_1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        return turn(q, angles), turn(k, angles), v

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Adds the attention's result ``[..., width]`` and the feed-forward part to ``x`` ``[..., width]``."""
        x = x + self.out(attended)
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
        forbidden[[PAD, ANSWER]] = FORBIDDEN
        self.register_buffer("forbidden", forbidden, persistent=False)
        self.forbidden: Tensor

    @property
    def layers(self) -> list[Block]:
        """The blocks, typed."""
        return cast("list[Block]", self.blocks)

    def forward(self, tokens: Tensor, kept: list[Tensor] | None = None) -> Tensor:
        """Hidden states ``[B, T, width]`` of ``tokens`` ``[B, T]`` (int64), each seeing what lies to its left.

        Args:
            tokens: padded on the right: what follows a token cannot reach it.
            kept: receives the keys and values ``[2, B, heads, T, channels]`` of each layer.
        """
        return self.through(self.embedding(tokens), kept)

    def through(self, x: Tensor, kept: list[Tensor] | None = None) -> Tensor:
        """:meth:`forward` of what tokens were embedded as, ``[B, T, width]``."""
        angles = self.rotary.angles(torch.arange(x.shape[1], device=x.device))
        for block in self.layers:
            q, k, v = block.project(x, angles)
            if kept is not None:
                kept.append(torch.stack((k, v)))
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = block.finish(x, attended.transpose(1, 2).flatten(2))
        hidden: Tensor = self.norm(x)
        return hidden

    def continuations(self, prefixes: Tensor, lengths: Tensor, row: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden states ``[P, S, width]`` of prefixes and ``[B, T, width]`` of what continues them; each is run once.

        Gradients of all continuations reach the one pass over their prefix.

        Args:
            prefixes: ``[P, S]`` int64, padded on the right.
            lengths: ``[B]`` int64, after how many of its prefix's tokens each continuation begins.
            row: ``[B]`` int64, which prefix each continues.
            tokens: ``[B, T]`` int64, padded on the right.

        Paper: Prefix Grouper: Efficient GRPO Training through Shared-Prefix Forward (2025), the split of attention.
        """
        x, y = self.embedding(prefixes), self.embedding(tokens)
        columns, own = (torch.arange(t.shape[1], device=tokens.device) for t in (prefixes, tokens))
        around = self.rotary.angles(columns)
        after = self.rotary.angles((lengths[:, None] + own).flatten())
        after = (after[0].view(*tokens.shape, -1)[:, None], after[1].view(*tokens.shape, -1)[:, None])
        before = (columns < lengths[:, None])[:, None, None].expand(-1, -1, len(own), -1)
        seen = torch.cat((before, (own <= own[:, None]).expand(len(row), 1, -1, -1)), -1)
        for block in self.layers:
            q, k, v = block.project(x, around)
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = block.finish(x, attended.transpose(1, 2).flatten(2))
            q, own_k, own_v = block.project(y, after)
            keys, values = torch.cat((k[row], own_k), 2), torch.cat((v[row], own_v), 2)
            attended = F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)
            y = block.finish(y, attended.transpose(1, 2).flatten(2))
        return self.norm(x), self.norm(y)

    def step(self, tokens: Tensor, cache: Cache) -> Tensor:
        """Hidden states ``[n, width]`` of one more token per sequence, ``tokens`` ``[n]`` int64; the cache moves on."""
        x = self.embedding(tokens)
        angles = self.rotary.angles(cache.position)
        for layer, block in enumerate(self.layers):
            x = block.finish(x, cache.attend(layer, block.qkv(block.norm_1(x)), angles))
        cache.written += 1
        hidden: Tensor = self.norm(x)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """Next-token logits ``[..., vocabulary]``; fillers and the answer mark are out of reach."""
        return F.linear(hidden, self.embedding.weight) + self.forbidden
