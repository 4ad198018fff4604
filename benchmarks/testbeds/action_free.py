"""Pendulum's datasets where only poor trajectories have their actions recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from ...agents import make
from ...agents.control.datasets import Transitions
from .control import Agent
from .pendulum import NETWORKS, TASK, SwingUps

SETTINGS: dict[str, Any] = {"learning_rate": 1e-3, "batch_size": 128, "buffer_size": 10, "policy_kwargs": NETWORKS}


class Outcome(NamedTuple):
    """What a run scored."""

    score: float  # normalised return
    error: float  # mean square error of the actions filled in, over their variance; NaN where there are none


def part(data: Transitions, chosen: Any) -> Transitions:
    """The trajectories of some indices, in their order."""
    kept = np.isin(data.episodes, chosen)
    _, episodes = np.unique(data.episodes[kept], return_inverse=True)
    steps = ("observations", "actions", "rewards", "next_observations", "terminations", "ends")
    of_steps = {name: np.ascontiguousarray(getattr(data, name)[kept]) for name in steps}
    return Transitions(
        **of_steps, episodes=episodes.astype(np.int64), episode_returns=data.episode_returns[np.sort(chosen)]
    )


@dataclass(frozen=True, kw_only=True)
class ActionFree:
    """The testbed: labels are drawn from the trajectories of the lowest returns, as in the paper's hardest settings.

    A condition is an agent whose setting ``labels`` says what it learns from: "few", the labelled trajectories alone;
    "proxy", those and the rest without actions; "all", every trajectory with its actions.

    Attributes:
        data: of swing-ups and random actions.
        lowest: share of the trajectories that labels are drawn from.
        labelled: share of the trajectories that have actions.
        updates: of each agent.
        settings: of all agents.
    """

    data: SwingUps = field(default_factory=lambda: SwingUps(good=150, trajectories=200))
    lowest: float = 0.25
    labelled: float = 0.1
    updates: int = 2000
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def split(self, seed: int) -> tuple[Transitions, Transitions, Transitions]:
        """All trajectories, the labelled ones, and the others."""
        whole = self.data.dataset(seed)
        order = np.argsort(whole.episode_returns)
        few = np.random.default_rng([2210, seed]).permutation(order[: max(2, round(self.lowest * len(order)))])
        few = few[: max(2, round(self.labelled * len(order)))]
        return whole, part(whole, few), part(whole, np.setdiff1d(order, few))

    def run(self, condition: Agent, rate: float, seed: int) -> Outcome:
        """Trains a condition; agents bring their own learning rates."""
        settings = {**self.settings, **condition.settings}
        labels, error = settings.pop("labels"), float("nan")
        whole, few, rest = self.split(seed)
        agent: Any = make(condition.name, TASK, seed=seed, device="cpu", **settings)
        if labels == "proxy":
            agent.learn_offline(few, self.updates, action_free=rest)
            filled = agent.inverse.actions(rest)
            error = float(np.square(filled - rest.actions).mean() / rest.actions.var())
        else:
            agent.learn_offline(whole if labels == "all" else few, self.updates)
        return Outcome(self.data.score(agent, seed), error)

    def smallest(self) -> Self:
        """Four short trajectories, hardly any updates."""
        few = replace(self.data, good=1, trajectories=4, episodes=2, steps=20)
        return replace(
            self, data=few, updates=3, lowest=0.5, labelled=0.5, settings={**self.settings, "inverse_updates": 3}
        )
