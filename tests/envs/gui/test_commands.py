import pytest

from tiltyard.envs.gui.commands import Command, Commands, parse, tap


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
