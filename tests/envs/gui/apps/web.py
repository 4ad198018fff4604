"""Phones with the browser, maps, files and music beside the older apps, and all their tasks."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from tiltyard.envs.gui.apps import CONTACTS, SETTINGS, SHOP, SYSTEM
from tiltyard.envs.gui.apps.browser import APP as BROWSER
from tiltyard.envs.gui.apps.errands_web import ERRANDS_WEB
from tiltyard.envs.gui.apps.files import APP as FILES
from tiltyard.envs.gui.apps.maps import APP as MAPS
from tiltyard.envs.gui.apps.music import APP as MUSIC
from tiltyard.envs.gui.apps.notes import APP as NOTES
from tiltyard.envs.gui.apps.web_tasks import WEB_TASKS
from tiltyard.envs.gui.declare.app import Tasks
from tiltyard.envs.gui.declare.interpreter import compile_apps
from tiltyard.envs.gui.declare.tasks import template
from tiltyard.envs.gui.device import Phone
from tiltyard.envs.gui.goals import Goal

WEB = (BROWSER, MAPS, FILES, MUSIC)
PROGRAMS = compile_apps((SETTINGS, CONTACTS, SHOP, NOTES, *WEB, SYSTEM))
TASKS: tuple[tuple[str, Tasks], ...] = (
    *((app.key, one) for app in WEB for one in app.tasks), *WEB_TASKS, *ERRANDS_WEB,
)  # fmt: skip
BY_NAME = {one.name: one for _, one in TASKS}
TEMPLATES = {one.name: template(one, PROGRAMS[app]) for app, one in TASKS}


def new_phone(seed: int = 0) -> Phone:
    rng = np.random.default_rng(seed)
    state = {key: program.initial(rng) for key, program in PROGRAMS.items()}
    return Phone(state, app_classes=tuple(PROGRAMS.values()))


def problem(name: str, seed: int) -> tuple[Phone, Goal]:
    """A phone prepared for a task, and its goal."""
    phone = new_phone(seed)
    goal = TEMPLATES[name].make(np.random.default_rng(seed + 1000), phone.state)
    return phone, goal


@cache
def state_of(seed: int) -> dict[str, Any]:
    """The states of all apps of a phone."""
    return new_phone(seed).state


def goals(name: str, n: int, phones: int = 4) -> Iterator[tuple[dict[str, Any], Goal]]:
    """Goals of a task on several phones, with the states of their apps."""
    rng = np.random.default_rng(0)
    states = [state_of(seed) for seed in range(phones)]
    for i in range(n):
        state = dict(states[i % len(states)])
        yield state, TEMPLATES[name].make(rng, state)
