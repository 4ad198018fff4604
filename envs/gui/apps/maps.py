"""Maps: places with ratings, hours and lists to save them in, directions with recent trips, and options."""

from ..declare import widgets as w
from ..declare.app import App, Tasks, View
from ..declare.operations import Delete, Each, Insert, Pop, Push, Require, SendTo, Set
from ..declare.state import Bool, Choice, Int, Ref, Table, Text
from .contacts import dial
from .parts import chips, confirm, each, new_named, radios, record, searched, to, worded

KINDS = {"Cafe": ("mug", 0x9A6B3F), "Museum": ("home", 0x7A5BA8), "Bakery": ("bag", 0xC98A2B),
         "Park": ("tree", 0x3E9B5B), "Library": ("book", 0x3D7DD8), "Hotel": ("lamp", 0xB8476B),
         "Pharmacy": ("plus", 0x2E9E8B)}  # fmt: skip
MODES = {"car": {"pace": 2, "wait": 3}, "bus": {"pace": 4, "wait": 6}, "bike": {"pace": 5, "wait": 1},
         "foot": {"pace": 14, "wait": 0}}  # fmt: skip
STYLES = ("Standard", "Satellite", "Terrain")
SWITCHES = {"tolls": "Avoid tolls", "ferries": "Avoid ferries", "voice": "Voice guidance"}
PLACE = w.Row("{one.name}", Push("place", "one.name"), "{one.stars} stars, {one.street}", "{KINDS[one.kind].icon}")
TRIP = record("Trip", {"start": "clean(draft.start)", "end": "clean(draft.end)", "mode": "draft.mode"})

SCREENS = {
    "main": View((
        w.Bar("Maps", actions=(to("route", "Directions", "route"), to("heart", "Saved", "saved"),
                               to("gear", "Options", "options"))),
        w.Field("search", "Search here"), w.Chips("kind", "sorted(kinds)", "{kind}", Set(
            "draft.kind", "'' if kind == draft.kind else kind"), "kind == draft.kind"),
        each("one", "places", PLACE, f"draft.kind in ('', one.kind) and {searched('one.name')}",
             "No such place", "pin"),
    ), drafts={"kind": "''"}, let={"kinds": "repeated([one.kind for one in places])"}),
    "place": View((w.Bar("{one.name}"), w.Image("{KINDS[one.kind].icon}", "KINDS[one.kind].colour", 34.0),
        w.Paragraph("{one.name}", "big"), w.Button("Directions", Push("route", "arg")),
        w.Row("Rating", detail="{one.stars} stars", icon="star"), w.Row("Address", detail="{one.street}", icon="pin"),
        w.Row("Open", detail="{one.opens}:00 to {one.closes}:00", icon="sun"),
        w.Row("Phone", SendTo("contacts", dial("one.phone")), "{one.phone}", "handset"),
        w.Section("Your rating"), w.Chips("n", "range(1, 6)", "{n}", Set("one.mine", "n"), "n == one.mine"),
        w.Section("Save to"), each("group", "lists", w.Radio(
            "{group.name}", "group.name == one.list", Set("one.list", "'' if group.name == one.list else group.name"))),
    ), arg="places", let={"one": "find(places, arg)"}),
    "saved": View((w.Bar("Saved", actions=(to("plus", "New list", "new"),)), each("group", "lists", w.Row(
        "{group.name}", Push("list", "group.name"), "Places: {count(listed(group.name))}", "heart")))),
    "new": new_named("New list", "lists", "Group", "There is such a list"),
    "list": View((
        w.Bar("{arg}", actions=(w.Action("trash", "Delete list", confirm("Delete list?", "{arg} goes.", "Delete", (
            Each("one", "listed(arg)", Set("one.list", "''")), Delete("group"), Pop()))),)),
        each("one", "listed(arg)", w.Row(
            "{one.name}", Push("place", "one.name"), "{one.street}", "{KINDS[one.kind].icon}",
            hold=confirm("Take it off?", "{one.name} leaves {arg}.", "Take off", Set("one.list", "''"))),
            none="Nothing saved here", icon="heart"),
    ), arg="lists", let={"group": "find(lists, arg)"}),
    "route": View((w.Bar("Directions"), w.Field("start", "From", "'Your location'"), w.Field("end", "To", "arg or ''"),
        chips("mode", "MODE_NAMES"), w.When("here != None and there != None", (w.Paragraph(
            "{far(here, there)} km, {minutes(here, there, draft.mode)} minutes by {draft.mode}", "centre"),)),
        w.Error(), w.Button("Start", (
            Require("clean(draft.start)", "Where from?"), Require("clean(draft.end)", "Where to?"),
            Insert("trips", TRIP, start=True), Pop())),
        w.When("trips", (w.Section("Recent trips"), each("trip", "trips", w.Row(
            "{trip.end}", tuple(Set(f"draft.{key}", f"trip.{key}") for key in ("start", "end", "mode")),
            "From {trip.start}, {trip.mode}", "route",
            hold=confirm("Forget it?", "To {trip.end}", "Forget", Delete("trip")))))),
    ), arg="places?", drafts={"mode": "'car'"},
       let={"here": "find(places, clean(draft.start))", "there": "find(places, clean(draft.end))"}),
    "options": View((w.Bar("Options"), *(w.Switch(title, field) for field, title in SWITCHES.items()),
                     w.Section("Map type"), radios("style_", "STYLES", "style"))),
}  # fmt: skip

SAVE = ("In Maps, save {name} to the list {group}", "Find {name} in Maps and put it on my list {group}",
        "{name} is missing from {group}, one of the lists that Maps keeps for me")  # fmt: skip
UNSAVED = {"one": "pick([one for one in places if not one.list])", "group": "pick(lists).name"}
TASKS = (
    Tasks("maps_save", 1, {**UNSAVED, "name": "one.name"}, SAVE, Set("one.list", "group"), ("name", "group")),
    Tasks("maps_rate", 1, {"one": "pick(places)", "n": "pick([n for n in range(1, 6) if n != one.mine])"}, (
        "Give {one.name} {n} stars in Maps", "In Maps, rate {one.name} with {n} out of 5",
        "My opinion of {one.name} is {n} of 5 stars; enter that in Maps",
    ), Set("one.mine", "n"), ("one.name", "n")),
    Tasks("maps_take_off", 1, {"one": "pick([one for one in places if one.list])"}, (
        "In Maps, take {one.name} off the list {one.list}", "Remove {one.name} from my list {one.list} in Maps",
        "{one.name} should no longer be among the places of {one.list} in Maps",
    ), Set("one.list", "''"), ("one.name", "one.list")),
    Tasks("maps_start", 2, {"ends": "choose(places, 2)", "mode": "pick(MODE_NAMES)",
                            "start": "pick(('Your location', ends[0].name))", "end": "ends[1].name"}, (
        "In Maps, start the way from {start} to {end} by {mode}",
        "Get directions in Maps: from {start}, to {end}, by {mode}; then start",
        "Going by {mode}, how do I get to {end} when I begin at {start}? Let Maps guide me",
    ), Insert("trips", "Trip(start=start, end=end, mode=mode)", start=True), ("start", "end", "mode")),
)  # fmt: skip

APP = App(
    key="maps", name="Maps", icon="pin", colour=0x2F8F5B, record="Maps",
    state={
        "lists": Table("Group", {"name": Text()}), "places": Table("Place", {
            "name": Text(), "kind": Choice(tuple(KINDS)), "street": Text(), "phone": Text(), "rating": Int(10, 50),
            "opens": Int(5, 11), "closes": Int(14, 23), "x": Int(0, 9), "y": Int(0, 9), "list": Ref("lists", ""),
            "mine": Int(0, 5, default=0)}, sort="name", derived={
                "stars": "cut(text(rating), 1) + '.' + ending(text(rating), 1)"}),
        "trips": Table("Trip", {"start": Text(), "end": Text(), "mode": Choice(tuple(MODES))}),
        **dict.fromkeys(SWITCHES, Bool()), "style": Choice(STYLES),
    },
    data={
        "three": "choose(KIND_NAMES, 4)", "kinds": "three + three + three", "names": "choose(VENUES, 12)",
        "venues": "[names[i] + ' ' + kinds[i] for i in range(12)]", "homes": "streets(12)", "phones": "numbers(12)",
        "stars": "choose(range(21, 50), 12)", "named": "choose(LISTS, 3)",
        "places": "sorted_by([Place(name=venues[i], kind=kinds[i], street=homes[i], phone=phones[i], rating=stars[i], "
                  "opens=integer(6, 11), closes=integer(15, 24), x=integer(0, 10), y=integer(0, 10), "
                  "list=named[i] if i < 3 else '', mine=integer(0, 6 if i < 6 else 1)) for i in range(12)], 'name')",
        "lists": "[Group(name=name) for name in named]",
        "trips": "[Trip(start='Your location', end=venues[i], mode=pick(MODE_NAMES)) for i in range(3)]",
        **dict.fromkeys(SWITCHES, "coin()"), "style": "pick(STYLES)",
    },
    functions={
        "listed(name)": "[one for one in places if one.list == name]",
        "far(a, b)": "max((a.x - b.x, b.x - a.x)) + max((a.y - b.y, b.y - a.y)) + 1",
        "minutes(a, b, mode)": "far(a, b) * MODES[mode].pace + MODES[mode].wait",
    },
    constants={
        "KINDS": {name: {"icon": icon, "colour": colour} for name, (icon, colour) in KINDS.items()}, "MODES": MODES,
        "KIND_NAMES": tuple(KINDS), "MODE_NAMES": tuple(MODES), "STYLES": STYLES,
        "LISTS": ("Favourites", "Want to go", "Lunch", "With Mum", "Work trips", "Weekend"),
        "SWITCHES": worded({field: title.lower() for field, title in SWITCHES.items()}),
    },
    screens=SCREENS, tasks=TASKS,
)  # fmt: skip
