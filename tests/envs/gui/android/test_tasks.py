"""Each stock task, with each of its values, tried without an agent: set up it does not hold, solved it does."""

import sys
from pathlib import Path

import pytest

from tiltyard.envs.gui.android.errors import CommandFailed
from tiltyard.envs.gui.android.handset import Handset
from tiltyard.envs.gui.android.tasks import TASKS, Check, DeviceTask, audit, drawn, every

sys.path.insert(0, str(Path(__file__).parent))
from devices import shell


def test_every_task_passes_its_audit_on_the_fake_device() -> None:
    with shell() as (link, _):
        handset = Handset(link, timeout=5.0)
        for one in every():
            if not one.answer:
                assert audit(one, handset), one.goal
                assert not one.holds(Handset(link), "") or one.checks
            else:
                assert not one.holds(handset, "")
                assert one.holds(handset, f"  {one.wanted_answer(handset).upper()} ")


def test_goals_are_filled_in_and_every_task_has_three_wordings() -> None:
    one = next(task for task in every() if task.task.name == "device_airplane")
    assert one.goal == "Turn airplane mode on"
    assert one.setup == ("cmd connectivity airplane-mode disable",)
    assert one.checks == (Check("settings get global airplane_mode_on", "1"),)
    assert one.solution == ("cmd connectivity airplane-mode enable",)
    assert one.canonical == "device_airplane on"
    for task in TASKS:
        assert len(set(task.wordings)) >= 3, task.name
        values = {name: options[0] for name, options in task.draws.items()}
        for wording in task.wordings:
            assert "{" not in drawn(task, values, wording).goal
    assert len({task.name for task in TASKS}) == len(TASKS)


def test_a_task_that_holds_already_is_told() -> None:
    task = DeviceTask("always", {}, ("Do nothing",), (), (Check("echo 1", "1"),))
    with shell() as (link, _), pytest.raises(CommandFailed, match="always holds before anything was done"):
        drawn(task, {}, "Do nothing").prepare(Handset(link))


def test_a_set_up_that_fails_is_told() -> None:
    task = DeviceTask("broken", {}, ("Do it",), ("nosuch line",), (Check("echo 1", "2"),))
    with shell() as (link, _), pytest.raises(CommandFailed, match="'nosuch line' ended with 127"):
        drawn(task, {}, "Do it").prepare(Handset(link, timeout=1.0, patience=1.0))
