"""A worker process of the local engine: ``python -m tiltyard.benchmarks.engines.worker ROOT RUN``, RUN as JSON.

Its last line on stderr, when it fails, is the error. It ends when its parent does: the parent holds the other end of
its standard input, which closes even if the parent is killed.
"""

import json
import os
import sys
import threading

from ..runs import Run


def sentence(error: BaseException) -> str:
    """What went wrong, in one line."""
    text = " ".join(str(error.args[0] if isinstance(error, KeyError) and error.args else error).split())
    return text if isinstance(error, OSError) and text else f"{type(error).__name__}: {text}"


def main(root: str, run: str) -> int:
    """Executes one run; returns the exit code."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        Run(**json.loads(run)).execute(root)
    except Exception as error:
        import traceback

        traceback.print_exc()
        print(sentence(error), file=sys.stderr)
        return 1
    return 0


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(130)


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # the thread above still reads standard input
