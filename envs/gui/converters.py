"""Actions of other data sets and environments as our strings, and back.

- **Android in the Wild** (Rawles et al., 2023): gestures of two points, each (y, x) in shares of the screen. Numbers of
  the action types: google-research/android_in_the_wild, action_type.py; a gesture whose ends are at most 0.04 apart is
  a tap: action_matching.py (``_SWIPE_DISTANCE_THRESHOLD``, ``is_tap_action``).
- **Auto-UI's text**, as DigiRL's policies write it: DigiRL-agent/digirl, digirl/environment/android/autoui_utils.py
  (``autoui_translate_action``, ``to_autoui``; the ends of its swipes from ``cogagent_translate_action``).
- **AndroidWorld** (Rawles et al., 2024): JSON with pixels or the number of an element: google-research/android_world,
  env/json_action.py for the verbs, env/actuation.py for what they do.

What has no counterpart raises ``ValueError`` in one sentence; nothing is guessed.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .commands import VERBS, Command, long_press, parse, tap

TAP_DISTANCE = 0.04  # in shares of the screen, which AitW measures alike along both sides
TYPE, DUAL_POINT, PRESS_BACK, PRESS_HOME, PRESS_ENTER, COMPLETE, IMPOSSIBLE = 3, 4, 5, 6, 7, 10, 11
AITW_NAMES = {
    "TYPE": TYPE, "DUAL_POINT": DUAL_POINT, "PRESS_BACK": PRESS_BACK, "PRESS_HOME": PRESS_HOME,
    "PRESS_ENTER": PRESS_ENTER, "STATUS_TASK_COMPLETE": COMPLETE, "STATUS_TASK_IMPOSSIBLE": IMPOSSIBLE,
}  # fmt: skip
AITW_PLAIN = {PRESS_BACK: "back", PRESS_HOME: "home", PRESS_ENTER: "enter", COMPLETE: "done", IMPOSSIBLE: "infeasible"}
NOWHERE = (-1.0, -1.0)
SWIPES = {"up": ((0.5, 0.5), (0.2, 0.5)), "down": ((0.2, 0.5), (0.5, 0.5)), "left": ((0.5, 0.8), (0.5, 0.2)),
          "right": ((0.5, 0.2), (0.5, 0.8))}  # fmt: skip
"""The ends (y, x) of DigiRL's swipes."""
AUTOUI = re.compile(
    r'"action_type": "(\w+)", "touch_point": "\[([^\]]*)\]", "lift_point": "\[([^\]]*)\]", "typed_text": "(.*)"'
)
WORLD_PLAIN = {"keyboard_enter": "enter", "navigate_home": "home", "navigate_back": "back", "wait": "wait"}
FINGER = {"scroll": {"down": "up", "up": "down", "right": "left", "left": "right"},
          "swipe": {"down": "down", "up": "up", "right": "left", "left": "right"}}  # fmt: skip
"""Where AndroidWorld's finger goes. Its swipe to the left begins at the left edge: the finger goes right."""
Box = tuple[float, float, float, float]


def from_aitw(action: Mapping[str, Any]) -> str:
    """The action of one step of Android in the Wild.

    Args:
        action: ``action_type`` (a number or its name), ``touch_point`` and ``lift_point`` (y, x), ``typed_text``.

    Raises:
        ValueError: there is no such action type, or a point or text is missing.

    >>> from_aitw({"action_type": 4, "touch_point": (0.25, 0.5), "lift_point": (0.25, 0.52)})
    'tap 0.500 0.250'
    >>> from_aitw({"action_type": 4, "touch_point": (0.8, 0.5), "lift_point": (0.3, 0.5)})
    'swipe up'
    """
    name = action.get("action_type")
    kind = AITW_NAMES.get(name) if isinstance(name, str) else name
    if kind in AITW_PLAIN:
        return AITW_PLAIN[kind]
    if kind == TYPE:
        return _readable(f"type {action.get('typed_text', '')}")
    if kind != DUAL_POINT:
        raise ValueError(f"Android in the Wild has no action type {name!r}; it has {', '.join(AITW_NAMES)}")
    (y0, x0), (y1, x1) = _point(action, "touch_point"), _point(action, "lift_point")
    dy, dx = y1 - y0, x1 - x0
    if math.hypot(dy, dx) <= TAP_DISTANCE:
        return _readable(tap(x0, y0))
    return f"swipe {('up' if dy < 0 else 'down') if abs(dy) >= abs(dx) else ('left' if dx < 0 else 'right')}"


def to_aitw(action: str) -> dict[str, Any]:
    """An action of ours as a step of Android in the Wild; swipes get DigiRL's ends, a drag its own.

    Raises:
        ValueError: it cannot be read, or Android in the Wild has no such action.

    >>> to_aitw("tap 0.5 0.25")["touch_point"]
    (0.25, 0.5)
    """
    command = _command(action)
    if command.verb in AITW_PLAIN.values():
        return _aitw(next(kind for kind, verb in AITW_PLAIN.items() if verb == command.verb))
    if command.verb == "type":
        return _aitw(TYPE, text=command.text)
    if command.verb == "tap":
        return _aitw(DUAL_POINT, (command.y, command.x), (command.y, command.x))
    if command.verb == "swipe":
        return _aitw(DUAL_POINT, *SWIPES[command.text])
    if command.verb == "drag":
        return _aitw(DUAL_POINT, (command.y, command.x), (command.y1, command.x1))
    raise ValueError(f"Android in the Wild has no action for {action!r}")


def from_autoui(text: str) -> str:
    """What a policy in Auto-UI's form has written: the action after "Action Decision:", or the action alone.

    Raises:
        ValueError: it is of another form.
    """
    found = AUTOUI.search(text.rpartition("Action Decision: ")[2])
    if found is None:
        raise ValueError(f'Auto-UI writes "action_type": ..., "touch_point": ..., and so on, got {text[:80]!r}')
    name, touch, lift, typed = found.groups()
    name = {"TASK_IMPOSSIBLE": "STATUS_TASK_IMPOSSIBLE"}.get(name, name)  # as DigiRL reads it
    try:
        points = [tuple(float(one) for one in part.split(",")) for part in (touch, lift)]
    except ValueError as error:
        raise ValueError(f"a point is two numbers, y and x, got {touch!r} and {lift!r}") from error
    return from_aitw({"action_type": name, "touch_point": points[0], "lift_point": points[1], "typed_text": typed})


def to_autoui(action: str) -> str:
    """An action of ours in Auto-UI's form.

    DigiRL writes that a task is impossible as that it is complete; here the two are told apart.

    Raises:
        ValueError: as :func:`to_aitw`.
    """
    one = to_aitw(action)
    name = next(name for name, kind in AITW_NAMES.items() if kind == one["action_type"])
    touch, lift = ("[{:.4f}, {:.4f}]".format(*one[point]) for point in ("touch_point", "lift_point"))
    if name != "DUAL_POINT":
        touch = lift = "[-1.0, -1.0]"
    typed = one["typed_text"]
    return f'"action_type": "{name}", "touch_point": "{touch}", "lift_point": "{lift}", "typed_text": "{typed}"'


def from_android_world(
    action: Mapping[str, Any] | str, *, size: tuple[int, int] = (1080, 2400), elements: Sequence[Box] = ()
) -> tuple[str, ...]:
    """AndroidWorld's JSON as one action of ours or several: it types by tapping, typing and pressing enter.

    A scroll within an element becomes one of the whole screen, as our swipes have no place.

    Args:
        action: the object or its JSON.
        size: width and height of the screen in pixels, of ``x`` and ``y``.
        elements: what an ``index`` counts: x0, y0, x1, y1 in shares of the screen (:func:`elements_of` reads a tree).

    Raises:
        ValueError: it is no action of AndroidWorld, or something in it is missing.

    >>> from_android_world({"action_type": "scroll", "direction": "down"})
    ('swipe up',)
    """
    one = _object(action)
    verb = one.get("action_type")
    if verb in WORLD_PLAIN:
        return (WORLD_PLAIN[verb],)
    if verb in ("click", "double_tap", "long_press", "input_text"):
        x, y = _place(one, size, elements)
        if verb == "input_text":
            clear = () if not one.get("clear_text") else _no_clearing(one)
            return (tap(x, y), *clear, _readable(f"type {one.get('text') or ''}"), "enter")
        return (long_press(x, y),) if verb == "long_press" else (tap(x, y),) * (2 if verb == "double_tap" else 1)
    if verb in FINGER:
        if one.get("direction") not in FINGER[verb]:
            raise ValueError(f"a {verb} goes up, down, left or right, got {one.get('direction')!r}")
        return (f"swipe {FINGER[verb][one['direction']]}",)
    if verb == "open_app":
        return (_readable(f"open {one.get('app_name') or ''}"),)
    if verb == "answer":
        return (_readable(f"answer {one.get('text') or ''}"),)
    if verb == "status":
        ends = {"complete": "done", "infeasible": "infeasible"}
        if one.get("goal_status") not in ends:
            raise ValueError(f"a goal_status is complete or infeasible, got {one.get('goal_status')!r}")
        return (ends[one["goal_status"]],)
    raise ValueError(f"AndroidWorld has no action_type {verb!r} that does anything")


def to_android_world(
    action: str, *, size: tuple[int, int] = (1080, 2400), focused: tuple[float, float] | None = None
) -> dict[str, Any]:
    """An action of ours as AndroidWorld's JSON object.

    Args:
        action: ours.
        size: width and height of the screen in pixels.
        focused: where the field with the keyboard is, in shares of the screen: AndroidWorld taps there before it types
            (and presses enter afterwards, which our ``type`` does not).

    Raises:
        ValueError: it cannot be read, or AndroidWorld has no such action.

    >>> to_android_world("swipe up")
    {'action_type': 'scroll', 'direction': 'down'}
    """
    command = _command(action)
    if command.verb in WORLD_PLAIN.values():
        return {"action_type": next(name for name, verb in WORLD_PLAIN.items() if verb == command.verb)}
    if command.verb in ("tap", "long_press"):
        return {
            "action_type": "click" if command.verb == "tap" else "long_press",
            **_pixels(command.x, command.y, size),
        }
    if command.verb == "type":
        if focused is None:
            raise ValueError("AndroidWorld types where it taps: say where the field is, focused=(x, y)")
        return {"action_type": "input_text", "text": command.text, **_pixels(*focused, size)}
    if command.verb == "swipe":
        way = next(way for way, finger in FINGER["scroll"].items() if finger == command.text)
        return {"action_type": "scroll", "direction": way}
    if command.verb == "open":
        return {"action_type": "open_app", "app_name": command.text}
    if command.verb == "answer":
        return {"action_type": "answer", "text": command.text}
    if command.verb in ("done", "infeasible"):
        return {"action_type": "status", "goal_status": "complete" if command.verb == "done" else "infeasible"}
    raise ValueError(f"AndroidWorld has no action for {action!r}")


def elements_of(tree: str) -> list[Box]:
    r"""Bounds of the elements of one of our trees, in its order, in shares of the screen.

    >>> elements_of('screen "Home"\napp "Shop" 0.69 0.32 0.94 0.51')
    [(0.69, 0.32, 0.94, 0.51)]
    """
    found = re.findall(r'^\w+ ".*" (\d\.\d\d) (-?\d\.\d\d) (\d\.\d\d) (-?\d\.\d\d)(?: [a-z ]+)?$', tree, re.MULTILINE)
    return [(float(x0), float(y0), float(x1), float(y1)) for x0, y0, x1, y1 in found]


def _aitw(
    kind: int, touch: tuple[float, float] = NOWHERE, lift: tuple[float, float] = NOWHERE, text: str = ""
) -> dict[str, Any]:
    return {"action_type": kind, "touch_point": touch, "lift_point": lift, "typed_text": text}


def _command(action: str) -> Command:
    command = parse(action, VERBS)
    if command.verb == "":
        raise ValueError(f"that is no action of ours: {action[:80]!r}")
    return command


def _readable(action: str) -> str:
    """The action, if a phone of ours can read it."""
    if parse(action, VERBS).verb == "":
        raise ValueError(f"our phones cannot read {action[:80]!r}: words and points are needed, in printable ASCII")
    return action


def _point(action: Mapping[str, Any], name: str) -> tuple[float, float]:
    try:
        y, x = (float(one) for one in action[name])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"a gesture's {name} is two numbers, y and x, got {action.get(name)!r}") from error
    if not (0.0 <= y <= 1.0 and 0.0 <= x <= 1.0):
        raise ValueError(f"a gesture's {name} is in shares of the screen, from 0 to 1, got {action[name]!r}")
    return y, x


def _object(action: Mapping[str, Any] | str) -> Mapping[str, Any]:
    if not isinstance(action, str):
        return action
    try:
        read = json.loads(action)
    except ValueError as error:
        raise ValueError(f"that is no JSON: {action[:80]!r}") from error
    if not isinstance(read, dict):
        raise ValueError(f"an action of AndroidWorld is an object, got {action[:80]!r}")
    return read


def _place(one: Mapping[str, Any], size: tuple[int, int], elements: Sequence[Box]) -> tuple[float, float]:
    index, x, y = one.get("index"), one.get("x"), one.get("y")
    if index is not None and x is None and y is None:
        if not str(index).isdigit() or int(index) >= len(elements):
            raise ValueError(f"there is no element number {index!r} among {len(elements)}")
        x0, y0, x1, y1 = elements[int(index)]
        return (x0 + x1) / 2, (y0 + y1) / 2
    try:
        share = float(x) / size[0], float(y) / size[1]  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise ValueError(f"a {one['action_type']} needs either an index or x and y, got {dict(one)!r:.120}") from error
    if index is not None or not all(0.0 <= part <= 1.0 for part in share):
        raise ValueError(
            f"x and y are pixels of a screen of {size[0]} x {size[1]}, without an index: {dict(one)!r:.120}"
        )
    return share


def _pixels(x: float, y: float, size: tuple[int, int]) -> dict[str, int]:
    return {"x": min(round(x * size[0]), size[0] - 1), "y": min(round(y * size[1]), size[1] - 1)}


def _no_clearing(one: Mapping[str, Any]) -> tuple[str, ...]:
    raise ValueError(f"our phones clear a field by its own button, not as they type: {dict(one)!r:.120}")
