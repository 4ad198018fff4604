"""A batch of compiled phones: memory, problems put on them, steps, and what can be seen; :mod:`.batch` in Python."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import render, twists
from ..apps.declared import tasks
from ..commands import Command
from ..elements import COLUMNS, ELEMENTS, GOAL_WORDS, Int16
from ..locales import LOCALES
from ..problems_v1 import OPEN, Split, world
from ..render import Renderer
from ..themes import TEST_THEMES, TRAIN_THEMES
from . import batch, device, shapes
from . import memory as w
from .image import Image, image, key_boxes
from .reading import Reader, makers

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
PHONES_PER_THREAD = 16
VERBS: dict[str, int] = {
    "": device.UNREADABLE, "tap": device.TAP, "long_press": device.LONG_PRESS, "drag": device.DRAG, "type": device.TYPE,
    "swipe up": device.UP, "swipe down": device.DOWN, "swipe left": device.LEFT, "swipe right": device.RIGHT,
    "back": device.BACK, "home": device.HOME, "enter": device.ENTER, "open": device.OPEN, "wait": device.WAIT,
    "answer": device.ANSWER, "done": device.DONE, "infeasible": device.INFEASIBLE,
}  # fmt: skip
_WITH_TEXT = ("type", "open", "answer")


FAULTS = {
    1: "its heap is full",
    2: "two values are too large to be compared",
    3: "there is no such instruction",
    4: "an expression is nested too deeply",
    5: "a record has no such field",
    6: "a table has no such entry",
    7: "a list is too short",
    8: "an empty list has no last item",
    9: "an empty list has no least or greatest item",
    10: "nothing can be picked from an empty list",
    11: "there is no such operation",
    12: "there is no field of that name",
    13: "a page has too many elements",
    14: "there is no such widget",
    15: "a picture has too many parts",
    16: "no goal of the split was found",
}
"""What is wrong, by number: an app does what the interpreter would refuse too, or is larger than the machine."""


class Faulty(RuntimeError):
    """The machine stopped; the message says at which phone and why."""


def hashes(texts: Sequence[str]) -> list[int]:
    """The FNV-1a hash of each text, as :func:`~..problems_v1.fnv1a` has it, all at once."""
    coded = [text.encode() for text in texts]
    found = np.empty(len(coded), np.int64)
    batch.hash_texts(np.frombuffer(b"".join(coded), np.uint8), np.cumsum([0, *map(len, coded)]), found)
    return list(found.view(np.uint64).tolist())


@cache
def _makers(locale: str) -> dict[str, Callable[..., Any]]:
    """The classes of the records of all apps in one language."""
    return makers(world(locale).programs)


@cache
def compiled_image(locale: str) -> Image:
    """The apps of Phone-v1 in a language, compiled once."""
    return image(world(locale).programs, tasks())


class Settings:
    """What problems are drawn with, as arrays.

    Args:
        level: of the tasks.
        numbers: numbers of the tasks that may be drawn.
        split: which problems.
    """

    def __init__(self, level: int, numbers: Sequence[int], split: Split) -> None:
        themes, more = TEST_THEMES if split.tests("theme") else TRAIN_THEMES, 1.0 + split.drift
        apps = compiled_image(LOCALES[0]).apps
        always = sum(1 << apps.index(app) for app in ("settings", "system"))
        rows = sum(1 << i for i, row in enumerate(twists.ROWS) if row in split.rows)
        popups = [*twists.POPUP_COUNTS[level], 0.0, 0.0, 0.0][:4]
        chances = [twists.SLOW, twists.FAILED, twists.ADVERT, twists.NOTICE]
        self.numbers = np.array(numbers, np.int64)
        self.weights = np.array([split.weight(world().templates[i]) for i in numbers])
        self.whole = np.array(
            [level, split.tests("params"), split.tests("wording"), rows, themes[0], len(themes), always], np.int64
        )
        self.odds = np.array(
            [*popups, *(one[level] * more for one in chances), twists.AUTOCORRECT[level], split.drift / 2, OPEN]
        )


def _room() -> tuple[Floats, npt.NDArray[np.uint8]]:
    """For a display list."""
    return np.zeros((shapes.MOST_OPS, render.COLUMNS)), np.zeros(shapes.MOST_CHARACTERS, np.uint8)


class Core:
    """Phones in memory.

    Attributes:
        memory, floats: ``[n, words]`` each: all there is of the phones.
        locales: number of each phone's language ``[n]``.
    """

    def __init__(self, num_envs: int, threads: int | None = None) -> None:
        self.num_envs = num_envs
        self.memory = np.zeros((num_envs, w.WORDS), np.int64)
        self.floats = np.zeros((num_envs, w.FLOATS))
        boxes = key_boxes()
        self.floats[:, w.KEY_BOXES : w.KEY_BOXES + len(boxes)] = boxes
        self.locales = np.zeros(num_envs, np.int64)
        self.ended = np.zeros(num_envs, np.bool_)
        self.success = np.zeros(num_envs, np.bool_)
        self._faults = np.zeros(num_envs, np.int64)
        self._found = np.zeros((num_envs, ELEMENTS, COLUMNS), np.int16)
        self._goals = np.zeros((num_envs, GOAL_WORDS), np.int16)
        self._characters = np.zeros(w.SCRATCH_SIZE, np.uint8)
        most = threads or len(os.sched_getaffinity(0))
        self._threads = max(1, min(most, num_envs // PHONES_PER_THREAD))
        self._pool: ThreadPoolExecutor | None = None

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: without threads."""
        return {**vars(self), "_pool": None}

    def image(self, index: int) -> Image:
        """What a phone runs."""
        return compiled_image(LOCALES[int(self.locales[index])])

    def begin(self, indices: Ints, keys: npt.NDArray[np.uint64], settings: Settings, locales: Ints) -> None:
        """Puts the problems of keys ``[k]`` on phones ``[k]``, in languages ``[k]`` (numbers)."""
        self.locales[indices] = locales
        for locale in np.unique(locales).tolist():
            chosen, one = locales == locale, compiled_image(LOCALES[locale])
            batch.begin_all(
                self.memory, self.floats, one.code, one.pool, indices[chosen], keys[chosen].view(np.int64),
                settings.numbers, settings.weights, one.names, settings.whole, settings.odds,
            )  # fmt: skip
        self.ended[indices] = self.success[indices] = False
        self._check(indices)

    def act(self, commands: Sequence[Command], active: Bools) -> None:
        """One step of the active phones by commands ``[n]``."""
        verbs = np.array([VERBS[f"swipe {c.text}" if c.verb == "swipe" else c.verb] for c in commands], np.int64)
        points = np.array([(c.x, c.y, c.x1, c.y1) for c in commands])
        written = [c.text.encode() if c.verb in _WITH_TEXT else b"" for c in commands]
        ends = np.cumsum([0, *map(len, written)])
        texts = np.frombuffer(b"".join(written) or b"\0", np.uint8)
        self._step(batch.step_words, active, verbs, points, texts, ends)

    def act_numbers(self, actions: Ints, active: Bools) -> None:
        """One step of the active phones by actions ``[n, 5]`` of :mod:`tiltyard.envs.gui.elements`."""
        self._step(batch.step_numbers, active, actions)

    def _step(self, step: Callable[..., None], active: Bools, *actions: Any) -> None:
        for locale in self._languages():
            one, own = compiled_image(LOCALES[locale]), active & (self.locales == locale)
            self._spread(lambda a, b, one=one, own=own: step(  # type: ignore[misc]
                self.memory, self.floats, one.code, one.pool, a, b, own, *actions))  # fmt: skip
            batch.outcomes(self.memory, one.pool, own, self.ended, self.success, self._faults)
        self._check(np.flatnonzero(active))

    def _languages(self) -> list[int]:
        return [0] if not self.locales.any() else np.unique(self.locales).tolist()

    def _spread(self, work: Callable[[int, int], None]) -> None:
        """Does the work of all phones, in several threads where there are many."""
        if self._threads == 1:
            work(0, self.num_envs)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads - 1, "phones")
        ends = np.linspace(0, self.num_envs, self._threads + 1).astype(int).tolist()
        waiting = [self._pool.submit(work, a, b) for a, b in zip(ends[1:-1], ends[2:], strict=True)]
        work(ends[0], ends[1])
        for one in waiting:
            one.result()

    def _check(self, indices: Ints) -> None:
        faults = self.memory[indices, w.FAULT]
        if faults.any():
            index = int(indices[np.flatnonzero(faults)[0]])
            task = self.image(index).tasks[int(self.memory[index, w.TEMPLATE])].tasks.name
            raise Faulty(f"phone {index} (task {task}) stopped: {FAULTS[int(self.memory[index, w.FAULT])]}")

    # -- looking -------------------------------------------------------------------------------------------------

    def elements(self) -> dict[str, Int16]:
        """Elements ``[n, 64, 24]`` and goals ``[n, 48]``."""
        pool = compiled_image(LOCALES[0]).pool
        if self._languages() == [0]:
            self._spread(
                lambda a, b: batch.view_numbers(self.memory, self.floats, pool, a, b, self._found, self._goals)
            )
        else:
            for i in range(self.num_envs):
                own = self.image(i).pool
                batch.view_numbers(self.memory, self.floats, own, i, i + 1, self._found, self._goals)
        return {"elements": self._found.copy(), "goal": self._goals.copy()}

    def paint(self, renderer: Renderer, screens: npt.NDArray[np.uint8], chosen: Ints) -> None:
        """Paints the phones ``chosen`` into ``screens`` ``[n, H, W, 3]``."""
        for locale in np.unique(self.locales[chosen]).tolist():
            pool, own = compiled_image(LOCALES[locale]).pool, chosen[self.locales[chosen] == locale]

            def work(a: int, b: int, pool: Ints = pool, own: Ints = own) -> None:
                some = own[(own >= a) & (own < b)]
                batch.paint_all(self.memory, self.floats, pool, some, screens, *renderer.atlas, *_room())

            self._spread(work)

    def tree(self, index: int) -> str:
        """The accessibility tree of a phone."""
        n = batch.view_tree(self.memory[index], self.floats[index], self.image(index).pool, self._characters)
        return self._characters[:n].tobytes().decode("ascii")

    def reader(self, index: int) -> Reader:
        """Reads values of a phone's memory."""
        one = self.image(index)
        return Reader(self.memory[index], one.pool, one.types, _makers(LOCALES[int(self.locales[index])]))

    def goal(self, index: int) -> str:
        """The goal in words."""
        return str(self.reader(index).value(self.memory[index, w.GOAL]))

    def state(self, index: int) -> dict[str, Any]:
        """The state of the apps whose data have been drawn."""
        roots = self.memory[index, w.ROOTS : w.ROOTS + w.MOST_APPS]
        reader = self.reader(index)
        return {app: reader.value(root) for app, root in zip(self.image(index).apps, roots, strict=False) if root}

    def holds(self, index: int, ended: int) -> bool:
        """Whether a phone's goal is reached as things stand, if its episode ends with a verb (a number)."""
        memory = self.memory[index].copy()
        memory[w.ENDED] = ended
        return bool(batch.holds(memory, self.image(index).pool))
