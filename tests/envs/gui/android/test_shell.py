"""The fake device's shell and its programs, over our own client."""

import sys
from pathlib import Path

import pytest

from tiltyard.envs.gui.android.errors import CommandFailed
from tiltyard.envs.gui.android.shell import tokenise

sys.path.insert(0, str(Path(__file__).parent))
from devices import shell

LINES = [
    ("echo hi", 0, "hi", ""),
    ("echo 'a  b' \"c $? d\" e\\ f", 0, "a  b c 0 d e f", ""),
    ("false; echo $?", 0, "1", ""),
    ("false && echo no; true && echo yes", 0, "yes", ""),
    ("false || echo other", 0, "other", ""),
    ("exit 7", 7, "", ""),
    ("echo a | cat", 0, "a", ""),
    ("(echo a; echo b) | cat", 0, "a\nb", ""),
    ("echo out >/dev/null; echo err 1>&2", 0, "", "err"),
    ("ls /nowhere 2>&1", 1, "ls: /nowhere: No such file or directory", ""),
    ("ls /nowhere 2>/dev/null || echo none", 0, "none", ""),
    ("echo one > /sdcard/x; echo two >> /sdcard/x; cat /sdcard/x", 0, "one\ntwo", ""),
    ("cat < /sdcard/none; echo end", 0, "end", ""),
    ("rm /sdcard/none", 1, "", "rm: /sdcard/none: No such file or directory"),
    ("rm -f /sdcard/none", 0, "", ""),
    ("mkdir -p /sdcard/a/b; echo x > /sdcard/a/b/c; rm -r /sdcard/a; ls /sdcard", 0, "x", ""),
    ("nosuch -x", 127, "", "/system/bin/sh: nosuch: inaccessible or not found"),
    ("echo 'open", 1, "", "/system/bin/sh: syntax error: cannot read \"'open\""),
    ("printf x", 127, "", "/system/bin/sh: printf: inaccessible or not found"),
    ("getprop ro.build.version.sdk; getprop no.such", 0, "33", ""),
    ("wm size; wm density", 0, "Physical size: 432x768\nPhysical density: 192", ""),
    ("pm list packages tiltyard.s", 0, "package:com.tiltyard.settings\npackage:com.tiltyard.shop", ""),
    ("pm path com.none", 1, "", ""),
    ("am start -n com.none/.Main 2>/dev/null", 1, "Starting: Intent { cmp=com.none/.Main }", ""),
    ("am start -a android.settings.SETTINGS >/dev/null; dumpsys window | grep -i CURRENTFOCUS", 0,
     "mCurrentFocus=Window{1 u0 com.tiltyard.settings/com.tiltyard.settings.Main}", ""),
    ("monkey -p com.tiltyard.shop 1; dumpsys activity | grep mResumed", 0,
     "Events injected: 1\n  mResumedActivity: ActivityRecord{1 u0 com.tiltyard.shop/.Main t1}", ""),
    ("toybox md5sum /dev/none", 1, "", "md5sum: /dev/none: No such file or directory"),
    ("echo abc | wc -c; echo x > /data/local/tmp/f; [ -e /data/local/tmp/f ] && echo there", 0, "4\nthere", ""),
    ("input tap 1", 1, "", "Error: usage: input tap X Y"),
    ("input tap nan 5", 1, "", "Error: usage: input tap X Y"),
    ("input keyevent KEYCODE_MOON", 1, "",
     "Error: there is no key 'KEYCODE_MOON'; keys are HOME, BACK, DPAD_CENTER, ENTER, DEL, NUMPAD_ENTER, SPACE, POWER, "
     "WAKEUP, SLEEP, MENU, APP_SWITCH, VOLUME_UP, VOLUME_DOWN, ..."),
    ("input dance", 1, "", "Error: Unknown command: dance\nUsage: input tap|swipe|text|keyevent"),
    ("sleep soon", 1, "", "usage: sleep SECONDS"),
]  # fmt: skip


def test_lines_do_what_they_do_on_a_device() -> None:
    with shell() as (link, _):
        for line, code, out, err in LINES:
            done = link.shell(line, 5.0)
            assert (done.text, done.err.decode().strip(), done.code) == (out, err, code), line


def test_ten_thousand_characters_and_html_are_text_like_any_other() -> None:
    long = "<b>&amp;</b>" * 1000
    with shell() as (link, _):
        assert link.shell(f"echo '{long}'", 5.0).text == long
        assert link.shell("echo '\u00e9\u4f60'", 5.0).text == "\u00e9\u4f60"
    with pytest.raises(CommandFailed, match="a line of 1048577 characters is too long"):
        tokenise("x" * (2**20 + 1))


def test_settings_are_fields_of_the_app_and_the_rest_is_kept() -> None:
    with shell() as (link, device):
        link.shell("settings put global wifi_on 0; settings put system brightness 4", 5.0)
        settings = device.host.phone.state["settings"]
        assert settings.wifi is False
        assert settings.brightness == 4
        assert link.shell("settings get system screen_brightness", 5.0).text == "204"
        assert link.shell("settings get global wifi", 5.0).text == "0"
        assert link.shell("settings get global nothing", 5.0).text == "null"
        link.shell("settings put secure anything 'of mine'", 5.0)
        assert link.shell("settings get secure anything", 5.0).text == "of mine"
        listed = link.shell("settings list global", 5.0).text.splitlines()
        assert {"wifi_on=0", "brightness=4", "anything=of mine"} <= set(listed)
        for bad in ("global wifi_on 2", "system brightness 9", "system text_size Enormous", "else wifi_on 1"):
            assert link.shell(f"settings put {bad}", 5.0).code, bad
        assert device.host.phone.state["settings"] == settings


def test_providers_are_the_tables_of_the_apps() -> None:
    uri = "content://tiltyard.contacts/contacts"
    with shell() as (link, device):
        people = device.host.phone.state["contacts"].contacts
        lines = link.shell(f"content query --uri {uri} --projection name:number", 5.0).text.splitlines()
        assert lines == [f"Row: {i} name={one.name}, number={one.number}" for i, one in enumerate(people)]
        found = link.shell(f"content query --uri {uri} --where \"name='{people[3].name}' AND favourite=0\"", 5.0).text
        assert found.startswith(f"Row: 0 name={people[3].name}, number=") != people[3].favourite
        bind = "--bind 'name:s:Aaa O''Neil' --bind number:s:555 --bind favourite:b:1"
        assert link.shell(f"content insert --uri {uri} {bind}", 5.0).code == 0
        new = device.host.phone.state["contacts"].contacts[0]
        assert (new.name, new.number, new.favourite, new.email) == ("Aaa ONeil", "555", True, ""), "sorted by name"
        link.shell(f"content update --uri {uri} --bind number:s:777 --where \"name='Aaa ONeil'\"", 5.0)
        assert device.host.phone.state["contacts"].contacts[0].number == "777"
        stock = "content://com.android.contacts/data/phones"
        said = link.shell(f"content query --uri {stock} --projection display_name:data1 --where data1=777", 5.0).text
        assert said == "Row: 0 display_name=Aaa ONeil, data1=777"
        link.shell(f"content delete --uri {uri} --where \"name='Aaa ONeil'\"", 5.0)
        assert device.host.phone.state["contacts"].contacts == people
        assert link.shell("content query --uri content://call_log/calls --projection type", 5.0).text.startswith(
            "Row: 0"
        )
        assert (
            link.shell("content query --uri content://tiltyard.settings --projection wifi", 5.0).text == "Row: 0 wifi=1"
        )
        assert link.shell(f"content query --uri {uri} --where name=Nobody", 5.0).text == "No result found."


PEOPLE = "--uri content://tiltyard.contacts/contacts"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("query --uri content://nowhere/x", "could not find provider: content://nowhere/x"),
        ("query --uri content://tiltyard.contacts/nothing", "could not find provider"),
        (f"query {PEOPLE} --where 'name LIKE 1'", "cannot read the condition"),
        (
            "insert --uri content://tiltyard.contacts/contacts --bind colour:s:red",
            "has no column 'colour'; it has name",
        ),
        (
            "insert --uri content://tiltyard.contacts/contacts --bind favourite:s:perhaps",
            "'perhaps' is no value of Bool",
        ),
        ("insert --uri content://tiltyard.settings --bind wifi:b:1", "is one row"),
        (f"update {PEOPLE} --bind bare", "--bind is NAME:TYPE:VALUE"),
        (f"explode {PEOPLE}", "usage: content"),
    ],
)
def test_what_no_provider_takes_fails_and_changes_nothing(line: str, says: str) -> None:
    with shell() as (link, device):
        before = dict(device.host.phone.state)
        done = link.shell(f"content {line}", 5.0)
        assert done.code
        assert says in done.err.decode()
        assert device.host.phone.state == before
