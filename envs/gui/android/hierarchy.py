"""Screens as XML, in the form that ``uiautomator dump`` writes, and from it the lines that our agents read.

Of our own phone every line of the tree comes back from the XML, with bounds rounded to pixels. Of any other app a line
is made for whatever has a text or can be touched: ``role "text" "second text" x0 y0 x1 y1 flags``.
"""

import re
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from ..device import Phone
from ..ui import HEIGHT, WIDTH, Node
from .errors import CommandFailed

LONGEST = 8000
OURS = "com.tiltyard."
SYSTEM = "com.android.systemui"
CLASSES = {
    "button": "android.widget.Button", "switch": "android.widget.Switch", "radio": "android.widget.RadioButton",
    "field": "android.widget.EditText", "image": "android.widget.ImageView", "chip": "android.widget.ToggleButton",
    "row": "android.widget.LinearLayout", "item": "android.widget.LinearLayout",
    "spinner": "android.widget.ProgressBar",
    "dialog": "android.app.AlertDialog", "keyboard": "android.inputmethodservice.KeyboardView",
    "tab": "android.app.ActionBar$Tab", "app": "android.widget.TextView",
}  # fmt: skip
ROLES = {
    "Button": "button", "ImageButton": "button", "Switch": "switch", "SwitchCompat": "switch", "CheckBox": "switch",
    "ToggleButton": "chip", "CompoundButton": "switch", "RadioButton": "radio", "CheckedTextView": "radio",
    "EditText": "field", "AutoCompleteTextView": "field", "ImageView": "image", "TextView": "text",
    "ProgressBar": "spinner", "SeekBar": "slider", "Tab": "tab",
}  # fmt: skip
DRAGS = (("drag", "draggable"), ("drop", "drop-target"))
"""Flags of our phone's lines, and attributes that stock Android does not write."""
BOUNDS = re.compile(r"\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]")
HEAD = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"


def dump(phone: Phone, package: str, width: int, height: int) -> str:
    """The phone's screen as XML: one node an element, within one for the whole screen."""
    lines = phone.tree().split("\n")
    said = [line for line in lines if line.startswith('message "')]
    scroll = lines[-1].removeprefix("swipe ") if lines[-1].startswith("swipe ") else ""
    whole = (0, 0, width, height)
    parts = [
        _node(1, "android.view.View", SYSTEM, f"{SYSTEM}:id/status", "", phone.status(), (0, 0, width, 10), ""),
        *(_node(2, "android.widget.Toast", package, f"{package}:id/message", one[9:-1], "", whole, "") for one in said),
    ]
    shown = [node for node in phone.nodes if node.role != "key"]
    parts += [_element(i + 3, node, package, width, height) for i, node in enumerate(shown)]
    if scroll:
        flags = 'scrollable="true"'
        parts.append(_node(0, "android.widget.ScrollView", package, f"{package}:id/swipe", "", scroll, whole, flags))
    top = _node(
        0, "android.widget.FrameLayout", package, f"{package}:id/screen", "", phone.where, whole, "", "".join(parts)
    )
    return f'{HEAD}<hierarchy rotation="0">{top}</hierarchy>'


def _element(index: int, node: Node, package: str, width: int, height: int) -> str:
    sx, sy = width / WIDTH, height / HEIGHT
    box = round(node.x0 * sx), round(node.v0 * sy), round(node.x1 * sx), round(node.v1 * sy)
    flags = f'checkable="{_yes(node.checked is not None)}" checked="{_yes(bool(node.checked))}" '
    flags += f'clickable="{_yes(node.on_tap is not None)}" enabled="{_yes(not node.disabled)}" '
    flags += f'focusable="{_yes(node.role == "field")}" focused="{_yes(node.focused)}" '
    flags += f'long-clickable="{_yes(node.on_hold is not None)}"'
    flags += ' draggable="true"' if node.on_drop is not None else ""
    flags += ' drop-target="true"' if node.target is not None else ""
    kind = CLASSES.get(node.role, "android.widget.TextView")
    return _node(index, kind, package, f"{package}:id/{node.role}", node.text, node.detail, box, flags)


def _node(
    index: int, kind: str, package: str, name: str, text: str, about: str, box: tuple[int, ...], flags: str,
    children: str = "",
) -> str:  # fmt: skip
    given = {part.partition("=")[0] for part in flags.split()}
    usual = {"checkable": "false", "checked": "false", "clickable": "false", "enabled": "true", "focusable": "false",
             "focused": "false", "scrollable": "false", "long-clickable": "false", "password": "false",
             "selected": "false"}  # fmt: skip
    rest = " ".join(f'{key}="{value}"' for key, value in usual.items() if key not in given)
    x0, y0, x1, y1 = box
    start = f'<node index="{index}" text={quoteattr(text)} resource-id="{name}" class="{kind}" package="{package}"'
    start += f' content-desc={quoteattr(about)} {flags} {rest} bounds="[{x0},{y0}][{x1},{y1}]"'
    return f"{start}>{children}</node>" if children else f"{start} />"


def _yes(value: bool) -> str:
    return "true" if value else "false"


def tree(xml: str, width: int, height: int) -> str:
    """The lines an agent reads, of at most 8,000 printable ASCII characters, from what ``uiautomator dump`` wrote.

    Raises:
        CommandFailed: this is no such XML.
    """
    try:
        root = ElementTree.fromstring(xml[xml.index("<") :].strip())
    except (ValueError, ElementTree.ParseError) as error:
        raise CommandFailed(f"uiautomator dump gave no XML ({error}): {xml[:80]!r}") from error
    if root.tag != "hierarchy" or not len(root):
        raise CommandFailed(f"uiautomator dump gave no window: {xml[:80]!r}")
    package = root[0].get("package", "")
    lines = _ours(root[0], width, height) if package.startswith(OURS) else _foreign(root, package, width, height)
    text = "\n".join(lines)
    return text if len(text) <= LONGEST else text[: text.rindex("\n", 0, LONGEST)]


def _ours(top: ElementTree.Element, width: int, height: int) -> list[str]:
    lines, last = [f'screen "{_plain(top.get("content-desc", ""))}"'], []
    for node in top:
        role = node.get("resource-id", "").rpartition("/")[2]
        if role == "status":
            lines.append(f'status "{_plain(node.get("content-desc", ""))}"')
        elif role == "message":
            lines.append(f'message "{_plain(node.get("text", ""), 400)}"')
        elif role == "swipe":
            last.append(f"swipe {node.get('content-desc', '')}")
        else:
            lines.append(_line(role, node.get("text", ""), node.get("content-desc", ""), node, width, height))
    return lines + last


def _foreign(root: ElementTree.Element, package: str, width: int, height: int) -> list[str]:
    lines = [f'screen "{_plain(package)}"']
    told: set[ElementTree.Element] = set()
    for node in root.iter("node"):
        if node in told:
            continue
        words = [word for word in (node.get("text") or node.get("hint", ""), node.get("content-desc", "")) if word]
        touched = "true" in (node.get("clickable"), node.get("checkable"), node.get("long-clickable"))
        if touched and not words:
            inner = [one for one in node.iter("node") if one is not node and _only_text(one)]
            told.update(inner)
            words = [one.get("text", "") or one.get("content-desc", "") for one in inner]
        if words or touched:
            detail = ", ".join(dict.fromkeys(word for word in words[1:] if word != words[0]))
            lines.append(_line(_role(node, touched), words[0] if words else "", detail, node, width, height))
    if any(node.get("scrollable") == "true" for node in root.iter("node")):
        lines.append("swipe up down")
    return lines


def _only_text(node: ElementTree.Element) -> bool:
    touched = "true" in (node.get("clickable"), node.get("checkable"))
    return bool(node.get("text") or node.get("content-desc")) and not touched


def _role(node: ElementTree.Element, touched: bool) -> str:
    role = ROLES.get(re.split(r"[.$]", node.get("class", ""))[-1])
    return role if role is not None and not (touched and role == "text") else "row" if touched else "text"


def _line(role: str, text: str, detail: str, node: ElementTree.Element, width: int, height: int) -> str:
    found = BOUNDS.fullmatch(node.get("bounds", ""))
    if found is None:
        raise CommandFailed(f"uiautomator dump gave an element without bounds: {node.attrib!r:.80}")
    x0, y0, x1, y1 = (int(one) for one in found.groups())
    line = f'{role} "{_plain(text)}"' + (f' "{_plain(detail)}"' if detail else "")
    line += f" {x0 / width:.2f} {y0 / height:.2f} {x1 / width:.2f} {y1 / height:.2f}"
    if node.get("checkable") == "true":
        line += " checked" if node.get("checked") == "true" else " unchecked"
    line += " focused" if role == "field" and node.get("focused") == "true" else ""
    line += " disabled" if node.get("enabled") == "false" else ""
    line += " hold" if node.get("long-clickable") == "true" else ""
    return line + "".join(f" {word}" for word, key in DRAGS if node.get(key) == "true")


def _plain(text: str, longest: int = 60) -> str:
    printable = "".join(one if " " <= one <= "~" else " " if one.isspace() else "?" for one in text)
    return printable.replace('"', "'")[:longest]
