"""Every verb of the others as one of ours, every verb of ours as one of theirs, and what has no counterpart."""

import json
import math
from typing import Any

import pytest

from tiltyard.envs.gui.commands import VERBS, parse
from tiltyard.envs.gui.converters import (
    elements_of,
    from_aitw,
    from_android_world,
    from_autoui,
    to_aitw,
    to_android_world,
    to_autoui,
)

SIZE = (1000, 2000)
POINTS = {"touch_point": (0.3, 0.6), "lift_point": (0.3, 0.6)}
AITW: list[tuple[dict[str, Any], str]] = [
    ({"action_type": 3, "typed_text": "hi there"}, "type hi there"),
    ({"action_type": "TYPE", "typed_text": "x"}, "type x"),
    ({"action_type": 4, **POINTS}, "tap 0.600 0.300"),
    ({"action_type": "DUAL_POINT", **POINTS}, "tap 0.600 0.300"),
    ({"action_type": 4, "touch_point": (0.8, 0.5), "lift_point": (0.2, 0.4)}, "swipe up"),
    ({"action_type": 4, "touch_point": (0.2, 0.5), "lift_point": (0.8, 0.4)}, "swipe down"),
    ({"action_type": 4, "touch_point": (0.5, 0.9), "lift_point": (0.4, 0.1)}, "swipe left"),
    ({"action_type": 4, "touch_point": (0.5, 0.1), "lift_point": (0.4, 0.9)}, "swipe right"),
    ({"action_type": 5}, "back"),
    ({"action_type": 6}, "home"),
    ({"action_type": 7}, "enter"),
    ({"action_type": 10}, "done"),
    ({"action_type": "STATUS_TASK_IMPOSSIBLE"}, "infeasible"),
]
WORLD: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"action_type": "click", "x": 500, "y": 500}, ("tap 0.500 0.250",)),
    ({"action_type": "click", "index": 1}, ("tap 0.250 0.900",)),
    ({"action_type": "click", "index": "0"}, ("tap 0.500 0.150",)),
    ({"action_type": "double_tap", "x": 500, "y": 500}, ("tap 0.500 0.250",) * 2),
    ({"action_type": "long_press", "x": 0, "y": 2000}, ("long_press 0.000 1.000",)),
    ({"action_type": "input_text", "text": "a b", "index": 1}, ("tap 0.250 0.900", "type a b", "enter")),
    ({"action_type": "keyboard_enter"}, ("enter",)),
    ({"action_type": "navigate_home"}, ("home",)),
    ({"action_type": "navigate_back"}, ("back",)),
    ({"action_type": "wait"}, ("wait",)),
    ({"action_type": "open_app", "app_name": "Clock"}, ("open Clock",)),
    ({"action_type": "answer", "text": "Elm Road 5"}, ("answer Elm Road 5",)),
    ({"action_type": "status", "goal_status": "complete"}, ("done",)),
    ({"action_type": "status", "goal_status": "infeasible"}, ("infeasible",)),
    # The finger goes against the way the content is scrolled, and, by AndroidWorld's code, against a swipe sideways.
    *[({"action_type": "scroll", "direction": to}, (f"swipe {finger}",))
      for to, finger in (("down", "up"), ("up", "down"), ("right", "left"), ("left", "right"))],
    *[({"action_type": "swipe", "direction": to}, (f"swipe {finger}",))
      for to, finger in (("down", "down"), ("up", "up"), ("right", "left"), ("left", "right"))],
]  # fmt: skip
ELEMENTS = [(0.0, 0.1, 1.0, 0.2), (0.0, 0.8, 0.5, 1.0)]
OURS = ("tap 0.300 0.700", "long_press 0.300 0.700", "drag 0.100 0.200 0.300 0.900", "swipe up", "swipe down",
        "swipe left", "swipe right", "type hello there", "back", "home", "enter", "open Shop", "wait", "answer 12",
        "done", "infeasible")  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), AITW, ids=lambda one: str(one)[:40])
def test_android_in_the_wild_is_read(theirs: dict[str, Any], ours: str) -> None:
    assert from_aitw(theirs) == ours
    assert parse(ours, VERBS).verb


@pytest.mark.parametrize(("theirs", "ours"), WORLD, ids=lambda one: str(one)[:60])
def test_android_world_is_read_as_an_object_and_as_json(theirs: dict[str, Any], ours: tuple[str, ...]) -> None:
    assert from_android_world(theirs, size=SIZE, elements=ELEMENTS) == ours
    assert from_android_world(json.dumps(theirs), size=SIZE, elements=ELEMENTS) == ours
    assert all(parse(one, VERBS).verb for one in ours)


def test_every_verb_of_ours_is_among_these() -> None:
    assert {parse(one, VERBS).verb for one in OURS} == VERBS


def test_android_in_the_wild_gets_every_verb_it_has_and_gives_it_back() -> None:
    lost = {}
    for one in OURS:
        verb = parse(one, VERBS).verb
        if verb in ("long_press", "open", "wait", "answer"):
            with pytest.raises(ValueError, match=f"Android in the Wild has no action for '{one}'"):
                to_aitw(one)
        else:
            lost[verb] = from_aitw(to_aitw(one)) != one or from_autoui(to_autoui(one)) != one
    assert {verb for verb, gone in lost.items() if gone} == {"drag"}
    assert from_aitw(to_aitw("drag 0.1 0.2 0.3 0.9")) == "swipe down", "a drag is a gesture there, and read as a swipe"


def test_android_world_gets_every_verb_but_drags_and_gives_it_back() -> None:
    for one in OURS:
        if one.startswith("drag"):
            with pytest.raises(ValueError, match="AndroidWorld has no action for 'drag"):
                to_android_world(one)
        elif one.startswith("type"):
            with pytest.raises(ValueError, match="say where the field is"):
                to_android_world(one)
            theirs = to_android_world(one, size=SIZE, focused=(0.5, 0.25))
            assert theirs == {"action_type": "input_text", "text": "hello there", "x": 500, "y": 500}
            assert from_android_world(theirs, size=SIZE) == ("tap 0.500 0.250", one, "enter")
        else:
            assert from_android_world(to_android_world(one, size=SIZE), size=SIZE) == (one,)


def test_the_tap_threshold_is_a_distance_on_both_axes() -> None:
    def gesture(dy: float, dx: float) -> str:
        return from_aitw({"action_type": 4, "touch_point": (0.5, 0.5), "lift_point": (0.5 + dy, 0.5 + dx)})

    assert gesture(0.0, 0.039) == gesture(0.028, 0.028) == "tap 0.500 0.500"
    assert math.hypot(0.03, 0.03) > 0.04
    assert gesture(0.03, 0.0299) == "swipe down"
    assert gesture(0.0, 0.041) == "swipe right"


def test_auto_uis_text_is_digirls() -> None:
    """Written down from ``to_autoui`` of DigiRL's repository."""
    text = (
        '"action_type": "DUAL_POINT", "touch_point": "[0.2500, 0.5000]", "lift_point": "[0.2500, 0.5000]", '
        '"typed_text": ""'
    )
    assert to_autoui("tap 0.5 0.25") == text
    assert from_autoui(f"Action Plan: [DUAL_POINT]; Action Decision: {text}") == "tap 0.500 0.250"
    assert '"touch_point": "[0.5000, 0.5000]", "lift_point": "[0.2000, 0.5000]"' in to_autoui("swipe up")
    assert '"touch_point": "[-1.0, -1.0]"' in to_autoui("home")
    assert from_autoui(to_autoui("home").replace("PRESS_HOME", "TASK_IMPOSSIBLE")) == "infeasible"
    assert from_autoui(to_autoui('type say "hi", you')) == 'type say "hi", you'


def test_elements_are_read_from_a_tree() -> None:
    tree = 'screen "Shop"\nstatus "09:41"\nfield "Search" "tea 1.00" 0.04 0.16 0.96 0.27 focused\nrow "A" 0.00 0.56 1.00 0.67 hold drag\nswipe up'  # noqa: E501
    assert elements_of(tree) == [(0.04, 0.16, 0.96, 0.27), (0.0, 0.56, 1.0, 0.67)]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: from_aitw({"action_type": 8}), "no action type 8; it has TYPE"),
        (lambda: from_aitw({"action_type": "TAP"}), "no action type 'TAP'"),
        (lambda: from_aitw({"action_type": 4, "touch_point": (0.1, 0.1)}), "lift_point is two numbers, y and x"),
        (lambda: from_aitw({"action_type": 4, "touch_point": (7, 0), "lift_point": (0, 0)}), "from 0 to 1"),
        (lambda: from_aitw({"action_type": 4, "touch_point": (math.nan, 0), "lift_point": (0, 0)}), "from 0 to 1"),
        (lambda: from_aitw({"action_type": 3, "typed_text": ""}), "cannot read 'type '"),
        (lambda: from_aitw({"action_type": 3, "typed_text": "caf\u00e9"}), "printable ASCII"),
        (lambda: from_aitw({"action_type": 3, "typed_text": "x" * 10_000}), "cannot read"),
        (lambda: to_aitw("jump"), "no action of ours: 'jump'"),
        (lambda: from_autoui("click the button"), "Auto-UI writes"),
        (lambda: from_autoui(to_autoui("tap 0 0").replace("0.0000, 0.0000", "here")), "two numbers, y and x"),
        (lambda: from_android_world("{"), "no JSON"),
        (lambda: from_android_world("[1]"), "is an object"),
        (lambda: from_android_world({"action_type": "unknown"}), "no action_type 'unknown'"),
        (lambda: from_android_world({"action_type": "click"}), "either an index or x and y"),
        (lambda: from_android_world({"action_type": "click", "index": 3}), "no element number 3 among 0"),
        (lambda: from_android_world({"action_type": "click", "index": -1}), "no element number -1"),
        (lambda: from_android_world({"action_type": "click", "x": 5000, "y": 1}), "pixels of a screen of 1080 x 2400"),
        (lambda: from_android_world({"action_type": "scroll", "direction": "out"}), "up, down, left or right"),
        (lambda: from_android_world({"action_type": "status", "goal_status": "x"}), "complete or infeasible"),
        (lambda: from_android_world({"action_type": "open_app"}), "cannot read 'open '"),
        (
            lambda: from_android_world({"action_type": "input_text", "text": "a", "x": 1, "y": 1, "clear_text": True}),
            "clear a field by its own button",
        ),
        (lambda: to_android_world(""), "no action of ours"),
    ],
)
def test_what_cannot_be_converted_says_why_in_one_sentence(call: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        call()
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)
