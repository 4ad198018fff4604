"""The search of STAX, which asks for policies to evaluate and is told what became of them; it knows no environment."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from torch import Tensor

from .stax_parts import TRIED, Emitter, Individuals, first_front, initial_std, mutated, novelty

Describe = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From views ``[B, V]`` to descriptors ``[B, D]`` and surprise ``[B]``."""
TABLES = ("population", "children", "archive", "rewarded")


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Of a search; :class:`.stax.STAX` says what they are.

    Attributes:
        genome_size: numbers of a genome.
        view_size: numbers that an individual is described by.
        surprise: whether it is selected by surprise in half of the generations.
    """

    genome_size: int
    view_size: int
    surprise: bool
    population_size: int
    chunk_size: int
    mutation_std: float
    genome_limit: float
    n_neighbors: int
    archived_per_generation: int
    emitter_size: int


@dataclass
class Progress:
    """Where the alternation is.

    Attributes:
        exploring: whether this chunk of evaluations is novelty search's.
        left: evaluations of the chunk.
        chunks: of novelty search since the autoencoder learnt last.
        interval: so many chunks come before it learns again.
        working: index of the emitter at work, -1 for none.
        evaluations: of all individuals so far.
        exploited: of these, those of emitters.
    """

    exploring: bool = True
    left: int = 0
    chunks: int = 0
    interval: int = 1
    working: int = -1
    evaluations: int = 0
    exploited: int = 0


class Search:
    """Novelty search and emitters in turn, by :meth:`ask` and :meth:`tell`.

    Args:
        settings: of the search.
        describe: of what individuals are described by; it may change, see :meth:`describe_anew`.
        rng: of mutations and choices.

    Attributes:
        population: of novelty search.
        children: of its last generation.
        archive: of novelty.
        rewarded: archive of rewards.
        emitters: candidates and those that were taken on.
        best: the individual that acts, one row; empty before any was evaluated.
        progress: where the alternation is.
        due: whether the autoencoder is to learn before the next :meth:`ask`.
    """

    def __init__(self, settings: SearchSettings, describe: Describe, rng: np.random.Generator) -> None:
        self.settings, self.describe, self.rng = settings, describe, rng
        nothing = self.individuals(th.zeros(0, settings.genome_size + 1 + settings.view_size))
        self.population = self.children = self.archive = self.rewarded = self.best = nothing
        self.emitters: list[Emitter] = []
        self.progress = Progress(left=settings.chunk_size)
        self.due = False

    def individuals(self, table: Tensor) -> Individuals:
        """Of a table ``[B, genome_size + 1 + view_size]`` of genomes, rewards and views."""
        size = self.settings.genome_size
        genomes, rewards, views = table[:, :size], table[:, size], table[:, size + 1 :]
        return Individuals(genomes, rewards, views, *self.describe(views))

    def random_genomes(self, n: int) -> Tensor:
        """Uniform within the limit, ``[n, genome_size]``."""
        limit = self.settings.genome_limit
        return th.as_tensor(self.rng.uniform(-limit, limit, (n, self.settings.genome_size)), dtype=th.float32)

    def reference(self) -> Individuals:
        """Among whom individuals are novel."""
        return self.population + self.children + self.archive + self.rewarded

    def ask(self) -> Tensor:
        """Genomes ``[B, genome_size]`` to evaluate: a generation of the search whose turn it is."""
        if not self.progress.exploring and self.progress.working < 0:
            self.progress.working = self._chosen()
            if self.progress.working < 0:
                self._end_chunk()
        if not self.progress.exploring:
            settings = self.settings
            emitter = self.emitters[self.progress.working]
            return emitter.ask(settings.emitter_size, settings.genome_limit, self.rng)
        return self.offspring()

    def offspring(self) -> Tensor:
        """Genomes of novelty search's next generation."""
        if not len(self.population):
            return self.random_genomes(self.settings.population_size)
        return mutated(self.population.genomes, self.settings.mutation_std, self.settings.genome_limit, self.rng)

    def tell(self, genomes: Tensor, rewards: Tensor, views: Tensor) -> None:
        """Takes in what :meth:`ask` asked for, in the same order: rewards ``[B]`` and views ``[B, view_size]``."""
        found = self.individuals(th.cat([genomes, rewards[:, None], views], dim=1))
        progress = self.progress
        progress.left -= len(found)
        progress.evaluations += len(found)
        progress.exploited += len(found) * (not progress.exploring)
        top = found[[int(found.rewards.argmax())]]
        if float(top.rewards) > max(0.0, float(self.best.rewards.sum())):
            self.best = top
        if progress.exploring:
            self._explored(found)
        else:
            self._exploited(found)

    def _explored(self, found: Individuals) -> None:
        if not len(self.population):
            self.population = found
            self._begin_emitters(found, found.genomes)
            self._act_by_novelty(found, self._novelty(found))
        else:
            self.children, both = found, self.population + found
            self._begin_emitters(found, both.genomes)
            values = self._novelty(both)
            joining = self.rng.permutation(len(found))[: self.settings.archived_per_generation]
            self.archive += found[th.as_tensor(joining)]
            self._survive(both, values)
        if self.progress.left <= 0:
            self._end_chunk()

    def _survive(self, both: Individuals, values: Tensor) -> None:
        """Those of most novelty ``[B]``, or of most surprise, are the next population."""
        by_surprise = self.settings.surprise and self.rng.random() < 0.5
        order = (both.surprise if by_surprise else values).argsort(descending=True, stable=True)
        chosen = order[: self.settings.population_size]
        self.population = both[chosen]
        self._act_by_novelty(self.population, values[chosen])

    def _act_by_novelty(self, individuals: Individuals, values: Tensor) -> None:
        """As long as nothing was rewarded the most novel individual acts."""
        if not bool((self.best.rewards > 0).any()):
            self.best = individuals[[int(values.argmax())]]

    def _begin_emitters(self, fresh: Individuals, genomes: Tensor) -> None:
        """Individuals of positive reward join the archive of rewards, and are candidates for emitters.

        Args:
            fresh: the last of all that were evaluated.
            genomes: of all of population and children, ``[B, genome_size]``.
        """
        before = len(genomes) - len(fresh)
        for i in th.nonzero(fresh.rewards > 0).flatten().tolist():
            one = fresh[[i]]
            self.rewarded += one
            if self.settings.emitter_size:
                others = th.cat([genomes[: before + i], genomes[before + i + 1 :]])
                self.emitters.append(Emitter(one, initial_std(one.genomes, others, self.settings.mutation_std)))

    def _exploited(self, found: Individuals) -> None:
        emitter = self.emitters[self.progress.working]
        emitter.tell(found)
        self._follow(emitter)
        if self.progress.left <= 0 and not emitter.on_trial:
            if self.progress.working >= 0:
                emitter.estimate()
                self.progress.working = -1
            self._end_chunk()

    def _follow(self, emitter: Emitter) -> None:
        """What follows from an emitter's generation: archives, the end of its trial, or its own end."""
        assert emitter.rows is not None
        keep = self.settings.archived_per_generation
        if emitter.generation:
            self.rewarded += emitter.to_archive()
        ended = False
        if emitter.active:
            emitter.note_novel(self._novelty(emitter.rows), keep)
            if ended := emitter.stagnates(self.settings.genome_size):
                self.archive += emitter.novel or emitter.rows[:0]
        elif emitter.generation == TRIED:
            emitter.estimate()
            emitter.active, ended = True, not emitter.improvement > 0
            self.progress.working = -1
        if ended:
            self.progress.working = -1
            self.emitters = [one for one in self.emitters if one is not emitter]

    def _chosen(self) -> int:
        """The emitter to work with: a candidate while there is a third of the chunk, else one taken on; -1 for none."""
        waiting = [i for i, one in enumerate(self.emitters) if not one.active]
        active = [i for i, one in enumerate(self.emitters) if one.active]
        if waiting and self.progress.left > self.settings.chunk_size / 3:
            return waiting[int(np.argmax(self._novelty_of_ancestors(waiting)))]
        if not active:
            return -1
        improvements = np.array([self.emitters[i].improvement for i in active])
        return active[int(self.rng.choice(first_front(self._novelty_of_ancestors(active), improvements)))]

    def _novelty_of_ancestors(self, which: list[int]) -> npt.NDArray[np.float64]:
        """Among the rewarded, ``[len(which)]``."""
        found = th.cat([self.emitters[i].ancestor.descriptors for i in which])
        values: Any = novelty(found, self.rewarded.descriptors, self.settings.n_neighbors)
        return np.asarray(values, np.float64)

    def _novelty(self, individuals: Individuals) -> Tensor:
        return novelty(individuals.descriptors, self.reference().descriptors, self.settings.n_neighbors)

    def _end_chunk(self) -> None:
        """It is the other search's turn, if there is anything to exploit."""
        progress = self.progress
        progress.chunks += progress.exploring
        progress.exploring = not progress.exploring or not self.emitters
        progress.left, progress.working = self.settings.chunk_size, -1
        if progress.chunks >= progress.interval:
            self.due, progress.chunks, progress.interval = True, 0, progress.interval + 1

    def describe_anew(self) -> None:
        """Describes everything once more, after the autoencoder has learnt."""
        self.due = False
        for name in (*TABLES, "best"):
            setattr(self, name, self.individuals(getattr(self, name).table))
        for emitter in self.emitters:
            emitter.ancestor = self.individuals(emitter.ancestor.table)
            emitter.rows = emitter.rows and self.individuals(emitter.rows.table)
            emitter.novel = emitter.novel and self.individuals(emitter.novel.table)

    def state(self) -> dict[str, Tensor]:
        """Everything that is not computed from it, as tensors, for checkpoints.

        Individuals are rows of :attr:`.stax_parts.Individuals.table`; of an emitter the ancestor, the parents, and the
        novel ones follow each other, rows that are not there being NaN.
        """
        mu, keep = self.settings.emitter_size, self.settings.archived_per_generation
        length = max((len(one.history) for one in self.emitters), default=0)
        packed = [one.packed(mu, keep, length) for one in self.emitters]
        width = self.best.table.shape[1]
        shapes = {"rows": (0, 1 + mu + keep, width), "numbers": (0, 7), "history": (0, length, mu)}
        progress = [float(value) for value in vars(self.progress).values()]
        return (
            {name: getattr(self, name).table for name in (*TABLES, "best")}
            | {
                f"emitter_{name}": th.stack([one[name] for one in packed]) if packed else th.zeros(shape)
                for name, shape in shapes.items()
            }
            | {"progress": th.tensor([*progress, float(self.due)], dtype=th.float64)}
        )

    def restore(self, state: dict[str, Tensor]) -> None:
        """Takes in what :meth:`state` gave.

        Raises:
            ValueError: tensors of other shapes, or counts that cannot be.
        """
        own = self.state()
        for name, tensor in own.items():
            axes = slice(None) if name == "progress" else slice(1, None)
            given, wanted = list(state[name].shape[axes]), list(tensor.shape[axes])
            if state[name].dim() != tensor.dim() or (name != "emitter_history" and given != wanted):
                raise ValueError(f"its {name} is of another shape than this search's")
        for name in (*TABLES, "best"):
            setattr(self, name, self.individuals(state[name]))
        parts = zip(state["emitter_rows"], state["emitter_numbers"], state["emitter_history"], strict=True)
        self.emitters = [
            Emitter.unpacked(rows, numbers, history, self.settings.emitter_size, self.individuals)
            for rows, numbers, history in parts
        ]
        *counts, due = state["progress"].tolist()
        self.progress, self.due = Progress(bool(counts[0]), *map(int, counts[1:])), bool(due)
        if not -1 <= self.progress.working < len(self.emitters):
            raise ValueError(f"its emitter {self.progress.working} is none of {len(self.emitters)}")
