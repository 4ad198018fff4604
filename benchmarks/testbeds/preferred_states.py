"""Preferred states: offline data without rewards, and a judge of pairs of states that errs now and then.

The data are Pendulum's, a tenth of them swing-ups and the rest random torques. The judge stands in for a model of
vision and language: it knows the reward of each state, and gives a share of its answers the wrong way round.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ...agents.control.datasets import Transitions
from ...wrappers.rewards.offline_rl_vlm_f import NoisyJudge, PreferenceModel
from .control import Agent, Control, Phase, last_score
from .pendulum import NETWORKS, SHARED, TASK, SwingUps

SETTINGS: dict[str, Any] = {
    **{name: value for name, value in SHARED.items() if name != "reward_scale"},
    **{"gamma": 0.97, "tau": 0.01, "policy_kwargs": NETWORKS},
}


@dataclass(frozen=True)
class Rewarded:
    """A condition of this testbed.

    Attributes:
        agent: for :func:`tiltyard.agents.make`.
        mistakes: share of the judge's answers that are wrong; None: rewards as they are, which cloning does not need.
        settings: that differ from the testbed's.
    """

    agent: str
    mistakes: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


class Scored(NamedTuple):
    """What a run found: the normalised return, and what is known of the learnt reward (NaN without one)."""

    score: float
    agreement: float
    rank: float
    """Spearman's correlation with the true reward, over the data."""


@dataclass(frozen=True, kw_only=True)
class PreferredStates:
    """The testbed.

    Attributes:
        swing_ups: data of each seed, and scores: 0 random actions, 1 the swing-up.
        updates: of each agent.
        pairs: of states that the judge compares.
        steps: of learning the reward.
    """

    swing_ups: SwingUps = field(default_factory=lambda: SwingUps(good=20, trajectories=200, episodes=10))
    updates: int = 3000
    pairs: int = 1000
    steps: int = 1000

    def run(self, condition: Rewarded, rate: float, seed: int) -> Scored:
        """Rewards the data as the condition says, and scores an agent that learns from them."""
        data, agreement, rank = dataset(self.swing_ups, seed), np.nan, np.nan
        if condition.mistakes is not None:
            data, agreement, rank = self.judged(seed, condition.mistakes, self.pairs)
        bed = Control(
            env=TASK,
            settings=SETTINGS,
            data=lambda _: data,
            phases=(Phase("data", self.updates),),
            score=self.swing_ups.score,
        )
        agent = Agent(condition.agent, condition.settings)
        return Scored(last_score(bed.run(agent, rate, seed)), agreement, rank)

    def judged(self, seed: int, mistakes: float, pairs: int) -> tuple[Transitions, float, float]:
        """The data under a reward learnt from preferences, the agreement with some held out, and the rank."""
        data, model = dataset(self.swing_ups, seed), PreferenceModel(seed=seed)
        judge = NoisyJudge(lambda shown: shown[:, 0], mistakes=mistakes, seed=seed)
        shown = data.rewards[:, None]
        answers = model.fit(data.next_observations, judge, shown=shown, pairs=pairs, steps=self.steps)
        learnt = model.relabelled(data)
        return learnt, answers.agreement, correlation(learnt.rewards, data.rewards)

    def smallest(self) -> Self:
        """Few short trajectories, pairs and updates."""
        few = replace(self.swing_ups, good=1, trajectories=4, episodes=2, steps=20)
        return replace(self, swing_ups=few, updates=3, pairs=60, steps=5)


@lru_cache(maxsize=2)
def dataset(swing_ups: SwingUps, seed: int) -> Transitions:
    """The same for all conditions."""
    return swing_ups.dataset(seed)


def correlation(learnt: npt.NDArray[np.float32], true: npt.NDArray[np.float32]) -> float:
    """Spearman's."""
    from scipy.stats import spearmanr

    return float(spearmanr(learnt, true).statistic)
