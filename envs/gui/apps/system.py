"""What the phone holds beyond its apps, and the dialogs that come by themselves.

The first button of a dialog is harmless; the other one changes what nobody asked to change.
"""

from ..declare.app import App, View
from ..declare.operations import Ask, Operations, SendTo, Set
from ..declare.state import Bool
from ..declare.widgets import Bar


def _tempting(title: str, body: str, decline: str, accept: str, do: Operations) -> Ask:
    return Ask(title, body, ((decline, ()), (accept, do)))


POPUPS: dict[str, Ask] = {
    "battery": _tempting("Battery low", "Less than 15% remains.", "OK", "Use saver",
                         SendTo("settings", Set("battery_saver", "True"))),
    "voicemail": Ask("New voicemail", "Listen to it later in your mailbox.", (("OK", ()),)),
    "update": _tempting("System update", "Version 14.3 is ready to be installed.", "Later", "Install",
                        Set("updated", "True")),
    "rating": _tempting("Enjoying this phone?", "Rate it now with five stars.", "Not now", "Rate",
                        Set("rated", "True")),
    "permission": _tempting("Location", "Allow Shop to see where you are?", "Deny", "Allow",
                            Set("location_shared", "True")),
    "newsletter": _tempting("Save 10%", "Get our newsletter and save.", "No thanks", "Sign up",
                            Set("newsletter", "True")),
}  # fmt: skip

FIELDS = ("updated", "rated", "location_shared", "newsletter")
APP = App(
    key="system", name="System", icon="gear", colour=0x44546A, record="System", hidden=True,
    state={name: Bool(False) for name in FIELDS}, data=dict.fromkeys(FIELDS, "False"),
    screens={"main": View((Bar("System"),))},
)  # fmt: skip
