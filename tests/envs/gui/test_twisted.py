"""The rows that make phones differ, one by one, on phones of Phone-v1."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.envs.gui.apps.system import CORRECTIONS
from tiltyard.envs.gui.commands import VERBS, parse, tap
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.problems_v1 import Split, choices, generate, world
from tiltyard.envs.gui.render import Renderer
from tiltyard.envs.gui.stream import Stream
from tiltyard.envs.gui.themes import PALETTES, TEST_THEMES, TRAIN_THEMES
from tiltyard.envs.gui.twists import ROWS, Notice, Twists, draw, weighted
from tiltyard.envs.gui.ui import BAR, HEIGHT, STATUS, WIDTH, Node

sys.path.insert(0, str(Path(__file__).parent))
from phone_helpers import act, shown

PROBLEM = generate(11, 2, choices(2, ["contacts"], Split()), Split())
PLAIN = Twists()


def phone_with(**twists: Any) -> Any:
    return replace(PROBLEM, opened="", twists=replace(PLAIN, **twists)).phone()


def do(phone: Any, *actions: str) -> Any:
    for action in actions:
        phone.act(parse(action, VERBS))
    return phone


def strip(phone: Any) -> list[Node]:
    return [node for node in phone.nodes if node.role == "notification"]


def test_a_screen_that_fails_says_so_once_and_is_not_seen_until_it_is_loaded() -> None:
    phone = act(
        phone_with(failed="contacts/form", slow={"contacts/form": 2}), "<Phone>", "<New contact>", *["home"] * 3
    )
    act(phone, "<Phone>", "<New contact>")
    assert phone.loading == 2, "the failure was met before the phone went home"
    phone = act(phone_with(failed="contacts/form", slow={"contacts/form": 1}), "<Phone>", "<New contact>", "swipe up")
    assert [node.text for node in phone.nodes] == ["Back", "Phone", "", "Could not load", "Retry"]
    assert ("contacts", "form", None) not in phone.seen
    act(phone, "<Retry>")
    assert phone.loading == 1
    do(phone, "wait")
    assert shown(phone, "Name")
    assert ("contacts", "form", None) in phone.seen
    act(phone, "back", "<New contact>", "swipe up")
    assert shown(phone, "Name"), "it fails once"


def test_a_banner_stands_on_every_screen_of_its_app_and_installing_is_not_forgiven() -> None:
    phone = act(phone_with(advert=("contacts", "Super Saver")), "<Phone>")
    line = next(node for node in phone.nodes if node.role == "row")
    assert (line.text, line.detail, line.y0) == ("Super Saver", "Sponsored", phone.page.top + 3.0)
    act(phone, "<New contact>")
    assert shown(phone, "Super Saver")
    assert not shown(act(phone, "home", "<Settings>"), "Super Saver")
    before = dict(phone.state)
    act(phone, "home", "<Phone>", "<Super Saver>")
    assert phone.dialog.title == "Super Saver"
    act(phone, "<Close>")
    assert phone.state == before
    act(phone, "<Super Saver>", "<Install>")
    assert phone.state == {**before, "system": replace(before["system"], installed=True)}


def test_a_notification_comes_when_the_screen_is_free_and_stays_three_steps() -> None:
    notice = Notice(2, "settings", "Something new is waiting")
    phone = act(phone_with(notice=notice, slow={"contacts/main": 2}), "<Phone>", "swipe up")
    assert not strip(phone), "the screen loads"
    do(phone, "wait")
    (node,) = strip(phone)
    assert (node.text, node.detail, node.y0, node.y1) == ("Settings", notice.text, STATUS, STATUS + BAR)
    do(phone, "wait", "wait")
    assert strip(phone)
    do(phone, "wait", "wait", "wait")
    assert not strip(phone)


def test_a_notification_is_tapped_or_swiped_away() -> None:
    notice = Notice(1, "settings", "Something new is waiting")
    phone = act(phone_with(notice=notice), "<Phone>")
    centre = tap(0.9, (STATUS + BAR / 2) / HEIGHT)
    do(phone, centre)
    assert [screen.app for screen in phone.stack] == ["settings"]
    assert not strip(phone)
    phone = act(phone_with(notice=notice), "<Phone>")
    do(phone, "swipe up")
    assert phone.page.screen.scroll == 0.0
    assert not strip(phone)
    do(phone, "swipe up")
    assert phone.page.screen.scroll > 0.0
    phone = act(phone_with(notice=notice, popups={1: "update"}), "<Phone>")
    assert not strip(phone), "a dialog hides it"


def test_words_are_corrected_once_when_typed_into_a_field() -> None:
    assert CORRECTIONS["Ada"] == "And"
    phone = act(phone_with(autocorrect=True), "<Phone>", "type Ada", "<New contact>", "<Name>", "type Ada Adam, Wei")
    assert phone.stack[-1].drafts["name"] == "And Adam, We"
    act(phone, "<Clear Name>", "<Name>", "type Ada Wei Elm")
    assert phone.stack[-1].drafts["name"] == "Ada Wei Else"
    phone = act(phone_with(), "<Phone>", "<New contact>", "<Name>", "type Ada")
    assert phone.stack[-1].drafts["name"] == "Ada"


def test_density_stretches_columns_alone() -> None:
    wide, plain = (act(phone_with(density=d), "<Phone>", "<New contact>") for d in (1.15, 1.0))
    assert [n.y1 for n in wide.page.fixed] == [n.y1 for n in plain.page.fixed]
    first, second = ([n for n in phone.page.column if n.role == "field"][:2] for phone in (wide, plain))
    assert first[0].y0 == second[0].y0
    assert first[0].y1 - first[0].y0 == 21.0 * 1.15
    assert first[1].y0 == first[0].y1


def test_every_listed_element_is_what_a_tap_on_its_listed_centre_hits_at_any_density() -> None:
    for density in (0.9, 1.15):
        phone = act(phone_with(density=density, advert=("shop", "Super Saver")), "<Shop>")
        for path in ([], ["<Wish list>"], ["back"], ["home", "<Phone>", "<New contact>", "<Name>", "type x"]):
            act(phone, *path)
            for node in phone.nodes:
                if node.on_tap is not None:
                    x, y = (node.x0 + node.x1) / 2, (node.v0 + node.v1) / 2
                    assert next(n for n in reversed(phone.nodes) if n.holds(x, y) and n.on_tap) is node
                    assert 0 <= node.x0 < node.x1 <= WIDTH


def test_icons_stand_in_the_drawn_order_and_all_on_the_screen() -> None:
    order = tuple(reversed(world().views))
    phone = phone_with(home=order)
    assert [node.text for node in phone.page.fixed] == [phone.apps[key].name for key in order]
    assert all(0 <= n.x0 < n.x1 <= WIDTH and 0 <= n.y0 < n.y1 <= HEIGHT for n in phone.page.fixed)


def test_themes_look_different_and_text_can_be_read() -> None:
    frames = []
    for theme in range(len(PALETTES)):
        frame = np.zeros((192, 108, 3), np.uint8)
        Renderer(192, 108).paint(act(phone_with(theme=theme), "<Phone>").picture(), frame)
        frames.append(frame.tobytes())
    assert len(set(frames)) == len(PALETTES)
    assert sorted((*TRAIN_THEMES, *TEST_THEMES)) == list(range(len(PALETTES)))
    for pair in PALETTES:
        for one in pair:
            light = [sum((c >> shift) & 255 for shift in (16, 8, 0)) for c in (one.ink, one.ground, one.card)]
            assert min(abs(light[0] - light[1]), abs(light[0] - light[2])) > 330


def test_the_notification_is_painted_on_pages_and_at_home() -> None:
    for path in ([], ["<Phone>"], ["<Phone>", "<New contact>", "<Name>"]):
        pictures = []
        for step in (len(path) + 1, 99):
            notice = Notice(step, "settings", "Something new is waiting")
            pictures.append(do(act(phone_with(notice=notice), *path), "wait").picture())
        assert pictures[0] != pictures[1]


def test_weighted_draws_follow_their_weights() -> None:
    stream = Stream(4)
    drawn = Counter(weighted(stream, (1.0, 0.0, 3.0)) for _ in range(2000))
    assert drawn[1] == 0
    assert 400 < drawn[0] < 600


def drawn(level: int = 3, n: int = 300, **kwargs: Any) -> list[Twists]:
    return [draw(Stream(key), level, world().views, ("contacts", "shop"), **kwargs) for key in range(n)]


def test_rows_come_with_their_probabilities_and_drift_makes_them_more() -> None:
    calm, moved = drawn(), drawn(drift=1.0)
    for name in ("advert", "notice", "failed"):
        before, after = (sum(bool(getattr(one, name)) for one in some) for some in (calm, moved))
        assert before + 40 < after
    assert sum(one.density == 1.15 for one in calm) + 60 < sum(one.density == 1.15 for one in moved)
    assert {one.theme for one in calm} == set(TRAIN_THEMES)
    assert {one.theme for one in drawn(test_theme=True)} == set(TEST_THEMES)
    assert all(one.failed.split("/")[0] in ("", "contacts", "shop") for one in calm)
    assert len({one.home for one in calm}) > 15
    assert {len(one.popups) for one in calm} == {1, 2, 3}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_that_is_off_leaves_all_others_as_they_are(row: str) -> None:
    for on, off in zip(drawn(n=40), drawn(n=40, rows=[one for one in ROWS if one != row]), strict=True):
        assert replace(on, **{row: getattr(PLAIN, row)}) == off


def test_the_expert_retries_and_clears_a_notification_away_that_is_in_its_way() -> None:
    split = Split()
    numbers = [i for i, one in enumerate(world().templates) if one.name == "contacts_add"]
    problem = replace(generate(3, 2, numbers, split), opened="")
    for twists, action in (
        ({"failed": "contacts/form"}, "Retry"),
        ({"notice": Notice(1, "settings", "Something new is waiting")}, "swipe up"),
    ):
        phone = replace(problem, twists=replace(PLAIN, **twists)).phone()
        said: list[str] = []
        while not said or said[-1] != "done":
            now = ScriptedExpert(phone, problem.goal).action()
            retry = next((node for node in phone.nodes if node.text == "Retry"), None)
            retries = retry is not None and now == tap(0.5, (retry.y0 + retry.y1) / 2 / HEIGHT)
            said.append("Retry" if retries else now)
            phone.act(parse(now, VERBS))
            assert len(said) < 25
        assert said.count(action) == 1
        assert phone.state == problem.goal.expected
        assert "back" not in said
        assert "home" not in said
