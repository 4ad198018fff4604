"""Keys of a keyboard as commands of ``Input.dispatchKeyEvent``: what a page sees when somebody types."""

from typing import Any

from .... import unknown

Command = tuple[str, dict[str, Any]]
MOST_STROKES = 500

# name: (code, virtual key, text); https://w3c.github.io/uievents-code/ and -key/
NAMED: dict[str, tuple[str, int, str]] = {
    "Enter": ("Enter", 13, "\r"),
    "Tab": ("Tab", 9, ""),
    "Escape": ("Escape", 27, ""),
    "Backspace": ("Backspace", 8, ""),
    "Delete": ("Delete", 46, ""),
    "Home": ("Home", 36, ""),
    "End": ("End", 35, ""),
    "PageUp": ("PageUp", 33, ""),
    "PageDown": ("PageDown", 34, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "Shift": ("ShiftLeft", 16, ""),
    "Control": ("ControlLeft", 17, ""),
    "Alt": ("AltLeft", 18, ""),
}
CONTROL = {"\n": "Enter", "\t": "Tab"}
MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
EDITS = {"a": "selectAll", "c": "copy", "v": "paste", "x": "cut", "z": "undo"}
"""Control and a letter: Chromium takes what such a key does to a field from the window system, or from us."""
PLAIN = {" ": ("Space", 32)} | {
    sign: (code, number)
    for signs, code, number in (
        ("-_", "Minus", 189),
        ("=+", "Equal", 187),
        ("[{", "BracketLeft", 219),
        ("]}", "BracketRight", 221),
        ("\\|", "Backslash", 220),
        (";:", "Semicolon", 186),
        ("'\"", "Quote", 222),
        (",<", "Comma", 188),
        (".>", "Period", 190),
        ("/?", "Slash", 191),
        ("`~", "Backquote", 192),
        *((f"{digit}{')!@#$%^&*('[digit]}", f"Digit{digit}", 48 + digit) for digit in range(10)),
    )
    for sign in signs
}
SHIFTED = frozenset('ABCDEFGHIJKLMNOPQRSTUVWXYZ_+{}|:"<>?~!@#$%^&*()')


def strokes(text: str) -> list[Command]:
    """The commands that type a text; a line feed is Enter, a tab Tab, and no US keyboard's characters are inserted.

    So is the whole of a text beyond :data:`MOST_STROKES` characters, which would take seconds key by key.
    """
    if len(text) > MOST_STROKES:
        return [_insert(text)]
    commands: list[Command] = []
    strange = ""
    for character in text:
        key = CONTROL.get(character, character)
        if key in NAMED or _on_keyboard(key):
            commands += [_insert(strange)] if strange else []
            commands += keystroke(key)
            strange = ""
        else:
            strange += character
    return commands + ([_insert(strange)] if strange else [])


def keystroke(name: str) -> list[Command]:
    """Down and up of one key, with modifiers in front: ``"Enter"``, ``"A"``, ``"Control+a"``, ``"+"``.

    Raises:
        ValueError: there is no such key.
    """
    *held, key = name[:-1].split("+") + [name[-1:]] if name.endswith("+") else name.split("+")
    held = [one for one in held if one]
    if wrong := [one for one in held if one not in MODIFIERS]:
        raise ValueError(unknown("modifier", wrong[0], MODIFIERS))
    code, number, text = _look_up(key)
    modifiers = sum(MODIFIERS[one] for one in set(held)) | (MODIFIERS["Shift"] if key in SHIFTED else 0)
    event = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
    down: dict[str, Any] = {**event, "type": "keyDown" if text else "rawKeyDown"}
    if modifiers & ~MODIFIERS["Shift"]:
        down["type"] = "rawKeyDown"  # Control+a types no letter
        if modifiers == MODIFIERS["Control"] and key.lower() in EDITS:
            down["commands"] = [EDITS[key.lower()]]
    elif text:
        down["text"] = text
    return [("Input.dispatchKeyEvent", down), ("Input.dispatchKeyEvent", {**event, "type": "keyUp"})]


def _on_keyboard(character: str) -> bool:
    return character in PLAIN or (character.isascii() and character.isalpha())


def _look_up(key: str) -> tuple[str, int, str]:
    if key in NAMED:
        return NAMED[key]
    if key in PLAIN:
        return *PLAIN[key], key
    if len(key) == 1 and _on_keyboard(key):
        return f"Key{key.upper()}", ord(key.upper()), key
    raise ValueError(unknown("key", key, (*NAMED, *PLAIN)))


def _insert(text: str) -> Command:
    return "Input.insertText", {"text": text}
