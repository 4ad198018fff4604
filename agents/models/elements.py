"""A transformer over the words of a goal and the elements of a screen, and the distribution of actions it gives.

The numbers are those of :mod:`tiltyard.envs.gui.elements`. An action is chosen part by part: the verb; then, as the
verb asks for it, an element by a pointer, a second one given the first, or the first of some goal words by a pointer
and the last given the first. Parts that the verb does not use are 0 and have no share in probability and entropy.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch as th
import torch.nn.functional as F
from torch import Tensor, nn

from ...envs.gui.elements import (
    COLUMNS,
    DETAIL_AT,
    DRAG,
    ELEMENTS,
    GOAL_WORDS,
    LONGEST_SPAN,
    NUMERIC_VERBS,
    OPEN,
    POINTING,
    ROLES,
    SIZES,
    SPEAKING,
    TEXT_AT,
    TOKENS,
)

__all__ = ["ActionDistribution", "ActionHeads", "ElementsNetwork", "Encoded", "Shape"]

ELEMENT_VERBS, SPAN_VERBS = (tuple(map(NUMERIC_VERBS.index, verbs)) for verbs in (POINTING, SPEAKING))
ICONS = 128
"""Icon numbers from here on share the last embedding."""
NEAR = 4
"""Words and elements this far apart or farther have one relative position."""
NEVER = -1e9
MATCHES = 4
_FACTS = 4 + 3 + 5 + MATCHES


@dataclass(frozen=True)
class Shape:
    """Sizes of an :class:`ElementsNetwork`.

    Attributes:
        width: of hidden states.
        layers: of self-attention.
        heads: of each.
        token_width: of the embedding of a word.
    """

    width: int = 96
    layers: int = 2
    heads: int = 4
    token_width: int = 64


class Encoded(NamedTuple):
    """Hidden states.

    ``summary [B, D]``, ``elements [B, n, D]``, ``goal [B, g, D]``; which are ``present [B, n]`` and are ``words
    [B, g]``. n and g are the most of any observation in the batch.
    """

    summary: Tensor
    elements: Tensor
    goal: Tensor
    present: Tensor
    words: Tensor


class Matches(NamedTuple):
    """Which goal words an element's text and detail hold, both ``[B, n, g]``, and four shares ``[B, n, 4]``."""

    text: Tensor
    detail: Tensor
    shares: Tensor


def matches(text: Tensor, detail: Tensor, goal: Tensor) -> Matches:
    """Where tokens ``[B, n, 8]``, ``[B, n, 4]`` and ``[B, g]`` are equal.

    The shares are those of the element's words that the goal has, and whether it has them all, for text and detail.
    """
    found, shares = [], []
    for words in (text, detail):
        known = words > 0
        equal = (words[..., None] == goal[:, None, None]) & known[..., None]
        inside, count = equal.any(3).sum(2), known.sum(2)
        found.append(equal.any(2).float())
        shares += [inside / count.clamp_min(1), ((inside == count) & (count > 0)).float()]
    return Matches(found[0], found[1], th.stack(shares, -1))


def _offsets(n: int, device: th.device) -> Tensor:
    places = th.arange(n, device=device)
    return (places[None] - places[:, None]).clamp(-NEAR, NEAR) + NEAR


class Block(nn.Module):
    """Self-attention of summary, goal and elements that knows which words are equal and which places are near."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width, self.heads = shape.width, shape.heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.equal = nn.Parameter(th.ones(2, 2, shape.heads))  # [text or detail, to the goal or from it, head]
        self.near = nn.Parameter(th.zeros(2, shape.heads, 2 * NEAR + 1))

    def bias(self, found: Matches, masked: Tensor) -> Tensor:
        """What is added to the attention's logits ``[B, heads, S, S]``."""
        batch, n, g = found.text.shape
        bias = masked[:, None, None].expand(batch, self.heads, 1 + g + n, 1 + g + n).clone()
        words, things = slice(1, 1 + g), slice(1 + g, None)
        both = th.stack([found.text, found.detail], 1)
        bias[:, :, things, words] += th.einsum("kh,bkng->bhng", self.equal[:, 0], both)
        bias[:, :, words, things] += th.einsum("kh,bkng->bhgn", self.equal[:, 1], both)
        bias[:, :, words, words] += self.near[0][:, _offsets(g, bias.device)]
        bias[:, :, things, things] += self.near[1][:, _offsets(n, bias.device)]
        return bias

    def forward(self, x: Tensor, found: Matches, masked: Tensor) -> Tensor:
        """``[B, S, D]`` to the same."""
        batch, length, width = x.shape
        q, k, v = self.qkv(self.first(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias(found, masked))
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        mixed: Tensor = x + self.mlp(self.second(x))
        return mixed


class ElementsNetwork(nn.Module):
    """From observations to hidden states; one word has one embedding wherever it stands."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape, width, token = shape, shape.width, shape.token_width
        self.tokens = nn.Embedding(TOKENS, token, padding_idx=0)
        nn.init.normal_(self.tokens.weight[1:], std=0.3)
        self.roles, self.icons = nn.Embedding(1 + len(ROLES), width), nn.Embedding(ICONS, width)
        self.text, self.detail, self.matched, self.facts, self.word = (
            nn.Linear(size, width, bias=False) for size in (token, token, token, _FACTS, token)
        )
        self.used = nn.Linear(2, width, bias=False)
        self.word_places, self.element_places = nn.Embedding(GOAL_WORDS, width), nn.Embedding(ELEMENTS, width)
        self.start = nn.Parameter(th.zeros(width))
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(width)
        for part in (self.roles, self.icons, self.word_places, self.element_places):
            nn.init.normal_(part.weight, std=0.3)

    def forward(self, elements: Tensor, goal: Tensor) -> Encoded:
        """``elements [B, 64, 24]`` and ``goal [B, 48]``, integers of any type."""
        elements, goal = elements.long().view(-1, ELEMENTS, COLUMNS), goal.long()
        n = max(int((elements[..., 0] > 0).sum(1).max()), 1)
        g = max(int((goal > 0).sum(1).max()), 1)
        elements, goal = elements[:, :n], goal[:, :g]
        found = matches(elements[..., TEXT_AT:DETAIL_AT], elements[..., DETAIL_AT:], goal)
        words = self.tokens(goal)
        h = self._of_words(words, found)
        x = th.cat([self.start.expand(len(goal), 1, -1), h, self._of_elements(elements, words, found)], 1)
        present, real = elements[..., 0] > 0, goal > 0
        masked = th.where(th.cat([real[:, :1] | True, real, present], 1), 0.0, NEVER)
        for block in self.blocks:
            x = block(x, found, masked)
        x = self.norm(x)
        return Encoded(x[:, 0], x[:, 1 + g :], x[:, 1 : 1 + g], present, real)

    def _of_words(self, words: Tensor, found: Matches) -> Tensor:
        used = th.stack([found.text.amax(1), found.detail.amax(1)], -1)
        h: Tensor = self.word(words) + self.word_places.weight[: words.shape[1]] + self.used(used)
        return h

    def _of_elements(self, elements: Tensor, words: Tensor, found: Matches) -> Tensor:
        checked = F.one_hot(elements[..., 5], 3)
        facts = th.cat([elements[..., 1:5] / 500 - 1, checked, elements[..., 6:11], found.shares], -1)
        matched = found.text / found.text.sum(2, keepdim=True).clamp_min(1)
        h: Tensor = (
            self.roles(elements[..., 0])
            + self.icons(elements[..., 11].clamp_max(ICONS - 1))
            + self.text(self._mean(elements[..., TEXT_AT:DETAIL_AT]))
            + self.detail(self._mean(elements[..., DETAIL_AT:]))
            + self.matched(matched @ words)
            + self.facts(facts.float())
            + self.element_places.weight[: elements.shape[1]]
        )
        return h

    def _mean(self, words: Tensor) -> Tensor:
        mean: Tensor = self.tokens(words).sum(2) / (words > 0).sum(2, keepdim=True).clamp_min(1)
        return mean


class ActionDistribution:
    """Distributions of actions ``[B, 5]``, exact in probability and entropy.

    Args:
        verb: logits ``[B, 18]``.
        element: ``[B, 5, n]``, for each of the verbs that take one.
        second: ``[B, n, n]``, of a drag's end given its beginning.
        app: ``[B, 64]``, of the app to open.
        start: ``[B, 2, g]``, for each of the verbs that take goal words.
        length: ``[B, g, 12]``, given the first word.
    """

    def __init__(
        self, verb: Tensor, element: Tensor, second: Tensor, app: Tensor, start: Tensor, length: Tensor
    ) -> None:
        given = (verb, element, second, app, start, length)
        self.verb, self.element, self.second, self.app, self.start, self.length = (x.log_softmax(-1) for x in given)
        self._rows = th.arange(len(verb), device=verb.device)

    def log_prob(self, actions: Tensor) -> Tensor:
        """Of actions ``[B, 5]`` that name what is there; ``[B]``."""
        verb, first, second, start, length = actions.long().unbind(1)
        found = self._at(self.verb, verb)
        for slot, one in enumerate(ELEMENT_VERBS):
            found = found + th.where(verb == one, self._at(self.element[:, slot], first), 0.0)
        found = found + th.where(verb == DRAG, self._at(self._given(self.second, first), second), 0.0)
        found = found + th.where(verb == OPEN, self._at(self.app, second), 0.0)
        last = self._at(self._given(self.length, start), length)
        for slot, one in enumerate(SPAN_VERBS):
            found = found + th.where(verb == one, self._at(self.start[:, slot], start) + last, 0.0)
        return found

    def entropy(self) -> Tensor:
        """In nats ``[B]``: of the verb, and of what follows it in the mean over verbs."""
        verbs, total = self.verb.exp(), _entropy(self.verb)
        elements = _entropy(self.element)
        for slot, one in enumerate(ELEMENT_VERBS):
            total = total + verbs[:, one] * elements[:, slot]
        begun = self.element[:, ELEMENT_VERBS.index(DRAG)].exp()
        total = total + verbs[:, DRAG] * (begun * _entropy(self.second)).sum(1) + verbs[:, OPEN] * _entropy(self.app)
        starts = _entropy(self.start) + (self.start.exp() * _entropy(self.length)[:, None]).sum(2)
        for slot, one in enumerate(SPAN_VERBS):
            total = total + verbs[:, one] * starts[:, slot]
        return total

    def actions(self, deterministic: bool = False) -> Tensor:
        """Drawn actions, or the likeliest part after part; ``[B, 5]``."""
        draw = _likeliest if deterministic else _drawn
        verb = draw(self.verb)
        slot = sum((verb == one) * i for i, one in enumerate(ELEMENT_VERBS))
        first = draw(self._given(self.element, th.as_tensor(slot)))
        second = th.where(verb == DRAG, draw(self._given(self.second, first)), draw(self.app))
        start = draw(self._given(self.start, (verb == SPAN_VERBS[1]).long()))
        length = draw(self._given(self.length, start))
        points, spans = _among(verb, ELEMENT_VERBS), _among(verb, SPAN_VERBS)
        leads = (verb == DRAG) | (verb == OPEN)
        return th.stack([verb, first * points, second * leads, start * spans, length * spans], 1)

    def _at(self, logs: Tensor, chosen: Tensor) -> Tensor:
        return logs[self._rows, chosen.clamp_max(logs.shape[-1] - 1)]

    def _given(self, logs: Tensor, chosen: Tensor) -> Tensor:
        return logs[self._rows, chosen.clamp_max(logs.shape[1] - 1)]


def _entropy(logs: Tensor) -> Tensor:
    return -(logs.exp() * logs).sum(-1)


def _likeliest(logs: Tensor) -> Tensor:
    return logs.argmax(-1)


def _drawn(logs: Tensor) -> Tensor:
    return th.multinomial(logs.exp(), 1)[:, 0]


def _among(verb: Tensor, verbs: tuple[int, ...]) -> Tensor:
    return th.isin(verb, th.tensor(verbs, device=verb.device))


class ActionHeads(nn.Module):
    """From hidden states to :class:`ActionDistribution`: verbs by a linear map, elements and words by pointers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.verb, self.app = nn.Linear(width, len(NUMERIC_VERBS)), nn.Linear(width, SIZES[2])
        self.element_query = nn.Linear(width, len(ELEMENT_VERBS) * width)
        self.start_query = nn.Linear(width, len(SPAN_VERBS) * width)
        self.second_query, self.last_query = nn.Linear(width, width), nn.Linear(width, width)
        self.element_key, self.second_key = nn.Linear(width, width), nn.Linear(width, width)
        self.start_key, self.last_key = nn.Linear(width, width), nn.Linear(width, width)
        self.longer = nn.Parameter(th.zeros(LONGEST_SPAN))
        self.scale = width**-0.5
        for part in (self.verb, self.app):
            nn.init.normal_(part.weight, std=0.01)
            nn.init.zeros_(part.bias)

    def forward(self, seen: Encoded) -> ActionDistribution:
        """One distribution an observation."""
        batch, n, width = seen.elements.shape
        absent, blank = ~seen.present, ~seen.words
        absent = absent & (th.arange(n, device=absent.device) > 0)  # the first is always there to be named
        blank = blank & (th.arange(blank.shape[1], device=blank.device) > 0)
        queries = self.element_query(seen.summary).view(batch, -1, width)
        element = queries @ self.element_key(seen.elements).transpose(1, 2) * self.scale
        second = self.second_query(seen.elements) @ self.second_key(seen.elements).transpose(1, 2) * self.scale
        starts = self.start_query(seen.summary).view(batch, -1, width)
        start = starts @ self.start_key(seen.goal).transpose(1, 2) * self.scale
        return ActionDistribution(
            self.verb(seen.summary),
            element.masked_fill(absent[:, None], NEVER),
            second.masked_fill(absent[:, None], NEVER),
            self.app(seen.summary),
            start.masked_fill(blank[:, None], NEVER),
            self._lengths(seen.goal, blank),
        )

    def _lengths(self, goal: Tensor, blank: Tensor) -> Tensor:
        """Logits ``[B, g, 12]`` of how many words follow the first: of which word is the last."""
        g = goal.shape[1]
        pairs = self.last_query(goal) @ self.last_key(goal).transpose(1, 2) * self.scale
        last = th.arange(g, device=goal.device)[:, None] + th.arange(LONGEST_SPAN, device=goal.device)
        beyond = (last >= g) | blank[:, last.clamp_max(g - 1)]
        beyond = beyond & (th.arange(LONGEST_SPAN, device=goal.device) > 0)
        found = pairs.gather(2, last.clamp_max(g - 1).expand(len(goal), -1, -1)) + self.longer
        logits: Tensor = found.masked_fill(beyond, NEVER)
        return logits
