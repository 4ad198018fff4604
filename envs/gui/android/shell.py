"""The fake device's shell: words, quotes, ``;``, ``&&``, ``||``, pipes, redirections and ``$?``, no more of sh."""

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from .errors import CommandFailed
from .files import Files
from .host import Host

LONGEST = 1 << 20  # characters of one line
TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+)|(?P<op>&&|\|\||;|\n|\||\(|\)|&(?!\d))|(?P<to>\d?>>?(?:&\d)?|&>|<)"""
    r"""|(?P<word>(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s;&|<>()'"\\])+)""",
    re.DOTALL,
)
PART = re.compile(r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|(\$\?|\$\w+|\$\{\w+\})|([^'"\\$]+|\$)""", re.DOTALL)
QUOTED = re.compile(r"""\\([$`"\\\n])|(\$\?|\$\w+|\$\{\w+\})""")


@dataclass
class Process:
    """One program that runs: its words, what it reads, what it wrote."""

    host: Host
    files: Files
    words: list[str]
    stdin: bytes = b""
    out: list[bytes] = field(default_factory=list)
    err: list[bytes] = field(default_factory=list)
    services: dict[int, object] = field(default_factory=dict)

    def write(self, data: bytes) -> None:
        """Writes bytes."""
        self.out.append(data)

    def say(self, text: str) -> None:
        """Writes a line; nothing at all for an empty text."""
        if text:
            self.write((text + "\n").encode())

    def fail(self, text: str, code: int = 1) -> int:
        """Writes a line to the other stream; returns the exit code."""
        self.err.append((text + "\n").encode())
        return code


Program = Callable[[Process], int | Awaitable[int]]


@dataclass(frozen=True)
class Token:
    """A word (with its quotes), an operator, or a redirection."""

    kind: str
    text: str


class Shell:
    """Runs lines; it keeps nothing but files and the last exit code between them."""

    def __init__(self, host: Host, files: Files, programs: Mapping[str, Program]) -> None:
        self.host, self.files, self.programs = host, files, programs
        self.services: dict[int, object] = {}

    async def run(self, line: str, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
        """Exit code, output and errors of a line."""
        out: list[bytes] = []  # screens are large: nothing is copied until it is sent
        err: list[bytes] = []
        try:
            tokens = tokenise(line)
        except CommandFailed as error:
            return 1, b"", f"/system/bin/sh: {error}\n".encode()
        code, skip = 0, False
        for joint, pipeline in _lists(tokens):
            skip = (joint == "&&" and code != 0) or (joint == "||" and code == 0)
            if not skip and pipeline:
                code = await self._pipeline(pipeline, stdin, out, err, code)
        return code, b"".join(out), b"".join(err)

    async def _pipeline(self, tokens: list[Token], stdin: bytes, out: list[bytes], err: list[bytes], last: int) -> int:
        commands: list[list[Token]] = [[]]
        for token in tokens:
            if token.text == "|" and token.kind == "op":
                commands.append([])
            else:
                commands[-1].append(token)
        code = last
        for i, command in enumerate(commands):
            code, written, wrong = await self._command(command, stdin, last)
            err.append(wrong)
            stdin = written
            if i == len(commands) - 1:
                out.append(written)
        return code

    async def _command(self, tokens: list[Token], stdin: bytes, last: int) -> tuple[int, bytes, bytes]:
        words: list[str] = []
        to: list[tuple[str, str]] = []
        waiting = ""
        for token in tokens:
            if token.kind == "to" and "&" in token.text[1:]:
                to.append((token.text, ""))
            elif token.kind == "to":
                waiting = token.text
            elif waiting:
                to.append((waiting, _expand(token.text, last)))
                waiting = ""
            elif not words and re.fullmatch(r"\w+=.*", token.text, re.DOTALL):
                continue  # a variable for the program
            else:
                words.append(_expand(token.text, last))
        for how, path in to:
            if how == "<":
                stdin = self.files.read(path) or b""
        if not words:
            return 0, b"", b""
        process = Process(self.host, self.files, words, stdin, services=self.services)
        code = await self._start(process)
        return code, *self._redirected(process, to)

    async def _start(self, process: Process) -> int:
        name = process.words[0].removeprefix("/system/bin/")
        if name in ("toybox", "exec", "su", "nohup") and len(process.words) > 1:
            process.words = process.words[2 if name == "su" and process.words[1] in ("0", "-c", "root") else 1 :]
            name = process.words[0]
        program = self.programs.get(name)
        if program is None:
            return process.fail(f"/system/bin/sh: {name}: inaccessible or not found", 127)
        try:
            code = program(process)
            return await code if inspect.isawaitable(code) else code
        except CommandFailed as error:
            return process.fail(f"Error: {error}")
        except OSError as error:
            return process.fail(f"{name}: {error}")

    def _redirected(self, process: Process, to: list[tuple[str, str]]) -> tuple[bytes, bytes]:
        out, err = b"".join(process.out), b"".join(process.err)
        for how, path in to:
            if how == "2>&1":
                out, err = out + err, b""
            elif how in ("1>&2", ">&2"):
                out, err = b"", err + out
            elif how.startswith("2>"):
                err = self._written(path, err, how.endswith(">>"))
            elif how == "&>":
                out, err = self._written(path, out + err, False), b""
            elif how != "<":
                out = self._written(path, out, how.endswith(">>"))
        return out, err

    def _written(self, path: str, data: bytes, more: bool) -> bytes:
        """Puts what was written where it is sent; what is left for the stream itself."""
        if path == "/dev/tty":
            return data
        if path != "/dev/null":
            self.files.write(path, (self.files.read(path) or b"" if more else b"") + data)
        return b""


def tokenise(line: str) -> list[Token]:
    """Words, operators and redirections of a line.

    Raises:
        CommandFailed: a quote is not closed, or the line is longer than a mebibyte.
    """
    if len(line) > LONGEST:
        raise CommandFailed(f"a line of {len(line)} characters is too long")
    tokens, at = [], 0
    while at < len(line):
        found = TOKEN.match(line, at)
        if found is None:
            raise CommandFailed(f"syntax error: cannot read {line[at : at + 20]!r}")
        if found.lastgroup != "space":
            assert found.lastgroup is not None
            tokens.append(Token(found.lastgroup, found.group()))
        at = found.end()
    return tokens


def _lists(tokens: list[Token]) -> list[tuple[str, list[Token]]]:
    """Pipelines with what joins each to the one before; round brackets change nothing."""
    found: list[tuple[str, list[Token]]] = [("", [])]
    for token in tokens:
        if token.kind == "op" and token.text in ("(", ")"):
            continue
        if token.kind == "op" and token.text != "|":
            found.append((token.text, []))
        else:
            found[-1][1].append(token)
    return found


def _expand(word: str, last: int) -> str:
    """A word without its quotes; ``$?`` is the last exit code, any other variable is empty."""

    def value(name: str) -> str:
        return str(last) if name == "$?" else ""

    def part(found: re.Match[str]) -> str:
        single, double, escaped, variable, plain = found.groups()
        if double is not None:
            return QUOTED.sub(lambda one: value(one[2]) if one[2] else one[1], double)
        return single or escaped or (value(variable) if variable else plain or "")

    return PART.sub(part, word)


async def slept(process: Process) -> int:
    """``sleep SECONDS``: a step without any touch. Time here runs a hundred times as fast."""
    process.host.wait()
    try:
        seconds = float(process.words[1])
    except (IndexError, ValueError):
        return process.fail("usage: sleep SECONDS")
    await asyncio.sleep(min(max(seconds, 0.0), 60.0) / 100)
    return 0
