"""Batched sampling from a :class:`Transformer`: a queue of completions, written by a batch that stays full.

What makes it fast: a prompt that many completions continue is read once and kept once, a completion that ends makes
room for the next of the queue (continuous batching), the batch shrinks when the queue is empty, and no sequence is
padded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from ..diverged import Diverged
from .cache import Cache
from .tokenizer import END, PAD, Tokens, pad_right
from .transformer import Transformer

BATCH_SIZE = 128
"""Completions written at the same time: enough for the products to be large, few enough for the caches to be small."""

READ_AHEAD = 16
"""Prompts read before a sequence is free for them, so that they are read together."""

READ_TOKENS = 8192
"""Tokens of prompts, padding included, that are read in one pass (or one prompt, if it is longer)."""

OUT_OF_REACH = -5e3
"""Networks add less than this to the logits of tokens that are never written."""


class Progress(NamedTuple):
    """Completions under way, n of them, as a mask sees them."""

    row: Tensor  # [n] int64: which of the prompts each one continues
    written: Tensor  # [n, longest] int64: what it has written so far, PAD after that
    prompts: Sequence[Tokens]  # what all were given to read; a beginning that was given stands at the end of it


Mask = Callable[[Progress], Tensor]
"""Which tokens may be written next: bool ``[n, vocabulary]``. A completion may end where ``END`` is allowed."""


@dataclass(frozen=True)
class Generated:
    """What was written, a prompt a row; N is the longest completion."""

    tokens: Tensor  # [B, N] int64, END included where it was written, PAD after
    logp: Tensor  # [B, N] log-probability of each token under the temperature-scaled network; 0 after the end
    entropy: Tensor  # [B, N] entropy (nats) of the same distribution as logp; 0 after the end
    length: Tensor  # [B] int64 number of tokens written, END included
    drawn: Tensor  # [B, N] log-probability after a mask, top_k and top_p: logp itself where there is none of them


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
    batch_size: int = BATCH_SIZE,
    mask: Mask | None = None,
) -> Generated:
    """Continues every prompt until ``END`` or ``max_new_tokens``.

    A completion depends on its prompt, its place in ``prompts`` and the generator, not on its company: the same row of
    the same stream decides it, whatever is written beside it and however many sequences there are (but for rounding).

    Args:
        network: the transformer; its device decides where this runs.
        prompts: token arrays of any lengths; equal ones are read only once. A forced beginning of the completion is the
            end of its prompt (see :meth:`Tokenizer.prompt`).
        max_new_tokens: at most so many tokens a completion.
        temperature: logits are divided by it; 0 takes the likeliest token.
        top_k: sample among the k likeliest tokens only (0: all).
        top_p: sample among the likeliest tokens that together hold this probability (1: all).
        generator: source of randomness; its device is the network's.
        batch_size: completions written at the same time; the others wait until one of these ends.
        mask: says before each token which ones may be written (None: all).

    Returns:
        The completions. ``logp`` is that of the whole temperature-scaled distribution, before a mask, ``top_k`` and
        ``top_p`` cut it, because that is what a trainer can differentiate; ``drawn`` is that of what was drawn from.

    Raises:
        ValueError: settings that mean nothing, or a mask that allows no token.
    """
    check_sampling(max_new_tokens, temperature, top_k, top_p, batch_size)
    batch = _Batch(network, prompts, max_new_tokens, batch_size)
    draws = torch.rand((len(prompts), max_new_tokens), dtype=torch.float64, generator=generator, device=batch.device)
    allow = allowing(mask, network.forbidden, prompts)
    return decode(network, batch, draws, temperature=temperature, top_k=top_k, top_p=top_p, allow=allow)


Allow = Callable[[Tensor, Tensor], Tensor]
"""A mask of known prompts: from ``row`` and ``written`` of :class:`Progress` to bool ``[n, vocabulary]``."""


def allowing(mask: Mask | None, forbidden: Tensor, prompts: Sequence[Tokens]) -> Allow | None:
    """``mask`` for completions of ``prompts``, without the tokens that ``forbidden`` ``[V]`` puts out of reach."""
    return None if mask is None else partial(_allowed, mask, forbidden, prompts)


def _allowed(mask: Mask, forbidden: Tensor, prompts: Sequence[Tokens], row: Tensor, written: Tensor) -> Tensor:
    allowed = mask(Progress(row, written, prompts))
    wanted = (len(row), len(forbidden))
    if allowed.dtype != torch.bool or tuple(allowed.shape) != wanted:
        raise ValueError(
            f"a mask of tokens is bool of shape {wanted} (completions, vocabulary), got {allowed.dtype} of shape "
            f"{tuple(allowed.shape)}"
        )
    allowed = allowed & (forbidden > OUT_OF_REACH)
    stuck = (~allowed.any(1)).nonzero()[:, 0]
    if len(stuck):
        said = int((written[stuck[0]] != PAD).sum())
        raise ValueError(
            f"the mask allows no token after {said} tokens of completion {int(row[stuck[0]])}: allow END where a "
            "completion may end"
        )
    return allowed


class Decoding(Protocol):
    """A queue of completions, and those of them that are being written."""

    completion: Tensor  # [n] int64, which completion each sequence writes
    cache: Cache

    @property
    def said(self) -> Tensor:
        """``[n]`` int64, tokens of these completions so far."""

    def admit(self) -> Tensor:
        """Fills the batch from the queue; returns the hidden states ``[new sequences, width]`` that they begin with."""

    def drop(self, ended: Tensor) -> Tensor | None:
        """Drops sequences, bool ``[n]``; returns which of the old ones each one is now, None if none ended."""


def decode(
    network: Transformer,
    batch: Decoding,
    draws: Tensor,
    *,
    temperature: float,
    top_k: int,
    top_p: float,
    allow: Allow | None = None,
) -> Generated:
    """Writes all completions of ``batch``, the n-th token of each by its n-th number of ``draws`` ``[B, longest]``."""
    tokens = torch.full(draws.shape, PAD, device=draws.device)
    logp, entropy, drawn = torch.zeros(3, *draws.shape, device=draws.device, dtype=network.embedding.weight.dtype)
    hidden = batch.admit()
    while len(hidden):
        place = (batch.completion, batch.said)
        logits = network.logits(hidden)
        if not logits.sum().isfinite():
            raise Diverged("the network's logits are not finite: its training has diverged")
        allowed = None if allow is None else allow(batch.completion, tokens[batch.completion])
        chosen, logp[place], entropy[place], drawn[place] = choose(
            logits, draws[place], temperature=temperature, top_k=top_k, top_p=top_p, allowed=allowed
        )
        tokens[place] = chosen
        source = batch.drop((chosen == END) | (batch.said + 1 == draws.shape[1]))
        hidden = network.step(chosen if source is None else chosen[source], batch.cache)
        if source is not None:
            hidden = torch.cat((hidden, batch.admit()))
    length = (tokens != PAD).sum(1)
    longest = int(length.max())
    return Generated(tokens[:, :longest], logp[:, :longest], entropy[:, :longest], length, drawn[:, :longest])


def choose(
    logits: Tensor, draws: Tensor, *, temperature: float, top_k: int, top_p: float, allowed: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One token a row of ``logits`` ``[B, V]``, where ``draws`` ``[B]`` (float64, in [0, 1)) fall in its distribution.

    With ``allowed``, bool ``[B, V]``, it is one of those: what they hold of the distribution is made 1 again before
    ``top_k`` and ``top_p`` cut it.

    Returns:
        Tokens, their log-probabilities, the distributions' entropies, both before any cut, and the tokens'
        log-probabilities after it, ``[B]`` each.
    """
    logps = torch.log_softmax(logits / temperature if temperature not in (0, 1) else logits, dim=-1)
    probabilities = logps.exp()
    entropy = -torch.linalg.vecdot(probabilities, logps)
    among, kept = logps, None
    if allowed is not None:
        among = torch.log_softmax(logps.masked_fill(~allowed, -torch.inf), dim=-1)
        probabilities = among.exp()
    if temperature == 0:
        chosen = among.argmax(-1)
    elif top_k > 0 or top_p < 1:
        probabilities, order = _cut(probabilities, top_k, top_p)
        chosen = order.gather(-1, _fallen(probabilities, draws)[:, None])[:, 0]
        kept = probabilities.sum(-1).log()
    else:
        chosen = _fallen(probabilities, draws)
    logp = _at(logps, chosen)
    drawn = logp if allowed is None else _at(among, chosen)
    return chosen, logp, entropy, drawn if kept is None else drawn - kept


def _at(logps: Tensor, chosen: Tensor) -> Tensor:
    return logps.gather(-1, chosen[:, None])[:, 0]


def _fallen(probabilities: Tensor, draws: Tensor) -> Tensor:
    """Inverts the distribution function.

    In double precision a draw below 1 stays below the total, so that no token of probability 0 is ever chosen.
    """
    below = probabilities.cumsum(-1, dtype=torch.float64)
    return torch.searchsorted(below, draws[:, None] * below[:, -1:], right=True)[:, 0]


def _cut(probabilities: Tensor, top_k: int, top_p: float) -> tuple[Tensor, Tensor]:
    """The likeliest tokens' probabilities, 0 for those beyond the cut, and which tokens they are."""
    ordered, order = probabilities.topk(min(top_k or probabilities.shape[-1], probabilities.shape[-1]))
    before = ordered.cumsum(-1) - ordered  # probability of everything likelier
    return ordered * (before < top_p), order


class _Batch:
    """Which completion each sequence is, and which prompts are in the cache: equal prompts are read together.

    Args:
        network: reads the prompts.
        prompts: of the completions.
        longest_completion: tokens.
        batch_size: completions at the same time.
    """

    def __init__(
        self, network: Transformer, prompts: Sequence[Tokens], longest_completion: int, batch_size: int
    ) -> None:
        number: dict[bytes, int] = {}
        self.prompt_of = np.array([number.setdefault(prompt.tobytes(), len(number)) for prompt in prompts])
        self.distinct = [np.frombuffer(key, np.int64) for key in number]
        if not all(map(len, self.distinct)):
            raise ValueError("a prompt holds at least one token (Tokenizer.prompt ends with the ANSWER mark)")
        self.network, self.device = network, network.embedding.weight.device
        self.queue = self.prompt_of.argsort(kind="stable")
        self.begun, self.n_read = 0, 0  # completions of the queue, distinct prompts
        self.left = np.bincount(self.prompt_of)  # completions of each prompt that have not ended
        self.batch_size = min(batch_size, len(prompts))
        self.slots = list(range(self.batch_size))
        rows = min(len(self.distinct), self.batch_size + READ_AHEAD)  # a sequence holds at most one
        self.free, self.row_of = list(range(rows)), np.zeros(len(self.distinct), np.int64)
        self.hidden = torch.empty(rows, network.width, device=self.device, dtype=network.embedding.weight.dtype)
        longest = max(map(len, self.distinct))
        self.cache = Cache(
            network, rows=rows, longest_prompt=longest, slots=self.batch_size, longest_completion=longest_completion
        )
        self.completion = torch.empty(0, dtype=torch.int64, device=self.device)

    @property
    def said(self) -> Tensor:
        """``[n]`` tokens that each sequence has written."""
        return self.cache.written

    def admit(self) -> Tensor:
        """Fills the batch; returns the last hidden states ``[new sequences, width]`` of their prompts."""
        start, self.begun = self.begun, min(self.begun + self.batch_size - len(self.completion), len(self.queue))
        completions = self.queue[start : self.begun]
        numbers = self.prompt_of[completions]
        while len(numbers) and numbers[-1] >= self.n_read:
            self._read()
        rows = torch.from_numpy(self.row_of[numbers]).to(self.device)
        slots, self.slots = self.slots[: len(rows)], self.slots[len(rows) :]
        self.cache.admit(rows, torch.tensor(slots, dtype=torch.int64, device=self.device))
        self.completion = torch.cat((self.completion, torch.from_numpy(completions).to(self.device)))
        return self.hidden[rows]

    def drop(self, ended: Tensor) -> Tensor | None:
        """Drops sequences, bool ``[n]``; returns which of the old ones each one is now, None if none ended."""
        completions = self.completion[ended].tolist()
        if not completions:
            return None
        for number in self.prompt_of[completions]:
            self.left[number] -= 1
            if self.left[number] == 0:
                self.free.append(int(self.row_of[number]))
        self.slots += self.cache.slot[ended].tolist()
        source = self.cache.keep(~ended)
        self.completion = self.completion[source]
        return source

    def _read(self) -> None:
        """Runs the next prompts, as many as there is room for."""
        longest = max(map(len, self.distinct[self.n_read : self.n_read + len(self.free)]))
        n = min(len(self.free), len(self.distinct) - self.n_read, max(1, READ_TOKENS // longest))
        prompts = self.distinct[self.n_read : self.n_read + n]
        rows, self.free = self.free[:n], self.free[n:]
        self.row_of[self.n_read : self.n_read + n] = rows
        self.n_read += n
        self.hidden[rows] = read(self.network, self.cache, rows, prompts)


def read(network: Transformer, cache: Cache, rows: Sequence[int], prompts: Sequence[Tokens]) -> Tensor:
    """Runs prompts and keeps them in ``rows`` of the cache; returns their last hidden states ``[prompts, width]``."""
    device = network.embedding.weight.device
    lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
    kept: list[Tensor] = []
    hidden: Tensor = network(torch.from_numpy(pad_right(prompts)).to(device), kept)
    cache.read(torch.tensor(rows, device=device), torch.stack(kept, 1), lengths)
    return hidden[torch.arange(len(prompts), device=device), lengths - 1]


def check_sampling(max_new_tokens: int, temperature: float, top_k: int, top_p: float, batch_size: int = 1) -> None:
    """Refuses settings of :func:`generate` that mean nothing, with a ``ValueError``."""
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
    if not temperature >= 0:
        raise ValueError(f"temperature must be 0 (greedy) or more, got {temperature}")
    if top_k < 0:
        raise ValueError(f"top_k must be 0 (all tokens) or more, got {top_k}")
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must lie in (0, 1], got {top_p}")
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
