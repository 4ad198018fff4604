"""Screens as XML and back: every line of our tree, and lines for the screens of others."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tiltyard.envs.gui.android.errors import CommandFailed
from tiltyard.envs.gui.android.hierarchy import LONGEST, dump, tree
from tiltyard.envs.gui.commands import VERBS, parse
from tiltyard.envs.gui.declare import widgets as w
from tiltyard.envs.gui.declare.app import App, View
from tiltyard.envs.gui.declare.operations import Set, Toggle
from tiltyard.envs.gui.declare.state import Choice, Table, Text
from tiltyard.envs.gui.problems import generate, templates

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "declare"))
from declared import Bench
from devices import new_phone

BOUNDS = re.compile(r"-?\d\.\d\d")
STOCK = """<?xml version='1.0' encoding='UTF-8' standalone='yes' ?><hierarchy rotation="0">
<node text="" class="android.widget.FrameLayout" package="com.android.settings" bounds="[0,0][1000,2000]">
<node text="Network &amp; &quot;internet&quot;" class="a.TextView" content-desc="" bounds="[0,0][500,100]" />
<node text="" class="android.widget.LinearLayout" clickable="true" bounds="[0,100][1000,300]">
 <node text="Wi\u2011Fi" class="android.widget.TextView" bounds="[0,100][900,200]" />
 <node text="Caf\u00e9" class="android.widget.TextView" bounds="[0,200][900,300]" />
 <node text="" content-desc="" class="android.widget.Switch" checkable="true" checked="true" clickable="true"
  enabled="false" bounds="[900,100][1000,300]" /></node>
<node text="" hint="Search settings" class="android.widget.EditText" clickable="true" focused="true" enabled="true"
 long-clickable="true" bounds="[0,300][1000,400]" />
<node text="" class="android.view.View" scrollable="true" bounds="[0,400][1000,2000]" />
</node></hierarchy>"""


def alike(ours: str, theirs: str) -> None:
    """The same lines, with bounds rounded to pixels."""
    assert BOUNDS.sub("#", ours) == BOUNDS.sub("#", theirs)
    apart = np.array([*map(float, BOUNDS.findall(ours))]) - np.array([*map(float, BOUNDS.findall(theirs))])
    assert abs(apart).max() < 0.0101


def test_every_line_of_our_tree_comes_back_on_many_screens() -> None:
    seen = set()
    for seed in range(30):
        phone = generate("train", seed, 0, 1 + seed % 3, templates(1 + seed % 3, None)).phone()
        rng = np.random.default_rng(seed)
        for _ in range(12):
            alike(phone.tree(), tree(dump(phone, "com.tiltyard.any", 432, 768), 432, 768))
            seen |= {line.split(" ")[0] for line in phone.tree().splitlines()}
            action = f"tap {rng.random():.3f} {rng.random():.3f}" if rng.random() < 0.8 else "type x"
            phone.act(parse(action))
    assert {"message", "swipe", "field", "switch", "dialog", "spinner"} <= seen, "there was enough to see"


def test_markup_and_quotes_in_texts_survive() -> None:
    phone = new_phone(0)
    for action in ("tap 0.5 0.4", "tap 0.5 0.3", "type <b>&\"x'</b>"):
        phone.act(parse(action))
    xml = dump(phone, "com.tiltyard.any", 432, 768)
    assert "<b>" not in xml
    assert ElementTree.fromstring(xml).tag == "hierarchy"
    alike(phone.tree(), tree(xml, 432, 768))
    assert "<b>&'x'</b>" in tree(xml, 432, 768)


def test_what_can_be_held_and_dragged_says_so() -> None:
    rows = (
        w.Row("hold me", hold=Toggle("one.place")),
        w.Row("drag me", drop=Set("one.place", "onto")),
        w.Row("here", target="'a'"),
    )
    app = App(
        key="desk", name="Desk", icon="box", colour=0, record="Desk",
        state={"ones": Table("One", {"name": Text(), "place": Choice(("a", "b"))})},
        data={"ones": "[One(name='x', place='b')]"},
        screens={"main": View((w.Bar("Desk"), w.ForEach("one", "ones", rows[1:])))},
    )  # fmt: skip
    phone = Bench(app).phone()
    phone.act(parse("open desk", VERBS))
    lines = tree(dump(phone, "com.tiltyard.desk", 432, 768), 432, 768).splitlines()
    assert [line.split('"')[1] for line in lines if line.endswith(" drag")] == ["drag me"]
    assert [line.split('"')[1] for line in lines if line.endswith(" drop")] == ["here"]
    alike(phone.tree(), "\n".join(lines))


def test_screens_of_others_become_lines() -> None:
    assert tree(STOCK, 1000, 2000).splitlines() == [
        'screen "com.android.settings"',
        "text \"Network & 'internet'\" 0.00 0.00 0.50 0.05",
        'row "Wi?Fi" "Caf?" 0.00 0.05 1.00 0.15',
        'switch "" 0.90 0.05 1.00 0.15 checked disabled',
        'field "Search settings" 0.00 0.15 1.00 0.20 focused hold',
        "swipe up down",
    ]


def test_a_long_screen_is_cut_at_a_line() -> None:
    many = "".join(f'<node text="n{i}" class="a.TextView" bounds="[0,0][9,9]" />' for i in range(900))
    text = tree(f'<hierarchy><node package="x" bounds="[0,0][9,9]">{many}</node></hierarchy>', 9, 9)
    assert LONGEST - 60 < len(text) <= LONGEST
    assert text.splitlines()[-1].endswith("1.00 1.00")


@pytest.mark.parametrize(
    ("xml", "says"),
    [
        ("ERROR: could not get idle state.", "gave no XML"),
        ("<hierarchy><node", "gave no XML"),
        ("<hierarchy rotation='0' />", "gave no window"),
        ("<html><body /></html>", "gave no window"),
        ('<hierarchy><node package="x"><node text="a" /></node></hierarchy>', "an element without bounds"),
    ],
)
def test_what_is_no_dump_says_so(xml: str, says: str) -> None:
    with pytest.raises(CommandFailed, match=says):
        tree(xml, 100, 100)
