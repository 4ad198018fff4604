"""Notes: a searchable list with pins and folders, a form, and a bin that is emptied at once."""

from ..declare import widgets as w
from ..declare.app import App, Tasks, View
from ..declare.operations import Ask, Delete, Each, If, Insert, Pop, Push, Require, Set, Submit, Toggle
from ..declare.state import Bool, Choice, Table, Text

FOLDERS = ("Home", "Work", "Ideas")
LINE = w.Row("{one.title}", Push("note", "one.title"), "{one.folder}", "{'star' if one.pinned else 'pencil'}")
UNPIN_ALL = Each("one", "[one for one in notes if one.pinned]", Set("one.pinned", "False"))
EMPTY_BIN = Each("one", "[one for one in notes if one.binned]", Delete("one"))
SOME = "pick([one for one in notes if not one.binned])"

SCREENS = {
    "main": View((
        w.Bar("Notes", actions=(w.Action("plus", "New note", Push("form")),)),
        w.Tabs("tab", ("Notes", "Bin")),
        w.When("draft.tab == 'Notes'", (
            w.Field("search", "Search notes"),
            w.When("any([one.pinned and not one.binned for one in notes])", (
                w.Section("Pinned"), w.ForEach("one", "notes", (LINE,), "shown(one, draft.search) and one.pinned"),
                w.Button("Unpin all", UNPIN_ALL, "plain"),
            )),
            w.Section("All notes"),
            w.ForEach("one", "notes", (LINE,), "shown(one, draft.search) and not one.pinned", "title",
                    otherwise=(w.Empty("No notes here"),)),
        ), (
            w.ForEach("one", "notes", (w.Row("{one.title}", Toggle("one.binned"), "Tap to restore", "trash"),),
                    "one.binned", otherwise=(w.Empty("The bin is empty", "trash"),)),
            w.Button("Empty bin", Ask("Empty the bin?", "{count([one for one in notes if one.binned])} notes go.", (
                ("Keep", ()), ("Empty", EMPTY_BIN),
            )), "danger", "not any([one.binned for one in notes])"),
        )),
    ), drafts={"tab": "'Notes'"}),
    "note": View((
        w.Bar("{one.title}", actions=(w.Action("pencil", "Edit", Push("form", "one.title")),)),
        w.Paragraph("{one.text}"), w.Switch("Pinned", "one.pinned", "Shown first"),
        w.Section("Folder"), w.ForEach("folder", "FOLDERS", (
            w.Radio("{folder}", "folder == one.folder", Set("one.folder", "folder")),
        )),
        w.Button("Move to bin", (Set("one.pinned", "False"), Set("one.binned", "True"), Pop()), "danger"),
    ), arg="notes", let={"one": "find(notes, arg)"}),
    "form": View((
        w.Bar("{'Edit note' if old != None else 'New note'}"),
        w.Field("title", "Title", "old.title if old != None else ''"),
        w.Field("text", "Text", "old.text if old != None else ''"),
        w.Chips("folder", "FOLDERS", "{folder}", Set("draft.folder", "folder"), "folder == draft.folder"),
        w.Error(), w.Button("Save note", Submit()),
    ), arg="notes?", let={"old": "find(notes, arg)"}, drafts={"folder": "old.folder if old != None else FOLDERS[0]"},
       enter=(
        Require("clean(draft.title)", "Enter a title"),
        Require("find(notes, clean(draft.title)) in (None, old)", "There is a note of this title"),
        Each("one", "[one for one in (old,) if one != None]", Delete("one")),
        Insert("notes", "Note(title=clean(draft.title), text=clean(draft.text), folder=draft.folder, "
                        "pinned=old.pinned if old != None else False)"),
        If("old != None", Pop(arg="clean(draft.title)"), Pop()),
    )),
}  # fmt: skip

TASKS = (
    Tasks("notes_pin", 1, {"one": SOME}, (
        "In Notes, {'unpin' if one.pinned else 'pin'} the note {one.title}",
        "Open Notes and {'take the pin off' if one.pinned else 'pin'} {one.title}",
        "{one.title} should {'not ' if one.pinned else ''}be among the pinned notes",
    ), Toggle("one.pinned"), ("one.title", "one.pinned")),
    Tasks("notes_bin", 1, {"one": SOME}, (
        "In Notes, move {one.title} to the bin", "Throw away the note {one.title}",
        "I am done with {one.title}, so bin it in Notes",
    ), (Set("one.pinned", "False"), Set("one.binned", "True")), ("one.title",)),
    Tasks("notes_restore", 1, {"one": "pick([one for one in notes if one.binned])"}, (
        "In Notes, take {one.title} out of the bin", "Restore the note {one.title} from the bin",
        "Binning {one.title} was a mistake; bring it back to my notes",
    ), Set("one.binned", "False"), ("one.title",)),
    Tasks("notes_move", 1, {"one": SOME, "folder": "pick([name for name in FOLDERS if name != one.folder])"}, (
        "Move the note {one.title} to the folder {folder}", "In Notes, file {one.title} under {folder}",
        "{folder} is the folder of Notes in which {one.title} belongs",
    ), Set("one.folder", "folder"), ("one.title", "folder")),
    Tasks("notes_empty_bin", 2, {"one": "pick([one for one in notes if not one.binned and not one.pinned])"}, (
        "Empty the bin of Notes, then pin {one.title} alone",
        "In Notes, empty the bin and leave only {one.title} pinned",
        "Nothing is to remain in the bin of Notes, and no note but {one.title} is to have a pin",
    ), (EMPTY_BIN, UNPIN_ALL, Set("one.pinned", "True")), ("one.title",)),
    Tasks("notes_add", 2, {
        "title": "pick(GADGETS) + ' ' + text(integer(2, 99))", "text": "streets(1)[0]", "folder": "pick(FOLDERS)",
    }, ("Write a note {title} saying {text} in the folder {folder}", "Add to {folder} in Notes: {title}, text {text}",
        "I have to remember {text}: keep it in Notes, folder {folder}, as {title}"),
        Insert("notes", "Note(title=title, text=text, folder=folder)"), ("title", "text", "folder")),
    Tasks("notes_edit", 2, {"one": SOME, "text": "streets(1)[0]"}, (
        "Change the text of the note {one.title} to {text}", "In Notes, let {one.title} say {text}",
        "What {one.title} says in Notes is out of date; its text should read {text}",
    ), Set("one.text", "text"), ("one.title", "text")),
)  # fmt: skip

APP = App(
    key="notes", name="Notes", icon="pencil", colour=0xB58A1B, record="Notes",
    state={"notes": Table("Note", {
        "title": Text(), "text": Text(), "folder": Choice(FOLDERS), "pinned": Bool(False), "binned": Bool(False),
    }, sort="title")},
    data={
        "titles": "choose(GADGETS, 9)", "lines": "streets(9)",
        "notes": "sorted_by([Note(title=titles[i], text=lines[i], folder=pick(FOLDERS), pinned=i < 2, binned=i > 6) "
                 "for i in range(9)], 'title')",
    },
    functions={
        "shown(one, query)": "not one.binned and (lower(trim(query)) in lower(one.title) "
                             "or lower(trim(query)) in lower(one.text))",
    },
    constants={"FOLDERS": FOLDERS}, screens=SCREENS, tasks=TASKS,
)  # fmt: skip
