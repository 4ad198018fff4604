"""``tiltyard/Phone-v0``: a simulated phone with real apps, goals in words, pixels and an accessibility tree.

The agent sees ``Dict(screen: Box uint8 [H, W, 3], tree: Text, goal: Text)`` and acts in words (:mod:`.commands`). It
declares that it is finished with ``done``; only then is the goal judged, against the exact state of all apps (see
:mod:`.goals`). A phone on which the goal holds but nobody said ``done`` earns nothing; nor does ``done`` at once.

Reward is the sum of two named terms: ``goal``, 1 for a ``done`` at which the goal holds, else 0; and ``format``, -0.01
for an action that cannot be read (it does nothing, and the tree shows a message), else 0.
"""

import string
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict, Text

from .. import seeding
from ..actions import strings
from ..core import BatchedVectorEnv, Bools, Floats, Info, Ints, Lanes, SingleEnv
from .commands import Commands, parse
from .device import Phone
from .expert import ScriptedExpert
from .problems import Problem, canonical, generate, templates
from .render import Renderer

FORMAT_PENALTY = -0.01
ASPECT = 16 / 9
SMALLEST, LARGEST = 96, 1920
FRAME_WIDTH = 324
TREE_CHARACTERS = string.ascii_letters + string.digits + string.punctuation + " \n"


class PhoneLanes(Lanes):
    """Phones, stepped together.

    Args:
        num_envs: number of phones.
        split: which problems, "train" or "test".
        level: 1 short goals in one app, with the phone often lying open somewhere on the way; 2 longer ones, from the
            home screen; 3 goals across apps, with more interruptions and slow screens.
        apps: keys of the apps that goals may need (``"settings"``, ``"contacts"``, ``"shop"``); None for all.
        size: height and width of ``screen`` in pixels; 16 to 9, height 96 to 1920.
        render_mode: "rgb_array" for frames of 324 x 576 (or the size of ``screen``, if larger).
    """

    lane_state = ("_played",)

    def __init__(
        self,
        num_envs: int,
        split: seeding.Split = "train",
        level: int = 1,
        apps: Sequence[str] | None = None,
        size: tuple[int, int] = (192, 108),
        render_mode: str | None = None,
    ) -> None:
        super().__init__(num_envs, render_mode)
        self.split = seeding.check_split(split)
        self.level = level
        self._apps = apps
        height, width = _check_size(size)
        self.observation_space = Dict(
            screen=Box(0, 255, (height, width, 3), np.uint8),
            tree=Text(8000, charset=TREE_CHARACTERS),
            goal=Text(400, charset=TREE_CHARACTERS),
        )
        self.action_space = Commands()
        self._renderer = Renderer(height, width)
        self._frames = Renderer(*_frame_size(height, width)) if render_mode else None
        self._screens = np.zeros((num_envs, height, width, 3), np.uint8)
        self._trees = [""] * num_envs
        self._painted: list[object] = [None] * num_envs
        # The seed, the episode and the actions since: buttons hold on to the phone they are on, so a phone is copied by
        # doing again on another what was done on it.
        self._played: list[tuple[int, int, list[str]] | None] = [None] * num_envs
        self._unbox()
        self._stale = np.ones(num_envs, np.bool_)
        self._success = np.zeros(num_envs, np.bool_)
        self._terms = {"goal": np.zeros(num_envs), "format": np.zeros(num_envs)}

    def begin(self, lanes: Ints, seeds: Ints, episodes: Ints) -> None:
        """Puts fresh problems on phones."""
        for lane, seed, episode in zip(lanes.tolist(), seeds.tolist(), episodes.tolist(), strict=True):
            problem = generate(self.split, seed, episode, self.level, self._templates)
            self.problems[lane], self.phones[lane] = problem, problem.phone()
            self._played[lane] = (seed, episode, [])
            self._stale[lane] = True
            self._success[lane] = False
            for term in self._terms.values():
                term[lane] = 0.0

    def check(self, actions: Any) -> list[str]:
        """A batch of ``n`` strings; whether they can be read is part of the game."""
        return strings(actions, self.num_envs, wanted="give each phone one string such as 'tap 0.5 0.5' or 'back'")

    def advance(self, actions: list[str], active: Bools) -> tuple[Floats, Bools]:
        """Acts on the active phones; ``done`` ends an episode and has the goal judged."""
        goal, form = self._terms["goal"], self._terms["format"]
        terminated = np.zeros(self.num_envs, np.bool_)
        for lane in np.flatnonzero(active).tolist():
            self._played[lane][2].append(actions[lane])  # type: ignore[index]
            command = parse(actions[lane])
            self.phones[lane].act(command)
            self._stale[lane] = True
            terminated[lane] = command.verb == "done"
            self._success[lane] = terminated[lane] and self.holds(lane)
            goal[lane] = float(self._success[lane])
            form[lane] = FORMAT_PENALTY if command.verb == "" else 0.0
        return goal + form, terminated

    def restore(self, lane: int, state: Mapping[str, Any]) -> None:
        """See :meth:`Lanes.restore`."""
        super().restore(lane, state)
        self._replay(lane)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: what was played, in place of phones and problems."""
        return {name: value for name, value in vars(self).items() if name not in ("phones", "problems", "_templates")}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """A copy has phones of its own, on which the same was done."""
        vars(self).update(kept)
        self._unbox()
        for lane in range(self.num_envs):
            self._replay(lane)

    def _unbox(self) -> None:
        self._templates = templates(self.level, self._apps)
        self.phones: list[Phone] = [None] * self.num_envs  # type: ignore[list-item]
        self.problems: list[Problem] = [None] * self.num_envs  # type: ignore[list-item]

    def _replay(self, lane: int) -> None:
        if (played := self._played[lane]) is not None:
            seed, episode, actions = played
            self.begin(*(np.array([one]) for one in (lane, seed, episode)))
            for action in actions:
                self.advance([action] * self.num_envs, np.arange(self.num_envs) == lane)

    def canonical(self, problem: Problem) -> str:
        """What decides the problem's split: what its goal asks for, in whatever words and on whatever phone."""
        return canonical(problem.template, problem.goal)

    def holds(self, lane: int) -> bool:
        """Whether the state of a phone is now exactly what its goal asks for."""
        return bool(self.phones[lane].state == self.problems[lane].goal.expected)

    def observe(self) -> dict[str, Any]:
        """Screens ``[n, H, W, 3]``, trees and goals; screens that look the same as before are not painted again."""
        for lane in np.flatnonzero(self._stale).tolist():
            phone = self.phones[lane]
            self._trees[lane] = phone.tree()
            picture = self._renderer.describe(phone)
            if picture != self._painted[lane]:
                self._renderer.paint(picture, self._screens[lane])
                self._painted[lane] = picture
        self._stale[:] = False
        goals = tuple(problem.goal.text for problem in self.problems)
        return {"screen": self._screens.copy(), "tree": tuple(self._trees), "goal": goals}

    def reset_info(self) -> Info:
        """Goal, its template, level and apps, and the digest that names the problem."""
        return {
            "goal": [problem.goal.text for problem in self.problems],
            "template": [problem.template.name for problem in self.problems],
            "apps": [problem.template.apps for problem in self.problems],
            "level": np.full(self.num_envs, self.level),
            "problem": [problem.digest for problem in self.problems],
        }

    def step_info(self) -> Info:
        """Success (goal declared and reached) and the terms of the reward."""
        return {"success": self._success.copy(), "reward_terms": {k: v.copy() for k, v in self._terms.items()}}

    def expert_actions(self) -> tuple[str, ...]:
        """The scripted expert's next action on every phone."""
        pairs = zip(self.phones, self.problems, strict=True)
        return tuple(ScriptedExpert(phone, problem.goal).action() for phone, problem in pairs)

    def render(self, lane: int = 0) -> npt.NDArray[np.uint8]:
        """A large frame of one phone."""
        if self._frames is None:
            raise ValueError("make the environment with render_mode='rgb_array' to render it")
        frame = np.zeros((self._frames.height, self._frames.width, 3), np.uint8)
        self._frames.paint(self._frames.describe(self.phones[lane]), frame)
        return frame


def _check_size(size: tuple[int, int]) -> tuple[int, int]:
    height, width = size
    if not SMALLEST <= height <= LARGEST or abs(height / width / ASPECT - 1) > 0.02:
        raise ValueError(f"size is (height, width) at 16 to 9 with height {SMALLEST} to {LARGEST}, got {size}")
    return int(height), int(width)


def _frame_size(height: int, width: int) -> tuple[int, int]:
    return (height, width) if width >= FRAME_WIDTH else (int(FRAME_WIDTH * ASPECT), FRAME_WIDTH)


class PhoneEnv(SingleEnv):
    """One phone as a ``gymnasium.Env``; keywords of :class:`PhoneLanes`."""

    lanes_class = PhoneLanes


class PhoneVectorEnv(BatchedVectorEnv):
    """Phones as a native ``gymnasium.vector.VectorEnv``; keywords of :class:`PhoneLanes`."""

    lanes_class = PhoneLanes
