"""Policies of the phone in numbers that learn nothing: a random policy, a matcher of words, and a noisy expert.

Each has SB3's ``predict``: from a batch of observations of :mod:`.elements` to actions ``[n, 5]`` (or from one to one).
The matcher sees what any agent sees. The expert reads the state of the phone.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import BatchedEnv
from .elements import DETAIL_AT, DONE, NUMERIC_VERBS, ROLES, TAP, TEXT_AT, TYPE, tokens

Ints = npt.NDArray[np.int64]
Seen = Mapping[str, npt.NDArray[np.int16]]

SWIPE_UP, SWIPE_DOWN, BACK, HOME, ENTER = map(NUMERIC_VERBS.index, ("swipe up", "swipe down", "back", "home", "enter"))
HANDS = ((TAP, 0.7), (TYPE, 0.08), (SWIPE_UP, 0.06), (SWIPE_DOWN, 0.04), (BACK, 0.07), (HOME, 0.03), (DONE, 0.02))
"""Verbs of the random policy and how often each is drawn, as those of action strings are."""
FIELD, KEYBOARD, DIALOG, BUTTON = (1 + ROLES.index(role) for role in ("field", "keyboard", "dialog", "button"))
LEAD = frozenset(tokens("named called type password to number email street address city search for is as say"))
"""After one of these words a goal tends to say what to type."""
COMMON = frozenset(tokens("a all an and at by for from go i in is it make of on off open that the then to with my"))
LONGEST = 4
"""Words that the matcher types at once, and swipes before it gives up."""


class Several(ABC):
    """A policy that answers one observation as a batch of one."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """Actions, and ``state`` as it was given (these policies have none, or keep it themselves)."""
        single = np.ndim(observation["goal"]) == 1
        seen = {name: part[None] for name, part in observation.items()} if single else observation
        starts = np.zeros(len(seen["goal"]), np.bool_) if episode_start is None else np.atleast_1d(episode_start)
        actions = self.act(seen, starts)
        return (actions[0] if single else actions), state

    @abstractmethod
    def act(self, seen: Seen, starts: npt.NDArray[np.bool_]) -> Ints:
        """Actions ``[n, 5]``; ``starts`` tells which episodes have just begun."""


class RandomPolicy(Several):
    """Taps, types, swipes and keys at random, each of them possible; ``done`` once in fifty."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def act(self, seen: Seen, starts: npt.NDArray[np.bool_]) -> Ints:
        """See :data:`HANDS`."""
        return np.stack([random_action(self._rng, *one) for one in zip(seen["elements"], seen["goal"], strict=True)])


def random_action(rng: np.random.Generator, elements: npt.NDArray[np.int16], goal: npt.NDArray[np.int16]) -> Ints:
    """One action ``[5]`` of the random policy on elements ``[64, 24]`` under a goal ``[48]``."""
    verb = int(rng.choice([verb for verb, _ in HANDS], p=[share for _, share in HANDS]))
    if verb == TAP:
        able = np.flatnonzero(elements[:, 8])
        return np.array([TAP, int(rng.choice(able)) if len(able) else 0, 0, 0, 0])
    if verb == TYPE:
        words = int((goal > 0).sum())
        start = int(rng.integers(words))
        return np.array([TYPE, 0, 0, start, int(rng.integers(min(3, words - start)))])
    return np.array([verb, 0, 0, 0, 0])


class NoisyExpert(Several):
    """The scripted expert with action noise: each action is random with a probability.

    Args:
        batched: the phones, in numbers.
        noise: the probability.
        seed: of the noise.
    """

    def __init__(self, batched: BatchedEnv, noise: float = 0.0, seed: int = 0) -> None:
        if not 0 <= noise <= 1:
            raise ValueError(f"noise is a probability from 0 to 1, got {noise}")
        self._batched, self._noise = batched, noise
        self._rngs = [np.random.default_rng([seed, i]) for i in range(batched.num_envs)]

    def begin(self, index: int, seed: int) -> None:
        """The noise of an environment starts anew, by an episode's seed."""
        self._rngs[index] = np.random.default_rng([seed, 1])

    def act(self, seen: Seen, starts: npt.NDArray[np.bool_]) -> Ints:
        """What the expert does in the present state, or anything."""
        actions = np.array(self._batched.expert_actions())
        for i, rng in enumerate(self._rngs):
            if rng.random() < self._noise:
                actions[i] = random_action(rng, seen["elements"][i], seen["goal"][i])
        return actions


class WordMatcher(Several):
    """Taps what shares most words with the goal, types what follows a word such as "named", then says ``done``.

    It learns nothing and knows no app. It remembers what it has tapped and typed in an episode, and taps nothing twice:

    1. with the keyboard open it types the goal's words after the field's own label, or after a word of :data:`LEAD`,
       up to the next common word, and presses enter once it has;
    2. else it taps the element with the highest share of its words in the goal, the more words the better;
    3. where none has any, it swipes up, and says ``done`` after a few swipes.
    """

    def __init__(self) -> None:
        self._memories: dict[int, _Memory] = {}

    def act(self, seen: Seen, starts: npt.NDArray[np.bool_]) -> Ints:
        """See the class; an episode that begins, or another goal, clears the memory."""
        actions = []
        for i, (elements, goal) in enumerate(zip(seen["elements"], seen["goal"], strict=True)):
            memory = self._memories.get(i)
            if memory is None or starts[i] or memory.goal != tuple(goal.tolist()):
                memory = self._memories[i] = _Memory(tuple(goal.tolist()))
            actions.append(memory.act(elements))
        return np.array(actions)


class _Memory:
    """One episode of the matcher."""

    def __init__(self, goal: tuple[int, ...]) -> None:
        self.goal = goal
        self.words = [word for word in goal if word]
        self.done: set[tuple[int, ...]] = set()
        self.swipes = 0

    def act(self, elements: npt.NDArray[np.int16]) -> list[int]:
        shown = elements[elements[:, 0] > 0]
        if (shown[:, 0] == KEYBOARD).any():
            return self._write(shown)
        scores = np.array([self._score(row) for row in shown])
        if len(scores) and scores.max() > 0:
            self.swipes = 0
            return self._tap(shown, int(scores.argmax()))
        if (shown[:, 0] == DIALOG).any():
            return self._tap(shown, int((shown[:, 0] == BUTTON).argmax()))  # the first button does no harm
        self.swipes += 1
        return [SWIPE_UP if self.swipes <= LONGEST else DONE, 0, 0, 0, 0]

    def _tap(self, shown: npt.NDArray[np.int16], index: int) -> list[int]:
        self.done.add(_name(shown[index]))
        return [TAP, index, 0, 0, 0]

    def _score(self, row: npt.NDArray[np.int16]) -> float:
        """How well an element that can be tapped matches, from 0 (not at all, or tapped before)."""
        if not row[8] or row[7] or _name(row) in self.done:
            return 0.0
        own = [word for word in row[TEXT_AT:DETAIL_AT].tolist() if word]
        hits = sum(word in self.words and word not in COMMON for word in own)
        return hits / len(own) + 0.1 * hits if hits else 0.0

    def _write(self, shown: npt.NDArray[np.int16]) -> list[int]:
        """What belongs into the focused field, once; then enter."""
        field = next((row for row in shown if row[0] == FIELD and row[6]), None)
        key = (-1, *(_name(field) if field is not None else ()))
        if key in self.done:
            return [ENTER, 0, 0, 0, 0]
        self.done.add(key)
        label = set() if field is None else {word for word in field[TEXT_AT:DETAIL_AT].tolist() if word}
        starts = [i + 1 for i, word in enumerate(self.words[:-1]) if word in label]
        starts += [i + 1 for i, word in enumerate(self.words[:-1]) if word in LEAD and self.words[i + 1] not in COMMON]
        start = starts[0] if starts else len(self.words) - 1
        length = 1
        while start + length < len(self.words) and length < LONGEST and self.words[start + length] not in COMMON:
            length += 1
        return [TYPE, 0, 0, start, length - 1]


def _name(row: npt.NDArray[np.int16]) -> tuple[int, ...]:
    """An element's role and text."""
    return (int(row[0]), *row[TEXT_AT:DETAIL_AT].tolist())
