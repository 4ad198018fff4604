"""What has been asked of a device, and the questions to it by which an episode is judged."""

from typing import Any

from ..declare.expert import ScriptedExpert
from ..goals import Goal, spoken
from .errors import CommandFailed
from .handset import Handset
from .queries import whole_state
from .seats import Seat
from .tasks import Drawn

STATE = "dumpsys tiltyard"


class PhoneGoal:
    """A task of our own phones, on the fake device: the whole state of all apps is asked for and compared."""

    def __init__(self, problem: Any) -> None:
        self.goal = problem.goal
        self.text, self.template, self.digest = problem.goal.text, problem.template.name, problem.digest

    def holds(self, handset: Handset, answer: str, ended: str) -> bool:
        """Whether the goal is reached if the episode ends with the verb ``done`` or ``infeasible``."""
        same = handset.ask(STATE) == whole_state(self.goal.expected)
        return bool(self.goal.reached(self.goal.expected if same else {}, answer, ended))

    def expert(self, seat: Seat) -> str:
        """The scripted expert's next action."""
        return _expert(seat, self.goal)


class DeviceGoal:
    """A task for any device. On the fake one its solution says what the expert has to bring about."""

    def __init__(self, drawn: Drawn, seat: Seat) -> None:
        self.drawn = drawn
        self.text, self.template, self.digest = drawn.goal, drawn.task.name, drawn.canonical
        self._wanted = drawn.wanted_answer(seat.handset)
        self._goal = None if seat.host is None else self._solved(drawn, seat)

    def _solved(self, drawn: Drawn, seat: Seat) -> Goal:
        """The goal of a phone that has the state which the solution leads to."""
        assert seat.host is not None
        phone = seat.host.phone
        before = dict(phone.state)
        for line in drawn.solution:
            seat.handset.ask(line)
        with seat.host.lock:
            expected, phone.state = phone.state, before
            seat.host.with_phone(lambda one: None)
        return Goal(drawn.goal, expected, asked=(drawn.canonical,), answer=self._wanted)

    def holds(self, handset: Handset, answer: str, ended: str) -> bool:
        """Whether all checks hold, and what had to be answered was."""
        answered = not self.drawn.answer or spoken(answer) == spoken(self._wanted)
        return answered and ended == "done" and all(check.holds(handset) for check in self.drawn.checks)

    def expert(self, seat: Seat) -> str:
        """The scripted expert's next action.

        Raises:
            CommandFailed: the device is real.
        """
        if self._goal is None:
            raise CommandFailed("the scripted expert reads the fake device's phone: a real device has none")
        return _expert(seat, self._goal)


def _expert(seat: Seat, goal: Goal) -> str:
    assert seat.host is not None
    with seat.host.lock:
        return ScriptedExpert(seat.host.phone, goal).action()
