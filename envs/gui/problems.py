"""One problem of the phone: data, goal, interruptions and slow screens, all decided by ``(split, seed, episode)``.

Train and test problems are kept apart by a hash of what is asked (:func:`canonical`): nothing that is asked in one
split is asked in the other, whatever the words and whatever else is on the phone. Every template is drawn as often in
either split. Four have few goals: of 18 to turn a switch on or off, 28 to choose a value, 15 to set a level and 36 to
pair a device, the test split has 5, 3, 2 and 9; all other templates have a hundred to many thousands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from ... import unknown
from .. import seeding
from ..levels import check_level
from .apps import APPS, TEMPLATES
from .declare.expert import ScriptedExpert
from .device import Phone
from .goals import Goal, State, Template
from .interruptions import KINDS, System
from .ui import Screen

LEVELS = (1, 2, 3)
INTERRUPTED = {1: (0.85, 0.15), 2: (0.5, 0.35, 0.15), 3: (0.0, 0.5, 0.3, 0.2)}  # P(0, 1, 2, ... dialogs)
SLOW = {1: 0.1, 2: 0.25, 3: 0.5}  # P(a screen is slow)
OPEN = {1: 0.7, 2: 0.0, 3: 0.0}  # P(the phone lies open somewhere on the way); otherwise it shows its home screen
WINDOW = {1: 6, 2: 12, 3: 20}  # dialogs come within this many steps
SLOW_SCREENS = (
    "settings/main",
    "settings/wifi",
    "contacts/main",
    "contacts/contact",
    "shop/main",
    "shop/product",
    "shop/cart",
)
WALLPAPERS = (0x2C4A7C, 0x3D5A4C, 0x6B3F5E, 0x7A4B2E, 0x334155, 0x4A3F7A)


@dataclass(frozen=True)
class Problem:
    """One problem, ready to be put on a phone.

    Attributes:
        template: name of the goal's template.
        goal: words and expected state.
        state: initial state of all apps.
        interruptions: step -> kind of dialog.
        slow: ``app/view`` -> steps to load.
        opened: screens ``(app, view, argument)`` that are open at the start; none is the home screen.
        digest: hash of goal and data (hex, 16 digits), which names the problem.
    """

    template: Template
    goal: Goal
    state: State
    interruptions: Mapping[int, str]
    slow: Mapping[str, int]
    opened: tuple[tuple[str, str, Any], ...]
    clock: str
    charge: int
    wallpaper: int
    digest: str

    def phone(self) -> Phone:
        """A fresh phone with this problem on it."""
        phone = Phone(
            dict(self.state),
            {step: KINDS[kind] for step, kind in self.interruptions.items()},
            self.slow,
            self.clock,
            self.charge,
            self.wallpaper,
            APPS,
        )
        phone.stack += [Screen(*screen) for screen in self.opened]
        return phone


def templates(level: int, apps: Sequence[str] | None) -> tuple[Template, ...]:
    """The templates of a level that need no app outside ``apps`` (None: any).

    Raises:
        ValueError: no such level or app, or no goal of the level gets by with these apps.
    """
    check_level(level, LEVELS)
    keys = [app.key for app in APPS]
    apps = keys if apps is None else [apps] if isinstance(apps, str) else list(apps)
    for key in apps:
        if key not in keys:
            raise ValueError(unknown("app", key, keys))
    chosen = tuple(t for t in TEMPLATES if t.level == level and set(t.apps) <= set(apps))
    if not chosen:
        raise ValueError(f"no goal of level {level} gets by with the apps {', '.join(apps) or 'none'}: name more apps")
    return chosen


def generate(split: seeding.Split, seed: int, episode: int, level: int, choices: Sequence[Template]) -> Problem:
    """The ``episode``-th problem after ``reset(seed=seed)``; its goal is drawn again until it is of the split."""
    rng = seeding.problem_rng(split, seed, episode)
    weights = np.array([template.weight for template in choices])
    template = choices[int(rng.choice(len(choices), p=weights / weights.sum()))]
    while True:
        state: State = {**{app.key: app.initial(rng) for app in APPS}, "system": System()}
        goal = template.make(rng, state)
        if bool(seeding.in_test_split(int(_hash(canonical(template, goal)), 16))) == (split == "test"):
            break
    count = int(rng.choice(len(INTERRUPTED[level]), p=INTERRUPTED[level]))
    steps, kinds = 1 + rng.permutation(WINDOW[level])[:count], rng.permutation(list(KINDS))[:count]
    slow = {screen: int(n) for screen, n in zip(SLOW_SCREENS, rng.integers(1, 4, len(SLOW_SCREENS)), strict=True)}
    is_slow = rng.random(len(SLOW_SCREENS)) < SLOW[level]
    hour, minute, charge = int(rng.integers(24)), int(rng.integers(60)), int(rng.integers(16, 100))
    problem = Problem(
        template,
        goal,
        state,
        {int(step): str(kind) for step, kind in zip(steps, kinds, strict=True)},
        {screen: n for (screen, n), yes in zip(slow.items(), is_slow, strict=True) if yes},
        (),
        f"{hour:02d}:{minute:02d}",
        charge,
        WALLPAPERS[int(rng.integers(len(WALLPAPERS)))],
        _hash(repr((goal.text, state))),
    )
    return replace(problem, opened=_on_the_way(problem, rng)) if rng.random() < OPEN[level] else problem


def canonical(template: Template, goal: Goal) -> str:
    """What a goal asks for, alike in whatever words and on whatever phone; it decides the split."""
    return " ".join(map(str, (template.name, *goal.asked)))


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _on_the_way(problem: Problem, rng: np.random.Generator) -> tuple[tuple[str, str, Any], ...]:
    """Screens open somewhere on the expert's way, before it has changed anything."""
    way = ScriptedExpert(problem.phone(), problem.goal).way()
    return tuple(way[: int(rng.integers(len(way) + 1))])
