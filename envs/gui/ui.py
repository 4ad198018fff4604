"""A small declarative toolkit: an app describes a screen as a column of widgets, each a :class:`Node` with a handler.

Coordinates are logical: the screen is 108 wide and 192 high whatever its pixel size. The same nodes are painted
(:mod:`.paint`), hit by taps and listed in the accessibility tree, so the three can never disagree.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

WIDTH, HEIGHT = 108.0, 192.0
STATUS, BAR = 10.0, 18.0
KEYBOARD = 64.0
MARGIN = 4.0
LEAST_VISIBLE = 6.0  # of a node's height, for it to be listed and tappable
LINE_CHARS = 26

Handler = Callable[[], None]
NO_GESTURES: Mapping[str, Any] = MappingProxyType({})


@dataclass(slots=True)
class Node:
    """One element on the screen.

    Attributes:
        role: what it is to an agent (button, row, switch, radio, field, tab, chip, app, image, text, title, ...).
        text: its label.
        x0, y0, x1, y1: bounds, logical.
        on_tap: what a tap does; None for things one only looks at.
        on_hold: what a long press does.
        on_drop: what happens when it is dragged onto a target, whose value it is called with.
        target: the value that something dragged onto this learns; None: nothing can be dropped here.
        detail: second text (a field's content, a row's second line).
        checked: state of switches, radio buttons, tabs and chips; None for the others.
        icon: name of an icon of :mod:`.render`.
        look: how it is painted where the role alone does not say.
        colour: packed RGB that its painter may use.
        v0, v1: the vertical bounds of the part that can be seen.
    """

    role: str
    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    on_tap: Handler | None = None
    detail: str = ""
    checked: bool | None = None
    focused: bool = False
    disabled: bool = False
    icon: str = ""
    look: str = ""
    colour: int = 0
    v0: float = -1.0
    v1: float = -1.0
    on_hold: Handler | None = None
    on_drop: Callable[[Any], None] | None = None
    target: Any = None

    def __post_init__(self) -> None:
        self.v0, self.v1 = self.y0, self.y1

    def holds(self, x: float, y: float) -> bool:
        """Whether the point lies in the bounds."""
        return self.x0 <= x < self.x1 and self.v0 <= y < self.v1

    def line(self) -> str:
        """Its line in the accessibility tree: role, text, second text, bounds in shares of the screen, flags."""
        text = f'{self.role} "{_plain(self.text)}"'
        if self.detail:
            text += f' "{_plain(self.detail)}"'
        text += f" {self.x0 / WIDTH:.2f} {self.v0 / HEIGHT:.2f} {self.x1 / WIDTH:.2f} {self.v1 / HEIGHT:.2f}"
        if self.checked is not None:
            text += " checked" if self.checked else " unchecked"
        text += (" focused" if self.focused else "") + (" disabled" if self.disabled else "")
        text += (" hold" if self.on_hold is not None else "") + (" drag" if self.on_drop is not None else "")
        return text + (" drop" if self.target is not None else "")


def _plain(text: str) -> str:
    return text.replace('"', "'")[:60]


@dataclass(slots=True)
class Screen:
    """One entry of the screen stack: which view of which app, about what; what was typed, chosen and scrolled there.

    ``failed``: it could not be loaded, and says so until someone retries.
    """

    app: str
    view: str = "main"
    arg: Any = None
    scroll: float = 0.0
    drafts: dict[str, Any] = field(default_factory=dict)
    focus: str | None = None
    error: str = ""
    failed: bool = False


class Page:
    """The builder an app fills: a fixed bar on top, then a scrolling column of widgets.

    ``density`` is a factor of all heights and gaps of the column (not of the bar, the tabs, or what is 3 above the
    first and 4 below the last widget).
    """

    def __init__(
        self, screen: Screen, *, on_back: Handler, on_focus: Callable[[str], None], density: float = 1.0
    ) -> None:
        self.screen = screen
        self.density = density
        self.fixed: list[Node] = []
        self.column: list[Node] = []
        self.visible: list[Node] = []
        self.top, self.bottom = STATUS, HEIGHT
        self.title = ""
        self.colour = 0
        self.on_swipe: dict[str, Handler] = {}
        self.on_enter: Handler | None = None
        self.fields: list[str] = []
        self._y = 3.0
        self._on_back, self._on_focus = on_back, on_focus

    # -- widgets -------------------------------------------------------------------------------------------------

    def bar(self, title: str, *, back: bool = True, actions: Sequence[tuple[str, str, Handler]] = ()) -> None:
        """The coloured bar: a back arrow, the title, and up to three icon buttons ``(icon, name, handler)``."""
        self.title, self.top = title, STATUS + BAR
        x = 2.0
        if back:
            self.fixed.append(self._fixed("button", "Back", 0.0, 16.0, self._on_back, icon="back"))
            x = 16.0
        end = WIDTH - 17.0 * len(actions)
        self.fixed.append(self._fixed("title", title, x + 2, end, None))
        for i, (icon, name, handler) in enumerate(actions):
            left = end + 17.0 * i
            self.fixed.append(self._fixed("button", name, left, left + 17.0, handler, icon=icon))

    def _fixed(self, role: str, text: str, x0: float, x1: float, on_tap: Handler | None, icon: str = "") -> Node:
        return Node(role, text, x0, STATUS, x1, STATUS + BAR, on_tap, icon=icon, look="bar")

    def tabs(self, names: Sequence[tuple[str, bool, Handler]]) -> None:
        """A fixed row of tabs ``(name, chosen, handler)``; swiping left and right walks along it."""
        width = WIDTH / len(names)
        for i, (name, chosen, handler) in enumerate(names):
            node = Node("tab", name, i * width, self.top, (i + 1) * width, self.top + 14, handler, checked=chosen)
            self.fixed.append(node)
            if i and names[i - 1][1]:
                self.on_swipe["left"] = handler
            if i + 1 < len(names) and names[i + 1][1]:
                self.on_swipe["right"] = handler
        self.top += 14.0

    def section(self, text: str) -> None:
        """A small caption above a group."""
        self._add("section", text, 10.0)

    def text(self, text: str, *, look: str = "body", icon: str = "") -> None:
        """A paragraph, wrapped at word ends; each line is an element of its own."""
        per_line = {"big": 15, "small": 30}.get(look, LINE_CHARS)
        for line in wrap(text, per_line):
            self._add("text", line, 15.0 if look == "big" else 9.5, look=look, icon=icon)

    def row(
        self,
        title: str,
        on_tap: Handler | None,
        *,
        detail: str = "",
        icon: str = "",
        disabled: bool = False,
        gestures: Mapping[str, Any] = NO_GESTURES,
    ) -> None:
        """A list row that leads somewhere; without ``on_tap`` it is an item that only says something.

        ``gestures`` may give it ``on_hold``, ``on_drop`` and ``target`` (see :class:`Node`).
        """
        height, role = 21.0 if detail else 17.0, "row" if on_tap else "item"
        self._add(role, title, height, on_tap, detail=detail, icon=icon, disabled=disabled, **gestures)

    def switch(self, title: str, on: bool, on_tap: Handler, *, disabled: bool = False, detail: str = "") -> None:
        """A row with a toggle."""
        height = 21.0 if detail else 17.0
        self._add("switch", title, height, on_tap, checked=on, disabled=disabled, detail=detail)

    def radio(self, title: str, chosen: bool, on_tap: Handler) -> None:
        """A row of which one in a group is chosen."""
        self._add("radio", title, 15.0, on_tap, checked=chosen)

    def field(self, key: str, label: str, value: str | None = None) -> None:
        """A text field; what is typed lives in ``screen.drafts[key]`` (first ``value``) until the app reads it."""
        drafts = self.screen.drafts
        content = drafts.setdefault(key, value or "")
        focused = self.screen.focus == key
        self.fields.append(key)
        right = WIDTH - MARGIN - (14.0 if content else 0.0)
        y = self._y
        self._add("field", label, 21.0, lambda: self._on_focus(key), detail=content, focused=focused, x1=right)
        if content:
            y1 = y + 21.0 * self.density
            clear = Node("button", f"Clear {label}", right, y, WIDTH - MARGIN, y1, lambda: drafts.update({key: ""}))
            clear.icon, clear.look = "close", "inset"
            self.column.append(clear)

    def button(self, text: str, on_tap: Handler, *, look: str = "primary", disabled: bool = False) -> None:
        """A wide button; ``look`` is primary, plain or danger."""
        self._y += 2.0 * self.density
        self._add("button", text, 16.0, on_tap, look=look, disabled=disabled, colour=self.colour)
        self._y += 2.0 * self.density

    def stepper(self, label: str, value: str, less: Handler, more: Handler, *, bounds: tuple[bool, bool]) -> None:
        """A value between two buttons; ``bounds`` says whether it is at its lowest and at its highest."""
        y, height = self._y, 17.0
        self._add("text", label, height, look="value", detail=value, x1=WIDTH - 36)
        for x, name, handler, icon, end in (
            (72.0, f"Decrease {label}", less, "minus", bounds[0]),
            (88.0, f"Increase {label}", more, "plus", bounds[1]),
        ):
            y1 = y + height * self.density
            node = Node("button", name, x, y, x + 16, y1, handler, icon=icon, look="round", disabled=end)
            self.column.append(node)

    def chips(self, chips: Iterable[tuple[str, bool, Handler]]) -> None:
        """Small buttons ``(text, chosen, handler)`` that wrap onto further lines."""
        x = MARGIN
        for text, chosen, handler in chips:
            width = 9.0 + 4.4 * len(text)
            if x + width > WIDTH - MARGIN and x > MARGIN:
                x, self._y = MARGIN, self._y + 15.0 * self.density
            x1, y1 = min(x + width, WIDTH - 2), self._y + 13.0 * self.density
            node = Node("chip", text, x, self._y, x1, y1, handler, checked=chosen)
            node.colour = self.colour
            self.column.append(node)
            x += width + 3.0
        self._y += 16.0 * self.density

    def image(self, text: str, icon: str, colour: int, *, height: float = 44.0) -> None:
        """A picture: an icon on a coloured tile."""
        self._add("image", text, height, icon=icon, colour=colour)

    def error(self) -> None:
        """The screen's error message, if there is one."""
        if self.screen.error:
            self.text(self.screen.error, look="error")

    def empty(self, text: str, icon: str = "info") -> None:
        """What a list shows when it holds nothing."""
        self._y += 16.0 * self.density
        self.image("", icon, 0, height=26.0)
        self.text(text, look="centre")

    def _add(
        self, role: str, text: str, height: float, on_tap: Handler | None = None, *, x1: float | None = None, **kw: Any
    ) -> None:
        side = 0.0 if role in ("row", "item", "switch", "radio") else MARGIN
        height *= self.density
        self.column.append(
            Node(role, text, side, self._y, WIDTH - side if x1 is None else x1, self._y + height, on_tap, **kw)
        )
        self._y += height

    # -- layout --------------------------------------------------------------------------------------------------

    @property
    def longest_scroll(self) -> float:
        """How far the column can be scrolled."""
        return max(0.0, self._y + 4.0 - (self.bottom - self.top))

    def lay_out(self, *, keyboard: bool) -> None:
        """Scrolls the column (keeping a focused field in view) and collects the visible nodes, clipped."""
        self.bottom = HEIGHT - (KEYBOARD if keyboard else 0.0)
        screen = self.screen
        if keyboard:
            for node in self.column:
                if node.focused:
                    lowest = node.y1 + 4.0 - (self.bottom - self.top)
                    screen.scroll = min(max(screen.scroll, lowest), node.y0)
        screen.scroll = min(max(screen.scroll, 0.0), self.longest_scroll)
        shift = self.top - screen.scroll
        self.visible = list(self.fixed)
        for node in self.column:
            node.y0 += shift
            node.y1 += shift
            node.v0, node.v1 = max(node.y0, self.top), min(node.y1, self.bottom)
            if node.v1 - node.v0 >= min(LEAST_VISIBLE, node.y1 - node.y0):
                self.visible.append(node)


def wrap(text: str, width: int) -> list[str]:
    """Breaks text at spaces into lines of at most ``width`` characters (a longer word gets a line of its own).

    >>> wrap("turn off the light", 9)
    ['turn off', 'the light']
    """
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines
