"""Goals of the settings app, each with its expected state and the expert's way there."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..expert import Hop, ScriptedExpert
from ..goals import Goal, State, Task, Template, change, phrase, pick, swap
from ..words import NETWORKS
from .settings import CHOICES, STEPS, Network

DISPLAY: Hop = ("Display", "display", None)
SOUND: Hop = ("Sound", "sound", None)
WIFI: Hop = ("Wi-Fi", "wifi", None)
BLUETOOTH: Hop = ("Bluetooth", "bluetooth", None)

SWITCHES: tuple[tuple[str, str, str, tuple[Hop, ...]], ...] = (  # field, in words, on the screen, where
    ("airplane", "airplane mode", "Airplane mode", ()),
    ("mobile_data", "mobile data", "Mobile data", ()),
    ("wifi", "Wi-Fi", "Use Wi-Fi", (WIFI,)),
    ("bluetooth", "Bluetooth", "Use Bluetooth", (BLUETOOTH,)),
    ("dark", "dark theme", "Dark theme", (DISPLAY,)),
    ("auto_rotate", "auto-rotate", "Auto-rotate", (DISPLAY,)),
    ("vibrate", "vibrate on ring", "Vibrate on ring", (SOUND,)),
    ("do_not_disturb", "do not disturb", "Do not disturb", (SOUND,)),
    ("battery_saver", "battery saver", "Battery saver", (("Battery", "battery", None),)),
)
PICKS: tuple[tuple[str, str, tuple[Hop, ...]], ...] = (
    ("ringtone", "ringtone", (SOUND, ("Ringtone", "choice", "ringtone"))),
    ("text_size", "text size", (DISPLAY, ("Text size", "choice", "text_size"))),
    ("timeout", "screen timeout", (DISPLAY, ("Screen timeout", "choice", "timeout"))),
    ("language", "language", (("Language", "choice", "language"),)),
)
LEVELS: tuple[tuple[str, str, Hop], ...] = (
    ("brightness", "brightness", DISPLAY),
    ("media_volume", "media volume", SOUND),
    ("ring_volume", "ring volume", SOUND),
)
PLACE = ("In Settings, {do}", "Open Settings and {do}", "Go to Settings and {do}")


def has(**fields: Any) -> Callable[[State], bool]:
    """A check that the settings have these values."""
    return lambda state: all(getattr(state["settings"], field) == value for field, value in fields.items())


def switch_task(field: str, want: bool) -> Task:
    """The expert's way to one switch."""
    title, path = next((title, path) for name, _, title, path in SWITCHES if name == field)
    return Task(has(**{field: want}), lambda expert: expert.go("settings", *path) or expert.press(title, "switch"))


Part = tuple[str, tuple[object, ...], State, Task]  # words, what they ask for, expected state, task


def _switch_part(rng: np.random.Generator, state: State) -> Part:
    field, words, _, _ = pick(rng, SWITCHES)
    want = bool(rng.integers(2))
    state.update(change(state, "settings", **{field: not want}))
    on = "on" if want else "off"
    do = phrase(rng, ("turn {on} {words}", "turn {words} {on}", "switch {on} {words}"), on=on, words=words)
    return do, (field, want), change(state, "settings", **{field: want}), switch_task(field, want)


def _choose_part(rng: np.random.Generator, state: State) -> Part:
    field, words, path = pick(rng, PICKS)
    options = [option for option in CHOICES[field][1] if option != getattr(state["settings"], field)]
    want = pick(rng, options)
    do = phrase(rng, ("set the {words} to {want}", "change the {words} to {want}"), words=words, want=want)
    task = Task(has(**{field: want}), lambda expert: expert.go("settings", *path) or expert.press(want, "radio"))
    return do, (field, want), change(state, "settings", **{field: want}), task


def _one(part: Callable[[np.random.Generator, State], Part]) -> Callable[[np.random.Generator, State], Goal]:
    def make(rng: np.random.Generator, state: State) -> Goal:
        do, asked, expected, task = part(rng, state)
        return Goal(phrase(rng, PLACE, do=do), expected, (task,), asked=asked)

    return make


def _both(rng: np.random.Generator, state: State) -> Goal:
    first, switched, between, switch = _switch_part(rng, state)
    second, chosen, expected, choose = _choose_part(rng, between)
    text = phrase(rng, PLACE, do=f"{first}, then {second}")
    return Goal(text, expected, (switch, choose), asked=(*switched, *chosen))


def _level(rng: np.random.Generator, state: State) -> Goal:
    field, words, hop = pick(rng, LEVELS)
    now = int(getattr(state["settings"], field))
    want = pick(rng, [value for value in range(1, STEPS + 1) if value != now])
    do = phrase(rng, ("set the {w} to {n}%", "change the {w} to {n}%"), w=words, n=want * 100 // STEPS)

    def act(expert: ScriptedExpert) -> str:
        verb = "Increase" if getattr(expert.phone.state["settings"], field) < want else "Decrease"
        return expert.go("settings", hop) or expert.press(f"{verb} {words}")

    expected = change(state, "settings", **{field: want})
    return Goal(phrase(rng, PLACE, do=do), expected, (Task(has(**{field: want}), act),), asked=(field, want))


def join_task(network: Network) -> Task:
    """The expert's way into a Wi-Fi network."""

    def act(expert: ScriptedExpert) -> str:
        if not network.password or network.saved:
            return expert.go("settings", WIFI) or expert.press(network.name, "row")
        ask: Hop = (network.name, "password", network.name)
        fields = [("password", "Password", network.password)]
        return expert.go("settings", WIFI, ask) or expert.fill(fields) or expert.press("Connect")

    return Task(has(network=network.name), act)


def joined(state: State, network: Network) -> State:
    """The state after connecting to a network."""
    networks = swap(state["settings"].networks, network, replace(network, saved=True))
    return change(state, "settings", network=network.name, networks=networks)


def _join(rng: np.random.Generator, state: State) -> Goal:
    network = pick(rng, [n for n in state["settings"].networks if n.password and not n.saved])
    wordings = (
        "Connect to the Wi-Fi network {name} with the password {password}",
        "Join the network {name}, the password is {password}",
    )
    text = phrase(rng, wordings, name=network.name, password=network.password)
    return Goal(text, joined(state, network), (join_task(network),), asked=(network.name, network.password))


def _pair(rng: np.random.Generator, state: State) -> Goal:
    state.update(change(state, "settings", bluetooth=bool(rng.integers(2))))
    gadget = pick(rng, state["settings"].gadgets)
    flipped = replace(gadget, paired=not gadget.paired)
    verb, button = ("Unpair", "Unpair") if gadget.paired else ("Pair with", "Pair")

    def act(expert: ScriptedExpert) -> str:
        return expert.go("settings", BLUETOOTH) or expert.press(button if expert.phone.dialog else gadget.name)

    gadgets = swap(state["settings"].gadgets, gadget, flipped)
    expected = change(state, "settings", bluetooth=True, gadgets=gadgets)
    text = f"Make sure that Bluetooth is on, then {verb.lower()} the device {gadget.name}"
    tasks = switch_task("bluetooth", True), Task(has(gadgets=gadgets), act)
    return Goal(text, expected, tasks, asked=(gadget.name, verb))


def _rename(rng: np.random.Generator, state: State) -> Goal:
    name = f"{pick(rng, NETWORKS)} {int(rng.integers(10, 100))}"

    def act(expert: ScriptedExpert) -> str:
        at = expert.go("settings", ("About phone", "about", None), ("Phone name", "rename", None))
        return at or expert.fill([("name", "Name", name)]) or expert.press("Save")

    text = phrase(rng, ("Rename this phone to {name}", "Change the name of the phone to {name}"), name=name)
    return Goal(text, change(state, "settings", phone_name=name), (Task(has(phone_name=name), act),), asked=(name,))


GOALS = (
    Template("settings_switch", 1, ("settings",), _one(_switch_part), weight=2.0),
    Template("settings_choose", 1, ("settings",), _one(_choose_part)),
    Template("settings_level", 1, ("settings",), _level),
    Template("settings_join", 2, ("settings",), _join),
    Template("settings_pair", 2, ("settings",), _pair),
    Template("settings_rename", 2, ("settings",), _rename),
    Template("settings_both", 2, ("settings",), _both),
)
