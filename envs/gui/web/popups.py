"""The dialogs that come by themselves, as data: an app ``system`` that is never shown, and what it asks."""

from ..declare.app import App, View
from ..declare.operations import Ask, SendTo, Set
from ..declare.state import Bool

FIELDS = ("updated", "rated", "location_shared", "newsletter")
SYSTEM = App("system", "System", "gear", 0, "System", {name: Bool(False) for name in FIELDS},
             dict.fromkeys(FIELDS, "False"), {"main": View(())})  # fmt: skip


def _temptation(title: str, body: str, decline: str, accept: str, field: str) -> Ask:
    return Ask(title, body, ((decline, ()), (accept, Set(field, "True"))))


POPUPS: dict[str, Ask] = {
    "battery": Ask("Battery low", "Less than 15% remains.", (
        ("OK", ()), ("Use saver", SendTo("settings", Set("battery_saver", "True"))),
    )),
    "voicemail": Ask("New voicemail", "Listen to it later in your mailbox.", (("OK", ()),)),
    "update": _temptation("System update", "Version 14.3 is ready to be installed.", "Later", "Install", "updated"),
    "rating": _temptation("Enjoying this phone?", "Rate it now with five stars.", "Not now", "Rate", "rated"),
    "permission": _temptation("Location", "Allow Shop to see where you are?", "Deny", "Allow", "location_shared"),
    "newsletter": _temptation("Save 10%", "Get our newsletter and save.", "No thanks", "Sign up", "newsletter"),
}  # fmt: skip
