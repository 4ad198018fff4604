"""``tiltyard/Phone-v0``: a simulated phone with real apps, goals in words, pixels and an accessibility tree.

The agent sees ``Dict(screen: Box uint8 [H, W, 3], tree: Text, goal: Text)`` and acts in words (:mod:`.commands`); with
``observation="elements"`` both are numbers (:mod:`.elements`). It
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
from gymnasium.spaces import Box, Dict, Space, Text

from ... import unknown
from .. import seeding
from ..actions import strings
from ..core import BatchedEnv, BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv
from . import elements
from .commands import BASIC, Commands, parse
from .declare.expert import ScriptedExpert
from .device import Phone
from .goals import Goal
from .problems import canonical, generate, templates
from .protocol import Device
from .render import Renderer

FORMAT_PENALTY = -0.01
ASPECT = 16 / 9
SMALLEST, LARGEST = 96, 1920
FRAME_WIDTH = 324
OBSERVATIONS = ("screen", "elements")
TREE_CHARACTERS = string.ascii_letters + string.digits + string.punctuation + " \n"


class BatchedPhone(BatchedEnv):
    """Phones, stepped together.

    Args:
        num_envs: number of phones.
        split: which problems, "train" or "test".
        level: 1 short goals in one app, with the phone often lying open somewhere on the way; 2 longer ones, from the
            home screen; 3 goals across apps, with more interruptions and slow screens.
        apps: keys of the apps that goals may need (``"settings"``, ``"contacts"``, ``"shop"``); None for all.
        size: height and width of ``screen`` in pixels; 16 to 9, height 96 to 1920.
        observation: "screen" for pixels, tree and goal, and actions in words; "elements" for the numbers of
            :mod:`.elements`, which need no reading.
        render_mode: "rgb_array" for frames of 324 x 576 (or the size of ``screen``, if larger).
    """

    env_state = ("_played",)
    verbs = BASIC

    def __init__(
        self,
        num_envs: int,
        split: seeding.Split = "train",
        level: int = 1,
        apps: Sequence[str] | None = None,
        size: tuple[int, int] = (192, 108),
        render_mode: str | None = None,
        observation: str = "screen",
    ) -> None:
        super().__init__(num_envs, render_mode)
        if observation not in OBSERVATIONS:
            raise ValueError(unknown("observation", observation, OBSERVATIONS))
        self.split = seeding.check_split(split)
        self.level = level
        self._apps = apps
        height, width = check_size(size)
        self.observation_space: Dict = Dict(
            screen=Box(0, 255, (height, width, 3), np.uint8),
            tree=Text(8000, charset=TREE_CHARACTERS),
            goal=Text(400, charset=TREE_CHARACTERS),
        )
        self.action_space: Space[Any] = Commands(verbs=self.verbs)
        self._numeric = observation == "elements"
        if self._numeric:
            self.observation_space, self.action_space = elements.spaces()
        self._renderer = Renderer(height, width)
        self._frames = Renderer(*frame_size(height, width)) if render_mode else None
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

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Puts fresh problems on phones."""
        for index, seed, episode in zip(indices.tolist(), seeds.tolist(), episodes.tolist(), strict=True):
            problem = self.generate(seed, episode)
            self.problems[index], self.phones[index] = problem, problem.phone()
            self._played[index] = (seed, episode, [])
            self._stale[index] = True
            self._success[index] = False
            for term in self._terms.values():
                term[index] = 0.0

    def check(self, actions: Any) -> list[str]:
        """A batch of ``n`` strings; whether they can be read is part of the game. Or one of numbers ``[n, 5]``."""
        if self._numeric:
            chosen = zip(elements.check(actions, self.num_envs), self.phones, self._goals, strict=True)
            return [elements.decode(*one) for one in chosen]
        return strings(actions, self.num_envs, wanted="give each phone one string such as 'tap 0.5 0.5' or 'back'")

    def advance(self, actions: list[str], active: Bools) -> tuple[Floats, Bools]:
        """Acts on the active phones; ``done`` ends an episode and has the goal judged."""
        goal, form = self._terms["goal"], self._terms["format"]
        terminated = np.zeros(self.num_envs, np.bool_)
        for index in np.flatnonzero(active).tolist():
            self._played[index][2].append(actions[index])  # type: ignore[index]
            command = parse(actions[index], self.verbs)
            phone: Device = self.phones[index]
            phone.act(command)
            self._stale[index] = True
            terminated[index] = command.verb in ("done", "infeasible")
            self._success[index] = terminated[index] and self.holds(index, command.verb)
            goal[index] = float(self._success[index])
            form[index] = FORMAT_PENALTY if command.verb == "" else 0.0
        return goal + form, terminated

    def restore(self, index: int, state: Mapping[str, Any]) -> None:
        """See :meth:`BatchedEnv.restore`."""
        super().restore(index, state)
        self._replay(index)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: what was played, in place of phones and problems."""
        return {name: value for name, value in vars(self).items() if name not in ("phones", "problems", "_templates")}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """A copy has phones of its own, on which the same was done."""
        vars(self).update(kept)
        self._unbox()
        for index in range(self.num_envs):
            self._replay(index)

    def _unbox(self) -> None:
        self._prepare()
        self.phones: list[Phone] = [None] * self.num_envs  # type: ignore[list-item]
        self.problems: list[Any] = [None] * self.num_envs

    def _prepare(self) -> None:
        """Finds the templates that problems are drawn from."""
        self._templates: Sequence[Any] = templates(self.level, self._apps)

    def generate(self, seed: int, episode: int) -> Any:
        """The ``episode``-th problem after ``reset(seed=seed)``."""
        return generate(self.split, seed, episode, self.level, self._templates)

    def _replay(self, index: int) -> None:
        if (played := self._played[index]) is not None:
            seed, episode, actions = played
            self.begin(*(np.array([one]) for one in (index, seed, episode)))
            for action in actions:
                self.advance([action] * self.num_envs, np.arange(self.num_envs) == index)

    def canonical(self, problem: Any) -> str:
        """What decides the problem's split: what its goal asks for, in whatever words and on whatever phone."""
        return canonical(problem.template, problem.goal)

    def holds(self, index: int, ended: str = "done") -> bool:
        """Whether the goal of a phone is reached now, if the episode ends with the verb ``done`` or ``infeasible``."""
        phone: Device = self.phones[index]
        goal: Goal = self.problems[index].goal
        return goal.reached(phone.state, phone.answer, ended)

    def observe(self) -> dict[str, Any]:
        """Screens ``[n, H, W, 3]``, trees and goals; screens that look the same as before are not painted again.

        Or elements ``[n, 64, 24]`` and goals ``[n, 48]``.
        """
        if self._numeric:
            return elements.observe(self.phones, self._goals)
        for index in np.flatnonzero(self._stale).tolist():
            phone: Device = self.phones[index]
            self._trees[index] = phone.tree()
            picture = phone.picture()
            if picture != self._painted[index]:
                self._renderer.paint(picture, self._screens[index])
                self._painted[index] = picture
        self._stale[:] = False
        return {"screen": self._screens.copy(), "tree": tuple(self._trees), "goal": tuple(self._goals)}

    @property
    def _goals(self) -> list[str]:
        return [problem.goal.text for problem in self.problems]

    def reset_info(self) -> Info:
        """Goal, its template, level and apps, and the digest that names the problem."""
        return {
            "goal": self._goals,
            "template": [problem.template.name for problem in self.problems],
            "apps": [problem.template.apps for problem in self.problems],
            "level": np.full(self.num_envs, self.level),
            "problem": [problem.digest for problem in self.problems],
        }

    def step_info(self) -> Info:
        """Success (goal declared and reached), whether the command could be read, and the terms of the reward."""
        return {
            "success": self._success.copy(),
            "understood": self._terms["format"] == 0.0,
            "reward_terms": {k: v.copy() for k, v in self._terms.items()},
        }

    def expert_actions(self) -> Any:
        """The scripted expert's next action on every phone; in numbers, ``done`` where no numbers say it."""
        pairs = zip(self.phones, self.problems, strict=True)
        actions = tuple(ScriptedExpert(phone, problem.goal).action() for phone, problem in pairs)
        return elements.encoded(actions, self.phones, self._goals) if self._numeric else actions

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """A large frame of one phone."""
        if self._frames is None:
            raise ValueError("make the environment with render_mode='rgb_array' to render it")
        frame = np.zeros((self._frames.height, self._frames.width, 3), np.uint8)
        phone: Device = self.phones[index]
        self._frames.paint(phone.picture(), frame)
        return frame


def check_size(size: tuple[int, int]) -> tuple[int, int]:
    """Height and width of a screen, or ``ValueError`` where a phone cannot have them."""
    wanted = f"size is (height, width) at 16 to 9 with height {SMALLEST} to {LARGEST}, got {size!r:.100}"
    if not isinstance(size, tuple | list) or len(size) != 2 or not all(isinstance(n, int | np.integer) for n in size):
        raise ValueError(wanted)
    height, width = size
    if not SMALLEST <= height <= LARGEST or abs(height / max(width, 1) / ASPECT - 1) > 0.02:
        raise ValueError(wanted)
    return int(height), int(width)


def frame_size(height: int, width: int) -> tuple[int, int]:
    """Height and width of rendered frames: of the screen, or larger."""
    return (height, width) if width >= FRAME_WIDTH else (int(FRAME_WIDTH * ASPECT), FRAME_WIDTH)


class PhoneEnv(SingleEnv):
    """One phone as a ``gymnasium.Env``; keywords of :class:`BatchedPhone`."""

    batched_class = BatchedPhone


class PhoneVectorEnv(BatchedVectorEnv):
    """Phones as a native ``gymnasium.vector.VectorEnv``; keywords of :class:`BatchedPhone`."""

    batched_class = BatchedPhone
