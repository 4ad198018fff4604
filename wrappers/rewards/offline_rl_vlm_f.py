r"""Offline-RL-VLM-F: rewards for an offline dataset that has none, learnt from which of two observations is preferred.

    judge = TextJudge(encoder, "the pole stands", margin=0.02)  # of two frames the one more like the text
    model = PreferenceModel(seed=0)
    model.fit(transitions.next_observations, judge, shown=frames, pairs=1000)
    agent.learn_offline(model.relabelled(transitions), 10_000)
    env = PreferenceReward(gymnasium.make("Pendulum-v1"), model)  # to go on online, under the same reward

A judge is asked which of two observations serves the task better, 0 for the first, 1 for the second, -1 where it does
not know; those pairs are left out. The reward r of an observation is learnt by the Bradley-Terry model,

.. math:: P(o_1 \succ o_0) = \frac{\exp r(o_1)}{\exp r(o_0) + \exp r(o_1)},

by cross-entropy, and the transition's reward is that of the observation after it.

Papers: Venkataraman et al., Real-World Offline Reinforcement Learning from Vision Language Model Feedback (2024); Wang
et al., RL-VLM-F (2024), which it builds on. The answers, the ensemble of three whose mean is the reward, tanh, Adam's
3e-4, and the reward of what comes after are those of the authors' code (``reward_model.py``, ``relabel.py``). One
departure: tanh bounds the rewards of frames as well, where theirs has it for states alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.utils import RecordConstructorArgs
from torch import nn
from torch.nn import functional as F

from ..checks import own_reward
from .calibration import Floats
from .encoders import Encoder
from .success_classifier import MOST_ROWS, Standardised, build_network, examples
from .vlm_rm import GoalText

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Judge = Callable[[Array, Array], Ints]
"""Of the first and the second observations ``[n, ...]``: 0, 1 or -1 each, ``[n]``; see the module."""
UNSURE = -1
Data = TypeVar("Data", bound="Dataset")
TERM = "preference"
"""The reward's name in infos."""


class Dataset(Protocol):
    """What is read of a dataset of N transitions in E episodes, as ``Transitions`` of control agents are."""

    @property
    def next_observations(self) -> Array:
        """``[N, ...]``."""

    @property
    def episodes(self) -> Ints:
        """The episode of each transition, from 0 on, ``[N]``."""

    @property
    def episode_returns(self) -> Floats:
        """``[E]``."""

    def __len__(self) -> int:
        """N."""


class TextJudge:
    """Prefers, of two frames, the one that is more like a goal in words.

    Args:
        encoder: see :class:`.vlm_rm.GoalText`, as are the next three.
        goal: likewise.
        baseline: likewise.
        alpha: likewise.
        margin: difference of the two likenesses up to which it does not know.

    Raises:
        ValueError: a margin below 0; for the others see :class:`.vlm_rm.GoalText`.
    """

    def __init__(
        self, encoder: Encoder, goal: str, *, baseline: str | None = None, alpha: float = 0.0, margin: float = 0.0
    ) -> None:
        self.text, self.margin = GoalText(encoder, goal, baseline, alpha), _margin(margin)

    def __call__(self, first: Array, second: Array) -> Ints:
        """Frames ``uint8 [n, H, W, 3]``; see :data:`Judge`."""
        return _answers(self.text.score(first), self.text.score(second), self.margin)


class NoisyJudge:
    """A stand-in for a model of vision and language: knows a score, and errs as often as it is told to.

    Args:
        score: of observations ``[n, ...]``, ``[n]``: the more, the better.
        mistakes: share of answers that are the other one.
        margin: difference of the two scores up to which it does not know.
        seed: of its mistakes.

    Raises:
        ValueError: a share outside [0, 1], or a margin below 0.
    """

    def __init__(
        self, score: Callable[[Array], Floats], *, mistakes: float = 0.0, margin: float = 0.0, seed: int = 0
    ) -> None:
        if not 0.0 <= mistakes <= 1.0:
            raise ValueError(f"mistakes is a share of answers, between 0 and 1, got {mistakes}")
        self.score, self.mistakes, self.margin = score, mistakes, _margin(margin)
        self._rng = np.random.default_rng(seed)

    def __call__(self, first: Array, second: Array) -> Ints:
        """See :data:`Judge`."""
        answers = _answers(self.score(first), self.score(second), self.margin)
        errs = self._rng.random(len(answers)) < self.mistakes
        return np.where(errs & (answers != UNSURE), 1 - answers, answers)


def _margin(margin: float) -> float:
    if not margin >= 0:
        raise ValueError(f"margin is a difference of scores, 0 or more, got {margin}")
    return margin


def _answers(first: Floats, second: Floats, margin: float) -> Ints:
    lead = second - first
    return np.where(np.abs(lead) <= margin, UNSURE, (lead > 0).astype(np.int64))


@dataclass(frozen=True)
class Answers:
    """What a judge said, and how far the learnt reward agrees.

    Attributes:
        asked: pairs.
        unsure: of them, without a preference.
        agreement: share of held-out preferences of which the preferred observation has the larger reward.
    """

    asked: int
    unsure: int
    agreement: float


class PreferenceModel:
    """A reward of observations: the mean of an ensemble, each member an MLP of states or a CNN of uint8 frames.

    Args:
        members: of the ensemble.
        hidden: widths of their hidden layers.
        seed: of everything random here.

    Raises:
        ValueError: no members or no layers.
    """

    def __init__(self, *, members: int = 3, hidden: Sequence[int] = (64, 64), seed: int = 0) -> None:
        if members < 1:
            raise ValueError(f"members is the size of the ensemble, at least 1, got {members}")
        if not hidden or min(hidden) < 1:
            raise ValueError(f"hidden holds the widths of at least one layer, got {list(hidden)}")
        self.members, self.hidden, self.seed = members, tuple(hidden), seed
        self.networks: list[nn.Module] = []
        self.shape: tuple[int, ...] = ()

    def fit(
        self,
        observations: npt.ArrayLike,
        judge: Judge,
        *,
        shown: npt.ArrayLike | None = None,
        pairs: int = 1000,
        holdout: float = 0.2,
        steps: int = 1000,
        batch_size: int = 128,
        learning_rate: float = 3e-4,
    ) -> Answers:
        """Asks the judge about pairs of observations that are drawn at random, and learns the reward anew.

        Args:
            observations: that get a reward: states ``[n, ...]``, or frames ``[n, H, W, channels]`` of uint8.
            judge: see :data:`Judge`.
            shown: what the judge sees in their place ``[n, ...]``, such as their frames; they themselves if None.
            pairs: asked about; two alike are not.
            holdout: share of the preferences that tells the agreement and is not learnt from.
            steps: gradient steps of each member.
            batch_size: preferences of a step.
            learning_rate: of Adam.

        Raises:
            ValueError: observations that are no such arrays or not finite, not as many shown, answers that are none,
                fewer than 8 preferences, or a holdout that is no share.
        """
        if not 0.0 < holdout < 1.0:
            raise ValueError(f"holdout is a share of the preferences, between 0 and 1, got {holdout}")
        given = examples(observations, "observations")
        seen = given if shown is None else np.asarray(shown)
        if len(seen) != len(given):
            raise ValueError(f"the judge is shown one thing an observation: got {len(seen)} for {len(given)}")
        rng = np.random.default_rng(self.seed)
        drawn = rng.integers(len(given), size=(pairs, 2))
        drawn = drawn[[not np.array_equal(seen[one], seen[other]) for one, other in drawn]]
        told = np.asarray(judge(seen[drawn[:, 0]], seen[drawn[:, 1]]))
        if told.shape != (len(drawn),) or not np.isin(told, (UNSURE, 0, 1)).all():
            raise ValueError(f"a judge answers 0, 1 or -1 for each of {len(drawn)} pairs, got {told.shape} {told[:5]}")
        preferred = np.where((told == 1)[:, None], drawn, drawn[:, ::-1])[told != UNSURE]  # worse, better
        if len(preferred) < 8:
            raise ValueError(
                f"the judge preferred one of two in {len(preferred)} of {len(drawn)} pairs, where 8 are the least to "
                "learn from: ask about more pairs, or lower its margin"
            )
        held = max(1, round(holdout * len(preferred)))
        self._learn(given, preferred[held:], rng, steps, batch_size, learning_rate)
        worse, better = (self.rewards(given[preferred[:held, column]]) for column in (0, 1))
        return Answers(len(drawn), int((told == UNSURE).sum()), float((better > worse).mean()))

    def _learn(
        self,
        given: Array,
        preferred: Ints,
        rng: np.random.Generator,
        steps: int,
        batch_size: int,
        learning_rate: float,
    ) -> None:
        self.shape = given.shape[1:]
        with th.random.fork_rng():
            th.manual_seed(self.seed)
            self.networks = [build_network(self.shape, self.hidden) for _ in range(self.members)]
        for network in self.networks:
            if isinstance(network, Standardised):
                network.measure(given)
            optimizer = th.optim.Adam(network.parameters(), lr=learning_rate)
            for _ in range(steps):
                rows = preferred[rng.integers(len(preferred), size=batch_size)]
                worse, better = network(th.from_numpy(given[rows.T.ravel()])).tanh().chunk(2)
                loss = bradley_terry(worse, better)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()

    @th.no_grad()
    def rewards(self, observations: npt.ArrayLike) -> Floats:
        """Of observations ``[n, ...]``, between -1 and 1, ``[n]``.

        Raises:
            RuntimeError: it was never fitted.
            ValueError: observations of another shape, or that are not finite.
        """
        if not self.networks:
            raise RuntimeError("this model has learnt no reward yet: call fit() first")
        given = examples(observations, "observations")
        if given.shape[1:] != self.shape:
            raise ValueError(f"observations to reward have the shape {('n', *self.shape)}, got {given.shape}")
        parts = [th.from_numpy(part) for part in np.split(given, range(MOST_ROWS, len(given), MOST_ROWS))]
        outputs = [th.cat([network(part).tanh() for part in parts]).double() for network in self.networks]
        found: Floats = th.stack(outputs).mean(dim=0).numpy()
        return found

    def relabelled(self, transitions: Data, seen: npt.ArrayLike | None = None) -> Data:
        """The same transitions under the learnt reward, which replaces their own.

        Args:
            transitions: of a dataset, as agents take it.
            seen: what the reward is of after each step ``[N, ...]``, such as frames; ``next_observations`` if None.

        Raises:
            ValueError: not as many seen as there are transitions; see also :meth:`rewards`.
        """
        after = transitions.next_observations if seen is None else np.asarray(seen)
        if len(after) != len(transitions):
            raise ValueError(f"each of {len(transitions)} transitions has a reward of its own, got {len(after)} seen")
        found = self.rewards(after)
        returns = np.zeros(len(transitions.episode_returns))
        np.add.at(returns, transitions.episodes, found)
        own = {"rewards": found.astype(np.float32), "episode_returns": returns}
        return type(transitions)(**{**vars(transitions), **own})


def bradley_terry(worse: th.Tensor, better: th.Tensor) -> th.Tensor:
    """The mean of -log P(better over worse), of rewards ``[n]`` each; see the module."""
    return F.softplus(worse - better).mean()


class PreferenceReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """The learnt reward of the observation after each step; the environment's own stays as ``true_reward`` in the info.

    Args:
        env: whose reward is replaced.
        model: fitted.
        view: what the model rewards of an observation, such as ``lambda _: env.render()``; None for all of it.

    Raises:
        TypeError: no model.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        model: PreferenceModel,
        *,
        view: Callable[[Any], Array] | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, model=model, view=view)
        super().__init__(env)
        if not hasattr(model, "rewards"):
            raise TypeError(f"model must be a fitted PreferenceModel, got {model!r:.200}")
        self.model, self.view = model, view

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Steps and rewards."""
        observation, paid, terminated, truncated, info = self.env.step(action)
        seen = np.asarray(observation if self.view is None else self.view(observation))
        reward = float(self.model.rewards(seen[None])[0])
        told = {**info, "true_reward": own_reward(info, paid), "reward_terms": {TERM: reward}}
        return observation, reward, terminated, truncated, told
