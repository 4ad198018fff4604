"""``tiltyard/Phone-v1``, compiled: what :class:`tiltyard.envs.gui.phone_v1.BatchedPhoneV1` does, bit for bit.

Problems, steps and views come from :mod:`.core`. The scripted expert plans on the interpreted phone: one that is asked
for is built from the problem's key, and what has been done since is done again on it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict, Space, Text

from .... import unknown
from ... import seeding
from ...actions import strings
from ...core import BatchedEnv, BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv
from .. import elements
from ..commands import VERBS, Commands, parse
from ..declare.expert import ScriptedExpert
from ..locales import LOCALES
from ..phone import FORMAT_PENALTY, TREE_CHARACTERS, check_size, frame_size
from ..problems_v1 import HeldOut, Problem, choices, generate, split_of, world
from ..render import Renderer
from ..stream import Stream
from ..twists import weighted
from . import device
from . import memory as w
from .core import Core, Settings, hashes

OBSERVATIONS = ("screen", "tree", "pixels", "elements")


class BatchedPhoneV1(BatchedEnv):
    """Phones, stepped together.

    Args:
        num_envs: number of phones.
        split: which problems, "train" or "test".
        level: 1 one app and few steps; 2 longer ones; 3 several apps, or looking something up.
        apps: keys of the apps that goals may need; None for all.
        size: height and width of ``screen`` in pixels; 16 to 9, height 96 to 1920.
        render_mode: "rgb_array" for frames of 324 x 576 (or the size of ``screen``, if larger).
        held_out: in which way test problems differ from train problems, and in which alone: "params" (what is asked),
            "wording", "template", "app", "theme" or "locale". It changes nothing in the train split.
        drift: from 0 to 1: how far the popularity of apps, layouts and disturbances have moved away.
        rows: which rows of :data:`..twists.ROWS` are on; None for all.
        observation: "screen" for pixels, tree and goal; "tree" for tree and goal; "pixels" for pixels and goal;
            "elements" for numbers in and out (:mod:`..elements`).
        threads: most threads; None for one a processor. Trajectories do not depend on it.

    Raises:
        ValueError: an argument outside of these.
    """

    env_state = ("_memory", "_floats", "_locales", "_keys", "_done_on")

    def __init__(
        self,
        num_envs: int,
        split: seeding.Split = "train",
        level: int = 1,
        apps: Sequence[str] | None = None,
        size: tuple[int, int] = (192, 108),
        render_mode: str | None = None,
        held_out: HeldOut = "params",
        drift: float = 0.0,
        rows: Sequence[str] | None = None,
        observation: str = "screen",
        threads: int | None = None,
    ) -> None:
        super().__init__(num_envs, render_mode)
        if observation not in OBSERVATIONS:
            raise ValueError(unknown("observation", observation, OBSERVATIONS))
        self.split, self.level, self.observation = seeding.check_split(split), level, observation
        self._split = split_of(split, held_out, drift, rows)
        self._numbers = choices(level, apps, self._split)
        self._settings = Settings(level, self._numbers, self._split)
        height, width = check_size(size)
        self.observation_space, self.action_space = _spaces(observation, height, width)
        self._renderer = Renderer(height, width)
        self._frames = Renderer(*frame_size(height, width)) if render_mode else None
        self._screens = np.zeros((num_envs, height, width, 3), np.uint8)
        self.core = Core(num_envs, threads)
        self._memory, self._floats, self._locales = self.core.memory, self.core.floats, self.core.locales
        self._keys = np.zeros(num_envs, np.uint64)
        self._done_on: list[list[Any]] = [[] for _ in range(num_envs)]
        self._goals = [""] * num_envs
        self._mirrors: dict[int, tuple[Problem, Any, int]] = {}
        self._terms = {"goal": np.zeros(num_envs), "format": np.zeros(num_envs)}
        self._success = np.zeros(num_envs, np.bool_)
        self._stale = np.ones(num_envs, np.bool_)

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Puts fresh problems on phones."""
        self._keys[indices] = keys = seeding.problem_keys(self.split, seeds, episodes)
        self.core.begin(indices, keys, self._settings, self._languages(keys))
        self._success[indices] = False
        self._stale[indices] = True
        for term in self._terms.values():
            term[indices] = 0.0
        for index in indices.tolist():
            self._done_on[index] = []
            self._goals[index] = self.core.goal(index)
            self._mirrors.pop(index, None)

    def _languages(self, keys: npt.NDArray[np.uint64]) -> Ints:
        """The language of each problem: English, unless another one is held out."""
        found = np.zeros(len(keys), np.int64)
        if self._split.tests("locale"):
            for i, key in enumerate(keys.tolist()):
                head = Stream(key).child(0)
                weighted(head, self._settings.weights.tolist())
                found[i] = 1 + head.below(len(LOCALES) - 1)
        return found

    def check(self, actions: Any) -> Any:
        """A batch of ``n`` strings; whether they can be read is part of the game. Or one of numbers ``[n, 5]``."""
        if self.observation == "elements":
            return elements.check(actions, self.num_envs)
        return strings(actions, self.num_envs, wanted="give each phone one string such as 'tap 0.5 0.5' or 'back'")

    def advance(self, actions: Any, active: Bools) -> tuple[Floats, Bools]:
        """Acts on the active phones; ``done`` and ``infeasible`` end an episode and have the goal judged."""
        chosen = np.flatnonzero(active)
        self._stale |= active
        form = self._terms["format"]
        form[active] = 0.0
        if self.observation == "elements":
            self.core.act_numbers(actions, active)
        else:
            commands = [parse(action, VERBS) for action in actions]
            self.core.act(commands, active)
            form[active] = [FORMAT_PENALTY if commands[index].verb == "" else 0.0 for index in chosen]
        for index in chosen.tolist():
            self._done_on[index].append(actions[index])
        self._success[active] = self.core.success[active]
        self._terms["goal"][active] = self._success[active]
        return self._terms["goal"] + form, self.core.ended & active

    def asked(self, index: int) -> str:
        """What a phone's goal asks for, alike in whatever words and on whatever phone; it decides the split."""
        found = self.core.reader(index).value(self.core.memory[index, w.ASKED])
        return " ".join([self.core.image(index).tasks[int(self.core.memory[index, w.TEMPLATE])].tasks.name, *found])

    def restore(self, index: int, state: Any) -> None:
        """See :meth:`BatchedEnv.restore`."""
        super().restore(index, state)
        self._goals[index] = self.core.goal(index)
        self._stale[index] = True
        self._mirrors.pop(index, None)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: without the interpreted phones, which are made again where they are needed."""
        return {**vars(self), "_mirrors": {}}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """A copy looks at memory of its own."""
        vars(self).update(kept)
        self._memory, self._floats, self._locales = self.core.memory, self.core.floats, self.core.locales

    def observe(self) -> dict[str, Any]:
        """What ``observation`` names: screens ``[n, H, W, 3]``, trees and goals; or elements and goals in numbers."""
        if self.observation == "elements":
            return dict(self.core.elements())
        seen: dict[str, Any] = {"goal": tuple(self._goals)}
        if self.observation != "tree":
            self.core.paint(self._renderer, self._screens, np.flatnonzero(self._stale))
            self._stale[:] = False
            seen["screen"] = self._screens.copy()
        if self.observation != "pixels":
            seen["tree"] = tuple(self.core.tree(index) for index in range(self.num_envs))
        return {name: seen[name] for name in self.observation_space}  # type: ignore[attr-defined]

    def reset_info(self) -> Info:
        """Goal, template, level and apps, the digest that names the problem, whether it is infeasible, the locale."""
        numbers, tasks = self.core.memory[:, w.TEMPLATE].tolist(), self.core.image(0).tasks
        made = [world().templates[number] for number in numbers]
        named = [f"{key}|{goal}" for key, goal in zip(self._keys.tolist(), self._goals, strict=True)]
        return {
            "goal": list(self._goals),
            "template": [one.name for one in made],
            "apps": [one.apps for one in made],
            "level": np.full(self.num_envs, self.level),
            "problem": [f"{digest:016x}" for digest in hashes(named)],
            "infeasible": np.array([tasks[number].tasks.infeasible for number in numbers]),
            "locale": [LOCALES[number] for number in self._locales.tolist()],
        }

    def step_info(self) -> Info:
        """Success (goal declared and reached), whether the command could be read, and the terms of the reward."""
        return {
            "success": self._success.copy(),
            "understood": self._terms["format"] == 0.0,
            "reward_terms": {k: v.copy() for k, v in self._terms.items()},
        }

    # -- the interpreted phone -----------------------------------------------------------------------------------

    def mirror(self, index: int) -> tuple[Problem, Any]:
        """The problem, and an interpreted phone in the same state."""
        if index not in self._mirrors:
            problem = generate(int(self._keys[index]), self.level, self._numbers, self._split)
            self._mirrors[index] = problem, problem.phone(), 0
        problem, phone, n = self._mirrors[index]
        for action in self._done_on[index][n:]:
            numeric = self.observation == "elements"
            phone.act(parse(elements.decode(action, phone, problem.goal.text) if numeric else action, VERBS))
        self._mirrors[index] = problem, phone, len(self._done_on[index])
        return problem, phone

    def expert_actions(self) -> Any:
        """The scripted expert's next action on every phone; in numbers, ``done`` where no numbers say it."""
        pairs = [self.mirror(index) for index in range(self.num_envs)]
        actions = tuple(ScriptedExpert(phone, problem.goal).action() for problem, phone in pairs)
        if self.observation != "elements":
            return actions
        return elements.encoded(actions, [phone for _, phone in pairs], self._goals)

    def holds(self, index: int, ended: str = "done") -> bool:
        """Whether the goal of a phone is reached now, if the episode ends with ``done`` or ``infeasible``."""
        verb = device.DONE if ended == "done" else device.INFEASIBLE
        return self.core.holds(index, verb)

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """A large frame of one phone."""
        if self._frames is None:
            raise ValueError("make the environment with render_mode='rgb_array' to render it")
        frames = np.zeros((self.num_envs, self._frames.height, self._frames.width, 3), np.uint8)
        self.core.paint(self._frames, frames, np.array([index]))
        frame: npt.NDArray[np.uint8] = frames[index]
        return frame


def _spaces(observation: str, height: int, width: int) -> tuple[Dict, Space[Any]]:
    if observation == "elements":
        return elements.spaces()
    spaces: dict[str, Space[Any]] = {
        "screen": Box(0, 255, (height, width, 3), np.uint8),
        "tree": Text(8000, charset=TREE_CHARACTERS),
        "goal": Text(400, charset=TREE_CHARACTERS),
    }
    unseen = {"tree": "screen", "pixels": "tree"}.get(observation)
    return Dict({name: one for name, one in spaces.items() if name != unseen}), Commands(verbs=VERBS)


class PhoneV1Env(SingleEnv):
    """One phone as a ``gymnasium.Env``; keywords of :class:`BatchedPhoneV1`."""

    batched_class = BatchedPhoneV1


class PhoneV1VectorEnv(BatchedVectorEnv):
    """Phones as a native ``gymnasium.vector.VectorEnv``; keywords of :class:`BatchedPhoneV1`."""

    batched_class = BatchedPhoneV1
