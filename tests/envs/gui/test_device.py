import sys
from pathlib import Path

from tiltyard.envs.gui.commands import VERBS, parse, tap
from tiltyard.envs.gui.interruptions import KINDS
from tiltyard.envs.gui.ui import HEIGHT, WIDTH, Screen, wrap

sys.path.insert(0, str(Path(__file__).parent))
from phone_helpers import act, new_phone, shown


def test_tree_lines_hold_role_text_bounds_and_flags_worked_out_by_hand() -> None:
    phone = act(new_phone(), "<Settings>")
    first = next(line for line in phone.tree().splitlines() if "Airplane mode" in line)
    # status bar 10 + bar 18 + gap 3 = 31 high up to 48: 31 / 192 = 0.161, 48 / 192 = 0.25
    assert first == 'switch "Airplane mode" 0.00 0.16 1.00 0.25 unchecked'


def test_every_listed_element_is_what_a_tap_on_its_listed_centre_hits() -> None:
    phone = new_phone()
    for path in (
        ["<Settings>"],
        ["home", "<Phone>"],
        ["home", "<Phone>", "<New contact>", "<Name>"],
        ["home", "<Shop>"],
    ):
        act(phone, *path)
        for node in phone.nodes:
            if node.on_tap is None:
                continue
            numbers = node.line().split('"')[-1].split()[:4]
            x, y = (float(numbers[0]) + float(numbers[2])) / 2, (float(numbers[1]) + float(numbers[3])) / 2
            hit = next(n for n in reversed(phone.nodes) if n.holds(x * WIDTH, y * HEIGHT) and n.on_tap)
            assert hit is node
            assert 0 <= node.x0 < node.x1 <= WIDTH
            assert 0 <= node.v0 < node.v1 <= HEIGHT


def test_lists_longer_than_the_screen_scroll_to_their_ends_and_back() -> None:
    phone = act(new_phone(), "<Phone>")
    names = [contact.name for contact in phone.state["contacts"].contacts]
    assert not shown(phone, names[-1])
    assert phone.tree().endswith("swipe up")
    act(phone, *["swipe up"] * 5)
    assert shown(phone, names[-1])
    assert phone.tree().endswith("swipe down")
    act(phone, *["swipe down"] * 5)
    assert shown(phone, names[0])


def test_back_and_home_walk_the_stack() -> None:
    phone = act(new_phone(), "<Settings>", "<Display>", "<Text size>")
    assert phone.where == "Settings: Text size"
    assert act(phone, "back").where == "Settings: Display"
    assert act(phone, "home").where == "Home"
    assert act(phone, "back").where == "Home"


def test_typing_needs_focus_and_backspace_clear_and_keys_edit() -> None:
    phone = act(new_phone(), "<Phone>", "<New contact>", "type lost")
    assert "nothing to type into" in phone.tree()
    act(phone, "<Name>", "type Ada", "<b>", "<e>", "<backspace>")
    assert phone.stack[-1].drafts["name"] == "Adab"
    assert "keyboard" in phone.tree()
    act(phone, "<Clear Name>", "type Ada")
    assert phone.stack[-1].drafts["name"] == "Ada"
    act(phone, "enter")
    assert phone.focus == "number"
    assert act(phone, "back").focus is None
    assert phone.where == "Phone: New contact"


def test_opening_another_screen_puts_the_keyboard_away() -> None:
    phone = act(new_phone(), "<Shop>", "<Search products>")
    assert shown(phone, "enter"), "the keyboard is up"
    act(phone, "<Cart>", "back")
    assert phone.where == "Shop"
    assert phone.focus is None
    assert not shown(phone, "enter")
    assert "nothing to type into" in act(phone, "type x").tree()


def test_a_slow_screen_ignores_input_for_as_many_steps_as_it_loads() -> None:
    phone = act(new_phone(slow={"settings/main": 2}), "<Settings>")
    assert shown(phone, "Loading")
    assert len(phone.nodes) == 1
    act(phone, tap(0.5, 0.2))
    assert shown(phone, "Loading")
    act(phone, "back")
    assert not phone.loading
    assert phone.where == "Settings"
    assert not phone.state["settings"].airplane, "the tap during loading went through"


def test_dialogs_interrupt_are_modal_and_decline_on_the_left() -> None:
    for kind, make in KINDS.items():
        phone = new_phone(interruptions={2: make})
        before = dict(phone.state)
        act(phone, "<Settings>", "<Sound>")
        assert phone.dialog is not None, kind
        act(phone, "swipe up", "home", "enter", "type x")
        assert phone.dialog is not None, kind
        act(phone, f"<{phone.dialog.buttons[0][0]}>")
        assert phone.dialog is None
        assert phone.where == "Settings: Sound"
        assert phone.state == before


def test_accepting_an_interruption_changes_what_nobody_asked_for() -> None:
    for kind in ("update", "rating", "permission", "newsletter"):
        phone = act(new_phone(interruptions={1: KINDS[kind]}), "swipe up")
        before = dict(phone.state)
        assert phone.dialog is not None
        act(phone, f"<{phone.dialog.buttons[1][0]}>")
        assert phone.state["system"] != before["system"]


def test_a_dialog_waits_until_a_screen_has_loaded() -> None:
    phone = act(new_phone(interruptions={1: KINDS["update"]}, slow={"settings/main": 2}), "<Settings>")
    assert phone.dialog is None
    act(phone, "back", "back")
    assert phone.dialog is not None


def test_a_dialog_waits_until_the_one_before_it_is_closed() -> None:
    phone = act(new_phone(interruptions={1: KINDS["update"], 2: KINDS["rating"]}), "swipe up")
    first = phone.dialog
    assert first is not None
    assert act(phone, "swipe up").dialog is first
    act(phone, f"<{first.buttons[0][0]}>")
    assert phone.dialog is not None
    assert phone.dialog.title != first.title
    assert act(phone, "back").dialog is None


def test_quotes_and_long_words_cannot_break_the_tree() -> None:
    phone = act(new_phone(), "<Phone>", "<New contact>", "<Name>", 'type a"b' + "x" * 60)
    line = next(line for line in phone.tree().splitlines() if line.startswith("field"))
    assert line.startswith('field "Name" "a\'bxxx')
    assert len(phone.stack[-1].drafts["name"]) == 40


def test_wrap_breaks_at_spaces() -> None:
    assert wrap("aa bb ccc", 5) == ["aa bb", "ccc"]
    assert wrap("", 5) == []


def test_disabled_elements_do_nothing() -> None:
    phone = act(new_phone(), "<Settings>", "<Airplane mode>", "<Wi-Fi>")
    switch = shown(phone, "Use Wi-Fi")[0]
    assert switch.disabled
    before = dict(phone.state)
    phone.act(parse(tap(0.5, (switch.v0 + switch.v1) / 2 / HEIGHT)))
    assert phone.state == before


def test_apps_are_opened_by_name_from_anywhere_but_a_dialog() -> None:
    phone = act(new_phone(interruptions={4: KINDS["update"]}), "<Settings>")
    phone.act(parse("open SHOP", VERBS))
    assert [screen.app for screen in phone.stack] == ["shop"]
    phone.act(parse("open Sho", VERBS))
    assert 'message "there is no app of that name"' in phone.tree()
    assert [screen.app for screen in phone.stack] == ["shop"]
    phone.act(parse("open System", VERBS))
    assert [screen.app for screen in phone.stack] == ["shop"], "the hidden app cannot be opened"
    assert phone.dialog is not None
    phone.act(parse("open Settings", VERBS))
    assert [screen.app for screen in phone.stack] == ["shop"], "a dialog is in the way"


def test_waiting_passes_a_step_and_answers_are_kept() -> None:
    phone = act(new_phone(slow={"settings/main": 2}), "<Settings>")
    for left in (1, 0):
        phone.act(parse("wait", VERBS))
        assert phone.loading == left
    before = (repr(phone.stack), dict(phone.state))
    for action in ("wait", "answer nine", "answer  Ten", "infeasible"):
        phone.act(parse(action, VERBS))
    assert phone.answer == "Ten"
    assert (repr(phone.stack), dict(phone.state)) == before


def test_dialogs_that_come_by_themselves_write_what_they_say_they_do() -> None:
    for kind, field in (("update", "updated"), ("rating", "rated"), ("permission", "location_shared"),
                        ("newsletter", "newsletter")):  # fmt: skip
        phone = act(new_phone(interruptions={1: KINDS[kind]}), "swipe up")
        assert phone.dialog is not None
        assert phone.dialog.interrupt
        act(phone, f"<{phone.dialog.buttons[1][0]}>")
        system = phone.state["system"]
        assert [name for name in vars(system) if getattr(system, name)] == [field]
    phone = act(new_phone(interruptions={1: KINDS["battery"]}), "swipe up", "<Use saver>")
    assert phone.state["settings"].battery_saver


def test_the_stack_holds_64_screens_and_drops_the_oldest() -> None:
    phone = new_phone()
    for number in range(70):
        phone.push(Screen("contacts", "keypad", str(number)))
    assert [screen.arg for screen in phone.stack] == [str(number) for number in range(6, 70)]
