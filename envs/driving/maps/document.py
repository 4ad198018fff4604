"""Map files as trees of elements that know their lines: XML read by the standard library, with limits.

Entities are refused, so that no small file grows large, and nothing outside the file is ever read.
"""

import gc
import gzip
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

DEEPEST = 64
"""Levels of elements; maps have about 8."""
LARGEST = 1 << 28
"""Bytes of a file, unpacked."""


class MapError(ValueError):
    """A map that cannot be read: one sentence that names the file, the line, what was found and what was expected."""


class Element:
    """An XML element.

    Attributes:
        tag: its name.
        attributes: by name.
        children: elements within, in turn.
        line: where it begins, from 1.
        file: it stands in.
    """

    __slots__ = ("attributes", "children", "file", "line", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], line: int, file: str) -> None:
        self.tag, self.attributes, self.line, self.file = tag, attributes, line, file
        self.children: list[Element] = []

    def fail(self, reason: str) -> NoReturn:
        """Raises :class:`MapError` with this element's place."""
        raise MapError(f"{self.file}, line {self.line}: {reason}")

    def all(self, *path: str) -> Iterator["Element"]:
        """The elements at a path of tags below, such as ``("lanes", "laneSection")``."""
        for child in self.children:
            if child.tag == path[0]:
                if len(path) == 1:
                    yield child
                else:
                    yield from child.all(*path[1:])

    def first(self, *path: str) -> "Element | None":
        """The first element at a path of tags."""
        return next(self.all(*path), None)

    def one(self, *path: str) -> "Element":
        """The first element at a path of tags, which must be there."""
        return self.first(*path) or self.fail(f"<{self.tag}> has no <{'/'.join(path)}>")

    def get(self, name: str, default: str = "") -> str:
        """An attribute, or what stands for it."""
        return self.attributes.get(name, default)

    def text(self, name: str) -> str:
        """An attribute that must be there."""
        if name not in self.attributes:
            self.fail(f"<{self.tag}> has no attribute {name!r}")
        return self.attributes[name]

    def number(self, name: str, default: float | None = None) -> float:
        """A finite number in an attribute, which must be there unless there is a default."""
        if default is not None and name not in self.attributes:
            return default
        return self.parse(self.text(name), f"{name} of <{self.tag}>")

    def parse(self, text: str, what: str) -> float:
        """The finite number that ``text`` writes."""
        try:
            value = float(text)
        except ValueError:
            self.fail(f"{what} is {text[:40]!r}, which is no number")
        if not math.isfinite(value):
            self.fail(f"{what} is {text[:40]!r}, which is not finite")
        return value


def read(path: Path, root: str | None = None) -> Element:
    """The root of a file, which may be packed by gzip.

    Args:
        path: of the file.
        root: tag that it must have, such as ``osm``.

    Raises:
        MapError: it is no XML, has another root, declares entities, or exceeds 64 levels or 256 MiB.
        OSError: it cannot be opened.
    """
    top = _parsed(_content(path), path.name)
    if root is not None and top.tag != root:
        top.fail(f"the root is <{top.tag[:40]}>, not <{root}>")
    return top


def root_of(path: Path) -> str:
    """The tag of a file's root; ``""`` if there is none among the first 64 KiB."""
    tags: list[str] = []
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = lambda *_: None
    parser.StartElementHandler = lambda tag, _: tags.append(tag)
    try:
        parser.Parse(_content(path, head=1 << 16), False)
    except expat.ExpatError:
        pass  # what comes before the damage counts; reading the file tells the damage
    return tags[0] if tags else ""


def _content(path: Path, head: int | None = None) -> bytes:
    """The bytes of a file, unpacked; at most ``head``."""
    opened = gzip.open(path) if path.suffix == ".gz" else path.open("rb")
    try:
        with opened as file:
            content = file.read(LARGEST + 1 if head is None else head)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise MapError(f"{path.name}, line 1: it cannot be unpacked by gzip ({error})") from None
    if len(content) > LARGEST:
        raise MapError(f"{path.name}, line 1: it has more than {LARGEST >> 20} MiB")
    return content


def _parsed(content: bytes, file: str) -> Element:
    parser = expat.ParserCreate()
    stack = [Element("", {}, 0, file)]

    def begin(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber, file)
        if len(stack) > DEEPEST:
            element.fail(f"elements are nested more than {DEEPEST} levels deep")
        stack[-1].children.append(element)
        stack.append(element)

    def refuse(name: str, *_: object) -> None:
        raise MapError(f"{file}, line {parser.CurrentLineNumber}: it declares the entity {name[:40]!r}; maps need none")

    parser.StartElementHandler = begin
    parser.EndElementHandler = lambda _: stack.pop()
    parser.EntityDeclHandler = refuse
    collecting = gc.isenabled()
    gc.disable()  # a tree has no circles, and looking for them takes as long as the parsing
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise MapError(f"{file}, line {error.lineno}: {expat.ErrorString(error.code)}; it is no whole XML") from None
    except (ValueError, LookupError) as error:  # an encoding that does not exist, or is not allowed
        if isinstance(error, MapError):
            raise
        raise MapError(f"{file}, line 1: it cannot be decoded ({error})") from None
    finally:
        if collecting:
            gc.enable()
    return stack[0].children[0]
