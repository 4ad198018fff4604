"""A phone in Python and one in a page, on which the same is done: what they disagree in."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from tiltyard.envs.gui.apps import PROGRAMS
from tiltyard.envs.gui.commands import VERBS, Commands, parse, tap
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.device import Phone
from tiltyard.envs.gui.problems import Problem, generate, templates
from tiltyard.envs.gui.ui import HEIGHT, WIDTH
from tiltyard.envs.gui.web import export
from tiltyard.envs.gui.web.phone import WebPhone

SCREEN = ("app", "view", "arg", "scroll", "drafts", "focus", "error")


def report(phone: Phone) -> dict[str, Any]:
    """What a page says of its phone, of one in Python."""
    tree = phone.tree()  # laid out, scrolls are within their ends
    dialog = phone.dialog
    return {
        "tree": tree,
        "state": export.state(phone.state, PROGRAMS.values()),
        "stack": [{name: getattr(screen, name) for name in SCREEN} for screen in phone.stack],
        "dialog": dialog and [dialog.title, dialog.body, [text for text, _ in dialog.buttons]],
        "loading": phone.loading,
        "steps": phone.steps,
        "message": phone.message,
        "answer": phone.answer,
        "shift": phone.shift,
        "seen": sorted(map(list, phone.seen), key=str),
    }


def differences(phone: Phone, web: WebPhone) -> list[str]:
    """What the two disagree in, in words; nothing: they agree."""
    here = json.loads(json.dumps(report(phone)))
    there = {**web.report, "seen": sorted(web.report["seen"], key=str)}
    found = [f"{key}: {there[key]!r} in the page, {value!r} here" for key, value in here.items() if there[key] != value]
    return found + ([] if web.state == phone.state else ["the state that is read back is another one"])


def problems(seed: int) -> Iterator[Problem]:
    """Problems of all levels in turn."""
    for episode in range(10**6):
        level = 1 + episode % 3
        yield generate("train", seed, episode, level, templates(level, None))


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
