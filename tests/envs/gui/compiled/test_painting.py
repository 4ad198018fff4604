"""Compiled phones are painted as Python phones are: display lists byte for byte, and pixels."""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tiltyard.envs.gui.commands import VERBS, parse, tap
from tiltyard.envs.gui.compiled import memory as w
from tiltyard.envs.gui.compiled import roles as r
from tiltyard.envs.gui.compiled.looks import COLOURS
from tiltyard.envs.gui.compiled.painting import describe
from tiltyard.envs.gui.compiled.shapes import TOO_MUCH
from tiltyard.envs.gui.paint import LOOKS
from tiltyard.envs.gui.problems_v1 import Split, choices, generate
from tiltyard.envs.gui.render import Renderer
from tiltyard.envs.gui.themes import PALETTES
from tiltyard.envs.gui.twisted import TwistedPhone
from tiltyard.envs.gui.ui import HEIGHT, WIDTH, Node

sys.path.insert(0, str(Path(__file__).parent))
from memory_by_hand import Memory

SPLITS = (Split(), Split("test", "params"), Split(drift=1.0))


def screens(problems: int, steps: int = 12) -> Iterator[TwistedPhone]:
    """Phones of all levels, themes (light and dark) and densities while a random policy acts on them."""
    rng = np.random.default_rng(5)
    for number in range(problems):
        level, split = 1 + number % 3, SPLITS[number % len(SPLITS)]
        phone = generate(number * 7919 + 1, level, choices(level, None, split), split).phone()
        phone.theme = number % len(PALETTES)
        if number // len(PALETTES) % 2:
            phone.state["settings"] = replace(phone.state["settings"], dark=True)
        yield phone
        for _ in range(steps):
            phone.act(parse(_action(phone.nodes, rng), VERBS))
            yield phone


def _action(nodes: list[Node], rng: np.random.Generator) -> str:
    kind, able = rng.random(), [node for node in nodes if node.on_tap is not None]
    fields = [node for node in able if node.role == "field"]
    if able and kind < 0.75:
        among = fields if fields and kind < 0.3 else able
        node = among[rng.integers(len(among))]
        return tap((node.x0 + node.x1) / 2 / WIDTH, (node.v0 + node.v1) / 2 / HEIGHT)
    if kind < 0.9:
        return "swipe " + ("up", "down", "left", "right")[rng.integers(4)]
    return "type ab C" if kind < 0.94 else "back"


def test_display_lists_are_the_python_phones_byte_for_byte() -> None:
    memory, met = Memory(), Counter[str]()
    for phone in screens(60):
        assert memory.put(phone).picture() == phone.picture(), f"{phone.where} after {phone.steps} steps"
        met.update(node.role for node in [*phone.nodes, *([] if phone.loading else phone.page.fixed)])
        met.update(f"look {node.look}" for node in phone.nodes)
        met[f"theme {phone.theme} {phone.state['settings'].dark}"] += 1
        met[f"density {phone.density}"] += 1
        met[f"dialog {phone.dialog is not None} keyboard {phone.focus is not None}"] += 1
        met["loading"] += phone.loading > 0
        met["advert"] += any(node.detail == "Sponsored" for node in phone.nodes)
    wanted = {*LOOKS, "loading", "advert", *(f"density {one}" for one in (0.9, 1.0, 1.15))}
    wanted |= {f"look {one}" for one in r.LOOKS if one not in ("small", "error")}
    wanted |= {f"dialog {one} keyboard {other}" for one in (False, True) for other in (False, True)}
    wanted |= {f"theme {one} {dark}" for one in range(len(PALETTES)) for dark in (False, True)}
    assert not sorted(one for one in wanted if not met[one]), "these were never met"


@pytest.mark.parametrize("size", [(192, 108), (384, 216)])
def test_pixels_are_the_python_phones(size: tuple[int, int]) -> None:
    memory, renderer, frame = Memory(), Renderer(*size), np.zeros((*size, 3), np.uint8)
    for i, phone in enumerate(screens(8)):
        if i % 5 == 0:
            renderer.paint(phone.picture(), frame)
            np.testing.assert_array_equal(memory.put(phone).painted(renderer), frame)


def test_nodes_that_random_hands_seldom_meet_look_as_in_python() -> None:
    phone, memory = next(screens(1)), Memory()
    phone.slow = {}
    phone.act(parse("open settings", VERBS))
    column = phone.page.column
    for look in ("error", "small", "big", "value"):
        column.append(Node("text", "no ROOM left", 4, 40, 104, 50, look=look, detail="7"))
    column += [
        Node("image", "", 4, 50, 104, 94, icon="bag", colour=0xE4E6EA),
        Node("image", "", 4, 50, 104, 70, icon="bag", colour=5),
        Node("switch", "on", 0, 50, 108, 67, print, checked=True, disabled=True),
        Node("switch", "off", 0, 50, 108, 67, print, checked=False, disabled=True, detail="why"),
        Node("row", "starred", 0, 50, 108, 67, print, icon="star"), Node("row", "nowhere", 0, 50, 108, 67),
        Node("button", "colourless", 4, 50, 104, 66, print, look="primary"),
        Node("button", "", 4, 50, 20, 66, print, look="round", icon="plus", disabled=True),
    ]  # fmt: skip
    phone.page.visible += column[-12:]
    for dark in (False, True):
        phone.state["settings"] = replace(phone.state["settings"], dark=dark, airplane=dark, wifi=True, bluetooth=True)
        assert memory.put(phone).picture() == phone.picture()


def test_a_screen_that_failed_looks_as_in_python() -> None:
    phone, memory = next(screens(1)), Memory()
    phone.failing, phone.slow = "settings/main", {}
    phone.act(parse("open settings", VERBS))
    assert phone.stack[-1].failed
    assert memory.put(phone).picture() == phone.picture()


def test_a_dialog_with_more_nodes_than_the_page_under_it_is_painted_as_in_python() -> None:
    phone, memory = next(screens(1)), Memory()
    phone.slow = {}
    phone.act(parse("open phone", VERBS))
    phone.page.screen.focus = "name"
    phone.dialog = phone.ask("Sure?", "one " * 60, ("No", print), ("Yes", print))
    phone._nodes = None
    del phone.page.visible[len(phone.page.fixed) :]
    assert len(phone.nodes) > len(phone.page.visible)
    assert memory.put(phone).picture() == phone.picture()


def test_what_finds_no_room_is_left_out_and_is_a_fault() -> None:
    phone = next(screens(1))
    memory = Memory().put(phone)
    _, text = memory.picture()
    ops = memory.ops[: memory.m[w.DRAWN]].copy()
    for most, letters in ((5, len(text)), (len(ops), len(text) - 1)):
        memory.put(phone)
        describe(memory.m, memory.f, memory.pool, memory.ops[:most], memory.text[:letters])
        assert memory.m[w.FAULT] == TOO_MUCH
        assert memory.m[w.DRAWN] <= most
        assert memory.m[w.WRITTEN] <= letters
    memory.put(phone)
    describe(memory.m, memory.f, memory.pool, memory.ops[: len(ops)], memory.text[: len(text)])
    assert memory.m[w.FAULT] == 0
    np.testing.assert_array_equal(memory.ops[: len(ops)], ops)


def test_every_palette_has_a_row_of_colours_light_and_dark() -> None:
    assert [tuple(row[:3]) for row in COLOURS.tolist()] == [
        (theme.ground, theme.card, theme.ink) for pair in PALETTES for theme in pair
    ]
