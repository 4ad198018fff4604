"""Files: folders with documents and pictures; rename, move (by drag, too), copy, sort, a bin with restore."""

from ..declare import widgets as w
from ..declare.app import App, Tasks, View
from ..declare.operations import Delete, Each, If, Insert, Pop, Push, Set
from ..declare.state import Bool, Choice, Int, Ref, Table, Text
from .parts import about, confirm, each, new_named, record, searched, unused, worded
from .shop import COLOURS

THINGS = ("bell", "boat", "book", "car", "fish", "heart", "house", "lamp", "mug", "plant", "shirt", "star", "tree")
ORDERS = {"name": "Name", "size": "Size", "day": "Date"}
BIN = Set("one.binned", "True")
UNBIN = confirm("Restore?", "{one.name} goes back to {one.folder}.", "Restore", Set("one.binned", "False"))
EMPTY_BIN = Each("one", "[one for one in files if one.binned]", Delete("one"))
COPIED = {key: f"one.{key}" for key in ("kind", "folder", "size", "day", "icon", "shade", "text")}
COPY = Insert("files", record("File", {"name": "'Copy of ' + one.name", **COPIED}))
FILE = w.Row("{one.name}", Push("file", "one.name"), "{one.size} KB, {one.day} May", "{one.icon}",
             hold=confirm("Delete?", "{one.name} goes to the bin.", "Delete", BIN),
             drop=Set("one.folder", "onto"))  # fmt: skip
SORTED = tuple(w.When(f"order == {key!r}", (
    w.ForEach("one", "files", (FILE,), "one.folder == arg and not one.binned", key),)) for key in ORDERS)  # fmt: skip

SCREENS = {
    "main": View((
        w.Bar("Files", actions=(w.Action("plus", "New folder", Push("new")), w.Action("trash", "Bin", Push("bin")))),
        w.Field("search", "Search files"), w.When("clean(draft.search)", (
            each("one", "files", FILE, f"not one.binned and {searched('one.name')}", "No such file", "search"),
        ), (w.Section("Folders"), each("folder", "folders", w.Row(
            "{folder.name}", Push("folder", "folder.name"), "Files: {count(within(folder.name))}", "folder")),
            w.Paragraph("{sum([one.size for one in files])} KB used", "centre"))))),
    "folder": View((
        w.Bar("{arg}", actions=(w.Action("trash", "Delete folder", If("within(arg)", Set("draft.no", "'Not empty'"), (
            Each("one", "[one for one in files if one.folder == arg]", Delete("one")), Delete("here"), Pop()))),)),
        w.Chips("key", "ORDERS", "{key.words}", Set("order", "key.field"), "key.field == order"),
        each("folder", "folders", w.Row(
            "{folder.name}", Push("folder", "folder.name"), icon="folder", target="folder.name"), "folder.name != arg"),
        w.When("draft.no", (w.Paragraph("{draft.no}", "centre"),)), *SORTED,
        w.When("not within(arg)", (w.Empty("This folder is empty", "folder"),)),
    ), arg="folders", let={"here": "find(folders, arg)"}, drafts={"no": "''"}),
    "file": about("File", "files", "trash", w.Bar("{one.name}", actions=(
            w.Action("pencil", "Rename", Push("rename", "arg")),
            w.Action("copy", "Copy", If("find(files, 'Copy of ' + arg) == None", (COPY, Pop()))),
            w.Action("trash", "Delete", confirm("Delete?", "{one.name} goes to the bin.", "Delete", (BIN, Pop()))))),
        w.When("one.kind == 'picture'", (w.Image("{one.icon}", "COLOURS[one.shade]", 60.0),)),
        w.Paragraph("{one.name}", "centre"), w.Paragraph("{one.text}", "centre"), w.Row("Kind", detail="{one.kind}"),
        w.Row("Size", detail="{one.size} KB"), w.Row("Date", detail="{one.day} May"),
        w.Row("Folder", Push("move", "arg"), "{one.folder}", "folder"), gone="one == None or one.binned"),
    "move": View((w.Bar("Move to"), each("folder", "folders", w.Radio(
        "{folder.name}", "folder.name == one.folder", (Set("one.folder", "folder.name"), Pop())))),
        arg="files", let={"one": "find(files, arg)"}),
    "rename": View((w.Bar("Rename"), w.Field("name", "Name", "arg"), w.Error(), w.Button("Save name", (
        *unused("files", "This name is already used", "in (None, one)"), Set("one.name", "clean(draft.name)"),
        Pop(arg="clean(draft.name)")))), arg="files", let={"one": "find(files, arg)"}),
    "new": new_named("New folder", "folders", "Folder", "There is such a folder"),
    "bin": View((
        w.Bar("Bin"), each("one", "files", w.Row("{one.name}", UNBIN, "From {one.folder}", "{one.icon}"), "one.binned",
                           "The bin is empty", "trash"),
        w.Button("Empty bin", confirm("Empty the bin?", "These files are lost.", "Empty", EMPTY_BIN), "danger",
                 "not any([one.binned for one in files])"))),
}  # fmt: skip

ONE = {"one": "pick([one for one in files if not one.binned])"}
DELETE = ("In Files, delete {name}", "Open Files and throw the file {name} away",
          "I do not need {name} any more: put it into the bin of Files")  # fmt: skip
RESTORE = ("In Files, restore {name} from the bin", "Get {name} back out of the bin of Files",
           "The file {name} was thrown away by mistake; undo that in Files")  # fmt: skip
PICTURE = {"one": "pick([one for one in files if one.kind == 'picture' and not one.binned])", "thing": "one.text"}
TASKS = (
    Tasks("files_delete", 1, {**ONE, "name": "one.name"}, DELETE, BIN, ("name",)),
    Tasks("files_restore", 1, {"one": "pick([one for one in files if one.binned])", "name": "one.name"}, RESTORE,
          Set("one.binned", "False"), ("name",)),
    Tasks("files_move", 1, {**ONE, "folder": "pick([it.name for it in folders if it.name != one.folder])"}, (
        "In Files, move {one.name} to the folder {folder}", "Put the file {one.name} into {folder}, using Files",
        "{one.name} is in the wrong folder; Files should keep it in {folder}",
    ), Set("one.folder", "folder"), ("one.name", "folder")),
    Tasks("files_copy", 1, ONE, (
        "Make a copy of {one.name} in Files", "In Files, duplicate the file {one.name}",
        "I want to have {one.name} twice in Files, in the same folder",
    ), COPY, ("one.name",)),
    Tasks("files_rename", 2, {
        **ONE, "name": "pick(DOCUMENTS) + pick((' 2026', ' (final)', ', part 2', ' No. 7', '!')) + ending(one.name, 4)",
    }, (
        "In Files, rename {one.name} to {name}", "Change the name of the file {one.name} to {name}",
        "The file {one.name} should be called {name} from now on",
    ), Set("one.name", "name"), ("one.name", "name")),
)  # fmt: skip

APP = App(
    key="files", name="Files", icon="folder", colour=0x8A6A1F, record="Files",
    state={
        "folders": Table("Folder", {"name": Text()}, sort="name"),
        "files": Table("File", {
            "name": Text(), "kind": Choice(("picture", "document", "text")), "folder": Ref("folders"), "size": Int(),
            "day": Int(1, 31), "icon": Text("page"), "shade": Text("grey"), "text": Text(""), "binned": Bool(False),
        }, sort="name"),
        "order": Choice(tuple(ORDERS)),
    },
    data={
        "drawn": "sorted(choose(FOLDERS, 4))", "folders": "[Folder(name=name) for name in drawn]",
        "shots": "integers(100, 999, 8)", "things": "choose(THINGS, 4)", "shades": "choose(COLOUR_NAMES, 5)",
        "parts": "integers(1, 200, 20)", "sizes": "[20 * parts[i] + i for i in range(20)]",
        "names": "choose(DOCUMENTS, 12)", "lines": "streets(6)",
        "pictures": "[File(name='IMG ' + text(10 * shots[i] + i) + '.jpg', kind='picture', "
                    "folder=drawn[1 if i > 3 else 0], size=sizes[i], binned=i == 7, day=integer(1, 32), "
                    "icon=(things + things)[i].icon, shade=(shades + shades)[i], "
                    "text=(shades + shades)[i] + ' ' + (things + things)[i].name) for i in range(8)]",
        "papers": "[File(name=names[i] + ('.pdf' if i < 6 else '.txt'), kind='document' if i < 6 else 'text', "
                  "folder=drawn[integer(0, 4)] if i > 3 else drawn[i], size=sizes[i + 8], day=integer(1, 32), "
                  "text='' if i < 6 else lines[i - 6], binned=i in (5, 11)) for i in range(12)]",
        "files": "sorted_by(pictures + papers, 'name')", "order": "'name'",
    },
    functions={"within(name)": "[one for one in files if one.folder == name and not one.binned]"},
    constants={
        "THINGS": tuple({"name": it, "icon": "home" if it == "house" else it} for it in THINGS), "COLOURS": COLOURS,
        "COLOUR_NAMES": tuple(COLOURS), "ORDERS": worded(ORDERS),
        "FOLDERS": ("Archive", "Bills", "Camera", "Downloads", "Family", "Garden", "School", "Travel", "Work"),
    },
    screens=SCREENS, tasks=TASKS,
)  # fmt: skip
