"""Another network beside the one that writes: its next-token logits for completions as they grow, and its nucleus."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from .cache import Cache
from .generation import Progress, read
from .hf import HFNetwork
from .tokenizer import PAD, Tokens, pad_right
from .transformer import Transformer


class Follower:
    """Next-token logits of a network for completions that another one writes, each token read once.

    It keeps keys and values of its own. What is asked must grow as a mask sees it (:class:`~.generation.Progress`): a
    completion is first asked about before its first token, and then after each token, until it is asked about no more.
    A model of Hugging Face reads the whole texts anew for each token.

    Args:
        network: reads along.
        prompts: what the completions continue; ``Progress.prompts``.
        longest_completion: tokens.
        slots: completions at the same time.
    """

    def __init__(
        self, network: Transformer | HFNetwork, prompts: Sequence[Tokens], longest_completion: int, slots: int
    ) -> None:
        self.network, self.prompts = network, prompts
        if isinstance(network, HFNetwork):
            return
        number: dict[bytes, int] = {}
        self.row_of = [number.setdefault(prompt.tobytes(), len(number)) for prompt in prompts]
        self.distinct = [np.frombuffer(key, np.int64) for key in number]
        longest = max(map(len, self.distinct))
        self.cache = Cache(
            network,
            rows=len(self.distinct),
            longest_prompt=longest,
            slots=slots,
            longest_completion=longest_completion,
        )
        self.hidden: dict[int, Tensor] = {}  # of prompts that have been read, at their last token
        self.following: list[int] = []  # the completions in the cache, in its order
        self.free = list(range(slots))

    @torch.no_grad()
    def logits(self, progress: Progress) -> Tensor:
        """Logits ``[n, vocabulary]`` of the next token of each completion under way."""
        if isinstance(self.network, HFNetwork):
            return self._anew(self.network, progress)
        asked = progress.row.tolist()
        place = {completion: i for i, completion in enumerate(asked)}
        self._drop(place)
        states: list[Tensor] = []
        if self.following:
            at = [place[completion] for completion in self.following]
            last = self.cache.written  # tokens that have been read; the next one has been written since
            states.append(self.network.step(progress.written[at, last], self.cache))
        known = set(self.following)
        new = [completion for completion in asked if completion not in known]
        if new:
            states.append(self._admit(new))
        hidden = torch.cat(states)
        order = torch.tensor([place[completion] for completion in self.following], device=hidden.device)
        return self.network.logits(torch.empty_like(hidden).index_copy(0, order, hidden))

    def _drop(self, asked: dict[int, int]) -> None:
        """Forgets completions that are asked about no more."""
        alive = torch.tensor([completion in asked for completion in self.following], dtype=torch.bool)
        if alive.all():
            return
        device = self.cache.slot.device
        self.free += self.cache.slot[~alive.to(device)].tolist()
        kept = self.cache.keep(alive.to(device))
        self.following = [self.following[i] for i in kept.tolist()]

    def _admit(self, new: Sequence[int]) -> Tensor:
        """Begins to follow completions; the hidden states of their prompts ``[len(new), width]``."""
        assert isinstance(self.network, Transformer)
        rows = [self.row_of[completion] for completion in new]
        unread = [row for row in dict.fromkeys(rows) if row not in self.hidden]
        if unread:
            states = read(self.network, self.cache, unread, [self.distinct[row] for row in unread])
            self.hidden |= dict(zip(unread, states, strict=True))
        slots, self.free = self.free[: len(new)], self.free[len(new) :]
        device = self.cache.slot.device
        self.cache.admit(torch.tensor(rows, device=device), torch.tensor(slots, device=device))
        self.following += new
        return torch.stack([self.hidden[row] for row in rows])

    def _anew(self, network: HFNetwork, progress: Progress) -> Tensor:
        texts = [
            np.concatenate([self.prompts[row], written[written != PAD]])
            for row, written in zip(progress.row.tolist(), progress.written.cpu().numpy(), strict=True)
        ]
        tokens = torch.from_numpy(pad_right(texts)).to(progress.row.device)
        last = torch.tensor([len(text) - 1 for text in texts], device=tokens.device)
        return network.logits(network(tokens)[torch.arange(len(texts), device=tokens.device), last])


def nucleus(probabilities: Tensor, top_p: float, min_tokens: int = 1) -> Tensor:
    """The fewest likeliest tokens that together hold ``top_p``, and ``min_tokens`` at least; bool ``[..., V]``.

    Args:
        probabilities: ``[..., V]``.
        top_p: in (0, 1].
        min_tokens: so many of the likeliest tokens are always among them.

    Paper: The Curious Case of Neural Text Degeneration (2020), nucleus sampling.
    """
    ordered, order = probabilities.sort(-1, descending=True)
    inside = ordered.cumsum(-1) - ordered < top_p
    inside[..., :min_tokens] = True
    return torch.zeros_like(inside).scatter(-1, order, inside)
