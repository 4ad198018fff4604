"""Commands as shell lines, screens as bytes, and what is tried again: with a link that is written down here."""

import struct
from typing import Any

import numpy as np
import pytest

from tiltyard.envs.gui.android.errors import AdbTimeout, CommandFailed, DeviceGone
from tiltyard.envs.gui.android.handset import NO_TREE, Handset, Look, split, typed
from tiltyard.envs.gui.android.link import Result
from tiltyard.envs.gui.commands import VERBS, parse

XML = b'<hierarchy><node package="com.app" bounds="[0,0][4,2]" text="x" class="a.TextView" /></hierarchy>'
PIXELS = bytes(range(32))  # 4 x 2 x 4
SCREEN = struct.pack("<4I", 4, 2, 1, 1) + PIXELS
ACTIVITIES = "    packageName=org.maker.app7\n    labelRes=0x0 nonLocalizedLabel=My App icon=0x0\n"


class Written:
    """Answers what is written down, in order; an exception is raised."""

    name = "a device"

    def __init__(self, **said: Any) -> None:
        self.said, self.lines, self.connected = said, [], 0

    def connect(self) -> None:
        self.connected += 1

    def shell(self, line: str, timeout: float) -> Result:
        self.lines.append(line)
        out = next((out for start, out in SAID.items() if line.startswith(start)), "")
        return Result(out.encode(), b"", 0)

    def raw(self, line: str, timeout: float) -> bytes:
        answer = self.said["raw"].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        pass


SAID = {
    "wm size": "Physical size: 1440x2560\nOverride size: 1000x2000",
    "pm list": "package:com.android.settings\npackage:org.maker.app7\npackage:com.google.android.deskclock",
    "cmd package": ACTIVITIES + ACTIVITIES.replace("app7", "none").replace("My App", "null"),
}
LINES = {
    "tap 0.5 0.25": "input tap 500 500",
    "tap 1 1": "input tap 999 1999",
    "long_press 0.1 0.2": "input swipe 100 400 100 400 800",
    "drag 0.1 0.2 0.3 0.4": "input draganddrop 100 400 300 800 1500",
    "swipe up": "input swipe 500 1400 500 600 300",
    "swipe down": "input swipe 500 600 500 1400 300",
    "swipe left": "input swipe 800 1000 200 1000 300",
    "swipe right": "input swipe 200 1000 800 1000 300",
    "type hello there": "input text hello%sthere",
    "type it's; rm -rf $HOME": "input text 'it'\"'\"'s;%srm%s-rf%s$HOME'",
    "type 100%s": "input text 100%; input text s",
    "back": "input keyevent KEYCODE_BACK",
    "home": "input keyevent KEYCODE_HOME",
    "enter": "input keyevent KEYCODE_ENTER",
    "open Settings": "monkey -p com.android.settings -c android.intent.category.LAUNCHER 1",
    "open my app": "monkey -p org.maker.app7 -c android.intent.category.LAUNCHER 1",
    "open clock": "monkey -p com.google.android.deskclock -c android.intent.category.LAUNCHER 1",
    "open null": "sleep 0",
    "wait": "sleep 1",
    "answer 5": "sleep 0",
    "jump": "sleep 0",
    "done": "",
    "infeasible": "",
}


@pytest.mark.parametrize(("action", "line"), LINES.items())
def test_each_command_is_one_line(action: str, line: str) -> None:
    assert Handset(Written()).line(parse(action, VERBS)) == line


def test_every_verb_is_among_these() -> None:
    assert {parse(action, VERBS).verb for action in LINES} == {*VERBS, ""}


def test_only_what_an_agent_should_hear_is_told() -> None:
    handset = Handset(Written())
    assert handset.perform(parse("open Nowhere", VERBS)) == "there is no app of that name"
    assert handset.perform(parse("jump", VERBS)).startswith("could not read that action")
    assert handset.perform(parse("back", VERBS)) == handset.perform(parse("done", VERBS)) == ""


def test_screens_of_either_head_with_and_without_a_tree() -> None:
    for data in (SCREEN, struct.pack("<3I", 4, 2, 1) + PIXELS):
        for xml in (b"", XML):
            rgba, found = split(data + xml)
            np.testing.assert_array_equal(rgba.ravel(), np.frombuffer(PIXELS, np.uint8))
            assert found.encode() == xml


@pytest.mark.parametrize("data", [b"", b"error: closed", SCREEN[:-1], SCREEN + b"junk", SCREEN + XML[:-3], b"x" * 64])
def test_what_is_cut_short_is_no_screen(data: bytes) -> None:
    with pytest.raises(CommandFailed, match=r"screencap gave|not whole"):
        split(data)


def test_a_frame_is_shrunk_by_means() -> None:
    rgba = np.zeros((4, 4, 4), np.uint8)
    rgba[:2, :2] = np.array([[0, 100], [200, 100]], np.uint8)[..., None]
    for shape in ((2, 2), (2, 4), (4, 4)):
        frame = Look(rgba, "").frame(*shape)
        assert frame.shape == (*shape, 3)
    assert Look(rgba, "").frame(2, 2)[0, 0].tolist() == [100, 100, 100]
    np.testing.assert_array_equal(Look(rgba, "").frame(4, 4), rgba[..., :3])


def test_looks_are_tried_again_and_connections_made_anew() -> None:
    link = Written(raw=[SCREEN[:20], AdbTimeout("late"), DeviceGone("gone"), SCREEN + XML])
    handset = Handset(link, timeout=0.1, patience=5.0)
    assert handset.look().tree.splitlines()[0] == 'screen "com.app"'
    assert handset.failures == 3
    assert link.connected == 2, "a device that answers nonsense is there"


def test_a_screen_that_never_rests_has_no_tree() -> None:
    handset = Handset(Written(raw=[SCREEN] * 3), timeout=0.1, patience=5.0)
    assert handset.look().tree == NO_TREE


def test_patience_ends_with_the_last_failure() -> None:
    handset = Handset(Written(raw=[DeviceGone("it is off")] * 99), timeout=0.05, patience=0.2)
    with pytest.raises(DeviceGone, match="it is off"):
        handset.look()
    assert 2 <= handset.failures <= 6


def test_a_text_with_percent_s_is_typed_in_two_parts() -> None:
    assert typed("%s%s") == "input text %; input text s%; input text s"
