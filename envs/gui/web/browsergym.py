"""The phone's tasks as BrowserGym tasks, a task a template: ``browsergym/tiltyard.NAME`` (extra ``[browsergym]``).

    from tiltyard.envs.gui.web.browsergym import register_tasks
    register_tasks()
    env = gymnasium.make("browsergym/tiltyard.settings_switch", pre_observation_delay=0.0)

Observations and actions are BrowserGym's, page and problems those of ``tiltyard/WebPhone-v0``. An agent ends an episode
by a message to the user (``send_msg_to_user``: that it is done, or the answer where the goal asks for one) or by
``report_infeasible``; then the exact state of all apps is read back from the page and compared with the wanted one.
Reward 1 if all of it is as it should be, else 0. A page left or closed ends the episode with 0.

Source of what a task has to have: ``browsergym/core/task.py`` (``AbstractBrowserTask``) of BrowserGym 0.14.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from .... import need, unknown
from ... import seeding
from ..commands import VERBS, parse
from ..declare.expert import ScriptedExpert
from ..goals import Template
from ..problems_v1 import AXES, HeldOut, Split, generate, world
from . import export
from .browser import Page
from .phone import WebExpert, WebPhone
from .problem import pages, programs
from .problem import world as world_of
from .server import Server

FINISH = "When you have finished, send a message to the user."
ANSWER = "Send the answer to the user, and nothing else."
LONGEST_WAY = 200
"""Steps after which :meth:`PhoneTask.cheat` gives up."""


class PhoneTask:
    """A phone in BrowserGym's page.

    Args:
        seed: names the problem; None for one by chance.
        template: name of the task template.
        split: which problems, "train" or "test".
        held_out: in which way test problems differ, as on Phone-v1; a template of the other side is refused.
        layout: "flow" for CSS and the browser's own scrolling, "same" for the boxes of the simulated phone.
        size: width and height of the page in pixels.

    Raises:
        ValueError: there is no such template, or it is not of this split.
    """

    nondeterministic = False
    slow_mo, timeout = 0, 5000  # milliseconds
    locale: str | None = None
    timezone_id: str | None = None

    @classmethod
    def get_task_id(cls) -> str:
        """The prefix of all their ids."""
        return "tiltyard"

    def __init__(
        self,
        seed: int | None,
        template: str,
        split: seeding.Split = "train",
        held_out: HeldOut = "params",
        layout: str = "flow",
        size: tuple[int, int] = (360, 640),
    ) -> None:
        names = [one.name for one in world().templates]
        if template not in names:
            raise ValueError(unknown("task template", template, names))
        number = names.index(template)
        self.level = world().templates[number].level
        which = _split(split, held_out)
        if not which.holds(world().templates[number]):
            raise ValueError(f"{template!r} has no problems in split {split!r} with held_out={held_out!r}")
        self.viewport = {"width": size[0], "height": size[1]}
        self.layout = layout
        self.problem = _problem(seed, split, self.level, number, which)
        self._server: Server | None = None
        self.phone: WebPhone

    def setup(self, page: Any) -> tuple[str, dict[str, Any]]:
        """Serves the phone on loopback, opens it in Playwright's ``page`` and puts the problem on it."""
        self._server = Server(pages())
        page.goto(f"{self._server.url}/?layout={self.layout}", timeout=60_000)
        self._page = _Playwright(page)
        self.phone = WebPhone(self._page, self.layout)
        self.phone.begin(self.problem)
        goal = self.problem.goal
        said = f"{goal.text}\n{ANSWER if goal.answer else FINISH}"
        return said, {"problem": self.problem.digest, "level": self.level, "apps": self.problem.template.apps}

    def validate(
        self, page: Any, chat_messages: Sequence[Mapping[str, Any]]
    ) -> tuple[float, bool, str, dict[str, Any]]:
        """Reward, whether the episode is over, an empty message, and why."""
        if self._server is None or page.is_closed() or not page.url.startswith(self._server.url):
            return 0.0, True, "", {"success": False, "error": "the phone's page was left"}
        ended, answer = _ended(chat_messages)
        if not ended:
            return 0.0, False, "", {"success": False}
        look = page.evaluate("tiltyard.look()")
        state = export.read_state(look["state"], programs(world_of(self.problem)).values())
        goal = self.problem.goal
        success = goal.reached(state, answer if goal.answer else "", ended)
        return float(success), True, "", {"success": success}

    def cheat(self, page: Any, chat_messages: list[dict[str, Any]]) -> None:
        """Solves the task as the scripted expert does, from a page on which nothing has been done yet."""
        for _ in range(LONGEST_WAY):
            self._page.measure()
            action = WebExpert(self.phone, ScriptedExpert(self.phone.mirror, self.problem.goal)).action()
            verb, _, text = action.partition(" ")
            if verb in ("done", "answer", "infeasible"):
                role = "infeasible" if verb == "infeasible" else "assistant"
                chat_messages.append({"role": role, "timestamp": 0.0, "message": text or verb})
                return
            self.phone.act(parse(action, VERBS))
        raise RuntimeError(f"the expert did not finish within {LONGEST_WAY} steps")

    def teardown(self) -> None:
        """Ends the server."""
        server, self._server = self._server, None
        if server is not None:
            server.close()


def register_tasks() -> list[str]:
    """Registers every template with BrowserGym, and returns the ids; doing it again changes nothing.

    Raises:
        MissingExtra: BrowserGym is not installed.
    """
    register = need("browsergym.core.registration", extra="browsergym").register_task
    from gymnasium.envs.registration import registry

    ids = []
    for one in world().templates:
        ids.append(f"browsergym/tiltyard.{one.name}")
        if ids[-1] not in registry:
            given = {"task_kwargs": {"template": one.name}, "default_task_kwargs": _sides(one)}
            register(f"tiltyard.{one.name}", PhoneTask, nondeterministic=False, **given)
    return ids


def _sides(one: Template) -> dict[str, str]:
    """The split that a template has problems in: train, unless it or its app is held out."""
    sides: tuple[tuple[seeding.Split, HeldOut], ...]
    sides = (("train", "params"), ("test", "template"), ("test", "app"))
    split, axis = next(side for side in sides if _split(*side).holds(one))
    return {"split": split, "held_out": axis}


def _split(split: seeding.Split, held_out: HeldOut) -> Split:
    if held_out not in AXES:
        raise ValueError(unknown("held_out", held_out, AXES))
    return Split(seeding.check_split(split), held_out)


def _problem(seed: int | None, split: seeding.Split, level: int, number: int, which: Split) -> Any:
    chosen = secrets.randbits(31) if seed is None else seed
    key = int(seeding.problem_keys(split, [chosen], [0])[0])
    return generate(key, level, (number,), which)


def _ended(messages: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """How the agent ended the episode ("" if it has not), and what it said; BrowserGym's own greeting comes first."""
    said = list(messages)
    while said and said[0]["role"] != "user":
        said.pop(0)
    for message in reversed(said):
        if message["role"] in ("assistant", "infeasible"):
            return ("done" if message["role"] == "assistant" else "infeasible"), str(message["message"])
    return "", ""


class _Playwright(Page):
    """Playwright's page as one of ours: the same commands of the same protocol, each waited for."""

    def __init__(self, page: Any) -> None:
        self._session = page.context.new_cdp_session(page)
        self._answers: dict[int, dict[str, Any]] = {}
        self._sent = 0

    def measure(self) -> None:
        """Takes the size that the window has now: BrowserGym's observations can change it."""
        self.width, self.height = self.evaluate("[innerWidth, innerHeight]")

    def send(self, method: str, **params: Any) -> int:
        self._sent += 1
        self._answers[self._sent] = self._session.send(method, params)
        return self._sent

    def result(self, number: int, timeout: float | None = None) -> dict[str, Any]:
        return self._answers.pop(number)
