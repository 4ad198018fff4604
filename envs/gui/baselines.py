"""Policies of the phone in numbers that learn nothing: random hands, a matcher of words, and a noisy expert.

Each has SB3's ``predict``: from a batch of observations of :mod:`.elements` to actions ``[n, 5]`` (or from one to one).
The matcher sees what any agent sees. The expert reads the state of the phone.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import BatchedEnv
from .elements import DETAIL_AT, DONE, NUMERIC_VERBS, ROLES, TAP, TEXT_AT, TYPE, tokens

Ints = npt.NDArray[np.int64]
Seen = Mapping[str, npt.NDArray[np.int16]]

SWIPE_UP, SWIPE_DOWN, BACK, HOME = map(NUMERIC_VERBS.index, ("swipe up", "swipe down", "back", "home"))
HANDS = ((TAP, 0.7), (TYPE, 0.08), (SWIPE_UP, 0.06), (SWIPE_DOWN, 0.04), (BACK, 0.07), (HOME, 0.03), (DONE, 0.02))
"""Verbs of random hands and how often each is drawn, as those of action strings are."""
FIELD, KEYBOARD, APP = (1 + ROLES.index(role) for role in ("field", "keyboard", "app"))
LEAD = tuple(tokens("named called type password to number email street address city search for as is")[:14])
"""After one of these words a goal says what to type."""
COMMON = frozenset(tokens("a all an and at by for from go i in is it make of the that then to with your my on off"))
PATIENCE = 12


class Several:
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

    def act(self, seen: Seen, starts: npt.NDArray[np.bool_]) -> Ints:
        """Actions ``[n, 5]``; ``starts`` tells which episodes have just begun."""
        raise NotImplementedError


class RandomHands(Several):
    """Taps, types, swipes and keys at random, each of them possible; ``done`` once in fifty."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def act(self, seen: Seen, starts: npt.NDArray[np.bool_]) -> Ints:
        """See :data:`HANDS`."""
        return np.stack([random_action(self._rng, *one) for one in zip(seen["elements"], seen["goal"], strict=True)])


def random_action(rng: np.random.Generator, elements: npt.NDArray[np.int16], goal: npt.NDArray[np.int16]) -> Ints:
    """One action ``[5]`` of random hands on elements ``[64, 24]`` under a goal ``[48]``."""
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
    """The scripted expert with unsteady hands: each action is random with a probability.

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
