"""The compiled phone against the interpreted one: problems, trees, elements and states after every step."""

import itertools
import random
from typing import Any

import numpy as np
import pytest

from tiltyard.envs import seeding
from tiltyard.envs.gui.commands import VERBS, Commands, parse
from tiltyard.envs.gui.compiled import memory as w
from tiltyard.envs.gui.compiled.core import Core, Settings
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.elements import features, goal_tokens
from tiltyard.envs.gui.keyboards import FULL
from tiltyard.envs.gui.locales import LOCALES
from tiltyard.envs.gui.problems_v1 import AXES, Problem, Split, choices, generate, world

SPLITS = [Split(), Split(drift=1.0), *(Split("test", axis) for axis in AXES)]


def pair(core: Core, split: Split, level: int, seed: int) -> tuple[Problem, Any]:
    """Puts a problem on the compiled phone; the problem, and the interpreted phone with it."""
    numbers = choices(level, None, split)
    keys = seeding.problem_keys(split.name, [seed], [0])
    problem = generate(int(keys[0]), level, numbers, split)
    locale = np.array([LOCALES.index(problem.locale)])
    core.begin(np.array([0]), keys, Settings(level, numbers, split), locale)
    return problem, problem.phone()


def compare(core: Core, problem: Problem, phone: Any, where: Any) -> None:
    """Everything that can be seen, and the state of every app that has been drawn."""
    assert core.tree(0) == phone.tree(), where
    seen = core.elements()
    assert (seen["elements"][0] == features(phone)).all(), where
    assert (seen["goal"][0] == goal_tokens(problem.goal.text)).all(), where
    for app, state in core.state(0).items():
        assert state == phone.state[app], (where, app)
    assert list(FULL)[core.memory[0, w.KEYS_PAGE]] == phone.shift, where
    if core.memory[0, w.STACKED]:
        assert core.floats[0, int(core.memory[0, w.STACKED]) - 1] == phone.stack[-1].scroll, where


def some_action(phone: Any, problem: Problem, draw: random.Random, space: Commands) -> str:
    """The expert's action, a tap on something that can be touched, text, or anything."""
    kind = draw.random()
    if kind < 0.5:
        return ScriptedExpert(phone, problem.goal).action()
    if kind < 0.55:
        return f"type {draw.choice(['Ada Hale, Milk Ada', 'hello', '12', ' x  y '])}"
    able = [one for one in phone.nodes if one.on_tap or one.on_hold or one.on_drop]
    if kind < 0.85 and able:
        node = draw.choice(able)
        x, y = min((node.x0 + node.x1) / 216, 1.0), min((node.v0 + node.v1) / 384, 1.0)
        return f"{'long_press' if node.on_hold and draw.random() < 0.5 else 'tap'} {x:.3f} {y:.3f}"
    return str(space.sample())


def play(split: Split, level: int, seed: int, steps: int) -> int:
    """Plays both phones side by side; how many steps were compared."""
    core, draw, space = Core(1), random.Random(seed), Commands(seed, VERBS)
    problem, phone = pair(core, split, level, seed)
    assert core.goal(0) == problem.goal.text
    compare(core, problem, phone, (split, level, seed, "start"))
    for step in range(steps):
        action = some_action(phone, problem, draw, space)
        command = parse(action, VERBS)
        phone.act(command)
        core.act([command], np.array([True]))
        compare(core, problem, phone, (split, level, seed, step, action))
        if command.verb in ("done", "infeasible"):
            assert core.ended[0]
            assert core.success[0] == problem.goal.reached(phone.state, phone.answer, command.verb)
            return step + 1
    return steps


@pytest.mark.parametrize(("split", "level"), list(itertools.product(SPLITS, (1, 2, 3))))
def test_the_compiled_phone_does_what_the_interpreted_one_does(split: Split, level: int) -> None:
    assert sum(play(split, level, seed, 15) for seed in range(3)) > 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(0, 600, 20))
def test_the_compiled_phone_does_so_for_thousands_of_steps(seed: int) -> None:
    for one in range(seed, seed + 20):
        play(SPLITS[one % len(SPLITS)], 1 + one % 3, 1000 + one, 60)


@pytest.mark.parametrize("number", range(len(world().templates)))
def test_every_task_is_drawn_as_the_interpreter_draws_it_and_the_expert_solves_it(number: int) -> None:
    made, side = world().templates[number], Split("train" if number % 2 else "test")
    core = Core(1)
    keys = seeding.problem_keys("train", [number], [7])
    problem = generate(int(keys[0]), made.level, (number,), side)
    core.begin(np.array([0]), keys, Settings(made.level, (number,), side), np.array([0]))
    phone, action = problem.phone(), ""
    for _ in range(120):
        action = ScriptedExpert(phone, problem.goal).action()
        command = parse(action, VERBS)
        phone.act(command)
        core.act([command], np.array([True]))
        if core.ended[0]:
            break
    assert core.success[0], (made.name, core.goal(0), action)
