"""Screens to builders of pages: compiles widgets, and remembers every place that can be tapped.

A place is a :class:`Site`: operations on a screen with what they hang on (loops, conditions). The sites are what the
expert plans with, and each node that can be tapped carries its site (see :class:`Tap`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..ui import Page
from . import widgets as w
from .app import View
from .expressions import Env, Expression, Run, Scope, compiled
from .functions import ANY, TEXT
from .operations import Operations, Place, Step, Toggle, bind_all, several, target_value
from .operations import Set as SetTo
from .state import Table
from .texts import words

Build = Callable[[Page, Env], None]
Words = Callable[[Env], str]
Gestures = Callable[[Env], Mapping[str, Any]]
ONTO = "onto"


@dataclass(frozen=True)
class Loop:
    """A loop that a site is in."""

    name: str
    items: Run
    where: Run | None
    text: str = ""


@dataclass(frozen=True)
class Condition:
    """A condition that a site is under: it must be ``wanted``."""

    text: str
    scope: Scope
    run: Run
    wanted: bool = True


@dataclass(frozen=True)
class Frame:
    """What a widget hangs on: loops around it, conditions above it."""

    place: Place
    loops: tuple[Loop, ...] = ()
    conditions: tuple[Condition, ...] = ()

    def under(self, text: str, run: Run, wanted: bool) -> "Frame":
        """With one more condition."""
        return replace(self, conditions=(*self.conditions, Condition(text, self.place.scope, run, wanted)))


@dataclass(frozen=True, eq=False)
class Site:
    """Something on a screen that can be tapped (``key`` "enter": what the enter key does), held or dragged.

    ``gesture`` is tap, hold or drop. The last loop of a drop is over the values ``onto`` of what it may be dropped on.
    """

    app: str
    view: str
    key: str
    operations: tuple[Any, ...]
    step: Step
    frame: Frame
    disabled: Run | None = None
    gesture: str = "tap"


class Tap:
    """The handler of a node for taps or long presses: a site, and the rows at hand where it is."""

    __slots__ = ("env", "site")

    def __init__(self, site: Site, env: Env) -> None:
        self.site, self.env = site, env

    def __call__(self) -> None:
        """Does it."""
        self.site.step({**self.env})


class Drop(Tap):
    """The same for drags."""

    __slots__ = ()

    def __call__(self, onto: Any = None) -> None:
        """Does it, with the value of what it is dropped on."""
        self.site.step({**self.env, ONTO: onto})


@dataclass
class CompiledView:
    """A screen that can be shown."""

    declared: View
    build: Build
    let: tuple[tuple[str, Run], ...]
    drafts: dict[str, Run]
    enter: Step | None
    fields: dict[str, tuple[Callable[[Env], str], Frame]]
    sites: list[Site]


def named(named: Mapping[str, Any], scope: Scope) -> tuple[Scope, list[tuple[str, Run]]]:
    """Expressions under names, each of which knows those before it; and the scope that knows them all."""
    made = []
    for name, text in named.items():
        one = compiled(text, scope.at(name))
        scope = scope.binding(name, one.kind)
        made.append((name, one.run))
    return scope, made


class ViewCompiler:
    """Compiles one screen; a method a widget."""

    def __init__(self, place: Place, name: str, view: View) -> None:
        self.place, self.name, self.view = place, name, view
        self.sites: list[Site] = []
        self.fields: dict[str, tuple[Callable[[Env], str], Frame]] = {}
        self.field_values: dict[str, Run] = {}
        self.targets: list[tuple[Run, Frame]] = []

    def compiled(self) -> CompiledView:
        """The screen, checked."""
        base, view = self.place.at(f"screen {self.name}"), self.view
        table = view.arg.rstrip("?")
        if table not in ("", "text") and not isinstance(base.schemas[base.scope.app].fields.get(table), Table):
            raise base.error(f"a screen is about a table, text, or nothing, not {view.arg!r}")
        scope = replace(
            base.scope, drafts={**dict.fromkeys(_fields(view.widgets), TEXT), **dict.fromkeys(view.drafts, ANY)}
        )
        scope, let = named(view.let, scope.binding("arg", TEXT, lambda env: env["screen"].arg))
        drafts = {name: compiled(text, scope.at(f"draft {name}")) for name, text in view.drafts.items()}
        scope = replace(scope, drafts={**scope.drafts, **{name: one.kind for name, one in drafts.items()}})
        place = replace(base, scope=scope)
        frame = Frame(replace(place, submit=self._submit if view.enter else None))
        enter = None
        if view.enter:
            site = self._site("enter", view.enter, Frame(place.at("enter")))
            enter = site.step
        build = self.all(view.widgets, frame)
        values = {name: one.run for name, one in drafts.items()} | self.field_values
        return CompiledView(view, build, tuple(let), values, enter, self.fields, self.sites)

    def _submit(self, place: Place) -> Step:
        return bind_all(self.view.enter, replace(place, submit=None))

    def all(self, widgets: Sequence[w.Widget], frame: Frame) -> Build:
        """One widget after the other."""
        builds = []
        for widget in widgets:
            kind = type(widget).__name__
            label = next((v for k in ("title", "text", "label", "name") if (v := getattr(widget, k, ""))), "")
            inside = replace(frame, place=frame.place.at(f"{kind} {label!r}" if label else kind))
            builds.append(getattr(self, f"_{kind.lower()}")(widget, inside))
        if len(builds) == 1:
            return builds[0]  # type: ignore[no-any-return]

        def build(page: Page, env: Env) -> None:
            for one in builds:
                one(page, env)

        return build

    def _site(
        self, key: str, operations: Operations, frame: Frame, disabled: Run | None = None, gesture: str = "tap"
    ) -> Site:
        step = bind_all(operations, frame.place)
        site = Site(self.place.scope.app, self.name, key, several(operations), step, frame, disabled, gesture)
        self.sites.append(site)
        return site

    def _gestures(self, widget: w.Row, frame: Frame, disabled: Run | None) -> Gestures:
        """What holding and dragging a row does, and what it says to what is dropped on it."""
        makers: list[tuple[str, Callable[[Env], Any]]] = []
        if widget.hold != ():
            makers.append(("on_hold", partial(Tap, self._site(widget.title, widget.hold, frame, disabled, "hold"))))
        if widget.drop != ():
            onto = Loop(ONTO, self._values_of_targets, None)
            inside = replace(frame, place=frame.place.binding(ONTO, ANY), loops=(*frame.loops, onto))
            makers.append(("on_drop", partial(Drop, self._site(widget.title, widget.drop, inside, disabled, "drop"))))
        if widget.target:
            target = self._expression(widget.target, frame).run
            self.targets.append((target, frame))
            makers.append(("target", target))
        return lambda env: {name: make(env) for name, make in makers}

    def _values_of_targets(self, env: Env) -> tuple[Any, ...]:
        """The values of all rows of this screen that something can be dropped on, each once."""
        found: dict[Any, None] = {}
        for run, frame in self.targets:
            for one in looped(env, frame.loops):
                if all(bool(each.run(one)) == each.wanted for each in frame.conditions):
                    found[run(one)] = None
        return tuple(value for value in found if value is not None)

    def _text(self, text: str, frame: Frame) -> Callable[[Env], str]:
        return words(text, frame.place.scope)

    def _expression(self, text: str, frame: Frame) -> Expression:
        return compiled(text, frame.place.scope)

    # -- widgets -------------------------------------------------------------------------------------------------

    def _bar(self, widget: w.Bar, frame: Frame) -> Build:
        title, back = self._text(widget.title, frame), widget.back
        actions = [
            (self._text(one.icon, frame), self._text(one.name, frame), self._site(one.name, one.do, frame))
            for one in widget.actions
        ]
        return lambda page, env: page.bar(
            title(env), back=back, actions=[(icon(env), name(env), Tap(site, env)) for icon, name, site in actions]
        )

    def _tabs(self, widget: w.Tabs, frame: Frame) -> Build:
        now = self._expression(f"draft.{widget.draft}", frame).run
        scope = frame.place.scope
        tabs = []
        for name in widget.names:
            site = self._site(name, SetTo(f"draft.{widget.draft}", repr(name)), frame)
            site = self.sites[-1] = replace(site, step=_rewinding(site.step))
            tabs.append((name, words(name, scope), site))
        return lambda page, env: page.tabs([(text(env), name == now(env), Tap(site, env)) for name, text, site in tabs])

    def _section(self, widget: w.Section, frame: Frame) -> Build:
        title = self._text(widget.title, frame)
        return lambda page, env: page.section(title(env))

    def _paragraph(self, widget: w.Paragraph, frame: Frame) -> Build:
        text, look = self._text(widget.text, frame), widget.look
        return lambda page, env: page.text(text(env), look=look)

    def _row(self, widget: w.Row, frame: Frame) -> Build:
        title, detail, icon = (self._text(one, frame) for one in (widget.title, widget.detail, widget.icon))
        if widget.hold != () or widget.drop != () or widget.target:
            return self._touchable(widget, frame, title, detail, icon)
        if widget.do == ():
            return lambda page, env: page.row(title(env), None, detail=detail(env), icon=icon(env))
        if not widget.disabled:
            site = self._site(widget.title, widget.do, frame)
            return lambda page, env: page.row(title(env), Tap(site, env), detail=detail(env), icon=icon(env))
        disabled = self._expression(widget.disabled, frame).run
        some = self._site(widget.title, widget.do, frame, disabled)
        return lambda page, env: page.row(
            title(env), Tap(some, env), detail=detail(env), icon=icon(env), disabled=disabled(env)
        )

    def _touchable(self, widget: w.Row, frame: Frame, title: Words, detail: Words, icon: Words) -> Build:
        disabled = self._expression(widget.disabled, frame).run if widget.disabled else None
        site = self._site(widget.title, widget.do, frame, disabled) if widget.do != () else None
        gestures = self._gestures(widget, frame, disabled)

        def build(page: Page, env: Env) -> None:
            off = disabled is not None and bool(disabled(env))
            tap = Tap(site, env) if site else None
            page.row(title(env), tap, detail=detail(env), icon=icon(env), disabled=off, gestures=gestures(env))

        return build

    def _switch(self, widget: w.Switch, frame: Frame) -> Build:
        title, detail = self._text(widget.title, frame), self._text(widget.detail, frame)
        on, disabled = (
            target_value(widget.field, frame.place.scope).run,
            self._expression(widget.disabled or "False", frame).run,
        )
        site = self._site(widget.title, Toggle(widget.field), frame, disabled)
        return lambda page, env: page.switch(
            title(env), on(env), Tap(site, env), disabled=disabled(env), detail=detail(env)
        )

    def _radio(self, widget: w.Radio, frame: Frame) -> Build:
        title, chosen = self._text(widget.title, frame), self._expression(widget.chosen, frame).run
        site = self._site(widget.title, widget.do, frame)
        return lambda page, env: page.radio(title(env), chosen(env), Tap(site, env))

    def _field(self, widget: w.Field, frame: Frame) -> Build:
        label, draft = self._text(widget.label, frame), widget.draft
        if frame.loops:
            raise frame.place.error("a text field cannot be in a loop")
        self.fields[draft] = label, frame
        self.field_values[draft] = self._expression(widget.value or "''", frame).run
        return lambda page, env: page.field(draft, label(env))

    def _button(self, widget: w.Button, frame: Frame) -> Build:
        text, look = self._text(widget.text, frame), widget.look
        disabled = self._expression(widget.disabled or "False", frame).run
        site = self._site(widget.text, widget.do, frame, disabled)
        return lambda page, env: page.button(text(env), Tap(site, env), look=look, disabled=disabled(env))

    def _stepper(self, widget: w.Stepper, frame: Frame) -> Build:
        label, value = self._text(widget.label, frame), self._text(widget.value, frame)
        low, high = self._expression(widget.lowest, frame).run, self._expression(widget.highest, frame).run
        less = self._site("less", widget.less, frame, low)
        more = self._site("more", widget.more, frame, high)
        return lambda page, env: page.stepper(
            label(env), value(env), Tap(less, env), Tap(more, env), bounds=(low(env), high(env))
        )

    def _chips(self, widget: w.Chips, frame: Frame) -> Build:
        items, name = self._expression(widget.of, frame), widget.name
        inside = _looped(frame, name, items, None)
        text, chosen = self._text(widget.text, inside), self._expression(widget.chosen, inside).run
        site = self._site(widget.text, widget.do, inside)

        def build(page: Page, env: Env) -> None:
            each = [{**env, name: item} for item in items.run(env)]
            page.chips([(text(one), chosen(one), Tap(site, one)) for one in each])

        return build

    def _image(self, widget: w.Image, frame: Frame) -> Build:
        icon, colour, height = self._text(widget.icon, frame), self._expression(widget.colour, frame).run, widget.height
        return lambda page, env: page.image("", icon(env), colour(env), height=height)

    def _empty(self, widget: w.Empty, frame: Frame) -> Build:
        text, icon = self._text(widget.text, frame), self._text(widget.icon, frame)
        return lambda page, env: page.empty(text(env), icon(env))

    def _error(self, widget: w.Error, frame: Frame) -> Build:
        return lambda page, env: page.error()

    def _foreach(self, widget: w.ForEach, frame: Frame) -> Build:
        items, name = self._expression(widget.of, frame), widget.name
        if widget.order:
            items = self._expression(f"sorted_by({widget.of}, {widget.order!r})", frame)
        inner = frame.place.scope.binding(name, items.kind.item or ANY)
        where = compiled(widget.where, inner).run if widget.where else None
        body = self.all(widget.widgets, _looped(frame, name, items, where, widget.where))
        otherwise = self.all(widget.otherwise, frame)

        def build(page: Page, env: Env) -> None:
            nothing = True
            for item in items.run(env):
                one = {**env, name: item}
                if where is None or where(one):
                    nothing = False
                    body(page, one)
            if nothing:
                otherwise(page, env)

        return build

    def _when(self, widget: w.When, frame: Frame) -> Build:
        text = widget.condition
        condition = self._expression(text, frame).run
        then = self.all(widget.then, frame.under(text, condition, True))
        otherwise = self.all(widget.otherwise, frame.under(text, condition, False))
        return lambda page, env: (then if condition(env) else otherwise)(page, env)


def _rewinding(step: Step) -> Step:
    def rewind(env: Env) -> bool:
        env["screen"].scroll, env["screen"].focus = 0.0, None
        return step(env)

    return rewind


def looped(env: Env, loops: Sequence[Loop]) -> Iterator[Env]:
    """The environments inside loops, one an item for which the loop's condition holds."""
    if not loops:
        yield env
        return
    loop, *rest = loops
    for item in loop.items(env):
        inner = {**env, loop.name: item}
        if loop.where is None or loop.where(inner):
            yield from looped(inner, rest)


def _looped(frame: Frame, name: str, items: Expression, where: Run | None, text: str = "") -> Frame:
    place = frame.place.binding(name, items.kind.item or ANY)
    return replace(frame, place=place, loops=(*frame.loops, Loop(name, items.run, where, text)))


def _fields(widgets: Sequence[w.Widget]) -> list[str]:
    found: list[str] = []
    for widget in widgets:
        if isinstance(widget, w.Field):
            found.append(widget.draft)
        elif isinstance(widget, w.ForEach):
            found += _fields(widget.widgets) + _fields(widget.otherwise)
        elif isinstance(widget, w.When):
            found += _fields(widget.then) + _fields(widget.otherwise)
    return found
