"""Operations of declarations to bytecode; what they mean is what :mod:`tiltyard.envs.gui.declare.operations` does."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..declare import operations as d
from ..declare.app import App
from ..declare.operations import Operations, own_field, several
from ..declare.state import Table
from . import opcodes as op
from . import pool as p
from .expressions import Expressions, Known
from .program import Assembly

NO_DROP = -1


class Compiled(Expressions):
    """Compiles operations, and numbers what taps run."""

    def __init__(self, assembly: Assembly, declared: Mapping[str, App]) -> None:
        super().__init__(assembly, declared)
        self._waiting: list[tuple[int, Callable[[], None], Known, int]] = []
        self._joined = 0
        self._number()

    def operations(self, operations: Operations, known: Known, submit: Operations = ()) -> None:
        """One after the other; ``submit`` is what ``Submit`` does. Code that must not go on ends the whole unit."""
        for one in several(operations):
            getattr(self, f"_do_{type(one).__name__.lower()}")(one, known, submit)

    def unit(self, make: Callable[[], None], known: Known, onto: int = NO_DROP) -> int:
        """What a tap runs; its number. Its code is made by a function, and stands after that of the screen."""
        self.to.units.append((0, onto, ()))
        self._waiting.append((len(self.to.units) - 1, make, known, onto))
        return len(self.to.units) - 1

    def make_units(self) -> None:
        """Compiles the units that wait."""
        for number, make, known, onto in self._waiting:
            start = self.to.here
            make()
            self.to.emit(op.HALT, 1)
            captured = tuple(sorted(self._read(start, self.to.here, known.next) - {onto}))
            if len(captured) > p.MOST_CAPTURED:
                raise known.place.error(f"a tap may need {p.MOST_CAPTURED} names of its surroundings, not more")
            self.to.units[number] = (start, onto, captured)
        self._waiting.clear()
        self._join_rows()

    def _join_rows(self) -> None:
        """The units of a row keep their names in the same places."""
        for row in self.to.rows[self._joined :]:
            units = [unit for unit in row if unit >= 0]
            drops = {self.to.units[unit][1] for unit in units}
            needed = tuple(sorted({one for unit in units for one in self.to.units[unit][2]} - drops))
            for unit in units:
                self.to.units[unit] = (*self.to.units[unit][:2], needed)
        self._joined = len(self.to.rows)

    def _read(self, start: int, stop: int, below: int) -> set[int]:
        """The locals from outside that code reads, and that dialogs that it opens do."""
        found = set()
        for kind, a, b in self.to.code[start:stop]:
            if kind == op.LOAD and a < below:
                found.add(a)
            elif kind == op.SET_ROW and a & 63 < below:
                found.add(a & 63)
            elif kind == op.ASK:
                found |= {one for unit in self.to.units[b : b + a] for one in unit[2] if one < below}
        return found

    def tap(self, operations: Operations, known: Known, submit: Operations = ()) -> int:
        """The unit of a tap."""
        return self.unit(lambda: self.operations(operations, known, submit), known)

    # -- each operation ------------------------------------------------------------------------------------------

    def _do_push(self, one: d.Push, known: Known, submit: Operations) -> None:
        app = one.app or known.scope.app
        self.text(one.arg or "None", known)
        self.to.emit(op.PUSH, self.apps[app], self.views[app, one.screen])

    def _do_pop(self, one: d.Pop, known: Known, submit: Operations) -> None:
        if one.arg:
            self.text(one.arg, known)
        self.to.emit(op.POP_SCREENS, one.n)
        if one.arg:
            self.to.emit(op.POP_TO)

    def _do_set(self, one: d.Set, known: Known, submit: Operations) -> None:
        if one.target.startswith("["):
            self.text(one.target[1:-1], known)
        self.text(one.value, known)
        self._write(one.target, known)

    def _do_toggle(self, one: d.Toggle, known: Known, submit: Operations) -> None:
        if one.target.startswith("["):
            which = one.target[1:-1]
            self.text(which, known)
            self.text(f"current({which})", known)
        else:
            self.text(one.target, known)
        self.to.emit(op.NOT)
        self._write(one.target, known)

    def _write(self, target: str, known: Known) -> None:
        """Gives a target the value on the stack (over the name of the field, where it is computed)."""
        base, _, name = target.partition(".")
        if base == "draft":
            self.to.emit(op.SET_DRAFT, known.drafts[name])
        elif target.startswith("["):
            self.to.emit(op.SET_NAMED, self.apps[known.scope.app])
        elif not name:
            app = own_field(base, known.place)
            self.to.emit(op.SET, self.apps[app], list(known.schema.fields).index(base))
        else:
            kind = known.scope.names[base].kind
            table = self.table(kind.app, kind.table)
            self.to.emit(op.SET_ROW, known.locals[base] + 64 * table, self.to.name(name))

    def table(self, app: str, name: str) -> int:
        """The number of a table."""
        return self.tables[app, name]

    def _do_insert(self, one: d.Insert, known: Known, submit: Operations) -> None:
        self.text(one.row, known)
        self.to.emit(op.INSERT, self.table(known.scope.app, one.table), int(one.start))

    def _do_delete(self, one: d.Delete, known: Known, submit: Operations) -> None:
        name = known.scope.names.get(one.target)
        if not one.value and name is not None and name.kind.table:
            self.to.emit(op.LOAD, known.locals[one.target])
            self.to.emit(op.DELETE_ROW, self.table(name.kind.app, name.kind.table))
        elif one.value:
            self.text(one.value, known)
            self.to.emit(op.DELETE_ROW, self.table(known.scope.app, one.target))
        else:
            self.to.emit(op.CLEAR, self.apps[known.scope.app], list(known.schema.fields).index(one.target))

    def _do_require(self, one: d.Require, known: Known, submit: Operations) -> None:
        self.text(one.condition, known)
        fine = self.to.emit(op.OR)
        self.words(one.message, known)
        self.to.emit(op.ERROR)
        self.to.emit(op.HALT, 0)
        self.to.patch(fine, a=self.to.here)
        self.to.emit(op.POP)

    def _do_ask(self, one: d.Ask, known: Known, submit: Operations) -> None:
        # Their units are numbered one after the other, so those that they ask for in turn must come before them.
        aside = self.to.emit(op.JUMP)
        made = []
        for _, do in one.buttons:
            start = self.to.here
            self.operations(do, known, submit)
            self.to.emit(op.HALT, 1)
            made.append((start, NO_DROP, tuple(sorted(self._read(start, self.to.here, known.next)))))
        self.to.patch(aside, a=self.to.here)
        first = len(self.to.units)
        self.to.units.extend(made)
        self.words(one.title, known)
        self.words(one.body, known)
        for text, _ in one.buttons:
            self.words(text, known)
        self.to.emit(op.ASK, len(one.buttons), first)

    def _do_submit(self, one: d.Submit, known: Known, submit: Operations) -> None:
        self.operations(submit, known)

    def _do_if(self, one: d.If, known: Known, submit: Operations) -> None:
        self.text(one.condition, known)
        other = self.to.emit(op.IF_NOT)
        self.operations(one.then, known, submit)
        end = self.to.emit(op.JUMP)
        self.to.patch(other, a=self.to.here)
        self.operations(one.otherwise, known, submit)
        self.to.patch(end, a=self.to.here)

    def _do_each(self, one: d.Each, known: Known, submit: Operations) -> None:
        kind = self.text(one.of, known)
        inner, start, end = self.loop(one.name, kind, known)
        self.operations(one.do, inner, submit)
        self.to.emit(op.JUMP, start)
        self.to.patch(end, b=self.to.here)

    def _do_sendto(self, one: d.SendTo, known: Known, submit: Operations) -> None:
        outside = known.place.outside
        assert outside is not None
        place = replace(known.place, scope=outside(one.app, known.scope))
        self.operations(one.do, replace(known, place=place), submit)

    # -- numbers of views and tables -----------------------------------------------------------------------------

    def _number(self) -> None:
        """Numbers the views and tables of all apps."""
        views = ((key, name) for key, app in self.declared.items() for name in app.screens)
        self.views = {where: i for i, where in enumerate(views)}
        self.tables: dict[tuple[str, str], int] = {}
        words = []
        for key, app in self.declared.items():
            self.to.type(f"{key}.{app.record}", app.state)
            for k, (name, one) in enumerate(app.state.items()):
                by = -1
                if isinstance(one, Table):
                    self.to.type(f"{key}.{one.record}", one.fields)
                    by = list(one.fields).index(one.sort) if one.sort else -1
                self.tables[key, name] = len(self.tables)
                words += [self.apps[key], k, by]
        self.to.pool[p.TABLES] = self.to.table(words)
