"""Tasks across messages, mail, calendar, clock and the other apps: what is found in one is needed in another."""

from ..declare.app import Look, Tasks
from ..declare.operations import Delete, Each, Insert, Operation, SendTo, Set
from .contacts import calling
from .mail import INBOX, mailing
from .messages import CHATS, TYPED, sending
from .settings import CONNECT

CHAT, PERSON = f"pick({CHATS})", "pick(contacts.contacts)"
OWN = "pick([one for one in calendar.events if one.status == 'own'])"


def receiving(name: str, words: str) -> tuple[Operation, ...]:
    """A message from someone, whose conversation is as new."""
    return (
        Each("chat", f"[old for old in chats if old.name == {name}]", Delete("chat")),
        Insert("chats", f"Chat(name={name}, unread=1)", start=True),
        Insert("messages", f"Message(number=next_message(), chat={name}, text={words}, at='22:15')", start=True),
    )


def mailed(name: str, address: str, subject: str, body: str) -> Insert:
    """A mail that has come."""
    who = f"name={name}, address={address}, unread=True"
    return Insert("mails", f"Mail(number=next_mail(), {who}, subject={subject}, body={body})", start=True)


NUMBER = ("Send {chat.name} the phone number of {name} in a message, nothing else",
          "Look up {name}'s number in Phone and text just that number to {chat.name}",
          "{chat.name} would like to call {name}: a message with only the digits will do")  # fmt: skip
MESSAGES = (
    Tasks("errand_text_number", 3, {"chat": CHAT, "who": PERSON, "name": "who.name"}, NUMBER,
          sending("chat.name", "who.number"), ("chat.name", "name"), apps=("contacts", "messages"),
          look=Look("contacts", "contact", "name")),
    Tasks("errand_text_nobody", 3, {
        "chat": CHAT, "name": "new_person([one.name for one in contacts.contacts] + [one.name for one in chats])",
    }, NUMBER, (), ("chat.name", "name"), apps=("contacts", "messages"), look=Look("contacts", "main"),
        infeasible=True, weight=0.5),
    Tasks("errand_text_place", 3, {"chat": CHAT, "one": OWN}, (
        "Tell {chat.name} in Messages where {one.title} takes place; write the name of the place only",
        "See in Calendar at which place {one.title} is and send that name to {chat.name}",
        "{chat.name} is coming along to {one.title} and asks where it is: text back the venue, without other words",
    ), sending("chat.name", "one.place"), ("chat.name", "one.title"), apps=("calendar", "messages"),
        look=Look("calendar", "event", "one.number")),
    Tasks("errand_text_order", 3, {"chat": CHAT, "order": "pick(shop.orders)"}, (
        "Write {chat.name} the status of the Shop's order {order.number} as one word in small letters",
        "Text {chat.name} in a single lower-case word what has become of order {order.number} in the Shop",
        "{chat.name} keeps asking about order {order.number}. Answer with just its status, as the Shop shows it",
    ), sending("chat.name", "order.status"), ("chat.name", "order.number"), apps=("messages", "shop"),
        look=Look("shop", "order", "order.number")),
)  # fmt: skip
CONTACTS = (
    Tasks("errand_new_number", 3, {"who": "pick(contacts)", "number": "numbers(1)[0]"}, (
        "{who.name} has sent a new phone number in a message: save it in Phone",
        "Change the phone number of {who.name} in the contacts to the one that came by message",
        "Read what {who.name} texted and bring my contacts up to date",
    ), Set("who.number", "number"), ("who.name",), apps=("contacts", "messages"),
        prepare=SendTo("messages", receiving("who.name", "'My new number is ' + number")),
        look=Look("messages", "thread", "who.name")),
    Tasks("errand_call_sender", 3, {"who": "pick(contacts)", "topic": "pick(TOPICS)"}, (
        'Call the person who sent me the mail "Urgent: the {topic}"',
        'Find out who wrote the mail "Urgent: the {topic}" and ring them',
        'Somebody has mailed me "Urgent: the {topic}". I would rather talk to them on the phone now',
    ), calling("who.number"), ("topic",), apps=("contacts", "mail"),
        prepare=SendTo("mail", mailed("who.name", "who.email", "'Urgent: the ' + topic", "'Please call me.'")),
        look=Look("mail", "mail", "mail.mails[0].number")),
    Tasks("errand_host_number", 3, {"who": "pick(contacts)", "one": OWN.replace("'own'", "'invited'")}, (
        "What is the phone number of the person who invited me to {one.title}?",
        "Answer with the number, as saved in Phone, of the host of {one.title}",
        "I have to ring up whoever wants me to come to {one.title}: which digits do I dial?",
    ), (), ("one.title",), prepare=Set("one.host", "who.name"), apps=("calendar", "contacts"),
        look=Look("contacts", "contact", "who.name"), answer="who.number"),
)  # fmt: skip
MAIL = (
    Tasks("errand_mail_contact", 3, {"who": PERSON, "subject": "pick(SUBJECTS) + ' the ' + pick(TOPICS)",
                                     "words": TYPED}, (
        'Write a mail to {who.name}, whose address is in Phone, with the subject "{subject}" and the text "{words}"',
        'Mail "{words}" to my contact {who.name}; the subject is "{subject}"',
        'By e-mail {who.name} should learn this: "{words}". The subject is "{subject}"; find the address yourself',
    ), mailing("who.email", "subject", "words"), ("who.name", "subject", "words"), apps=("contacts", "mail"),
        look=Look("contacts", "contact", "who.name")),
    Tasks("errand_reply_time", 3, {"one": INBOX, "event": OWN}, (
        'Reply to the mail "{one.subject}" with the hour at which {event.title} begins, such as 09:00',
        'The sender of "{one.subject}" wants to know when {event.title} starts: answer with the time alone, like 09:00',
        'Look in Calendar when I have {event.title}, then answer "{one.subject}" in Mail; only the time, as in 09:00',
    ), mailing("one.address", "re(one.subject)", "two_digits(event.hour) + ':00'", "one.name"),
        ("one.subject", "event.title"), apps=("calendar", "mail"), look=Look("calendar", "event", "event.number")),
)  # fmt: skip
OTHERS = (
    ("clock", Tasks("errand_alarm", 3, {
        "one": "pick([one for one in calendar.events if one.status == 'own' "
               "and find(alarms, before(one.hour)) == None])",
    }, (
        "Set an alarm one hour before {one.title} begins and label it {one.title}",
        "Look in Calendar when {one.title} starts; add an alarm named {one.title} that rings an hour earlier",
        "I must not be late for {one.title}: make Clock ring 60 minutes before it, with {one.title} as the label",
    ), Insert("alarms", "Alarm(time=before(one.hour), label=one.title)"), ("one.title",), apps=("calendar", "clock"),
        look=Look("calendar", "event", "one.number"))),
    ("calendar", Tasks("errand_meet", 3, {
        "who": PERSON, "day": "pick(DAYS)", "hour": "integer(8, 20)", "place": "pick(VENUE_NAMES)",
    }, (
        "{who.name} has proposed a time in Messages: put an event Talk at {place} into this week's calendar then",
        "Read when {who.name} wants to meet this week, and add it to Calendar: title Talk, place {place}",
        "I agree to what {who.name} texted. Note the appointment for this week: title Talk, place {place}, one hour",
    ), Insert("events", "Event(number=next_event(), title='Talk', place=place, week='This week', day=day, hour=hour)"),
        ("who.name", "place"), apps=("calendar", "contacts", "messages"),
        prepare=SendTo("messages", receiving("who.name", "'Talk on ' + day + ' at ' + two_digits(hour) + ':00?'")),
        look=Look("messages", "thread", "who.name"))),
    ("calendar", Tasks("errand_decline_quiet", 3, {
        "one": "pick([one for one in events if one.status == 'invited'])", "want": "coin()",
        "on": "'on' if want else 'off'",
    }, (
        "Decline {one.title} in Calendar and turn do not disturb {on}",
        "Switch do not disturb {on} in Settings, then say no to the invitation to {one.title}",
        "I will not go to {one.title}: tell the host so. And do not disturb must be {on}",
    ), (Set("one.status", "'declined'"), SendTo("settings", Set("do_not_disturb", "want"))), ("one.title", "want"),
        prepare=SendTo("settings", Set("do_not_disturb", "not want")), apps=("calendar", "settings"))),
    ("mail", Tasks("errand_wifi_mail", 3, {
        "name": "people(1)[0]", "one": "pick([one for one in settings.networks if one.password and not one.saved])",
    }, (
        "Connect to the Wi-Fi {one.name} with the password that {name} sent me by mail",
        "Join the network {one.name}; {name} has mailed the password",
        "In my inbox {name} tells me how to get into {one.name}. Do it in the Wi-Fi settings",
    ), SendTo("settings", CONNECT), ("one.name", "name"), apps=("mail", "settings"),
        prepare=(mailed("name", "address(name)", "'Password'", "'Use this: ' + one.password"),
                 SendTo("settings", Set("network", "''"))), look=Look("mail", "mail", "mails[0].number"))),
    ("notes", Tasks("errand_note_mail", 3, {
        "one": "pick([one for one in mail.mails if one.box == 'Inbox'])", "folder": "pick(FOLDERS)",
        "title": "pick(NETWORKS) + ' ' + text(integer(2, 99))",
    }, (
        'Write a note {title} in the folder {folder} with the text of the mail "{one.subject}"',
        'Copy what the mail "{one.subject}" says into a new note called {title} under {folder}',
        'The words of "{one.subject}" from my inbox should be kept in Notes: folder {folder}, title {title}',
    ), Insert("notes", "Note(title=title, text=one.body, folder=folder)"), ("one.subject", "title", "folder"),
        apps=("mail", "notes"), look=Look("mail", "mail", "one.number"))),
)  # fmt: skip
ERRANDS = (*(("messages", one) for one in MESSAGES), *(("contacts", one) for one in CONTACTS),
           *(("mail", one) for one in MAIL), *OTHERS)  # fmt: skip
