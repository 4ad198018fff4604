"""Messages, mail, calendar and clock: every template of theirs, every screen, and what each app does by hand."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.envs.gui import words
from tiltyard.envs.gui.apps import CONTACTS, SETTINGS, SHOP, calendar, clock, mail, messages, notes
from tiltyard.envs.gui.apps.dates import DATES
from tiltyard.envs.gui.apps.declared import tasks as declared_tasks
from tiltyard.envs.gui.apps.errands_talk import ERRANDS
from tiltyard.envs.gui.apps.questions import QUESTIONS
from tiltyard.envs.gui.apps.talk import TALK
from tiltyard.envs.gui.declare.app import Tasks, from_json, to_json
from tiltyard.envs.gui.device import LONGEST_FIELD
from tiltyard.envs.gui.render import Renderer

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from app_phones import Phones, check_solved, check_wordings, different
from phone_helpers import act, shown

MODULES = (messages, mail, calendar, clock)
KEYS = tuple(one.APP.key for one in MODULES)
PHONES = Phones((SETTINGS, CONTACTS, SHOP, notes.APP, *(one.APP for one in MODULES)))
OWN = tuple((one.APP.key, tasks) for one in MODULES for tasks in one.TASKS)
ALL = (*OWN, *TALK, *DATES, *QUESTIONS, *ERRANDS)


def named(part: str | Tasks) -> str:
    """How a case is called."""
    return part if isinstance(part, str) else part.name


templates = pytest.mark.parametrize(("app", "tasks"), ALL, ids=named)


@templates
def test_the_expert_solves_every_template(app: str, tasks: Tasks) -> None:
    verbs = check_solved(PHONES, app, tasks, range(2))
    assert ("answer" in verbs) == bool(tasks.answer)


@pytest.mark.slow
@templates
def test_the_expert_solves_every_template_on_twenty_more_phones(app: str, tasks: Tasks) -> None:
    check_solved(PHONES, app, tasks, range(2, 22))


@templates
def test_wordings_say_all_that_is_asked_and_differ_in_words(app: str, tasks: Tasks) -> None:
    check_wordings(PHONES, app, tasks, 6)
    assert different(tasks)


def test_there_are_many_templates_of_every_sort() -> None:
    tasks = [one for _, one in ALL]
    assert len({one.name for one in tasks}) == len(tasks) >= 45
    assert sum(bool(one.answer) for one in tasks) >= 8
    assert sum(one.infeasible for one in tasks) >= 4
    across = [one for one in tasks if one.level == 3]
    assert len(across) >= 8
    assert all(len(one.apps) > 1 for one in across)
    assert all(one.look for one in tasks if one.answer)
    assert {one.name for one in tasks} <= {one.name for _, one in declared_tasks()}, "Phone-v1 has them all"
    for key in KEYS:
        assert sum(one.name.startswith(key) for one in tasks) >= 10, key


@pytest.mark.parametrize(("app", "tasks"), [one for one in ALL if one[1].infeasible], ids=named)
def test_what_cannot_be_done_is_nowhere_and_is_asked_in_the_words_of_what_can(app: str, tasks: Tasks) -> None:
    assert any(one.wordings == tasks.wordings and not one.infeasible for _, one in ALL)
    which, apps = (1, tasks.apps) if tasks.name == "errand_text_nobody" else (0, (app,))
    for seed in range(20):
        phone, goal = PHONES.problem(app, tasks, seed)
        assert f"'{goal.asked[which]}'" not in repr([phone.state[one] for one in apps]), goal.text


@templates
def test_templates_have_many_different_problems(app: str, tasks: Tasks) -> None:
    asked = {PHONES.problem(app, tasks, seed)[1].asked for seed in range(30)}
    assert len(asked) >= 15, "nearly all problems differ"


@pytest.mark.parametrize(("app", "view"), PHONES.views(KEYS))
def test_every_screen_can_be_reached_shown_and_left_without_changing_anything(app: str, view: str) -> None:
    frame = np.zeros((192, 108, 3), np.uint8)
    before = PHONES.phone(3)
    for arg in PHONES.args(app, view, before.state):
        phone = PHONES.walk(app, view, arg, seed=3)
        assert phone.state == before.state
        assert phone.tree().isascii()
        assert all(not node.icon or node.v1 > node.v0 for node in phone.nodes)
        frame[:] = 0
        Renderer(192, 108).paint(phone.picture(), frame)
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 20
        titles = [node.x1 - node.x0 for node in phone.nodes if node.role == "title"]
        assert titles
        assert min(titles) > 35, "room for the title"


def _own(state: Any, week: str, day: str) -> list[Any]:
    events = [one for one in state["calendar"].events if one.status in ("own", "accepted")]
    return sorted((one for one in events if (one.week, one.day) == (week, day)), key=lambda one: one.hour)


def _event(state: Any, title: str) -> Any:
    return next(one for one in state["calendar"].events if one.title == title)


def _texts(state: Any, name: str) -> list[Any]:
    """What somebody has sent, the latest last, by the time that is shown."""
    sent = [one for one in state["messages"].messages if one.chat == name and not one.mine]
    return sorted(sent, key=lambda one: one.at)


ANSWERS: dict[str, Callable[..., Any]] = {
    "messages_who": lambda s, topic: max(
        (one for one in s["messages"].messages if f"the {topic}" in one.text and not one.mine), key=lambda one: one.at
    ).chat,
    "messages_when": lambda s, name: _texts(s, name)[-1].at,
    "messages_count": lambda s, name: len(_texts(s, name)),
    "mail_address": lambda s, subject: next(one.address for one in s["mail"].mails if one.subject == subject),
    "mail_subject": lambda s, name: max(
        (one for one in s["mail"].mails if (one.name, one.box) == (name, "Sent")), key=lambda one: one.number).subject,
    "mail_count": lambda s, name: sum((one.name, one.box) == (name, "Inbox") for one in s["mail"].mails),
    "calendar_when": lambda s, title: f"{_event(s, title).hour:02d}:00",
    "calendar_where": lambda s, title: _event(s, title).place,
    "calendar_host": lambda s, title: _event(s, title).host,
    "calendar_count": lambda s, week, day, hour: sum(one.hour < hour for one in _own(s, week, day)),
    "calendar_next": lambda s, week, day, hour: next(one for one in _own(s, week, day) if one.hour > hour).title,
    "clock_next": lambda s, day, time: min(
        one.time for one in s["clock"].alarms if one.on and day in one.days and one.time > time),
    "clock_longer": lambda s, *pair: max(
        (one for one in s["clock"].timers if one.name in pair), key=lambda one: one.minutes).name,
    "clock_apart": lambda s, a, b: abs(clock.WORLD[a] - clock.WORLD[b]),
    "errand_host_number": lambda s, title: next(
        one.number for one in s["contacts"].contacts if one.name == _event(s, title).host),
}  # fmt: skip


@pytest.mark.parametrize(("app", "tasks"), [one for one in ALL if one[1].answer], ids=named)
def test_answers_are_what_a_look_at_the_data_gives(app: str, tasks: Tasks) -> None:
    answers = set()
    for seed in range(20):
        phone, goal = PHONES.problem(app, tasks, seed)
        assert goal.answer == str(ANSWERS[tasks.name](phone.state, *goal.asked)), goal.text
        answers.add(goal.answer)
    assert len(answers) > 2


def test_apps_are_short_and_survive_the_way_to_json() -> None:
    for module in MODULES:
        assert len(Path(str(module.__file__)).read_text().splitlines()) <= 140
        assert from_json(to_json(module.APP)) == module.APP


def test_whatever_is_typed_fits_into_a_field() -> None:
    longest = {name: max(map(len, getattr(words, name))) for name in ("GREETINGS", "CLAUSES", "TOPICS")}
    assert longest["GREETINGS"] + len(", ") + longest["CLAUSES"] + len(" the ") + longest["TOPICS"] <= LONGEST_FIELD
    for line in messages.LINES:
        assert len(line["start"] + line["end"]) + longest["TOPICS"] <= LONGEST_FIELD
    for table in (words.TOPICS, words.OCCASIONS, words.VENUE_NAMES, words.CLAUSES, words.GREETINGS):
        assert len(set(table)) == len(table)


def test_messages_by_hand() -> None:
    phone = PHONES.phone(1)
    first = phone.state["messages"].chats[0]
    other = phone.state["messages"].chats[3]
    label = f"{other.name} ({other.unread})" if other.unread else other.name
    act(phone, "<Messages>", f"<{label}>", "<Send>")
    assert shown(phone, "Write something")
    act(phone, "<Message>", "type  Hi, it's  me ", "enter")
    state = phone.state["messages"]
    assert [chat.name for chat in state.chats[:2]] == [other.name, first.name], "the latest conversation comes first"
    assert (state.messages[0].text, state.messages[0].mine, state.messages[0].chat) == ("Hi, it's me", True, other.name)
    assert state.chats[0].unread == 0
    act(phone, "<Details>", "<Blocked>", "back")
    assert not shown(phone, "Send")
    act(phone, "<Details>", "<Delete chat>", "<Delete>")
    state = phone.state["messages"]
    assert other.name not in {one.chat for one in state.messages} | {one.name for one in state.chats}
    who = phone.state["contacts"].contacts[2].name
    act(phone, "<New message>", "<To>", f"type {who[:4].lower()}", "back", f"<{who}>", "<Message>", "type Yo", "<Send>")
    assert (phone.state["messages"].chats[0].name, len(phone.state["messages"].chats)) == (who, len(state.chats) + 1)


def test_mail_by_hand() -> None:
    phone = PHONES.phone(1)
    old = phone.state["mail"].mails[0]
    who = phone.state["contacts"].contacts[0]
    act(phone, "<Mail>", f"<{old.subject}>", "<Reply>", "<Send>")
    assert shown(phone, "Write something")
    act(phone, "<Body>", "type OK", "enter", "<Forward>", "<To>", "type nobody", "<Send>")
    assert shown(phone, "Enter one address in To")
    act(phone, "<Clear To>", "<To>", f"type {who.name[:5]}", "back", f"<{who.name}>", "<Send>")
    forward, reply, *_ = phone.state["mail"].mails
    assert (reply.subject, reply.address, reply.body, reply.box) == ("Re: " + old.subject, old.address, "OK", "Sent")
    assert (forward.subject, forward.address, forward.body) == ("Fwd: " + old.subject, who.email, old.body)
    act(phone, "<Move to bin>", "back", "<Starred>")
    assert not shown(phone, old.subject)
    act(phone, "<Bin>", "<All>", "<Empty bin>", "<Empty>")
    assert shown(phone, "No mails here")
    assert {one.box for one in phone.state["mail"].mails} == {"Inbox", "Sent", "Archive"}


def test_calendar_by_hand() -> None:
    phone = PHONES.phone(1)
    act(phone, "<Calendar>", "<New event>", "<Save event>")
    assert shown(phone, "Enter a title")
    act(phone, "swipe down", "<Title>", "type Zebra feeding", "back", "<Next week>", "<Sat>", "<Increase start>",
        "<Increase length>", "<1 day>", "<Save event>")  # fmt: skip
    new = phone.state["calendar"].events[-1]
    assert (new.title, new.week, new.day, new.hour, new.hours, new.reminder, new.status) == (
        "Zebra feeding", "Next week", "Sat", 13, 2, "1 day", "own")  # fmt: skip
    act(phone, "<Next week>", "<Sat>", "<Zebra feeding>", "<Edit>", "<Mon>", "<Save event>", "back")
    assert not shown(phone, "Zebra feeding")
    act(phone, "swipe down", "swipe down", "<Mon>", "<Zebra feeding>", "<Delete event>", "<Delete>")
    assert new.title not in {one.title for one in phone.state["calendar"].events}


def test_clock_by_hand() -> None:
    phone = PHONES.phone(1)
    act(phone, "<Clock>", "<New alarm>", "<Time, such as 07:30>", "type 24:00", "enter")
    assert shown(phone, "Enter a time from 00:00 to")
    act(phone, "<Clear Time, such as 07:30>", "<Time, such as 07:30>", "type 23:59", "back", "<Sun>", "<Tue>",
        "<Save alarm>", "<23:59>", "<Sun>", "<Wed>", "<Alarm on>")  # fmt: skip
    last = phone.state["clock"].alarms[-1]
    assert (last.time, last.days, last.on) == ("23:59", ("Tue", "Wed"), False), "days are in the order of the week"
    taken = phone.state["clock"].alarms[0].time
    act(phone, "<Edit>", "<Clear Time, such as 07:30>", "<Time, such as 07:30>", f"type {taken}", "enter")
    assert shown(phone, "There is an alarm at this")
    act(phone, "back", "back", "<World>", "<Add city>", "<Search cities>", "type os", "back")
    left = [city for city in ("Lagos", "Moscow", "Oslo") if city not in phone.state["clock"].cities]
    assert [node.text for node in phone.nodes if node.role == "row"] == left
    assert left
