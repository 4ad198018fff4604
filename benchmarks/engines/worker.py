"""A worker process of the local engine: ``python -m tiltyard.benchmarks.engines.worker ROOT RUN``, RUN as JSON.

Its last line on stderr, when it fails, is the error. It ends when its parent does: the parent holds the other end of
its standard input, which closes even if the parent is killed.
"""

import json
import os
import sys
import threading
import traceback
from pathlib import Path

from ..runs import Run


def sentence(error: BaseException) -> str:
    """What went wrong, in one line."""
    text = " ".join(str(error.args[0] if isinstance(error, KeyError) and error.args else error).split())
    return text if isinstance(error, OSError) and text else f"{type(error).__name__}: {text}"


def attempt(run: Run, root: str | Path) -> str | None:
    """Executes one run; returns its error in one sentence, with the traceback in its partial folder, or None."""
    try:
        run.execute(root)
    except Exception as error:
        partial = run.partial(root)
        if not partial.is_dir():  # refused before anything started
            return sentence(error)
        try:
            (partial / "error.txt").write_text(traceback.format_exc())
        except OSError:  # the disk is full: the sentence must do
            return sentence(error)
        return f"{sentence(error)} (see {partial / 'error.txt'})"
    return None


def main(root: str, run: str) -> int:
    """Executes one run given as JSON; returns the exit code."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    error = attempt(Run(**json.loads(run)), root)
    if error is not None:
        print(error, file=sys.stderr)
    return int(error is not None)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(130)


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # the thread above still reads standard input
