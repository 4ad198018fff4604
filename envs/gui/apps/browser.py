"""Browser: a small web of six sites with links and forms; bookmarks, a reading list, history and tabs."""

from ..declare import widgets as w
from ..declare.app import App, Tasks, View
from ..declare.operations import Delete, If, Insert, Pop, Push, Require, Set
from ..declare.state import Choice, Int, List, Table, Text
from .parts import chips, confirm, each, offline, record, stepper, tabbed, table, to

SITES = {
    "Atlas": {"about": "All about cities", "icon": "globe", "labels": ("Population", "Founded", "River", "Mayor")},
    "Weather": {"about": "Today's forecast", "icon": "sun", "labels": ("High", "Low", "Sky", "Chance of rain")},
    "Railway": {"about": "Timetables", "icon": "route", "labels": ("First train", "Last train", "Journey", "Fare")},
    "Wildlife": {"about": "Animals of the world", "icon": "fish", "labels": ("Weight", "Lifespan", "Lives in")},
    "Daily Post": {"about": "News", "icon": "page", "labels": ("Written by", "Published", "Comments")},
    "Table Finder": {"about": "Book a restaurant", "icon": "mug", "labels": ("Cuisine", "Address", "Phone")},
}
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LISTS = (("Saved", "Bookmarks", "bookmarks"), ("Later", "Reading list", "reading"), ("History", "History", "history"))
PAGE = w.Row("{one.title}", Push("page", "one.title"), "{one.site}", "{SITES[one.site].icon}")
LISTED = {field: each("title", field, w.Row("{title}", Push("page", "title"), icon="page", hold=confirm(
    "Remove?", "Remove {title}?", "Remove", Delete(field, "title"))), none="Nothing here yet", icon="page")
    for field in ("bookmarks", "reading", "history", "tabs")}  # fmt: skip

SCREENS = {
    "main": View((
        w.Bar("Browser", actions=(to("star", "Library", "library"), to("copy", "Tabs {count(tabs)}", "tabs"))),
        w.Field("search", "Search the web"), w.When("clean(draft.search)", (
            each("one", "pages", PAGE, "all([word in lower(one.title) for word in split(lower(draft.search))])",
                 "No results", "search"),
        ), (each("site", "sites", w.Row(
            "{site.name}", Push("site", "site.name"), "{site.about}", "{SITES[site.name].icon}")),)))),
    "site": View((w.Bar("{arg}"), each("one", "pages", PAGE, "one.site == arg"),
        w.When("arg == 'Table Finder' and bookings", (w.Section("Your bookings"), each("table", "bookings", w.Row(
            "{table.place}", confirm("Cancel?", "{table.place}, {table.day}", "Cancel it", Delete("table")),
            "{table.day}, {table.guests} guests", "check"))))), arg="sites"),
    "page": View((
        w.Bar("{one.title}", actions=(
            w.Action("star{'' if arg in bookmarks else '_outline'}", "{'Un' if arg in bookmarks else ''}bookmark",
                     Set("bookmarks", "toggled(bookmarks, arg)")),
            w.Action("book", "Read{' not' if arg in reading else ''} later", Set("reading", "toggled(reading, arg)")),
            w.Action("plus", "Open in new tab", If("arg in tabs", (), Insert("tabs", "arg"))))),
        w.Paragraph("{one.title}", "big"), w.Section("{one.site}"), each("i", "range(count(one.facts))", w.Row(
            "{SITES[one.site].labels[i]}", detail="{one.facts[i]}")),
        w.When("one.site == 'Table Finder'", (w.Button("Book a table", Push("book", "arg")),)),
        each("link", "pages", w.Row("{link.title}", Push("page", "link.title"), "Link to {link.site}", "globe"),
             "link.about == one.about and link.title != arg")), arg="pages", let={"one": "find(pages, arg)"}),
    "book": View((w.Bar("Book a table"), w.Paragraph("{arg}", "big"), w.Field("name", "Name"),
        chips("day", "DAYS", "{cut(day, 3)}"), stepper("guests", 1, 8), w.Error(), w.Button("Book", (
            Require("clean(draft.name)", "Enter a name"), Require("draft.day", "Choose a day"), Pop(2),
            Insert("bookings", "Booking(place=arg, name=clean(draft.name), day=draft.day, guests=draft.guests)"))),
    ), arg="pages", drafts={"day": "''", "guests": "2"}),
    "library": tabbed(w.Bar("Library"), {tab: (w.Section(title), LISTED[field], w.Button("Delete all", confirm(
        f"Clear {title.lower()}?", f"All {{count({field})}} pages go", "Clear", Delete(field)),
        "danger", f"not {field}")) for tab, title, field in LISTS}),
    "tabs": View((w.Bar("Tabs"), LISTED["tabs"], w.Button("Close all tabs", Delete("tabs"), "plain", "not tabs"))),
}  # fmt: skip

MARK = ("In the Browser, bookmark the page {title}", "Find the page {title} in the Browser and add it to the bookmarks",
        "I will need the web page {title} again: please make a bookmark of it")  # fmt: skip
CLOSE = ("Close the tab {title} in the Browser", "In the Browser, get rid of the open tab {title}",
         "Among the Browser's tabs is {title}; it is no longer needed, so remove it")  # fmt: skip
UNMARK = Set("bookmarks", "[name for name in bookmarks if name != title]")
TASKS = (
    Tasks("browser_bookmark", 1, {"title": "pick([one.title for one in pages if one.number])"}, MARK,
          Insert("bookmarks", "title"), ("title",), prepare=UNMARK),
    Tasks("browser_close_tab", 1, {"title": "pick(tabs)"}, CLOSE, Delete("tabs", "title"), ("title",)),
    Tasks("browser_later", 1, {"title": "pick([one.title for one in pages if one.title not in reading])"}, (
        "Put the page {title} on the reading list of the Browser", "In the Browser, save {title} to read later",
        "No time now for the web page {title}: let it wait among those to read some day",
    ), Insert("reading", "title"), ("title",)),
    Tasks("browser_book", 2, {"one": "pick([one for one in pages if one.site == 'Table Finder'])",
                              "name": "people(1)[0]", "day": "pick(DAYS)", "guests": "integer(1, 8)"}, (
        "Book a table for {guests} at {one.title} on {day} for {name}, with Table Finder in the Browser",
        "In the Browser's Table Finder, reserve {one.title} in the name of {name}: {day}, number of guests {guests}",
        "{name} wants to eat at {one.title} on {day}, a party of {guests}; make the booking on the Table Finder site",
    ), Insert("bookings", "Booking(place=one.title, name=name, day=day, guests=guests)"),
        ("one.title", "name", "day", "guests")),
)  # fmt: skip

APP = App(
    key="browser", name="Browser", icon="globe", colour=0x2563A8, record="Browser", **offline("Browser"),
    state={
        "sites": Table("Site", {"name": Text(), "about": Text()}), "pages": Table("Page", {
            "title": Text(), "site": Choice(tuple(SITES)), "about": Text(), "number": Int(), "facts": List()}),
        "bookings": Table("Booking", {"place": Text(), "name": Text(), "day": Choice(DAYS), "guests": Int(1, 8)}),
        **dict.fromkeys(LISTED, List()),
    },
    data={
        "sites": "[Site(name=name, about=SITES[name].about) for name in SITE_NAMES]", "bookings": "()",
        "cities": "choose(CITIES, 6)", "names": "people(10)", "souls": "integers(300, 9000, 6)",
        "rivers": "choose(RIVERS, 6)", "highs": "choose(range(8, 34), 6)", "early": "choose(range(10, 60), 12)",
        "waits": "integers(3, 30, 6)", "fares": "prices(6)", "sizes": "integers(3, 80, 5)",
        "beasts": "choose(ANIMALS, 5)", "posts": "choose(POSTS, 4)", "venues": "choose(VENUES, 3)",
        "homes": "streets(3)", "phones": "numbers(3)",
        "atlas": "[made(cities[i], 'Atlas', cities[i], 10 * souls[i] + i, (text(10 * souls[i] + i), "
                 "text(integer(820, 1900)), rivers[i], names[i])) for i in range(6)]",
        "weather": "[made('Weather in ' + cities[i], 'Weather', cities[i], highs[i], (text(highs[i]) + ' C', "
                   "text(highs[i] - integer(3, 8)) + ' C', pick(SKIES), text(integer(0, 9)) + '%')) for i in range(6)]",
        "ways": "[6 * waits[i] + i for i in range(6)]", "weights": "[5 * sizes[i] + i for i in range(5)]",
        "trains": "[made('Trains to ' + cities[i], 'Railway', cities[i], ways[i], ('5:' + text(early[i]), "
                  "'22:' + text(early[i + 6]), text(ways[i]) + ' minutes', money(fares[i]))) for i in range(6)]",
        "animals": "[made(beasts[i], 'Wildlife', '', weights[i], (text(weights[i]) + ' kg', text(integer(8, 40)) "
                   "+ ' years', pick(HABITATS))) for i in range(5)]",
        "news": "[made(posts[i], 'Daily Post', cities[i], 0, (names[i + 6], text(integer(1, 29)) + ' May', "
                "text(integer(0, 90)))) for i in range(4)]",
        "tables": "[made(venues[i] + ' Restaurant', 'Table Finder', cities[i], 0, (pick(CUISINES), homes[i], "
                  "phones[i])) for i in range(3)]",
        "pages": "atlas + weather + trains + animals + news + tables", "titles": "shuffled([it.title for it in pages])",
        **{field: f"[titles[i] for i in range({start}, integer({start + 3}, {start + 7}))]"
           for field, start in (("bookmarks", 0), ("reading", 6), ("history", 12), ("tabs", 18))},
    },
    functions={"made(title, site, about, number, facts)": record("Page", "title site about number facts")},
    constants={
        "SITES": SITES, "SITE_NAMES": tuple(SITES), "DAYS": DAYS, "SKIES": ("Clear", "Clouds", "Fog", "Rain", "Sunny"),
        "RANKS": table("site most least", ("Atlas", "most inhabitants", "fewest inhabitants"),
                       ("Weather", "highest high", "lowest high"), ("Railway", "longest journey", "shortest journey"),
                       ("Wildlife", "greatest weight", "smallest weight")),
    },
    screens=SCREENS, tasks=TASKS,
)  # fmt: skip
