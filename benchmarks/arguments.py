"""What is wrong with a command line, in one sentence; what is right with it is :mod:`tyro`'s to read."""

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, fields
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import tyro

from .. import unknown
from .options import Whole, parse_whole

_POSITIONAL = get_args(tyro.conf.Positional[str])[1]
_NUMBERS = {int: "a whole number", float: "a number"}


def flags(command: type[Any]) -> dict[str, Field[Any]]:
    """The fields of a command by their words: ``{"eval-points": ...}``."""
    named = {field.name.replace("_", "-"): field for field in fields(command)}
    return {"set" if flag == "settings" else flag: field for flag, field in named.items()}


def spread_sets(arguments: Sequence[str]) -> list[str]:
    """``--set a=1 b=2`` as ``--set a=1 --set b=2``; both are understood."""
    spread: list[str] = []
    for word in arguments:
        follows = len(spread) > 1 and spread[-2] == "--set" and not word.startswith("-")
        spread += ["--set", word] if follows else [word]
    return spread


def check(arguments: Sequence[str], command: type[Any], where: str) -> None:
    """Refuses what ``command`` cannot be made of.

    Args:
        arguments: words after the command's name.
        command: a dataclass, whose fields are its options.
        where: what was typed to get there, such as ``tiltyard train``.

    Raises:
        ValueError: an option that there is not, or without its value; a value that is no number where one is wanted,
            or none of the words that are; a word too many, or one that is missing.
    """
    if {"--help", "-h"} & set(arguments):
        return
    hints, known = get_type_hints(command, include_extras=True), flags(command)
    places = [flag for flag, field in known.items() if _POSITIONAL in get_args(hints[field.name])]
    given: set[str] = set()
    for flag, value in _pairs(arguments, known, hints, where):
        if flag is None:
            left = [place for place in places if place not in given or _takes_many(hints[known[place].name])]
            if not left:
                raise ValueError(f"{where} has no use for {value!r}; see {where} --help")
            flag = left[0]
        given.add(flag)
        _check_value(flag, value, hints[known[flag].name])
    needed = [flag for flag, field in known.items() if field.default is field.default_factory is MISSING]
    if missing := [flag.upper() if flag in places else f"--{flag}" for flag in needed if flag not in given]:
        raise ValueError(f"Missing from {where}: {', '.join(missing)}; see {where} --help")


def _takes_many(hint: Any) -> bool:
    """Whether an argument may stand several times."""
    return get_origin(get_args(hint)[0]) is tuple


def check_names(arguments: Sequence[str], known: Sequence[str], where: str) -> None:
    """Refuses options that there are not, naming the nearest (``ValueError``)."""
    valid = ["--help", "-h", *(f"--{flag}" for flag in known)]
    for word in arguments:
        if word.startswith("--") and word.partition("=")[0].replace("_", "-") not in valid:
            raise ValueError(unknown(f"option of {where.removeprefix('tiltyard ')}", word.partition("=")[0], valid))


def _pairs(
    arguments: Sequence[str], known: dict[str, Field[Any]], hints: dict[str, Any], where: str
) -> Iterator[tuple[str | None, str]]:
    """Options with their values (a switch has none), and the words between them."""
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        flag = name[2:].replace("_", "-")
        if not word.startswith("--"):
            yield None, word
        elif equals or hints[known[flag].name] is bool:
            yield flag, value
        else:
            following = next(words, "--")
            if following.startswith("--"):
                raise ValueError(f"{word} of {where.removeprefix('tiltyard ')} needs a value; see {where} --help")
            yield flag, following


def _check_value(flag: str, value: str, hint: Any) -> None:
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if Whole in kinds:
        try:
            parse_whole(value)
        except ValueError as error:
            raise ValueError(f"--{flag}: {error}") from error
    if get_origin(hint) is Literal and value not in get_args(hint):
        raise ValueError(f"--{flag} is one of {', '.join(map(str, get_args(hint)))}, got {value!r}")
    for kind, said in _NUMBERS.items():
        if kind in kinds and not _is(kind, value):
            raise ValueError(f"--{flag} is {said}, got {value!r}")


def _is(kind: type[int] | type[float], value: str) -> bool:
    try:
        kind(value)
    except ValueError:
        return False
    return True
