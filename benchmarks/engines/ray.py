"""A Ray cluster: every run is one single-core Ray task executing the same code as the local engine.

Nodes that see the race's folder write into it. A node that does not (no shared file system) executes the run in a
temporary folder of its own and sends the files back, which are then published in the race's folder.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock, Timeout

from ... import need
from ..folders import ERROR, Busy, claimed, publish
from ..runs import Run, is_finished
from . import BUSY, ONE_THREAD, Outcome
from .worker import attempt

RETRIES = 2
"""Times that a run is executed anew whose worker or node died, before that is its error."""

ANSWER = 5.0
"""Seconds in which a cluster's address must answer."""
MARK = ".race-"
"""Beginning of the name of the file by which a node recognises the race's folder; held while its driver lives."""

Files = dict[str, bytes]
"""The files of a folder, by name."""

_HELD: ContextVar[ExitStack | None] = ContextVar("held", default=None)


def outcomes(runs: Sequence[Run], root: Path, workers: int | None = None) -> Generator[Outcome, None, None]:
    """Executes ``runs`` in order, ``workers`` at a time (default: all cores of the cluster), yielding each as it ends.

    Connects to the cluster that ``RAY_ADDRESS`` names or that this process is connected to already, and otherwise
    starts one on this machine, which ends with this process even if that is killed. Closing the iterator cancels what
    still runs. A run takes a core, and a GPU where its ``device`` is ``cuda``; the others see no GPU. One whose worker
    or node dies is executed anew, at most :data:`RETRIES` times, with a warning.

    Raises:
        MissingExtra: Ray is not installed.
        ConnectionError: nothing answers at ``RAY_ADDRESS``, or no cluster starts here.
    """
    with connected() as ray:
        race = _Race(ray, root)
        try:
            yield from race.execute(list(runs), workers)
        finally:
            race.end()


@contextmanager
def held() -> Iterator[None]:
    """Has the cluster that :func:`outcomes` connects to at its first call within serve its later ones there too."""
    with ExitStack() as stack:
        before = _HELD.set(stack)
        try:
            yield
        finally:
            _HELD.reset(before)


@contextmanager
def connected() -> Iterator[Any]:
    """Ray, connected to a cluster for the time of a block, as :func:`outcomes` says."""
    ray: Any = need("ray", extra="ray")
    with ExitStack() as own:
        if not ray.is_initialized():
            (_HELD.get() or own).enter_context(_cluster(ray))
        yield ray


@contextmanager
def _cluster(ray: Any) -> Iterator[None]:
    check_address(os.environ.get("RAY_ADDRESS", ""))
    keeper = _keeper(Path(_connected(ray).address_info["session_dir"]))
    try:
        yield
    finally:
        ray.shutdown()
        if keeper is not None:  # Ray has ended its processes itself; this one writes logs as well
            keeper.kill()
            keeper.communicate()


def _connected(ray: Any) -> Any:
    """Ray's context, of a cluster that is there or starts here (``ConnectionError`` where none does)."""
    try:
        return ray.init(num_cpus=None, log_to_driver=False, include_dashboard=False, logging_level="warning")
    except Exception as error:  # Ray has no kind of its own for a node that does not start in time
        ray.shutdown()
        address = os.environ.get("RAY_ADDRESS", "")
        what = f"connect to RAY_ADDRESS={address}" if address else "start on this machine"
        raise ConnectionError(
            f"Ray did not {what} ({' '.join(str(error).split())}): finished runs are kept, so give the same command "
            "again when less is running here, or leave --engine ray out"
        ) from error


def check_address(address: str) -> None:
    """Refuses a cluster's address, ``host:port`` or ``ray://host:port``, where nothing answers (``ConnectionError``).

    Ray itself goes on trying for many minutes. Other addresses, such as ``auto`` and "", pass.
    """
    found = re.fullmatch(r"(?:ray://)?\[?([^/\]]+)\]?:(\d+)", address)
    if found is None:
        return
    try:
        socket.create_connection((found[1], int(found[2])), timeout=ANSWER).close()
    except (OSError, OverflowError) as error:  # the latter is a port above 65535
        reason = getattr(error, "strerror", None) or str(error)
        raise ConnectionError(
            f"no Ray cluster answers at RAY_ADDRESS={address} ({reason}): set it to that of one that runs, start "
            "one there with ray start --head, or unset it, which starts one on this machine"
        ) from error


def resources(run: Run) -> dict[str, float]:
    """What a run asks of the cluster, as keywords of ``ray.remote``."""
    return {"num_cpus": 1, "num_gpus": float(str(run.params.get("device", "cpu")).startswith("cuda"))}


class _Race:
    """The runs of a race that are on the cluster, and how often each had to be executed anew."""

    def __init__(self, ray: Any, root: Path) -> None:
        self._ray, self._root = ray, root.resolve()
        self._live: dict[Any, Run] = {}
        self._lost: dict[str, int] = {}
        for left in self._root.glob(f"{MARK}*"):  # by drivers that were killed: those alive hold theirs
            with suppress(Timeout, PermissionError), FileLock(left, timeout=0, is_singleton=False):
                left.unlink(missing_ok=True)
        self._mark = self._root / f"{MARK}{uuid4().hex}"  # whoever sees it sees the race's folder
        self._held = FileLock(self._mark, is_singleton=False)
        self._held.acquire()

    def execute(self, waiting: list[Run], workers: int | None) -> Generator[Outcome, None, None]:
        gpus = self._ray.cluster_resources().get("GPU", 0)
        while waiting or self._live:
            while waiting and (workers is None or len(self._live) < workers):
                run = waiting.pop(0)
                if resources(run)["num_gpus"] > gpus:
                    yield run, "it asks for a GPU (device=cuda), and the cluster has none"
                else:
                    self._live[self._submit(run)] = run
            if self._live:
                (ended, *_), _ = self._ray.wait(list(self._live), num_returns=1)
                run = self._live.pop(ended)
                try:
                    yield run, self._published(run, *self._ray.get(ended))
                except self._ray.exceptions.RayError as failure:  # the process died, or its node
                    if (reason := self._given_up(run, failure)) is None:
                        waiting.insert(0, run)
                    else:
                        yield run, reason

    def end(self) -> None:
        """Cancels what still runs."""
        for reference in self._live:
            self._ray.cancel(reference, force=True)
        self._mark.unlink(missing_ok=True)
        self._held.release()

    def _submit(self, run: Run) -> Any:
        # max_calls=1: a fresh process a run, as the local engine has; execute() retries what dies, and says so
        options: dict[str, Any] = {"max_calls": 1, "max_retries": 0, "runtime_env": {"env_vars": ONE_THREAD}}
        return self._ray.remote(**options, **resources(run))(execute_anywhere).remote(run, str(self._mark))

    def _published(self, run: Run, error: str | None, files: Files) -> str | None:
        """Publishes a run that was executed where the race's folder is not; returns its error."""
        if not files:
            return error
        try:
            with claimed(run.partial(self._root)) as partial:
                for name, content in files.items():
                    (partial / name).write_bytes(content)
                if error is None and not is_finished(run.folder(self._root)):
                    publish(partial, run.folder(self._root))
        except Busy:
            return BUSY
        return error

    def _given_up(self, run: Run, failure: Exception) -> str | None:
        """Why a run that died is not executed anew; None where it is."""
        died, times = f"its Ray worker died ({type(failure).__name__})", self._lost.get(run.name, 0)
        if times == RETRIES or isinstance(failure, self._ray.exceptions.RayTaskError):
            return died + (f", and {times} times before" if times else "")
        self._lost[run.name] = times + 1
        warnings.warn(f"{run.name}: {died}; it is executed anew ({times + 1} of {RETRIES} times)", UserWarning, 2)
        return None


def execute_anywhere(run: Run, mark: str) -> tuple[str | None, Files]:
    """Executes a run on a node: in the folder of ``mark`` where that is seen, and in a temporary one otherwise.

    Returns:
        The run's error, if any, and the files that the race's folder has not got.
    """
    if Path(mark).exists():
        return attempt(run, Path(mark).parent), {}
    with tempfile.TemporaryDirectory(prefix="tiltyard-race-") as root:
        error = attempt(run, root)
        made = run.partial(root) if error else run.folder(root)
        files = {path.name: path.read_bytes() for path in made.iterdir()} if made.is_dir() else {}
        error = error and error.replace(str(made / ERROR), f"{ERROR} in its partial folder")
    return error, files


def _keeper(session: Path) -> "subprocess.Popen[bytes] | None":
    """What ends the cluster's processes after this one, if this one started the cluster.

    When its driver is killed, Ray 2.60 leaves its agents behind for a minute, trying to reach what died with it.
    """
    if not session.name.endswith(f"_{os.getpid()}"):  # Ray names a session after the process that starts it
        return None
    command = [sys.executable, "-I", str(Path(__file__).with_name("keeper.py")), str(session / "logs")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
