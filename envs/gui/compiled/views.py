"""Screens of declarations to bytecode: code that puts a screen's elements onto a page, and the units that they run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..declare import widgets as d
from ..declare.app import View
from ..declare.functions import ANY, TEXT
from ..declare.operations import Operations, Set, Toggle
from . import opcodes as op
from . import roles as r
from .expressions import Known
from .operations import Compiled

LOOKS = {name: i for i, name in enumerate(r.LOOKS)}


class Views(Compiled):
    """Compiles screens."""

    def view(self, view: View, known: Known) -> int:
        """A screen; where its code begins. What is typed and chosen on it is first given its value."""
        start = self.to.here
        app = self.declared[known.scope.app]
        if app.needs:
            self.text(app.needs, known)
            fine = self.to.emit(op.OR)
            self._all(app.instead, known, ())
            self.to.emit(op.HALT, 1)
            self.to.patch(fine, a=self.to.here)
            self.to.emit(op.POP)
        known = self._named(view, known)
        self._drafts(view, known)
        if view.enter:
            unit = self.unit(lambda: self.operations(view.enter, known), known)
            self.to.emit(op.CAPTURE_ENTER, unit)
        self._all(view.widgets, known, view.enter)
        self.to.emit(op.HALT, 1)
        self.make_units()
        return start

    def _named(self, view: View, known: Known) -> Known:
        names = [*view.drafts, *(name for name in typed(view.widgets) if name not in view.drafts)]
        scope = replace(
            known.scope, drafts={**dict.fromkeys(typed(view.widgets), TEXT), **dict.fromkeys(view.drafts, ANY)}
        )
        scope = scope.binding("arg", TEXT)
        known = replace(
            known, place=replace(known.place, scope=scope), drafts={name: i for i, name in enumerate(names)}
        )
        for name, text in view.let.items():
            kind = self.text(text, known)
            self.to.emit(op.STORE, known.next)
            known = known.binding(name, kind)
        kinds = {name: self.kind_of(text, known) for name, text in view.drafts.items()}
        scope = replace(known.scope, drafts={**known.scope.drafts, **kinds})
        return replace(known, place=replace(known.place, scope=scope))

    def kind_of(self, text: str, known: Known) -> Any:
        """The kind of an expression's value; no code stays."""
        before = self.to.here
        kind = self.text(text, known)
        del self.to.code[before:]
        return kind

    def _drafts(self, view: View, known: Known) -> None:
        values = {**view.drafts, **first_values(view.widgets)}
        for name, text in values.items():
            there = self.to.emit(op.IF_DRAFT, known.drafts[name])
            self.text(text or "''", known)
            self.to.emit(op.SET_DRAFT, known.drafts[name])
            self.to.patch(there, b=self.to.here)

    def _all(self, widgets: Sequence[d.Widget], known: Known, enter: Operations) -> None:
        for widget in widgets:
            getattr(self, f"_show_{type(widget).__name__.lower()}")(widget, known, enter)

    def _true(self, text: str, known: Known) -> None:
        self.text(text or "False", known)

    # -- widgets -------------------------------------------------------------------------------------------------

    def _show_bar(self, widget: d.Bar, known: Known, enter: Operations) -> None:
        self.words(widget.title, known)
        self.to.emit(op.BAR, int(widget.back), len(widget.actions))
        for i, action in enumerate(widget.actions):
            unit = self.tap(action.do, known, enter)
            self.words(action.icon, known)
            self.words(action.name, known)
            self.to.emit(op.ACTION, unit, i + 4 * len(widget.actions))

    def _show_tabs(self, widget: d.Tabs, known: Known, enter: Operations) -> None:
        for i, name in enumerate(widget.names):

            def turn(name: str = name) -> None:
                self.to.emit(op.REWIND)
                self.operations(Set(f"draft.{widget.draft}", repr(name)), known)

            unit = self.unit(turn, known)
            self.words(name, known)
            self.text(f"draft.{widget.draft} == {name!r}", known)
            self.to.emit(op.TAB, unit, i + 16 * len(widget.names))
        self.to.emit(op.TABS_END)

    def _show_section(self, widget: d.Section, known: Known, enter: Operations) -> None:
        self.words(widget.title, known)
        self.to.emit(op.SECTION)

    def _show_paragraph(self, widget: d.Paragraph, known: Known, enter: Operations) -> None:
        self.words(widget.text, known)
        self.to.emit(op.PARAGRAPH, LOOKS[widget.look])

    def _show_row(self, widget: d.Row, known: Known, enter: Operations) -> None:
        units = [self.tap(do, known, enter) if do != () else -1 for do in (widget.do, widget.hold)]
        units.append(self._drop(widget.drop, known, enter))
        for text in (widget.title, widget.detail, widget.icon):
            self.words(text, known)
        self._true(widget.disabled, known)
        self.text(widget.target or "None", known)
        self.to.rows.append((units[0], units[1], units[2]))
        self.to.emit(op.ROW, len(self.to.rows) - 1)

    def _drop(self, do: Operations, known: Known, enter: Operations) -> int:
        if do == ():
            return -1
        inner = known.binding("onto", ANY)
        return self.unit(lambda: self.operations(do, inner, enter), inner, known.next)

    def _show_switch(self, widget: d.Switch, known: Known, enter: Operations) -> None:
        unit = self.tap(Toggle(widget.field), known)
        self.words(widget.title, known)
        self.words(widget.detail, known)
        self.text(f"current({widget.field[1:-1]})" if widget.field.startswith("[") else widget.field, known)
        self._true(widget.disabled, known)
        self.to.emit(op.SWITCH, unit)

    def _show_radio(self, widget: d.Radio, known: Known, enter: Operations) -> None:
        unit = self.tap(widget.do, known, enter)
        self.words(widget.title, known)
        self.text(widget.chosen, known)
        self.to.emit(op.RADIO, unit)

    def _show_field(self, widget: d.Field, known: Known, enter: Operations) -> None:
        self.words(widget.label, known)
        self.to.emit(op.FIELD, known.drafts[widget.draft])

    def _show_button(self, widget: d.Button, known: Known, enter: Operations) -> None:
        unit = self.tap(widget.do, known, enter)
        self.words(widget.text, known)
        self._true(widget.disabled, known)
        self.to.emit(op.BUTTON, unit, LOOKS[widget.look])

    def _show_stepper(self, widget: d.Stepper, known: Known, enter: Operations) -> None:
        less, more = self.tap(widget.less, known, enter), self.tap(widget.more, known, enter)
        self.words(widget.label, known)
        self.words(widget.value, known)
        self.text(widget.lowest, known)
        self.text(widget.highest, known)
        self.to.emit(op.STEPPER, less, more)

    def _show_chips(self, widget: d.Chips, known: Known, enter: Operations) -> None:
        self.to.emit(op.CHIPS)
        kind = self.text(widget.of, known)
        inner, start, end = self.loop(widget.name, kind, known)
        unit = self.tap(widget.do, inner, enter)
        self.words(widget.text, inner)
        self.text(widget.chosen, inner)
        self.to.emit(op.CHIP, unit)
        self.to.emit(op.JUMP, start)
        self.to.patch(end, b=self.to.here)
        self.to.emit(op.CHIPS_END)

    def _show_image(self, widget: d.Image, known: Known, enter: Operations) -> None:
        self.words(widget.icon, known)
        self.text(widget.colour, known)
        self.to.emit(op.IMAGE, round(widget.height * 100))

    def _show_empty(self, widget: d.Empty, known: Known, enter: Operations) -> None:
        self.words(widget.text, known)
        self.words(widget.icon, known)
        self.to.emit(op.EMPTY)

    def _show_error(self, widget: d.Error, known: Known, enter: Operations) -> None:
        self.to.emit(op.SHOW_ERROR)

    def _show_foreach(self, widget: d.ForEach, known: Known, enter: Operations) -> None:
        items = f"sorted_by({widget.of}, {widget.order!r})" if widget.order else widget.of
        kind = self.text(items, known)
        inner, start, end = self.loop(widget.name, kind, known)
        if widget.where:
            self.text(widget.where, inner)
            self.to.emit(op.IF_NOT, start)
        self.to.emit(op.COLLECT, inner.next - 1)
        self._all(widget.widgets, inner, enter)
        self.to.emit(op.JUMP, start)
        self.to.patch(end, b=self.to.here)
        if widget.otherwise:
            self.to.emit(op.LOAD, inner.next - 1)
            some = self.to.emit(op.OR)
            self._all(widget.otherwise, known, enter)
            self.to.emit(op.CONST, 0)
            self.to.patch(some, a=self.to.here)
            self.to.emit(op.POP)

    def _show_when(self, widget: d.When, known: Known, enter: Operations) -> None:
        self.text(widget.condition, known)
        other = self.to.emit(op.IF_NOT)
        self._all(widget.then, known, enter)
        end = self.to.emit(op.JUMP)
        self.to.patch(other, a=self.to.here)
        self._all(widget.otherwise, known, enter)
        self.to.patch(end, a=self.to.here)


def typed(widgets: Sequence[d.Widget]) -> list[str]:
    """The drafts of all text fields, in order, each once."""
    return list(first_values(widgets))


def first_values(widgets: Sequence[d.Widget]) -> Mapping[str, str]:
    """What is first in each text field."""
    found: dict[str, str] = {}
    for widget in widgets:
        if isinstance(widget, d.Field):
            found[widget.draft] = widget.value
        elif isinstance(widget, d.ForEach):
            found |= {**first_values(widget.widgets), **first_values(widget.otherwise)}
        elif isinstance(widget, d.When):
            found |= {**first_values(widget.then), **first_values(widget.otherwise)}
    return found
