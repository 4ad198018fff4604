"""The states of simulated phones, read by one interface from interpreted and from compiled phones.

A phone's state is read field by field (an app and one of its fields), as it was when the episode began (``FIRST``), as
the goal wants it (``WANTED``) and as it is (``NOW``). Wrappers of phones are made of it; what an agent sees is not.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import VectorEnv

from ..envs.core import BatchedEnv, BatchedVectorEnv, SingleEnv
from ..envs.gui.goals import spoken

Where = tuple[str, str]
"""An app and one of its fields."""
State = Mapping[str, Any]
"""App -> its record."""
FIRST, WANTED, NOW = "first", "wanted", "now"


class PhoneStates(ABC):
    """States of several phones; ``index`` is the environment's everywhere."""

    @abstractmethod
    def differing(self, index: int) -> list[Where]:
        """The fields that the goal wants changed, in the order of the apps."""

    @abstractmethod
    def value(self, index: int, when: str, where: Where) -> Any:
        """A field ``when`` it was FIRST, as WANTED, or NOW."""

    @abstractmethod
    def is_as(self, index: int, when: str, where: Where) -> bool:
        """Whether a field is now as it was FIRST, or as WANTED; where this can be said without reading it."""

    @abstractmethod
    def answers(self, index: int) -> tuple[str, str]:
        """The last answer and the wanted one, as answers are compared; "" where there is none."""

    @abstractmethod
    def marks(self, index: int) -> Any:
        """Something that is equal before and after a step in which no app's state has changed, and no answer given."""

    @abstractmethod
    def problem(self, index: int) -> Any:
        """Something that is equal as long as an environment has the same problem."""

    @abstractmethod
    def kept(self, index: int) -> Any:
        """What :meth:`changed` needs to know of a phone as it is now."""

    @abstractmethod
    def changed(self, index: int, kept: Any) -> tuple[State, State]:
        """The records of the apps that have changed since ``kept``, before and now."""

    @abstractmethod
    def tree(self, index: int) -> str:
        """The accessibility tree."""

    @abstractmethod
    def rows(self, index: int, where: Where) -> tuple[Any, ...]:
        """The rows of a table as they are now; nothing where the app has no data yet."""


class InterpretedStates(PhoneStates):
    """Phone-v0, and Phone-v1 without its compiler."""

    def __init__(self, batched: Any) -> None:
        self.batched = batched

    def _state(self, index: int, when: str) -> State:
        problem = self.batched.problems[index]
        found: State = {FIRST: problem.state, WANTED: problem.goal.expected}.get(when, self.batched.phones[index].state)
        return found

    def differing(self, index: int) -> list[Where]:
        """See the base class."""
        first, wanted = self._state(index, FIRST), self._state(index, WANTED)
        return [
            (app, name)
            for app, record in first.items()
            if record != wanted[app]
            for name, value in vars(record).items()
            if value != getattr(wanted[app], name)
        ]

    def value(self, index: int, when: str, where: Where) -> Any:
        """See the base class."""
        return getattr(self._state(index, when)[where[0]], where[1])

    def is_as(self, index: int, when: str, where: Where) -> bool:
        """See the base class."""
        return bool(self.value(index, NOW, where) == self.value(index, when, where))

    def answers(self, index: int) -> tuple[str, str]:
        """See the base class."""
        return spoken(self.batched.phones[index].answer), spoken(self.batched.problems[index].goal.answer)

    def marks(self, index: int) -> Any:
        """See the base class."""
        return dict(self.batched.phones[index].state), self.batched.phones[index].answer

    def problem(self, index: int) -> Any:
        """See the base class."""
        return self.batched.problems[index].digest

    def kept(self, index: int) -> Any:
        """See the base class."""
        return dict(self.batched.phones[index].state)

    def changed(self, index: int, kept: Any) -> tuple[State, State]:
        """See the base class."""
        now = self.batched.phones[index].state
        apps = [app for app in now if now[app] is not kept[app] and now[app] != kept[app]]
        return {app: kept[app] for app in apps}, {app: now[app] for app in apps}

    def tree(self, index: int) -> str:
        """See the base class."""
        return str(self.batched.phones[index].tree())

    def rows(self, index: int, where: Where) -> tuple[Any, ...]:
        """See the base class."""
        return tuple(getattr(self.batched.phones[index].state[where[0]], where[1]))


class CompiledStates(PhoneStates):
    """Phone-v1: words of memory are compared where they can be, since reading a whole app takes far longer than a step.

    Apps of which an episode has no data yet have no state; they are left out.
    """

    def __init__(self, batched: Any) -> None:
        from ..envs.gui.compiled import memory

        self.batched = batched
        self._at = {FIRST: memory.FIRST_STATE, WANTED: memory.WANTED, NOW: memory.ROOTS}

    @property
    def words(self) -> Any:
        """The module that names the words of memory; looked up, since a module can be neither copied nor pickled."""
        from ..envs.gui.compiled import memory

        return memory

    def _reader(self, index: int, memory: npt.NDArray[np.int64] | None = None) -> Any:
        reader = self.batched.core.reader(index)
        if memory is not None:
            reader.memory = memory
        return reader

    def _apps(self, index: int) -> list[str]:
        apps: list[str] = list(self.batched.core.image(index).apps)
        return apps

    def _fields(self, index: int, when: str, app: str) -> dict[str, int]:
        """The word of each field of an app's record."""
        core = self.batched.core
        memory, one = core.memory[index], core.image(index)
        root = int(memory[self._at[when] + self._apps(index).index(app)]) >> 3
        words, at = (memory, root) if root >= 0 else (one.pool, ~root)
        names = list(one.types.values())[int(words[at])]
        return dict(zip(names, words[at + 1 : at + 1 + len(names)].tolist(), strict=True))

    def _equal(self, index: int, one: int, other: int) -> bool:
        core = self.batched.core
        return one == other or bool(self.words.equal(core.memory[index], core.image(index).pool, one, other))

    def differing(self, index: int) -> list[Where]:
        """See the base class."""
        memory, found = self.batched.core.memory[index], []
        for number, app in enumerate(self._apps(index)):
            first, wanted = int(memory[self._at[FIRST] + number]), int(memory[self._at[WANTED] + number])
            if first and not self._equal(index, first, wanted):
                before, after = self._fields(index, FIRST, app), self._fields(index, WANTED, app)
                found += [(app, name) for name in before if not self._equal(index, before[name], after[name])]
        return found

    def value(self, index: int, when: str, where: Where) -> Any:
        """See the base class."""
        return self._reader(index).value(self._fields(index, when, where[0])[where[1]])

    def is_as(self, index: int, when: str, where: Where) -> bool:
        """See the base class."""
        now, other = self._fields(index, NOW, where[0]), self._fields(index, when, where[0])
        return self._equal(index, now[where[1]], other[where[1]])

    def answers(self, index: int) -> tuple[str, str]:
        """See the base class."""
        reader, memory = self._reader(index), self.batched.core.memory[index]
        given, wanted = (reader.value(memory[word]) or "" for word in (self.words.ANSWER, self.words.WANTED_ANSWER))
        return spoken(given), spoken(wanted)

    def marks(self, index: int) -> Any:
        """See the base class: the addresses of all records, which are never changed in place."""
        memory, start = self.batched.core.memory[index], self.words.ROOTS
        return (*memory[start : start + self.words.MOST_APPS].tolist(), int(memory[self.words.ANSWER]))

    def problem(self, index: int) -> Any:
        """See the base class."""
        return int(self.batched.core.memory[index, self.words.ROOT_KEY])

    def kept(self, index: int) -> Any:
        """See the base class."""
        return self.batched.core.memory[index].copy()

    def changed(self, index: int, kept: Any) -> tuple[State, State]:
        """See the base class."""
        memory, old, new = self.batched.core.memory[index], {}, {}
        before, after = self._reader(index, kept), self._reader(index)
        for number, app in enumerate(self._apps(index)):
            one, other = int(kept[self.words.ROOTS + number]), int(memory[self.words.ROOTS + number])
            if one and one != other:
                was, now = before.value(one), after.value(other)
                if was != now:
                    old[app], new[app] = was, now
        return old, new

    def tree(self, index: int) -> str:
        """See the base class."""
        return str(self.batched.core.tree(index))

    def rows(self, index: int, where: Where) -> tuple[Any, ...]:
        """See the base class."""
        word = int(self.batched.core.memory[index, self.words.ROOTS + self._apps(index).index(where[0])])
        return tuple(self.value(index, NOW, where)) if word else ()


def batched_phone(env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]) -> BatchedEnv:
    """The phones behind an environment, alone or a native vector.

    Raises:
        TypeError: there are none whose state can be read, such as in a vector of Gymnasium's own, or behind adb.
    """
    bare: Any = env.unwrapped
    batched = bare.batched if isinstance(bare, SingleEnv | BatchedVectorEnv) else None
    if batched is None or not (hasattr(batched, "core") or hasattr(batched, "problems")):
        raise TypeError(
            f"{bare} is no simulated phone: make tiltyard/Phone-v0 or tiltyard/Phone-v1, or its native vector "
            'environment (vectorization_mode="vector_entry_point")'
        )
    return batched


def phone_states(env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]) -> PhoneStates:
    """The states of the phones of an environment.

    Raises:
        TypeError: see :func:`batched_phone`.
    """
    batched = batched_phone(env)
    return CompiledStates(batched) if hasattr(batched, "core") else InterpretedStates(batched)
