"""The browser, maps, files and music by hand: every screen can be reached and shown, and does what it says."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tiltyard.envs.gui.apps import browser, files, maps, music
from tiltyard.envs.gui.commands import VERBS, drag, long_press, parse
from tiltyard.envs.gui.declare.app import App, from_json, to_json
from tiltyard.envs.gui.declare.expert import ScriptedExpert, index_of
from tiltyard.envs.gui.declare.planning import Planner
from tiltyard.envs.gui.declare.state import key_of
from tiltyard.envs.gui.device import Phone
from tiltyard.envs.gui.goals import Goal
from tiltyard.envs.gui.render import Renderer
from tiltyard.envs.gui.ui import HEIGHT, WIDTH

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from phone_helpers import act, shown
from web import PROGRAMS, WEB, new_phone

SCREENS = [(app.key, view) for app in WEB for view in app.screens]


def hold(phone: Phone, text: str) -> Phone:
    node = next(one for one in shown(phone, text) if one.on_hold is not None)
    phone.act(parse(long_press((node.x0 + node.x1) / 2 / WIDTH, (node.v0 + node.v1) / 2 / HEIGHT), VERBS))
    return phone


def drop(phone: Phone, text: str, onto: str) -> Phone:
    a = next(one for one in shown(phone, text) if one.on_drop is not None)
    b = next(one for one in shown(phone, onto) if one.target is not None)
    middles = [at for n in (a, b) for at in ((n.x0 + n.x1) / 2 / WIDTH, (n.v0 + n.v1) / 2 / HEIGHT)]
    phone.act(parse(drag(*middles), VERBS))
    return phone


def rows(phone: Phone) -> list[str]:
    return [node.text for node in phone.page.column if node.role == "row"]


@pytest.mark.parametrize(("app", "view"), SCREENS, ids=[f"{app}-{view}" for app, view in SCREENS])
def test_every_screen_can_be_reached_and_shown(app: str, view: str) -> None:
    phone = new_phone(3)
    planner = Planner(index_of(tuple(phone.app_classes)), phone.state)
    table = PROGRAMS[app].app.screens[view].arg.rstrip("?")
    record = phone.state[app]
    if table == "text":
        args = [getattr(one, view) for one in record.songs]
    else:
        args = [key_of(one) for one in getattr(record, table) if not getattr(one, "binned", False)] if table else [None]
    if view == "new" and app == "music":
        args = [None, *args]
    reached = [arg for arg in args if view == "main" or planner.route(app, view, arg)]
    assert reached == args or (view == "book" and len(reached) == 3), "every row has its screen"
    goal = Goal("", dict(phone.state), (app, view, reached[0]), asked=())
    before = dict(phone.state)
    for _ in range(20):
        action = ScriptedExpert(phone, goal).action()
        if action == "done":
            break
        phone.act(parse(action, VERBS))
    assert (phone.stack[-1].app, phone.stack[-1].view, phone.stack[-1].arg) == (app, view, reached[0])
    assert phone.state == before
    assert phone.tree().isascii()
    frame = np.zeros((192, 108, 3), np.uint8)
    Renderer(192, 108).paint(phone.picture(), frame)
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 10


@pytest.mark.parametrize("app", WEB, ids=lambda app: app.key)
def test_an_app_is_one_file_that_survives_the_way_to_json(app: App) -> None:
    module = {"browser": browser, "maps": maps, "files": files, "music": music}[app.key]
    assert len(Path(str(module.__file__)).read_text().splitlines()) <= 140
    assert from_json(to_json(app)) == app


def test_the_browser_finds_follows_keeps_and_books() -> None:
    phone = act(new_phone(3), "<Browser>", "<Search the web>", "type weather IN")
    assert len(rows(phone)) == 6
    city = phone.state["browser"].pages[0].title
    act(phone, "<Clear Search the web>", "<Search the web>", f"type {city}", f"<Weather in {city}>")
    act(phone, f"<{city}>", "<Open in new tab>", "<Open in new tab>", "<Read later>")
    assert phone.where == f"Browser: {city}", "a page leads to others about the same city"
    assert phone.state["browser"].tabs.count(city) == 1
    assert city in phone.state["browser"].reading
    act(phone, "home", "<Browser>", "<Library>", "<Later>")
    hold(phone, city)
    act(phone, "<Cancel>")
    assert city in phone.state["browser"].reading
    act(hold(phone, city), "<Remove>")
    assert city not in phone.state["browser"].reading
    place = phone.state["browser"].pages[-1].title
    act(phone, "home", "<Browser>", "<Table Finder>", f"<{place}>", "<Book a table>", "<Book>")
    assert shown(phone, "Enter a name")
    act(phone, "<Name>", "type Al  Lee ", "back", "<Book>")
    assert shown(phone, "Choose a day")
    act(phone, "<Sun>", *["<Increase guests>"] * 9, "<Book>")
    booked = phone.state["browser"].bookings[0]
    assert (booked.place, booked.name, booked.day, booked.guests) == (place, "Al Lee", "Sunday", 8)
    act(phone, f"<{place}>")  # the page; the booking has the same title further down
    assert phone.where == f"Browser: {place}"


def test_maps_say_how_far_it_is_and_keep_trips_and_lists() -> None:
    phone = new_phone(3)
    state = phone.state["maps"]
    a, b = state.places[0], state.places[1]
    apart = abs(a.x - b.x) + abs(a.y - b.y) + 1
    act(phone, "<Maps>", f"<{b.name}>", "<Directions>", "<Clear From>", "<From>", f"type {a.name}", "back", "<bus>")
    assert " ".join(node.text for node in phone.nodes).count(f"{apart} km, {4 * apart + 6} minutes") == 1
    act(phone, "<Start>")
    trip = phone.state["maps"].trips[0]
    assert (trip.start, trip.end, trip.mode) == (a.name, b.name, "bus")
    group = state.lists[0].name
    kept = [one.name for one in state.places if one.list == group]
    act(phone, "home", "<Maps>", "<Saved>", f"<{group}>")
    assert rows(phone) == kept
    act(hold(phone, kept[0]), "<Take off>")
    assert shown(phone, "Nothing saved here")
    act(phone, "back", "<New list>", "<Name>", f"type {group}", "back", "<Create>")
    assert shown(phone, "There is such a list")
    act(phone, "back", f"<{state.lists[1].name}>", "<Delete list>", "<Delete>")
    assert [one.name for one in phone.state["maps"].lists] == [group, state.lists[2].name]
    assert not [one for one in phone.state["maps"].places if one.list == state.lists[1].name]
    act(phone, "home", "<Maps>", f"<{a.kind}>", f"<{a.name}>", "<Phone>")
    assert phone.state["contacts"].log[0].number == a.phone


def test_files_are_moved_sorted_renamed_binned_and_brought_back() -> None:
    phone = new_phone(3)
    state = phone.state["files"]
    folder, other = state.folders[2].name, state.folders[3].name
    one = next(one for one in state.files if one.folder == folder and not one.binned)
    drop(act(phone, "<Files>", f"<{folder}>"), one.name, other)
    assert next(f for f in phone.state["files"].files if f.name == one.name).folder == other
    act(phone, "back", f"<{other}>", "<Size>")
    names = [text for text in rows(phone) if "." in text]
    sizes = {f.name: f.size for f in phone.state["files"].files}
    assert names == sorted(names, key=lambda name: sizes[name])
    assert phone.state["files"].order == "size"
    act(phone, f"<{one.name}>", "<Copy>")
    assert f"Copy of {one.name}" in rows(phone)
    taken = next(f.name for f in phone.state["files"].files if f.name != one.name)
    act(phone, f"<{one.name}>", "<Rename>", "<Clear Name>", "<Name>", f"type {taken}", "back", "<Save name>")
    assert shown(phone, "This name is already used")
    act(phone, "<Clear Name>", "<Name>", "type Zz (1).txt", "back", "<Save name>")
    assert phone.where == "Files: Zz (1).txt"
    act(phone, "back", "<Delete folder>")
    assert shown(phone, "Not empty")
    act(hold(act(phone, "swipe up"), "Zz (1).txt"), "<Delete>")
    assert "Zz (1).txt" not in rows(phone)
    act(phone, "home", "<Files>", "<Bin>", "<Zz (1).txt>", "<Restore>", "<Empty bin>", "<Empty>")
    assert not any(f.binned for f in phone.state["files"].files)
    assert "Zz (1).txt" in [f.name for f in phone.state["files"].files]


def test_music_plays_queues_and_puts_playlists_in_order() -> None:
    phone = new_phone(3)
    mix = phone.state["music"].playlists[0]
    a, b, c = mix.songs[:3]
    drop(act(phone, "<Music>", "<Playlists>", f"<{mix.name}>"), a, c)
    assert phone.state["music"].playlists[0].songs[:3] == (b, c, a)
    act(hold(phone, b), "<Take off>", "<Queue all songs>", f"<{c}>", "<Play>", "home", "<Music>", "<Queue>")
    assert phone.state["music"].queue == (c, a, *mix.songs[3:])
    assert (phone.state["music"].playing, phone.state["music"].sounding) == (c, True)
    act(hold(phone, c), "<Take off>", "back", f"<{c}>")
    assert phone.where == "Music: Now playing", "what is playing stands above the songs"
    act(phone, "<Pause>", "<Next>")
    assert phone.state["music"].playing == a
    assert not phone.state["music"].sounding
    assert phone.state["music"].queue == mix.songs[3:]
    act(phone, "home", "<Music>", "<Playlists>", "<New playlist>", "<Name>", f"type {mix.name}", "back", "<Save>")
    assert shown(phone, "There is such a playlist")
