"""Longer tasks in calendar and clock: forms, comparing, several at once; and some that cannot be done.

What cannot be done is asked in the very words of a task that can: only the phone tells them apart.
"""

from ..declare.app import Look, Tasks
from ..declare.operations import Delete, Each, If, Insert, Set
from .calendar import OWN, REMIND
from .clock import TIMER

CALENDAR = (
    Tasks("calendar_move", 2, {"one": OWN, "hour": "pick([hour for hour in HOURS if hour != one.hour])"}, (
        "In Calendar, move {one.title} to {two_digits(hour)}:00 on the same day",
        "Let {one.title} begin at {two_digits(hour)}:00, and leave the rest of it as it is",
        "{one.title} takes place at {two_digits(hour)}:00 now: correct the start",
    ), Set("one.hour", "hour"), ("one.title", "hour")),
    Tasks("calendar_add", 2, {
        "title": "pick([name for name in OCCASIONS if find_title(name) == None])", "place": "pick(VENUE_NAMES)",
        "week": "pick(WEEKS)", "day": "pick(DAYS)", "hour": "integer(8, 19)", "hours": "integer(1, 4)",
    }, (
        "In Calendar, add {title} at {place} on {day} {lower(week)} from {two_digits(hour)}:00 for {hours} h",
        "Plan {title} for {day} {lower(week)}: start {two_digits(hour)}:00, length {hours} h, place {place}",
        "Put a new event into my calendar. It is called {title}, lasts {hours} h and begins at {two_digits(hour)}:00 "
        "on {day} {lower(week)} in this place: {place}",
    ), Insert("events", "Event(number=next_event(), title=title, place=place, week=week, day=day, hour=hour, "
                        "hours=hours)"), ("title", "place", "week", "day", "hour", "hours")),
    Tasks("calendar_day", 2, {
        "one": OWN, "week": "pick(WEEKS)", "day": "pick([name for name in DAYS if name != one.day])",
    }, (
        "In Calendar, move {one.title} to {day} {lower(week)} at the same hour",
        "Change the day of {one.title}: {day} {lower(week)}",
        "{one.title} was put off; it is on {day} {lower(week)} now",
    ), (Set("one.week", "week"), Set("one.day", "day")), ("one.title", "week", "day")),
    Tasks("calendar_one_only", 2, {"one": "pick([one for one in events if one.status == 'invited'])"}, (
        "In Calendar, accept the invitation from {one.host} and decline all others",
        "Say yes to what {one.host} invites me to, and no to every other invitation",
        "Of all who want me to come to something I can make it to {one.host} only: answer them",
    ), (Set("one.status", "'accepted'"), Each("old", "[old for old in events if old.status == 'invited']",
                                              Set("old.status", "'declined'"))), ("one.host",)),
    Tasks("calendar_free", 2, {"some": OWN, "week": "some.week", "day": "some.day",
                               "hour": "pick([hour for hour in HOURS if hour <= some.hour])"}, (
        "In Calendar, delete everything that begins at {two_digits(hour)}:00 or later on {day} {lower(week)}",
        "Clear {day} {lower(week)} from {two_digits(hour)}:00 on: nothing may start then",
        "I cannot come to anything on {day} {lower(week)} once it is {two_digits(hour)}:00. Remove those events",
    ), Each("one", "[old for old in on(week, day) if old.hour >= hour]", Delete("one")), ("week", "day", "hour")),
    Tasks("calendar_remind_nothing", 2, {
        "title": "pick([name for name in OCCASIONS if find_title(name) == None])",
        "reminder": "pick([name for name in REMINDERS if name != 'None'])",
    }, REMIND, (), ("title", "reminder"), look=Look("calendar", "search"), infeasible=True),
)  # fmt: skip
CLOCK = (
    Tasks("clock_city", 1, {"city": "pick(WORLD)", "there": "city in cities"}, (
        "In Clock, {'remove' if there else 'add'} {city} {'from' if there else 'to'} the world clock",
        "{'Take' if there else 'Put'} {city} {'off' if there else 'on'} the list of cities in Clock",
        "I {'no longer want' if there else 'want'} to see in Clock what time it is in {city}",
    ), If("there", Delete("cities", "city"), Insert("cities", "city")), ("city", "there")),
    Tasks("clock_add", 2, {
        "time": "pick([time for time in TIMES if find(alarms, time) == None])", "label": "pick(OCCASIONS)",
        "days": "pick(WEEKS)", "when": "repeats(days)",
    }, (
        "In Clock, set an alarm for {time} labelled {label}, repeat: {when}",
        "Add an alarm called {label} that rings at {time} ({when})",
        "Wake me with the label {label}. Days: {when}. Time: {time}",
    ), Insert("alarms", "Alarm(time=time, label=label, days=days)"), ("time", "label", "when")),
    Tasks("clock_before", 2, {"time": "pick([one.time for one in alarms if one.time != alarms[0].time])"}, (
        "In Clock, turn off all alarms that ring before {time}", "No alarm earlier than {time} may be on in Clock",
        "Let me sleep: whatever is set for a time before {time} must be switched off",
    ), Each("one", "[one for one in alarms if one.time < time]", Set("one.on", "False")), ("time",),
        prepare=Each("one", "alarms", Set("one.on", "True"))),
    Tasks("clock_shift", 2, {
        "one": "pick(alarms)", "old": "one.time",
        "time": "pick([time for time in TIMES if find(alarms, time) == None])",
    }, (
        "In Clock, change the alarm at {old} to {time}", "Move the alarm that is set for {old} to {time}",
        "I want to be woken at {time} instead of {old}",
    ), Set("one.time", "time"), ("old", "time")),
    Tasks("clock_repeat", 1, {
        "one": "pick(alarms)", "time": "one.time", "day": "pick(DAYS)", "no": "day in one.days",
    }, (
        "In Clock, let the alarm at {time} {'no longer' if no else 'also'} ring on {day}",
        "{'Take' if no else 'Add'} {day} {'out of' if no else 'to'} the days of the alarm at {time}",
        "{day} is {'not one' if no else 'another'} of the days on which I have to get up at {time}",
    ), Set("one.days", "[name for name in DAYS if (name == day) != (name in one.days)]"), ("time", "day", "no")),
    Tasks("clock_extreme", 2, {
        "long": "coin()", "which": "'longest' if long else 'shortest'", "order": "sorted_by(timers, 'minutes')",
        "one": "last(order) if long else order[0]",
        "minutes": "pick([n * 5 for n in range(1, 19) if n * 5 != one.minutes])",
    }, (
        "In Clock, set the {which} timer to {minutes} minutes", "Make the {which} of the timers last {minutes} min",
        "Look which timer is {which} and change its length to {minutes} minutes",
    ), Set("one.minutes", "minutes"), ("which", "minutes")),
    Tasks("clock_preset", 2, {
        "name": "pick([name for name in DISHES if find(timers, name) == None])", "minutes": "integer(1, 19) * 5",
    }, (
        "In Clock, add a timer of {minutes} minutes called {name}", "Save a new timer: {name}, {minutes} min",
        "I need a preset by the name of {name} which counts down from {minutes} minutes",
    ), Insert("timers", "Timer(name=name, minutes=minutes)"), ("name", "minutes")),
    Tasks("clock_rings", 2, {
        "sound": "pick([name for name in TONES if name != tone])",
        "wait": "pick([name for name in SNOOZES if name != snooze])", "buzz": "coin()",
    }, (
        "In Clock, set the alarm tone to {sound}, the snooze to {wait}, and vibration {'on' if buzz else 'off'}",
        "Let alarms ring with {sound}, snooze for {wait} and {'vibrate' if buzz else 'not vibrate'}",
        "I want to be woken by {sound} {'and' if buzz else 'without'} vibration; if I press snooze, {wait} of peace",
    ), (Set("tone", "sound"), Set("snooze", "wait"), Set("vibrate", "buzz")), ("sound", "wait", "buzz")),
    Tasks("clock_timer_nothing", 2, {
        "name": "pick([name for name in DISHES if find(timers, name) == None])",
        "verb": "pick(('start', 'start', 'stop', 'delete', 'delete'))",
    }, TIMER, (), ("name", "verb"), look=Look("clock", "main"), infeasible=True),
)  # fmt: skip
DATES = (*(("calendar", one) for one in CALENDAR), *(("clock", one) for one in CLOCK))
