"""A whole phone for the machine: the code and constants of its apps in one language, and the tasks on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .. import words
from ..apps.system import ADVERTS, BANNER, CORRECTIONS, FAILED, NOTICES, POPUPS, RETRY, SPONSORED
from ..commands import VERBS, parse
from ..declare.app import App, Tasks
from ..declare.functions import TEXT
from ..declare.interpreter import Program
from ..declare.operations import Ask
from ..keyboards import ENTER, FULL, Key
from ..render import ICON_INDEX
from . import memory as w
from . import opcodes as op
from . import pool as p
from .entries import addresses
from .expressions import Known
from .program import Assembly, Words
from .views import Views

CHARACTERS = tuple(chr(c) for c in range(32, 127))
TEXTS = {
    p.BACK_TEXT: "Back", p.CLEAR_TEXT: "Clear", p.LESS_TEXT: "Decrease", p.MORE_TEXT: "Increase",
    p.LOADING_TEXT: "Loading", p.ENTER_TEXT: "enter", p.HOME_TEXT: "Home",
    p.NO_FIELD_TEXT: "nothing to type into: tap a field first", p.NO_APP_TEXT: "there is no app of that name",
}  # fmt: skip
ICONS = {
    p.ICON_BACK: "back", p.ICON_CLOSE: "close", p.ICON_MINUS: "minus", p.ICON_PLUS: "plus",
    p.ICON_SPINNER: "spinner", p.ICON_ENTER: "enter", p.ICON_INFO: "info",
}  # fmt: skip
TABLES = {
    p.FIRST_NAMES: words.FIRST, p.LAST_NAMES: words.LAST, p.STREET_NAMES: words.STREETS, p.STREET_KINDS: words.KINDS,
}  # fmt: skip
_ENTER = Key("enter", "", ENTER, "", "enter")
STATUS = ("airplane", "wifi and network != '' and not airplane", "bluetooth and not airplane", "dark")
_OF_APP = (op.FIELD_OF, op.ROOT, op.SET, op.SET_NAMED, op.CLEAR)
_OF_TABLE = (op.INSERT, op.DELETE_ROW)


@dataclass(frozen=True)
class TaskCode:
    """Where the code of a family of goals begins, which apps it speaks of (a bit each), and what it is."""

    start: int
    needs: int
    tasks: Tasks
    apps: tuple[str, ...]


@dataclass(frozen=True)
class Image:
    """What the machine runs.

    Attributes:
        code: instructions ``[n, 3]``.
        pool: constants.
        tasks: the families of goals.
        apps: keys of the apps, in their order.
        views: numbers of the views ``(app, view)``.
        types: names of the fields of each type of record, by ``app.record``.
        names: values of the names of all tasks.
    """

    code: Words
    pool: Words
    tasks: tuple[TaskCode, ...]
    apps: tuple[str, ...]
    views: Mapping[tuple[str, str], int]
    types: Mapping[str, tuple[str, ...]]
    names: Words


def image(programs: Mapping[str, Program], tasks: Sequence[tuple[str, Tasks]]) -> Image:
    """Compiles apps and tasks (each with the key of the app at hand)."""
    declared = {key: program.app for key, program in programs.items()}
    return _Maker(programs, declared).image(tasks)


def key_boxes() -> npt.NDArray[np.float64]:
    """Boxes of all keys of the keyboard's pages ``[4 n]``, the enter key last on each."""
    return np.array([side for page in FULL.values() for key in (*page, _ENTER) for side in key.box])


class _Maker:
    def __init__(self, programs: Mapping[str, Program], declared: Mapping[str, App]) -> None:
        self.to = Assembly()
        self.programs, self.declared = programs, declared
        self.views = Views(self.to, declared)

    def image(self, tasks: Sequence[tuple[str, Tasks]]) -> Image:
        pool = self.to.pool
        for place, text in TEXTS.items():
            pool[place] = self.to.value(text)
        for place, table in TABLES.items():
            pool[place] = self.to.value(tuple(table))
        pool[p.ICON_NAMES] = self.to.value(tuple(ICON_INDEX))
        for place, icon in ICONS.items():
            pool[place] = ICON_INDEX[icon] + 1
        pool[p.APPS] = self.to.table(word for app in self.declared.values() for word in self._app(app))
        pool[p.APP_COUNT] = len(self.declared)
        codes, needs = [], []
        for (key, name), _ in self.views.views.items():
            start = self.to.here
            codes.append(self.views.view(self.declared[key].screens[name], self._known(key)))
            needs.append(self.needs(start))
        pool[p.VIEWS], pool[p.NEEDS] = self.to.table(codes), self.to.table(needs)
        pool[p.DATA] = self.to.table([self._data(key) for key in self.declared])
        self._dialogs()
        made = tuple(self._task(key, one) for key, one in tasks)
        pool[p.TASKS] = self.to.table(word for one in made for word in self._task_words(one))
        names = np.array([self.to.value(one.tasks.name) for one in made], np.int64)
        code, words_ = self.to.finished()
        code[0, 1:] = addresses()
        return Image(code, words_, made, tuple(self.declared), dict(self.views.views), dict(self.to.types), names)

    def _known(self, key: str) -> Known:
        return Known(self.programs[key].place)

    def _app(self, app: App) -> list[int]:
        return [self.to.value(app.name), app.colour, ICON_INDEX.get(app.icon, -1) + 1, int(not app.hidden)]

    def _dialogs(self) -> None:
        """What comes by itself: dialogs, banners, notifications, corrected words; and the keyboard."""
        pool, known = self.to.pool, self._known("system")
        pool[p.POPUPS] = self.to.table([self._asking(ask, known) for ask in POPUPS.values()])
        pool[p.POPUP_COUNT] = len(POPUPS)
        entries = []
        for name, icon in ADVERTS.items():
            titled = replace(BANNER, title=name)
            entries += [self._asking(titled, known), self.to.value(name), ICON_INDEX[icon] + 1]
        pool[p.ADVERTS], pool[p.ADVERT_COUNT] = self.to.table(entries), len(ADVERTS)
        texts = known.scope.texts
        for place, text in ((p.FAILED_TEXT, FAILED), (p.RETRY_TEXT, RETRY), (p.SPONSORED_TEXT, SPONSORED)):
            pool[place] = self.to.value(texts.get(text, text))
        pool[p.NOTICES] = self.to.table([self.to.value(texts.get(one, one)) for one in NOTICES])
        pool[p.NOTICE_COUNT] = len(NOTICES)
        pool[p.CORRECTIONS] = self.to.table(self.to.value(one) for pair in CORRECTIONS.items() for one in pair)
        pool[p.CORRECTION_COUNT] = len(CORRECTIONS)
        pool[p.UNREADABLE_TEXT] = self.to.value(parse("", VERBS).text)
        pool[p.STATUS] = self._status()
        pool[p.KEYS] = self.to.table(self._keyboard())
        views = [app for app, _ in self.views.views]
        apps = list(self.declared)
        pool[p.FIRST_VIEWS] = self.to.table(views.index(app) for app in apps)
        pool[p.VIEW_COUNTS] = self.to.table(views.count(app) for app in apps)
        shown = [i for i, app in enumerate(self.declared.values()) if not app.hidden]
        pool[p.SHOWN_APPS], pool[p.SHOWN_COUNT] = self.to.table(shown), len(shown)

    def _status(self) -> int:
        """The code that looks what the status bar shows: signs, dark or light, and what it says."""
        start, known = self.to.here, self._known("settings")
        for text in STATUS:
            self.views.text(text, known)
        self.to.emit(op.TAKE_LIST, len(STATUS))
        self.to.emit(op.REGISTER, w.STATUS_FLAGS)
        self.views.text("radios", known)
        self.to.emit(op.REGISTER, w.STATUS_TEXT)
        self.to.emit(op.HALT, 1)
        return start

    def _asking(self, ask: Ask, known: Known) -> int:
        start = self.to.here
        self.views.operations(ask, known)
        self.to.emit(op.HALT, 1)
        return start

    def _keyboard(self) -> list[int]:
        """For each page the number of its first key and how many it has, then all keys."""
        pages = [[self._key(key) for key in (*page, _ENTER)] for page in FULL.values()]
        ends = np.cumsum([len(page) for page in pages]).tolist()
        starts = [word for page, end in zip(pages, ends, strict=True) for word in (end - len(page), len(page))]
        return [*starts, *(word for page in pages for key in page for word in key)]

    def _key(self, key: Key) -> list[int]:
        types = 0 if not key.types else ord(key.types) + 1
        page = list(FULL).index(key.page) + 1 if key.page else 0
        icon = ICON_INDEX[key.icon] + 1 if key.icon else 0
        return [self.to.value(key.text), types if key is not _ENTER else -1, page, icon]

    def _task_words(self, one: TaskCode) -> list[int]:
        apps = list(self.declared)
        needed = [apps.index(app) for app in one.apps]
        return [one.start, one.needs, int(one.tasks.infeasible), *needed, *[-1] * (p.TASK_SIZE - 3 - len(needed))]

    def needs(self, start: int) -> int:
        """The apps whose state is read or changed by the code from here on, a bit each."""
        by_table = [self.views.apps[app] for app, _ in self.views.tables]
        found = 0
        for kind, a, _ in self.to.code[start:]:
            if kind in _OF_APP:
                found |= 1 << a
            elif kind in _OF_TABLE:
                found |= 1 << by_table[a]
            elif kind == op.SET_ROW:
                found |= 1 << by_table[a >> 6]
        return found

    def _data(self, key: str) -> int:
        """The code that draws an app's state."""
        start = self.to.here
        app = self.declared[key]
        known = self._known(key)
        names = {name: one for name, one in known.scope.names.items() if name in app.constants}
        scope = replace(known.scope, names=names, random=True, where=f"app {key}, data")
        known = replace(known, place=replace(known.place, scope=scope))
        for name, text in app.data.items():
            kind = self.views.text(text, known)
            self.to.emit(op.STORE, known.next)
            known = known.binding(name, kind)
        for name in app.state:
            self.to.emit(op.LOAD, known.locals[name])
        self.to.emit(op.TAKE_RECORD, self.to.type(f"{key}.{app.record}", app.state), len(app.state))
        self.to.emit(op.SET_ROOT, self.views.apps[key])
        self.to.emit(op.HALT, 1)
        return start

    def _task(self, key: str, tasks: Tasks) -> TaskCode:
        """The code that draws a goal: it prepares the phone, then notes the words and what is asked, then does it."""
        start = self.to.here
        known = self._known(key)
        place = replace(known.place, scope=replace(known.scope, random=True, where=f"tasks {tasks.name}"))
        known = replace(known, place=place)
        for name, drawn in tasks.draws.items():
            kind = TEXT
            if isinstance(drawn, tuple):
                self._one_of(drawn, known)
            else:
                kind = self.views.text(drawn, known)
            self.to.emit(op.STORE, known.next)
            known = known.binding(name, kind)
        self.views.operations(tasks.prepare, known)
        self.to.emit(op.WORDING, len(tasks.wordings))
        self._by_number(tasks.wordings, known)
        self.to.emit(op.REGISTER, w.GOAL)
        self._asked(tasks, known)
        self.to.emit(op.BRANCH, 0)
        self.views.operations(tasks.wanted, known)
        self.to.emit(op.BRANCH, 1)
        self.to.emit(op.HALT, 1)
        return TaskCode(start, self.needs(start), tasks, tasks.apps or (key,))

    def _asked(self, tasks: Tasks, known: Known) -> None:
        for text in tasks.asked:
            self.views.text(text, known)
            self.to.emit(op.TO_TEXT)
        self.to.emit(op.TAKE_LIST, len(tasks.asked))
        self.to.emit(op.REGISTER, w.ASKED)
        self.views.text(f"text({tasks.answer})" if tasks.answer else "''", known)
        self.to.emit(op.REGISTER, w.WANTED_ANSWER)

    def _one_of(self, texts: Sequence[str], known: Known) -> None:
        """One of several texts: which is drawn first, then it is filled in."""
        self.to.emit(op.CONST, self.to.value(tuple(range(len(texts)))))
        self.to.emit(op.PICK)
        self._by_number(texts, known)

    def _by_number(self, texts: Sequence[str], known: Known) -> None:
        """The text whose number is on the stack."""
        self.to.emit(op.STORE, known.next)
        inner = known.reserving(1)
        ends = []
        for i, text in enumerate(texts[:-1]):
            self.to.emit(op.LOAD, known.next)
            self.to.emit(op.CONST, self.to.value(i))
            self.to.emit(op.EQ)
            other = self.to.emit(op.IF_NOT)
            self.views.words(text, inner)
            ends.append(self.to.emit(op.JUMP))
            self.to.patch(other, a=self.to.here)
        self.views.words(texts[-1], inner)
        for end in ends:
            self.to.patch(end, a=self.to.here)
