"""``tiltyard/Android-v0``: a device behind adb, with the observations and actions of our phones.

The agent sees ``Dict(screen: Box uint8 [H, W, 3], tree: Text, goal: Text)`` and acts in words (:mod:`..commands`); its
actions go to the device as shell lines of ``input``, its observations come by ``screencap`` and ``uiautomator dump``,
and success is asked of the device by shell lines too (:mod:`.tasks`). Behind it is a real phone or emulator
(``serial="emulator-5554"``), or the fake device of :mod:`.adbd`, on which the tasks of Phone-v0 and v1 can be played.

Reward is the sum of two named terms: ``goal``, 1 for a ``done`` at which the goal holds, else 0; and ``format``, -0.01
for an action that cannot be read. A device that cannot be reached within ``patience`` seconds ends the
episode: ``truncated``, and ``info["crashed"]``.
"""

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict, Text

from .... import unknown
from ... import seeding
from ...actions import strings
from ...core import BatchedEnv, Bools, Floats, Info, Ints, SingleEnv
from ..commands import VERBS, Commands, parse
from ..phone import FORMAT_PENALTY, TREE_CHARACTERS, BatchedPhone, check_size
from ..phone_v1 import BatchedPhoneV1
from .errors import AdbError, CommandFailed
from .faults import Faults, made
from .goals import DeviceGoal, PhoneGoal
from .handset import Look
from .hierarchy import LONGEST
from .seats import FAKE, Seat
from .tasks import draw

PHONES: dict[str, type[BatchedPhone]] = {"phone-v0": BatchedPhone, "phone-v1": BatchedPhoneV1}
KINDS = (*PHONES, "stock")
SETTLE_S = 1.0
DEVICE_SIZE = (432, 768)
Goals = PhoneGoal | DeviceGoal


class BatchedAndroid(BatchedEnv):
    """Devices, stepped one after the other.

    Args:
        num_envs: number of devices; more than one only of the fake.
        split: which problems, "train" or "test".
        level: of our phones' tasks.
        apps: that our phones' tasks may need; None for all.
        size: height and width of ``screen``; 16 to 9, to which the device's own screen is shrunk.
        serial: the device as ``adb devices`` lists it; "" for the only one; "fake" for our own.
        tasks: "phone-v0" or "phone-v1" (on the fake device), or "stock" (:data:`~.tasks.TASKS`); None: "phone-v0" on
            the fake device, "stock" on any other.
        phone: further keywords of Phone-v1: ``held_out``, ``drift``, ``rows``.
        adb: the adb program; None: "adb", but the fake device is spoken to without one.
        port: of adb's server; None: one of our own. The fake device has one where ``adb`` is given.
        timeout: seconds a command may take.
        patience: seconds for which what failed is tried again.
        settle: seconds to wait after an action; None: 1, and none on the fake device.
        snapshot: of an emulator, loaded before each problem; the fake device has none.
        faults: of the fake device: :class:`~.faults.Faults`, or its keywords.
        device_size: width and height in pixels of the fake device's screen.
        render_mode: "rgb_array" for frames of the device's own size.

    Raises:
        ValueError: an argument outside of these; that of the fake device's handset comes with its first problem.
        AdbMissing: a device is to be reached by adb, and there is no such program.
    """

    def __init__(
        self,
        num_envs: int,
        split: seeding.Split = "train",
        level: int = 1,
        apps: Sequence[str] | None = None,
        size: tuple[int, int] = (192, 108),
        serial: str = FAKE,
        tasks: str | None = None,
        phone: Mapping[str, Any] | None = None,
        adb: str | None = None,
        port: int | None = None,
        timeout: float = 10.0,
        patience: float = 30.0,
        settle: float | None = None,
        snapshot: str = "",
        faults: Faults | Mapping[str, Any] | None = None,
        device_size: tuple[int, int] = DEVICE_SIZE,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(num_envs, render_mode)
        self.split, self._snapshot = seeding.check_split(split), snapshot
        self.tasks = tasks if tasks is not None else "phone-v0" if serial == FAKE else "stock"
        if self.tasks not in KINDS:
            raise ValueError(unknown("kind of tasks", tasks, KINDS))
        if serial != FAKE and (num_envs > 1 or self.tasks in PHONES or faults is not None):
            raise ValueError(f"num_envs, our phones' tasks and faults are for serial='{FAKE}', not for {serial!r}")
        _check_way(serial, adb, port, snapshot, device_size)
        height, width = check_size(size)
        source = PHONES.get(self.tasks, BatchedPhone)
        self.phones = source(1, split, level, apps, **dict(phone or {}))
        """What draws problems and makes phones; they are put into the fake device."""
        self.observation_space = Dict(
            screen=Box(0, 255, (height, width, 3), np.uint8),
            tree=Text(LONGEST, charset=TREE_CHARACTERS),
            goal=Text(400, charset=TREE_CHARACTERS),
        )
        self.verbs = self.phones.verbs if self.tasks in PHONES else VERBS
        self.action_space = Commands(verbs=self.verbs)
        chosen = made(faults) if isinstance(faults, Mapping) else faults
        settled = settle if settle is not None else 0.0 if serial == FAKE else SETTLE_S
        patient = {"timeout": timeout, "patience": patience, "settle": settled}
        self.seats = [Seat(serial, adb, port, chosen, device_size, patient) for _ in range(num_envs)]
        self._finalizer = weakref.finalize(self, _close, self.seats)
        self._goals: list[Goals | None] = [None] * num_envs
        self._screens = np.zeros((num_envs, height, width, 3), np.uint8)
        self._seen: list[Look | None] = [None] * num_envs
        self._trees = [""] * num_envs
        self._answers = [""] * num_envs
        self._failures_before = np.zeros(num_envs, np.int64)
        self._success, self._crashed = np.zeros(num_envs, np.bool_), np.zeros(num_envs, np.bool_)
        self._terms = {"goal": np.zeros(num_envs), "format": np.zeros(num_envs)}

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Puts fresh problems on devices.

        Raises:
            AdbError: a device cannot be reached, or a task cannot be set up on it.
        """
        for index, seed, episode in zip(indices.tolist(), seeds.tolist(), episodes.tolist(), strict=True):
            seat = self.seats[index]
            problem = self.phones.generate(seed, episode) if seat.fake else None
            if self.tasks in PHONES:
                seat.begin(problem)
                self._goals[index] = PhoneGoal(problem)
            else:
                seat.begin(problem, bare=True)
                if self._snapshot:
                    seat.load_snapshot(self._snapshot)
                task = draw(seeding.problem_rng(self.split, seed, episode), self.split)
                task.prepare(seat.handset)
                self._goals[index] = DeviceGoal(task, seat)
                seat.handset.ask("input keyevent KEYCODE_HOME")
            self._answers[index] = ""
            self._success[index] = self._crashed[index] = False
            self._failures_before[index] = seat.handset.failures
            for term in self._terms.values():
                term[index] = 0.0
            self._look(index, "")

    def check(self, actions: Any) -> list[str]:
        """A batch of ``n`` strings; whether they can be read is part of the game."""
        return strings(actions, self.num_envs, wanted="give each device one string such as 'tap 0.5 0.5' or 'back'")

    def advance(self, actions: list[str], active: Bools) -> tuple[Floats, Bools]:
        """Acts on the active devices; ``done`` and ``infeasible`` end an episode and have the goal judged."""
        goal, form = self._terms["goal"], self._terms["format"]
        terminated = np.zeros(self.num_envs, np.bool_)
        for index in np.flatnonzero(active).tolist():
            command = parse(actions[index], self.verbs)
            if command.verb == "answer":
                self._answers[index] = self.seats[index].answered(command.text)
            message = self._perform(index, command)
            try:
                self._look(index, message)
                if command.verb in ("done", "infeasible"):
                    self._success[index] = self._holds(index, command.verb)
                    terminated[index] = True
            except AdbError:
                self._crashed[index] = True  # the step says so: truncated
            goal[index] = float(self._success[index])
            form[index] = FORMAT_PENALTY if command.verb == "" else 0.0
        return goal + form, terminated

    def _perform(self, index: int, command: Any) -> str:
        """Sends a command once. If that fails, it is unknown whether the device did it; the next look tells."""
        handset = self.seats[index].handset
        try:
            return handset.perform(command)
        except CommandFailed as error:
            handset.failures += 1
            return f"the device said: {error}"[:200]
        except AdbError:
            handset.failures += 1
            return ""

    def _look(self, index: int, message: str) -> None:
        seen = self.seats[index].handset.look()
        self._seen[index] = seen
        self._screens[index] = seen.frame(*self._screens.shape[1:3])
        lines = seen.tree.split("\n")
        if message:
            told = "".join(one if " " <= one <= "~" and one != '"' else "'" for one in message)
            lines.insert(min(2, len(lines)), f'message "{told}"')
        self._trees[index] = "\n".join(lines)[:LONGEST]

    def _holds(self, index: int, ended: str) -> bool:
        goal = self._goals[index]
        assert goal is not None
        return goal.holds(self.seats[index].handset, self._answers[index], ended)

    def observe(self) -> dict[str, Any]:
        """Screens ``[n, H, W, 3]``, trees and goals, as they were last seen."""
        goals = tuple(goal.text if goal is not None else "" for goal in self._goals)
        return {"screen": self._screens.copy(), "tree": tuple(self._trees), "goal": goals}

    def reset_info(self) -> Info:
        """Goal, its template, what names the problem, and the way to the device."""
        goals = [goal for goal in self._goals if goal is not None]
        return {
            "goal": [goal.text for goal in goals],
            "template": [goal.template for goal in goals],
            "problem": [goal.digest for goal in goals],
            "device": [seat.handset.link.name for seat in self.seats],
        }

    def step_info(self) -> Info:
        """Success, whether the command could be read, terms of the reward, a lost device, failures in the episode."""
        failures = np.array([seat.failures for seat in self.seats]) - self._failures_before
        return {
            "success": self._success.copy(),
            "understood": self._terms["format"] == 0.0,
            "reward_terms": {name: term.copy() for name, term in self._terms.items()},
            "crashed": self._crashed.copy(),
            "failures": failures,
        }

    def expert_actions(self) -> tuple[str, ...]:
        """The scripted expert's next action, which reads the fake device's phone.

        Raises:
            CommandFailed: the device is real.
        """
        return tuple(goal.expert(seat) for goal, seat in zip(self._goals, self.seats, strict=True) if goal is not None)

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """The last frame at the device's own size."""
        if self.render_mode is None:
            raise ValueError("make the environment with render_mode='rgb_array' to render it")
        seen = self._seen[index]
        if seen is None:
            raise ValueError("call reset() before render()")
        return seen.rgba[..., :3].copy()

    def close(self) -> None:
        """Ends what was started here: adb's own server, the fake device. A real device stays as it is."""
        _close(self.seats)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuses copies and pickles.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            "an environment of a device cannot be copied or pickled, because its device cannot be: make another one "
            "(AsyncVectorEnv takes functions that make environments)"
        )


def _check_way(serial: str, adb: str | None, port: int | None, snapshot: str, device_size: tuple[int, int]) -> None:
    """Refuses what would be passed over in silence on the way to this device."""
    if serial == FAKE and snapshot:
        raise ValueError(f"snapshots are of emulators, not of serial='{FAKE}': leave snapshot={snapshot!r} out")
    if port is not None:
        if serial == FAKE and adb is None:
            raise ValueError(
                f"port={port!r} is of adb's server, and the fake device is spoken to without adb: give adb='adb' too, "
                "or leave it out"
            )
        if not isinstance(port, int | np.integer) or isinstance(port, bool) or not 1 <= port <= 65535:
            raise ValueError(f"port is a whole number from 1 to 65535, or None, got {port!r:.100}")
    pair = isinstance(device_size, tuple | list) and len(device_size) == 2
    if not pair or not all(isinstance(n, int | np.integer) and n >= 1 for n in device_size):
        raise ValueError(f"device_size is (width, height) in pixels, such as {DEVICE_SIZE}, got {device_size!r:.100}")
    if serial != FAKE and tuple(device_size) != DEVICE_SIZE:
        raise ValueError(f"device_size is that of serial='{FAKE}'; {serial!r} has the size that it has: leave it out")


def _close(seats: list[Seat]) -> None:
    for seat in seats:
        seat.close()


class AndroidEnv(SingleEnv):
    """One device as a ``gymnasium.Env``; keywords of :class:`BatchedAndroid`."""

    batched_class = BatchedAndroid

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """As of any environment; a device that is lost ends the episode: truncated, and ``info["crashed"]``."""
        observation, reward, terminated, _, info = super().step(action)
        crashed = bool(info["crashed"])
        self._running = self._running and not crashed
        return observation, reward, terminated, crashed, info
