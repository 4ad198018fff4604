"""Phone: contacts with search, favourites and details, a form that validates, a dial pad, and the call log."""

from ..declare.app import App, Tasks, View
from ..declare.operations import Ask, Delete, If, Insert, Pop, Push, Require, Set, Toggle
from ..declare.state import Bool, Choice, Table, Text
from ..declare.widgets import Action, Bar, Button, Empty, Error, Field, Image, Paragraph, Row, When
from .parts import about, before, confirm, delete_button, each, saved, tabbed, to

FORM = {"name": "Name", "number": "Phone", "email": "Email", "street": "Street", "city": "City"}
PERSON = Row("{one.name}", Push("contact", "one.name"), "{one.number}", "{'star' if one.favourite else 'person'}")
STAR = Toggle("one.favourite")
KINDS = ("outgoing", "incoming", "missed")
FORM_NUMBER, PAD_NUMBER = (Require(f"digits({text}) and count({text}) >= 3", "Enter a phone number, digits only")
                           for text in ("clean(draft.number)", "trim(draft.number)"))  # fmt: skip


def dial(number: str) -> If:
    """Starts a call, unless airplane mode is on."""
    no = Ask("Airplane mode", "Turn off airplane mode in Settings to make calls.", (("OK", ()),))
    return If("settings.airplane", no, (*calling(number), Push("call", number)))


def calling(number: str) -> tuple[Insert]:
    """The call log after a call to a number."""
    return (Insert("log", f"Call(number={number}, kind='outgoing')", start=True),)


SCREENS = {
    "main": tabbed(Bar("Phone", actions=(to("keypad", "Dial pad", "keypad"), to("plus", "New contact", "form"))), {
        "All": (Field("search", "Search"), each(
            "one", "contacts", PERSON, "lower(trim(draft.search)) in lower(one.name) or lower(trim(draft.search)) in "
            "one.number", "No contacts found", "person")),
        "Favourites": (each("one", "contacts", PERSON, "one.favourite", "No favourites yet", "star"),),
        "Recents": (each("call", "log", Row("{caller(call.number)}", If(
            "find(contacts, caller(call.number)) != None",
            Push("contact", "caller(call.number)"), Push("keypad", "call.number")), "{call.kind}", "{call.kind}")),
            When("log", (Button("Clear call log", confirm(
                "Clear log?", "All calls are removed.", "Clear", Delete("log")), "danger"),),
                (Empty("No recent calls", "handset"),)))}),
    "contact": about("Contact", "contacts", "person", Bar("{one.name}", actions=(
            Action("{'star' if one.favourite else 'star_outline'}",
                   "{'Remove favourite' if one.favourite else 'Add favourite'}", STAR),
            to("pencil", "Edit", "form", "one.name"))),
        Image("person", "0x1B7F6B", 34.0), Paragraph("{one.name}", "big"), Button("Call", dial("one.number")),
        Row("Phone", detail="{one.number}", icon="handset"),
        When("one.email", (Row("Email", detail="{one.email}", icon="mail"),)),
        When("one.street", (Row("Address", detail="{one.street}, {one.city}", icon="home"),)),
        delete_button("contact", "{one.name} will be deleted.")),
    "call": View((Bar("Calling", back=False), Image("person", "0x1B7F6B", 50.0), Paragraph("{caller(arg)}", "big"),
        Paragraph("{arg}", "centre"), Paragraph("Ringing...", "centre"), Button("End call", Pop(), "danger")), "text"),
    "form": View((
        Bar("{'Edit contact' if old != None else 'New contact'}", actions=(Action("check", "Save", (
            Require("clean(draft.name)", "Enter a name"), FORM_NUMBER,
            Require("not clean(draft.email) or '@' in draft.email", "Enter a valid email"),
            Require("find(contacts, clean(draft.name)) in (None, old)", "This name is already used"),
            saved("contacts", "Contact", {key: f"clean(draft.{key})" for key in FORM}))),)),
        Error(), *(Field(key, label, before(key)) for key, label in FORM.items()),
    ), arg="contacts?", let={"old": "find(contacts, arg)"}),
    "keypad": View((Bar("Dial pad"), Field("number", "Number", "arg or ''"), Error(), Button("Call", (
        PAD_NUMBER, dial("trim(draft.number)")))), arg="text?"),
}  # fmt: skip

TASKS = (
    Tasks("contacts_call", 1, {"one": "pick(contacts)"}, (
        "Call {one.name} with the Phone app", "Open Phone and call {one.name}", "In Phone, call {one.name}",
    ), calling("one.number"), ("one.name",)),
    Tasks("contacts_star", 1, {"starred": "coin()",
                               "one": "pick([one for one in contacts if one.favourite == starred])"}, (
        "In Phone, {'remove' if starred else 'add'} {one.name} {'from' if starred else 'to'} the favourites",
        "Open Phone and {'remove the favourite' if starred else 'make'} {one.name}{'' if starred else ' a favourite'}",
    ), STAR, ("one.name", "starred")),
    Tasks("contacts_clear_log", 1, {"one": "pick(contacts)"}, (
        "In Phone, clear the call log, then call {one.name}",
        "Open Phone and delete all recent calls from the call log, then call {one.name}",
    ), (Delete("log"), *calling("one.number")), ("one.name",), weight=0.5),
    Tasks("contacts_delete", 1, {"one": "pick(contacts)"}, (
        "In Phone, delete the contact {one.name}", "Open Phone and delete {one.name}",
    ), Delete("one"), ("one.name",), weight=0.5),
    Tasks("contacts_call_ending", 2, {"one": "pick(contacts)", "end": "ending(one.number, 2)"}, (
        "Call the contact whose number ends in {end}", "In Phone, call the person with the number ending in {end}",
    ), calling("one.number"), ("end",)),
    Tasks("contacts_add", 2, {"name": "new_person([one.name for one in contacts])", "number": "numbers(1)[0]"}, (
        "Add a contact named {name} with the number {number}", "Save {number} as a new contact called {name}",
    ), Insert("contacts", "Contact(name=name, number=number)"), ("name", "number")),
    Tasks("contacts_edit", 2, {
        "one": "pick(contacts)", "which": "pick(EDITED)",
        "value": "numbers(1)[0] if which.field == 'number' else lower(split(one.name)[1]) + '@post.org'",
    }, ("Change the {which.words} of {one.name} to {value}", "In Phone, set {one.name}'s {which.words} to {value}"),
        If("which.field == 'number'", Set("one.number", "value"), Set("one.email", "value")),
        ("one.name", "which.field", "value")),
    Tasks("contacts_call_back", 2, {
        "chosen": "pick([i for i in range(count(log)) if find(contacts, caller(log[i].number)) != None])",
        "calls": "[Call(number=log[i].number, kind='missed' if i == chosen else 'incoming' "
                 "if log[i].kind == 'missed' and i < chosen else log[i].kind) for i in range(count(log))]",
        "number": "log[chosen].number", "one": "pick([one for one in contacts if not one.favourite])",
    }, (
        "Call back the person whose call was missed most recently, then add {one.name} to the favourites",
        "Return the latest missed call, then make {one.name} a favourite",
    ), (*calling("number"), STAR), ("one.name",), prepare=Set("log", "calls")),
)  # fmt: skip

APP = App(
    key="contacts", name="Phone", icon="handset", colour=0x1B7F6B, record="Contacts",
    state={
        "contacts": Table("Contact", {
            "name": Text(), "number": Text(), "email": Text(""), "street": Text(""), "city": Text(""),
            "favourite": Bool(False)}, sort="name"),
        "log": Table("Call", {"number": Text(), "kind": Choice(KINDS)}),
    },
    data={
        "names": "people(14)", "phones": "numbers(16)", "homes": "streets(14)", "cities": "choose(CITIES, 14)",
        "contacts": "sorted_by([Contact(name=names[i], number=phones[i], email=lower(split(names[i])[0]) + "
                    "'@mail.com', street=homes[i], city=cities[i], favourite=i < 3) for i in range(14)], 'name')",
        "kinds": "integers(0, 3, 7)", "order": "shuffled(phones)",
        "log": f"[Call(number=order[i], kind={KINDS}[kinds[i]]) for i in range(7)]",
    },
    functions={"caller(number)": "first([one.name for one in contacts if one.number == number], number)"},
    constants={"EDITED": ({"field": "number", "words": "phone number"}, {"field": "email", "words": "email"})},
    screens=SCREENS, tasks=TASKS,
)  # fmt: skip
