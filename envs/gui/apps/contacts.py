"""Phone: contacts with search, favourites and details, a form that validates, a dial pad, and the call log."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from ..device import App
from ..goals import swap
from ..ui import Page, Screen
from ..words import CITIES, choose, numbers, people, streets

FEWEST_DIGITS = 3


@dataclass(frozen=True)
class Contact:
    """One entry of the address book; names are unique."""

    name: str
    number: str
    email: str = ""
    street: str = ""
    city: str = ""
    favourite: bool = False


@dataclass(frozen=True)
class Call:
    """One line of the call log; ``kind`` is outgoing, incoming or missed."""

    number: str
    kind: str


@dataclass(frozen=True)
class Contacts:
    """Address book (sorted by name) and call log (newest first)."""

    contacts: tuple[Contact, ...]
    log: tuple[Call, ...]

    def find(self, name: str) -> Contact | None:
        """The contact of this name, if there is one."""
        return next((contact for contact in self.contacts if contact.name == name), None)

    def caller(self, number: str) -> str:
        """Who has this number: a name, or the number itself."""
        return next((contact.name for contact in self.contacts if contact.number == number), number)

    def calling(self, number: str) -> "Contacts":
        """The state after a call to a number."""
        return replace(self, log=(Call(number, "outgoing"), *self.log))

    def saving(self, old: Contact | None, new: Contact | None) -> "Contacts":
        """The state after adding (``old`` None), changing or deleting (``new`` None) a contact."""
        kept = self.contacts if old is None else swap(self.contacts, old, None)
        kept += () if new is None else (new,)
        return replace(self, contacts=tuple(sorted(kept, key=lambda contact: contact.name)))


FORM = (
    ("name", "Name"),
    ("number", "Phone"),
    ("email", "Email"),
    ("street", "Street"),
    ("city", "City"),
)


class ContactsApp(App):
    """The screens."""

    key: ClassVar[str] = "contacts"
    name: ClassVar[str] = "Phone"
    icon: ClassVar[str] = "handset"
    colour: ClassVar[int] = 0x1B7F6B

    def _book(self) -> Contacts:
        book: Contacts = self.state
        return book

    def _put(self, book: Contacts) -> None:
        self.phone.state[self.key] = book

    def show_main(self, page: Page, screen: Screen) -> None:
        """Three tabs: all contacts with a live search, favourites, recent calls."""
        tab = screen.drafts.setdefault("tab", "All")
        page.bar(
            "Phone",
            actions=[("keypad", "Dial pad", self.open("keypad")), ("plus", "New contact", self.open("form"))],
        )
        names = ("All", "Favourites", "Recents")
        page.tabs([(name, name == tab, partial(self._switch, screen, name)) for name in names])
        {"All": self._all, "Favourites": self._favourites, "Recents": self._recents}[tab](page, screen)

    def _switch(self, screen: Screen, tab: str) -> None:
        screen.drafts["tab"], screen.scroll, screen.focus = tab, 0.0, None

    def _rows(self, page: Page, contacts: list[Contact]) -> None:
        for contact in contacts:
            icon = "star" if contact.favourite else "person"
            page.row(contact.name, self.open("contact", contact.name), detail=contact.number, icon=icon)

    def _all(self, page: Page, screen: Screen) -> None:
        page.field("search", "Search")
        query = screen.drafts["search"].strip().lower()
        found = [c for c in self._book().contacts if query in c.name.lower() or query in c.number]
        self._rows(page, found)
        if not found:
            page.empty("No contacts found", "person")

    def _favourites(self, page: Page, screen: Screen) -> None:
        found = [contact for contact in self._book().contacts if contact.favourite]
        self._rows(page, found)
        if not found:
            page.empty("No favourites yet", "star")

    def _recents(self, page: Page, screen: Screen) -> None:
        book = self._book()
        for call in book.log:
            page.row(book.caller(call.number), partial(self._from_log, call), detail=call.kind, icon=call.kind)
        if book.log:
            page.button("Clear call log", self._clear, look="danger")
        else:
            page.empty("No recent calls", "handset")

    def _from_log(self, call: Call) -> None:
        name = self._book().caller(call.number)
        if self._book().find(name):
            self.open("contact", name)()
        else:
            self.open("keypad", call.number)()

    def _clear(self) -> None:
        clear = partial(self.update, log=())
        self.phone.dialog = self.phone.ask(
            "Clear log?", "All calls are removed.", ("Cancel", _nothing), ("Clear", clear)
        )

    def show_contact(self, page: Page, screen: Screen) -> None:
        """One contact: details, call, favourite, edit, delete."""
        contact = self._book().find(screen.arg)
        if contact is None:
            page.bar("Contact")
            page.empty("This contact was deleted", "person")
            return
        starred = replace(contact, favourite=not contact.favourite)
        star = ("star", "Remove favourite") if contact.favourite else ("star_outline", "Add favourite")
        page.bar(
            contact.name,
            actions=[
                (*star, lambda: self._put(self._book().saving(contact, starred))),
                ("pencil", "Edit", self.open("form", contact.name)),
            ],
        )
        page.image("", "person", self.colour, height=34.0)
        page.text(contact.name, look="big")
        page.button("Call", partial(self.dial, contact.number))
        page.row("Phone", None, detail=contact.number, icon="handset")
        if contact.email:
            page.row("Email", None, detail=contact.email, icon="mail")
        if contact.street:
            page.row("Address", None, detail=f"{contact.street}, {contact.city}", icon="home")
        page.button("Delete contact", partial(self._delete, contact), look="danger")

    def dial(self, number: str) -> None:
        """Starts a call, unless airplane mode is on."""
        if self.phone.state["settings"].airplane:
            body = "Turn off airplane mode in Settings to make calls."
            self.phone.dialog = self.phone.ask("Airplane mode", body, ("OK", _nothing))
            return
        self._put(self._book().calling(number))
        self.open("call", number)()

    def show_call(self, page: Page, screen: Screen) -> None:
        """A call going on."""
        page.bar("Calling", back=False)
        page.image("", "person", self.colour, height=50.0)
        page.text(self._book().caller(screen.arg), look="big")
        page.text(screen.arg, look="centre")
        page.text("Ringing...", look="centre")
        page.button("End call", self.phone.pop, look="danger")

    def _delete(self, contact: Contact) -> None:
        def delete() -> None:
            self._put(self._book().saving(contact, None))
            self.phone.pop()

        body = f"{contact.name} will be deleted."
        self.phone.dialog = self.phone.ask("Delete contact?", body, ("Cancel", _nothing), ("Delete", delete))

    def show_form(self, page: Page, screen: Screen) -> None:
        """Adds a contact, or edits the one named by the screen's argument."""
        old = self._book().find(screen.arg) if screen.arg else None
        page.bar(
            "Edit contact" if old else "New contact", actions=[("check", "Save", partial(self._save, screen, old))]
        )
        page.error()
        for key, label in FORM:
            page.field(key, label, getattr(old, key) if old else "")

    def _save(self, screen: Screen, old: Contact | None) -> None:
        entry = {key: " ".join(screen.drafts[key].split()) for key, _ in FORM}
        screen.error = self._fault(entry, old)
        if screen.error:
            return
        new = Contact(**entry, favourite=old is not None and old.favourite)
        self._put(self._book().saving(old, new))
        self.phone.pop()
        if self.phone.stack[-1].view == "contact":
            self.phone.stack[-1].arg = new.name

    def _fault(self, entry: dict[str, str], old: Contact | None) -> str:
        twin = self._book().find(entry["name"])
        if not entry["name"]:
            return "Enter a name"
        if not entry["number"].isdigit() or len(entry["number"]) < FEWEST_DIGITS:
            return "Enter a phone number, digits only"
        if entry["email"] and "@" not in entry["email"]:
            return "Enter a valid email"
        return "This name is already used" if twin is not None and twin != old else ""

    def show_keypad(self, page: Page, screen: Screen) -> None:
        """Dials any number."""

        def call() -> None:
            number = screen.drafts["number"].strip()
            if number.isdigit() and len(number) >= FEWEST_DIGITS:
                self.dial(number)
            else:
                screen.error = "Enter a phone number, digits only"

        page.bar("Dial pad")
        page.field("number", "Number", screen.arg)
        page.error()
        page.button("Call", call)


def _nothing() -> None:
    pass


def initial(rng: np.random.Generator, size: int = 14) -> Contacts:
    """An address book of ``size`` contacts, three of them favourites, and a log of seven calls."""
    names, phones, homes = people(rng, size), numbers(rng, size + 2), streets(rng, size)
    cities = choose(rng, CITIES, size)
    book = [
        Contact(name, phone, f"{name.split()[0].lower()}@mail.com", home, city, i < 3)
        for i, (name, phone, home, city) in enumerate(zip(names, phones[:size], homes, cities, strict=True))
    ]
    kinds = [("outgoing", "incoming", "missed")[int(kind)] for kind in rng.integers(3, size=7)]
    log = tuple(Call(phones[int(i)], kind) for i, kind in zip(rng.permutation(size + 2)[:7], kinds, strict=True))
    return Contacts(tuple(sorted(book, key=lambda contact: contact.name)), log)
