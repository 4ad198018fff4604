r"""Algorithm distillation: a transformer taught what an expert algorithm would do after each beginning of a history.

    agent = make("algorithm-distillation", bandits, policy="ArmPolicy", expert="linucb")
    agent.learn(1_000_000)                                    # imitates LinUCB on LinUCB's own histories
    agent = make(..., expert="linucb", contexts=["linucb", "uniform"])      # half of the histories are random
    agent = make(..., expert="optimal", contexts=["uniform", "thompson"])   # DPT's labels: posterior sampling

Paper: Lin, Bai and Mei, Transformers as Decision Makers: Provable In-Context Reinforcement Learning via Supervised
Pretraining (2023), sec. 3 and 5. "The authors' code" is github.com/licong-lin/in-context-rl, which was read; of the
paper itself the abstract and the beginnings of sections 1, 3 and 5 and of the details of experiments were, but not its
theorem: what is said of the ratio of distributions is from summaries.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Discrete
from stable_baselines3.common.vec_env import VecEnv

from ... import unknown
from ..models.in_context import Context
from .dpt_tasks import Batch, Ints, Player, Task, expert_of, side_by_side
from .history_algorithms import NAMES, Algorithm, named
from .in_context_agent import InContextAgent, InContextSettings
from .settings import takes

OPTIMAL = "optimal"
"""The name of the environment's expert."""


@dataclass(frozen=True)
class AlgorithmDistillationSettings(InContextSettings):
    """Those of algorithm distillation, beside :class:`~.InContextSettings`.

    Args:
        expert: whose actions are the labels: "optimal" (the environment's ``expert()``), or of
            :data:`~.history_algorithms.NAMES` "linucb", "thompson" or "uniform".
        contexts: algorithms that play the tasks, each task by one of them, drawn evenly; None for the expert alone.
        algorithm_kwargs: arguments of algorithms by name, ``{"linucb": {"bonus": 1.0}}``.
    """

    expert: str = OPTIMAL
    contexts: list[str] | None = None
    algorithm_kwargs: dict[str, dict[str, float]] | None = None


class AlgorithmDistillation(InContextAgent):
    r"""Supervised pretraining on whole histories, with a context algorithm and an expert algorithm.

    In each task the context algorithm :math:`alg_0` plays, and after each step the expert :math:`alg_E` says what it
    would do next, :math:`\bar a_t \sim alg_E(\cdot | D_{t-1}, s_t)`. The network maximises (sec. 3)

    .. math:: \frac1n \sum_i \sum_t \log alg_\theta(\bar a^i_t | D^i_{t-1}, s^i_t).

    With contexts that are the expert's own this is algorithm distillation (Laskin et al. 2022); with "optimal" as
    expert, and others' contexts, it is DPT with its loss on every step, whose model is Thompson sampling: it says how
    likely each action is the best. Deployed (:meth:`~.InContextAgent.deploy`), it plays its own contexts, which are
    nearly the expert's if it imitates well. The paper bounds the difference of their regrets by a term that grows with
    the square root of :func:`distribution_ratio` of the expert to the context algorithm.

    Departures: the authors' network is a GPT-2 with positions that reads a list of features and an index of the action
    taken, with attention by ReLU; here it is :mod:`~..models.in_context`, which reads transitions as a set, and its
    loss is of ``queries_per_task`` steps of a history, drawn evenly, where theirs is of all. Longer histories than
    ``context_length`` are cut to a stretch of this length, drawn at random. Tasks are played as training goes on.
    """

    settings: AlgorithmDistillationSettings

    @takes(AlgorithmDistillationSettings)
    def __init__(self, settings: AlgorithmDistillationSettings) -> None:
        names = (OPTIMAL, *NAMES)
        for name in (settings.expert, *(settings.contexts or ()), *(settings.algorithm_kwargs or {})):
            if name not in names:
                raise ValueError(unknown("algorithm", name, names))
        if settings.contexts is not None and not settings.contexts:
            raise ValueError("contexts must name at least one algorithm, got none")
        super().__init__(settings)

    def algorithm(self, name: str, env: VecEnv) -> Algorithm:
        """One by name.

        Raises:
            TypeError: an environment without an expert, or whose observations do not fit.
        """
        if name == OPTIMAL:
            expert = expert_of(env)
            return lambda context, observations, rng: expert(observations)
        assert isinstance(env.action_space, Discrete)
        how = (self.settings.algorithm_kwargs or {}).get(name, {})
        return named(name, env.observation_space, env.action_space, **how)

    def player(self, env: VecEnv) -> Player:
        """Each task by one of the context algorithms; labels are the expert's after the same history."""
        asked, n = self.settings, env.num_envs
        names = asked.contexts or (asked.expert,)
        chosen = self.rng.integers(len(names), size=n)
        algorithms = {name: self.algorithm(name, env) for name in {*names, asked.expert}}

        def play(seen: Any, columns: list[Context]) -> tuple[Ints, Ints]:
            context = side_by_side(columns) if columns else Context.empty(n, self.policy.observation_size)
            said = {name: act(context, seen, self.rng) for name, act in algorithms.items()}
            own = np.stack([said[name] for name in names])
            return own[chosen, np.arange(n)], said[asked.expert]

        return play

    def keep(self, context: Context, labels: Ints) -> list[Task]:
        """Of each task the transitions in their order, at most ``context_length`` of them."""
        limit, found = self.settings.context_length, []
        for i in np.flatnonzero(context.valid.any(axis=1)):
            places = np.flatnonzero(context.valid[i])
            first = int(self.rng.integers(max(len(places) - limit, 0) + 1))
            places = places[first : first + limit]
            room = limit - len(places)
            parts = [*(part[i, places] for part in context), labels[i, places]]
            found.append(Task(*(np.pad(part, [(0, room)] + [(0, 0)] * (part.ndim - 1)) for part in parts)))
        return found

    def batch(self, tasks: list[Task]) -> Batch:
        """Steps at random, each with what lies before it; see :func:`beginnings`."""
        return beginnings(tasks, self.settings.queries_per_task, self.rng)


def beginnings(tasks: list[Task], queries: int, rng: np.random.Generator) -> Batch:
    """Of each task some steps, drawn evenly: the state, the label, and the transitions before the step as its context.

    Args:
        tasks: with their transitions in order.
        queries: steps of each.
        rng: that draws.
    """
    observations, *rest, valid, labels = (np.stack(column) for column in zip(*tasks, strict=True))
    counts, rows = valid.sum(axis=1), np.arange(len(tasks))[:, None]
    places = rng.integers(0, counts[:, None], (len(tasks), queries))
    most = int(places.max())
    context = Context(*(part[:, :most] for part in (observations, *rest, valid)))
    seen = np.arange(most) < places[:, :, None]
    return Batch(context, observations[rows, places], seen, th.as_tensor(labels[rows, places]))


def distribution_ratio(expert: npt.ArrayLike, context: npt.ArrayLike) -> float:
    r"""How much likelier the expert's histories are to the expert than to the context algorithm, on average.

    .. math:: R = E_{D \sim alg_E} \prod_t \frac{alg_E(a_t | D_{t-1}, s_t)}{alg_0(a_t | D_{t-1}, s_t)},

    which is 1 where they are the same and :math:`1 + \chi^2` between their histories in general. A context algorithm
    that is drawn for each task has one log-likelihood a history: give that as ``[N, 1]``.

    Args:
        expert: log-probabilities of the actions of N histories that the expert played ``[N, T]``.
        context: those of the same actions under the context algorithm, ``[N, T]``.

    Returns:
        R, at least 0; infinite where the context algorithm never does what the expert did.
    """
    theirs, ours = (np.asarray(one, np.float64).sum(axis=1) for one in (expert, context))
    with np.errstate(over="ignore"):
        return float(np.exp(theirs - ours).mean())
