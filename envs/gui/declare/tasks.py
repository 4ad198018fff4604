"""From task declarations to templates: draws what is asked, prepares the phone, and says what is wanted."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..goals import Goal, State, Template, pick
from ..ui import Screen
from .app import Look, Tasks
from .expressions import DeclarationError, Env, Run, Scope, compiled
from .functions import TEXT
from .interpreter import Program
from .operations import Place, Step, bind_all
from .texts import words


def template(tasks: Tasks, program: Program) -> Template:
    """The template of a declaration whose bare names are fields of the program's app.

    Raises:
        DeclarationError: something in it makes no sense.
    """
    made = _Tasks(tasks, program)
    return Template(tasks.name, tasks.level, tasks.apps or (program.key,), made.make, tasks.weight, tasks.infeasible)


class _Tasks:
    """One family of goals, compiled."""

    def __init__(self, tasks: Tasks, program: Program) -> None:
        place = program.place.at(f"tasks {tasks.name}")
        for app in tasks.apps:
            if app not in place.schemas:
                raise place.error(f"there is no app {app!r}")
        scope = replace(place.scope, random=True)
        self._draws: list[tuple[str, Run]] = []
        for name, drawn in tasks.draws.items():
            one = _draw(drawn, scope.at(name))
            scope = scope.binding(name, TEXT if isinstance(drawn, tuple) else compiled(drawn, scope.at(name)).kind)
            self._draws.append((name, one))
        self._words = [words(one, scope.at("wordings")) for one in tasks.wordings]
        scope = replace(scope, random=False)
        place = replace(place, scope=scope)
        self._prepare: Step = bind_all(tasks.prepare, place.at("prepare"))
        self._wanted: Step = bind_all(tasks.wanted, place.at("wanted"))
        self._asked = [compiled(text, scope.at("asked")).run for text in tasks.asked]
        self._look = _look(tasks.look, place) if tasks.look else None
        self._answer = compiled(tasks.answer, scope.at("answer")).run if tasks.answer else None
        self._infeasible = tasks.infeasible
        if tasks.infeasible and tasks.wanted != ():
            raise place.error("nothing can be wanted of what is infeasible")
        if tasks.wanted == () and not (tasks.infeasible or tasks.answer):
            raise place.error("nothing is wanted, nothing is to be answered, and it is feasible")

    def make(self, rng: Any, state: State, wordings: str = "all") -> Goal:
        """Draws a goal; ``state`` is prepared in place.

        Args:
            rng: ``numpy.random.Generator`` or :class:`~..stream.Stream`.
            state: of all apps.
            wordings: which of them may be drawn: "all", the "first" (all but the last), or the "last" (without a draw).
        """
        env: Env = {"state": state, "rng": rng, "screen": Screen("home")}
        for name, run in self._draws:
            env[name] = run(env)
        self._prepare({**env})
        last = len(self._words) - 1
        number = last if wordings == "last" else int(rng.integers(last if wordings == "first" else last + 1))
        text = self._words[number](env)
        wanted: State = state.copy()
        self._wanted({**env, "state": wanted})
        look = self._look(env) if self._look else None
        asked = tuple(run(env) for run in self._asked)
        answer = str(self._answer(env)) if self._answer else ""
        return Goal(text, wanted, look, number, asked=asked, answer=answer, infeasible=self._infeasible)


def _draw(drawn: str | tuple[str, ...], scope: Scope) -> Run:
    if isinstance(drawn, str):
        return compiled(drawn, scope).run
    wordings = [words(wording, scope) for wording in drawn]
    return lambda env: pick(env["rng"], wordings)(env)


def _look(look: Look, place: Place) -> Any:
    if look.screen not in place.screens.get(look.app, ()):
        raise DeclarationError(f"{place.scope.where}, look: {look.app!r} has no screen {look.screen!r}")
    arg = compiled(look.arg or "None", place.scope.at("look")).run
    return lambda env: (look.app, look.screen, arg(env))


def templates(tasks: Mapping[str, tuple[Tasks, ...]], programs: Mapping[str, Program]) -> tuple[Template, ...]:
    """The templates of several declarations: app at hand -> its tasks."""
    return tuple(template(one, programs[app]) for app, several in tasks.items() for one in several)
