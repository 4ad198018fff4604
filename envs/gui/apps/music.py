"""Music: songs, artists and albums, playlists, favourites, a queue that is put in order by dragging, a player."""

from ..declare import widgets as w
from ..declare.app import App, Tasks, View
from ..declare.operations import Delete, If, Insert, Pop, Push, Set, Toggle
from ..declare.state import Bool, Choice, Int, List, Ref, Table, Text
from .parts import confirm, each, searched, tabbed, to, unused

REPEAT, RED, BLUE = ("Off", "All", "One"), "0x8A3B7A", "0x4A5FA8"
MARK = "{'heart' if one.liked else 'music'}"
SONG = w.Row("{one.title}", Push("song", "one.title"), "{one.artist}, {one.length}", MARK)
LIKE = w.Action("heart{'' if one.liked else '_outline'}", "{'Remove' if one.liked else 'Add'} favourite",
                Toggle("one.liked"))  # fmt: skip
NAMED = unused("playlists", "There is such a playlist")
PLAY = (Set("playing", "one.title"), Set("sounding", "True"))
TITLES = {field: each("title", field, w.Row(
    "{title}", Push("song", "title"), "{find(songs, title).length}", "music", target="title",
    hold=confirm("Take it off?", f"{{title}} leaves {name}.", "Take off", take),
    drop=Set(field, f"moved({field}, title, onto)")), none="No songs here", icon="list") for field, name, take in (
        ("mix.songs", "{arg}", Set("mix.songs", "toggled(mix.songs, title)")),
        ("queue", "the queue", Delete("queue", "title")))}  # fmt: skip

SCREENS = {
    "main": tabbed(w.Bar("Music", actions=(to("heart", "Favourites", "liked"), to("list", "Queue", "queue"))), {
        "Songs": (w.Field("search", "Search songs"), each(
            "one", "songs", SONG, searched("one.title", "one.artist"), "No such song", "music")),
        "Artists": (each("artist", "sorted(repeated([one.artist for one in songs]))", w.Row(
            "{artist}", Push("artist", "artist"), icon="person")),),
        "Playlists": (w.Button("New playlist", Push("new"), "plain"), each("mix", "playlists", w.Row(
            "{mix.name}", Push("playlist", "mix.name"), "Songs: {count(mix.songs)}", "list"))),
    }, w.When("playing", (w.Row("{playing}", Push("player"), "{'Playing' if sounding else 'Paused'}",
                                "{'pause' if sounding else 'play'}"),))),
    "liked": View((w.Bar("Favourites"), each("one", "songs", SONG, "one.liked", "No favourites yet", "heart"))),
    **{key: View((w.Bar("{arg}"), w.Image(icon, colour, 36.0), each("one", "songs", SONG, f"one.{key} == arg")),
                 arg="text") for key, icon, colour in (("artist", "person", RED), ("album", "music", BLUE))},
    "song": View((
        w.Bar("{one.title}", actions=(LIKE, to("plus", "Add to playlist", "add", "arg"))), w.Image("music", BLUE, 36.0),
        w.Paragraph("{one.title}", "big"), w.Button("Play", PLAY),
        w.Button("Add to queue", Insert("queue", "arg"), "plain", "arg in queue"),
        w.Row("Artist", Push("artist", "one.artist"), "{one.artist}", "person"),
        w.Row("Album", Push("album", "one.album"), "{one.album}, {one.year}", "music"),
        w.Row("Length", detail="{one.length}"),
    ), arg="songs", let={"one": "find(songs, arg)"}),
    "add": View((w.Bar("Add to"), each("mix", "playlists", w.Radio(
        "{mix.name}", "arg in mix.songs", (Set("mix.songs", "toggled(mix.songs, arg)"), Pop()))),
        w.Section("New playlist"), w.Field("name", "Name"), w.Error(), w.Button("Create with this song", (
            *NAMED, Insert("playlists", "Playlist(name=clean(draft.name), songs=(arg,))"), Pop()))),
        arg="songs", let={"old": "None"}),
    "playlist": View((
        w.Bar("{arg}", actions=(
            to("pencil", "Rename", "new", "arg"), w.Action("trash", "Delete playlist", confirm(
                "Delete playlist?", "{arg} will be deleted.", "Delete", (Delete("mix"), Pop()))))),
        w.Button("Queue all songs", Set("queue", "mix.songs"), "plain", "not mix.songs"), TITLES["mix.songs"],
    ), arg="playlists", let={"mix": "find(playlists, arg)"}),
    "new": View((w.Bar("{'Rename' if old != None else 'New playlist'}"), w.Field("name", "Name", "arg or ''"),
        w.Error(), w.Button("Save", (*NAMED, If(
            "old == None", (Insert("playlists", "Playlist(name=clean(draft.name))"), Pop()),
            (Set("old.name", "clean(draft.name)"), Pop(arg="clean(draft.name)")))))),
        arg="playlists?", let={"old": "find(playlists, arg)"}),
    "queue": View((w.Bar("Queue"), TITLES["queue"], w.Button("Clear queue", confirm(
        "Clear queue?", "{count(queue)} songs", "Clear", Delete("queue")), "danger", "not queue"))),
    "player": View((w.Bar("Now playing"), w.Image("music", BLUE, 50.0), w.Paragraph("{one.title}", "big"),
        w.Paragraph("{one.artist}", "centre"), w.Button("{'Pause' if sounding else 'Play'}", Toggle("sounding")),
        w.Button("Next", (Set("playing", "queue[0]"), Delete("queue", "queue[0]")), "plain", "not queue"),
        w.Switch("Shuffle", "shuffle"), w.Section("Repeat"),
        w.Chips("how", "REPEAT", "{how}", Set("repeat", "how"), "how == repeat"),
    ), let={"one": "find(songs, playing)"}),
}  # fmt: skip

ONE = {"one": "pick(songs)", "title": "one.title"}
PLAYED = ("In Music, play {title}", "Put on the song {title} in the Music app",
          "I feel like listening to {title} now; Music has it")  # fmt: skip
TAKE = ("In Music, remove {title} from the playlist {mix}", "Take the song {title} off my playlist {mix} in Music",
        "The playlist {mix} in Music is better without {title}")  # fmt: skip
MIX = {"drawn": "pick(playlists)", "mix": "drawn.name"}
TASKS = (
    Tasks("music_play", 1, {"one": "pick([one for one in songs if one.title != playing])", "title": "one.title"},
          PLAYED, PLAY, ("title",)),
    Tasks("music_like", 1, {**ONE, "do": "'remove' if one.liked else 'add'", "to": "'from' if one.liked else 'to'"}, (
        "In Music, {do} {title} {to} the favourites", "Open the song {title} in Music and {do} it {to} my favourites",
        "{title} {'is no longer' if one.liked else 'has become'} one of my favourite songs: let Music know",
    ), Toggle("one.liked"), ("title", "do")),
    Tasks("music_take_off", 1, {**MIX, "title": "pick(drawn.songs)"}, TAKE,
          Set("drawn.songs", "toggled(drawn.songs, title)"), ("title", "mix")),
    Tasks("music_add", 2, {**MIX, **ONE, "one": "pick([one for one in songs if one.title not in drawn.songs])"}, (
        "In Music, add {title} to the playlist {mix}", "Put the song {title} on my playlist {mix} in Music",
        "The playlist {mix} in Music lacks {title}; please fix that",
    ), Set("drawn.songs", "toggled(drawn.songs, title)"), ("title", "mix")),
    Tasks("music_first", 2, {**MIX, "title": "pick([it for it in drawn.songs if it != drawn.songs[0]])"}, (
        "In Music, move {title} to the top of the playlist {mix}", "Let my playlist {mix} in Music begin with {title}",
        "{title} should be the first song of {mix}, and the order of the others stay: drag it there in Music",
    ), Set("drawn.songs", "moved(drawn.songs, title, drawn.songs[0])"), ("title", "mix")),
)  # fmt: skip

APP = App(
    key="music", name="Music", icon="music", colour=0x8A3B7A, record="Music",
    state={
        "songs": Table("Song", {**dict.fromkeys(("title", "artist", "album"), Text()), "year": Int(), "seconds": Int(),
                                "liked": Bool()}, sort="title", derived={"length": "clock(seconds)"}),
        "playlists": Table("Playlist", {"name": Text(), "songs": List(default=())}),
        "queue": List(), "playing": Ref("songs"), "sounding": Bool(), "shuffle": Bool(), "repeat": Choice(REPEAT),
    },
    data={
        "names": "choose(SONGS, 15)", "bands": "choose(BANDS, 4)", "albums": "choose(RECORDS, 7)",
        "years": "integers(1965, 2026, 7)", "drawn": "integers(8, 28, 15)",
        "songs": "sorted_by([Song(title=names[i], artist=bands[BY[i]], album=albums[ON[i]], year=years[ON[i]], "
                 "seconds=15 * drawn[i] + i, liked=i in (1, 6, 11)) for i in range(15)], 'title')",
        "mixes": "choose(MIXES, 3)", "order": "shuffled(names)",
        "playlists": "[Playlist(name=mixes[i], songs=[order[5 * i + k] for k in range(integer(3, 6))]) "
                     "for i in range(3)]",
        "later": "shuffled(names)", "queue": "[later[i] for i in range(3)]", "playing": "later[4]",
        "sounding": "coin()", "shuffle": "coin()", "repeat": "pick(REPEAT)",
    },
    constants={
        "REPEAT": REPEAT, "BY": (0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3),
        "ON": (0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 6, 6),
        "MIXES": ("Breakfast", "Cooking", "Dinner", "Focus", "Gym", "Late Night", "Long Drive", "Rainy Day", "Running"),
    },
    screens=SCREENS, tasks=TASKS,
)  # fmt: skip
