"""Students of bandit algorithms in new linear bandits: their regret beside the teacher's, and how far they imitate it.

A student is :class:`~...agents.control.algorithm_distillation.AlgorithmDistillation`, pretrained on other bandits. The
error of imitation is the total variation between a student of LinUCB and LinUCB on histories that LinUCB itself has
played, mean over steps: one minus the student's probability of LinUCB's action.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch as th
from stable_baselines3.common.utils import LinearSchedule

from ...agents import make
from ...agents.control.algorithm_distillation import distribution_ratio
from ...agents.control.history_algorithms import NAMES, Algorithm, uniform
from ...agents.models.in_context import Context
from ..statistics import Floats
from .linear_bandits import LinearBanditVectorEnv

STEPS = 10
"""Of a history whose actions are asked at once."""


@dataclass(frozen=True)
class Student:
    """A condition.

    Attributes:
        expert: whose actions are the labels: "linucb" or "optimal".
        contexts: algorithms that play the histories.
    """

    expert: str
    contexts: tuple[str, ...]

    @property
    def teacher(self) -> str:
        """The algorithm that the student is expected to be: labels of the best arm teach Thompson sampling."""
        return "thompson" if self.expert == "optimal" else self.expert


@dataclass(frozen=True)
class Imitated:
    """What became of a student.

    Attributes:
        regret: of all pulls, mean over bandits, by actions that are sampled.
        likeliest: the same by the student's likeliest actions.
        teacher: the teacher's in the same bandits.
        random: that of arms at random.
        errors: of imitation at each step ``[T]``; NaN where the teacher's odds are not known.
    """

    regret: float
    likeliest: float
    teacher: float
    random: float
    errors: Floats

    @property
    def excess(self) -> float:
        """How much more the student loses than its teacher, as a share of what the teacher loses."""
        return self.regret / self.teacher - 1

    @property
    def error(self) -> float:
        """Of imitation, mean over steps."""
        return float(self.errors.mean())


@dataclass(frozen=True, kw_only=True)
class DistilledBandits:
    """The testbed.

    Attributes:
        arms: of a bandit.
        features: of an arm.
        pulls: of a history.
        tests: bandits of a score.
        n_envs: bandits of a round of pretraining.
        rounds: of pretraining.
        gradient_steps: after each.
        settings: of all students; ``rate`` falls to 0 over pretraining.
    """

    arms: int = 5
    features: int = 5
    pulls: int = 30
    tests: int = 500
    n_envs: int = 64
    rounds: int = 110
    gradient_steps: int = 16
    settings: tuple[tuple[str, Any], ...] = (
        ("batch_size", 16),
        ("queries_per_task", 8),
        ("policy_kwargs", {"width": 48, "depth": 2, "heads": 2}),
    )

    def family(self, count: int, split: str) -> LinearBanditVectorEnv:
        """Bandits."""
        return LinearBanditVectorEnv(count, arms=self.arms, features=self.features, pulls=self.pulls, split=split)

    def pretrained(self, condition: Student, rate: float, seed: int) -> Any:
        """A student."""
        agent: Any = make(
            "algorithm-distillation",
            self.family(self.n_envs, "train"),
            policy="ArmPolicy",
            expert=condition.expert,
            contexts=list(condition.contexts),
            learning_rate=LinearSchedule(rate, 0.0, 1.0),
            context_length=self.pulls,
            gradient_steps=self.gradient_steps,
            seed=self.first(seed),
            device="cpu",
            **dict(self.settings),
        )
        agent.learn(self.rounds * self.pulls * self.n_envs, log_interval=None)
        return agent

    def run(self, condition: Student, rate: float, seed: int) -> Imitated:
        """Pretrains a student, and holds it against its teacher in new bandits."""
        agent, first = self.pretrained(condition, rate, seed), self.first(seed)
        algorithm = NAMES[condition.teacher](self.arms)
        means, context = self.played(algorithm, seed)
        known = condition.teacher == "linucb"

        def earned(deterministic: bool) -> float:
            test = self.family(self.tests, "test")
            return regret(means, agent.deploy(test, seed=first, deterministic=deterministic).actions)

        return Imitated(
            regret=earned(False),
            likeliest=earned(True),
            teacher=regret(means, context.actions),
            random=regret(means, self.played(uniform(self.arms), seed)[1].actions),
            errors=1 - odds(agent, context) if known else np.full(self.pulls, np.nan),
        )

    def first(self, seed: int) -> int:
        """Names the test bandits of a seed, and the student's randomness."""
        return 3_000_000 + self.tests * seed

    def played(self, algorithm: Algorithm, seed: int) -> tuple[Floats, Context]:
        """What each arm pays ``[B, A]``, and the algorithm's histories, in the test bandits of a seed."""
        env, rng = self.family(self.tests, "test"), np.random.default_rng([2310, seed])
        seen, info = env.reset(seed=self.first(seed))
        context = Context.empty(self.tests, self.arms * self.features)
        flat = seen.reshape(self.tests, 1, -1)
        for _ in range(self.pulls):
            actions = algorithm(context, seen, rng)
            _, rewards, *_ = env.step(actions)
            context = context.joined(Context.of(flat, actions[:, None], rewards[:, None], flat))
        return info["means"], context

    def ratio(self, condition: Student) -> float:
        """The distribution ratio of LinUCB to the context algorithm, which is LinUCB in some tasks and even odds else.

        LinUCB's actions are certain, and so every history of its own has the same ratio.
        """
        share = condition.contexts.count("linucb") / len(condition.contexts)
        with np.errstate(divide="ignore"):
            parts = np.log([share, 1 - share]) + [0.0, -self.pulls * np.log(self.arms)]
        return distribution_ratio([[0.0]], [[np.logaddexp(*parts)]])

    def smallest(self) -> Self:
        """A round, three bandits."""
        return replace(self, arms=3, features=2, pulls=6, tests=3, n_envs=2, rounds=1, gradient_steps=1)


def regret(means: Floats, actions: Any) -> float:
    """What actions ``[B, T]`` earn less than the best arm of means ``[B, A]``, sum over pulls and mean over bandits."""
    best = means.max(axis=1, keepdims=True)
    return float((best - np.take_along_axis(means, actions, axis=1)).sum(axis=1).mean())


@th.no_grad()
def odds(agent: Any, context: Context) -> Floats:
    """A student's probability of each action of histories, given what lies before it, mean over histories ``[T]``."""
    pulls, found = context.actions.shape[1], []
    for steps in np.array_split(np.arange(pulls), -(-pulls // STEPS)):
        seen = np.broadcast_to(np.arange(pulls) < steps[:, None], (len(context.actions), len(steps), pulls))
        given = agent.policy.logits(context.observations[:, steps], context, seen).softmax(-1).cpu().numpy()
        found.append(np.take_along_axis(given, context.actions[:, steps, None], axis=2)[..., 0].mean(axis=0))
    return np.concatenate(found).astype(np.float64)
