"""Expressions of declarations to bytecode; what they mean is what :mod:`tiltyard.envs.gui.declare.expressions` does."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..declare.app import App
from ..declare.expressions import DeclarationError, Name, Scope, constant, of_tree, parse
from ..declare.functions import ANY, FUNCTIONS, RANDOM, TABLES, Kind
from ..declare.operations import Place
from ..declare.state import Schema, Table
from . import memory as w
from . import opcodes as op
from .program import Assembly

OPERATORS: dict[type, int] = {
    ast.Add: op.ADD, ast.Sub: op.SUB, ast.Mult: op.MUL, ast.Eq: op.EQ, ast.NotEq: op.NE, ast.Lt: op.LT, ast.LtE: op.LE,
    ast.Gt: op.GT, ast.GtE: op.GE, ast.In: op.IN, ast.NotIn: op.NOT_IN,
}  # fmt: skip
CALLS: dict[str, int] = {
    "first": op.FIRST, "last": op.LAST, "count": op.LENGTH, "sum": op.SUM, "min": op.LEAST, "max": op.MOST,
    "any": op.ANY, "all": op.ALL, "range": op.RANGE, "sorted": op.SORTED, "repeated": op.REPEATED,
    "toggled": op.TOGGLED, "lower": op.LOWER, "trim": op.TRIM, "clean": op.CLEAN, "digits": op.DIGITS,
    "split": op.SPLIT, "join": op.JOIN, "cut": op.CUT, "ending": op.ENDING, "text": op.TO_TEXT,
    "two_digits": op.TWO_DIGITS, "money": op.MONEY, "pick": op.PICK, "choose": op.CHOOSE, "shuffled": op.SHUFFLED,
    "coin": op.COIN, "coins": op.COINS, "integer": op.INTEGER, "integers": op.INTEGERS, "people": op.PEOPLE,
    "new_person": op.NEW_PERSON, "numbers": op.NUMBERS, "streets": op.STREETS, "password": op.PASSWORD,
    "prices": op.PRICES, "find": op.FIND, "moved": op.MOVED, "clock": op.CLOCK,
}  # fmt: skip


def _nowhere(env: Any) -> Any:
    """Where names of compiled code have their values: not in an environment."""
    raise LookupError("a name of compiled code is not looked up")


@dataclass(frozen=True, eq=False)
class Known:
    """What code at one place of a declaration can speak of, and where the machine finds it.

    Attributes:
        place: the declaration's own view of it: names, kinds, functions.
        locals: names that are bound -> the machine's local.
        drafts: names of drafts -> their number on the screen.
        own: in a derived field: the local that holds the record whose fields are known by their names.
        next: the first free local.
    """

    place: Place
    locals: Mapping[str, int] = field(default_factory=dict)
    drafts: Mapping[str, int] = field(default_factory=dict)
    own: int | None = None
    next: int = 0

    @property
    def scope(self) -> Scope:
        """Names and kinds."""
        return self.place.scope

    @property
    def schema(self) -> Schema:
        """The fields of the app at hand."""
        return self.place.schemas[self.scope.app]

    def binding(self, name: str, kind: Kind) -> "Known":
        """With one more name, in the next free local."""
        return replace(
            self, place=self.place.binding(name, kind), locals={**self.locals, name: self.next}, next=self.next + 1
        )

    def reserving(self, n: int) -> "Known":
        """With ``n`` locals more that are taken."""
        if self.next + n > w.MOST_LOCALS:
            raise self.place.error(f"more than {w.MOST_LOCALS} names are known here at once, which is the most")
        return replace(self, next=self.next + n)

    def kind(self, tree: ast.expr) -> Kind:
        """What kind of value an expression has."""
        return of_tree(tree, self.scope).kind


class Expressions:
    """Compiles expressions: each leaves one value on the machine's stack."""

    def __init__(self, assembly: Assembly, declared: Mapping[str, App]) -> None:
        self.to, self.declared = assembly, declared
        self.apps = {key: i for i, key in enumerate(declared)}

    def text(self, text: str, known: Known) -> Kind:
        """An expression as it is declared."""
        of_tree(parse(text), known.scope, text)  # for its errors
        return self.tree(parse(text), known)

    def tree(self, node: ast.expr, known: Known) -> Kind:
        """An expression's tree; its kind."""
        getattr(self, f"_{type(node).__name__.lower()}")(node, known)
        return known.kind(node)

    def words(self, text: str, known: Known) -> None:
        """A text with expressions in braces, in the language of the scope."""
        parts, rest = 0, known.scope.texts.get(text, text)
        while rest:
            plain, _, rest = rest.partition("{")
            if plain:
                self.to.emit(op.CONST, self.to.value(plain))
                parts += 1
            inside, _, rest = rest.partition("}")
            if inside:
                self.text(inside, known)
                parts += 1
        if parts == 1:
            self.to.emit(op.TO_TEXT)
        elif parts:
            self.to.emit(op.CONCAT, parts)
        else:
            self.to.emit(op.CONST, self.to.value(""))

    # -- parts of expressions ------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant, known: Known) -> None:
        self.to.emit(op.CONST, self.to.value(node.value))

    def _name(self, node: ast.Name, known: Known) -> None:
        name, scope = node.id, known.scope
        if name in known.locals:
            self.to.emit(op.LOAD, known.locals[name])
        elif known.own is not None:
            self.to.emit(op.LOAD, known.own)
            self.to.emit(op.ATTRIBUTE, self.to.name(name))
        elif name == "arg" and name in scope.bound:
            self.to.emit(op.ARG)
        elif name in known.schema.fields:
            self.to.emit(op.FIELD_OF, self.apps[known.schema.app], list(known.schema.fields).index(name))
        elif name in self.declared[scope.app].derived:
            self.to.emit(op.ROOT, self.apps[scope.app])
            self._derived(self.declared[scope.app].derived[name], known.schema.kind, known)
        elif name in self.declared[scope.app].constants:
            self.to.emit(op.CONST, self.to.value(constant(self.declared[scope.app].constants[name])[0]))
        elif name in self.apps:
            self.to.emit(op.ROOT, self.apps[name])
        elif name == "charge":
            self.to.emit(op.CHARGE)
        elif scope.random and name in TABLES:
            self.to.emit(op.CONST, self.to.value(tuple(TABLES[name])))
        else:
            raise known.place.error(f"{name!r} is nothing that can be compiled")

    def _attribute(self, node: ast.Attribute, known: Known) -> None:
        if isinstance(node.value, ast.Name) and node.value.id == "draft" and "draft" not in known.scope.names:
            self.to.emit(op.DRAFT, known.drafts[node.attr])
            return
        kind = self.tree(node.value, known)
        derived = self._derived_fields(kind, known)
        if node.attr in derived:
            self._derived(derived[node.attr], kind, known)
        else:
            self.to.emit(op.ATTRIBUTE, self.to.name(node.attr))

    def _derived_fields(self, kind: Kind, known: Known) -> Mapping[str, str]:
        own = kind.app or known.scope.app
        for key in (own, *self.declared):
            app = self.declared[key]
            if kind.name == app.record:
                return app.derived
            for one in app.state.values():
                if isinstance(one, Table) and one.record == kind.name:
                    return one.derived
        return {}

    def _derived(self, text: str, kind: Kind, known: Known) -> None:
        """A field that is computed from the record on the stack."""
        self.to.emit(op.STORE, known.next)
        names = {name: Name(one, _nowhere) for name, one in (kind.fields or {}).items()}
        scope = replace(known.scope, names=names, bound={}, functions={})
        inner = replace(known, place=replace(known.place, scope=scope), locals={}, own=known.next).reserving(1)
        self.text(text, inner)

    def _boolop(self, node: ast.BoolOp, known: Known) -> None:
        kind = op.AND if isinstance(node.op, ast.And) else op.OR
        self.tree(node.values[0], known)
        jumps = []
        for value in node.values[1:]:
            jumps.append(self.to.emit(kind))
            self.tree(value, known)
        for jump in jumps:
            self.to.patch(jump, a=self.to.here)

    def _unaryop(self, node: ast.UnaryOp, known: Known) -> None:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            self.to.emit(op.CONST, self.to.value(-int(node.operand.value)))  # type: ignore[arg-type]
            return
        self.tree(node.operand, known)
        self.to.emit(op.NOT if isinstance(node.op, ast.Not) else op.NEGATIVE)

    def _binop(self, node: ast.BinOp, known: Known) -> None:
        self.tree(node.left, known)
        self.tree(node.right, known)
        self.to.emit(OPERATORS[type(node.op)])

    def _compare(self, node: ast.Compare, known: Known) -> None:
        self.tree(node.left, known)
        self.tree(node.comparators[0], known)
        self.to.emit(OPERATORS[type(node.ops[0])])

    def _ifexp(self, node: ast.IfExp, known: Known) -> None:
        self.tree(node.test, known)
        other = self.to.emit(op.IF_NOT)
        self.tree(node.body, known)
        end = self.to.emit(op.JUMP)
        self.to.patch(other, a=self.to.here)
        self.tree(node.orelse, known)
        self.to.patch(end, a=self.to.here)

    def _tuple(self, node: ast.Tuple | ast.List, known: Known) -> None:
        for one in node.elts:
            self.tree(one, known)
        self.to.emit(op.TAKE_LIST, len(node.elts))

    _list = _tuple

    def _subscript(self, node: ast.Subscript, known: Known) -> None:
        self.tree(node.value, known)
        self.tree(node.slice, known)
        self.to.emit(op.INDEX)

    def _generatorexp(self, node: ast.GeneratorExp | ast.ListComp, known: Known) -> None:
        loop = node.generators[0]
        kind = self.tree(loop.iter, known)
        inner, start, end = self.loop(str(getattr(loop.target, "id", "")), kind, known)
        for condition in loop.ifs:
            self.tree(condition, inner)
            self.to.emit(op.IF_NOT, start)
        self.tree(node.elt, inner)
        self.to.emit(op.COLLECT, inner.next - 1)
        self.to.emit(op.JUMP, start)
        self.to.patch(end, b=self.to.here)
        self.to.emit(op.GATHER, inner.next - 1)

    _listcomp = _generatorexp

    def loop(self, name: str, kind: Kind, known: Known) -> tuple[Known, int, int]:
        """A loop over the list on the stack: what is known in it, its start, and the instruction to patch with its end.

        Of the four locals that it takes the third holds the item, and the last counts what is collected.
        """
        base = known.next
        inner = known.reserving(2).binding(name, kind.item or ANY).reserving(1)
        self.to.emit(op.STORE, base)
        for local in (base + 1, base + 3):
            self.to.emit(op.CONST, self.to.value(0))
            self.to.emit(op.STORE, local)
        return inner, self.to.here, self.to.emit(op.FOR, base)

    # -- calls ---------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, known: Known) -> None:
        name = node.func.id  # type: ignore[attr-defined]
        scope = known.scope
        if name in scope.records:
            self._record(node, name, known)
        elif name in scope.functions:
            self._own_function(node, name, known)
        elif name == "current":
            self.to.emit(op.ROOT, self.apps[scope.app])
            self.tree(node.args[0], known)
            self.to.emit(op.FIELD_NAMED)
        elif name == "sorted_by":
            self._sorted_by(node, known)
        elif name in CALLS:
            for argument in node.args:
                self.tree(argument, known)
            self.to.emit(CALLS[name], len(node.args))
        else:
            have = name in FUNCTIONS or name in RANDOM
            raise DeclarationError(f"{scope.where}: {name} is {'not compiled' if have else 'unknown'}")

    def _sorted_by(self, node: ast.Call, known: Known) -> None:
        name = str(ast.literal_eval(node.args[1]))
        kind = self.tree(node.args[0], known)
        item = kind.item
        if item is not None and name not in self._derived_fields(item, known) and item.fields is not None:
            self.to.emit(op.SORTED_BY, list(item.fields).index(name))
            return
        local = known.next
        self.to.emit(op.STORE, local)
        self.to.emit(op.LOAD, local)
        inner = known.reserving(1).binding("rows of sorted_by", kind)
        self.to.emit(op.LOAD, local)
        each, start, end = self.loop("one of sorted_by", kind, inner)
        self.to.emit(op.LOAD, each.next - 2)
        self._derived(self._derived_fields(item, known)[name], item, each)  # type: ignore[arg-type]
        self.to.emit(op.COLLECT, each.next - 1)
        self.to.emit(op.JUMP, start)
        self.to.patch(end, b=self.to.here)
        self.to.emit(op.GATHER, each.next - 1)
        self.to.emit(op.SORTED_BY_KEYS)

    def _record(self, node: ast.Call, name: str, known: Known) -> None:
        made, kind = known.scope.records[name]
        given = {str(one.arg): one.value for one in node.keywords}
        fields = made.__dataclass_fields__  # type: ignore[attr-defined]
        in_order = list(given) == [one for one in fields if one in given]
        if not in_order:  # what is given is drawn in the order in which it is given
            for i, value in enumerate(given.values()):
                self.tree(value, known.reserving(i))
                self.to.emit(op.STORE, known.next + i)
        for one, declared in fields.items():
            if one not in given:
                self.to.emit(op.CONST, self.to.value(declared.default))
            elif in_order:
                self.tree(given[one], known)
            else:
                self.to.emit(op.LOAD, known.next + list(given).index(one))
        self.to.emit(op.TAKE_RECORD, self.to.type(f"{kind.app}.{name}", fields), len(fields))

    def _own_function(self, node: ast.Call, name: str, known: Known) -> None:
        parameters, text = known.scope.functions[name]
        inner = known
        for parameter, argument in zip(parameters, node.args, strict=True):
            kind = self.tree(argument, replace(known, next=inner.next))
            self.to.emit(op.STORE, inner.next)
            inner = inner.binding(parameter, kind)
        self.text(text, inner)
