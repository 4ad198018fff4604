"""Trajectories without rewards for agents of goals: what they keep, and batches whose goals are drawn in hindsight.

Observations are those of Gymnasium's goal environments: ``observation``, ``achieved_goal`` and ``desired_goal``. A
state is the first two side by side, and a goal is what could be achieved. The goals that episodes had are not read.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch as th
from gymnasium.spaces import Box, Dict, Space
from stable_baselines3.her import HerReplayBuffer
from torch import Tensor

from .datasets import Episode, Float32, Transitions, episodes_of, load

if TYPE_CHECKING:
    from minari import MinariDataset

GOALS = ("observation", "achieved_goal", "desired_goal")


def check_goals(observation_space: Space[Any], action_space: Space[Any], who: str) -> None:
    """Refuses spaces that are not of a goal environment with continuous actions.

    Raises:
        TypeError: such spaces.
    """
    parts: Any = observation_space.spaces if isinstance(observation_space, Dict) else {}
    flat = all(isinstance(part, Box) and len(part.shape) == 1 for part in parts.values())
    if set(parts) != set(GOALS) or not flat or parts["achieved_goal"].shape != parts["desired_goal"].shape:
        raise TypeError(
            f"{who} learns in goal environments, whose observations are a dict of flat {', '.join(GOALS)}, not in one "
            f"of {observation_space}: make a maze with goal_conditioned=True"
        )
    if not isinstance(action_space, Box) or len(action_space.shape) != 1:
        raise TypeError(f"{who} acts in a flat Box, not in {action_space}")


def flat_spaces(observation_space: Space[Any]) -> tuple[Box, Box]:
    """Those of a goal environment's ``observation`` and ``achieved_goal``."""
    assert isinstance(observation_space, Dict)
    seen, achieved = observation_space["observation"], observation_space["achieved_goal"]
    assert isinstance(seen, Box)
    assert isinstance(achieved, Box)
    return seen, achieved


@dataclass(frozen=True)
class GoalTransitions(Transitions):
    """Transitions whose observations are the part ``observation`` of a goal environment's.

    Attributes:
        achieved: ``[N, goal]`` float32, ``achieved_goal`` before each step.
        next_achieved: ``[N, goal]`` float32, after it.
    """

    achieved: Float32
    next_achieved: Float32

    def check(self, observation_space: Space[Any], action_space: Space[Any]) -> None:
        """As of :class:`~.datasets.Transitions`, and that goals fit too.

        Raises:
            ValueError: they do not fit, or cannot be learnt from.
        """
        seen, achieved = flat_spaces(observation_space)
        super().check(seen, action_space)
        for name in ("achieved", "next_achieved"):
            array, wanted = getattr(self, name), (len(self), *achieved.shape)
            if array.shape != wanted:
                raise ValueError(f"these transitions hold {name} of shape {array.shape}, the agent needs {wanted}")
            if not np.isfinite(array).all():
                raise ValueError(f"these transitions hold NaN or infinity in their {name}")

    @classmethod
    def from_minari(
        cls, dataset: "MinariDataset | str", observation_space: Space[Any], action_space: Space[Any]
    ) -> "GoalTransitions":
        """Reads a whole dataset of a goal environment, checking it for an agent with these spaces.

        Raises:
            FileNotFoundError: no such local dataset.
            TypeError: neither a dataset nor an id.
            ValueError: one that does not fit the agent, or holds what cannot be learnt from.
        """
        dataset = load(dataset)
        own = dataset.observation_space
        wanted = {name: part.shape for name, part in observation_space.spaces.items()}  # type: ignore[attr-defined]
        if not isinstance(own, Dict) or {name: part.shape for name, part in own.spaces.items()} != wanted:
            raise ValueError(f"dataset {dataset.id} is of another space: its observations are {own}, not {wanted}")
        parts = [GoalEpisode(dataset.id, one).checked(observation_space, action_space) for one in episodes_of(dataset)]
        if not parts:
            raise ValueError(f"dataset {dataset.id} is empty: an agent needs at least one episode to learn from")
        return cls._joined(parts)


class GoalEpisode(Episode):
    """One recorded episode of a goal environment."""

    def checked(self, observation_space: Space[Any], action_space: Space[Any]) -> dict[str, Any]:
        """Its arrays by :class:`GoalTransitions`' names."""
        whole, (seen, achieved) = self._episode, flat_spaces(observation_space)
        found: dict[str, Any] = {}
        for name, space in (("achieved_goal", achieved), ("observation", seen)):
            self._episode = _Renamed(whole, whole.observations[name])
            found[name] = super().checked(space, action_space)
        self._episode = whole
        goals = {name.replace("observations", "achieved"): found["achieved_goal"][name] for name in SEEN}
        return {**found["observation"], **goals}


SEEN = ("observations", "next_observations")


class _Renamed:
    """An episode one part of whose observations stands for the whole."""

    def __init__(self, episode: Any, observations: Any) -> None:
        self.observations, self.actions = observations, episode.actions
        self.rewards, self.terminations = episode.rewards, episode.terminations


class Walks(Protocol):
    """Finished episodes, a step of which has a number."""

    def draw(self, n: int) -> Tensor:
        """``n`` steps, each as likely as any other, ``[n]``."""

    def left(self, at: Tensor) -> Tensor:
        """How many steps later the episode ends, ``[n]``, 1 or more."""

    def states(self, at: Tensor, later: Tensor) -> Tensor:
        """The states so many steps ``later`` (0 to what is left), ``[n, obs + goal]``."""

    def taken(self, at: Tensor) -> Tensor:
        """The actions, scaled to [-1, 1], ``[n, act]``."""


class RecordedWalks:
    """A dataset, laid end to end.

    Args:
        data: of a goal environment.
        actions: ``[N, act]``, scaled to [-1, 1].
    """

    def __init__(self, data: GoalTransitions, actions: Float32) -> None:
        begun, ended = (
            np.concatenate(pair, axis=1)
            for pair in ((data.observations, data.achieved), (data.next_observations, data.next_achieved))
        )
        at = np.arange(len(data)) + data.episodes  # an episode has a state more than steps
        states = np.empty((len(data) + len(data.episode_returns), begun.shape[1]), np.float32)
        states[at], states[at[data.ends] + 1] = begun, ended[data.ends]
        self._states, self._at, self._actions = th.from_numpy(states), th.from_numpy(at), th.from_numpy(actions)
        self._last = th.from_numpy(at[data.ends][data.episodes] + 1)

    def __len__(self) -> int:
        return len(self._at)

    def draw(self, n: int) -> Tensor:
        """See :class:`Walks`."""
        return th.randint(len(self), (n,))

    def left(self, at: Tensor) -> Tensor:
        """See :class:`Walks`."""
        return self._last[at] - self._at[at]

    def states(self, at: Tensor, later: Tensor) -> Tensor:
        """See :class:`Walks`."""
        return self._states[self._at[at] + later]

    def taken(self, at: Tensor) -> Tensor:
        """See :class:`Walks`."""
        return self._actions[at]


class WalkReplay(HerReplayBuffer):
    """SB3's buffer of episodes, of whose finished ones steps are drawn as :class:`Walks`; a step's number is flat."""

    @property
    def transitions(self) -> int:
        """How many there are of finished episodes."""
        return int((self.ep_length > 0).sum())

    def draw(self, n: int) -> Tensor:
        """See :class:`Walks`."""
        valid = np.flatnonzero(self.ep_length > 0)
        return th.from_numpy(valid)[th.randint(len(valid), (n,))]

    def left(self, at: Tensor) -> Tensor:
        """See :class:`Walks`."""
        row, env = np.divmod(at.numpy(), self.n_envs)
        done = (row - self.ep_start[row, env]) % self.buffer_size
        return th.from_numpy(self.ep_length[row, env] - done)

    def states(self, at: Tensor, later: Tensor) -> Tensor:
        """See :class:`Walks`."""
        row, env = np.divmod(at.numpy(), self.n_envs)
        ended = (later == self.left(at)).numpy()[:, None]
        place = (row + later.numpy() - ended[:, 0]) % self.buffer_size, env
        parts = [
            np.where(ended, self.next_observations[name][place], self.observations[name][place]) for name in GOALS[:2]
        ]
        return th.from_numpy(np.concatenate(parts, axis=1).astype(np.float32))

    def taken(self, at: Tensor) -> Tensor:
        """See :class:`Walks`."""
        row, env = np.divmod(at.numpy(), self.n_envs)
        return th.from_numpy(self.actions[row, env].astype(np.float32))


class GoalBatch(NamedTuple):
    """What an update of a two-level agent sees of B steps: states s, goals g, and which goals are reached."""

    states: Tensor  # [B, obs + goal]
    actions: Tensor  # [B, act], scaled to [-1, 1]
    next_states: Tensor  # [B, obs + goal]
    goals: Tensor  # [B, goal], of the low-level value
    reached: Tensor  # [B] bool: the state is where the goal was achieved
    option_ends: Tensor  # [B, obs + goal]: the state after the option
    option_goals: Tensor  # [B, goal], of the high-level value
    option_reached: Tensor  # [B] bool: the option ends where the goal was achieved
    targets: Tensor  # [B, obs + goal]: the state that the high-level policy is to name
    actor_goals: Tensor  # [B, goal], of the high-level policy
    subgoals: Tensor  # [B, goal], of the low-level policy

    def to(self, device: th.device | str) -> "GoalBatch":
        """On a device."""
        return GoalBatch(*(part.to(device) for part in self))

    def beside(self, other: "GoalBatch") -> "GoalBatch":
        """These and then those of another."""
        return GoalBatch(*(th.cat(pair) for pair in zip(self, other, strict=True)))


CURRENT, AHEAD, ANY = 0, 1, 2
"""Where a goal was achieved: there already, later in the same episode, or at any step."""


@dataclass(frozen=True)
class Hindsight:
    """How goals are drawn, as in OGBench's code of HIQL and the authors' of OTA.

    A goal of any step that happens to be the state itself, one in N, does not count as reached.

    Args:
        goal_size: numbers of a goal, which are the last of a state.
        gamma: values' goals ahead are geometrically many steps away, 1 / (1 - gamma) on average; those of the
            high-level policy evenly many. None lies beyond the episode's end.
        current: share of values' goals that are achieved already: by the state, or by the end of the option.
        ahead: share of values' goals that lie ahead in the same episode; the rest are of any step.
        actor_random: share of the high-level policy's goals that are of any step; the rest lie ahead.
        subgoal_steps: k, how far ahead subgoals lie.
        option_steps: n, how long options are, unless a goal ahead or the episode's end comes before.
    """

    goal_size: int
    gamma: float
    current: float
    ahead: float
    actor_random: float
    subgoal_steps: int
    option_steps: int

    def batch(self, walks: Walks, n: int) -> GoalBatch:
        """``n`` steps of finished episodes, each with goals of its own."""
        at, now = walks.draw(n), th.zeros(n, dtype=th.long)
        left = walks.left(at)
        kind, later = self._kinds(n), self._geometric(left)
        option_kind, option_later = self._kinds(n), self._geometric(left)
        end = th.where(option_kind == AHEAD, option_later, left).clamp_max(self.option_steps)
        states, ends = walks.states(at, now), walks.states(at, end)
        far = (left - th.rand(n) * (left - 1)).round().long()
        anywhere = th.rand(n) < self.actor_random
        target = th.where(anywhere, left, far).clamp_max(self.subgoal_steps)
        return GoalBatch(
            states=states,
            actions=walks.taken(at),
            next_states=walks.states(at, now + 1),
            goals=self._picked(kind, self._goal(states), self._goals(walks, at, later), self._any(walks, n)),
            reached=kind == CURRENT,
            option_ends=ends,
            option_goals=self._picked(
                option_kind, self._goal(ends), self._goals(walks, at, option_later), self._any(walks, n)
            ),
            option_reached=(option_kind == CURRENT) | ((option_kind == AHEAD) & (end == option_later)),
            targets=walks.states(at, target),
            actor_goals=th.where(anywhere[:, None], self._any(walks, n), self._goals(walks, at, far)),
            subgoals=self._goals(walks, at, left.clamp_max(self.subgoal_steps)),
        )

    def _kinds(self, n: int) -> Tensor:
        drawn = th.rand(n)
        return th.where(drawn < self.current, CURRENT, th.where(drawn < self.current + self.ahead, AHEAD, ANY))

    def _geometric(self, left: Tensor) -> Tensor:
        """Steps ahead ``[n]``, from 1 to ``left``."""
        per_step = -math.log(self.gamma) if self.gamma else math.inf
        steps = -(1 - th.rand(len(left))).log() / max(per_step, 1e-9)
        return steps.ceil().clamp(th.ones(()), left).long()

    def _goal(self, states: Tensor) -> Tensor:
        return states[:, states.shape[1] - self.goal_size :]

    def _goals(self, walks: Walks, at: Tensor, later: Tensor) -> Tensor:
        return self._goal(walks.states(at, later))

    def _any(self, walks: Walks, n: int) -> Tensor:
        return self._goals(walks, walks.draw(n), th.zeros(n, dtype=th.long))

    def _picked(self, kind: Tensor, there: Tensor, later: Tensor, anywhere: Tensor) -> Tensor:
        kind = kind[:, None]
        return th.where(kind == CURRENT, there, th.where(kind == AHEAD, later, anywhere))
