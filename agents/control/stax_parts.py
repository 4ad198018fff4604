r"""Parts of STAX's search: individuals, their novelty, Pareto fronts, and the emitters that improve rewards.

Paper: Paolo et al., Discovering and Exploiting Sparse Rewards in a Learned Behavior Space (2021), and of its emitters
Paolo et al., Sparse Reward Exploration via Novelty Search and Emitters (2021); the authors' code is
github.com/GPaolo/STAX.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt
import torch as th
from torch import Tensor

RECENT = 3
"""Generations at the beginning and at the end of an emitter whose mean rewards its improvement compares."""
TRIED = 5
"""Generations after the first that a candidate has to show an improvement in."""
CHILDREN = 2
"""Of each parent, in both searches."""
WINDOW = 20
"""Generations at both ends of the time over which stagnation is judged."""

Floats = npt.NDArray[np.float64]


def novelty(descriptors: Tensor, reference: Tensor, n_neighbors: int) -> Tensor:
    r"""Mean distance to the nearest neighbours in a reference set, :math:`\frac{1}{k} \sum_{i \le k} d(b, b_i)`.

    Args:
        descriptors: ``[B, D]``.
        reference: ``[M, D]``; the nearest of each is left out, as descriptors are themselves in it.
        n_neighbors: k; all there are, where they are fewer.

    Returns:
        ``[B]``; 0 where the reference set holds nothing else.
    """
    if len(reference) < 2:
        return descriptors.new_zeros(len(descriptors))
    distances = th.cdist(descriptors, reference, compute_mode="donot_use_mm_for_euclid_dist")
    nearest = distances.topk(min(n_neighbors + 1, len(reference)), dim=1, largest=False).values
    return nearest[:, 1:].mean(dim=1)


def first_front(one: Floats, other: Floats) -> npt.NDArray[np.int64]:
    """Indices of those that no other exceeds in one value ``[B]`` without being less in the other."""
    no_less = (one[None] >= one[:, None]) & (other[None] >= other[:, None])
    more = (one[None] > one[:, None]) | (other[None] > other[:, None])
    return np.flatnonzero(~(no_less & more).any(axis=1))


def initial_std(genome: Tensor, others: Tensor, fallback: float) -> float:
    """Deviation of an emitter's mutations: a third of the distance to the nearest of the other genomes ``[B, G]``.

    Three deviations along one axis reach the nearest other. Where that is the same genome it is ``fallback``.
    """
    nearest = float((others - genome).norm(dim=1).min()) if len(others) else 0.0
    return nearest / 3 or fallback


def mutated(genomes: Tensor, std: float, limit: float, rng: np.random.Generator, times: int = CHILDREN) -> Tensor:
    """Children ``[times * B, G]``: each genome with normal noise on all its numbers, within ``limit`` of 0."""
    parents = genomes.repeat_interleave(times, dim=0)
    noise = th.as_tensor(rng.normal(0.0, std, parents.shape), dtype=parents.dtype, device=parents.device)
    return (parents + noise).clamp(-limit, limit)


@dataclass
class Individuals:
    """Evaluated policies.

    Attributes:
        genomes: ``[B, G]``.
        rewards: ``[B]`` undiscounted returns.
        views: ``[B, V]``, what their behaviour is described by.
        descriptors: ``[B, D]``.
        surprise: ``[B]``.
    """

    genomes: Tensor
    rewards: Tensor
    views: Tensor
    descriptors: Tensor
    surprise: Tensor

    def __len__(self) -> int:
        return len(self.genomes)

    def __getitem__(self, rows: Tensor | slice | list[int]) -> Self:
        return type(self)(*(part[rows] for part in vars(self).values()))

    def __add__(self, other: Self) -> Self:
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return type(self)(*(th.cat(pair) for pair in pairs))

    @property
    def table(self) -> Tensor:
        """Genomes, rewards and views side by side, ``[B, G + 1 + V]``: all that is not computed from it."""
        return th.cat([self.genomes, self.rewards[:, None], self.views], dim=1)


@dataclass
class Emitter:
    r"""A small elitist evolution strategy on rewards, begun at a rewarding individual: :math:`(\mu + 2\mu)`.

    Children are :math:`\theta + \sigma \epsilon`, two a parent; of parents and children together the :math:`\mu` of
    highest reward go on. :math:`\sigma` is :func:`initial_std` and stays.

    Departures from the authors' code: there only what is more novel than the ancestor counts as novel, here its first
    parents too; and there the ancestor joins the archive of rewards once more as its emitter ends.

    Attributes:
        ancestor: one individual.
        std: sigma.
        rows: the parents; None before their first evaluation.
        generation: evaluations of children so far.
        active: whether it has been taken on, after its trial.
        first: mean reward of the first generations; NaN before.
        improvement: by how much the mean reward of the latest generations exceeds it; 0 where it does not.
        archived: the highest reward that it gave to the archive of rewards; -inf before.
        most_novel: the highest novelty that it has seen.
        history: rewards of the parents, ``[mu]`` each generation.
        novel: those that were more novel than all its individuals before them.
    """

    ancestor: Individuals
    std: float
    rows: Individuals | None = None
    generation: int = 0
    active: bool = False
    first: float = float("nan")
    improvement: float = 0.0
    archived: float = float("-inf")
    most_novel: float = float("-inf")
    history: list[Tensor] = field(default_factory=list)
    novel: Individuals | None = None

    def ask(self, size: int, limit: float, rng: np.random.Generator) -> Tensor:
        """Genomes to evaluate: mu around the ancestor, then two of each parent."""
        if self.rows is None:
            return mutated(self.ancestor.genomes, self.std, limit, rng, times=size)
        return mutated(self.rows.genomes, self.std, limit, rng)

    def tell(self, found: Individuals) -> None:
        """Takes in what :meth:`ask` asked for, in the same order."""
        if self.rows is None:
            self.rows = found
        else:
            size, both = len(self.rows), self.rows + found
            order = both.rewards.argsort(descending=True, stable=True)
            self.rows, self.generation = both[order[:size]], self.generation + 1
        self.history.append(self.rows.rewards)
        if len(self.history) == RECENT:
            self.first = float(th.stack(self.history).mean())

    @property
    def on_trial(self) -> bool:
        """Whether its trial has begun and not ended."""
        return not self.active and self.rows is not None and self.generation < TRIED

    def estimate(self) -> None:
        """Updates :attr:`improvement`."""
        latest = float(th.stack(self.history[-RECENT:]).mean())
        self.improvement = max(latest - self.first, 0.0)

    def to_archive(self) -> Individuals:
        """Parents for the archive of rewards: the best at first, later those that exceed all it was given before."""
        assert self.rows is not None
        rewards = self.rows.rewards
        chosen = rewards > max(self.archived, 0.0)
        if self.archived == float("-inf"):
            chosen &= th.arange(len(rewards)) == rewards.argmax()
        if chosen.any():
            self.archived = float(rewards[chosen].max())
        return self.rows[chosen]

    def note_novel(self, values: Tensor, keep: int) -> None:
        """Keeps those parents, at most the last ``keep``, whose novelty ``[mu]`` exceeds all before."""
        assert self.rows is not None
        more = self.rows[values > self.most_novel]
        self.most_novel = max(self.most_novel, float(values.max()))
        self.novel = (more if self.novel is None else self.novel + more)[slice(-keep, None)]

    def packed(self, size: int, keep: int, length: int) -> dict[str, Tensor]:
        """As tensors: rows ``[1 + size + keep, width]``, numbers ``[7]`` and history ``[length, size]``; NaN: none."""
        tables = [self.ancestor.table]
        for part, most in ((self.rows, size), (self.novel, keep)):
            given = self.ancestor.table[:0] if part is None else part.table
            tables += [given, given.new_full((most - len(given), given.shape[1]), float("nan"))]
        numbers = (self.std, self.generation, self.active, self.first, self.improvement, self.archived, self.most_novel)
        blank = th.full((length - len(self.history), size), float("nan"))
        return {
            "rows": th.cat(tables),
            "numbers": th.tensor([float(number) for number in numbers], dtype=th.float64),
            "history": th.cat([*(one[None] for one in self.history), blank]),
        }

    @classmethod
    def unpacked(
        cls, rows: Tensor, numbers: Tensor, history: Tensor, size: int, individuals: Callable[[Tensor], Individuals]
    ) -> Self:
        """What :meth:`packed` was made of; ``individuals`` makes them of rows."""
        std, generation, active, first, improvement, archived, most_novel = numbers.tolist()
        parents, novel = (part[~part.isnan().any(dim=1)] for part in (rows[1 : 1 + size], rows[1 + size :]))
        return cls(
            ancestor=individuals(rows[:1]),
            std=std,
            rows=individuals(parents) if len(parents) else None,
            generation=int(generation),
            active=bool(active),
            first=first,
            improvement=improvement,
            archived=archived,
            most_novel=most_novel,
            history=list(history[~history.isnan().any(dim=1)]),
            novel=individuals(novel) if len(novel) else None,
        )

    def stagnates(self, genome_size: int) -> bool:
        """Whether rewards have not risen over the last 120 + 20 G / mu generations, by median or by maximum."""
        assert self.rows is not None
        span = int(20 * genome_size / len(self.rows) + 120)
        if self.generation <= span:
            return False
        del self.history[:-span]
        begun, ended = th.stack(self.history[:WINDOW]), th.stack(self.history[-WINDOW:])
        return bool(begun.median() >= ended.median() or begun.max() >= ended.max())
