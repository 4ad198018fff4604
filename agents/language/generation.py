"""Batched sampling from a :class:`Transformer` with a key-value cache.

What makes it fast: prompts that several lanes share are read once, caches are allocated once, lanes that have ended are
dropped from the batch, and the loop stops with the last lane.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .tokenizer import END, PAD, Tokens
from .transformer import Cache, Transformer

DROP_SHARE = 0.15
"""Ended lanes leave the batch once they are this share of it: copying the caches must cost less than carrying them."""


@dataclass(frozen=True)
class Generated:
    """What was written, a lane a row; N is the longest answer."""

    tokens: Tensor  # [B, N] int64, END included where it was written, PAD after
    logp: Tensor  # [B, N] log-probability of each token under the temperature-scaled network; 0 after the end
    entropy: Tensor  # [B, N] entropy (nats) of the distribution each token was drawn from; 0 after the end
    length: Tensor  # [B] int64 number of tokens written, END included


@torch.inference_mode()
def generate(
    network: Transformer,
    prompts: Sequence[Tokens],
    *,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
) -> Generated:
    """Continues every prompt until ``END`` or ``max_new_tokens``.

    Args:
        network: the transformer; its device decides where this runs.
        prompts: token arrays of any lengths; equal ones are read only once.
        max_new_tokens: at most so many tokens an answer.
        temperature: logits are divided by it; 0 takes the likeliest token.
        top_k: sample among the k likeliest tokens only (0: all).
        top_p: sample among the likeliest tokens that together hold this probability (1: all).
        generator: source of randomness; its device is the network's.

    Returns:
        The answers. ``logp`` is that of the whole temperature-scaled distribution, before ``top_k`` and ``top_p`` cut
        it, because that is what a trainer can differentiate.
    """
    _check_sampling(max_new_tokens, temperature, top_k, top_p)
    device = network.embedding.weight.device
    hidden, cache, valid, position = _read(network, prompts, max_new_tokens)
    lanes = torch.arange(len(prompts), device=device)  # rows of the result that are still being written
    tokens = torch.full((len(prompts), max_new_tokens), PAD, device=device)
    logp, entropy = torch.zeros(2, len(prompts), max_new_tokens, device=device)
    for n in range(max_new_tokens):
        chosen, logp[lanes, n], entropy[lanes, n] = choose(
            network.logits(hidden), temperature=temperature, top_k=top_k, top_p=top_p, generator=generator
        )
        tokens[lanes, n] = chosen
        alive = chosen != END
        n_alive = int(alive.sum())
        if n_alive == 0 or n + 1 == max_new_tokens:
            break
        if n_alive <= (1 - DROP_SHARE) * len(chosen):
            kept = alive.nonzero()[:, 0]
            lanes, chosen = lanes[kept], chosen[kept]
            cache = cache.take(kept, position, cache.keys[0].shape[2])
            valid = None if valid is None else valid[kept]
        mask = None if valid is None else valid[:, None, None, : position + 1]
        hidden = network.step(chosen, cache, position, mask)
        position += 1
    return _trimmed(tokens, logp, entropy)


def _trimmed(tokens: Tensor, logp: Tensor, entropy: Tensor) -> Generated:
    """Blanks what lanes went on writing between their END and the moment they were dropped."""
    ended = (tokens == END).cumsum(1)
    written = (tokens != PAD) & ((ended == 0) | ((ended == 1) & (tokens == END)))
    longest = int(written.sum(1).max())
    tokens = torch.where(written, tokens, PAD)
    return Generated(
        tokens[:, :longest], (logp * written)[:, :longest], (entropy * written)[:, :longest], written.sum(1)
    )


def choose(
    logits: Tensor, *, temperature: float, top_k: int, top_p: float, generator: torch.Generator | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Draws one token a row of ``logits`` ``[B, V]``; returns tokens, their log-probabilities and entropies ``[B]``."""
    logps = torch.log_softmax(logits / temperature if temperature > 0 else logits, dim=-1)
    probabilities = logps.exp()
    entropy = -(probabilities * logps).sum(-1)
    if temperature == 0:
        chosen = logps.argmax(-1)
    else:
        if top_k > 0 or top_p < 1:
            probabilities = _cut(probabilities, top_k, top_p)
        # argmax of p / Exp(1) noise is a draw from p, without the normalisation and checks of torch.multinomial
        noise = torch.empty_like(probabilities).exponential_(generator=generator)
        chosen = (probabilities / noise).argmax(-1)
    return chosen, logps.gather(-1, chosen[:, None])[:, 0], entropy


def _cut(probabilities: Tensor, top_k: int, top_p: float) -> Tensor:
    ordered, order = probabilities.sort(-1, descending=True)
    before = ordered.cumsum(-1) - ordered  # probability of everything likelier
    keep = before < top_p
    if top_k > 0:
        keep[:, top_k:] = False
    return torch.zeros_like(probabilities).scatter(-1, order, ordered * keep)


def _read(
    network: Transformer, prompts: Sequence[Tokens], max_new_tokens: int
) -> tuple[Tensor, Cache, Tensor | None, int]:
    """Runs the distinct prompts, padded on the left so that all lanes write into the same column.

    Rotary scores depend on distances only, so the padding does not move anything.

    Returns:
        The last hidden state of every lane, a cache with room for the answers, which columns hold tokens (bool
        ``[B, capacity]``, or None for all of them) and the next column.
    """
    device = network.embedding.weight.device
    first: dict[bytes, int] = {}
    rows = [first.setdefault(prompt.tobytes(), len(first)) for prompt in prompts]
    distinct = [np.frombuffer(key, np.int64) for key in first]
    length = max(map(len, distinct))
    if min(map(len, distinct)) == 0:
        raise ValueError("a prompt holds at least one token (Tokenizer.prompt ends with the ANSWER mark)")
    tokens = np.full((len(distinct), length), PAD, np.int64)
    for row, prompt in zip(tokens, distinct, strict=True):
        row[length - len(prompt) :] = prompt
    batch = torch.from_numpy(tokens).to(device)
    cache = Cache.empty(network, len(distinct), length)
    valid, mask = None, None
    if any(len(prompt) != length for prompt in distinct):
        present = torch.tensor([[length - len(prompt)] for prompt in distinct], device=device)
        valid = torch.arange(length + max_new_tokens, device=device) >= present
        causal = torch.ones(length, length, dtype=torch.bool, device=device).tril()
        itself = torch.eye(length, dtype=torch.bool, device=device)  # fillers look at themselves: no empty softmax
        mask = ((causal & valid[:, None, :length]) | itself)[:, None]
    hidden = network(batch, cache, mask)[:, -1]
    index = torch.tensor(rows, device=device)
    cache = cache.take(index, length, length + max_new_tokens)
    return hidden[index], cache, None if valid is None else valid[index], length


def _check_sampling(max_new_tokens: int, temperature: float, top_k: int, top_p: float) -> None:
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
    if not temperature >= 0:
        raise ValueError(f"temperature must be 0 (greedy) or more, got {temperature}")
    if top_k < 0:
        raise ValueError(f"top_k must be 0 (all tokens) or more, got {top_k}")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must lie in (0, 1], got {top_p}")
