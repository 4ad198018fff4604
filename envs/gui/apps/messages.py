"""Messages: conversations with unread counts, pins and an archive, threads, writing, forwarding, blocking, deleting."""

from ..declare import widgets as w
from ..declare.app import App, Tasks, View
from ..declare.operations import Ask, Delete, Each, If, Insert, Operation, Pop, Push, Require, Set, Submit, Toggle
from ..declare.state import Bool, Int, Ref, Table, Text

LINES = tuple({"start": start + "the ", "end": end} for start, end in (
    ("Any news about ", "?"), ("Thank you for help with ", "!"), ("Can we talk about ", "?"), ("Who pays for ", "?"),
    ("I forgot all about ", "."), ("I'm so happy about ", "!"), ("There is bad news on ", "."), ("Let's skip ", "!"),
    ("What do you think of ", "?"), ("Please remember ", " today."), ("Everybody asks about ", "."),
))  # fmt: skip
TYPED = "pick(GREETINGS) + ', ' + pick(CLAUSES) + ' the ' + pick(TOPICS)"
CHAT = w.Row("{chat.name}{' (' + text(chat.unread) + ')' if chat.unread else ''}", Push("thread", "chat.name"),
           "{latest(chat.name)}", "{'block' if chat.blocked else 'star' if chat.pinned else 'chat'}",
           hold=Toggle("chat.pinned"))  # fmt: skip
EMPTY = (w.Empty("No conversations", "chat"),)


def sending(name: str, words: str) -> tuple[Operation, ...]:
    """A message to someone, whose conversation is now read and comes first; a new one starts where there was none."""
    return (
        If(f"find(chats, {name}) == None", Insert("chats", f"Chat(name={name})", start=True)),
        Each("chat", f"[old for old in chats if old.name == {name}]", (
            Set("chat.unread", "0"), Set("chat.archived", "False"), Delete("chat"),
            Insert("chats", "chat", start=True))),
        Insert("messages", f"Message(number=next_message(), chat={name}, text={words}, mine=True)", start=True),
    )  # fmt: skip


DELETE = (Each("one", "[one for one in messages if one.chat == chat.name]", Delete("one")), Delete("chat"), Pop(2))
SCREENS = {
    "main": View((
        w.Bar("Messages", actions=(w.Action("plus", "New message", Push("new")),)), w.Tabs("tab", ("Chats", "Archive")),
        w.When("draft.tab == 'Chats'", (
            w.Field("search", "Search chats"),
            w.ForEach("chat", "chats", (CHAT,), "chat.pinned and not chat.archived and shown(chat, draft.search)"),
            w.ForEach("chat", "chats", (CHAT,), "not chat.pinned and not chat.archived and shown(chat, draft.search)",
                    otherwise=EMPTY),
        ), (w.ForEach("chat", "chats", (CHAT,), "chat.archived", otherwise=EMPTY),)),
    ), drafts={"tab": "'Chats'"}),
    "thread": View((
        w.Bar("{chat.name}", actions=(w.Action("info", "Details", Push("details", "chat.name")),)),
        w.When("chat.blocked", (w.Paragraph("You blocked {chat.name}.", "centre"),), (
            w.Field("text", "Message"), w.Error(), w.Button("Send", Submit()))),
        w.When("chat.unread", (w.Button("Mark as read", Set("chat.unread", "0"), "plain"),)),
        w.ForEach("one", "messages", (
            w.Row("{one.text}", Push("message", "one.number"), "{'You' if one.mine else chat.name}, {one.at}",
                "{'outgoing' if one.mine else 'incoming'}"),), "one.chat == chat.name"),
    ), arg="chats", let={"chat": "find(chats, arg)"}, enter=(
        Require("not chat.blocked", "You blocked this person"), Require("clean(draft.text)", "Write something"),
        *sending("arg", "clean(draft.text)"), Set("draft.text", "''"))),
    "message": View((w.When("one == None", (w.Bar("Message"), w.Empty("This message was deleted", "chat")), (
        w.Bar("Message"), w.Paragraph("{one.text}"), w.Row("{'To' if one.mine else 'From'}", detail="{one.chat}"),
        w.Row("Time", detail="{one.at}"), w.Button("Forward", Push("forward", "one.number")),
        w.Button("Delete message", Ask("Delete?", "The message will be deleted.", (
            ("Cancel", ()), ("Delete", (Delete("one"), Pop())))), "danger"))),
    ), arg="messages", let={"one": "find(messages, arg)"}),
    "forward": View((w.Bar("Forward to"), w.ForEach("chat", "chats", (
        w.Row("{chat.name}", (*sending("chat.name", "one.text"), Pop()), icon="outgoing"),
    ), "not chat.blocked")), arg="messages", let={"one": "find(messages, arg)"}),
    "details": View((w.When("chat == None", (w.Bar("Details"), w.Empty("This chat was deleted", "chat")), (
        w.Bar("{chat.name}"), w.Image("person", "0x2F6FBF", 30.0), w.Switch("Pinned", "chat.pinned", "Shown first"),
        w.Switch("Muted", "chat.muted"), w.Switch("Archived", "chat.archived"),
        w.Switch("Blocked", "chat.blocked", "No messages from here"),
        w.Button("Delete chat", Ask("Delete chat?", "All messages with {chat.name} are deleted.", (
            ("Cancel", ()), ("Delete", DELETE))), "danger"))),
    ), arg="chats", let={"chat": "find(chats, arg)"}),
    "new": View((
        w.Bar("New message"), w.Field("to", "To"), w.When("draft.to and not is_known(draft.to)", (w.ForEach(
            "who", "contacts.contacts", (w.Row("{who.name}", Set("draft.to", "who.name"), "{who.number}", "person"),),
            "lower(trim(draft.to)) in lower(who.name)"),)),
        w.Field("text", "Message"), w.Error(), w.Button("Send", Submit()),
    ), enter=(
        Require("is_known(clean(draft.to))", "Nobody in your contacts has this name"),
        Require("not any([old.blocked and old.name == clean(draft.to) for old in chats])", "You blocked this person"),
        Require("clean(draft.text)", "Write something"), *sending("clean(draft.to)", "clean(draft.text)"), Pop())),
}  # fmt: skip

CHATS = "[chat for chat in chats if not chat.archived and not chat.blocked]"
ARCHIVE = ("In Messages, archive the chat with {name}", "Put {name}'s conversation into the archive of Messages",
           "I am done writing with {name}: clear that thread from the chat list, but keep it archived")  # fmt: skip
TASKS = (
    Tasks("messages_archive", 1, {"chat": f"pick({CHATS})", "name": "chat.name"}, ARCHIVE,
          Set("chat.archived", "True"), ("name",)),
    Tasks("messages_pin", 1, {"chat": f"pick({CHATS})", "name": "chat.name"}, (
        "In Messages, {'unpin' if chat.pinned else 'pin'} the chat with {name}",
        "Open Messages and {'take the pin off' if chat.pinned else 'put a pin on'} {name}'s conversation",
        "{name} should {'no longer ' if chat.pinned else ''}be kept at the top of my messages",
    ), Toggle("chat.pinned"), ("name", "chat.pinned")),
)  # fmt: skip
APP = App(
    key="messages", name="Messages", icon="chat", colour=0x2F6FBF, record="Messages",
    state={
        "chats": Table("Chat", {"name": Text(), "unread": Int(0, 99, 0), "pinned": Bool(False),
                                "archived": Bool(False), "blocked": Bool(False), "muted": Bool(False)}),
        "messages": Table("Message", {"number": Int(), "chat": Ref("chats"), "text": Text(), "at": Text("now"),
                                      "mine": Bool(False)}),
    },
    data={
        "names": "people(8)", "counts": "shuffled((1, 2, 3, 0, 0))", "mute": "coins(8)", "own": "coins(24)",
        "chats": "[Chat(name=names[i], unread=counts[i] if i < 5 else 0, pinned=i in (1, 4), archived=i == 7, "
                 "blocked=i == 6, muted=mute[i]) for i in range(8)]",
        "about": "choose(TOPICS, 12)", "order": "names + shuffled(names + names)", "times": "sorted(choose(TIMES, 24))",
        "lines": "[pick(LINES) for i in range(24)]", "which": "[i if i < 4 else integer(4, 12) for i in range(24)]",
        "messages": "[Message(number=124 - i, chat=order[i], text=lines[i].start + about[which[i]] + lines[i].end, "
                    "at=times[23 - i], mine=i > 7 and own[i] and not find(chats, order[i]).unread) for i in range(24)]",
    },
    functions={
        "next_message()": "max((100,) + [old.number for old in messages]) + 1",
        "writers(topic)": "[old.chat for old in messages if not old.mine and 'the ' + topic in old.text]",
        "latest(name)": "cut(first([old.text for old in messages if old.chat == name], 'No messages'), 30)",
        "shown(chat, query)": "lower(trim(query)) in lower(chat.name) or any([lower(trim(query)) in lower(old.text) "
                              "for old in messages if old.chat == chat.name])",
        "is_known(name)": "find(chats, name) != None or find(contacts.contacts, name) != None",
    },
    constants={"LINES": LINES, "TIMES": tuple(f"{h:02d}:{m:02d}" for h in range(7, 22) for m in range(0, 60, 5))},
    screens=SCREENS, tasks=TASKS,
)  # fmt: skip
