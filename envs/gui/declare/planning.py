"""Planning on declarations: which site brings the state nearer to the wanted one, and the way to its screen."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..goals import State
from ..ui import Screen
from .aims import Aim, Wanted, distance
from .effects import Index, Where, Write, drafts_in
from .expressions import Env, parse, reads_drafts
from .operations import Button
from .screens import Condition, Site, looped
from .solving import Solution, condition, solve
from .state import key_of

DEEPEST = 3  # conditions of conditions


@dataclass
class Rehearsal:
    """A device on which operations are tried: a stack and a dialog, and nothing to see."""

    stack: list[Screen]
    charge: int = 50
    dialog: Any = None

    def push(self, screen: Screen) -> None:
        """Opens a screen."""
        self.stack.append(screen)

    def pop(self, n: int = 1) -> None:
        """Closes screens."""
        del self.stack[-n:]

    def ask(self, title: str, body: str, *buttons: tuple[str, Button]) -> tuple[tuple[str, Button], ...]:
        """The buttons of a dialog."""
        return buttons


@dataclass(frozen=True)
class Hop:
    """A tap that opens the next screen: a site, the rows at hand, and the drafts that must be so for it to be seen."""

    site: Site
    rows: tuple[tuple[str, Any], ...]
    drafts: Mapping[str, Any]
    to: tuple[str, str, Any]


@dataclass(frozen=True)
class Plan:
    """A way to a site, what must be filled in there, what the tap leads to, and which fields come nearer by it.

    ``taps`` is an estimate of the actions until these fields are as wanted, if all that follows is like this.
    """

    way: tuple[Hop, ...]
    tap: Hop
    after: State
    taps: int
    fields: frozenset[Where]


class Planner:
    """Plans from one state, without the sites in ``avoided``."""

    def __init__(self, index: Index, state: State) -> None:
        self.index, self.programs, self.state = index, index.programs, state
        self.avoided: set[Site] = set()
        self._nowhere = Rehearsal([])
        self._routes: dict[tuple[str, str, Any], tuple[Hop, ...] | None] = {}

    def plan(self, wanted: Wanted, depth: int = 0) -> Plan | None:
        """The next tap: the shortest way to a field as wanted that spoils no other, or one towards what that needs."""
        found, needs = self.direct(wanted)
        if found:
            return self._safest(found, wanted)
        if depth == DEEPEST:
            return None
        for need in [*needs, *self._conditions(wanted)]:
            plan = self.plan(need, depth + 1) if distance(self.state, need) else None
            if plan is not None:
                return plan
        return None

    def _safest(self, found: list[Plan], wanted: Wanted) -> Plan:
        found.sort(key=lambda plan: plan.taps)
        able = {where for plan in found for where in plan.fields}
        if len(able) > 1:
            for plan in found:
                later = Planner(self.index, plan.after)
                left = {w for w in able if distance(plan.after, {w: wanted[w]})}
                if all(later.direct({where: wanted[where]})[0] for where in left):
                    return plan
        return found[0]

    def direct(self, wanted: Wanted) -> tuple[list[Plan], list[Wanted]]:
        """Plans whose last tap helps at once; and what must hold before others would."""
        aim = Aim(self.state, wanted)
        sites = {
            site: None
            for where in aim.missing
            for site in self.index.writers.get(where, ())
            if site not in self.avoided
        }
        found: list[Plan] = []
        needs: list[Wanted] = []
        enough = 10**9  # taps of the best plan that leaves nothing out: a site on a deeper screen cannot do better
        for site in sites:
            least = self.index.depth.get((site.app, site.view), 0) + 2
            for env in self.spots(site, self._useful(site, aim)) if enough > least else ():
                for solution in self._solutions(site, env, aim):
                    if solution.needs:
                        needs.append(solution.needs)
                    elif (plan := self._tried(site, env, solution, aim)) is not None:
                        found.append(plan)
                        if plan.fields == aim.missing.keys():
                            enough = min(enough, plan.taps)
                if enough <= least:
                    break
        return found, needs

    # -- sites on screens ----------------------------------------------------------------------------------------

    def spots(self, site: Site, args: list[Any] | None = None) -> Iterator[Env]:
        """Every environment in which a site may be met: what its screen may be about, and the rows of its loops."""
        program, view = self.programs[site.app], self.programs[site.app].views[site.view]
        for arg in self._args(site.app, view.declared.arg) if args is None else args:
            screen = Screen(site.app, site.view, arg)
            env = program.environment(self.state, screen, self._nowhere)
            if site.frame.loops:
                self._drafted(env)
                yield from looped(env, site.frame.loops)
            else:
                yield env

    def _drafted(self, env: Env) -> None:
        """What the drafts of a screen are at first."""
        screen = env["screen"]
        if not screen.drafts:
            for name, run in self.programs[screen.app].views[screen.view].drafts.items():
                screen.drafts[name] = run(env)

    def _useful(self, site: Site, aim: Aim) -> list[Any] | None:
        """What the screen must be about for a site to help that changes only the row which it is about; else None."""
        writes = [write for write in self.index.effects[site].writes if write.where in aim.missing]
        row = self.index.about.get((site.app, site.view))
        if row is None or any(write.how != "row" or write.row != row for write in writes):
            return None
        return list(dict.fromkeys(key_of(one) for write in writes for one in aim.gone[write.where]))

    def _args(self, app: str, arg: str) -> list[Any]:
        nothing = [None] if not arg or arg.endswith("?") else []
        table = arg.rstrip("?")
        return nothing if table in ("", "text") else nothing + [key_of(row) for row in getattr(self.state[app], table)]

    def can_be_tapped(self, site: Site, env: Env) -> bool:
        """Whether a site is shown and not disabled."""
        needs = self.programs[site.app].needs
        return (
            (needs is None or bool(needs.run(env)))
            and all(bool(one.run(env)) == one.wanted for one in site.frame.conditions)
            and (site.disabled is None or not site.disabled(env))
        )

    def required(self, site: Site, env: Env) -> Solution | None:
        """What drafts must be for a site to be shown: what its conditions say, else what they are at first."""
        self._drafted(env)
        result: Solution | None = Solution()
        for one in site.frame.conditions:
            if one.wanted and result is not None and reads_drafts(parse(one.text)):
                result = result.joined(condition(parse(one.text), env, one.scope))
        if result is None:
            return None
        first = {name: env["screen"].drafts.get(name, "") for name in self.index.reads[site]}
        drafts = {**first, **result.drafts}
        for one in site.frame.conditions:
            drafts |= self._other(one, env, drafts)
        return Solution(drafts, result.needs)

    def _other(self, one: Condition, env: Env, drafts: Mapping[str, Any]) -> Mapping[str, Any]:
        """A draft with another of the values that can be chosen for it, where a condition does not hold yet."""
        here = env["screen"]
        for name in dict.fromkeys(drafts_in(one.text)):
            for value in [drafts[name], *self._choices(here, name)]:
                screen = Screen(here.app, here.view, here.arg, drafts={**here.drafts, **drafts, name: value})
                if bool(one.run({**env, "screen": screen})) == one.wanted:
                    return {name: value}
        return {}

    def _choices(self, here: Screen, name: str) -> Iterator[Any]:
        """The values that taps on a screen give a draft."""
        for site in self.index.setters.get((here.app, here.view, name), ()):
            screen = Screen(here.app, here.view, here.arg, drafts=dict(here.drafts))
            start = self.programs[here.app].environment(self.state, screen, self._nowhere)
            for env in looped(start, site.frame.loops):
                site.step({**env, "state": dict(self.state)})
                yield screen.drafts[name]

    def rehearse(self, site: Site, env: Env, drafts: Mapping[str, Any], button: int | None = None) -> Env | None:
        """What comes after a tap on a site, or on a button of the dialog that it opens; None if it cannot be tapped."""
        here = env["screen"]
        screen = Screen(here.app, here.view, here.arg, drafts={**here.drafts, **drafts})
        # As if one had come by the app's first screen, so that screens can be closed.
        stack = [Screen(site.app), screen] if site.view != "main" else [screen]
        tried: Env = {**env, "state": dict(self.state), "screen": screen, "device": Rehearsal(stack)}
        if not self.can_be_tapped(site, tried):
            return None
        site.step(tried)
        if button is not None:
            tried["device"].dialog[button][1]()
        return tried

    def _tried(self, site: Site, env: Env, solution: Solution, aim: Aim) -> Plan | None:
        drafts, button = solution.drafts, None
        after = self.rehearse(site, env, drafts)
        if after is None:
            return None
        if after["device"].dialog is not None:
            tried = [self.rehearse(site, env, drafts, i) for i in range(len(after["device"].dialog))]
            states = [one for one in tried if one is not None]
            after = max(states, key=lambda one: aim.gain(one["state"]))
            button = 1
        way = self.route(site.app, site.view, env["screen"].arg) if aim.gain(after["state"]) > 0 else None
        if way is None:
            return None
        fields = aim.nearer(after["state"])
        nearer = {where: aim.wanted[where] for where in fields}
        before, left = distance(self.state, nearer), distance(after["state"], nearer)
        often = -(-before // (before - left))
        taps = len(way) + 1 + self._filling(site, env, drafts) + often * (1 + (button or 0))
        tap = Hop(site, _rows(site, env), drafts, (site.app, site.view, env["screen"].arg))
        return Plan(way, tap, after["state"], taps, fields)

    def _filling(self, site: Site, env: Env, drafts: Mapping[str, Any]) -> int:
        """Actions that it takes to fill in drafts: text is focused and typed (and cleared), numbers are stepped."""
        fields, result = self.programs[site.app].views[site.view].fields, 0
        for name, value in drafts.items():
            first = env["screen"].drafts.get(name, "")
            if first != value and name in fields:
                result += 3 if first else 2
            elif first != value:
                result += abs(value - first) if type(first) is int else 1
        return result

    # -- solving -------------------------------------------------------------------------------------------------

    def _solutions(self, site: Site, env: Env, aim: Aim) -> list[Solution]:
        effects = self.index.effects[site]
        writes = [write for write in effects.writes if write.where in aim.missing and self._helps(write, env, aim)]
        base = self.required(site, env) if writes else None
        if base is None:
            return []
        for text, scope in effects.requires:
            base = base and base.joined(condition(parse(text), env, scope))
        alternatives = [base] if base is not None else []
        inserts: list[Solution] = []
        for write in writes:
            if write.how == "insert":
                inserts += [one for a in alternatives for row in aim.new[write.where]
                            if (one := a.joined(solve(parse(write.text), row, env, write.scope)))]  # fmt: skip
            elif write.text and reads_drafts(parse(write.text)):
                value = self._value(write, env, aim)
                if value is None:
                    continue
                solved = [a.joined(solve(parse(write.text), value, env, write.scope)) for a in alternatives]
                alternatives = [one for one in solved if one is not None] or alternatives
        return inserts + (alternatives if len(inserts) == 0 and any(w.how != "insert" for w in writes) else [])

    @staticmethod
    def _helps(write: Write, env: Env, aim: Aim) -> bool:
        """Whether a write could be done and bring anything nearer: a row must be one that should change."""
        if write.how == "row":
            gone = aim.gone[write.where]
            if not (env[write.row] in gone if write.row in env else gone):
                return False
        if write.how == "insert" and not aim.new[write.where]:
            return False
        return all(bool(branch.run(env)) == branch.wanted for branch in write.branches if branch.run is not None)

    @staticmethod
    def _value(write: Write, env: Env, aim: Aim) -> Any:
        if write.how == "set":
            return aim.missing[write.where]
        old = env.get(write.row)
        if old is None:
            return None
        key = key_of(old)
        new = [row for row in aim.missing[write.where] if key_of(row) == key] or aim.new[write.where]
        return getattr(new[0], write.column) if new and write.column else None

    def _conditions(self, wanted: Wanted) -> list[Wanted]:
        """Switches without which nothing that is wanted can be done: turned over, they let a tap help."""
        result: list[Wanted] = []
        for app, record in self.state.items():
            for name in self.programs[app].app.state if app in self.programs else ():
                now = getattr(record, name)
                if isinstance(now, bool):
                    turned = {**self.state, app: replace(record, **{name: not now})}
                    if Planner(self.index, turned).direct({w: v for w, v in wanted.items() if w != (app, name)})[0]:
                        result.append({(app, name): not now})
        return result

    # -- ways ----------------------------------------------------------------------------------------------------

    def route(self, app: str, view: str, arg: Any, passed: frozenset[str] = frozenset()) -> tuple[Hop, ...] | None:
        """The shortest way from an app's first screen to one of its screens that changes nothing."""
        if view == "main":
            return ()
        key = app, view, arg
        if key not in self._routes:
            self._routes[key] = self._route(app, view, arg, passed | {view})
        return self._routes[key]

    def _route(self, app: str, view: str, arg: Any, passed: frozenset[str]) -> tuple[Hop, ...] | None:
        for site, opening in self.index.into.get((app, view), ()):
            if opening.view != view or site.view in passed:
                continue
            for env in self.spots(site):
                if opening.arg(env) != arg:
                    continue
                needed = self.required(site, env)
                after = self.rehearse(site, env, needed.drafts) if needed is not None else None
                if needed is None or after is None or after["state"] != self.state:
                    continue
                top = after["device"].stack[-1]
                before = self.route(app, site.view, env["screen"].arg, passed)
                if (top.view, top.arg) == (view, arg) and before is not None:
                    return (*before, Hop(site, _rows(site, env), needed.drafts, (app, view, arg)))
        return None


def _rows(site: Site, env: Env) -> tuple[tuple[str, Any], ...]:
    return tuple((loop.name, env[loop.name]) for loop in site.frame.loops)
