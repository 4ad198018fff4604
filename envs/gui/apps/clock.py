"""Clock: alarms that repeat on days, timers as presets, the time in cities of the world, and how alarms ring."""

from ..declare import widgets as w
from ..declare.app import App, Tasks, View
from ..declare.operations import Delete, If, Insert, Pop, Push, Require, Set, Submit, Toggle
from ..declare.state import Bool, Choice, Int, List, Table, Text
from .parts import about, before, confirm, delete_button, each, radios, saved, searched, stepper, tabbed, unused

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SNOOZES, TONES = ("5 minutes", "10 minutes", "15 minutes", "30 minutes"), ("Birds", "Gong", "Harp", "Waves", "Whistle")
WORLD = {
    "Athens": 2, "Auckland": 12, "Bangkok": 7, "Beijing": 8, "Berlin": 1, "Cairo": 2, "Chicago": -6, "Dakar": 0,
    "Denver": -7, "Dhaka": 6, "Dubai": 4, "Havana": -5, "Istanbul": 3, "Jakarta": 7, "Karachi": 5, "Lagos": 1,
    "Lima": -5, "Lisbon": 0, "Manila": 8, "Mexico City": -6, "Moscow": 3, "Nairobi": 3, "Oslo": 1, "Quito": -5,
    "Rio de Janeiro": -3, "Samoa": 13, "Seattle": -8, "Seoul": 9, "Sydney": 10, "Tokyo": 9, "Toronto": -5,
    "Vancouver": -8,
}  # fmt: skip
ALARM = w.Row("{one.time}{' ' + one.label if one.label else ''}", Push("alarm", "one.time"),
              "{'On' if one.on else 'Off'}, {repeats(one.days)}", "{'bell' if one.on else 'clock'}",
              hold=Toggle("one.on"))  # fmt: skip
TURNED = "[name for name in DAYS if (name == day) != (name in {days})]"


def _days(days: str) -> w.Chips:
    return w.Chips("day", "DAYS", "{day}", Set(days, TURNED.replace("{days}", days)), f"day in {days}")


SCREENS = {
    "main": tabbed(w.Bar("Clock", actions=(
        w.Action("gear", "Alarm settings", Push("settings")), w.Action("plus", "New alarm", Push("form")))), {
        "Alarms": (each("one", "alarms", ALARM, none="No alarms", icon="clock"),),
        "World": (w.Button("Add city", Push("cities"), "plain"), each("city", "cities", w.Row(
            "{city}", confirm("Remove?", "Remove {city} from the list?", "Remove", Delete("cities", "city"), "Keep"),
            "{zone(city)}", "globe"), none="No cities", icon="globe")),
        "Timers": (w.Button("Add timer", Push("preset"), "plain"), each("one", "timers", w.Row(
            "{one.name}", Push("timer", "one.name"), "{one.minutes} min{', running' if one.running else ''}",
            "hourglass"), none="No timers", icon="hourglass")),
    }),
    "alarm": about(
        "Alarm", "alarms", "clock",
        w.Bar("Alarm {one.time}", actions=(w.Action("pencil", "Edit", Push("form", "one.time")),)),
        w.Image("clock", "0x5B4B8A", 30.0), w.Paragraph("{one.time}", "big"), w.Paragraph("{one.label}", "centre"),
        w.Switch("Alarm on", "one.on", "{repeats(one.days)}"), w.Section("Repeat on"), _days("one.days"),
        delete_button("alarm", "The alarm at {one.time} will be deleted.")),
    "form": View((
        w.Bar("{'Edit alarm' if old != None else 'New alarm'}"),
        w.Field("time", "Time, such as 07:30", before("time")), w.Field("label", "Label", before("label")),
        w.Section("Repeat on"), _days("draft.days"), w.Error(), w.Button("Save alarm", Submit()),
    ), arg="alarms?", let={"old": "find(alarms, arg)"}, drafts={"days": before("days", "()")}, enter=(
        Require("is_time(trim(draft.time))", "Enter a time from 00:00 to 23:59"),
        Require("find(alarms, trim(draft.time)) in (None, old)", "There is an alarm at this time"),
        saved("alarms", "Alarm", {"time": "trim(draft.time)", "label": "clean(draft.label)", "days": "draft.days"}))),
    "cities": View((w.Bar("Add city"), w.Field("search", "Search cities"), each("city", "WORLD", w.Row(
        "{city}", (Insert("cities", "city"), Pop()), "{zone(city)}", "globe"),
        f"not city in cities and {searched('city')}"))),
    "timer": about(
        "Timer", "timers", "hourglass",
        w.Bar("{one.name}", actions=(w.Action("pencil", "Edit", Push("preset", "one.name")),)),
        w.Image("hourglass", "0x5B4B8A", 36.0), w.Paragraph("{one.minutes} min", "big"),
        w.Button("{'Stop' if one.running else 'Start'}", Toggle("one.running")),
        w.Button("Delete timer", (Delete("one"), Pop()), "danger")),
    "preset": View((
        w.Bar("{'Edit' if old != None else 'New'} timer"), w.Field("name", "Name", before("name")),
        stepper("minutes", 5, 90, "length", "{draft.minutes} min", by=5), w.Error(), w.Button("Save timer", Submit()),
    ), arg="timers?", let={"old": "find(timers, arg)"}, drafts={"minutes": before("minutes", "15")}, enter=(
        *unused("timers", "There is a timer of this name"),
        saved("timers", "Timer", {"name": "clean(draft.name)", "minutes": "draft.minutes"}))),
    "settings": View((
        w.Bar("Alarm settings"), w.Switch("Vibrate", "vibrate"), w.Section("Snooze for"),
        radios("name", "SNOOZES", "snooze"), w.Section("Tone"), radios("name", "TONES", "tone"))),
}  # fmt: skip

TIMER = ("In Clock, {verb} the timer {name}", "Open Clock and {verb} {name}, one of the timers",
         "There is a timer called {name}; {verb} it")  # fmt: skip
TASKS = (
    Tasks("clock_alarm", 1, {"one": "pick(alarms)", "time": "one.time", "turn": "'off' if one.on else 'on'"}, (
        "In Clock, turn the alarm at {time} {turn}", "Switch {turn} the alarm that is set for {time}",
        "{'Do not let the phone ring' if one.on else 'The phone should ring again'} at {time}",
    ), Toggle("one.on"), ("time", "turn")),
    Tasks("clock_timer", 1, {
        "one": "pick(timers)", "name": "one.name", "verb": "'stop' if one.running else pick(('start', 'delete'))",
    }, TIMER, If("verb == 'delete'", Delete("one"), Toggle("one.running")), ("name", "verb")),
)  # fmt: skip
APP = App(
    key="clock", name="Clock", icon="clock", colour=0x5B4B8A, record="Clock",
    state={
        "alarms": Table("Alarm", {"time": Text(), "label": Text(""), "days": List(default=()), "on": Bool(True)},
                        sort="time"),
        "cities": List(), "timers": Table("Timer", {"name": Text(), "minutes": Int(5, 90), "running": Bool(False)}),
        "snooze": Choice(SNOOZES), "tone": Choice(TONES), "vibrate": Bool(),
    },
    data={
        "times": "sorted(choose(TIMES, 6))", "labels": "choose(OCCASIONS, 6)", "which": "coins(12)",
        "alarms": "[Alarm(time=times[i], label=labels[i] if which[i] else '', days=pick(WEEKS) if i else WEEKS[0], "
                  "on=which[6 + i]) for i in range(6)]",
        "cities": "choose(WORLD, 5)", "names": "choose(DISHES, 5)", "lengths": "choose(range(1, 13), 5)",
        "timers": "[Timer(name=names[i], minutes=lengths[i] * 5, running=i == 2) for i in range(5)]",
        "snooze": "pick(SNOOZES)", "tone": "pick(TONES)", "vibrate": "coin()",
    },
    functions={
        "is_time(time)": "count(time) == 5 and digits(cut(time, 2)) and digits(ending(time, 2)) and "
                         "cut(ending(time, 3), 1) == ':' and cut(time, 2) < '24' and ending(time, 2) < '60'",
        "before(hour)": "two_digits(hour - 1) + ':00'",
        "repeats(days)": "'Every day' if count(days) == 7 else join(' ', days) if days else 'Once'",
        "zone(city)": "'UTC' + ('+' if OFFSETS[city] >= 0 else '') + text(OFFSETS[city])",
    },
    constants={
        "DAYS": DAYS, "WORLD": tuple(WORLD), "OFFSETS": WORLD, "SNOOZES": SNOOZES, "TONES": TONES,
        "TIMES": tuple(f"{h:02d}:{m:02d}" for h in range(5, 23) for m in range(0, 60, 5)),
        "WEEKS": (DAYS[:5], DAYS[5:], DAYS, (), DAYS[::2], (DAYS[1], DAYS[3]), (DAYS[4],), (DAYS[0],)),
        "DISHES": tuple("Bread Cake Eggs Lasagne Laundry Meditation Nap Noodles Pasta Pizza Plank Potatoes Reading "
                        "Rice Sauna Soup Stretching Tea Workout Yoga".split()),
    },
    screens=SCREENS, tasks=TASKS,
)  # fmt: skip
