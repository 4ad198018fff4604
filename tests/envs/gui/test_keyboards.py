"""Keyboards: every character can be reached by taps, a capital is for one letter, v0's has one page."""

import string
import sys
from pathlib import Path
from typing import Any

import pytest

from tiltyard.envs.gui.commands import parse, tap
from tiltyard.envs.gui.keyboards import ENTER, FULL, SIMPLE, Keyboard
from tiltyard.envs.gui.ui import HEIGHT, KEYBOARD, WIDTH

sys.path.insert(0, str(Path(__file__).parent))
from phone_helpers import act, new_phone


def writing(**kwargs: Any) -> Any:
    return act(new_phone(**kwargs), "<Phone>", "<New contact>", "<Name>")


def press(phone: Any, *keys: str) -> str:
    for key in keys:
        node = next(node for node in phone.nodes if node.role == "key" and node.text == key)
        phone.act(parse(tap((node.x0 + node.x1) / 2 / WIDTH, (node.y0 + node.y1) / 2 / HEIGHT)))
    return str(phone.stack[-1].drafts["name"])


@pytest.mark.parametrize("keyboard", [SIMPLE, FULL], ids=["simple", "full"])
def test_keys_of_a_page_fill_their_rows_without_overlap(keyboard: Keyboard) -> None:
    for keys in keyboard.values():
        boxes = [*(key.box for key in keys), ENTER]
        area = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in boxes)
        assert area == pytest.approx(WIDTH * KEYBOARD)
        for i, (x0, y0, x1, y1) in enumerate(boxes):
            assert all(
                x1 <= a0 + 1e-9 or a1 <= x0 + 1e-9 or y1 <= b0 + 1e-9 or b1 <= y0 + 1e-9 for a0, b0, a1, b1 in boxes[:i]
            )


def test_every_printable_character_is_on_the_full_keyboard_and_pages_exist() -> None:
    keys = [key for page in FULL.values() for key in page]
    assert {key.types for key in keys} >= set(string.ascii_letters + string.digits + string.punctuation + " ")
    assert {key.page for key in keys} == {"", "lower", "upper", "symbols"}


def test_a_capital_is_for_one_letter_and_symbols_stay() -> None:
    phone = writing(keyboard=FULL)
    assert press(phone, "shift", "1", "A", "b") == "1Ab", "a digit does not end the capitals"
    assert press(phone, "shift", "shift", "c") == "1Abc", "shift twice is no shift"
    assert press(phone, "?#", "!", "?") == "1Abc!?"
    assert press(phone, "ab", "d", "backspace") == "1Abc!?"
    press(phone, "?#")
    assert press(act(phone, "enter", "back", "<Name>"), "e") == "1Abc!?e", "a field starts with small letters"


def test_typing_reaches_everything_and_the_simple_keyboard_has_no_capitals() -> None:
    phone = act(writing(), "type Q!?")
    assert press(phone, "q", "-") == "Q!?q-"
    assert not [node for node in phone.nodes if node.text in ("shift", "Q", "?#")]
