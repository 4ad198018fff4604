"""NLPO: completions, and the policy that is trained, are restricted to the nucleus of an older copy of the policy."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ....wrappers.components import Problem
from ...models.following import Follower, nucleus
from ...models.generation import Mask, Progress
from ...models.hf import HFNetwork
from ...models.sharing import hidden_before
from ...models.tokenizer import END
from ...models.transformer import Transformer
from ..context import Context
from ..rollouts import Rollouts
from .groups import Groups


class NLPO(Groups):
    """Groups of completions, each token among those of an older policy's nucleus at its place.

    A copy of the policy, renewed every ``refresh`` iterations, says which tokens may come next: the fewest likeliest
    ones that together hold the probability ``top_p``, and the end of the completion. The policy's probabilities among
    them are made 1 again, and that is the distribution that completions are drawn from and that the method's ratios
    and entropy are of (``Rollouts.support``). Unlikely tokens, of which a large vocabulary has many, are not tried, and
    what the policy comes to like is allowed only at the next renewal. With ``top_p=1`` nothing is restricted.

    As in the authors' code, a KL penalty (``rewards="kl-penalty"``) is of the policy before the mask. Evaluations and
    ``predict`` write with the policy alone, where the authors' mask them too: likeliest tokens are hardly ever others.

    Departures: the copy is renewed between two iterations, so that it is the policy which writes the next one; the
    authors renew it after an iteration is written and before it is learnt from. What a token was drawn among is
    computed again in the gradient step, not stored; a token that was drawn is always among it.

    Args:
        top_p: probability of the nucleus, in (0, 1].
        refresh: iterations between two renewals.
        min_tokens: so many of the likeliest tokens are always allowed.

    Raises:
        ValueError: a number out of range.

    Paper: Is Reinforcement Learning (Not) for Natural Language Processing: Benchmarks, Baselines, and Building Blocks
    for Natural Language Policy Optimization (2022), section 4 and algorithm 1; the authors' code for the rest, whose
    settings for continuing IMDB reviews are the defaults (but ``min_tokens=100`` of 50,257 there).
    """

    def __init__(self, *, top_p: float = 0.9, refresh: int = 5, min_tokens: int = 1) -> None:
        super().__init__()
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p must lie in (0, 1], got {top_p}")
        for name, number in (("refresh", refresh), ("min_tokens", min_tokens)):
            if number < 1:
                raise ValueError(f"{name} must be at least 1, got {number}")
        self.top_p, self.refresh, self.min_tokens = top_p, refresh, min_tokens
        self.age, self.used = 0, False  # iterations that this copy has served, and whether it serves another one

    def start(self, context: Context) -> None:
        """Copies the policy.

        Raises:
            TypeError: a model of one's own, whose next-token logits nothing here knows how to ask for.
        """
        network = context.policy.network
        if not isinstance(network, Transformer | HFNetwork):
            raise TypeError(
                f"the sampler nlpo asks an older copy of the policy for its next-token logits: take one of the "
                f"transformers here or an hf: model, not a {type(network).__name__}"
            )
        self.masking = deepcopy(network).requires_grad_(False)
        self.age, self.used = 0, False

    def begin(self, context: Context) -> None:
        """Renews the copy when it is due; called twice before an iteration, it does nothing the second time."""
        self.age += self.used
        self.used = False
        if self.age >= self.refresh:
            self.masking.load_state_dict(context.policy.network.state_dict())
            self.age = 0

    def rollouts(self, context: Context, problems: Sequence[Problem], group_size: int) -> Rollouts:
        """As of :class:`Groups`, with what their tokens were drawn among."""
        self.used = True
        found = super().rollouts(context, problems, group_size)
        return found if self.top_p == 1 else replace(found, support=_Support(self, _temperature(context)))

    def mask(self, context: Context) -> Mask | None:
        """The nucleus of the copy, and the end."""
        return None if self.top_p == 1 else _Mask(self, _temperature(context))

    def allowed(self, logits: Tensor, temperature: float) -> Tensor:
        """Which tokens may be written, bool ``[n, vocabulary]``, by the copy's ``logits``."""
        inside = nucleus(torch.softmax(logits / temperature, dim=-1), self.top_p, self.min_tokens)
        inside[:, END] = True
        return inside

    def state_dict(self) -> dict[str, Any]:
        """When the copy is due."""
        return {"age": self.age, "used": self.used}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Renews the copy when it was due."""
        self.age, self.used = state["age"], state["used"]

    def networks(self) -> dict[str, Any]:
        """The copy."""
        return {"masking": self.masking}


@dataclass
class _Mask:
    """What may be written next, token by token."""

    sampler: NLPO
    temperature: float
    follower: Follower | None = None  # of the texts that are being written

    def __call__(self, progress: Progress) -> Tensor:
        if self.follower is None or self.follower.prompts is not progress.prompts:
            longest, slots = progress.written.shape[1], len(progress.row)
            self.follower = Follower(self.sampler.masking, progress.prompts, longest, slots)
        return self.sampler.allowed(self.follower.logits(progress), self.temperature)


@dataclass(frozen=True)
class _Support:
    """The same of texts that have been written, whole."""

    sampler: NLPO
    temperature: float

    @torch.no_grad()
    def __call__(self, tokens: Tensor, mask: Tensor) -> Tensor:
        network = self.sampler.masking
        allowed = self.sampler.allowed(network.logits(hidden_before(network, tokens, mask)), self.temperature)
        return allowed.scatter_(1, tokens[mask][:, None], True)


def _temperature(context: Context) -> float:
    return float(context.policy.temperature)  # type: ignore[attr-defined]  # both kinds that start() takes have one
