"""How each kind of element looks: nodes of the toolkit in, a display list out. Light and dark theme."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from .render import DisplayList, Picture
from .themes import PALETTES, Theme
from .ui import BAR, HEIGHT, KEYBOARD, STATUS, WIDTH, Node, Page

if TYPE_CHECKING:
    from .device import Phone

SMALL, BODY, TITLE, BIG, HUGE = range(5)
WHITE, RED, AMBER = 0xFFFFFF, 0xD23F3F, 0xF2A93B


def describe(phone: "Phone") -> Picture:
    """What the phone shows now: wallpaper or page, status bar, dialog or spinner on top."""
    theme = PALETTES[phone.theme][int(phone.state["settings"].dark)]
    paint = DisplayList()
    if phone.stack:
        paint.rect(0, 0, WIDTH, HEIGHT, theme.ground)
        _page(paint, phone, theme)
    else:
        paint.gradient(phone.wallpaper, mixed(phone.wallpaper, 0x0B0D12, 0.65))
        paint.text(0, 34, WIDTH, phone.clock, HUGE, WHITE, 1)
        for node in [*phone.page.fixed, *(phone.over if phone.dialog is None and not phone.loading else ())]:
            LOOKS[node.role](paint, node, theme)
    _status(paint, phone, theme)
    if phone.loading:
        paint.icon(54, 96, "spinner", phone.apps[phone.stack[-1].app].colour, 3)
        paint.text(0, 118, WIDTH, "Loading", SMALL, theme.faint, 1)
    elif phone.dialog is not None:
        paint.shade(0.5)
        for node in phone.nodes:
            LOOKS[node.role](paint, node, theme)
    return paint.picture()


def mixed(colour: int, other: int, share: float) -> int:
    """``colour`` with a share of ``other`` in it."""
    result = 0
    for shift in (16, 8, 0):
        a, b = (colour >> shift) & 255, (other >> shift) & 255
        result |= int(a + (b - a) * share) << shift
    return result


def _page(paint: DisplayList, phone: "Phone", theme: Theme) -> None:
    accent = mixed(phone.apps[phone.stack[-1].app].colour, theme.accent, theme.tint)
    if phone.loading:
        paint.rect(0, 0, WIDTH, STATUS + BAR, accent)
        return
    page = phone.page
    paint.clip(page.top, page.bottom)
    for node in page.visible:
        if node.look != "bar" and node.role != "tab":
            LOOKS[node.role](paint, node, theme)
    _scroll_bar(paint, page, theme)
    paint.clip(0, HEIGHT)
    paint.rect(0, 0, WIDTH, page.top, accent)
    for node in page.fixed:
        LOOKS[node.role](paint, node, theme)
    if page.screen.focus is not None or phone.dialog is None:
        for node in phone.nodes[len(page.visible) :]:
            LOOKS[node.role](paint, node, theme)


def _strip(paint: DisplayList, node: Node, theme: Theme) -> None:
    """A notification over the bar."""
    paint.rect(node.x0 + 2, node.y0 + 1, node.x1 - 2, node.y1 - 1, theme.card, 4)
    paint.icon(node.x0 + 11, _middle(node), node.icon, theme.faint)
    paint.text(node.x0 + 19, _middle(node) - 3.8, node.x1 - 4, node.text, SMALL, theme.ink)
    paint.text(node.x0 + 19, _middle(node) + 4.2, node.x1 - 4, node.detail, SMALL, theme.faint)


def _scroll_bar(paint: DisplayList, page: Page, theme: Theme) -> None:
    if page.longest_scroll > 0:
        room = page.bottom - page.top
        share = room / (room + page.longest_scroll)
        y = page.top + (room - room * share) * page.screen.scroll / page.longest_scroll
        paint.rect(WIDTH - 2, y + 1, WIDTH - 0.6, y + room * share - 1, mixed(theme.ground, theme.faint, 0.6), 0.7)


def _status(paint: DisplayList, phone: "Phone", theme: Theme) -> None:
    settings = phone.state["settings"]
    x = WIDTH - 17.0
    for icon, shown in (
        ("plane", settings.airplane),
        ("wifi", settings.wifi and settings.network != "" and not settings.airplane),
        ("bluetooth", settings.bluetooth and not settings.airplane),
    ):
        if shown:
            paint.icon(x - 5, 5, icon, WHITE)
            x -= 10
    if phone.stack:
        paint.text(3, 5.2, 40, phone.clock, SMALL, WHITE)
    paint.rect(WIDTH - 16, 2.6, WIDTH - 4, 7.6, mixed(WHITE, 0x202020, 0.35), 1.5)
    paint.rect(WIDTH - 16, 2.6, WIDTH - 16 + 12 * phone.charge / 100, 7.6, WHITE, 1.5)


def _middle(node: Node) -> float:
    return (node.y0 + node.y1) / 2


def _app(paint: DisplayList, node: Node, theme: Theme) -> None:
    x = (node.x0 + node.x1) / 2
    paint.rect(x - 12, node.y0, x + 12, node.y0 + 24, mixed(node.colour, WHITE, 0.12), 6)
    paint.icon(x, node.y0 + 12, node.icon, WHITE, 1)
    paint.text(node.x0 - 3, node.y0 + 31, node.x1 + 3, node.text, SMALL, WHITE, 1)


def _title(paint: DisplayList, node: Node, theme: Theme) -> None:
    paint.text(node.x0, _middle(node), node.x1, node.text, TITLE, WHITE)


def _tab(paint: DisplayList, node: Node, theme: Theme) -> None:
    paint.text(node.x0 + 1, _middle(node), node.x1 - 1, node.text, SMALL, WHITE if node.checked else 0xC9D3D6, 1)
    if node.checked:
        paint.rect(node.x0 + 4, node.y1 - 2, node.x1 - 4, node.y1, WHITE, 1)


def _row(paint: DisplayList, node: Node, theme: Theme) -> None:
    paint.rect(node.x0, node.y0, node.x1, node.y1, theme.card)
    paint.rect(node.x0 + 5, node.y1 - 0.6, node.x1, node.y1 + 0.4, theme.line)
    ink = theme.faint if node.disabled else theme.ink
    x, y = (17.0 if node.icon else 5.0), _middle(node)
    if node.icon:
        paint.icon(9, y, node.icon, AMBER if node.icon == "star" else theme.faint)
    right = WIDTH - (28.0 if node.role == "switch" else 12.0)
    if node.detail:
        paint.text(x, y - 4.6, right, node.text, BODY, ink)
        paint.text(x, y + 4.6, right + 6, node.detail, SMALL, theme.faint)
    else:
        paint.text(x, y, right, node.text, BODY, ink)
    if node.role == "row" and node.on_tap is not None:
        paint.icon(WIDTH - 7, y, "chevron", mixed(theme.card, theme.faint, 0.7))


def _switch(paint: DisplayList, node: Node, theme: Theme) -> None:
    _row(paint, node, theme)
    y = _middle(node)
    track = theme.accent if node.checked else mixed(theme.card, theme.faint, 0.55)
    paint.rect(WIDTH - 24, y - 4.5, WIDTH - 6, y + 4.5, mixed(track, theme.card, 0.6) if node.disabled else track, 4.5)
    x = WIDTH - 10.5 if node.checked else WIDTH - 19.5
    paint.rect(x - 3.5, y - 3.5, x + 3.5, y + 3.5, WHITE, 3.5)


def _radio(paint: DisplayList, node: Node, theme: Theme) -> None:
    _row(paint, node, theme)
    x, y = WIDTH - 11.0, _middle(node)
    paint.rect(x - 4, y - 4, x + 4, y + 4, theme.accent if node.checked else theme.faint, 4)
    paint.rect(x - 3, y - 3, x + 3, y + 3, theme.card, 3)
    if node.checked:
        paint.rect(x - 2, y - 2, x + 2, y + 2, theme.accent, 2)


def _field(paint: DisplayList, node: Node, theme: Theme) -> None:
    edge = theme.accent if node.focused else theme.line
    paint.rect(node.x0, node.y0 + 1, node.x1, node.y1 - 1, edge, 3)
    paint.rect(node.x0 + 1, node.y0 + 2, node.x1 - 1, node.y1 - 2, theme.card, 2.4)
    y = _middle(node)
    if not node.detail and not node.focused:
        paint.text(node.x0 + 4, y, node.x1 - 2, node.text, BODY, theme.faint)
        return
    paint.text(node.x0 + 4, y - 4.8, node.x1 - 2, node.text, SMALL, theme.accent if node.focused else theme.faint)
    paint.text(node.x0 + 4, y + 4, node.x1 - 2, node.detail + ("|" if node.focused else ""), BODY, theme.ink)


def _button(paint: DisplayList, node: Node, theme: Theme) -> None:
    x, y = (node.x0 + node.x1) / 2, _middle(node)
    if node.look == "bar":
        paint.icon(x, y, node.icon, WHITE, 1)
    elif node.look == "round":
        colour = mixed(theme.ground, theme.faint, 0.25 if node.disabled else 0.5)
        paint.rect(x - 6, y - 6, x + 6, y + 6, colour, 6)
        paint.icon(x, y, node.icon, theme.ground if node.disabled else WHITE)
    elif node.look == "inset":
        paint.icon(x, y, node.icon, theme.faint)
    else:
        fill = {"plain": mixed(theme.card, theme.faint, 0.22), "danger": mixed(theme.ground, RED, 0.14)}
        ink = {"plain": theme.ink, "danger": RED}
        paint.rect(node.x0, node.y0, node.x1, node.y1, fill.get(node.look, node.colour or theme.accent), 5)
        paint.text(node.x0 + 2, y, node.x1 - 2, node.text, BODY, ink.get(node.look, WHITE), 1)


def _chip(paint: DisplayList, node: Node, theme: Theme) -> None:
    fill = node.colour if node.checked else mixed(theme.ground, theme.faint, 0.2)
    paint.rect(node.x0, node.y0, node.x1, node.y1, fill, 6)
    paint.text(node.x0 + 2, _middle(node), node.x1 - 1, node.text, SMALL, WHITE if node.checked else theme.ink, 1)


def _text(paint: DisplayList, node: Node, theme: Theme) -> None:
    y = _middle(node)
    if node.look == "value":
        paint.text(node.x0 + 1, y - 3.8, node.x1, node.text.capitalize(), SMALL, theme.faint)
        paint.text(node.x0 + 1, y + 4.6, node.x1, node.detail, BODY, theme.ink)
        return
    centred = node.look in ("big", "centre")
    ink = {"error": RED, "centre": theme.faint}.get(node.look, theme.ink)
    paint.text(node.x0, y, node.x1, node.text, BIG if node.look == "big" else BODY, ink, int(centred))


def _section(paint: DisplayList, node: Node, theme: Theme) -> None:
    paint.text(node.x0 + 1, _middle(node) + 1, node.x1, node.text, SMALL, theme.faint)


def _image(paint: DisplayList, node: Node, theme: Theme) -> None:
    x, y = (node.x0 + node.x1) / 2, _middle(node)
    half = (node.y1 - node.y0) / 2 - 3
    if node.colour:
        paint.rect(x - half, y - half, x + half, y + half, node.colour, half * 0.4)
        ink = 0x3A3D42 if node.colour == 0xE4E6EA else WHITE
        paint.icon(x, y, node.icon, ink, 2 if half < 16 else 3)
    else:
        paint.icon(x, y, node.icon, mixed(theme.ground, theme.faint, 0.6), 2)


def _dialog(paint: DisplayList, node: Node, theme: Theme) -> None:
    paint.rect(node.x0, node.y0, node.x1, node.y1, theme.card, 7)
    paint.text(node.x0 + 6, node.y0 + 10, node.x1 - 4, node.text, TITLE, theme.ink)


def _keyboard(paint: DisplayList, node: Node, theme: Theme) -> None:
    paint.rect(0, HEIGHT - KEYBOARD, WIDTH, HEIGHT, mixed(theme.ground, theme.faint, 0.3))


def _key(paint: DisplayList, node: Node, theme: Theme) -> None:
    paint.rect(node.x0 + 0.8, node.y0 + 1, node.x1 - 0.8, node.y1 - 1, theme.key, 2)
    y = _middle(node)
    if node.icon:
        paint.icon((node.x0 + node.x1) / 2, y, node.icon, theme.ink)
    else:
        paint.text(node.x0, y, node.x1, node.text, BODY, theme.ink, 1)


LOOKS: dict[str, Callable[[DisplayList, Node, Theme], None]] = {
    "app": _app, "title": _title, "tab": _tab, "row": _row,
    "item": _row, "switch": _switch, "radio": _radio, "field": _field,
    "button": _button, "chip": _chip, "text": _text, "section": _section, "image": _image, "dialog": _dialog,
    "keyboard": _keyboard, "key": _key, "notification": _strip,
}  # fmt: skip
