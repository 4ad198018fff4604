"""Widgets: what a screen shows, from top to bottom, as data.

Texts may hold expressions in braces; the rest are expressions where they are not plain numbers or names.
"""

from dataclasses import dataclass

from .operations import Operations


@dataclass(frozen=True)
class Action:
    """An icon button of the bar."""

    icon: str
    name: str
    do: Operations


@dataclass(frozen=True)
class Bar:
    """The coloured bar on top: back arrow, title, up to three icon buttons."""

    title: str
    back: bool = True
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True)
class Tabs:
    """A row of tabs under the bar; the chosen one's name is in a draft."""

    draft: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """A small caption above a group."""

    title: str


@dataclass(frozen=True)
class Paragraph:
    """Text, wrapped; ``look`` is body, big, small or centre."""

    text: str
    look: str = "body"


@dataclass(frozen=True)
class Row:
    """A list row; without operations an item that only says something.

    Attributes:
        title, detail, icon: what it shows.
        do: what a tap does.
        disabled: a condition under which neither a tap, a long press nor a drag does anything.
        hold: what a long press does.
        drop: what happens when it is dragged onto a row with a ``target``, whose value they know as ``onto``.
        target: expression: the value that a row dragged onto this one learns.
    """

    title: str
    do: Operations = ()
    detail: str = ""
    icon: str = ""
    disabled: str = ""
    hold: Operations = ()
    drop: Operations = ()
    target: str = ""


@dataclass(frozen=True)
class Switch:
    """A row with a toggle of a field."""

    title: str
    field: str
    detail: str = ""
    disabled: str = ""


@dataclass(frozen=True)
class Radio:
    """A row of which one in a group is chosen."""

    title: str
    chosen: str
    do: Operations


@dataclass(frozen=True)
class Field:
    """A text field; what is typed is in a draft, which is at first ``value``."""

    draft: str
    label: str
    value: str = ""


@dataclass(frozen=True)
class Button:
    """A wide button; ``look`` is primary, plain or danger."""

    text: str
    do: Operations
    look: str = "primary"
    disabled: str = ""


@dataclass(frozen=True)
class Stepper:
    """A value between two buttons, which are disabled at its lowest and its highest."""

    label: str
    value: str
    less: Operations
    more: Operations
    lowest: str
    highest: str


@dataclass(frozen=True)
class Chips:
    """Small buttons in lines, one an item."""

    name: str
    of: str
    text: str
    do: Operations
    chosen: str = "False"


@dataclass(frozen=True)
class Image:
    """An icon on a coloured tile; ``colour`` is an expression."""

    icon: str
    colour: str
    height: float = 44.0


@dataclass(frozen=True)
class Empty:
    """What a list shows that holds nothing."""

    text: str
    icon: str = "info"


@dataclass(frozen=True)
class Error:
    """The message of the last Require that did not hold."""


@dataclass(frozen=True)
class ForEach:
    """The widgets once for every item (for which ``where`` holds), under a name; ``order`` is a field to sort by.

    Where there is no such item: ``otherwise``.
    """

    name: str
    of: str
    widgets: "tuple[Widget, ...]"
    where: str = ""
    order: str = ""
    otherwise: "tuple[Widget, ...]" = ()


@dataclass(frozen=True)
class When:
    """The widgets if a condition holds, and others if not."""

    condition: str
    then: "tuple[Widget, ...]"
    otherwise: "tuple[Widget, ...]" = ()


Widget = (
    Bar | Tabs | Section | Paragraph | Row | Switch | Radio | Field | Button | Stepper | Chips | Image | Empty | Error
    | ForEach | When
)  # fmt: skip
WIDGETS: tuple[type, ...] = (
    Bar, Tabs, Section, Paragraph, Row, Switch, Radio, Field, Button, Stepper, Chips, Image, Empty, Error,
    ForEach, When,
)  # fmt: skip
