"""The scripted expert of any declared app: it plans on the declarations, afresh at every step.

From the difference between the state and the wanted one it finds an operation that lessens it, the element that does
the operation, the drafts that must be filled in first and the way to the screen (:mod:`.planning`), and taps. It keeps
no script position, so it recovers from interruptions, slow screens and other policies' detours.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ..commands import VERBS, drag, long_press, parse, tap
from ..goals import Goal, State, spoken
from ..ui import HEIGHT, LEAST_VISIBLE, WIDTH, Node, Page, Screen
from .aims import Wanted, apart, distance
from .effects import Index
from .interpreter import Program
from .operations import Button
from .planning import Hop, Plan, Planner, Rehearsal
from .screens import ONTO, Site, Tap

if TYPE_CHECKING:
    from ..device import Phone
    from ..problems import Problem

NEAR = 0.25  # of what can be seen of a page: a swipe moves it by 0.7


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
        if phone.dialog is None and phone.stack and phone.stack[-1].failed:
            return self._tap(phone.nodes, lambda node: node.role == "button" and node.look != "bar") or "back"
        if self.goal.look is not None and self.goal.look not in phone.seen:
            return self.travel(self._way_to(*self.goal.look), self.goal.look) or "back"
        plan = self._plan()
        if phone.dialog is not None:
            return self._answer(plan)
        return self._end() if plan is None else self.travel(plan.way, plan.tap.to) or self._press(plan.tap)

    def _plan(self) -> Plan | None:
        """The next tap; without drags whose ends are too far apart for one screen, where there is another way."""
        first = plan = self.planner.plan(self.wanted) if self.wanted else None
        while plan is not None and plan.tap.site.gesture == "drop" and not self._within_reach(plan.tap):
            self.planner.avoided.add(plan.tap.site)
            plan = self.planner.plan(self.wanted)
        return plan or first

    def _end(self) -> str:
        if self.goal.answer and spoken(self.phone.answer) != spoken(self.goal.answer):
            return f"answer {self.goal.answer}"
        return "infeasible" if self.goal.infeasible else "done"

    def way(self) -> list[tuple[str, str, Any]]:
        """The screens that are opened on the way to the first change, one after the other."""
        look = self.goal.look
        plan = None if look else self._plan()
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

        if hop.site.gesture == "drop":
            return self._drag(hop)
        return self._find(_is(hop.site, dict(hop.rows)), long_press if hop.site.gesture == "hold" else tap)

    def _drag(self, hop: Hop) -> str:
        """Drags an element onto the target with a value, scrolling until both can be seen."""
        page = self.phone.page
        ends = _ends(page, hop)
        if ends is None:
            return "back"
        if all(_seen(node, page) for node in ends):
            if any(self._covered(node) for node in ends):
                return "swipe up"
            return drag(*_centre(ends[0]), *_centre(ends[1]))
        if isinstance(dict(hop.rows)[ONTO], int) and (nearest := self._nearest(*ends)) is not None:
            return drag(*_centre(ends[0]), *_centre(nearest))
        lowest = max(ends, key=lambda node: node.y0)
        return "swipe up" if not _seen(lowest, page) and lowest.y1 > page.bottom else "swipe down"

    def _within_reach(self, hop: Hop) -> bool:
        """Whether swipes bring both ends of a drag onto the screen at once, from wherever it is scrolled to.

        They do where both can be seen at its top or at its end, or are so near that no swipe passes them.
        """
        page = self.phone.page_of(Screen(*hop.to, drafts=dict(hop.drafts)))
        ends = _ends(page, hop)
        if ends is None:
            return False
        near = max(node.y1 for node in ends) - min(node.y0 for node in ends) < NEAR * (page.bottom - page.top)
        return near or any(all(_seen(n, page, scroll) for n in ends) for scroll in (0.0, page.longest_scroll))

    def _nearest(self, node: Node, to: Node) -> Node | None:
        """Of the numbers in sight that an element in sight can be dropped on, one nearer to a number out of sight."""
        seen = [one for one in self.phone.nodes if isinstance(one.target, int)]
        best = min(seen, key=lambda one: abs(one.y0 - to.y0), default=None)
        nearer = best is not None and abs(best.y0 - to.y0) < abs(node.y0 - to.y0) - (node.y1 - node.y0)
        return best if nearer and any(one is node for one in self.phone.nodes) else None

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
                left = abs(int(drafts[name]) - value) if isinstance(value, int) else apart(drafts[name], value)
                if best is None or left < best:
                    best, found = left, node
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
                up = node.y1 > phone.page.bottom
                return "back" if self._stuck(up) else "swipe up" if up else "swipe down"
        return "back"

    def _stuck(self, up: bool) -> bool:
        """Whether the focused field, which stays in view, keeps the page from being scrolled that way."""
        page = self.phone.page
        focused = [node for node in page.column if node.focused]
        return any(node.y0 < page.top + 0.5 if up else node.y1 > page.bottom - 4.5 for node in focused)

    def _tap(self, nodes: list[Node], is_it: Any, gesture: Any = tap) -> str | None:
        for node in nodes:
            if (node.on_tap is not None or gesture is long_press) and is_it(node):
                return "swipe up" if self._covered(node) else str(gesture(*_centre(node)))
        return None

    def _covered(self, node: Node) -> bool:
        """Whether a notification lies over the middle of an element."""
        x, y = _centre(node)
        return self.phone.dialog is None and any(one.holds(x * WIDTH, y * HEIGHT) for one in self.phone.over)


def _handler(node: Node, site: Site) -> Any:
    """What a node does at a site's gesture."""
    return {"tap": node.on_tap, "hold": node.on_hold, "drop": node.on_drop}[site.gesture]


def _is(site: Site, rows: Mapping[str, Any]) -> Callable[[Node], bool]:
    """Whether a node is the one of a site for the rows at hand."""

    def is_it(node: Node) -> bool:
        it = _handler(node, site)
        return isinstance(it, Tap) and it.site is site and all(it.env[k] == v for k, v in rows.items())

    return is_it


def _ends(page: Page, hop: Hop) -> list[Node] | None:
    """What is to be dragged, and what it is to be dropped on; None if one of them is not on the page."""
    rows = dict(hop.rows)
    onto = rows.pop(ONTO)
    both = (_is(hop.site, rows), lambda node: node.target == onto)
    ends = [node for fits in both for node in [n for n in page.column if fits(n)][:1]]
    return ends if len(ends) == 2 else None


def _seen(node: Node, page: Page, scroll: float = 0.0) -> bool:
    """Whether enough of a node can be seen when a page is scrolled on by so much."""
    top, bottom = max(node.y0 - scroll, page.top), min(node.y1 - scroll, page.bottom)
    return bottom - top >= min(LEAST_VISIBLE, node.y1 - node.y0)


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
