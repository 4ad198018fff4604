"""The dataflow of asynchronous rollouts: rows between workers and learner, versions of weights, the bound on staleness.

An iteration of the learner is a version: the one that is updated in iteration t is version t. A row is sampled with one
version v and learnt from in one iteration t; its staleness t - v never exceeds the bound k. Two rules see to that, for
any delays. No more rows are drawn than k iterations and the one under way will use. And rows are taken as they become
ready, but one that is due (v + k = t) before any other, and never so many newer ones that those due in a later
iteration would not fit it.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Condition
from typing import Protocol

from .asyncflow import TransferQueue
from .rollout_worker import Sampled, Task

STAGES = {"rollout": ("task",), "update": ("sampled", "version", "rows")}
"""What the two stages read: a row's task; its result, the version of the weights, and the rows of the task."""

PAUSE = 0.5
"""Seconds after which a learner that waits looks whether its workers are alive."""


@dataclass(frozen=True)
class Lease:
    """A task that a worker is at."""

    task: Task
    rows: tuple[int, ...]
    version: int
    weights: bytes


@dataclass(frozen=True)
class Ready:
    """A row that the learner has taken.

    Attributes:
        sampled: of the whole task.
        position: of the row in it.
        of: rows of the task.
        staleness: iterations since the weights that it was sampled with.
        first: whether it is the first row of its task to be taken.
    """

    sampled: Sampled
    position: int
    of: int
    staleness: int
    first: bool


class Workers(Protocol):
    """Who samples what waits in a pipeline."""

    @property
    def elsewhere(self) -> bool:
        """Whether tasks are sampled while the learner waits, or by :meth:`attend`."""

    def attend(self) -> None:
        """Called again and again while the learner waits.

        Raises:
            RuntimeError: no worker will ever finish.
        """


@dataclass
class Pipeline:
    """Rows on their way from the curriculum through the workers to the learner; threads may share it.

    Attributes:
        max_staleness: the bound k; 0: rows are sampled by the weights that learn from them.
        per_iteration: rows that an iteration uses at least.
        exact: a task is sampled by the version that was the newest when it was drawn, and rows are taken in order, so
            that what is learnt depends neither on delays nor on the number of workers.
    """

    max_staleness: int
    per_iteration: int
    exact: bool = False
    version: int = field(default=-1, init=False)
    waited: float = field(default=0.0, init=False)
    closed: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        self.changed = Condition()
        self._queue = TransferQueue(STAGES)
        self._weights: dict[int, bytes] = {}
        self._waiting: deque[tuple[Task, tuple[int, ...]]] = deque()
        self._leases: list[Lease] = []
        self._due: dict[int, int] = {}  # the last iteration that may learn from a row, once its version is known
        self._uncounted: set[int] = set()  # the first rows of tasks none of whose rows has been taken

    def publish(self, weights: bytes) -> None:
        """The next version; kept as long as a task may want it."""
        with self.changed:
            self.version += 1
            self._weights[self.version] = weights
            wanted = {task.version for task, _ in self._waiting} | {lease.version for lease in self._leases}
            self._weights = {v: held for v, held in self._weights.items() if v == self.version or v in wanted}
            self.changed.notify_all()

    def room(self, missing: int) -> int:
        """Rows that may be drawn now, while the iteration under way wants ``missing`` more."""
        with self.changed:
            return missing + self.max_staleness * self.per_iteration - len(self._queue)

    def add(self, task: Task) -> None:
        """A task to be sampled, a row for each of its problems."""
        with self.changed:
            rows = tuple(self._queue.add(task=task) for _ in task.seeds)
            self._waiting.append((task, rows))
            self.changed.notify_all()

    def lease(self, retired: Callable[[], bool] = lambda: False) -> Lease | None:
        """The next task for a worker, waited for; None: the pipeline is closed, or the worker has ``retired``."""
        with self.changed:
            self.changed.wait_for(lambda: self.closed or retired() or bool(self._waiting))
            return None if self.closed or retired() else self.next_lease()

    def next_lease(self) -> Lease | None:
        """The next task, if one waits."""
        with self.changed:
            if not self._waiting:
                return None
            task, rows = self._waiting.popleft()
            version = self.version if task.version is None else task.version
            lease = Lease(task, rows, version, self._weights[version])
            self._queue.take("rollout", rows)
            self._due |= dict.fromkeys(rows, version + self.max_staleness)
            self._leases.append(lease)
            return lease

    def put(self, lease: Lease, sampled: Sampled) -> None:
        """The result of a task."""
        with self.changed:
            self._leases.remove(lease)
            for row in lease.rows:
                self._queue.write(row, sampled=sampled, version=lease.version, rows=lease.rows)
            self._uncounted.add(lease.rows[0])
            self.changed.notify_all()

    def give_back(self, lease: Lease) -> None:
        """The task waits again, before all others: its worker died."""
        with self.changed:
            self._leases.remove(lease)
            self._queue.give_back("rollout", lease.rows)
            for row in lease.rows:
                del self._due[row]
            self._waiting.appendleft((lease.task, lease.rows))
            self.changed.notify_all()

    def take(self, n: int, missing: int, workers: Workers) -> list[Ready]:
        """``n`` rows to learn from, waited for; none is ever given twice.

        Args:
            n: rows, at most ``missing``.
            missing: rows that the iteration under way wants, these included.
            workers: who samples them.
        """
        begun = time.perf_counter()
        while True:
            with self.changed:
                if (rows := self._chosen(n, missing)) is not None:
                    self.waited += time.perf_counter() - begun
                    return [self._taken(row) for row in rows]
                if workers.elsewhere:
                    self.changed.wait(PAUSE)
            workers.attend()

    @property
    def ready(self) -> int:
        """Rows that have been sampled and not been taken."""
        with self.changed:
            return len(self._queue.ready("update"))

    def open(self) -> None:
        """Lets workers lease tasks."""
        with self.changed:
            self.closed = False

    def close(self) -> None:
        """Lets workers lease no more; what has been sampled is kept."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def _chosen(self, n: int, missing: int) -> list[int] | None:
        """``n`` rows that may be taken now; None: there are not so many yet."""
        ready = self._queue.ready("update")
        if self.exact or self.max_staleness == 0:
            first = sorted(self._queue)[:n]
            return first if set(first) <= set(ready) else None
        slack = self._slack(missing)
        chosen: list[int] = []
        for row in ready:
            left = self._due[row] - self.version  # iterations after this one in which it may be learnt from
            if len(chosen) < n and all(free > 0 for free in slack[:left]):
                chosen.append(row)
                slack[:left] = [free - 1 for free in slack[:left]]
        return chosen if len(chosen) == n else None

    def _slack(self, missing: int) -> list[int]:
        """How many of the ``missing`` rows may be due later than in j iterations, for j = 0, ..., k - 1.

        Those due until then are as many as must be taken now so that the j iterations can take the others.
        """
        slack = []
        for j in range(self.max_staleness):
            due = sum(last <= self.version + j for last in self._due.values())
            slack.append(missing - max(0, due - j * self.per_iteration))
        return slack

    def _taken(self, row: int) -> Ready:
        found = self._queue.take("update", [row])[0]
        del self._due[row]
        rows = found["rows"]
        first = rows[0] in self._uncounted
        self._uncounted.discard(rows[0])
        return Ready(found["sampled"], rows.index(row), len(rows), self.version - found["version"], first)
