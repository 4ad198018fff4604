"""A phone in Python and one in a page, on which the same is done: what they disagree in."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tiltyard.envs import seeding
from tiltyard.envs.gui import problems as problems_v0
from tiltyard.envs.gui import problems_v1
from tiltyard.envs.gui.commands import VERBS, Commands, parse, tap
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.declare.interpreter import Program
from tiltyard.envs.gui.device import Phone
from tiltyard.envs.gui.problems_v1 import AXES, Split
from tiltyard.envs.gui.ui import HEIGHT, WIDTH
from tiltyard.envs.gui.web import export
from tiltyard.envs.gui.web.phone import WebPhone
from tiltyard.envs.gui.web.problem import Problem

SCREEN = ("app", "view", "arg", "scroll", "drafts", "focus", "error", "failed")


def report(phone: Phone, apps: Mapping[str, Program]) -> dict[str, Any]:
    """What a page says of its phone, of one in Python."""
    phone.picture()  # laid out, also behind a dialog: drafts are there, scrolls are within their ends
    tree = phone.tree()
    dialog = phone.dialog
    return {
        "tree": tree,
        "state": export.state(phone.state, apps.values()),
        "stack": [{name: getattr(screen, name) for name in SCREEN} for screen in phone.stack],
        "dialog": dialog and [dialog.title, dialog.body, [text for text, _ in dialog.buttons]],
        "loading": phone.loading,
        "steps": phone.steps,
        "message": phone.message,
        "answer": phone.answer,
        "shift": phone.shift,
        "noticed": getattr(phone, "noticed", 0),
        "corrected": sorted(getattr(phone, "corrected", ())),
        "seen": sorted(map(list, phone.seen), key=str),
    }


def differences(phone: Phone, web: WebPhone) -> list[str]:
    """What the two disagree in, in words; nothing: they agree."""
    here = json.loads(json.dumps(report(phone, web.programs)))
    there = {**web.report, **{key: sorted(web.report[key], key=str) for key in ("seen", "corrected")}}
    found = [f"{key}: {there[key]!r} in the page, {value!r} here" for key, value in here.items() if there[key] != value]
    return found + ([] if web.state == phone.state else ["the state that is read back is another one"])


def problems(seed: int) -> Iterator[Problem]:
    """Problems of all levels in turn; of Phone-v0, and of Phone-v1 in each of its splits."""
    splits = [Split("test", axis) for axis in AXES] + [Split(drift=1.0)]
    for episode in range(10**6):
        level = 1 + episode % 3
        if episode % 4 == 0:
            yield problems_v0.generate("train", seed, episode, level, problems_v0.templates(level, None))
        else:
            yield problem_v1(splits[episode % len(splits)], seed, episode, level)


def problem_v1(split: Split, seed: int, episode: int, level: int) -> Problem:
    """A problem of Phone-v1; of the train split where the one that is asked for has none of this level."""
    try:
        chosen = problems_v1.choices(level, None, split)
    except ValueError:
        split = Split()
        chosen = problems_v1.choices(level, None, split)
    key = int(seeding.problem_keys(split.name, [seed], [episode])[0])
    return problems_v1.generate(key, level, chosen, split)


def play(web: WebPhone, actions: int, seed: int, expert: float = 0.5, tapped: float = 0.25) -> dict[str, int]:
    """Plays both phones alike; counts actions, episodes, goals reached, and fails where the phones first disagree.

    Args:
        web: the phone in the page.
        actions: in all.
        seed: of problems and actions.
        expert: share of the scripted expert's actions.
        tapped: share of taps on an element that can be tapped; the rest is random.
    """
    rng, space = np.random.default_rng(seed), Commands(seed, VERBS)
    count = {"actions": 0, "episodes": 0, "reached": 0}
    for problem in problems(seed):
        phone = problem.phone()
        web.begin(problem)
        found = differences(phone, web)
        assert not found, f"{problem.template.name} at the start: {found}"
        for _ in range(40):
            kind = rng.random()
            able = [node for node in phone.nodes if node.on_tap is not None]
            if kind < expert:
                action = ScriptedExpert(phone, problem.goal).action()
            elif kind < expert + tapped and able:
                node = able[int(rng.integers(len(able)))]
                action = tap((node.x0 + node.x1) / 2 / WIDTH, (node.v0 + node.v1) / 2 / HEIGHT)
            else:
                action = space.sample()
            command = parse(action, VERBS)
            phone.act(command)
            web.act(command)
            count["actions"] += 1
            found = differences(phone, web)
            assert not found, f"{problem.template.name}, step {phone.steps}, {action!r}: {found}"
            if command.verb in ("done", "infeasible") or count["actions"] == actions:
                count["reached"] += problem.goal.reached(web.state, web.answer, command.verb)
                break
        count["episodes"] += 1
        if count["actions"] >= actions:
            return count
    raise AssertionError("unreachable")
