"""The apps of Phone-v1, in order, with all their tasks."""

from dataclasses import replace

from ..declare.app import App, Tasks
from . import browser, calendar, clock, contacts, files, mail, maps, messages, music, notes, settings, shop
from .dates import DATES
from .errands import ERRANDS
from .errands_talk import ERRANDS as ERRANDS_TALK
from .errands_web import ERRANDS_WEB
from .questions import QUESTIONS
from .talk import TALK
from .web_tasks import WEB_TASKS
from .wordings import FURTHER

DECLARED_V1: tuple[App, ...] = tuple(
    one.APP for one in (settings, contacts, shop, notes, messages, mail, calendar, clock, browser, maps, files, music)
)
HELD_OUT_APPS = ("notes", "maps")
"""No train task needs these."""


def tasks() -> tuple[tuple[str, Tasks], ...]:
    """All task declarations: (app at hand, tasks); those of apps in their order, then questions, then errands."""
    own = tuple((app.key, one) for app in DECLARED_V1 for one in app.tasks)
    more = (*TALK, *DATES, *QUESTIONS, *WEB_TASKS, *ERRANDS, *ERRANDS_TALK, *ERRANDS_WEB)
    return tuple(
        (app, replace(one, wordings=(*one.wordings, *FURTHER.get(one.name, ())))) for app, one in (*own, *more)
    )
