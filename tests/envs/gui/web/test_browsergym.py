"""The phone's BrowserGym tasks on a page that has the members of Playwright's which they use, over our own driver."""

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tiltyard import MissingExtra
from tiltyard.envs.gui.problems_v1 import HELD_OUT_TEMPLATES, world
from tiltyard.envs.gui.web import browsergym
from tiltyard.envs.gui.web.browser import Browser
from tiltyard.envs.gui.web.browsergym import PhoneTask

pytestmark = pytest.mark.web
GREETING = {"role": "assistant", "message": "Hi! What can I help you with?"}
GOAL = {"role": "user", "message": "the goal"}


class Playwrights:
    """``goto``, ``url``, ``is_closed``, ``evaluate`` and a session of the protocol."""

    def __init__(self, browser: Browser) -> None:
        self.ours = browser.page("about:blank", 360, 640)
        send = SimpleNamespace(send=lambda method, params: self.ours.call(method, **params))
        self.context = SimpleNamespace(new_cdp_session=lambda page: send)

    def goto(self, url: str, timeout: float) -> None:
        self.ours.goto(url, timeout / 1000)

    @property
    def url(self) -> str:
        return str(self.ours.evaluate("location.href"))

    def is_closed(self) -> bool:
        return bool(self.ours.connection.gone)

    def evaluate(self, expression: str) -> Any:
        return self.ours.evaluate(expression)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser.launch(timeout=60) as one:
        yield one


@pytest.fixture
def page(browser: Browser) -> Iterator[Playwrights]:
    one = Playwrights(browser)
    yield one
    one.ours.close()


def begun(page: Playwrights, template: str, **settings: Any) -> PhoneTask:
    task = PhoneTask(1, template, **settings)
    goal, info = task.setup(page)
    assert goal.startswith(task.problem.goal.text)
    assert info["problem"] == task.problem.digest
    return task


@pytest.mark.parametrize("layout", ["flow", "same"])
def test_the_expert_s_way_earns_a_reward_when_it_says_so(page: Playwrights, layout: str) -> None:
    task = begun(page, "settings_level", layout=layout)
    messages: list[dict[str, Any]] = [GREETING, GOAL]
    assert task.validate(page, messages)[:2] == (0.0, False)
    task.cheat(page, messages)
    assert task.validate(page, messages[:2])[:2] == (0.0, False)  # reached, but nobody has said so
    assert task.validate(page, messages) == (1.0, True, "", {"success": True})
    task.teardown()
    task.teardown()


def test_done_at_once_earns_nothing_and_ends(page: Playwrights) -> None:
    task = begun(page, "settings_level")
    for role in ("assistant", "infeasible"):
        assert task.validate(page, [GREETING, GOAL, {"role": role, "message": "done"}])[:2] == (0.0, True)
    task.teardown()


def test_a_page_left_or_closed_ends_with_nothing(page: Playwrights) -> None:
    task = begun(page, "settings_level")
    page.ours.goto("about:blank")
    assert task.validate(page, [GREETING, GOAL])[1] is True
    page.ours.close()
    reward, over, _, info = task.validate(page, [GREETING, GOAL])
    assert (reward, over, info["success"]) == (0.0, True, False)
    task.teardown()


def test_a_seed_names_a_problem() -> None:
    digests = [PhoneTask(seed, "settings_level").problem.digest for seed in (1, 1, 2)]
    assert digests[0] == digests[1] != digests[2]


def test_templates_are_refused_where_they_have_no_problems() -> None:
    with pytest.raises(ValueError, match="did you mean 'settings_level'"):
        PhoneTask(0, "setting_level")
    with pytest.raises(ValueError, match="has no problems in split 'train'"):
        PhoneTask(0, HELD_OUT_TEMPLATES[0])
    for one in world().templates:
        assert PhoneTask(0, one.name, **browsergym._sides(one)).problem.template.name == one.name  # type: ignore[arg-type]


def test_without_browsergym_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "browsergym.core.registration", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[browsergym\]"):
        browsergym.register_tasks()
