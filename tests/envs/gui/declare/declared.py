"""Phones with apps of one's own: what a test declares is put on a phone and solved."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tiltyard.envs.gui.apps import SETTINGS
from tiltyard.envs.gui.commands import VERBS, parse
from tiltyard.envs.gui.declare.app import App, Tasks
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.declare.interpreter import compile_apps
from tiltyard.envs.gui.declare.tasks import template
from tiltyard.envs.gui.device import Phone
from tiltyard.envs.gui.goals import Goal
from tiltyard.envs.gui.interruptions import System


@dataclass
class Bench:
    """Settings and one more app, on as many phones as are wanted."""

    app: App

    def __post_init__(self) -> None:
        self.programs = compile_apps([SETTINGS, self.app])

    def phone(self, seed: int = 0, **state: Any) -> Phone:
        """A phone with both apps."""
        rng = np.random.default_rng(seed)
        drawn = {key: program.initial(rng) for key, program in self.programs.items()}
        return Phone({**drawn, "system": System(), **state}, app_classes=tuple(self.programs.values()))

    def problem(self, tasks: Tasks, seed: int = 0) -> tuple[Phone, Goal]:
        """A phone prepared for a task, and its goal."""
        rng = np.random.default_rng(seed)
        state = dict(self.phone(seed).state)
        goal = template(tasks, self.programs[self.app.key]).make(rng, state)
        return Phone(state, app_classes=tuple(self.programs.values())), goal


def solved(phone: Phone, goal: Goal, limit: int = 60) -> list[str]:
    """The expert's actions on a phone."""
    actions: list[str] = []
    while len(actions) < limit and (not actions or actions[-1] not in ("done", "infeasible")):
        actions.append(ScriptedExpert(phone, goal).action())
        phone.act(parse(actions[-1], VERBS))
    return actions
