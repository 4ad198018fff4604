"""The phone in Chromium does what the phone in Python does: state, screens, dialog and tree, after every action."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tiltyard.envs import seeding
from tiltyard.envs.gui import problems_v1
from tiltyard.envs.gui.apps import APPS
from tiltyard.envs.gui.commands import VERBS, parse
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.problems_v1 import Split
from tiltyard.envs.gui.web.phone import WebExpert, WebPhone
from tiltyard.envs.gui.web.problem import Problem

sys.path.insert(0, str(Path(__file__).parent))
from parity import differences, play, problem_v1

pytestmark = pytest.mark.web
Make = Callable[[str, tuple[int, int]], WebPhone]


def test_phones_agree_after_every_action(same: WebPhone) -> None:
    count = play(same, 150, seed=1)
    assert count["actions"] == 150
    assert count["reached"] > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_phones_agree_over_ten_thousand_random_actions(same: WebPhone, seed: int) -> None:
    assert play(same, 2_500, seed=100 + seed, expert=0.2, tapped=0.4)["actions"] == 2_500


def test_a_phone_that_did_something_else_is_told(same: WebPhone) -> None:
    problem = problem_v1(Split(), 0, 0, 2)
    phone = problem.phone()
    same.begin(problem)
    assert not differences(phone, same)
    phone.act(parse(f"open {APPS[0].name}", VERBS))
    assert {line.partition(":")[0] for line in differences(phone, same)} >= {"tree", "stack", "steps", "seen"}


def reached(web: WebPhone, problem: Problem, limit: int = 80) -> bool:
    """Whether the expert reaches a goal on the phone in the page."""
    web.begin(problem)
    for _ in range(limit):
        command = parse(WebExpert(web, ScriptedExpert(web.mirror, problem.goal)).action(), VERBS)
        web.act(command)
        if command.verb in ("done", "infeasible"):
            return bool(problem.goal.reached(web.state, web.answer, command.verb))
    return False


def every_template(seed: int) -> Iterator[Problem]:
    """A problem of every template of Phone-v1."""
    for number, template in enumerate(problems_v1.world().templates):
        held_out = [Split("test", axis) for axis in ("template", "app")]
        split = next((one for one in (Split(), *held_out) if one.holds(template)), Split())
        key = int(seeding.problem_keys("train", [seed], [number])[0])
        yield problems_v1.generate(key, template.level, [number], split)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_expert_reaches_the_goals_of_every_template_in_same_boxes(same: WebPhone, seed: int) -> None:
    failed = [problem.template.name for problem in every_template(seed) if not reached(same, problem)]
    assert not failed


@pytest.mark.slow
@pytest.mark.parametrize("size", [(640, 360), (915, 412), (1280, 800)], ids=lambda size: f"{size[1]}x{size[0]}")
def test_the_expert_reaches_the_goals_of_every_template_laid_out_by_css(phones: Make, size: tuple[int, int]) -> None:
    web = phones("flow", size)
    failed = [problem.template.name for problem in every_template(0) if not reached(web, problem)]
    assert not failed
    web.page.close()


def test_elements_are_found_wherever_css_puts_them(phones: Make) -> None:
    web = phones("flow", (800, 360))
    reached_ = [reached(web, problem_v1(Split(), 3, episode, 1 + episode % 3)) for episode in range(6)]
    assert all(reached_)
    web.page.close()
