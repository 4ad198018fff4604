"""The scripted expert of any declared app: it plans on the declarations, afresh at every step.

From the difference between the state and the wanted one it finds an operation that lessens it, the element that does
the operation, the drafts that must be filled in first and the way to the screen (:mod:`.planning`), and taps. It keeps
no script position, so it recovers from interruptions, slow screens and other policies' detours.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ..commands import VERBS, drag, long_press, parse, tap
from ..goals import Goal, State, spoken
from ..ui import HEIGHT, WIDTH, Node, Screen
from .aims import Wanted, distance
from .effects import Index
from .interpreter import Program
from .operations import Button
from .planning import Hop, Plan, Planner, Rehearsal
from .screens import ONTO, Site, Tap

if TYPE_CHECKING:
    from ..device import Phone
    from ..problems import Problem


@cache
def index_of(programs: tuple[Program, ...]) -> Index:
    """The sites of several apps by what they change; made once."""
    return Index({program.key: program for program in programs})


class ScriptedExpert:
    """Hands for one phone. Every method returns the next action, or None where there is nothing (left) to do."""

    def __init__(self, phone: "Phone", goal: Goal) -> None:
        self.phone, self.goal = phone, goal
        self.index = index_of(tuple(phone.app_classes))
        self.planner = Planner(self.index, phone.state)
        self.wanted: Wanted = missing(phone.state, goal.expected, self.index)

    def action(self) -> str:
        """The next action towards the goal; at the end the answer, if one is asked for, and the last verb."""
        phone = self.phone
        if phone.loading:
            return tap(0.5, 0.02)
        if phone.dialog is not None and phone.dialog.interrupt:
            return self._tap(phone.nodes, lambda node: node.text == phone.dialog.buttons[0][0]) or "back"  # type: ignore[union-attr]
        if self.goal.look is not None and self.goal.look not in phone.seen:
            return self.travel(self._way_to(*self.goal.look), self.goal.look) or "back"
        plan = self.planner.plan(self.wanted) if self.wanted else None
        if phone.dialog is not None:
            return self._answer(plan)
        return self._end() if plan is None else self.travel(plan.way, plan.tap.to) or self._press(plan.tap)

    def _end(self) -> str:
        if self.goal.answer and spoken(self.phone.answer) != spoken(self.goal.answer):
            return f"answer {self.goal.answer}"
        return "infeasible" if self.goal.infeasible else "done"

    def way(self) -> list[tuple[str, str, Any]]:
        """The screens that are opened on the way to the first change, one after the other."""
        look = self.goal.look
        plan = None if look or not self.wanted else self.planner.plan(self.wanted)
        if look is None and plan is None:
            return []
        to = look or plan.tap.to  # type: ignore[union-attr]
        hops = self._way_to(*look) if look else plan.way  # type: ignore[union-attr]
        return [(to[0], "main", None), *(hop.to for hop in hops)]

    def _way_to(self, app: str, view: str, arg: Any) -> tuple[Hop, ...]:
        return self.planner.route(app, view, arg) or ()

    def travel(self, way: tuple[Hop, ...], to: tuple[str, str, Any]) -> str | None:
        """Towards the screen at the end of a way; None when it is on top."""
        phone = self.phone
        wanted = [(to[0], "main", None), *(hop.to for hop in way)]
        have = [(screen.app, screen.view, screen.arg) for screen in phone.stack]
        if phone.dialog is not None:
            return "back"
        if have == wanted:
            return None
        if have and have != wanted[: len(have)]:
            return "home" if have[0][0] != to[0] else "back"
        if not have:
            name = phone.apps[to[0]].name
            return self._tap(phone.nodes, lambda node: node.role == "app" and node.text == name) or "home"
        return self._press(way[len(have) - 1])

    def _press(self, hop: Hop) -> str:
        """Fills in what the tap needs, then taps, scrolling until the element can be seen."""
        filled = self._fill(hop)
        if filled is not None:
            return filled
        if hop.site.key == "enter":
            fields = self.phone.page.fields
            return "enter" if self.phone.focus else self._find(lambda n: n.role == "field" and bool(fields))

        rows = {name: value for name, value in hop.rows if hop.site.gesture != "drop" or name != ONTO}

        def is_it(node: Node) -> bool:
            it = _handler(node, hop.site)
            return isinstance(it, Tap) and it.site is hop.site and all(it.env[k] == v for k, v in rows.items())

        if hop.site.gesture == "drop":
            return self._drag(is_it, dict(hop.rows)[ONTO])
        return self._find(is_it, long_press if hop.site.gesture == "hold" else tap)

    def _drag(self, is_it: Any, onto: Any) -> str:
        """Drags an element onto the target with a value, scrolling until both can be seen."""
        column, bottom = [*self.phone.page.fixed, *self.phone.page.column], self.phone.page.bottom
        both = [next((n for n in column if fits(n)), None) for fits in (is_it, lambda node: node.target == onto)]
        if both[0] is None or both[1] is None:
            return "back"
        ends = [_centre(node) for node in both if any(node is one for one in self.phone.nodes)]  # type: ignore[arg-type]
        if len(ends) == 2:
            return drag(*ends[0], *ends[1])
        return "swipe up" if max(node.y1 for node in both if node) > bottom else "swipe down"

    def _fill(self, hop: Hop) -> str | None:
        view = self.index.programs[hop.site.app].views[hop.site.view]
        screen = self.phone.stack[-1]
        _ = self.phone.page
        for name, value in hop.drafts.items():
            draft = screen.drafts.get(name, "")
            if draft == value:
                continue
            if name not in view.fields:
                return self._turn(screen, name, value)
            label = view.fields[name][0](
                self.index.programs[hop.site.app].environment(self.phone.state, screen, self.phone)
            )
            if draft and not value.startswith(draft):
                return self._find(lambda node, label=label: node.text == f"Clear {label}")  # type: ignore[misc]
            if screen.focus == name:
                return f"type {value[len(draft) :]}"
            return self._find(lambda node, label=label: node.role == "field" and node.text == label)  # type: ignore[misc]
        return None

    def _turn(self, screen: Screen, name: str, value: Any) -> str:
        """Taps what brings a draft that is not typed nearer to a value."""
        best, found = None, None
        page = self.phone.page
        for node in [*page.fixed, *page.column]:
            if (
                isinstance(node.on_tap, Tap)
                and name in self.index.effects[node.on_tap.site].drafts
                and not node.disabled
            ):
                drafts = dict(screen.drafts)
                copy = Screen(screen.app, screen.view, screen.arg, drafts=drafts)
                env = {**node.on_tap.env, "screen": copy, "state": dict(self.phone.state), "device": Rehearsal([copy])}
                node.on_tap.site.step(env)
                apart = 0 if drafts[name] == value else abs(int(drafts[name]) - value) if isinstance(value, int) else 1
                if best is None or apart < best:
                    best, found = apart, node
        return self._find(lambda node: node is found) if found is not None else "back"

    def _answer(self, plan: Plan | None) -> str:
        """Presses the button of a dialog that helps most; the first, harmless one where none does."""
        phone = self.phone
        assert phone.dialog is not None
        towards = [self.wanted] + ([{where: _get(plan.after, where) for where in plan.fields}] if plan else [])
        best, chosen = 0, 0
        for i, (_, handler) in enumerate(phone.dialog.buttons):
            button = getattr(handler, "args", (None,))[0]
            if isinstance(button, Button):
                after = _after(button, phone.state)
                gain = max(distance(phone.state, one) - distance(after, one) for one in towards)
                if gain > best:
                    best, chosen = gain, i
        return self._tap(phone.nodes, lambda node: node.text == phone.dialog.buttons[chosen][0]) or "back"  # type: ignore[union-attr]

    def _find(self, is_it: Any, gesture: Any = tap) -> str:
        phone = self.phone
        seen = self._tap(phone.nodes, is_it, gesture)
        if seen is not None:
            return seen
        for node in phone.page.column:
            if is_it(node):
                return "swipe up" if node.y1 > phone.page.bottom else "swipe down"
        return "back"

    @staticmethod
    def _tap(nodes: list[Node], is_it: Any, gesture: Any = tap) -> str | None:
        for node in nodes:
            if (node.on_tap is not None or gesture is long_press) and is_it(node):
                return str(gesture(*_centre(node)))
        return None


def _handler(node: Node, site: Site) -> Any:
    """What a node does at a site's gesture."""
    return {"tap": node.on_tap, "hold": node.on_hold, "drop": node.on_drop}[site.gesture]


def _centre(node: Node) -> tuple[float, float]:
    return (node.x0 + node.x1) / 2 / WIDTH, (node.v0 + node.v1) / 2 / HEIGHT


def missing(state: State, expected: State, index: Index) -> Wanted:
    """The fields of all apps as they should be; nothing where they are so."""
    if state == expected:
        return {}
    fields = ((key, name) for key, program in index.programs.items() for name in program.app.state)
    return {where: _get(expected, where) for where in fields}


def _get(state: Mapping[str, Any], where: tuple[str, str]) -> Any:
    return getattr(state[where[0]], where[1])


def _after(button: Button, state: State) -> State:
    screen = button.env["screen"]
    device = Rehearsal([Screen(screen.app), screen])
    env = {**button.env, "state": dict(state), "device": device}
    button.step(env)
    after: State = env["state"]
    return after


def length(problem: "Problem", limit: int = 200) -> int | None:
    """Actions that the expert takes when nothing interrupts it and no screen is slow, the last one among them.

    None: it does not get there.
    """
    phone = replace(problem, interruptions={}, slow={}).phone()
    for n in range(1, limit + 1):
        action = ScriptedExpert(phone, problem.goal).action()
        if action in ("done", "infeasible"):
            return n if problem.goal.reached(phone.state, phone.answer, action) else None
        phone.act(parse(action, VERBS))
    return None


def feasible(problem: "Problem") -> bool:
    """Whether what is wanted can be reached on this phone, as far as the expert can see."""
    return length(problem) is not None
