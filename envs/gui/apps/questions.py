"""Tasks that ask for an answer and leave everything as it is, in messages, mail, calendar and clock."""

from ..declare.app import Look, Tasks
from ..declare.operations import Each, Set
from .calendar import OWN
from .mail import INBOX

MESSAGES = (
    Tasks("messages_who", 2, {
        "many": "[name for name in TOPICS if count(writers(name)) > 1]",
        "topic": "pick(many or [name for name in TOPICS if writers(name)])",
    }, (
        "Who sent me the last message about the {topic}?",
        "Answer with the name of whoever wrote about the {topic} last",
        "Several people may have mentioned the {topic} in Messages: whose message is the latest?",
    ), (), ("topic",), look=Look("messages", "thread", "writers(topic)[0]"), answer="writers(topic)[0]"),
    Tasks("messages_when", 1, {
        "one": "pick([one for one in messages if not one.mine])",
        "last": "first([old for old in messages if old.chat == one.chat and not old.mine])",
    }, (
        "At what time did {one.chat} last write to me?",
        "Look in Messages when the latest message from {one.chat} came",
        "Tell me the time of the newest text that I got from {one.chat}",
    ), (), ("one.chat",), look=Look("messages", "message", "last.number"), answer="last.at"),
    Tasks("messages_count", 2, {"name": "pick(chats).name"}, (
        "How many messages has {name} sent me?", "Count the messages in Messages that came from {name}",
        "What is the number of texts in the thread with {name} that I did not write?",
    ), (), ("name",), look=Look("messages", "thread", "name"),
        answer="count([one for one in messages if one.chat == name and not one.mine])"),
)  # fmt: skip
MAIL = (
    Tasks("mail_address", 1, {"one": INBOX}, (
        'From which address did the mail "{one.subject}" come?',
        'Answer with the address of the sender of "{one.subject}"',
        'I want to know where to write to whoever sent "{one.subject}": give me the e-mail address',
    ), (), ("one.subject",), look=Look("mail", "mail", "one.number"), answer="one.address"),
    Tasks("mail_subject", 2, {"one": "pick([one for one in mails if one.box == 'Sent'])"}, (
        "What is the subject of the last mail that I sent to {one.name}?",
        "Look among the sent mails for the newest one to {one.name} and answer with its subject",
        "Which title did I give what I wrote to {one.name} most recently?",
    ), (), ("one.name",), look=Look("mail", "mail", "sent(one.name).number"), answer="sent(one.name).subject"),
    Tasks("mail_count", 2, {"one": INBOX, "name": "one.name"}, (
        "How many mails in my inbox are from {name}?", "Count what {name} has written, as far as it is in the inbox",
        "What is the number of mails by {name} that are still in the inbox of Mail?",
    ), (), ("name",), look=Look("mail", "main"),
        answer="count([old for old in mails if old.box == 'Inbox' and old.name == name])"),
)  # fmt: skip
EVENT = Look("calendar", "event", "one.number")
CALENDAR = (
    Tasks("calendar_when", 1, {"one": OWN}, (
        "At what time does {one.title} begin?", "Look in Calendar when {one.title} starts and answer with the time",
        "By which hour must I be at {one.title}?",
    ), (), ("one.title",), look=EVENT, answer="two_digits(one.hour) + ':00'"),
    Tasks("calendar_where", 1, {"one": "pick(events)"}, (
        "Where does {one.title} take place?", "Answer with the place of {one.title}, which is in Calendar",
        "I do not know where to go for {one.title}. Which venue is it?",
    ), (), ("one.title",), look=EVENT, answer="one.place"),
    Tasks("calendar_host", 2, {"one": "pick([one for one in events if one.status == 'invited'])"}, (
        "Who invited me to {one.title}?", "Look among the invitations in Calendar whom the one to {one.title} is from",
        "Give me the name of the host of {one.title}",
    ), (), ("one.title",), look=EVENT, answer="one.host"),
    Tasks("calendar_count", 2, {"some": OWN, "week": "some.week", "day": "some.day", "hour": "integer(9, 21)"}, (
        "How many events does my calendar show on {day} {lower(week)} that begin before {two_digits(hour)}:00?",
        "Count my events that start earlier than {two_digits(hour)}:00 on {day} {lower(week)}; leave out invitations",
        "Until {two_digits(hour)}:00 on {day} {lower(week)} a number of things begin. What is it, as Calendar has it?",
    ), (), ("week", "day", "hour"), look=Look("calendar", "main"),
        answer="count([one for one in on(week, day) if one.hour < hour])"),
    Tasks("calendar_next", 2, {
        "some": OWN, "week": "some.week", "day": "some.day", "hour": "integer(6, some.hour)",
        "one": "first([old for old in sorted_by(on(week, day), 'hour') if old.hour > hour])",
    }, (
        "What is my first event after {two_digits(hour)}:00 on {day} {lower(week)}?",
        "Give the title of the earliest event that begins later than {two_digits(hour)}:00 on {day} {lower(week)}",
        "Say it is already {two_digits(hour)}:00 on {day} {lower(week)}: what do I have to go to next?",
    ), (), ("week", "day", "hour"), look=EVENT, answer="one.title"),
)  # fmt: skip
CLOCK = (
    Tasks("clock_next", 2, {
        "some": "pick([one for one in alarms if one.days])", "day": "pick(some.days)",
        "time": "pick(('04:55',) + [time for time in TIMES if time < some.time])",
        "one": "first([one for one in alarms if day in one.days and one.time > time])",
    }, (
        "When does the first alarm after {time} on {day} ring?",
        "Look in Clock which alarm of {day} is the earliest after {time} and answer with its time",
        "If I go back to bed at {time} on {day}, at what time does the phone wake me next?",
    ), (), ("day", "time"), prepare=Each("one", "alarms", Set("one.on", "True")),
        look=Look("clock", "alarm", "one.time"), answer="one.time"),
    Tasks("clock_longer", 2, {"pair": "choose(timers, 2)", "one": "last(sorted_by(pair, 'minutes'))"}, (
        "Which timer is longer, {pair[0].name} or {pair[1].name}?",
        "Compare the timers {pair[0].name} and {pair[1].name}: answer with the longer one",
        "If I started {pair[0].name} and {pair[1].name} together, which of the two would ring last?",
    ), (), ("pair[0].name", "pair[1].name"), look=Look("clock", "timer", "one.name"), answer="one.name"),
    Tasks("clock_apart", 2, {"pair": "choose(cities, 2)", "zones": "(OFFSETS[pair[0]], OFFSETS[pair[1]])"}, (
        "By how many hours do the clocks in {pair[0]} and {pair[1]} differ?",
        "Look at the world clock: how many hours lie between {pair[0]} and {pair[1]}?",
        "It is noon in {pair[0]}. How many hours away from noon is it in {pair[1]}?",
    ), (), ("pair[0]", "pair[1]"), look=Look("clock", "main"), answer="max(zones) - min(zones)"),
)  # fmt: skip
QUESTIONS = (*(("messages", one) for one in MESSAGES), *(("mail", one) for one in MAIL),
             *(("calendar", one) for one in CALENDAR), *(("clock", one) for one in CLOCK))  # fmt: skip
