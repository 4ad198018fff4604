"""A household robot that may ask which object is meant before it brings one.

    env = gymnasium.make("tiltyard/AskToAct-v0", ambiguity=(4, 4), reward="dense")
    observation, info = env.reset(seed=0)      # info["instruction"]: "Bring the bottle to the sink."
    env.step(19)                               # asks whether it is large

The task of Ramrakhya et al., Grounding Multimodal LLMs to Embodied Agents that Ask for Help with Reinforcement Learning
(2025), section 3: the user asks for an object in words that fit several, the robot sees only what is where it has been,
and it can ask the user about attributes, size and place; few questions are better. Read were the abstract, the
introduction and the project's page; what follows is of this module's own choosing:

- The home has ten receptacles of three slots and twelve objects. Walking to a receptacle, picking an object up and
  putting it down are skills that succeed, as the paper's policies act by skills too; there is one object to bring.
- Observations are vectors, not images: what has been seen is remembered, and each seen object carries a flag that says
  whether it fits the instruction and all answers. A multimodal language model brings this knowledge along.
- The user answers yes or no, and truthfully. Rewards are terms with fixed weights; the paper lets a language model
  write a reward for every step, of which ``reward="dense"`` has the same parts: useful questions and subgoals.
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from ... import unknown
from ..actions import bounded, numbers
from ..core import BatchedEnv, BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv
from ..seeding import Split, check_split, problem_rng
from .household_view import HAND, Thing, draw

KINDS = ("cup", "bowl", "book", "toy", "shoe", "bottle")
COLOURS = ("red", "green", "blue", "white", "black")
PLACES = (
    *("kitchen counter", "kitchen table", "cupboard", "sofa", "coffee table"),
    *("shelf", "desk", "bed", "dresser", "sink"),
)
SLOTS, OBJECTS = 3, 12
GO, PICK, PUT = 0, len(PLACES), len(PLACES) + SLOTS
ASK_COLOUR, ASK_LARGE = PUT + 1, PUT + 1 + len(COLOURS)
ASK_PLACE, ACTIONS = ASK_LARGE + 1, ASK_LARGE + 1 + len(PLACES)
_PLACES = np.eye(len(PLACES), dtype=np.float32)
_KINDS, _COLOURS = (np.eye(size + 1, size, dtype=np.float32) for size in (len(KINDS), len(COLOURS)))  # the last is none
MEANT = 0
"""The number of the object that the user means; nothing that is observed shows numbers."""
REWARDS, MOST_QUESTIONS = ("sparse", "dense"), 10
QUESTION, USEFUL, SUBGOAL = -0.05, 0.1, 0.2
"""Reward terms: of every question, of a useful one, and of each of two subgoals."""

Bytes = npt.NDArray[np.int8]


def held_out(kind: npt.ArrayLike, colour: npt.ArrayLike) -> Bools:
    """Whether the training split never asks for this combination of a kind and a colour: a fifth of all."""
    chosen: Bools = (2 * np.asarray(kind) + 1) % len(COLOURS) == np.asarray(colour)
    return chosen


class BatchedAskToAct(BatchedEnv):
    """Bring the object that the user means; ask where the instruction fits several.

    Action, one of 30: 0 to 9 go to a receptacle; 10 to 12 pick up what is in one of its slots; 13 put down what is
    held; 14 to 18 ask whether the object has a colour, 19 whether it is large, 20 to 29 whether it stood on a
    receptacle at first. What cannot be done (an empty slot, full hands, no room) changes nothing.

    Observation, ``[462]`` float32 from -1 to 1: where the robot is (10), kind (6), colour (5) and size of what it
    holds; kind (6), colour (5), size and destination (10) of the instruction, zeros where it leaves them open; answers
    on colours (5), size and receptacles (10), 1 yes and -1 no; the share of time and of ten questions that is left and
    was asked; receptacles seen (10), and for each of their slots (30) the object's kind (6), colour (5) and size, zeros
    where unseen or empty, 1 in place of the size's sign for large and -1 for small; and whether it still may be meant
    (30): fits the instruction and all answers.

    Whatever is put down at the destination ends the episode; ``info["success"]`` says whether it was the object meant.

    Reward: for the object meant, brought to its destination, 1 - 0.05 for each question of the episode, of which ten
    count. "dense" takes 0.05 for a question when it is asked, whatever comes of it, and adds 0.1 for one that rules an
    object out, 0.2 when the object meant is first picked up and 0.2 when it first arrives at its destination.

    The training split never asks for six combinations of kind and colour (:func:`held_out`); the test split asks for
    all. ``info`` at reset names the ``instruction``, the number of objects that it fits (``candidates``) and whether
    the combination is ``held_out``; after a step, ``questions`` asked so far and how many were ``redundant``.

    Args:
        num_envs: number of environments.
        ambiguity: fewest and most objects that an instruction fits, from 1 to 6; drawn uniformly.
        reward: "sparse" or "dense".
        split: "train" or "test".
        render_mode: None or "rgb_array".

    Raises:
        ValueError: on a value that is none of these.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 2}
    typed = True
    env_state: ClassVar[tuple[str, ...]] = (
        *("kind", "colour", "large", "looks", "origin", "slots", "destination", "says_colour", "says_large"),
        *("at", "held", "visited", "answers_colour", "answers_large", "answers_place"),
        *("questions", "redundant", "fetched", "carried", "time", "success", "terms", "candidates", "instructions"),
    )
    time_limit: ClassVar[int] = 40
    """Of the row; only what is observed of the time left reads it."""

    def __init__(
        self,
        num_envs: int,
        *,
        ambiguity: tuple[int, int] = (1, 4),
        reward: str = "sparse",
        split: Split = "train",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(num_envs, render_mode)
        if reward not in REWARDS:
            raise ValueError(unknown("reward", reward, REWARDS))
        fewest, most = ambiguity
        if not 1 <= fewest <= most <= 6:
            raise ValueError(f"ambiguity must be two numbers from 1 to 6, the fewest first, got {ambiguity}")
        self.split, self.reward, self.ambiguity = check_split(split), reward, (int(fewest), int(most))
        self.action_space = Discrete(ACTIONS)
        n, places = num_envs, len(PLACES)
        self.kind, self.colour, self.origin = (np.zeros((n, OBJECTS), np.int64) for _ in range(3))
        self.large = np.zeros((n, OBJECTS), np.bool_)
        self.looks = np.zeros((n, OBJECTS + 1, len(KINDS) + len(COLOURS) + 1), np.float32)  # the last is no object
        self.slots = np.full((n, places, SLOTS), -1)  # the object in each, or -1
        self.destination, self.at, self.held = (np.zeros(n, np.int64) for _ in range(3))
        self.says_colour, self.says_large = np.full(n, -1), np.zeros(n, np.int8)  # -1 and 0: left open
        self.visited = np.zeros((n, places), np.bool_)
        self.answers_colour, self.answers_large = np.zeros((n, len(COLOURS)), np.int8), np.zeros(n, np.int8)
        self.answers_place = np.zeros((n, places), np.int8)
        self.questions, self.redundant, self.time, self.candidates = (np.zeros(n, np.int64) for _ in range(4))
        self.fetched, self.carried, self.success = (np.zeros(n, np.bool_) for _ in range(3))
        self.terms = np.zeros((n, 5))
        self.instructions = [""] * n
        self.observation_space = Box(-1.0, 1.0, (self.observe().shape[1],), np.float32)

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """See :meth:`.core.BatchedEnv.begin`."""
        for index, seed, episode in zip(indices.tolist(), seeds.tolist(), episodes.tolist(), strict=True):
            self._draw(index, problem_rng(self.split, seed, episode))
        for column in (self.answers_colour, self.answers_large, self.answers_place, self.questions, self.redundant):
            column[indices] = 0
        for flags in (self.fetched, self.carried, self.success, self.visited):
            flags[indices] = False
        self.held[indices], self.time[indices], self.terms[indices] = -1, 0, 0.0
        self.visited[indices, self.at[indices]] = True
        self.candidates[indices] = self.fitting()[indices].sum(1)

    def _draw(self, i: int, rng: np.random.Generator) -> None:
        """Object 0 is meant; those after it fit the instruction too; the others do not."""
        fitting = int(rng.integers(self.ambiguity[0], self.ambiguity[1] + 1))
        kind, colour, large = self._object(rng)
        while self.split == "train" and held_out(kind, colour):
            kind, colour, large = self._object(rng)
        says = rng.integers(3)  # nothing more than the kind, the colour, or the size
        self.says_colour[i] = colour if says == 1 else -1
        self.says_large[i] = (1 if large else -1) if says == 2 else 0
        made = [(kind, colour, large)]
        while len(made) < OBJECTS:
            other_kind, other_colour, other_large = self._object(rng)
            if len(made) < fitting:
                other_kind = kind
                other_colour = colour if says == 1 else other_colour
                other_large = large if says == 2 else other_large
            elif other_kind == kind and (says != 1 or other_colour == colour) and (says != 2 or other_large == large):
                continue
            made.append((other_kind, other_colour, other_large))
        self.kind[i], self.colour[i], self.large[i] = np.array(made).T
        size = np.where(self.large[i], 1.0, -1.0)[:, None]
        self.looks[i, :OBJECTS] = np.concatenate((_KINDS[self.kind[i]], _COLOURS[self.colour[i]], size), 1)
        # Those that fit stand on different receptacles, so that questions about places tell any two apart.
        places = rng.permutation(len(PLACES))
        free = rng.permutation(np.repeat(np.arange(len(PLACES)), SLOTS))
        origin = list(places[:fitting])
        for place in free:
            if len(origin) < OBJECTS and np.count_nonzero(np.array(origin) == place) < SLOTS:
                origin.append(place)
        self.origin[i] = origin
        self.destination[i] = rng.choice(places[1:])
        self.instructions[i] = self._instruction(i)
        self.at[i] = rng.integers(len(PLACES))
        self.slots[i] = -1
        for one in rng.permutation(OBJECTS):
            place = self.origin[i, one]
            self.slots[i, place, np.flatnonzero(self.slots[i, place] < 0)[0]] = one

    @staticmethod
    def _object(rng: np.random.Generator) -> tuple[int, int, bool]:
        return int(rng.integers(len(KINDS))), int(rng.integers(len(COLOURS))), bool(rng.integers(2))

    def fitting(self) -> Bools:
        """Which objects ``[n, 12]`` fit the instruction and all answers so far."""
        fits: Bools = self.kind == self.kind[:, [MEANT]]
        fits &= (self.says_colour[:, None] < 0) | (self.colour == self.says_colour[:, None])
        sign = np.where(self.large, 1, -1)
        for said in (self.says_large, self.answers_large):
            fits &= (said[:, None] == 0) | (sign == said[:, None])
        for answers, of in ((self.answers_colour, self.colour), (self.answers_place, self.origin)):
            answered = np.take_along_axis(answers, of, 1)
            fits &= np.where((answers == 1).any(1)[:, None], answered == 1, answered == 0)
        return fits

    def check(self, actions: Any) -> Ints:
        """See :meth:`.core.BatchedEnv.check`."""
        wanted = f"an action is a whole number from 0 to {ACTIONS - 1}"
        batch = numbers(actions, (self.num_envs,), kinds="iu", wanted=wanted)
        checked: Ints = bounded(batch, 0, ACTIONS - 1, wanted=wanted).astype(np.int64)
        return checked

    def advance(self, actions: Ints, active: Bools) -> tuple[Floats, Bools]:
        """See :meth:`.core.BatchedEnv.advance`."""
        self.terms[active] = 0.0
        self.time[active] += 1
        going = np.flatnonzero(active & (actions < PICK))
        self.at[going] = actions[going]
        self.visited[going, actions[going]] = True
        first = going[(self.held[going] == MEANT) & (self.at[going] == self.destination[going]) & ~self.carried[going]]
        self.carried[first] = True
        if self.reward == "dense":
            self.terms[first, 4] = SUBGOAL
        self._pick(np.flatnonzero(active & (actions >= PICK) & (actions < PUT)), actions)
        ended = self._put(np.flatnonzero(active & (actions == PUT)))
        self._ask(np.flatnonzero(active & (actions > PUT)), actions)
        return np.where(active, self.terms.sum(1), 0.0), ended

    def _pick(self, rows: Ints, actions: Ints) -> None:
        slot = actions[rows] - PICK
        found = self.slots[rows, self.at[rows], slot]
        can = (found >= 0) & (self.held[rows] < 0)
        rows, slot, found = rows[can], slot[can], found[can]
        self.held[rows] = found
        self.slots[rows, self.at[rows], slot] = -1
        first = rows[(found == MEANT) & ~self.fetched[rows]]
        self.fetched[first] = True
        if self.reward == "dense":
            self.terms[first, 3] = SUBGOAL

    def _put(self, rows: Ints) -> Bools:
        """Which episodes ``[n]`` end: those that had something put down at the destination."""
        rows = rows[self.held[rows] >= 0]
        there = self.at[rows] == self.destination[rows]
        ended = np.zeros(self.num_envs, np.bool_)
        brought = rows[there]
        ended[brought] = True
        self.success[brought] = self.held[brought] == MEANT
        self.terms[brought, 0] = self.success[brought]
        if self.reward == "sparse":
            counted = np.minimum(self.questions[brought], MOST_QUESTIONS)
            self.terms[brought, 1] = QUESTION * counted * self.success[brought]
        elsewhere = rows[~there]
        room = self.slots[elsewhere, self.at[elsewhere]] < 0
        elsewhere, slot = elsewhere[room.any(1)], room.argmax(1)[room.any(1)]
        self.slots[elsewhere, self.at[elsewhere], slot] = self.held[elsewhere]
        self.held[elsewhere] = -1
        self.held[brought] = -1
        return ended

    def _ask(self, rows: Ints, actions: Ints) -> None:
        if not len(rows):
            return
        before = self.fitting()[rows].sum(1)
        asked = actions[rows]
        about_colour, about_place = asked < ASK_LARGE, asked >= ASK_PLACE
        for answers, some, first, of in (
            (self.answers_colour, about_colour, ASK_COLOUR, self.colour),
            (self.answers_place, about_place, ASK_PLACE, self.origin),
        ):
            value = asked[some] - first
            answers[rows[some], value] = np.where(of[rows[some], MEANT] == value, 1, -1)
        sized = rows[~about_colour & ~about_place]
        self.answers_large[sized] = np.where(self.large[sized, MEANT], 1, -1)
        useful = self.fitting()[rows].sum(1) < before
        self.questions[rows] += 1
        self.redundant[rows] += ~useful
        if self.reward == "dense":
            self.terms[rows, 1], self.terms[rows, 2] = QUESTION, USEFUL * useful

    def observe(self) -> npt.NDArray[np.float32]:
        """See the class."""
        n, rows = self.num_envs, np.arange(self.num_envs)
        shown = np.where(self.visited[:, :, None], self.slots, -1).reshape(n, -1)
        fits = np.column_stack((self.fitting(), np.zeros(n, np.bool_)))  # the last, -1, is no object
        left = 1.0 - np.minimum(self.time / self.time_limit, 1.0)
        parts = (
            _PLACES[self.at],
            self.looks[rows, self.held],
            self.looks[:, MEANT, : len(KINDS)],
            _COLOURS[self.says_colour],
            self.says_large[:, None],
            _PLACES[self.destination],
            self.answers_colour,
            self.answers_large[:, None],
            self.answers_place,
            np.stack((left, np.minimum(self.questions / MOST_QUESTIONS, 1.0)), 1),
            self.visited,
            self.looks[rows[:, None], shown].reshape(n, -1),
            np.take_along_axis(fits, shown, 1),
        )
        return np.concatenate(parts, axis=1, dtype=np.float32, casting="same_kind")

    def _instruction(self, index: int) -> str:
        colour = COLOURS[self.says_colour[index]] + " " if self.says_colour[index] >= 0 else ""
        size = {-1: "small ", 0: "", 1: "large "}[int(self.says_large[index])]
        kind = KINDS[self.kind[index, MEANT]]
        return f"Bring the {size}{colour}{kind} to the {PLACES[self.destination[index]]}."

    def reset_info(self) -> Info:
        """See the class."""
        return {
            "instruction": list(self.instructions),
            "candidates": self.candidates.copy(),
            "held_out": held_out(self.kind[:, MEANT], self.colour[:, MEANT]),
        }

    def step_info(self) -> Info:
        """See the class."""
        names = ("success", "questions", "useful_questions", "picked_up", "arrived")[
            : 5 if self.reward == "dense" else 2
        ]
        return {
            "success": self.success.copy(),
            "reward_terms": {name: self.terms[:, i].copy() for i, name in enumerate(names)},
            "questions": self.questions.copy(),
            "redundant": self.redundant.copy(),
        }

    def expert_actions(self) -> Ints:
        """Looks everywhere, asks the question that leaves the fewest objects at worst, and brings what is left.

        It knows no more than what is observed.
        """
        return np.array([self._expert(index, fits) for index, fits in enumerate(self.fitting())])

    def _expert(self, i: int, fits: Bools) -> int:
        unseen = np.flatnonzero(~self.visited[i])
        if len(unseen):
            return int(unseen[0])
        held, at, left = int(self.held[i]), int(self.at[i]), np.flatnonzero(fits)  # all that stand somewhere are seen
        if len(left) > 1:
            return self._best_question(i, left)
        if held == left[0]:
            return PUT if at == self.destination[i] else int(self.destination[i])
        if held >= 0:  # not the one
            room = (self.slots[i] < 0).any(1)
            room[self.destination[i]] = False
            return PUT if room[at] else int(room.argmax())
        found = np.argwhere(self.slots[i] == left[0])
        if not len(found):  # the episode is over
            return at
        place, slot = map(int, found[0])
        return PICK + slot if at == place else place

    def _best_question(self, i: int, left: Ints) -> int:
        worst = np.concatenate(
            (
                (self.colour[i, left][:, None] == np.arange(len(COLOURS))).sum(0),
                [self.large[i, left].sum()],
                (self.origin[i, left][:, None] == np.arange(len(PLACES))).sum(0),
            )
        )
        halves: Ints = np.maximum(worst, len(left) - worst)
        return ASK_COLOUR + int(halves.argmin())

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """A frame ``[360, 640, 3]`` of one home: see :func:`.household_view.draw`."""
        fits = self.fitting()[index]
        found = []
        for place, slot in np.argwhere(self.slots[index] >= 0).tolist():
            one, seen = self.slots[index, place, slot], bool(self.visited[index, place])
            found.append(self._seen_as(index, one, place, slot, seen=seen, asked=seen and bool(fits[one])))
        if self.held[index] >= 0:
            found.append(self._seen_as(index, self.held[index], int(self.at[index]), HAND, seen=True, asked=False))
        places = [(name, i == self.destination[index]) for i, name in enumerate(PLACES)]
        return draw(self.instructions[index], places, found, int(self.at[index]), self._answers(index))

    def _seen_as(self, index: int, one: Any, place: int, slot: int, *, seen: bool, asked: bool) -> Thing:
        kind, colour = KINDS[self.kind[index, one]], COLOURS[self.colour[index, one]]
        return Thing(kind, colour, bool(self.large[index, one]), place, slot, seen, asked)

    def _answers(self, index: int) -> list[str]:
        """Questions with answers, three lines at most."""
        word = {1: "yes", -1: "no"}
        colours, places = self.answers_colour[index].tolist(), self.answers_place[index].tolist()
        return [
            ", ".join(f"{name}? {word[one]}" for name, one in zip(COLOURS, colours, strict=True) if one),
            f"large? {word[int(self.answers_large[index])]}" if self.answers_large[index] else "",
            ", ".join(f"on the {name}? {word[one]}" for name, one in zip(PLACES, places, strict=True) if one),
        ]


class AskToActEnv(SingleEnv):
    """``gymnasium.make("tiltyard/AskToAct-v0")``."""

    batched_class = BatchedAskToAct


class AskToActVectorEnv(BatchedVectorEnv):
    """The native vector environment of the same task."""

    batched_class = BatchedAskToAct
