"""Asynchronous collection: batches from a pipeline that workers fill while the learner updates; bounded staleness.

Of what :class:`~tiltyard.agents.language.collect.Collector` does, workers do the sampling (sampler and guidance in the
environment). Curriculum, providers and rewards stay with the learner, so that every method can be collected so.
"""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Any

import torch
from stable_baselines3.common.vec_env import VecEnv

from ...wrappers.components import Guidance
from ..models.language_model import LanguageModel
from .collect import Collector, chosen, together
from .episodes import StopTraining
from .pipeline import Pipeline, Ready
from .rollout_processes import Inline, Processes
from .rollout_worker import Task, go_on_from, recipe, streams_of, weights_of
from .rollouts import Rollouts
from .samplers.base import Sampler
from .samplers.groups import rescored

TASKS = 4
"""Tasks that an iteration's problems are cut into, unless an agent is told otherwise."""


@dataclass
class Collection:
    """How completions are collected, and the pipeline and the workers while there are such.

    Attributes:
        workers: processes that sample; 0: the learner does.
        max_staleness: iterations that the weights which sampled a completion may be behind those that learn from it.
        exact: the staleness is ``max_staleness`` (in the first iterations, as many as there have been).
        groups_per_task: problems that a worker samples together (None: a quarter of an iteration's).
        samples: whether the agent samples completions at all.
    """

    workers: int = 0
    max_staleness: int = 0
    exact: bool = False
    groups_per_task: int | None = None
    samples: InitVar[bool] = True
    pipeline: Pipeline | None = field(default=None, init=False)
    pool: Inline | Processes | None = field(default=None, init=False)

    def __post_init__(self, samples: bool) -> None:
        if not samples and not self.synchronous:
            raise ValueError(
                "this agent learns from stored data alone and samples no completions: leave rollout_workers and "
                "max_staleness at 0"
            )
        if self.max_staleness > 0 and self.workers == 0 and not self.exact:
            raise ValueError(
                f"max_staleness={self.max_staleness} needs processes that sample while the learner updates: give "
                "rollout_workers=1 or more, or exact_staleness=True for a lag that is forced"
            )

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: without workers, and without what they have sampled, as in a checkpoint."""
        return vars(self) | {"pipeline": None, "pool": None}

    @property
    def synchronous(self) -> bool:
        """Whether the learner samples by its own weights, without a pipeline."""
        return self.workers == 0 and self.max_staleness == 0

    def begin(
        self, policy: LanguageModel, env: VecEnv, sampler: Sampler, guidance: Guidance, per_iteration: int
    ) -> Pipeline:
        """Publishes the policy's weights as the next version, to workers that are started if there are none yet.

        Raises:
            TypeError: parts that cannot be given to workers (:func:`~.rollout_worker.recipe`).
        """
        if self.pipeline is None:
            self.pipeline = Pipeline(self.max_staleness, per_iteration, self.exact)
        self.pipeline.publish(weights_of(policy))
        if self.pool is None:
            made = recipe(policy, env, sampler, guidance)
            if self.workers == 0:
                self.pool = Inline(self.pipeline, made)
            else:
                threads = torch.get_num_threads() // (self.workers if self.max_staleness else 1)
                self.pool = Processes(self.pipeline, made, self.workers, max(1, threads))
        return self.pipeline

    def resize(self, workers: int) -> None:
        """Takes another number of workers, also while some are at work.

        Raises:
            ValueError: fewer than 1, or of a learner that samples itself.
        """
        if self.workers == 0 or workers < 1:
            raise ValueError(
                f"{self.workers} rollout workers cannot become {workers}: there is at least 1 from the beginning on, "
                "or the learner samples"
            )
        self.workers = workers
        if self.pool is not None:
            self.pool.resize(workers)

    def end(self) -> None:
        """Ends the workers; what they have finished is kept for the next iteration, what they were at waits."""
        if self.pool is not None:
            self.pool.close()
            self.pool = None

    def forget(self) -> None:
        """Ends the workers, and forgets all that was sampled: the problems are other ones now."""
        self.end()
        self.pipeline = None


@dataclass
class Pipelined(Collector):
    """Makes a batch of what comes out of a pipeline.

    Attributes:
        source: with its pipeline and workers begun.
        rescore: whether completions of older weights get the log-probabilities of the policy as it is in ``logp_old``,
            and keep those of the weights that wrote them in ``behaviour_logp``; else ``logp_old`` is the writer's.
        staleness: of each row that was taken.
    """

    source: Collection = field(kw_only=True)
    rescore: bool = True
    staleness: list[int] = field(default_factory=list)

    @property
    def pipeline(self) -> Pipeline:
        """Of the source."""
        assert self.source.pipeline is not None
        return self.source.pipeline

    def draw(self, n: int, missing: int) -> Rollouts:
        """As in :class:`Collector`, of up to ``n`` rows that the pipeline has ready.

        Raises:
            RuntimeError: the workers failed.
        """
        assert self.source.pool is not None
        taken = self.pipeline.take(self._ordered(n, missing), missing, self.source.pool)
        self.staleness += [one.staleness for one in taken]
        if self.source.max_staleness == 0:
            go_on_from(taken[0].sampled.streams, self.context.policy, self.context.rng)
        for one in taken:
            for infos in one.sampled.steps if one.first else ():
                if not self.context.on_step(infos):
                    raise StopTraining
        rollouts = replace(joined(taken), solve=self.context.solve)
        if self.rescore and any(one.staleness for one in taken):
            rollouts = rescored(rollouts, self.context)
        return self.shaped(rollouts)

    def measured(self) -> dict[str, float]:
        """Metrics of an iteration, to log; none of a staleness that is always 0."""
        if self.source.max_staleness == 0 or not self.staleness:
            return {}
        waited, self.pipeline.waited = self.pipeline.waited, 0.0
        mean = sum(self.staleness) / len(self.staleness)
        return {
            "staleness_mean": mean,
            "staleness_max": float(max(self.staleness)),
            "groups_ready": float(self.pipeline.ready),
            "seconds_waited": waited,
        }

    def _ordered(self, n: int, missing: int) -> int:
        """Fills the pipeline up to the bound; returns how many rows to take.

        With a bound of 0, the rows are one task that goes on from the learner's own generators: it draws what the
        learner would have drawn.
        """
        context, curriculum = self.context, self.curriculum
        if self.source.max_staleness == 0:
            seeds = chosen(curriculum, n, context.rng)
            streams = streams_of(context.policy, context.rng)
            self.pipeline.add(Task(tuple(seeds), self.group_size, context.progress, streams))
            return len(seeds)
        size = self.source.groups_per_task or -(-self.pipeline.per_iteration // TASKS)
        while (room := self.pipeline.room(missing)) > 0:
            seeds = chosen(curriculum, room, context.rng)
            for start in range(0, len(seeds), size):
                seed, version = int(context.rng.integers(2**63)), self.pipeline.version if self.source.exact else None
                part = tuple(seeds[start : start + size])
                self.pipeline.add(Task(part, self.group_size, context.progress, seed, version))
        return n


def joined(taken: Sequence[Ready]) -> Rollouts:
    """The rows that were taken as one batch, its groups numbered 0, 1, ... in their order."""
    of_tasks: dict[int, list[Ready]] = {}
    for one in taken:
        of_tasks.setdefault(id(one.sampled), []).append(one)
    parts, groups = [], 0
    for rows in of_tasks.values():
        rollouts = rows[0].sampled.rollouts
        if len(rows) < rows[0].of:
            positions = torch.tensor([row.position for row in rows], device=rollouts.group.device)
            rollouts = rollouts.take(torch.isin(rollouts.group, positions))
        if len(taken) > len(rows) or len(rows) < rows[0].of:
            numbers = torch.unique(rollouts.group, return_inverse=True)[1]
            rollouts = replace(rollouts, group=groups + numbers)
        parts.append(rollouts)
        groups += len(rows)
    whole = together(parts)
    assert whole is not None
    return whole
