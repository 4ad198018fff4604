"""Problems as JSON: what the interpreter has to know about a phone at its start. What is wanted stays here."""

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from .. import problems, problems_v1
from ..apps import PROGRAMS
from ..declare.interpreter import Program
from ..device import Phone
from ..locales import LOCALES
from ..twisted import TwistedPhone
from . import export

Problem = problems.Problem | problems_v1.Problem
V0 = "v0"


def world(problem: Problem) -> str:
    """The name of the apps that a problem is about: Phone-v0's, or Phone-v1's in a language."""
    return problem.locale if isinstance(problem, problems_v1.Problem) else V0


def programs(world: str) -> Mapping[str, Program]:
    """The apps of a world."""
    return PROGRAMS if world == V0 else problems_v1.world(world).programs


@cache
def declarations(world: str) -> bytes:
    """The JSON of the apps of a world."""
    return json.dumps(export.declarations(programs(world).values())).encode()


def pages() -> dict[str, Callable[[], bytes]]:
    """What a server must serve beside the page: the apps of every world."""
    return {f"/{one}.json": partial(declarations, one) for one in (V0, *LOCALES)}


def to_json(problem: Problem, phone: Phone) -> dict[str, Any]:
    """A problem and the phone that it is on."""
    name = world(problem)
    dialogs = problem.twists.popups if isinstance(problem, problems_v1.Problem) else problem.interruptions
    return {
        "world": name,
        "state": export.state(phone.state, programs(name).values()),
        "interruptions": {str(step): kind for step, kind in dialogs.items()},
        "slow": dict(phone.slow),
        "clock": phone.clock,
        "charge": phone.charge,
        "wallpaper": phone.wallpaper,
        "opened": [[screen.app, screen.view, screen.arg] for screen in phone.stack],
        "keyboardName": next(key for key, pages in export.KEYBOARDS.items() if pages is phone.keyboard),
        "home": list(phone.home),
        "density": phone.density,
        "theme": phone.theme,
        **_twists(phone),
    }


def _twists(phone: Phone) -> dict[str, Any]:
    if not isinstance(phone, TwistedPhone):
        return {"failing": "", "advert": None, "notice": None, "corrects": False}
    notice = phone.notice
    return {
        "failing": phone.failing,
        "advert": phone.advert,
        "notice": notice
        and {"step": notice.step, "app": notice.app, "text": phone.texts.get(notice.text, notice.text)},
        "corrects": phone.corrects,
    }
