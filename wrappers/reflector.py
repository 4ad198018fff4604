"""OpAgent's Reflector without a language model: it looks at what each action did, goes back and tries again.

    careful = Reflector(WordMatcher())
    action, _ = careful.predict(observation, episode_start=first)
    found = [evaluate(careful, "tiltyard/Phone-v1", episodes=1, seeds=[s], observation="elements") for s in range(50)]

Paper: OpAgent: Operator Agent for Web Navigation (2026), its loop of Planner, Grounder, Reflector and Summarizer
(abstract), and the authors' code, ``opagent/local_agent_eval.py:REFLECTION_PROMPT`` of ``codefuse-ai/OpAgent``.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..envs.gui.baselines import COMMON
from .phone_view import Act, View, act, goal_words, plain, tapping, view

ENDS = ("done", "infeasible")
PATIENT = frozenset((*ENDS, "wait", "answer"))
"""Verbs that change nothing to be seen."""
FREE = frozenset(("back", "home", "enter", "long_press", "drag", *PATIENT))
"""Verbs that may lead anywhere."""
STAY = ("switch", "radio", "field")
"""Roles that open no other screen but a dialog."""
FALLBACKS = ("swipe up", "back")


@dataclass
class _Episode:
    """What is remembered of an episode: the step before, the way here, and what did nothing on which screen."""

    before: View | None = None
    did: Any = None
    way: list[tuple[View, Any]] = field(default_factory=list)
    again: tuple[View, Any] | None = None
    idle: Counter[tuple[View, Any]] = field(default_factory=Counter)
    doubted: Counter[tuple[View, Any]] = field(default_factory=Counter)


class Reflector:
    """A policy that checks, from what it sees, whether its last action did what it was meant to do.

    After each action there are four cases:

    1. nothing changed: it is done once more, since the action may have missed; if nothing changes again, the policy is
       asked for another action, and this one is not done again on this screen;
    2. something else happened than the action does (a screen, a dialog or a keyboard that is about neither the touched
       element nor the goal; another switch that turned over): back, or the switch is turned over again, or, if the
       phone fell back to an earlier screen, what led on from there is repeated; and when the phone looks as before, the
       action is repeated;
    3. the tap did what it does, but nothing on the screen that it opened has to do with the goal: back, and the policy
       is asked for another action;
    4. all else is on the way.

    An action is doubted ``1 + retries`` times on one screen, so that a false alarm costs a few steps. That an episode
    ends is asked for three times and done if most answers agree (a deterministic policy always agrees). Swipes that
    change nothing are no slips: that is how a policy learns that a page is at its end (the authors' prompt excepts
    scrolling too).

    Departures: the paper's Reflector is a language model that reads two screenshots, judges whether the task is done,
    keeps notes and a list of things to do, and may end a loop of equal actions; of that, judging the last action and
    confirming the end are here, by rules over the elements seen. Planner, Grounder and Summarizer are the policy's.

    Args:
        policy: anything with SB3's ``predict``, of a phone in numbers or in words.
        retries: how often an action that changed nothing, or something else, is repeated on one screen.
        asks: how often the policy is asked before the episode is ended, and for another action.
        doubts: whether cases 2 and 3 are looked for.

    Raises:
        ValueError: negative ``retries``, or ``asks`` below 1.

    Paper: OpAgent: Operator Agent for Web Navigation (2026).
    """

    def __init__(self, policy: Any, *, retries: int = 1, asks: int = 3, doubts: bool = True) -> None:
        if retries < 0 or asks < 1:
            raise ValueError(f"retries are 0 or more and asks 1 or more, got {retries} and {asks}")
        self.policy, self.retries, self.asks, self.doubts = policy, retries, asks, doubts
        for name in ("observation_space", "action_space"):
            if hasattr(policy, name):  # by which ``benchmarks.evaluate`` leaves words as words
                setattr(self, name, getattr(policy, name))
        self._memory = _Episode()
        self.counts: Counter[str] = Counter()
        """How often each case has come up: "nothing", "slip", "astray", "kept on" (an end that was not confirmed)."""

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """The action for one observation (or a batch of one), and the policy's state.

        Raises:
            ValueError: several observations: what a reflector remembers is of one episode.
        """
        batch = np.ndim(observation["goal"]) > (0 if "tree" in observation else 1)
        if batch and len(observation["goal"]) != 1:
            raise ValueError(
                "a reflector follows one environment: make one, with a policy of its own, for each, and evaluate "
                "one problem at a time: evaluate(reflector, env_id, episodes=1, seeds=[seed])"
            )
        seen = {name: part[0] for name, part in observation.items()} if batch else observation
        if episode_start is not None and bool(np.any(episode_start)):
            self._memory = _Episode()
        asked = _Asked(self.policy, observation, state, episode_start, deterministic, batch)
        action = self._reflect(view(seen), goal_words(seen) - COMMON, asked)
        if not batch:
            return action, asked.state
        return ([action] if isinstance(action, str) else action[None]), asked.state

    def _reflect(self, seen: View, goal: frozenset[int], asked: "_Asked") -> Any:
        memory = self._memory
        action = self._recover(seen, goal) if memory.before is not None else None
        if action is None:
            action = self._another(seen, asked)
        memory.before, memory.did = seen, action
        return action

    def _recover(self, seen: View, goal: frozenset[int]) -> Any:
        """What is to be done about the last action; None where it was fine, or the policy should think again."""
        memory, before, did = self._memory, self._memory.before, self._memory.did
        assert before is not None
        last = act(did, before)
        if seen.has("spinner"):
            return None
        if seen == before:
            return self._nothing(seen, last, did)
        if memory.again is not None and seen == memory.again[0]:
            (_, again), memory.again = memory.again, None
            return again
        if self.doubts and last.verb not in FREE and memory.doubted[before, _plain(did)] <= self.retries:
            slipped = _slipped(before, last, seen, goal)
            if slipped or _astray(before, last, seen, goal):
                self.counts["slip" if slipped else "astray"] += 1
                memory.doubted[before, _plain(did)] += 1
                memory.again = (before, did) if slipped else None
                return self._undo(before, last, seen) if slipped else plain("back", did)
        memory.way.append((before, did))
        return None

    def _nothing(self, seen: View, last: Act, did: Any) -> Any:
        memory = self._memory
        if last.verb in PATIENT or last.verb.startswith("swipe"):
            return None
        self.counts["nothing"] += 1
        memory.idle[seen, _plain(did)] += 1
        return did if memory.idle[seen, _plain(did)] <= self.retries else None

    def _undo(self, before: View, last: Act, seen: View) -> Any:
        """Turns a switch over again, repeats what led on from an earlier screen, or goes back."""
        memory, did = self._memory, self._memory.did
        for number in reversed(range(len(memory.way))):
            if memory.way[number][0] == seen:
                action = memory.way[number][1]
                del memory.way[number:]
                return action
        flipped = _flipped(before, last, seen)
        return plain("back", did) if flipped is None else tapping(flipped, seen, did)

    def _another(self, seen: View, asked: "_Asked") -> Any:
        """The policy's action, if it is not known to do nothing here; the end of an episode is confirmed."""
        memory, action = self._memory, asked.next()
        for _ in range(self.asks):
            if memory.idle[seen, _plain(action)] <= self.retries:
                break
            action = asked.next()
        else:
            verbs = [plain(verb, action) for verb in FALLBACKS]
            action = next((one for one in verbs if memory.idle[seen, _plain(one)] <= self.retries), verbs[-1])
        return self._confirmed(action, seen, asked) if act(action, seen).verb in ENDS else action

    def _confirmed(self, action: Any, seen: View, asked: "_Asked") -> Any:
        answers = [action, *(asked.next() for _ in range(self.asks - 1))]
        others = [one for one in answers if act(one, seen).verb not in ENDS]
        if 2 * len(others) <= len(answers):
            return action
        self.counts["kept on"] += 1
        return others[-1]


@dataclass
class _Asked:
    """A policy before one observation, which may be asked several times; only the first time does an episode begin."""

    policy: Any
    observation: Any
    state: Any
    start: Any
    deterministic: bool
    batch: bool

    def next(self) -> Any:
        """Its next answer."""
        answered, self.state = self.policy.predict(
            self.observation, state=self.state, episode_start=self.start, deterministic=self.deterministic
        )
        self.start, self.deterministic = None, False
        return answered[0] if self.batch else answered


def _plain(action: Any) -> Any:
    return action if isinstance(action, str) else tuple(int(part) for part in action)


def _slipped(before: View, last: Act, seen: View, goal: frozenset[int]) -> bool:
    """Whether something else happened than the action does."""
    touched = None if last.element is None else before.elements[last.element]
    if before.has("dialog") and not seen.has("dialog"):
        return False  # it is closed, and whatever it did is done
    if seen.place != before.place:
        if touched is not None and touched.role in STAY and not seen.has("dialog"):
            return True
        own = frozenset(touched.text if touched else ())
        return not own & seen.words and not goal & frozenset(seen.title)
    if seen.has("keyboard") and not before.has("keyboard"):
        return touched is None or touched.role != "field"
    return _flipped(before, last, seen) is not None


def _flipped(before: View, last: Act, seen: View) -> int | None:
    """The element that is to be tapped so that what was turned over is again as it was.

    It is the one switch that turned over, or, of two radios, the one that was on; None where the action touched one of
    them, or anything else changed.
    """
    if len(before.elements) != len(seen.elements) or seen.place != before.place:
        return None
    pairs = list(zip(before.elements, seen.elements, strict=True))
    differing = [i for i, (one, other) in enumerate(pairs) if one != other]
    if last.element in differing or not all(
        pairs[i][0]._replace(checked=pairs[i][1].checked) == pairs[i][1] for i in differing
    ):
        return None
    if len(differing) == 1 and pairs[differing[0]][0].role == "switch":
        return differing[0]
    was_on = [i for i in differing if pairs[i][0].checked == 2]
    return was_on[0] if len(differing) == 2 and len(was_on) == 1 else None


def _astray(before: View, last: Act, seen: View, goal: frozenset[int]) -> bool:
    """Whether a tap opened a screen that has nothing to do with the goal."""
    return last.verb == "tap" and seen.place != before.place and not seen.has("dialog") and not goal & seen.words
