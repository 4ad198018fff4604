"""Tasks for a device as data: lines that set it up, goals in words, and questions whose answers say that it is done.

In the manner of AndroidWorld: a task never looks at the screen. :func:`audit` tries a task without an agent: set up, it
must not hold; after its solution it must.

Sources: AndroidWorld (Rawles et al., 2024), task_evals/single/system.py, for what is asked of the settings provider;
AOSP, frameworks/base, the shell commands of settings, svc, cmd and content.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from ...seeding import in_test_split
from .. import words
from ..goals import spoken
from .errors import CommandFailed
from .handset import Handset


@dataclass(frozen=True)
class Check:
    """A question to the device: the line's output, without the characters ``without``, is ``wanted``."""

    line: str
    wanted: str
    without: str = ""

    def holds(self, handset: Handset) -> bool:
        """Asks it."""
        said = "".join(one for one in handset.ask(self.line) if one not in self.without)
        return said == self.wanted


@dataclass(frozen=True)
class DeviceTask:
    """A family of goals. ``{name}`` in any text is the value drawn for that name.

    Attributes:
        name: unique, lower case with underscores.
        draws: name -> the values it may have.
        wordings: the goal in words, of which one is drawn.
        setup: lines that put the device where the task does not hold.
        checks: what must hold at the end; all of them.
        solution: lines that do it without touching the screen.
        answer: the line whose output must be answered; "": no answer is asked for.
        also: name -> further values that go with a drawn one: ``{"flag": ("state", {"on": "1", "off": "0"})}``.
    """

    name: str
    draws: Mapping[str, tuple[str, ...]]
    wordings: tuple[str, ...]
    setup: tuple[str, ...]
    checks: tuple[Check, ...] = ()
    solution: tuple[str, ...] = ()
    answer: str = ""
    also: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Drawn:
    """One task with its values filled in; ``canonical`` names what is asked, in whatever words."""

    task: DeviceTask
    goal: str
    setup: tuple[str, ...]
    checks: tuple[Check, ...]
    solution: tuple[str, ...]
    answer: str
    canonical: str

    def prepare(self, handset: Handset) -> None:
        """Sets the device up, and makes sure that there is something to do.

        Raises:
            CommandFailed: a line failed, or the task holds already.
        """
        for line in self.setup:
            handset.ask(line)
        if self.checks and all(check.holds(handset) for check in self.checks):
            raise CommandFailed(f"the task {self.task.name} holds before anything was done: its set-up fails")

    def wanted_answer(self, handset: Handset) -> str:
        """What must be answered."""
        return handset.ask(self.answer) if self.answer else ""

    def holds(self, handset: Handset, answer: str) -> bool:
        """Whether it is done, and what must be answered was."""
        if self.answer and spoken(answer) != spoken(self.wanted_answer(handset)):
            return False
        return all(check.holds(handset) for check in self.checks)


def _switch(name: str, spoken_name: str, setting: str, line: str, on: str = "1", off: str = "0") -> DeviceTask:
    """A switch, turned by ``line`` with ``{to}``, whose state is a setting."""
    return DeviceTask(
        f"device_{name}",
        {"state": ("on", "off")},
        tuple(f"{words} {{state}}" for words in (
            f"Turn {spoken_name}", f"Make sure that {spoken_name} is", f"The switch of {spoken_name} should be",
        )),
        (line.replace("{to}", "{from}").replace("{value}", "{was}"),),
        (Check(f"settings get {setting}", "{value}"),),
        (line,),
        also={
            "value": ("state", {"on": on, "off": off}), "was": ("state", {"on": off, "off": on}),
            "to": ("state", {"on": "enable", "off": "disable"}), "from": ("state", {"on": "disable", "off": "enable"}),
        },
    )  # fmt: skip


def _put(setting: str) -> str:
    return f"settings put {setting} {{value}}"


CONTACTS = "content://com.android.contacts/contacts"
PHONES = "content://com.android.contacts/data/phones"
NAMES = tuple(f"{first} {last}" for first, last in zip(words.FIRST[:12], words.LAST[:12], strict=True))
NUMBERS = ("5550142", "5550187", "5550199", "5550123")
TASKS: tuple[DeviceTask, ...] = (
    _switch("airplane", "airplane mode", "global airplane_mode_on", "cmd connectivity airplane-mode {to}"),
    _switch("wifi", "Wi-Fi", "global wifi_on", "svc wifi {to}"),
    _switch("bluetooth", "Bluetooth", "global bluetooth_on", "svc bluetooth {to}"),
    _switch("mobile_data", "mobile data", "global mobile_data", "svc data {to}"),
    _switch("rotation", "auto-rotate", "system accelerometer_rotation", _put("system accelerometer_rotation")),
    _switch("vibrate", "vibrate on ring", "system vibrate_when_ringing", _put("system vibrate_when_ringing")),
    _switch("saver", "battery saver", "global low_power", _put("global low_power")),
    DeviceTask(
        "device_dark", {"state": ("on", "off")},
        ("Turn dark theme {state}", "Make sure that the dark theme is {state}", "Switch the dark theme {state}"),
        ("cmd uimode night {was}",), (Check("cmd uimode night", "Night mode: {value}"),), ("cmd uimode night {value}",),
        also={"value": ("state", {"on": "yes", "off": "no"}), "was": ("state", {"on": "no", "off": "yes"})},
    ),
    DeviceTask(
        "device_brightness", {"to": ("maximum", "minimum")},
        ("Set the brightness to the {to}", "Change the screen's brightness to its {to}", "Brightness: {to}, please"),
        ("settings put system screen_brightness 153",),
        (Check("settings get system screen_brightness", "{value}"),),
        ("settings put system screen_brightness {value}",),
        also={"value": ("to", {"maximum": "255", "minimum": "51"})},
    ),
    DeviceTask(
        "device_rename", {"name": tuple(f"Tilt {n}" for n in range(101, 160, 7))},
        ("Rename this phone to {name}", "Change the name of the phone to {name}", "Call this phone {name} from now on"),
        ("settings put global device_name Yard",), (Check("settings get global device_name", "{name}"),),
        ("settings put global device_name '{name}'",),
    ),
    DeviceTask(
        "device_what_name", {"of": ("phone", "device")},
        ("What is the name of this {of}? Answer with it", "Look up what this {of} is called and answer the name",
         "Tell me the name that this {of} has in its settings"),
        (), answer="settings get global device_name",
    ),
    DeviceTask(
        "device_add_contact", {"name": NAMES, "number": NUMBERS},
        ("Add {name} to the contacts, number {number}", "Create a contact for {name} with the number {number}",
         "Save the number {number} under the name {name}"),
        (f"content delete --uri {CONTACTS} --where \"display_name='{{name}}'\"",),
        (Check(f"content query --uri {PHONES} --projection data1 --where \"display_name='{{name}}'\"",
               "Row:0data1={number}", "-() "),),
        (f"content insert --uri {PHONES} --bind 'display_name:s:{{name}}' --bind data1:s:{{number}}",),
    ),
    DeviceTask(
        "device_delete_contact", {"name": NAMES},
        ("Delete the contact {name}", "Remove {name} from the contacts", "Take {name} out of the contacts"),
        (f"content delete --uri {CONTACTS} --where \"display_name='{{name}}'\"",
         f"content insert --uri {PHONES} --bind 'display_name:s:{{name}}' --bind data1:s:5550100"),
        (Check(f"content query --uri {CONTACTS} --projection display_name --where \"display_name='{{name}}'\"",
               "No result found."),),
        (f"content delete --uri {CONTACTS} --where \"display_name='{{name}}'\"",),
    ),
)  # fmt: skip
"""Of stock Android; all of them can be done on the fake device too."""
ONLY_FAKE = ("device_brightness", "device_rename", "device_add_contact", "device_delete_contact")
"""Tasks whose set-up or solution lines are the fake device's own: its brightness has five steps, its provider of
contacts takes whole rows. On stock Android their set-up may fail, which is told.
"""


def drawn(task: DeviceTask, values: Mapping[str, str], wording: str) -> Drawn:
    """A task with these values and this wording."""
    known = {**values, **{name: of[values[at]] for name, (at, of) in task.also.items()}}

    def fill(text: str) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: known[found[1]], text)

    checks = tuple(Check(fill(one.line), fill(one.wanted), one.without) for one in task.checks)
    canonical = " ".join((task.name, *values.values()))
    return Drawn(task, fill(wording), tuple(map(fill, task.setup)), checks, tuple(map(fill, task.solution)),
                 task.answer, canonical)  # fmt: skip


def draw(rng: np.random.Generator, split: str, tasks: tuple[DeviceTask, ...] = TASKS) -> Drawn:
    """A task of a split: what it asks for, in whatever words, is asked in that split alone."""
    while True:
        task = tasks[int(rng.integers(len(tasks)))]
        values = {name: options[int(rng.integers(len(options)))] for name, options in task.draws.items()}
        one = drawn(task, values, task.wordings[int(rng.integers(len(task.wordings)))])
        if _in_test(one.canonical) == (split == "test"):
            return one


def every(tasks: tuple[DeviceTask, ...] = TASKS) -> list[Drawn]:
    """All tasks with all their values, in their first words."""
    return [
        drawn(task, dict(zip(task.draws, values, strict=True)), task.wordings[0])
        for task in tasks
        for values in product(*task.draws.values())
    ]


def audit(task: Drawn, handset: Handset) -> bool:
    """Whether a task works on a device: set up it does not hold, after its solution it does.

    Raises:
        CommandFailed: its set-up or its solution fails there, or it holds before anything was done.
    """
    task.prepare(handset)
    for line in task.solution:
        handset.ask(line)
    return task.holds(handset, task.wanted_answer(handset))


def _in_test(canonical: str) -> bool:
    number = 0xCBF29CE484222325  # FNV-1a, 64 bits
    for byte in canonical.encode():
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return bool(in_test_split(number))
