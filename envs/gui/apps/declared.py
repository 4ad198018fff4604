"""The apps of Phone-v1, in order, with all their tasks."""

from dataclasses import replace

from ..declare.app import App, Tasks
from .contacts import APP as CONTACTS
from .errands import ERRANDS
from .notes import APP as NOTES
from .settings import APP as SETTINGS
from .shop import APP as SHOP
from .wordings import FURTHER

DECLARED_V1: tuple[App, ...] = (SETTINGS, CONTACTS, SHOP, NOTES)
HELD_OUT_APPS = ("notes", "maps")
"""No train task needs these."""


def tasks() -> tuple[tuple[str, Tasks], ...]:
    """All task declarations: (app at hand, tasks), apps in order, then errands."""
    declared = [*((app.key, one) for app in DECLARED_V1 for one in app.tasks), *ERRANDS]
    return tuple((app, replace(one, wordings=(*one.wordings, *FURTHER.get(one.name, ())))) for app, one in declared)
