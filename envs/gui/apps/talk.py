"""Longer tasks in messages and mail: writing, forwarding, comparing, several at once; and some that cannot be done.

What cannot be done is asked in the very words of a task that can: only the phone tells them apart.
"""

from ..declare.app import Look, Tasks
from ..declare.operations import Delete, Each, Set, Toggle
from .mail import INBOX, STAR, mailing
from .messages import ARCHIVE, CHATS, TYPED, sending

LINE = "pick([one for one in messages if count([old for old in messages if old.text == one.text]) == 1])"
MESSAGES = (
    Tasks("messages_block", 1, {"chat": "pick(chats)", "name": "chat.name"}, (
        "In Messages, {'unblock' if chat.blocked else 'block'} {name}",
        "Go to Messages and {'lift the block on' if chat.blocked else 'put a block on'} {name}",
        "{name} {'may text me again' if chat.blocked else 'must not be able to text me any more'}",
    ), Toggle("chat.blocked"), ("name", "chat.blocked")),
    Tasks("messages_send", 2, {"chat": f"pick({CHATS})", "name": "chat.name", "words": TYPED}, (
        'In Messages, write "{words}" to {name}', 'Send {name} the message "{words}"',
        'Let {name} know by text message: "{words}"',
    ), sending("name", "words"), ("name", "words")),
    Tasks("messages_delete", 2, {"one": LINE}, (
        'In Messages, delete the message "{one.text}" in the chat with {one.chat}',
        "Remove \"{one.text}\" from {one.chat}'s conversation in Messages",
        'The line "{one.text}" in my thread with {one.chat} has to go; leave the others',
    ), Delete("one"), ("one.text", "one.chat")),
    Tasks("messages_forward", 2, {"one": LINE, "chat": f"pick([old for old in {CHATS} if old.name != one.chat])"}, (
        'In Messages, forward "{one.text}" from the chat with {one.chat} to {chat.name}',
        "Pass the message \"{one.text}\" in {one.chat}'s conversation on to {chat.name}",
        '{chat.name} should get to read "{one.text}" from my thread with {one.chat}: forward it',
    ), sending("chat.name", "one.text"), ("one.text", "chat.name")),
    Tasks("messages_answer_most", 2, {"chat": "last(sorted_by(chats, 'unread'))", "words": TYPED}, (
        'In Messages, write "{words}" to the person with the most unread messages',
        'Whoever has sent me most messages that I have not read gets the reply "{words}"',
        'See in which conversation the count of unread messages is highest and answer "{words}" there',
    ), sending("chat.name", "words"), ("words",)),
    Tasks("messages_answer_about", 2, {
        "topic": "pick([name for name in TOPICS if count(writers(name)) == 1 and find(chats, writers(name)[0]) in "
                 + CHATS + "])", "words": TYPED,
    }, (
        'In Messages, answer "{words}" to the person who wrote about the {topic}',
        'Somebody has sent me a message about the {topic}; reply with "{words}"',
        'Find the conversation in which I was told something about the {topic} and put "{words}" there',
    ), sending("writers(topic)[0]", "words"), ("topic", "words")),
    Tasks("messages_new", 2, {
        "who": "pick([one for one in contacts.contacts if find(chats, one.name) == None])", "words": TYPED,
    }, (
        'In Messages, start a new conversation with {who.name}: "{words}"',
        'Write a first message to {who.name}, one of my contacts, saying "{words}"',
        'I have never texted {who.name} before. Begin with "{words}"',
    ), sending("who.name", "words"), ("who.name", "words"), apps=("contacts", "messages")),
    Tasks("messages_archive_nobody", 2, {"name": "new_person([chat.name for chat in chats])"}, ARCHIVE, (), ("name",),
          look=Look("messages", "main"), infeasible=True),
)  # fmt: skip
MAIL = (
    Tasks("mail_reply", 2, {"one": INBOX, "words": TYPED}, (
        "In Mail, reply \"{words}\" to \"{one.subject}\"", "Answer the mail \"{one.subject}\" with \"{words}\"",
        "Whoever sent the mail \"{one.subject}\" is waiting for this reply: \"{words}\"",
    ), mailing("one.address", "re(one.subject)", "words", "one.name"), ("one.subject", "words")),
    Tasks("mail_compose", 2, {
        "name": "people(1)[0]", "to": "address(name)", "subject": "pick(SUBJECTS) + ' the ' + pick(TOPICS)",
        "words": TYPED,
    }, (
        "In Mail, write to {to} with the subject \"{subject}\" and the text \"{words}\"",
        "Compose a mail to {to}: subject \"{subject}\", body \"{words}\"",
        "{to} should get an e-mail from me about \"{subject}\" that says \"{words}\"",
    ), mailing("to", "subject", "words"), ("to", "subject", "words")),
    Tasks("mail_forward", 2, {"one": INBOX, "to": "address(people(1)[0])"}, (
        'In Mail, forward "{one.subject}" to {to}', 'Pass the mail "{one.subject}" on to the address {to}',
        '{to} should have a copy of "{one.subject}" from my inbox',
    ), mailing("to", "'Fwd: ' + one.subject", "one.body"), ("one.subject", "to")),
    Tasks("mail_archive_from", 2, {"name": "pick(repeated([one.name for one in mails if one.box == 'Inbox']))"}, (
        "In Mail, archive all mails from {name} that are in the inbox",
        "Put every mail in the inbox which {name} has written into the archive",
        "I have dealt with {name}: nothing from there may stay in the inbox of Mail, everything goes to the archive",
    ), Each("one", "[one for one in mails if one.box == 'Inbox' and one.name == name]", Set("one.box", "'Archive'")),
        ("name",)),
    Tasks("mail_save_one", 2, {"one": "pick([one for one in mails if one.box == 'Bin'])"}, (
        'In Mail, restore "{one.subject}" to the inbox and empty the bin of the rest',
        'Take "{one.subject}" out of the bin of Mail, then empty the bin',
        'All mails in the bin may be lost for ever except "{one.subject}", which belongs into the inbox',
    ), (Set("one.box", "'Inbox'"), Each("old", "[old for old in mails if old.box == 'Bin']", Delete("old"))),
        ("one.subject",)),
    Tasks("mail_star_nothing", 2, {
        "topic": "pick([name for name in TOPICS if not any(['the ' + name in one.subject for one in mails])])",
        "subject": "pick(SUBJECTS) + ' the ' + topic", "star": "pick(('star', 'star', 'star', 'star', 'unstar'))",
    }, STAR, (), ("subject", "star"), look=Look("mail", "main"), infeasible=True),
)  # fmt: skip
TALK = (*(("messages", one) for one in MESSAGES), *(("mail", one) for one in MAIL))
