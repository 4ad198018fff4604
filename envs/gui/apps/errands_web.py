"""Tasks across apps that need the web, maps, files or music: what one app says is done in another."""

from ..declare.app import Look, Tasks
from ..declare.operations import Insert, SendTo, Set
from .browser import UNMARK
from .contacts import calling
from .music import PLAY
from .settings import CONNECT
from .shop import PUT_LINE, several

WHO = {"who": "pick(contacts.contacts)"}
PAPER = {"paper": "pick([one for one in files.files if one.kind == 'text' and not one.binned])"}
NOTE = {"note": "pick([one for one in notes.notes if not one.binned])"}
WAY = (
    "In Maps, start the way from {start.name} to the street of {name}, which Phone knows, by {mode}",
    "Look up in Phone where {name} lives, then let Maps guide me from {start.name} to that street by {mode}",
    "I am at {start.name} and want to visit {name}, whose street is in Phone. Get me going by {mode} in Maps",
)
WEB = (
    Tasks("errand_bookmark_city", 3, {
        "who": "pick(contacts.contacts)", "title": "pick([one.title for one in pages if one.site == 'Atlas'])",
    }, (
        "In the Browser, bookmark the page of the city in which {who.name} lives according to Phone",
        "Find the city of {who.name} in Phone and add its Atlas page to the Browser's bookmarks",
        "Where does {who.name} live? Phone knows; make a bookmark of that city's own page in the Browser",
    ), Insert("bookmarks", "title"), ("who.name",), prepare=(Set("who.city", "title"), UNMARK),
        apps=("contacts", "browser"), look=Look("contacts", "contact", "who.name")),
)  # fmt: skip
PEOPLE = (
    Tasks("errand_place_to_contact", 3, {"place": "pick(maps.places)"}, (
        "Save {place.name} as a contact in Phone, with the phone number that Maps has",
        "Look up the number of {place.name} in Maps and add a contact of that name and number to Phone",
        "Phone should have an entry {place.name}; its number can be found in Maps",
    ), Insert("contacts", "Contact(name=place.name, number=place.phone)"), ("place.name",), apps=("maps", "contacts"),
        look=Look("maps", "place", "place.name")),
    Tasks("errand_call_restaurant", 3, {"page": "pick([one for one in browser.pages if one.site == 'Table Finder'])"}, (
        "Find the phone number of {page.title} in the Browser and call it with the Phone app",
        "Call {page.title}: the number is on the Table Finder site of the Browser",
        "I would like to talk to somebody at {page.title}; the Browser's Table Finder says how to reach it by phone",
    ), calling("page.facts[2]"), ("page.title",), apps=("browser", "contacts"),
        look=Look("browser", "page", "page.title")),
)  # fmt: skip
WRITTEN = (
    Tasks("errand_fact_to_note", 3, {
        "page": "pick([one for one in browser.pages if one.site == 'Atlas'])", "i": "integer(0, 4)",
        "what": "('population', 'year of foundation', 'river', 'mayor')[i]", "folder": "pick(FOLDERS)",
        "title": "page.title + pick((': my trip', ' (to know)', ' & me', ', in brief!'))",
    }, (
        "Look up the {what} of {page.title} in the Browser and write it into a new note {title} in the folder {folder}",
        "Make a note called {title}, in {folder}, whose text is the {what} of {page.title} in the Browser's Atlas",
        "The {what} of {page.title} is on the web: copy that and nothing else into a note of the folder {folder}, "
        "with the title {title}",
    ), Insert("notes", "Note(title=title, text=page.facts[i], folder=folder)"),
        ("page.title", "what", "title", "folder"), apps=("browser", "notes"),
        look=Look("browser", "page", "page.title")),
)  # fmt: skip
PAPERS = (
    Tasks("errand_file_of_note", 3, {
        **NOTE, "one": "pick([one for one in files if not one.binned])",
        "folder": "pick([it.name for it in folders if it.name != one.folder])",
    }, (
        "The note {note.title} names a file: move that file to the folder {folder} in Files",
        "Read {note.title} in Notes and put the file that it speaks of into the folder {folder} of Files",
        "One of the files belongs in {folder}, as I wrote down in Notes under {note.title}; see to it",
    ), Set("one.folder", "folder"), ("note.title", "folder"), prepare=Set("note.text", "'Tidy up ' + one.name"),
        apps=("notes", "files"), look=Look("notes", "note", "note.title")),
)  # fmt: skip
WIFI = (
    Tasks("errand_wifi_of_file", 3, {
        **PAPER, "one": "pick([one for one in networks if one.password and not one.saved])",
    }, (
        "Join the Wi-Fi {one.name}; its password is in the file {paper.name} in Files",
        "Connect this phone to the network {one.name} with the password that the file {paper.name} holds",
        "I wrote the password of the Wi-Fi {one.name} into {paper.name}, which Files can open: go online with it",
    ), CONNECT, ("one.name", "paper.name"),
        prepare=Set("paper.text", "'The password is ' + one.password"), apps=("files", "settings"),
        look=Look("files", "file", "paper.name")),
)  # fmt: skip
BASKET = (
    Tasks("errand_list_of_file", 3, {**PAPER, "one": "pick(products)", "line": several(3)}, (
        "Put what the file {paper.name} in Files asks for into the cart of the Shop",
        "Read {paper.name} in Files, then add what it says to the Shop's cart",
        "There is an errand in {paper.name} (see Files): do it in the Shop as far as the cart, without an order",
    ), PUT_LINE, ("paper.name",), prepare=Set("paper.text", "'Please buy ' + spoken(line)"),
        apps=("files", "shop"), look=Look("files", "file", "paper.name")),
)  # fmt: skip
SONGS = (
    Tasks("errand_song_of_note", 3, {
        **NOTE, "mix": "pick(playlists)", "one": "pick([one for one in songs if one.title not in mix.songs])",
    }, (
        "Add the song that the note {note.title} names to the playlist {mix.name} in Music",
        "Read {note.title} in Notes, then put the song of which it speaks on my playlist {mix.name}",
        "My playlist {mix.name} in Music lacks something that is written down in Notes under {note.title}",
    ), Set("mix.songs", "toggled(mix.songs, one.title)"), ("note.title", "mix.name"),
        prepare=Set("note.text", "'Listen to ' + one.title"), apps=("notes", "music"),
        look=Look("notes", "note", "note.title")),
    Tasks("errand_song_by_weather", 3, {
        "two": "choose([one for one in browser.pages if one.site == 'Weather'], 2)",
        "a": "two[0].about", "b": "two[1].about",
        "others": "choose([one for one in songs if one.title != playing], 2)", "warm": "others[0].title",
        "cold": "others[1].title", "one": "others[0] if two[0].number > two[1].number else others[1]",
    }, (
        "If the Browser says that {a} is warmer than {b} today, play {warm} in Music, otherwise play {cold}",
        "Compare the highs of {a} and {b} in the Browser: put on {warm} in Music if {a} has the higher, else {cold}",
        "I choose by the weather: {warm} when {a} is hotter than {b}, {cold} when not. See the Browser and play it",
    ), PLAY, ("a", "b", "warm", "cold"), apps=("browser", "music"), look=Look("browser", "page", "two[0].title")),
    Tasks("errand_quiet_flight", 3, {"one": "pick([one for one in songs if one.title != playing])"}, (
        "Turn on airplane mode, then play {one.title} in Music",
        "In Settings, switch airplane mode on, and put on {one.title} in Music",
        "My flight leaves: the phone has to be in airplane mode, and I want to hear {one.title} from Music",
    ), (SendTo("settings", Set("airplane", "True")), *PLAY), ("one.title",), apps=("settings", "music")),
)  # fmt: skip
WAYS = (
    Tasks("errand_way_to_contact", 3, {
        **WHO, "name": "who.name", "start": "pick(places)", "mode": "pick(MODE_NAMES)",
    }, WAY, Insert("trips", "Trip(start=start.name, end=who.street, mode=mode)", start=True),
        ("start.name", "name", "mode"), apps=("contacts", "maps"), look=Look("contacts", "contact", "name")),
    Tasks("errand_way_to_nobody", 3, {
        "name": "new_person([one.name for one in contacts.contacts])", "start": "pick(places)",
        "mode": "pick(MODE_NAMES)",
    }, WAY, (), ("start.name", "name", "mode"), apps=("contacts", "maps"), infeasible=True, weight=0.5,
        look=Look("contacts", "main")),
    Tasks("errand_minutes_of_note", 3, {
        **NOTE, "ends": "choose(places, 2)", "a": "ends[0]", "b": "ends[1]", "mode": "pick(MODE_NAMES)",
    }, (
        "The note {note.title} names a place: how many minutes is it from {a.name} by {mode} in Maps? Answer that",
        "Read {note.title} in Notes, ask Maps for the way there from {a.name} by {mode}, and answer in minutes",
        "I am at {a.name} and go by {mode} to the place that I wrote down under {note.title} in Notes. "
        "After what number of minutes am I there, says Maps?",
    ), (), ("note.title", "a.name", "mode"), prepare=Set("note.text", "'Meet at ' + b.name"),
        apps=("notes", "maps"), look=Look("notes", "note", "note.title"), answer="minutes(a, b, mode)"),
)  # fmt: skip
ERRANDS_WEB = tuple(
    (app, one)
    for app, tasks in (
        ("browser", WEB), ("contacts", PEOPLE), ("notes", WRITTEN), ("files", PAPERS), ("settings", WIFI),
        ("shop", BASKET), ("music", SONGS), ("maps", WAYS),
    )
    for one in tasks
)  # fmt: skip
"""(App at hand, tasks)."""
