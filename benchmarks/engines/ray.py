"""A Ray cluster: every run is one single-core Ray task executing the same code as the local engine.

``root`` must be a folder that all nodes share (on one machine, any folder).
"""

import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from ... import need
from ..runs import Run
from . import ONE_THREAD, Outcome
from .worker import attempt


def outcomes(runs: Sequence[Run], root: Path, workers: int | None = None) -> Generator[Outcome, None, None]:
    """Executes ``runs`` in order, ``workers`` at a time (default: all cores of the cluster), yielding each as it ends.

    Connects to the cluster that ``RAY_ADDRESS`` names or that this process is connected to already, and otherwise
    starts one on this machine, which ends with this process even if that is killed. Closing the iterator cancels what
    still runs.
    """
    ray: Any = need("ray", extra="ray")
    started = not ray.is_initialized()
    keeper = None
    if started:
        context = ray.init(num_cpus=None, log_to_driver=False, include_dashboard=False, logging_level="warning")
        keeper = _keeper(Path(context.address_info["session_dir"]))
    # max_calls=1: a fresh process a run, as with the local engine; no retries: a killed run is named, not hidden
    task = ray.remote(num_cpus=1, max_calls=1, max_retries=0, runtime_env={"env_vars": ONE_THREAD})(attempt)
    waiting = list(runs)
    live: dict[Any, Run] = {}
    try:
        while waiting or live:
            while waiting and (workers is None or len(live) < workers):
                run = waiting.pop(0)
                live[task.remote(run, str(root.resolve()))] = run
            ended, _ = ray.wait(list(live), num_returns=1)
            yield live.pop(ended[0]), _outcome(ray, ended[0])
    finally:
        for reference in live:
            ray.cancel(reference, force=True)
        if started:
            ray.shutdown()
        if keeper is not None:  # Ray has ended its processes itself; this one writes logs as well
            keeper.kill()
            keeper.communicate()


def _keeper(session: Path) -> "subprocess.Popen[bytes] | None":
    """What ends the cluster's processes after this one, if this one started the cluster.

    When its driver is killed, Ray 2.60 leaves its agents behind for a minute, trying to reach what died with it.
    """
    if not session.name.endswith(f"_{os.getpid()}"):  # Ray names a session after the process that starts it
        return None
    command = [sys.executable, "-I", str(Path(__file__).with_name("keeper.py")), str(session / "logs")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def _outcome(ray: Any, reference: Any) -> str | None:
    try:
        error: str | None = ray.get(reference)
    except ray.exceptions.RayError as failure:  # the process died, or its node
        return f"its Ray worker died ({type(failure).__name__})"
    return error
