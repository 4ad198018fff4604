"""Tasks of the browser, maps, files and music beyond the short ones in the apps' own files.

They are questions, comparisons, longer ones, and what is not there: that is asked in the words of a task that can be
done, so that only a look at the phone tells the two apart.
"""

from ..declare.app import Look, Tasks
from ..declare.operations import Delete, Each, Insert, Set
from .browser import CLOSE, MARK, UNMARK
from .files import BIN, DELETE, PICTURE, RESTORE
from .maps import SAVE
from .music import PLAY, PLAYED, TAKE

WEB = (
    Tasks("browser_bookmark_missing", 1, {
        "title": "pick(('', 'Weather in ', 'Trains to ')) + pick([it for it in CITIES if find(pages, it) == None])",
    }, MARK, (), ("title",), infeasible=True, look=Look("browser", "site", "'Atlas'"), weight=0.5),
    Tasks("browser_close_missing", 1, {"title": "pick([one.title for one in pages if one.title not in tabs])"},
          CLOSE, (), ("title",), infeasible=True, look=Look("browser", "tabs"), weight=0.5),
    Tasks("browser_rank", 2, {
        "kind": "pick(RANKS)", "most": "coin()", "drawn": "choose([one for one in pages if one.site == kind.site], 3)",
        "ranked": "sorted_by(drawn, 'number')", "title": "(last(ranked) if most else ranked[0]).title",
        "which": "kind.most if most else kind.least", "names": "join(', ', [one.title for one in drawn])",
    }, (
        "Of the pages {names} in the Browser, bookmark the one with the {which}",
        "Compare these web pages: {names}. Add the one with the {which} to the Browser's bookmarks",
        "Which of {names} has the {which}? Make a bookmark of its page in the Browser",
    ), Insert("bookmarks", "title"), ("names", "which"), look=Look("browser", "page", "title"), prepare=UNMARK),
    Tasks("browser_city", 1, {
        "one": "pick([one for one in pages if one.site == 'Atlas'])", "i": "integer(0, 4)",
        "what": "('population', 'year of foundation', 'river', 'mayor')[i]",
    }, (
        "What is the {what} of {one.title}? Look it up in the Browser and answer",
        "Find the {what} of {one.title} on the Atlas site of the Browser, and give it as your answer",
        "I have to know one thing about {one.title}, its {what}: the Browser's Atlas says so. Answer with it",
    ), (), ("one.title", "what"), look=Look("browser", "page", "one.title"), answer="one.facts[i]"),
    Tasks("browser_train", 1, {
        "one": "pick([one for one in pages if one.site == 'Railway'])", "i": "integer(0, 4)",
        "what": "('departure time of the first train', 'departure time of the last train', 'travel time by train', "
                "'fare')[i]",
    }, (
        "According to the Browser's Railway site, what is the {what} to {one.about}?",
        "Look up the {what} to {one.about} in the Browser and answer with it",
        "I am going to {one.about}. Have a look at the Railway page in the Browser and tell me the {what} there",
    ), (), ("one.about", "what"), look=Look("browser", "page", "one.title"), answer="one.facts[i]"),
    Tasks("browser_warmer", 2, {
        "two": "choose([one for one in pages if one.site == 'Weather'], 2)", "warm": "coin()",
        "ranked": "sorted_by(two, 'number')", "a": "two[0].about", "b": "two[1].about",
        "how": "'warmer' if warm else 'colder'",
    }, (
        "Which city is {how} today by the Weather site of the Browser, {a} or {b}? Answer with its name",
        "Compare today's high in {a} and in {b} in the Browser, and answer with the {how} city",
        "{a} or {b}: name the one where the Browser's weather pages have the {how} day",
    ), (), ("a", "b", "how"), look=Look("browser", "page", "ranked[0].title"),
        answer="(ranked[1] if warm else ranked[0]).about"),
    Tasks("browser_count", 2, {
        "which": "pick(('bookmarks', 'reading list', 'history'))", "sites": "choose(SITE_NAMES, 2)", "a": "sites[0]",
        "b": "sites[1]",
        "names": "bookmarks if which == 'bookmarks' else reading if which == 'reading list' else history",
    }, (
        "How many pages of {a} and {b} together are in the {which} of the Browser? Answer with a number",
        "Count what the Browser's {which} has from the sites {a} and {b}, and answer with the number",
        "Look through the {which} of the Browser: what number of the pages there belongs to {a} or to {b}?",
    ), (), ("which", "a", "b"), look=Look("browser", "library"),
        answer="count([it for it in names if find(pages, it).site in (a, b)])"),
    Tasks("browser_tidy", 2, {"title": "pick(bookmarks)"}, (
        "In the Browser, clear the history, close all tabs and remove {title} from the bookmarks",
        "Leave no traces in the Browser: empty its history, shut every tab, and delete the bookmark {title}",
        "The Browser needs tidying: no tabs, no history, and no bookmark of {title} any more",
    ), (Delete("history"), Delete("tabs"), Delete("bookmarks", "title")), ("title",)),
)  # fmt: skip
PLACES = (
    Tasks("maps_save_missing", 1, {
        "name": "pick([it for it in VENUES if not any([it in one.name for one in places])]) + ' ' + pick(places).kind",
        "group": "pick(lists).name",
    }, SAVE, (), ("name", "group"), infeasible=True, look=Look("maps", "main"), weight=0.5),
    Tasks("maps_save_best", 2, {
        "kind": "pick(repeated([one.kind for one in places]))", "good": "coin()", "how": "'best' if good else 'worst'",
        "ranked": "sorted_by([one for one in places if one.kind == kind], 'rating')",
        "one": "last(ranked) if good else ranked[0]", "group": "pick([it.name for it in lists if it.name != one.list])",
    }, (
        "In Maps, save the {kind} with the {how} rating to the list {group}",
        "Find out which {kind} in Maps is rated {how}, and put it on the list {group}",
        "Compare the stars of every {kind} in Maps; the {how} one belongs on my list {group}",
    ), Set("one.list", "group"), ("kind", "how", "group"), look=Look("maps", "place", "one.name")),
    Tasks("maps_fact", 1, {
        "one": "pick(places)", "i": "integer(0, 3)", "what": "('phone number', 'address', 'rating in stars')[i]",
    }, (
        "What is the {what} of {one.name} in Maps? Answer with it",
        "Look up {one.name} in Maps and answer with its {what}",
        "I need the {what} under which Maps knows {one.name}; let me have it as your answer",
    ), (), ("one.name", "what"), look=Look("maps", "place", "one.name"),
        answer="(one.phone, one.street, one.stars)[i]"),
    Tasks("maps_minutes", 2, {
        "ends": "choose(places, 2)", "a": "ends[0]", "b": "ends[1]", "mode": "pick(MODE_NAMES)",
    }, (
        "How many minutes does it take from {a.name} to {b.name} by {mode}, according to Maps? Answer with the number",
        "Ask Maps for the way from {a.name} to {b.name} by {mode}, and answer how many minutes it takes",
        "Going by {mode} and leaving {a.name}, after what number of minutes am I at {b.name}? Maps can tell",
    ), (), ("a.name", "b.name", "mode"), look=Look("maps", "route", "b.name"), answer="minutes(a, b, mode)"),
    Tasks("maps_open", 2, {
        "kind": "pick(repeated([one.kind for one in places]))", "n": "integer(15, 24)",
    }, (
        "How many places of the kind {kind} in Maps close later than {n}:00? Answer with the number",
        "Count every {kind} in Maps whose opening hours end after {n}:00, and answer with the number",
        "At {n}:00 some places are shut already: what number of those that Maps lists as {kind} stay open longer?",
    ), (), ("kind", "n"), look=Look("maps", "main"),
        answer="count([one for one in places if one.kind == kind and one.closes > n])"),
    Tasks("maps_new_list", 2, {
        "one": "pick(places)",
        "name": "pick(FIRST) + pick((' & ', \"'s \", ', ')) + pick(('Co.', 'May trip', 'Plan B!', 'Top 10'))",
    }, (
        "Make a list called {name} in Maps and save {one.name} to it",
        "In Maps, {one.name} should go to a new list with the name {name}",
        "Put {one.name} on a list of its own in Maps, which you call {name}",
    ), (Insert("lists", "Group(name=name)"), Set("one.list", "name")), ("one.name", "name")),
    Tasks("maps_options", 2, {
        "two": "choose(SWITCHES, 2)", "a": "two[0]", "b": "two[1]", "want": "coin()", "other": "coin()",
        "on": "'on' if want else 'off'", "off": "'on' if other else 'off'",
        "type": "pick([one for one in STYLES if one != style])",
    }, (
        "In the options of Maps, turn {on} {a.words}, turn {off} {b.words}, and set the map type to {type}",
        "Choose {type} as the type of map in Maps, and switch {a.words} {on} and {b.words} {off}",
        "I would like to see the {type} map, with {a.words} {on} and {b.words} {off}: set up Maps like that",
    ), (Set("[a.field]", "want"), Set("[b.field]", "other"), Set("style", "type")),
        ("a.words", "on", "b.words", "off", "type"), prepare=Set("[a.field]", "not want")),
)  # fmt: skip
PAPERS = (
    Tasks("files_delete_missing", 1, {
        "name": "pick([it for it in DOCUMENTS if not any([it in one.name for one in files])]) + pick(('.pdf', '.txt'))",
    }, DELETE, (), ("name",), infeasible=True, look=Look("files", "main"), weight=0.5),
    Tasks("files_restore_missing", 1, {"name": "pick([one.name for one in files if not one.binned])"},
          RESTORE, (), ("name",), infeasible=True, look=Look("files", "bin"), weight=0.5),
    Tasks("files_move_largest", 2, {
        "two": "choose(folders, 2)", "folder": "two[0].name", "other": "two[1].name", "large": "coin()",
        "ranked": "sorted_by(within(folder), 'size')", "one": "last(ranked) if large else ranked[0]",
        "how": "'largest' if large else 'smallest'",
    }, (
        "In Files, move the {how} file of the folder {folder} to {other}",
        "Whichever file in {folder} is the {how} has to go to the folder {other} in Files",
        "Look at the sizes in {folder}, one of the folders of Files, and let {other} have the {how}",
    ), Set("one.folder", "other"), ("folder", "other", "how"), look=Look("files", "folder", "folder")),
    Tasks("files_fact", 1, {
        "one": "pick([one for one in files if not one.binned])", "i": "integer(0, 3)",
        "what": "('size', 'date', 'folder')[i]",
    }, (
        "What is the {what} of {one.name} in Files? Answer with it",
        "Find {one.name} in Files and answer with its {what}",
        "There is a file {one.name} in Files, and I wonder about one thing, its {what}: please answer",
    ), (), ("one.name", "what"), look=Look("files", "file", "one.name"),
        answer="(text(one.size) + ' KB', text(one.day) + ' May', one.folder)[i]"),
    Tasks("files_colour", 2, {**PICTURE, "it": "last(split(thing))"}, (
        "What colour is the {it} in the picture {one.name} in Files? Answer with the colour",
        "Open {one.name} in Files, look at the {it} it shows, and answer with its colour",
        "The photo {one.name} in Files is of a {it}; in which colour? Give that as your answer",
    ), (), ("one.name", "it"), look=Look("files", "file", "one.name"), answer="split(thing)[0]"),
    Tasks("files_count", 2, {"folder": "pick(folders).name", "n": "integer(1, 40)"}, (
        "How many files in the folder {folder} of Files are larger than {n * 100} KB? Answer with the number",
        "Count what takes more than {n * 100} KB in {folder}, in Files, and answer with the number",
        "In {folder} of Files, what number of files are of a size above {n * 100} KB?",
    ), (), ("folder", "n * 100"), look=Look("files", "folder", "folder"),
        answer="count([one for one in within(folder) if one.size > n * 100])"),
    Tasks("files_delete_picture", 2, PICTURE, (
        "In Files, delete the picture of the {thing}", "Find the photo that shows a {thing} in Files and throw it away",
        "One picture in Files is of a {thing}: that one can go to the bin",
    ), BIN, ("thing",), look=Look("files", "file", "one.name")),
    Tasks("files_move_picture", 2, {
        **PICTURE, "folder": "pick([it.name for it in folders if it.name != one.folder])",
    }, (
        "In Files, move the picture of the {thing} to the folder {folder}",
        "Look for the photo with the {thing} in Files and file it under {folder}",
        "The folder {folder} of Files is where the picture showing a {thing} belongs",
    ), Set("one.folder", "folder"), ("thing", "folder"), look=Look("files", "file", "one.name")),
    Tasks("files_new_folder", 2, {
        "one": "pick([one for one in files if not one.binned])",
        "folder": "pick(FIRST) + pick((' & ', \"'s \", ': ')) + pick(('House', 'Papers', 'Trip 2', 'Taxes'))",
    }, (
        "Make a folder called {folder} in Files and move {one.name} into it",
        "In Files, put {one.name} into a new folder named {folder}",
        "{one.name} needs a folder of its own in Files; its name is to be {folder}",
    ), (Insert("folders", "Folder(name=folder)"), Set("one.folder", "folder")), ("one.name", "folder")),
)  # fmt: skip
ALBUMS = (
    Tasks("music_play_missing", 1, {"title": "pick([it for it in SONGS if find(songs, it) == None])"},
          PLAYED, (), ("title",), infeasible=True, look=Look("music", "main"), weight=0.5),
    Tasks("music_take_missing", 1, {
        "drawn": "pick(playlists)", "mix": "drawn.name",
        "title": "pick([one.title for one in songs if one.title not in drawn.songs])",
    }, TAKE, (), ("title", "mix"), infeasible=True, look=Look("music", "playlist", "mix"), weight=0.5),
    Tasks("music_like_longest", 2, {
        "artist": "pick(repeated([one.artist for one in songs]))", "long": "coin()",
        "ranked": "sorted_by([one for one in songs if one.artist == artist], 'seconds')",
        "one": "last(ranked) if long else ranked[0]", "how": "'longest' if long else 'shortest'", "title": "one.title",
    }, (
        "In Music, make the {how} song by {artist} a favourite",
        "Find out which song by {artist} is the {how} and add it to the favourites in Music",
        "Of all that {artist} recorded, the {how} song in Music deserves a heart",
    ), Each("song", "[song for song in songs if song.title == title]", Set("song.liked", "True")), ("artist", "how"),
        prepare=Set("one.liked", "False"), look=Look("music", "artist", "artist")),
    Tasks("music_fact", 1, {
        "one": "pick(songs)", "i": "integer(0, 3)", "what": "('length', 'artist', 'album')[i]",
    }, (
        "What is the {what} of the song {one.title} in Music? Answer with it",
        "Look for {one.title} in Music and answer with its {what}",
        "Tell me about the song {one.title}: Music knows the {what}, which is all I want as an answer",
    ), (), ("one.title", "what"), look=Look("music", "song", "one.title"),
        answer="(one.length, one.artist, one.album)[i]"),
    Tasks("music_longer", 2, {"two": "choose(songs, 2)", "long": "coin()", "ranked": "sorted_by(two, 'seconds')",
                              "a": "two[0].title", "b": "two[1].title", "how": "'longer' if long else 'shorter'"}, (
        "Which song in Music is {how}, {a} or {b}? Answer with its title",
        "Compare the lengths of {a} and {b} in Music, and answer with the {how} one of the two",
        "{a} and {b} are both in Music: name the one that is {how}",
    ), (), ("a", "b", "how"), look=Look("music", "song", "ranked[0].title"),
        answer="(ranked[1] if long else ranked[0]).title"),
    Tasks("music_count", 2, {
        "artist": "pick(repeated([one.artist for one in songs]))", "n": "integer(2, 7)",
    }, (
        "How many songs by {artist} in Music are longer than {n}:00? Answer with the number",
        "Count the songs of {artist} that last more than {n} minutes, in Music, and answer with the number",
        "Music has several songs by {artist}: what number of them goes on for over {n} minutes?",
    ), (), ("artist", "n"), look=Look("music", "artist", "artist"),
        answer="count([one for one in songs if one.artist == artist and one.seconds > n * 60])"),
    Tasks("music_new", 2, {
        "title": "pick(songs).title",
        "name": "pick(FIRST) + pick((\"'s \", ' & I: ', ', ')) + pick(('Party!', 'Best of 2026', 'Trip', 'Sleep'))",
    }, (
        "Make a playlist called {name} in Music and add {title} to it",
        "In Music, start a new playlist {name} with the song {title}",
        "{title} goes on a playlist that does not exist yet in Music; name it {name}",
    ), Insert("playlists", "Playlist(name=name, songs=(title,))"), ("title", "name")),
    Tasks("music_queue", 2, {
        "two": "choose([one.title for one in songs if one.title not in queue], 2)", "a": "two[0]", "b": "two[1]",
    }, (
        "In Music, add {a} and then {b} to the queue", "Queue up {a} in Music, and after it {b}",
        "When the queue in Music is through, I want to hear {a} followed by {b}",
    ), (Insert("queue", "a"), Insert("queue", "b")), ("a", "b")),
    Tasks("music_mode", 2, {
        "want": "coin()", "how": "pick([it for it in REPEAT if it != repeat])",
        "one": "pick([it for it in songs if it.title != playing])", "title": "one.title",
        "on": "'on' if want else 'off'",
    }, (
        "In Music, play {title}, turn shuffle {on} and set repeat to {how}",
        "Put on {title} in Music; its player should have shuffle {on} and {how} as the repeat mode",
        "With the repeat mode {how} and shuffle switched {on}, let Music begin {title}",
    ), (*PLAY, Set("shuffle", "want"), Set("repeat", "how")), ("title", "on", "how"),
        prepare=Set("shuffle", "not want")),
)  # fmt: skip
WEB_TASKS = tuple(
    (app, one)
    for app, tasks in (("browser", WEB), ("maps", PLACES), ("files", PAPERS), ("music", ALBUMS))
    for one in tasks
)
"""(App at hand, tasks)."""
