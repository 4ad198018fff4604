"""Goals of the phone app, each with its expected state and the expert's way there."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..expert import Hop, Pilot
from ..goals import Goal, State, Task, Template, phrase, pick
from ..words import numbers, people
from .contacts import FORM, Contact, Contacts

NEW: Hop = ("New contact", "form", None)


def _goal(text: str, state: State, book: Contacts, task: Task) -> Goal:
    return Goal(text, {**state, "contacts": book}, (task,))


def to(contact: Contact) -> Hop:
    """The hop from the list of contacts to one of them."""
    return contact.name, "contact", contact.name


def listed(pilot: Pilot) -> str | None:
    """Makes the list of all contacts show everything, in case someone searched or changed the tab."""
    stack = pilot.phone.stack
    if len(stack) == 1 and stack[0].app == "contacts" and not pilot.phone.dialog:
        if stack[0].drafts.get("tab", "All") != "All":
            return pilot.press("All", "tab")
        if stack[0].drafts.get("search"):
            return pilot.press("Clear Search")
    return None


def call_task(contact: Contact, calls: Contacts) -> Task:
    """Calls a contact; done when the log is that of ``calls``."""

    def act(pilot: Pilot) -> str:
        return listed(pilot) or pilot.go("contacts", to(contact)) or pilot.press("Call", "button")

    return Task(lambda state: state["contacts"].log == calls.log, act)


def _call(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    contact = pick(rng, book.contacts)
    text = phrase(rng, ("Call {n} with the Phone app", "Open Phone and call {n}", "In Phone, call {n}"), n=contact.name)
    expected = book.calling(contact.number)
    return _goal(text, state, expected, call_task(contact, expected))


def _call_ending(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    contact = pick(rng, book.contacts)
    wordings = ("Call the contact whose number ends in {e}", "In Phone, call the person with the number ending in {e}")
    expected = book.calling(contact.number)
    return _goal(phrase(rng, wordings, e=contact.number[-2:]), state, expected, call_task(contact, expected))


def _star(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    starred = bool(rng.integers(2))
    contact = pick(rng, [contact for contact in book.contacts if contact.favourite == starred])
    expected = book.saving(contact, replace(contact, favourite=not contact.favourite))
    button = "Remove favourite" if contact.favourite else "Add favourite"
    wordings = (
        ("In Phone, remove {n} from the favourites", "Open Phone and remove the favourite {n}")
        if contact.favourite
        else ("In Phone, add {n} to the favourites", "Open Phone and make {n} a favourite")
    )

    def act(pilot: Pilot) -> str:
        return listed(pilot) or pilot.go("contacts", to(contact)) or pilot.press(button)

    return _goal(phrase(rng, wordings, n=contact.name), state, expected, Task(_reached(expected), act))


def _reached(book: Contacts) -> Callable[[State], bool]:
    return lambda state: bool(state["contacts"] == book)


def _delete(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    contact = pick(rng, book.contacts)
    expected = book.saving(contact, None)

    def act(pilot: Pilot) -> str:
        button = "Delete" if pilot.phone.dialog else "Delete contact"
        return listed(pilot) or pilot.go("contacts", to(contact)) or pilot.press(button)

    text = phrase(rng, ("In Phone, delete the contact {n}", "Open Phone and delete {n}"), n=contact.name)
    return _goal(text, state, expected, Task(_reached(expected), act))


def _add(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    taken = {contact.name for contact in book.contacts}
    name = next(name for name in people(rng, len(taken) + 1) if name not in taken)
    contact = Contact(name, numbers(rng, 1)[0])
    expected = book.saving(None, contact)
    text = phrase(
        rng,
        ("Add a contact named {c.name} with the number {c.number}", "Save {c.number} as a new contact called {c.name}"),
        c=contact,
    )
    return _goal(text, state, expected, Task(_reached(expected), lambda pilot: _form(pilot, contact, NEW)))


def _form(pilot: Pilot, contact: Contact, *path: Hop) -> str:
    fields = [(key, label, str(getattr(contact, key))) for key, label in FORM]
    return listed(pilot) or pilot.go("contacts", *path) or pilot.fill(fields) or pilot.press("Save")


def _edit(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    old = pick(rng, book.contacts)
    key, words = pick(rng, (("number", "phone number"), ("email", "email")))
    value = numbers(rng, 1)[0] if key == "number" else f"{old.name.split()[1].lower()}@post.org"
    new = replace(old, number=value) if key == "number" else replace(old, email=value)
    expected = book.saving(old, new)
    text = phrase(rng, ("Change the {w} of {n} to {v}", "In Phone, set {n}'s {w} to {v}"), w=words, n=old.name, v=value)
    edit: Hop = ("Edit", "form", old.name)
    return _goal(text, state, expected, Task(_reached(expected), lambda pilot: _form(pilot, new, to(old), edit)))


def _call_back(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    known = [i for i, call in enumerate(book.log) if book.find(book.caller(call.number))]
    chosen = pick(rng, known)
    log = tuple(
        replace(
            call, kind="missed" if i == chosen else "incoming" if call.kind == "missed" and i < chosen else call.kind
        )
        for i, call in enumerate(book.log)
    )
    book = replace(book, log=log)
    state["contacts"] = book
    contact = book.find(book.caller(log[chosen].number))
    assert contact is not None
    expected = book.calling(contact.number)
    wordings = ("Call back the person whose call was missed most recently", "Return the latest missed call")
    return _goal(phrase(rng, wordings), state, expected, call_task(contact, expected))


def _clear_log(rng: np.random.Generator, state: State) -> Goal:
    expected = replace(state["contacts"], log=())

    def act(pilot: Pilot) -> str:
        on_tab = pilot.go("contacts")
        if on_tab:
            return on_tab
        if pilot.phone.stack[0].drafts.get("tab") != "Recents":
            return pilot.press("Recents", "tab")
        return pilot.press("Clear" if pilot.phone.dialog else "Clear call log")

    text = phrase(rng, ("In Phone, clear the call log", "Open Phone and delete all recent calls from the call log"))
    return _goal(text, state, expected, Task(_reached(expected), act))


GOALS = (
    Template("contacts_call", 1, ("contacts",), _call),
    Template("contacts_star", 1, ("contacts",), _star),
    Template("contacts_clear_log", 1, ("contacts",), _clear_log, weight=0.5),
    Template("contacts_delete", 1, ("contacts",), _delete, weight=0.5),
    Template("contacts_call_ending", 2, ("contacts",), _call_ending),
    Template("contacts_add", 2, ("contacts",), _add),
    Template("contacts_edit", 2, ("contacts",), _edit),
    Template("contacts_call_back", 2, ("contacts",), _call_back),
)
