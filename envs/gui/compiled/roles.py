"""Numbers of roles and looks in the table of nodes."""

ROLES = (
    *("app", "button", "row", "item", "switch", "radio", "field", "tab", "chip"),
    *("image", "text", "title", "section", "dialog", "spinner", "keyboard", "banner", "notification", "key"),
)
(
    APP, BUTTON, ROW, ITEM, SWITCH, RADIO, FIELD, TAB, CHIP, IMAGE, TEXT, TITLE, SECTION, DIALOG, SPINNER, KEYBOARD,
    BANNER, NOTIFICATION, KEY,
) = range(len(ROLES))  # fmt: skip
LOOKS = ("", "bar", "round", "inset", "primary", "plain", "danger", "body", "big", "small", "centre", "error", "value")
NO_LOOK, BAR, ROUND, INSET, PRIMARY, PLAIN, DANGER, BODY, BIG, SMALL, CENTRE, ERROR, VALUE = range(len(LOOKS))
