"""Dialogs that come by themselves, as a phone shows them: what :mod:`.apps.system` declares, compiled."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .apps import PROGRAMS
from .apps.system import ADVERTS, BANNER, POPUPS
from .declare.functions import TEXT
from .declare.interpreter import Program
from .declare.operations import Ask
from .device import Dialog, Phone
from .ui import Screen

System: Any = PROGRAMS["system"].place.schemas["system"].made
"""The record of what dialogs can do to the phone beyond its apps."""


def popups(programs: Mapping[str, Program]) -> dict[str, Callable[[Phone], Dialog]]:
    """The dialogs by name, for phones with these apps; they speak of settings and of the hidden app ``system``."""
    return {name: _maker(ask, programs["system"]) for name, ask in POPUPS.items()}


def banners(programs: Mapping[str, Program]) -> dict[str, Callable[[Phone], Dialog]]:
    """The dialogs that banners open, by what they advertise."""
    return {name: _maker(BANNER, programs["system"], title=name) for name in ADVERTS}


def _maker(ask: Ask, program: Program, **names: str) -> Callable[[Phone], Dialog]:
    place = program.place.at("a dialog that comes by itself")
    for name in names:
        place = place.binding(name, TEXT)
    step = ask.bind(place)

    def make(phone: Phone) -> Dialog:
        step({"state": phone.state, "screen": Screen("system"), "device": phone, **names})
        assert phone.dialog is not None
        return replace(phone.dialog, interrupt=True)

    return make


KINDS = popups(PROGRAMS)
