"""A finite set of problems with memory, and the curricula that draw from one: uniformly, or by weights."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..components import Curriculum

Floats = npt.NDArray[np.float64]


class Pool:
    """Problems of the train split by seed, and columns of numbers about them, a number a problem.

    Args:
        size: problems.
        seed: decides which; pools of one seed begin with the same problems.
    """

    def __init__(self, size: int, *, seed: int = 0) -> None:
        if size < 1:
            raise ValueError(f"a pool has at least one problem, got size={size}")
        rng, seeds = np.random.default_rng([seed, 0x9001]), dict[int, None]()
        while len(seeds) < size:
            seeds[int(rng.integers(0, 2**31))] = None
        self.seeds = np.array(list(seeds))
        self.columns: dict[str, Floats] = {}
        self._place = {int(seed): i for i, seed in enumerate(self.seeds)}

    def __len__(self) -> int:
        return len(self.seeds)

    def column(self, name: str, start: float) -> Floats:
        """The column ``name`` ``[size]``, to be read and written; all ``start`` when it is first asked for."""
        if name not in self.columns:
            self.columns[name] = np.full(len(self), float(start))
        return self.columns[name]

    def places(self, seeds: Sequence[int]) -> npt.NDArray[np.int64]:
        """Where the problems ``seeds`` stand in the pool.

        Raises:
            KeyError: one of them does not.
        """
        return np.array([self._place[int(seed)] for seed in seeds], np.int64)

    def draw(self, n: int, rng: np.random.Generator, weights: Floats | None = None) -> list[int]:
        """Seeds of ``n`` different problems, in proportion to ``weights`` ``[size]``; of all, if there are no more."""
        shares = None if weights is None else weights / weights.sum()
        return [int(seed) for seed in rng.choice(self.seeds, min(n, len(self)), replace=False, p=shares)]

    def state_dict(self) -> dict[str, Any]:
        """The columns."""
        return {name: column.copy() for name, column in self.columns.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Has the columns that :meth:`state_dict` gave.

        Raises:
            ValueError: a column of another length.
        """
        columns = {name: np.array(column, np.float64) for name, column in state.items()}
        for name, column in columns.items():
            if column.shape != self.seeds.shape:
                raise ValueError(f"the pool's column {name!r} has the shape {column.shape}, not {self.seeds.shape}")
        self.columns = columns


class FromPool(Curriculum):
    """Draws from a pool, without replacement within a batch; subclasses say by which weights.

    Args:
        size: problems in the pool.
        pool_seed: decides which.
    """

    def __init__(self, *, size: int = 128, pool_seed: int = 0) -> None:
        self.pool = Pool(size, seed=pool_seed)

    def weights(self) -> Floats | None:
        """How likely each problem is drawn, ``[size]``, not normalised; None: all alike."""
        return None

    def sample(self, n: int, rng: np.random.Generator) -> list[int]:
        """Seeds of the next problems, ``n`` or as many as the pool has."""
        return self.pool.draw(n, rng, self.weights())

    def state_dict(self) -> dict[str, Any]:
        """What is remembered of each problem."""
        return self.pool.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""
        self.pool.load_state_dict(state)
