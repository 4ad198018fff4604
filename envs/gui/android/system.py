"""The fake device's small programs: files are shown and removed, lines found and counted, and the like."""

import hashlib
import re
from collections.abc import Mapping

from .shell import Process, Program, slept


def _echo(process: Process) -> int:
    bare = process.words[1:2] == ["-n"]
    process.write((" ".join(process.words[2 if bare else 1 :]) + ("" if bare else "\n")).encode())
    return 0


def _nothing(process: Process) -> int:
    return 0


def _false(process: Process) -> int:
    return 1


def _exit(process: Process) -> int:
    code = process.words[1] if len(process.words) > 1 else "0"
    return int(code) & 255 if code.isdigit() else 2


def _wc(process: Process) -> int:
    data = process.stdin
    counts = {"-l": data.count(b"\n"), "-c": len(data), "-w": len(data.split())}
    asked = [str(counts[word]) for word in process.words[1:] if word in counts]
    process.say(" ".join(asked or [str(counts[one]) for one in ("-l", "-w", "-c")]))
    return 0


def _head(process: Process) -> int:
    lines = process.stdin.split(b"\n")
    n = next((int(word.lstrip("-n")) for word in process.words[1:] if word.lstrip("-n").isdigit()), 10)
    ended = lines[-1] == b""
    kept = lines[:-1] if ended else lines
    kept = kept[:n] if process.words[0] == "head" else kept[-n:]
    process.write(b"".join(line + b"\n" for line in kept))
    return 0


def _id(process: Process) -> int:
    process.say("shell" if process.words[0] == "whoami" else "uid=2000(shell) gid=2000(shell) groups=2000(shell)")
    return 0


def _date(process: Process) -> int:
    with process.host.lock:
        process.say(f"{process.host.phone.clock}:00")
    return 0


def _ime(process: Process) -> int:
    process.say("com.github.uiautomator/.AdbKeyboard" if process.words[1:2] == ["list"] else "")
    return 0


def _ps(process: Process) -> int:
    process.say("USER PID PPID VSZ RSS WCHAN ADDR S NAME")
    for i, package in enumerate(process.host.packages()):
        process.say(f"u0_a{i} {1000 + i} 1 0 0 0 0 S {package}")
    return 0


def _uname(process: Process) -> int:
    process.say("Linux")
    return 0


def _df(process: Process) -> int:
    process.say("Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/fake 65536 0 65536 0% /data")
    return 0


def _cat(process: Process) -> int:
    code = 0
    for path in process.words[1:]:
        data = process.files.read(path)
        if data is None:
            code = process.fail(f"cat: {path}: No such file or directory")
        process.write(data or b"")
    if len(process.words) == 1:
        process.write(process.stdin)
    return code


def _ls(process: Process) -> int:
    code, long = 0, any(word.startswith("-") and "l" in word for word in process.words[1:])
    for path in [word for word in process.words[1:] if not word.startswith("-")] or ["/"]:
        found = process.files.stat(path)
        if found is None:
            code = process.fail(f"ls: {path}: No such file or directory")
        elif found.mode & 0o040000:
            for name, one in process.files.listing(path):
                process.say(f"{one.mode:o} {one.size} {name}" if long else name)
        else:
            process.say(f"{found.mode:o} {found.size} {path}" if long else path)
    return code


def _rm(process: Process) -> int:
    code, recursive = 0, any(word.startswith("-") and "r" in word for word in process.words[1:])
    for path in [word for word in process.words[1:] if not word.startswith("-")]:
        if not process.files.remove(path, recursive=recursive) and "-f" not in process.words:
            code = process.fail(f"rm: {path}: No such file or directory")
    return code


def _mkdir(process: Process) -> int:
    for path in [word for word in process.words[1:] if not word.startswith("-")]:
        process.files.make_folder(path)
    return 0


def _test(process: Process) -> int:
    words = [word for word in process.words[1:] if word != "]"]
    if len(words) == 2 and words[0] in ("-e", "-f", "-d", "-r"):
        return int(process.files.stat(words[1]) is None)
    return int(not (words and words[0]))


def _md5sum(process: Process) -> int:
    data = process.files.read(process.words[-1])
    if data is None:
        return process.fail(f"md5sum: {process.words[-1]}: No such file or directory")
    process.say(f"{hashlib.md5(data).hexdigest()}  {process.words[-1]}")
    return 0


def _grep(process: Process) -> int:
    words = [word for word in process.words[1:] if not word.startswith("-")]
    flags = re.IGNORECASE if any("i" in word for word in process.words[1:] if word.startswith("-")) else 0
    if not words:
        return process.fail("usage: grep [-i] PATTERN [FILE]", 2)
    data = process.stdin if len(words) == 1 else process.files.read(words[1]) or b""
    try:
        lines = [line for line in data.decode(errors="replace").split("\n") if re.search(words[0], line, flags)]
    except re.error as error:
        return process.fail(f"grep: bad pattern {words[0]!r}: {error}", 2)
    process.say("\n".join(line for line in lines if line))
    return int(not lines)


TOOLS: Mapping[str, Program] = {
    "cat": _cat, "ls": _ls, "rm": _rm, "mkdir": _mkdir, "test": _test, "[": _test, "md5sum": _md5sum, "grep": _grep,
    "echo": _echo, "true": _nothing, ":": _nothing, "false": _false, "exit": _exit, "wc": _wc, "head": _head,
    "tail": _head, "id": _id, "whoami": _id, "date": _date, "ps": _ps, "uname": _uname, "df": _df, "ime": _ime,
    "sleep": slept, "chmod": _nothing, "sync": _nothing, "setprop": _nothing, "logcat": _nothing, "stty": _nothing,
    "export": _nothing, "cd": _nothing, "kill": _nothing, "pkill": _nothing, "wait": _nothing, "appops": _nothing,
}  # fmt: skip
"""Every program by name; the last of them do nothing."""
