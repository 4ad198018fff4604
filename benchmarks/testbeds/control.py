"""Control: real agents on small environments and bandits, each condition with the same budget and settings.

An agent learns by a schedule of phases, from data or in its environment, and is scored after each. Data, environments
and scores are the claims' own: :mod:`.bandit`, :mod:`.pendulum`,
:mod:`.pendulum_gap`, :mod:`.peg`, :mod:`.mixed_experts`, :mod:`.noisy_rewards`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Generic, Literal, NamedTuple, Self, TypeVar

import gymnasium
import numpy as np

from ...agents import make
from ...agents.control.datasets import Transitions
from ...envs.catalogue import find
from ..evaluation import evaluate

S = TypeVar("S")
Env = gymnasium.Env[Any, Any]


class Phase(NamedTuple):
    """What an agent learns before it is scored: updates from data, or steps in its environment."""

    kind: Literal["data", "steps"]
    amount: int


@dataclass(frozen=True)
class Agent:
    """A condition of this testbed.

    Attributes:
        name: for :func:`tiltyard.agents.make`.
        settings: that differ from the testbed's.
        preloaded: whether it is handed the testbed's data before its first phase.
        offline: whether it learns from data alone, as many updates as the others take steps.
        wrap: makes another training environment of the testbed's.
        rates: settings that get the learning rate, where a claim tunes it.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    preloaded: bool = False
    offline: bool = False
    wrap: Callable[[Env], Env] | None = None
    rates: tuple[str, ...] = ("learning_rate",)

    def given(self, **settings: Any) -> Self:
        """This condition with other settings beside its own."""
        return replace(self, settings={**self.settings, **settings})

    def at(self, rate: float) -> Self:
        """This condition at a learning rate; as it is if that is NaN."""
        return self if rate != rate else self.given(**dict.fromkeys(self.rates, rate))

    @property
    def told(self) -> dict[str, Any]:
        """Name and settings (JSON)."""
        return {"agent": self.name, **self.settings}


@dataclass(frozen=True, kw_only=True)
class Control:
    """The testbed.

    Attributes:
        env: an id, or makes what agents train in.
        settings: of all agents.
        phases: what an agent learns, in order.
        score: of an agent and its seed, after each phase.
        data: of a seed.
        at_end: measures an agent after the last phase.
        small: fields of the smallest size.
        is_small: whether it is of that size.
    """

    env: str | Callable[[], Env]
    settings: Mapping[str, Any]
    phases: tuple[Phase, ...]
    score: Callable[[Any, int], Any]
    data: Callable[[int], Transitions] | None = None
    at_end: Callable[[Any], Any] | None = None
    small: Mapping[str, Any] = field(default_factory=dict)
    is_small: bool = False

    @property
    def moments(self) -> list[int]:
        """Updates or steps after which agents are scored."""
        return list(accumulate(phase.amount for phase in self.phases))

    def agent(self, condition: Agent, seed: int) -> Any:
        """A condition before training."""
        env: Any = self.env if isinstance(self.env, str) else self.env()
        if condition.wrap is not None:
            env = condition.wrap(gymnasium.make(env) if isinstance(env, str) else env)
        return make(condition.name, env, seed=seed, **{"device": "cpu", **self.settings, **condition.settings})

    def run(self, condition: Agent, rate: float, seed: int) -> "Trained[Any]":
        """Trains a condition, at its own learning rate where ``rate`` is NaN."""
        data: Any = self.data(seed) if self.data else None
        agent = self.agent(condition.at(rate), seed)
        if condition.preloaded:
            agent.learn_offline(data, 0)
        scores = []
        for phase in self.phases:
            if phase.kind == "data" or condition.offline:
                agent.learn_offline(data, phase.amount)
            else:
                agent.learn(phase.amount, reset_num_timesteps=False)
            scores.append(self.score(agent, seed))
        return Trained(scores, self.at_end(agent) if self.at_end else None)

    def smallest(self) -> Self:
        """Few steps and updates; see ``small``."""
        few = tuple(Phase(phase.kind, min(phase.amount, 16)) for phase in self.phases[:2])
        return replace(self, **{"phases": few, **self.small, "is_small": True})

    def sized(self, other: "Control") -> "Control":
        """Another testbed in the size of this one."""
        return other.smallest() if self.is_small else other


@dataclass(frozen=True)
class Trained(Generic[S]):
    """An agent's score after each phase, and what was measured at its end."""

    scores: list[S]
    at_end: Any = None


def last_score(run: Trained[float]) -> float:
    """After the last phase."""
    return run.scores[-1]


def mean_score(run: Trained[float]) -> float:
    """Over all phases: for phases of equal length, the area under the curve."""
    return float(np.mean(run.scores))


def normalised_return(task: str, episodes: int) -> Callable[[Any, int], float]:
    """Scores agents by their normalised return (0 random, 1 the expert) on test problems of a task."""
    return lambda agent, seed: find(task).normalise(evaluate(agent, task, episodes=episodes).mean)


def first_reward(task: str) -> Callable[[Any, int], float]:
    """Scores agents by what their first action earns: for the smallest sizes where whole episodes are long."""

    def score(agent: Any, seed: int) -> float:
        env = gymnasium.make(task)
        seen, _ = env.reset(seed=seed)
        _, reward, *_ = env.step(agent.predict(seen, deterministic=True)[0])
        env.close()
        return float(reward)

    return score


def evenly(steps: int, moments: int) -> tuple[Phase, ...]:
    """Steps in the environment, cut into phases of nearly equal length."""
    ends = [steps * moment // moments for moment in range(moments + 1)]
    return tuple(Phase("steps", end - start) for start, end in zip(ends, ends[1:], strict=False))
