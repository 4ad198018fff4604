"""Phones with several apps at once, and what every template of theirs has to keep."""

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tiltyard.envs.gui.commands import VERBS, parse
from tiltyard.envs.gui.declare.app import App, Tasks
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.declare.interpreter import compile_apps
from tiltyard.envs.gui.declare.tasks import template
from tiltyard.envs.gui.device import Phone
from tiltyard.envs.gui.goals import Goal, State, Template
from tiltyard.envs.gui.interruptions import System

sys.path += [str(Path(__file__).parents[1] / "declare")]
from declared import solved


@dataclass
class Phones:
    """As many phones as are wanted with the same apps."""

    apps: Sequence[App]

    def __post_init__(self) -> None:
        self.programs = compile_apps(self.apps)
        self._templates: dict[int, Template] = {}

    def phone(self, seed: int = 0) -> Phone:
        """A phone with data drawn for it."""
        rng = np.random.default_rng(seed)
        return self._with({key: program.initial(rng) for key, program in self.programs.items()})

    def _with(self, state: State) -> Phone:
        return Phone({**state, "system": System()}, app_classes=tuple(self.programs.values()))

    def problem(self, app: str, tasks: Tasks, seed: int = 0) -> tuple[Phone, Goal]:
        """A phone prepared for a task, and its goal."""
        made = self._templates.get(id(tasks)) or template(tasks, self.programs[app])
        self._templates[id(tasks)] = made
        phone = self.phone(seed)
        goal = made.make(np.random.default_rng([seed, 1]), phone.state)
        return phone, goal

    def faults(self, state: State) -> list[str]:
        """What in the state of all apps is not as declared."""
        return [fault for key, one in self.programs.items() for fault in one.place.schemas[key].faults(state[key])]

    def views(self, apps: Iterable[str]) -> list[tuple[str, str]]:
        """Every screen of some apps."""
        return [(app, view) for app in apps for view in self.programs[app].views]

    def args(self, app: str, view: str, state: State) -> list[Any]:
        """What a screen may be about: nothing, or the first rows of its table."""
        about = self.programs[app].views[view].declared.arg
        rows = getattr(state[app], about.rstrip("?"))[:4] if about else ()
        keys = [getattr(row, row.first_field) for row in rows]
        return ([None] if not about or about.endswith("?") else []) + keys

    def walk(self, app: str, view: str, arg: Any, seed: int = 0) -> Phone:
        """A phone on which one has gone to a screen."""
        phone = self.phone(seed)
        goal = Goal("", dict(phone.state), (app, view, arg), asked=())
        for _ in range(30):
            if goal.look in phone.seen:
                break
            phone.act(parse(ScriptedExpert(phone, goal).action(), VERBS))
        assert goal.look in phone.seen, f"there is no way to {goal.look}"
        return phone


def check_solved(phones: Phones, app: str, tasks: Tasks, seeds: Iterable[int]) -> set[str]:
    """That the expert solves a template, and doing nothing does not; gives the verbs it needs."""
    verbs: set[str] = set()
    for seed in seeds:
        phone, goal = phones.problem(app, tasks, seed)
        where = f"{tasks.name} {seed}: {goal.text}"
        assert phones.faults(phone.state) == phones.faults(goal.expected) == [], where
        assert not goal.reached(phone.state, "", "done"), where
        assert (phone.state == goal.expected) == bool(tasks.answer or tasks.infeasible), where
        before = dict(phone.state)
        actions = solved(phone, goal)
        assert goal.reached(phone.state, phone.answer, actions[-1]), where
        assert not goal.reached(before, "", actions[-1]) or tasks.infeasible, where
        assert (actions[-1] == "infeasible") == tasks.infeasible, where
        verbs |= {action.split()[0] for action in actions}
    return verbs


def check_wordings(phones: Phones, app: str, tasks: Tasks, seeds: int) -> None:
    """That every wording says all that is asked: texts and numbers literally, anything else in words of its own.

    Those words, which is what remains of the text, must tell its values apart.
    """
    assert len(tasks.wordings) >= 3, tasks.name
    for wording in tasks.wordings:
        single = replace(tasks, wordings=(wording,))
        meaning: dict[str, Any] = {}
        for seed in range(seeds):
            text, asked = (goal := phones.problem(app, single, seed)[1]).text, goal.asked
            assert text.isascii(), text
            assert text.isprintable(), text
            assert "  " not in text, text
            assert len(re.findall("[A-Za-z0-9]+", text)) <= 48, text
            left, unsaid = text.lower(), []
            for value in sorted(asked, key=lambda one: -len(str(one))):
                said = f"{value:02d}" if type(value) is int else str(value).lower()
                known = said in left and type(value) is not bool
                left = left.replace(said, "*") if known else left
                unsaid += [] if known else [value]
            assert meaning.setdefault(left, unsaid) == unsaid, f"{tasks.name}: {text!r} does not say {unsaid}"
            assert len(unsaid) <= 1, f"{tasks.name}: {text!r} does not say {unsaid}"


def different(tasks: Tasks) -> bool:
    """Whether the wordings share few words, the last one at most a third with any other."""
    plain = [re.sub(r"{[^}]*}", " ", one).lower().split() for one in tasks.wordings]
    words = [{word.strip('.,:;?!"') for word in one} for one in plain]
    alike = [max(len(one & other) / len(one | other) for other in words if other is not one) for one in words]
    return alike[-1] < 0.34 and max(alike) < 0.6
