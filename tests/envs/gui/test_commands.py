import pytest

from tiltyard.envs.gui.commands import VERBS, Command, Commands, drag, long_press, parse, tap


def test_well_formed_actions_are_read() -> None:
    assert parse("tap 0.25 0.5") == Command("tap", 0.25, 0.5)
    assert parse("  SWIPE Up ") == Command("swipe", text="up")
    assert parse("type Ada Bell, 14 Elm Road ") == Command("type", text="Ada Bell, 14 Elm Road ")
    assert [parse(word).verb for word in ("back", "home", "enter", "done")] == ["back", "home", "enter", "done"]
    assert parse(tap(1 / 3, 0.5)) == Command("tap", 0.333, 0.5)


@pytest.mark.parametrize(
    "action",
    ["", "tap", "tap 0.5", "tap nan 0.5", "tap 1.5 0.5", "tap -0.1 0", "tap a b", "swipe", "swipe in", "type", "type ",
     "done now", "click 0.5 0.5", "type caf\u00e9", "type " + "x" * 200, "type a\nb", "tap 0.1 0.2 0.3", "tap inf 0"],
)  # fmt: skip
def test_unreadable_actions_say_what_can_be_read(action: str) -> None:
    command = parse(action)
    assert command.verb == ""
    assert "tap X Y" in command.text


def test_samples_are_members_readable_and_reproducible() -> None:
    space, twin = Commands(seed=4), Commands(seed=4)
    drawn = [space.sample() for _ in range(300)]
    assert drawn == [twin.sample() for _ in range(300)]
    assert all(space.contains(action) and parse(action).verb for action in drawn)
    assert {parse(action).verb for action in drawn} == {"tap", "type", "swipe", "back", "home", "enter", "done"}


def test_phone_v1_knows_more_verbs_and_v0_does_not() -> None:
    more = {
        "long_press 0.25 0.5": Command("long_press", 0.25, 0.5),
        " DRAG 0.1 0.2 0.3 1": Command("drag", 0.1, 0.2, "", 0.3, 1.0),
        "open Phone ": Command("open", text="Phone"),
        "answer Elm Road": Command("answer", text="Elm Road"),
        "Wait": Command("wait"),
        "infeasible": Command("infeasible"),
    }
    for action, command in more.items():
        assert parse(action, VERBS) == command
        assert parse(action).verb == ""
    assert parse("tap 0.25 0.5", VERBS) == Command("tap", 0.25, 0.5)
    assert parse(drag(0.1, 0.2, 0.3, 0.4), VERBS) == Command("drag", 0.1, 0.2, "", 0.3, 0.4)
    assert parse(long_press(0.1, 0.2), VERBS) == Command("long_press", 0.1, 0.2)


@pytest.mark.parametrize(
    "action", ["drag 0.1 0.2", "drag 0 0 0 2", "long_press", "open", "answer ", "wait 3", "done 1"]
)
def test_unreadable_further_verbs_say_what_can_be_read(action: str) -> None:
    command = parse(action, VERBS)
    assert command.verb == ""
    assert "drag X0 Y0 X1 Y1" in command.text
    assert "infeasible" in command.text


def test_samples_of_all_verbs_are_members_and_cover_them() -> None:
    space, twin = Commands(seed=4, verbs=VERBS), Commands(seed=4, verbs=VERBS)
    drawn = [space.sample() for _ in range(600)]
    assert drawn == [twin.sample() for _ in range(600)]
    assert {parse(action, VERBS).verb for action in drawn} == VERBS
    assert all(space.contains(action) for action in drawn)
    assert space == twin
    assert space != Commands(seed=4)
