"""Calendar: two weeks of events, hour by hour; adding, editing, moving, deleting, reminders, search, invitations."""

from ..declare import widgets as w
from ..declare.app import App, Tasks, View
from ..declare.operations import Delete, If, Insert, Pop, Push, Require, Set, Submit
from ..declare.state import Choice, Int, Table, Text
from .parts import about, before, chips, delete_button, searched, stepper

WEEKS, DAYS = ("This week", "Next week"), ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
REMINDERS = ("None", "10 minutes", "1 hour", "1 day")
EARLIEST, LATEST = 7, 20  # hours at which events begin
EVENT = w.Row("{one.title}", Push("event", "one.number"), "{span(one)}{', ' + one.place if one.place else ''}",
              "{'bell' if one.reminder != 'None' else 'calendar'}", drop=Set("one.hour", "onto"))  # fmt: skip
FOUND = w.Row("{one.title}", Push("event", "one.number"), "{when(one)}", "calendar")
FORM = ("title", "place", "week", "day", "hour", "hours", "reminder")
ENTRY = ", ".join(f"{key}=clean(draft.{key})" if key in ("title", "place") else f"{key}=draft.{key}" for key in FORM)
FIRST = {"week": "WEEKS[0]", "day": "DAYS[0]", "hour": "12", "hours": "1", "reminder": "'None'"}

SCREENS = {
    "main": View((
        w.Bar("Calendar", actions=(
            w.Action("search", "Search", Push("search")), w.Action("mail", "Invitations", Push("invitations")),
            w.Action("plus", "New event", Push("form")),
        )),
        w.Tabs("week", WEEKS), chips("day", "DAYS", name="name"),
        w.ForEach("hour", "HOURS", (
            w.Row("{two_digits(hour)}:00", target="hour"),
            w.ForEach("one", "events", (w.When("one.week == draft.week and one.day == draft.day", (EVENT,)),),
                      "one.hour == hour and one.status in ('own', 'accepted')"),
        )),
    ), drafts={"week": "WEEKS[0]", "day": "DAYS[0]"}),
    "search": View((
        w.Bar("Search"), w.Field("search", "Search events"),
        w.ForEach("one", "events", (FOUND,), searched("one.title + ' ' + one.place"),
                  otherwise=(w.Empty("No such event", "search"),)),
    )),
    "invitations": View((w.Bar("Invitations"), w.ForEach(
        "one", "events", (FOUND,), "one.status == 'invited'", otherwise=(w.Empty("No invitations", "mail"),)))),
    "event": about(
        "Event", "events", "calendar",
        w.Bar("{one.title}", actions=(w.Action("pencil", "Edit", Push("form", "one.number")),)),
        w.Paragraph("{one.title}", "big"), w.Row("Day", detail="{one.day} {lower(one.week)}", icon="calendar"),
        w.Row("Begins", detail="{two_digits(one.hour)}:00", icon="clock"),
        w.Row("Ends", detail="{two_digits(one.hour + one.hours)}:00", icon="clock"),
        w.When("one.place", (w.Row("Where", detail="{one.place}", icon="home"),)),
        w.When("one.host", (w.Row("Invited by", detail="{one.host}", icon="person"),
                            w.Paragraph("{'Not answered' if one.status == 'invited' else one.status}", "centre"))),
        w.When("one.status == 'invited'", (
            w.Button("Accept", Set("one.status", "'accepted'")),
            w.Button("Decline", Set("one.status", "'declined'"), "danger"),
        )),
        w.Section("Remind me before"),
        w.Chips("name", "REMINDERS", "{name}", Set("one.reminder", "name"), "name == one.reminder"),
        delete_button("event", "{one.title} will be deleted."),
    ),
    "form": View((
        w.Bar("{'Edit event' if old != None else 'New event'}"),
        *(w.Field(key, key.capitalize(), before(key)) for key in ("title", "place")),
        chips("week", "WEEKS", name="name"), chips("day", "DAYS", name="name"),
        stepper("hour", EARLIEST, LATEST, "start", "{two_digits(draft.hour)}:00"),
        stepper("hours", 1, 6, "length", "{draft.hours} h"), w.Section("Reminder"),
        chips("reminder", "REMINDERS", name="name"), w.Error(), w.Button("Save event", Submit()),
    ), arg="events?", let={"old": "find(events, arg)"},
        drafts={key: before(key, value) for key, value in FIRST.items()}, enter=(
            Require("clean(draft.title)", "Enter a title"),
            If("old == None", Insert("events", f"Event(number=next_event(), {ENTRY})"), tuple(
                Set(f"old.{key}", f"clean(draft.{key})" if key in ("title", "place") else f"draft.{key}")
                for key in FORM)), Pop())),
}  # fmt: skip

OWN = "pick([one for one in events if one.status in ('own', 'accepted')])"
INVITED = "pick([one for one in events if one.status == 'invited'])"
REMIND = ("In Calendar, set the reminder of {title} to {reminder}", "Remind me of {title} {reminder} before it begins",
          "{reminder} in advance the phone should tell me that {title} is coming up")  # fmt: skip
TASKS = (
    Tasks("calendar_delete", 1, {"one": OWN}, (
        "In Calendar, delete {one.title}", "Take {one.title} out of my calendar",
        "{one.title} has been called off, so it must not stay among my events",
    ), Delete("one"), ("one.title",)),
    Tasks("calendar_answer", 1, {"one": INVITED, "yes": "coin()"}, (
        "In Calendar, {'accept' if yes else 'decline'} the invitation to {one.title}",
        "Tell {one.host} through Calendar that I {'will come' if yes else 'cannot come'} to {one.title}",
        "{'Say yes' if yes else 'Say no'} to {one.title}, to which I was invited",
    ), Set("one.status", "'accepted' if yes else 'declined'"), ("one.title", "yes")),
    Tasks("calendar_remind", 1, {
        "one": OWN, "title": "one.title",
        "reminder": "pick([name for name in REMINDERS if name not in ('None', one.reminder)])",
    }, REMIND, Set("one.reminder", "reminder"), ("title", "reminder")),
)  # fmt: skip
APP = App(
    key="calendar", name="Calendar", icon="calendar", colour=0x3B6FA0, record="Calendar",
    state={"events": Table("Event", {
        "number": Int(), "title": Text(), "place": Text(), "week": Choice(WEEKS), "day": Choice(DAYS),
        "hour": Int(EARLIEST, LATEST), "hours": Int(1, 6, 1), "reminder": Choice(REMINDERS, "None"),
        "status": Choice(("own", "invited", "accepted", "declined"), "own"), "host": Text(""),
    })},
    data={
        "titles": "choose(OCCASIONS, 13)", "places": "choose(VENUE_NAMES, 13)", "names": "people(13)",
        "starts": "choose(HOURS, 13)", "busy": "choose(DAYS, 4)",
        "events": "[Event(number=301 + i, title=titles[i], place=places[i], week=pick(WEEKS), day=pick(busy), "
                  "hour=starts[i], hours=integer(1, 4), reminder=pick(REMINDERS), "
                  "status='own' if i < 7 else 'accepted' if i < 9 else 'invited', host=names[i] if i > 6 else '') "
                  "for i in range(13)]",
    },
    functions={
        "next_event()": "max((300,) + [old.number for old in events]) + 1",
        "find_title(title)": "first([old for old in events if old.title == title])",
        "on(week, day)": "[old for old in events if old.week == week and old.day == day "
                         "and old.status in ('own', 'accepted')]",
        "span(one)": "two_digits(one.hour) + ':00 to ' + two_digits(one.hour + one.hours) + ':00'",
        "when(one)": "one.day + ' ' + lower(one.week) + ', ' + two_digits(one.hour) + ':00'",
    },
    constants={"WEEKS": WEEKS, "DAYS": DAYS, "REMINDERS": REMINDERS, "HOURS": tuple(range(EARLIEST, LATEST + 1))},
    screens=SCREENS, tasks=TASKS,
)  # fmt: skip
