"""AsyncFlow: a transfer queue of rows with columns, which hands each row to each stage once, as soon as it is ready.

A row is a problem with its group of completions. A stage of the dataflow (rollout, update, ...) names the columns that
it reads; the queue keeps, for each stage, which rows have all of these and which ones the stage has taken, and so gives
out whatever is ready instead of waiting for a whole batch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class _Row:
    columns: dict[str, Any]
    taken: set[str] = field(default_factory=set)


class TransferQueue:
    """Rows, their columns, and what each stage has taken of them; a row that all stages have taken is forgotten.

    It knows nothing of processes: who shares it between threads holds a lock.

    Args:
        stages: the columns that each stage reads, by the stage's name.

    Paper: AsyncFlow: An Asynchronous Streaming RL Framework for Efficient LLM Post-Training (2025), the sections on
    TransferQueue; the authors' ``TransferQueueController`` keeps production and consumption status in the same way.
    Departures: one process holds control and data; there are no several storage units.
    """

    def __init__(self, stages: Mapping[str, Sequence[str]]) -> None:
        self._reads = {stage: tuple(columns) for stage, columns in stages.items()}
        self._ready: dict[str, dict[int, None]] = {stage: {} for stage in stages}  # in the order of becoming ready
        self._rows: dict[int, _Row] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows)

    def add(self, **columns: Any) -> int:
        """A new row; returns its number: 0, 1, ..."""
        number, self._next = self._next, self._next + 1
        self._rows[number] = _Row({})
        self.write(number, **columns)
        return number

    def write(self, row: int, **columns: Any) -> None:
        """Columns of a row, which becomes ready for the stages that lacked nothing else.

        Raises:
            KeyError: there is no such row any more.
            ValueError: a column that has been written before.
        """
        held = self._held(row)
        if twice := held.columns.keys() & columns:
            raise ValueError(f"row {row} has its column {min(twice)!r} already: it was sampled twice")
        held.columns |= columns
        for stage, reads in self._reads.items():
            if stage not in held.taken and held.columns.keys() >= set(reads):
                self._ready[stage].setdefault(row)

    def ready(self, stage: str) -> list[int]:
        """The rows that ``stage`` may take now, first ready first."""
        return list(self._ready[stage])

    def column(self, row: int, name: str) -> Any:
        """One column of a row."""
        return self._held(row).columns[name]

    def take(self, stage: str, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Gives ``rows`` to ``stage``, which gets none of them again; returns the columns that it reads, a dict a row.

        Raises:
            ValueError: a row that is not ready for the stage, or was taken by it before; none has been taken then.
        """
        wrong = [row for row in rows if row not in self._ready[stage]]
        if wrong or len(set(rows)) < len(rows):
            raise ValueError(f"stage {stage!r} may not take the rows {wrong or list(rows)}: not ready, or taken before")
        found = []
        for row in rows:
            held = self._rows[row]
            found.append({name: held.columns[name] for name in self._reads[stage]})
            held.taken.add(stage)
            del self._ready[stage][row]
            if held.taken == self._reads.keys():
                del self._rows[row]
        return found

    def give_back(self, stage: str, rows: Iterable[int]) -> None:
        """Makes ``rows`` ready for ``stage`` again, before all others: whoever took them died before it wrote.

        Raises:
            ValueError: a row that the stage has not taken.
        """
        returned = list(rows)
        for row in returned:
            held = self._held(row)
            if stage not in held.taken:
                raise ValueError(f"row {row} was not taken by stage {stage!r}: it cannot be given back")
            held.taken.remove(stage)
        self._ready[stage] = dict.fromkeys([*returned, *self._ready[stage]])

    def _held(self, row: int) -> _Row:
        if row not in self._rows:
            raise KeyError(f"the queue holds no row {row}: all stages have taken it")
        return self._rows[row]
