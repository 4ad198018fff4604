"""Mail: inbox, sent mails, archive and bin, with search and filters; reading, answering, forwarding, composing."""

from ..declare import widgets as w
from ..declare.app import App, Tasks, View
from ..declare.operations import Ask, Delete, Each, Insert, Pop, Push, Require, Set, Submit, Toggle
from ..declare.state import Bool, Choice, Int, Table, Text
from .messages import LINES

BOXES = ("Inbox", "Sent", "Archive", "Bin")
FILTERS = ("All", "Unread", "Starred")
SUBJECTS = ("Plans for", "Notes on", "Question about", "Photos of", "Costs of", "Update on", "Help with", "List for")
MAIL = w.Row("{one.subject}", Push("mail", "one.number"), "{'NEW ' if one.unread else ''}{party(one)}",
             "{'star' if one.starred else 'mail'}", hold=Toggle("one.starred"))  # fmt: skip
SEND = w.Button("Send", Submit())
TO = (w.Field("to", "To"), w.When("draft.to and not '@' in draft.to", (w.ForEach("who", "contacts.contacts", (
    w.Row("{who.name}", Set("draft.to", "who.email"), "{who.email}", "person"),
), "who.email and lower(trim(draft.to)) in lower(who.name)"),)))  # fmt: skip
ADDRESSED = Require("'@' in draft.to and count(split(draft.to)) == 1", "Enter one address in To")
EMPTY_BIN = Each("one", "[one for one in mails if one.box == 'Bin']", Delete("one"))


def mailing(address: str, subject: str, body: str, name: str = "''") -> Insert:
    """A mail that is sent."""
    who = f"name={name}, address={address}, box='Sent'"
    return Insert("mails", f"Mail(number=next_mail(), {who}, subject={subject}, body={body})", start=True)


SCREENS = {
    "main": View((
        w.Bar("Mail", actions=(w.Action("pencil", "Compose", Push("compose")),)), w.Tabs("box", BOXES),
        w.Field("search", "Search mail"),
        w.Chips("name", "FILTERS", "{name}", Set("draft.filter", "name"), "name == draft.filter"),
        w.ForEach("one", "mails", (w.When("one.box == draft.box", (MAIL,)),), "shown(one, draft.search, draft.filter)"),
        w.When("not any([one.box == draft.box and shown(one, draft.search, draft.filter) for one in mails])", (
            w.Empty("No mails here", "mail"),)),
        w.When("draft.box == 'Bin'", (w.Button("Empty bin", Ask("Empty the bin?", "Its mails are lost.", (
            ("Keep", ()), ("Empty", EMPTY_BIN))), "danger", "not any([one.box == 'Bin' for one in mails])"),)),
    ), drafts={"box": "'Inbox'", "filter": "'All'"}),
    "mail": View((w.When("one == None", (w.Bar("Mail"), w.Empty("This mail was deleted", "mail")), (
        w.Bar("{one.subject}", actions=(
            w.Action("{'star' if one.starred else 'star_outline'}", "{'Remove star' if one.starred else 'Add star'}",
                     Toggle("one.starred")),
            w.Action("outgoing", "Forward", Push("forward", "one.number")),
        )),
        w.Paragraph("{one.subject}", "big"),
        w.Row("{'To' if one.box == 'Sent' else 'From'} {one.name}", detail="{one.address}", icon="person"),
        w.Paragraph("{one.body}"), w.Button("Reply", Push("reply", "one.number")),
        w.Button("Mark as {'read' if one.unread else 'unread'}", Toggle("one.unread"), "plain"),
        w.When("one.box == 'Bin'", (
            w.Button("Restore to inbox", Set("one.box", "'Inbox'"), "plain"),
            w.Button("Delete for ever", Ask("Delete?", "The mail is lost.", (
                ("Keep", ()), ("Delete", (Delete("one"), Pop())))), "danger"),
        ), (
            w.When("one.box != 'Archive'", (w.Button("Archive", Set("one.box", "'Archive'"), "plain"),)),
            w.Button("Move to bin", (Set("one.box", "'Bin'"), Set("one.unread", "False")), "danger"),
        )))),
    ), arg="mails", let={"one": "find(mails, arg)"}),
    "reply": View((
        w.Bar("Reply"), w.Row("{one.name}", detail="{one.address}", icon="person"), w.Paragraph("{re(one.subject)}"),
        w.Field("body", "Body"), w.Error(), SEND,
    ), arg="mails", let={"one": "find(mails, arg)"}, enter=(
        Require("clean(draft.body)", "Write something"),
        mailing("one.address", "re(one.subject)", "clean(draft.body)", "one.name"), Pop())),
    "forward": View((
        w.Bar("Forward"), *TO, w.Paragraph("Fwd: {one.subject}"), w.Paragraph("{one.body}"), w.Error(), SEND,
    ), arg="mails", let={"one": "find(mails, arg)"}, enter=(
        ADDRESSED, mailing("clean(draft.to)", "'Fwd: ' + one.subject", "one.body"), Pop())),
    "compose": View((
        w.Bar("New mail"), *TO, w.Field("subject", "Subject"), w.Field("body", "Body"), w.Error(), SEND,
    ), enter=(ADDRESSED, Require("clean(draft.subject)", "Enter a subject"),
              mailing("clean(draft.to)", "clean(draft.subject)", "clean(draft.body)"), Pop())),
}  # fmt: skip

INBOX = "pick([one for one in mails if one.box == 'Inbox'])"
STAR = ("In Mail, {star} the mail \"{subject}\"", "Open \"{subject}\" in Mail and {star} it",
        "Please look for \"{subject}\" among what I got, and {star} that message")  # fmt: skip
TASKS = (
    Tasks("mail_star", 1, {"one": INBOX, "subject": "one.subject", "star": "'unstar' if one.starred else 'star'"},
          STAR, Toggle("one.starred"), ("subject", "star")),
    Tasks("mail_move", 1, {"one": "pick([one for one in mails if one.box in ('Inbox', 'Sent')])", "bin": "coin()"}, (
        "In Mail, {'move' if bin else 'archive'} \"{one.subject}\"{' to the bin' if bin else ''}",
        "{'Throw away' if bin else 'Put into the archive'} the mail \"{one.subject}\"",
        "\"{one.subject}\" is dealt with, so {'bin' if bin else 'archive'} it",
    ), (Set("one.box", "'Bin' if bin else 'Archive'"), Set("one.unread", "one.unread and not bin")),
        ("one.subject", "bin")),
    Tasks("mail_read", 1, {"one": INBOX, "state": "'read' if one.unread else 'unread'"}, (
        "In Mail, mark \"{one.subject}\" as {state}", "The mail \"{one.subject}\" should count as {state}",
        "Open Mail, find \"{one.subject}\" in the inbox and set it to {state}",
    ), Toggle("one.unread"), ("one.subject", "state")),
)  # fmt: skip
APP = App(
    key="mail", name="Mail", icon="mail", colour=0xB3403A, record="Mails",
    state={"mails": Table("Mail", {
        "number": Int(), "name": Text(), "address": Text(), "subject": Text(), "body": Text(),
        "box": Choice(BOXES, "Inbox"), "unread": Bool(False), "starred": Bool(False),
    })},
    data={
        "names": "people(9)", "about": "choose(TOPICS, 18)", "fresh": "coins(10)", "lines": "choose(LINES, 11)",
        "mails": "[Mail(number=218 - i, name=names[WHO[i]], address=address(names[WHO[i]]), "
                 "subject=pick(SUBJECTS) + ' the ' + about[i], body=body(pick(lines), about[i]), "
                 "box='Inbox' if i < 10 else 'Sent' if i < 14 else 'Archive' if i < 16 else 'Bin', "
                 "unread=fresh[i] if i < 10 else False, starred=i in (1, 4, 14)) for i in range(18)]",
    },
    functions={
        "next_mail()": "max((200,) + [old.number for old in mails]) + 1",
        "sent(name)": "first([old for old in mails if old.box == 'Sent' and old.name == name])",
        "address(name)": "lower(join('.', split(name))) + '@post.org'",
        "body(line, topic)": "line.start + topic + line.end",
        "party(one)": "one.name or one.address",
        "re(subject)": "subject if cut(subject, 4) == 'Re: ' else 'Re: ' + subject",
        "shown(one, query, only)": "(lower(trim(query)) in lower(one.subject + ' ' + one.name + ' ' + one.body)) "
                                   "and (only == 'All' or only == 'Unread' and one.unread "
                                   "or only == 'Starred' and one.starred)",
    },
    constants={"LINES": LINES, "FILTERS": FILTERS, "SUBJECTS": SUBJECTS,
               "WHO": (0, 1, 0, 2, 1, 3, 0, 1, 4, 0, 1, 0, 1, 2, 5, 6, 7, 8)},
    screens=SCREENS, tasks=TASKS,
)  # fmt: skip
