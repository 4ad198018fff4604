"""One problem of Phone-v1, drawn from a 64-bit key so that compiled code can draw the same.

The key is ``seeding.problem_keys(split, seed, episode)``, and ``root = Stream(key)``. In this order

1. ``head = root.child(0)`` draws the template: :func:`.twists.weighted` by weight times popularity of its first app;
   then the locale, by ``below(2)``, which counts where locales are held out alone;
2. attempt ``k = 0, 1, ...``: the state of app number ``a`` is drawn from ``root.child(1 + a + 64 * k)``, all by itself,
   and ``head`` goes on to draw what the template draws, then its wording; until what is asked is on the right side of
   the split. After every 64 refusals the template is drawn again (the locale is not);
3. ``head`` draws the rows of the phone (:func:`.twists.draw`), then, by one ``random()``, whether the phone starts in
   the first app of the task (level 1, probability one half) or at home.

Train problems: parameters on the train side (by :func:`asked_hash`), any wording but the last, and neither a held-out
template, nor a held-out app, theme or locale. A test split differs from that along one axis, ``held_out``, alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, get_args

from ... import unknown
from .. import seeding
from ..levels import check_level
from .apps.declared import DECLARED_V1, HELD_OUT_APPS, tasks
from .apps.system import APP_V1 as SYSTEM
from .declare.interpreter import Program, compile_apps
from .declare.tasks import template
from .goals import Goal, State, Template
from .interruptions import banners, popups
from .locales import LOCALES, TEXTS
from .problems import LEVELS
from .stream import Stream
from .twisted import TwistedPhone
from .twists import ROWS, Twists, draw, weighted
from .ui import Screen

HeldOut = Literal["params", "wording", "template", "app", "theme", "locale"]
AXES: tuple[HeldOut, ...] = get_args(HeldOut)
OPEN = 0.5  # P(a phone of level 1 starts in the first app of its task)
ATTEMPTS = 64  # goals of one template that may be refused
APPS = 64  # more apps than there are
FNV_64 = 0xCBF29CE484222325, 0x100000001B3


def fnv1a(text: str) -> int:
    """The 64-bit FNV-1a hash of a text's UTF-8 bytes.

    >>> hex(fnv1a("a"))
    '0xaf63dc4c8601ec8c'
    """
    value, prime = FNV_64
    for byte in text.encode():
        value = (value ^ byte) * prime & (1 << 64) - 1
    return value


def asked_hash(name: str, goal: Goal) -> int:
    """The hash that decides the side of what a goal asks: of ``template|asked|asked...``."""
    return fnv1a("|".join(map(str, (name, *goal.asked))))


@dataclass(frozen=True)
class World:
    """Apps, templates and dialogs in one language."""

    locale: str
    programs: dict[str, Program]
    templates: tuple[Template, ...]
    popups: dict[str, Any]
    banners: dict[str, Any]
    texts: Mapping[str, str]

    @property
    def views(self) -> dict[str, tuple[str, ...]]:
        """Names of the screens of every app that can be seen."""
        return {key: tuple(one.app.screens) for key, one in self.programs.items() if not one.app.hidden}


@cache
def world(locale: str = "en") -> World:
    """The apps of Phone-v1 in a language; compiled once."""
    texts = TEXTS[locale]
    programs = compile_apps((*DECLARED_V1, SYSTEM), texts)
    made = tuple(template(one, programs[app]) for app, one in tasks())
    return World(locale, programs, made, popups(programs), banners(programs), texts)


@dataclass(frozen=True)
class Split:
    """Which problems: a split, the axis along which its test problems differ, and how far the phone has drifted."""

    name: seeding.Split = "train"
    held_out: HeldOut = "params"
    drift: float = 0.0
    rows: tuple[str, ...] = ROWS

    def tests(self, axis: HeldOut) -> bool:
        """Whether these are test problems of an axis."""
        return self.name == "test" and self.held_out == axis

    def holds(self, one: Template) -> bool:
        """Whether a template may be drawn."""
        if self.tests("app"):
            return not HELD_OUT_APPS_SET.isdisjoint(one.apps)
        held = bool(seeding.in_test_split(fnv1a(one.name)))
        return HELD_OUT_APPS_SET.isdisjoint(one.apps) and held == self.tests("template")

    def weight(self, one: Template) -> float:
        """How often a template is drawn; drift makes some apps more popular and others less.

        Of held-out templates those that are infeasible count a quarter: there are many, and whoever always says
        "infeasible" should not succeed often.
        """
        number = list(world().programs).index(one.apps[0])
        rare = 0.25 if one.infeasible and self.tests("template") else 1.0
        return rare * one.weight * (1.0 + self.drift * (number * 5 % 7 - 3) / 4)


def split_of(split: str, held_out: HeldOut, drift: float, rows: Sequence[str] | None) -> Split:
    """A split as environments are told it; ``rows`` None: all.

    Raises:
        ValueError: there is no such split, axis, drift or row.
    """
    if held_out not in AXES:
        raise ValueError(unknown("held_out", held_out, AXES))
    if isinstance(drift, bool) or not 0.0 <= drift <= 1.0:
        raise ValueError(f"drift is from 0 to 1, got {drift}")
    rows = [rows] if isinstance(rows, str) else rows
    for row in rows or ():
        if row not in ROWS:
            raise ValueError(unknown("row", row, ROWS))
    on = ROWS if rows is None else tuple(rows)
    if held_out == "theme" and "theme" not in on:
        raise ValueError("held_out='theme' needs the row 'theme'")
    return Split(seeding.check_split(split), held_out, float(drift), on)


HELD_OUT_APPS_SET = frozenset(HELD_OUT_APPS)
HELD_OUT_TEMPLATES = tuple(one.name for _, one in tasks() if seeding.in_test_split(fnv1a(one.name)))
"""One in five, by hash of the name; no train task is of these."""


@dataclass(frozen=True)
class Problem:
    """One problem, ready to be put on a phone (see :class:`.twists.Twists` for ``twists``)."""

    template: Template
    goal: Goal
    state: State
    twists: Twists
    opened: str
    locale: str
    digest: str
    key: int = field(repr=False)

    def phone(self) -> TwistedPhone:
        """A fresh phone with this problem on it."""
        here, twists = world(self.locale), self.twists
        phone = TwistedPhone(
            dict(self.state),
            {step: here.popups[name] for step, name in twists.popups.items()},
            twists.slow,
            twists.clock,
            twists.charge,
            twists.wallpaper,
            tuple(here.programs.values()),
            home=twists.home,
            density=twists.density,
            theme=twists.theme,
            failing=twists.failed,
            advert=twists.advert,
            banner=here.banners[twists.advert[1]] if twists.advert else None,
            notice=twists.notice,
            corrects=twists.autocorrect,
            texts=here.texts,
        )
        phone.stack += [Screen(self.opened)] if self.opened else []
        return phone


class Drawn(dict[str, Any]):
    """The states of all apps, each drawn when it is first asked for."""

    def __init__(self, programs: Mapping[str, Program], root: Stream, attempt: int, drawn: State) -> None:
        super().__init__(drawn)
        self._programs, self._root, self._attempt = programs, root, attempt

    def __missing__(self, app: str) -> Any:
        number = list(self._programs).index(app)
        self[app] = self._programs[app].initial(self._root.child(1 + number + APPS * self._attempt))
        return self[app]

    def copy(self) -> "Drawn":
        """The same, to be changed."""
        return Drawn(self._programs, self._root, self._attempt, self)

    def all(self) -> State:
        """All of them, as a plain state."""
        return {app: self[app] for app in self._programs}


def choices(level: int, apps: Sequence[str] | None, split: Split) -> tuple[int, ...]:
    """The numbers of the templates of a level that need no app outside ``apps`` (None: any) and belong to a split.

    Raises:
        ValueError: no such level or app, or there is no such template.
    """
    check_level(level, LEVELS)
    keys = [app.key for app in DECLARED_V1]
    apps = keys if apps is None else [apps] if isinstance(apps, str) else list(apps)
    for key in apps:
        if key not in keys:
            raise ValueError(unknown("app", key, keys))
    able = [i for i, one in enumerate(world().templates) if one.level == level and set(one.apps) <= set(apps)]
    chosen = tuple(i for i in able if split.holds(world().templates[i]))
    if not chosen:
        raise ValueError(
            f"no goal of level {level} of this split gets by with the apps {', '.join(apps) or 'none'}: name more apps "
            f"(only held_out='app' needs {', '.join(HELD_OUT_APPS)})"
        )
    return chosen


def generate(key: int, level: int, numbers: Sequence[int], split: Split) -> Problem:
    """The problem of a key; ``numbers`` are those of the templates that it may be of."""
    root = Stream(key)
    head = root.child(0)
    weights = [split.weight(world().templates[i]) for i in numbers]
    number = numbers[weighted(head, weights)]
    locale = LOCALES[1 + head.below(len(LOCALES) - 1)]
    here = world(locale if split.tests("locale") else LOCALES[0])
    wordings = "last" if split.tests("wording") else "first"
    attempt = 0
    while True:
        made, state = here.templates[number], Drawn(here.programs, root, attempt, {})
        goal = made.make(head, state, wordings)
        if bool(seeding.in_test_split(asked_hash(made.name, goal))) == split.tests("params"):
            break
        attempt += 1
        if attempt % ATTEMPTS == 0:
            number = numbers[weighted(head, weights)]
    twists = draw(head, level, here.views, made.apps, test_theme=split.tests("theme"), drift=split.drift,
                  rows=split.rows)  # fmt: skip
    opened = made.apps[0] if head.random() < OPEN and level == 1 else ""
    whole = Drawn.all(goal.expected)  # type: ignore[arg-type]
    digest = f"{fnv1a(f'{key}|{goal.text}'):016x}"
    return Problem(made, replace(goal, expected=whole), state.all(), twists, opened, here.locale, digest, key)
