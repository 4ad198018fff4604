"""Goals of the phone app, each with its expected state and the expert's way there."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..expert import Hop, ScriptedExpert
from ..goals import Goal, State, Task, Template, phrase, pick
from ..words import numbers, people
from .contacts import FORM, Contact, Contacts

NEW: Hop = ("New contact", "form", None)


def _goal(text: str, state: State, book: Contacts, *tasks: Task, asked: tuple[object, ...]) -> Goal:
    return Goal(text, {**state, "contacts": book}, tasks, asked=asked)


def to(contact: Contact) -> Hop:
    """The hop from the list of contacts to one of them."""
    return contact.name, "contact", contact.name


def listed(expert: ScriptedExpert) -> str | None:
    """Makes the list of all contacts show everything, in case someone searched or changed the tab."""
    stack = expert.phone.stack
    if len(stack) == 1 and stack[0].app == "contacts" and not expert.phone.dialog:
        if stack[0].drafts.get("tab", "All") != "All":
            return expert.press("All", "tab")
        if stack[0].drafts.get("search"):
            return expert.press("Clear Search")
    return None


def call_task(contact: Contact, calls: Contacts) -> Task:
    """Calls a contact; done when the log is that of ``calls``."""

    def act(expert: ScriptedExpert) -> str:
        return listed(expert) or expert.go("contacts", to(contact)) or expert.press("Call", "button")

    return Task(lambda state: state["contacts"].log == calls.log, act)


def _call(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    contact = pick(rng, book.contacts)
    text = phrase(rng, ("Call {n} with the Phone app", "Open Phone and call {n}", "In Phone, call {n}"), n=contact.name)
    expected = book.calling(contact.number)
    return _goal(text, state, expected, call_task(contact, expected), asked=(contact.name,))


def _call_ending(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    contact = pick(rng, book.contacts)
    wordings = ("Call the contact whose number ends in {e}", "In Phone, call the person with the number ending in {e}")
    expected, ending = book.calling(contact.number), contact.number[-2:]
    return _goal(phrase(rng, wordings, e=ending), state, expected, call_task(contact, expected), asked=(ending,))


def _star(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    starred = bool(rng.integers(2))
    contact = pick(rng, [contact for contact in book.contacts if contact.favourite == starred])
    wordings = (
        ("In Phone, remove {n} from the favourites", "Open Phone and remove the favourite {n}")
        if contact.favourite
        else ("In Phone, add {n} to the favourites", "Open Phone and make {n} a favourite")
    )
    text, expected = phrase(rng, wordings, n=contact.name), starring(book, contact)
    return _goal(text, state, expected, star_task(contact, expected), asked=(contact.name, starred))


def starring(book: Contacts, contact: Contact) -> Contacts:
    """The state after making a contact a favourite, or none if it is one."""
    return book.saving(contact, replace(contact, favourite=not contact.favourite))


def star_task(contact: Contact, book: Contacts) -> Task:
    """Makes a contact a favourite, or none if it is one; done when the address book is that of ``book``."""
    button = "Remove favourite" if contact.favourite else "Add favourite"

    def act(expert: ScriptedExpert) -> str:
        return listed(expert) or expert.go("contacts", to(contact)) or expert.press(button)

    return Task(lambda state: state["contacts"].contacts == book.contacts, act)


def _reached(book: Contacts) -> Callable[[State], bool]:
    return lambda state: bool(state["contacts"] == book)


def _delete(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    contact = pick(rng, book.contacts)
    expected = book.saving(contact, None)

    def act(expert: ScriptedExpert) -> str:
        button = "Delete" if expert.phone.dialog else "Delete contact"
        return listed(expert) or expert.go("contacts", to(contact)) or expert.press(button)

    text = phrase(rng, ("In Phone, delete the contact {n}", "Open Phone and delete {n}"), n=contact.name)
    return _goal(text, state, expected, Task(_reached(expected), act), asked=(contact.name,))


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
    task = Task(_reached(expected), lambda expert: _form(expert, contact, NEW))
    return _goal(text, state, expected, task, asked=(name, contact.number))


def _form(expert: ScriptedExpert, contact: Contact, *path: Hop) -> str:
    fields = [(key, label, str(getattr(contact, key))) for key, label in FORM]
    return listed(expert) or expert.go("contacts", *path) or expert.fill(fields) or expert.press("Save")


def _edit(rng: np.random.Generator, state: State) -> Goal:
    book: Contacts = state["contacts"]
    old = pick(rng, book.contacts)
    key, words = pick(rng, (("number", "phone number"), ("email", "email")))
    value = numbers(rng, 1)[0] if key == "number" else f"{old.name.split()[1].lower()}@post.org"
    new = replace(old, number=value) if key == "number" else replace(old, email=value)
    expected = book.saving(old, new)
    text = phrase(rng, ("Change the {w} of {n} to {v}", "In Phone, set {n}'s {w} to {v}"), w=words, n=old.name, v=value)
    edit: Hop = ("Edit", "form", old.name)
    task = Task(_reached(expected), lambda expert: _form(expert, new, to(old), edit))
    return _goal(text, state, expected, task, asked=(old.name, key, value))


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
    friend = pick(rng, [one for one in book.contacts if not one.favourite])
    called = book.calling(contact.number)
    expected = starring(called, friend)
    wordings = (
        "Call back the person whose call was missed most recently, then add {n} to the favourites",
        "Return the latest missed call, then make {n} a favourite",
    )
    tasks = call_task(contact, called), star_task(friend, expected)
    return _goal(phrase(rng, wordings, n=friend.name), state, expected, *tasks, asked=(friend.name,))


def _clear_log(rng: np.random.Generator, state: State) -> Goal:
    cleared = replace(state["contacts"], log=())
    contact = pick(rng, cleared.contacts)
    expected = cleared.calling(contact.number)

    def act(expert: ScriptedExpert) -> str:
        on_tab = expert.go("contacts")
        if on_tab:
            return on_tab
        if expert.phone.stack[0].drafts.get("tab") != "Recents":
            return expert.press("Recents", "tab")
        return expert.press("Clear" if expert.phone.dialog else "Clear call log")

    wordings = (
        "In Phone, clear the call log, then call {n}",
        "Open Phone and delete all recent calls from the call log, then call {n}",
    )
    clear = Task(lambda state: state["contacts"].log in (cleared.log, expected.log), act)
    tasks = clear, call_task(contact, expected)
    return _goal(phrase(rng, wordings, n=contact.name), state, expected, *tasks, asked=(contact.name,))


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
