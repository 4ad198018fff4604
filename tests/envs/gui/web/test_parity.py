"""The phone in Chromium does what the phone in Python does: state, screens, dialog and tree, after every action."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tiltyard.envs.gui.apps import APPS, TEMPLATES
from tiltyard.envs.gui.commands import VERBS, parse
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.problems import generate
from tiltyard.envs.gui.web.phone import WebExpert, WebPhone

sys.path.insert(0, str(Path(__file__).parent))
from parity import differences, play

pytestmark = pytest.mark.web
Make = Callable[[str, tuple[int, int]], WebPhone]


def test_phones_agree_after_every_action(same: WebPhone) -> None:
    count = play(same, 300, seed=1)
    assert count["actions"] == 300
    assert count["reached"] > 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_phones_agree_over_ten_thousand_random_actions(same: WebPhone, seed: int) -> None:
    assert play(same, 2_500, seed=100 + seed, expert=0.2, tapped=0.4)["actions"] == 2_500


def test_a_phone_that_did_something_else_is_told(same: WebPhone) -> None:
    problem = generate("train", 0, 0, 2, [one for one in TEMPLATES if one.level == 2])
    phone = problem.phone()
    same.begin(problem)
    assert not differences(phone, same)
    phone.act(parse(f"open {APPS[0].name}", VERBS))
    assert {line.partition(":")[0] for line in differences(phone, same)} >= {"tree", "stack", "steps", "seen"}


def reached(web: WebPhone, template: str, seed: int, limit: int = 60) -> bool:
    """Whether the expert reaches a goal on the phone in the page."""
    problem = generate("train", seed, 0, 0, []) if not template else _problem(template, seed)
    web.begin(problem)
    for _ in range(limit):
        command = parse(WebExpert(web, ScriptedExpert(web.mirror, problem.goal)).action(), VERBS)
        web.act(command)
        if command.verb in ("done", "infeasible"):
            return problem.goal.reached(web.state, web.answer, command.verb)
    return False
