"""Every task of Phone-v1: the expert does it, nothing and noise do not, and its words say all that is needed."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tiltyard.envs import seeding
from tiltyard.envs.gui.apps.declared import DECLARED_V1, tasks
from tiltyard.envs.gui.commands import VERBS, Commands, parse
from tiltyard.envs.gui.declare.app import App, Tasks, from_json, to_json
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.problems_v1 import Problem, Split, generate, world
from tiltyard.envs.gui.twists import ROWS

SEEDS = 1
"""Problems of each task; the slow test plays four more."""
LIMIT = 60  # steps of an episode
TASKS = tuple(one for _, one in tasks())
every_task = pytest.mark.parametrize("number", range(len(TASKS)), ids=[one.name for one in TASKS])


@cache
def problem(number: int, seed: int, rows: tuple[str, ...] = ROWS, last: bool = False) -> Problem:
    """A problem of one template."""
    split = Split("test", "wording", rows=rows) if last else Split(rows=rows)
    key = int(seeding.problem_keys("train", [seed], [number])[0])
    return generate(key, TASKS[number].level, (number,), split)


def actions(one: Problem) -> tuple[list[str], bool]:
    """What the expert does, and whether it succeeds."""
    phone, done = one.phone(), []
    while len(done) < LIMIT and (not done or done[-1] not in ("done", "infeasible")):
        done.append(ScriptedExpert(phone, one.goal).action())
        phone.act(parse(done[-1], VERBS))
    return done, one.goal.reached(phone.state, phone.answer, done[-1])


@every_task
def test_the_expert_does_it_on_any_phone(number: int) -> None:
    for seed in range(SEEDS):
        done, success = actions(problem(number, seed))
        assert success, (problem(number, seed).goal.text, done[-8:])


@pytest.mark.slow
@every_task
def test_the_expert_does_more_of_them(number: int) -> None:
    for seed in range(SEEDS, SEEDS + 4):
        done, success = actions(problem(number, seed))
        assert success, (problem(number, seed).goal.text, done[-8:])


@every_task
def test_ending_at_once_is_no_success(number: int) -> None:
    for seed in range(SEEDS):
        one = problem(number, seed)
        assert one.goal.infeasible == TASKS[number].infeasible
        verbs = [verb for verb in ("done", "infeasible") if one.goal.reached(one.state, "", verb)]
        assert verbs == (["infeasible"] if one.goal.infeasible else [])
        if one.goal.infeasible:
            assert one.goal.expected == one.state


def test_a_random_hand_succeeds_next_to_never() -> None:
    space, successes, played = Commands(seed=5, verbs=VERBS - {"infeasible"}), 0, 0
    for number in range(len(TASKS)):
        one = problem(number, 0)
        phone = one.phone()
        for _ in range(12):
            phone.act(parse(space.sample(), VERBS - {"infeasible"}))
        successes += one.goal.reached(phone.state, phone.answer, "done")
        played += 1
    assert successes <= 0.05 * played


def squeezed(text: Any) -> str:
    return re.sub("[^a-z0-9]", "", str(text).lower())


@every_task
def test_words_are_several_and_name_what_is_asked(number: int) -> None:
    task = TASKS[number]
    assert len(task.wordings) >= 3
    assert len(set(task.wordings)) == len(task.wordings)
    for seed in range(SEEDS):
        for last in (False, True):
            goal = problem(number, seed, last=last).goal
            assert goal.text.isascii()
            assert goal.text.isprintable()
            assert len(goal.text) <= 400
            for value in goal.asked:  # names and numbers must be there, a plain word may be said otherwise
                if isinstance(value, str) and not re.fullmatch("[a-z]*", value):
                    assert squeezed(value) in squeezed(goal.text), (goal.text, value)


@every_task
def test_what_is_wanted_and_answered_is_as_declared(number: int) -> None:
    for seed in range(SEEDS):
        one = problem(number, seed)
        for app, program in world().programs.items():
            for state in (one.state, one.goal.expected):
                assert not program.place.schemas[app].faults(state[app])
        assert one.goal.answer.isascii()
        assert len(f"answer {one.goal.answer}") <= 120


def texts_of(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for key, one in part.items():
            yield from texts_of(key)
            yield from texts_of(one)
    elif isinstance(part, tuple):
        for one in part:
            yield from texts_of(one)
    elif hasattr(part, "__dataclass_fields__"):
        for name in part.__dataclass_fields__:
            yield from texts_of(getattr(part, name))


@pytest.mark.parametrize("part", [*DECLARED_V1, *TASKS], ids=lambda part: part.name)
def test_declarations_are_printable_ascii_and_survive_the_way_to_json(part: App | Tasks) -> None:
    assert from_json(to_json(part)) == part
    for text in texts_of(part):
        assert text.isascii()
        assert text.isprintable()


def test_names_of_tasks_and_apps_are_their_own() -> None:
    for names in ([one.name for one in TASKS], [app.key for app in DECLARED_V1], [app.name for app in DECLARED_V1]):
        assert len(set(names)) == len(names)
