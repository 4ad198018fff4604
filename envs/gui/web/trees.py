"""Expressions and texts of declarations as trees: what an interpreter in another language runs without reading Python.

A tree is a list whose first entry says what it is::

    ["const", 3]  ["name", "one"]  ["draft", "search"]  ["field", tree, "name"]  ["at", tree, tree]
    ["and", tree, ...]  ["or", tree, ...]  ["not", tree]  ["neg", tree]  ["if", test, then, otherwise]
    ["+", a, b] and so on for - * == != < <= > >= in, and "not in"  ["tuple", tree, ...]
    ["for", name, items, condition or None, each]  ["call", function, tree, ...]  ["new", record, {field: tree}]
    ["text", part, ...], whose parts are strings and trees
"""

import ast
from collections.abc import Mapping
from typing import Any

from ..declare.expressions import DeclarationError, parse

OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
Tree = list[Any]


def expression(text: str) -> Tree:
    """The tree of an expression that has been checked when its app was compiled.

    >>> expression("count(cart) + 1")
    ['+', ['call', 'count', ['name', 'cart']], ['const', 1]]
    """
    return _tree(parse(text))


def words(text: str, texts: Mapping[str, str] | None = None) -> Tree:
    """The tree of a text with expressions in braces, translated.

    >>> words("{n} left")
    ['text', ['name', 'n'], ' left']
    """
    rest = (texts or {}).get(text, text)
    parts: Tree = ["text"]
    while rest:
        plain, brace, rest = rest.partition("{")
        if plain:
            parts.append(plain)
        if brace:
            inside, _, rest = rest.partition("}")
            parts.append(expression(inside))
    return parts


def _tree(node: ast.AST) -> Tree:
    match node:
        case ast.Constant():
            return ["const", node.value]
        case ast.Name():
            return ["name", node.id]
        case ast.Attribute(ast.Name("draft"), name):
            return ["draft", name]
        case ast.Attribute(value, name):
            return ["field", _tree(value), name]
        case ast.Tuple(parts) | ast.List(parts):
            return ["tuple", *map(_tree, parts)]
        case ast.Subscript(value, at):
            return ["at", _tree(value), _tree(at)]
    return _operation(node)


def _operation(node: ast.AST) -> Tree:
    match node:
        case ast.BoolOp(op, values):
            return ["and" if isinstance(op, ast.And) else "or", *map(_tree, values)]
        case ast.UnaryOp(op, operand):
            return ["not" if isinstance(op, ast.Not) else "neg", _tree(operand)]
        case ast.IfExp(test, body, orelse):
            return ["if", _tree(test), _tree(body), _tree(orelse)]
        case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]):
            return [OPERATORS[type(op)], _tree(left), _tree(right)]
    return _compound(node)


def _compound(node: ast.AST) -> Tree:
    match node:
        case ast.GeneratorExp(each, [loop]) | ast.ListComp(each, [loop]) if isinstance(loop.target, ast.Name):
            conditions = [_tree(condition) for condition in loop.ifs]
            where = ["and", *conditions] if conditions else None
            return ["for", loop.target.id, _tree(loop.iter), where, _tree(each)]
        case ast.Call(ast.Name(name), arguments, []) if arguments or name[:1].islower():
            return ["call", name, *map(_tree, arguments)]
        case ast.Call(ast.Name(name), [], keywords):
            return ["new", name, {str(one.arg): _tree(one.value) for one in keywords}]
    raise DeclarationError(f"{ast.unparse(node)!r} cannot be written as a tree")  # type: ignore[arg-type]
