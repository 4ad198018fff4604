"""Gestures as the mouse and keyboard events of the Chrome DevTools Protocol that carry them out."""

from typing import Any

from .gestures import DIRECTIONS, Gesture
from .keys import Command, keystroke, strokes

PAUSES = {"long_press": 0.6, "wait": 0.1}
"""Seconds that pass after the first stage."""
WHEEL = 100
"""Pixels that a swipe scrolls."""
MOVES = 8
"""Mouse moves from one point of a drag to the next: what follows the mouse needs some on the way."""


def stages(gesture: Gesture, mouse: tuple[float, float], width: int, height: int) -> list[list[Command]]:
    """The events of a gesture, in stages of which each has to be over before the next.

    Args:
        gesture: what is done; one that could not be read has no events.
        mouse: where the mouse was last, in shares of the screen.
        width: of the screen in pixels.
        height: likewise.
    """
    points = [_pixel(point, width, height) for point in gesture.points]
    match gesture.verb:
        case "tap":
            return [_click(points[0], 1)]
        case "double_tap":
            return [_click(points[0], 1) + _click(points[0], 2)]
        case "long_press":
            return [[_event("mousePressed", points[0])], [_event("mouseReleased", points[0])]]
        case "hover":
            return [[_event("mouseMoved", points[0], "none")]]
        case "drag":
            return [_drag(points)]
        case "swipe":
            return [[_wheel(_pixel(mouse, width, height), *DIRECTIONS[gesture.text])]]
        case "type":
            return [strokes(gesture.text)]
        case "key" | "enter":
            return [keystroke(gesture.text or "Enter")]
    return [[]]


def _pixel(point: tuple[float, float], width: int, height: int) -> tuple[float, float]:
    """A share of 1 is the last pixel: off the page nothing would be hit."""
    return min(point[0] * width, width - 1.0), min(point[1] * height, height - 1.0)


def _event(kind: str, point: tuple[float, float], button: str = "left", clicks: int = 1) -> Command:
    held = int(kind != "mouseReleased" and button == "left")
    params: dict[str, Any] = {"type": kind, "x": point[0], "y": point[1], "button": button, "buttons": held}
    return "Input.dispatchMouseEvent", {**params, "clickCount": clicks if button == "left" else 0}


def _click(point: tuple[float, float], clicks: int) -> list[Command]:
    return [_event(kind, point, clicks=clicks) for kind in ("mousePressed", "mouseReleased")]


def _drag(points: list[tuple[float, float]]) -> list[Command]:
    events = [_event("mousePressed", points[0])]
    for (x0, y0), (x1, y1) in zip(points, points[1:], strict=False):
        steps = (i / MOVES for i in range(1, MOVES + 1))
        events += [_event("mouseMoved", (x0 + (x1 - x0) * t, y0 + (y1 - y0) * t)) for t in steps]
    return [*events, _event("mouseReleased", points[-1])]


def _wheel(point: tuple[float, float], dx: int, dy: int) -> Command:
    params = {"type": "mouseWheel", "x": point[0], "y": point[1], "deltaX": dx * WHEEL, "deltaY": dy * WHEEL}
    return "Input.dispatchMouseEvent", params
