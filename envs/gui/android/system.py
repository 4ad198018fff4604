"""The fake device's small programs and the list of all: what is echoed, counted, cut, named and put to sleep."""

from collections.abc import Mapping

from . import programs
from .shell import Process, Program, slept


def _echo(process: Process) -> int:
    bare = process.words[1:2] == ["-n"]
    process.out += (" ".join(process.words[2 if bare else 1 :]) + ("" if bare else "\n")).encode()
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
    process.out += b"".join(line + b"\n" for line in kept)
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


PROGRAMS: Mapping[str, Program] = {
    "input": programs.run_input, "wm": programs.run_wm, "screencap": programs.run_screencap, "cat": programs.run_cat,
    "uiautomator": programs.run_uiautomator, "settings": programs.run_settings, "content": programs.run_content,
    "am": programs.run_am, "pm": programs.run_pm, "cmd": programs.run_cmd, "monkey": programs.run_monkey, "ls": programs.run_ls,
    "dumpsys": programs.run_dumpsys, "getprop": programs.run_getprop, "svc": programs.run_svc, "rm": programs.run_rm,
    "mkdir": programs.run_mkdir, "test": programs.run_test, "[": programs.run_test, "md5sum": programs.run_md5sum,
    "grep": programs.run_grep, "echo": _echo, "true": _nothing, ":": _nothing, "false": _false, "exit": _exit,
    "wc": _wc, "head": _head, "tail": _head, "id": _id, "whoami": _id, "date": _date, "ps": _ps, "uname": _uname,
    "df": _df, "sleep": slept, "chmod": _nothing, "sync": _nothing, "setprop": _nothing, "logcat": _nothing,
    "stty": _nothing, "export": _nothing, "cd": _nothing, "kill": _nothing, "pkill": _nothing, "wait": _nothing,
    "ime": _ime, "appops": _nothing,
}  # fmt: skip
"""Every program by name."""
