"""The one thing an environment author writes, :class:`Lanes`, and the two Gymnasium faces it gets for free.

A task is written once, as ``n`` independent lanes stepped together. :class:`SingleEnv` is its ``gymnasium.Env`` (one
lane) and :class:`BatchedVectorEnv` its native ``gymnasium.vector.VectorEnv``; a trajectory is therefore the same, bit
for bit, alone or as lane i of any vector size, as long as lanes do not read each other.

    class Countdown(Lanes): ...
    class CountdownEnv(SingleEnv): lanes_class = Countdown
    class CountdownVectorEnv(BatchedVectorEnv): lanes_class = Countdown
"""

import inspect
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from .. import unknown
from .columns import is_batch, lane_info, masked, merged

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Info = dict[str, Any]


class Lanes(ABC):
    """``n`` independent lanes of one task. Subclasses set the two spaces in ``__init__`` and fill the methods.

    Infos are dicts of per-lane columns: arrays or lists of length ``n``, or dicts of such (``reward_terms``). Every
    step info holds ``success`` (bool) and ``reward_terms`` (named columns whose sum or product is the reward).
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space: Space[Any]
    """Of one lane."""
    action_space: Space[Any]
    """Of one lane."""
    lane_state: ClassVar[tuple[str, ...]] = ()
    """Names of the arrays or lists ``[n, ...]`` that decide a lane's coming steps; with them a lane can be restored."""

    def __init__(self, num_envs: int, render_mode: str | None = None) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, got {num_envs}")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(unknown("render_mode", render_mode, self.metadata["render_modes"]))
        self.num_envs = num_envs
        self.render_mode = render_mode

    @abstractmethod
    def begin(self, lanes: Ints, seeds: Ints, episodes: Ints) -> None:
        """Starts on lane ``lanes[j]`` problem ``episodes[j]`` (from 0) after ``reset(seed=seeds[j])``; all ``[k]``."""

    @abstractmethod
    def check(self, actions: Any) -> Any:
        """Validates a batch of n actions and returns it in the form :meth:`advance` takes.

        Raises:
            InvalidAction: on an action outside the space; nothing may have changed.
        """

    @abstractmethod
    def advance(self, actions: Any, active: Bools) -> tuple[Floats, Bools]:
        """Steps the lanes where ``active`` ``[n]``, leaving the others alone; returns reward and terminated ``[n]``."""

    @abstractmethod
    def observe(self) -> Any:
        """The observations of all lanes, batched as Gymnasium batches the space; never a view of internal state."""

    def reset_info(self) -> Info:
        """Columns ``[n]`` that name each lane's current problem (Countdown: ``numbers``, ``target``)."""
        return {}

    @abstractmethod
    def step_info(self) -> Info:
        """Columns ``[n]`` after a step: at least ``success`` and ``reward_terms``."""

    @abstractmethod
    def expert_actions(self) -> Any:
        """What a scripted expert does now in every lane (it may read the true state), batched as actions."""

    def snapshot(self, lane: int) -> dict[str, Any]:
        """All of ``lane`` that decides its coming steps, as plain data of its own."""
        self._need_lane_state()
        return {name: deepcopy(getattr(self, name)[lane]) for name in self.lane_state}

    def restore(self, lane: int, state: Mapping[str, Any]) -> None:
        """Puts a lane where :meth:`snapshot` saw one; the streams of problems go on as if nothing had happened.

        Raises:
            ValueError: a state of another task; nothing has changed.
        """
        self._need_lane_state()
        own = {name: getattr(self, name) for name in self.lane_state}
        if state.keys() != own.keys() or not all(_fits(state[name], column, lane) for name, column in own.items()):
            raise ValueError(f"this is no state of {type(self).__name__}: restore what its own snapshot() returned")
        for name, column in own.items():
            column[lane] = deepcopy(state[name])

    def _need_lane_state(self) -> None:
        if not self.lane_state:
            raise TypeError(f"{type(self).__name__} cannot take snapshots: it does not name its lane_state")

    def render(self, lane: int = 0) -> npt.NDArray[np.uint8]:
        """An RGB frame ``[H, W, 3]`` of one lane."""
        raise ValueError(f"{type(self).__name__} has no frames to render")

    def close(self) -> None:  # noqa: B027 (most tasks have nothing to free)
        """Frees threads and renderers."""


class Expert:
    """The scripted expert with SB3's ``predict``, for every evaluation tool (text: by ``sb3_env(strings=True)``)."""

    def __init__(self, lanes: Lanes, *, single: bool) -> None:
        self._lanes, self._single = lanes, single

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """The expert's action(s) for the *current* state (a batch, if that is what is observed), and ``state``."""
        actions = self._lanes.expert_actions()
        single = self._single and not is_batch(observation, self._lanes.observation_space)
        return (lane_of(actions, 0) if single else actions), state


def lane_of(batch: Any, lane: int) -> Any:
    """One lane's part of a batch of observations or actions (arrays, lists or dicts of them)."""
    return {key: lane_of(part, lane) for key, part in batch.items()} if isinstance(batch, Mapping) else batch[lane]


def _fits(value: Any, column: Any, lane: int) -> bool:
    """Whether a value may stand in a lane's place of an array; lists take what they are given."""
    return not isinstance(column, np.ndarray) or np.shape(value) == np.shape(column[lane])


def _keywords(lanes_class: type[Lanes]) -> list[str]:
    """What the constructor takes; a class whose ``__init__`` ends in ``**kwargs`` hands the rest to its base."""
    names: list[str] = []
    for base in lanes_class.__mro__:
        if "__init__" in vars(base):
            parameters = list(inspect.signature(base).parameters.values())
            names += [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
            if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters):
                break
    return [name for name in dict.fromkeys(names) if name != "num_envs"]


def _build(lanes_class: type[Lanes], num_envs: int, kwargs: dict[str, Any]) -> Lanes:
    valid = _keywords(lanes_class)
    for name in kwargs:
        if name not in valid:
            # Python's own words come first, as TorchRL and Gymnasium look for them.
            near = unknown("keyword", name, valid).partition("; ")[2]
            raise TypeError(f"{lanes_class.__name__}() got an unexpected keyword argument {name!r}; {near}")
    return lanes_class(num_envs, **kwargs)


def _fresh_seed() -> int:
    return secrets.randbits(31)


def _check_seed(seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise gymnasium.error.Error(f"a seed is a non-negative integer below 2**63, got {seed!r}")
    return int(seed)


class SingleEnv(gymnasium.Env[Any, Any]):
    """One lane as a ``gymnasium.Env``; the time limit is Gymnasium's own wrapper, added by ``gymnasium.make``."""

    lanes_class: ClassVar[type[Lanes]]

    def __init_subclass__(cls) -> None:
        """Gymnasium asks the class for its render modes before it makes one."""
        if "lanes_class" in vars(cls):
            cls.metadata = cls.lanes_class.metadata

    def __init__(self, **kwargs: Any) -> None:
        self.lanes = _build(self.lanes_class, 1, kwargs)
        self.metadata = self.lanes.metadata
        self.render_mode = self.lanes.render_mode
        self.observation_space = self.lanes.observation_space
        self.action_space = self.lanes.action_space
        self._seed: int | None = None
        self._episode = 0
        self._running = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts the problem that ``seed`` names; without a seed, the next problem of the last seed's stream."""
        super().reset(seed=seed)
        if seed is not None or self._seed is None:
            self._seed, self._episode = _check_seed(_fresh_seed() if seed is None else seed), 0
        else:
            self._episode += 1
        self.lanes.begin(np.zeros(1, np.int64), np.array([self._seed]), np.array([self._episode]))
        self._running = True
        return lane_of(self.lanes.observe(), 0), lane_info(self.lanes.reset_info(), 0)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        """Checks the action (:class:`InvalidAction` leaves the state as it was), then takes one step."""
        if not self._running:
            raise ResetNeeded("the episode is over (or never began): call reset() before step()")
        actions = self.lanes.check([action])
        reward, terminated = self.lanes.advance(actions, np.ones(1, np.bool_))
        self._running = not terminated[0]
        info = lane_info(self.lanes.step_info(), 0)
        return lane_of(self.lanes.observe(), 0), float(reward[0]), bool(terminated[0]), False, info

    def snapshot(self) -> dict[str, Any]:
        """All that decides the episode's coming steps, as plain data; the stream of problems is no part of it.

        Raises:
            ResetNeeded: no episode is under way.
            TypeError: this task cannot take snapshots.
        """
        if not self._running:
            raise ResetNeeded("the episode is over (or never began): call reset() before snapshot()")
        return self.lanes.snapshot(0)

    def restore(self, state: Mapping[str, Any]) -> tuple[Any, Info]:
        """Goes on from a :meth:`snapshot`; returns what :meth:`reset` does. The next reset is as it would have been.

        A time limit counts on: it is a wrapper's, which knows nothing of this.

        Raises:
            ValueError: a state of another task; nothing has changed.
        """
        self.lanes.restore(0, state)
        self._running = True
        return lane_of(self.lanes.observe(), 0), lane_info(self.lanes.reset_info(), 0)

    def expert(self) -> Expert:
        """The scripted policy that solves (nearly all of) the task; it may read the true state."""
        return Expert(self.lanes, single=True)

    def render(self) -> Any:
        """An RGB frame ``[H, W, 3]`` when made with ``render_mode="rgb_array"``."""
        return None if self.render_mode is None else self.lanes.render(0)

    def close(self) -> None:
        """Frees threads and renderers."""
        self.lanes.close()


class BatchedVectorEnv(VectorEnv[Any, Any, Any]):
    """All lanes as a native ``gymnasium.vector.VectorEnv``.

    Args:
        num_envs: number of lanes.
        max_episode_steps: truncation (``make_vec`` passes the registered limit).
        autoreset_mode: Gymnasium's three modes. The default is SAME_STEP: the step that ends an episode returns the
            next episode's first observation, and the last one in ``info["final_obs"]`` and ``info["final_info"]``, so
            no transition in a replay buffer ever straddles two episodes.
        **kwargs: the environment's own keywords.
    """

    lanes_class: ClassVar[type[Lanes]]

    def __init__(
        self,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        **kwargs: Any,
    ) -> None:
        self.lanes = _build(self.lanes_class, num_envs, kwargs)
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.lanes.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = self.lanes.render_mode
        self.max_episode_steps = max_episode_steps
        self.single_observation_space = self.lanes.observation_space
        self.single_action_space = self.lanes.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seeds = np.full(num_envs, -1, np.int64)
        self._episodes = np.zeros(num_envs, np.int64)
        self._elapsed = np.zeros(num_envs, np.int64)
        self._done = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Info]:
        """Resets all lanes, or those in ``options["reset_mask"]`` (bool ``[n]``).

        An int seeds lane i with ``seed + i`` (Gymnasium's convention); a list seeds each lane with its own entry, so
        ``seed=[s] * n`` puts the same problem in every lane.
        """
        mask = self._reset_mask(options)
        seeds = [None if one is None else _check_seed(one) for one in self._lane_seeds(seed)]
        for lane in np.flatnonzero(mask):
            one = seeds[lane]
            if one is not None or self._seeds[lane] < 0:
                self._seeds[lane], self._episodes[lane] = _fresh_seed() if one is None else one, -1
        self._begin(mask)
        return self.lanes.observe(), masked(self.lanes.reset_info(), mask)

    def step(self, actions: Any) -> tuple[Any, Floats, Bools, Bools, Info]:
        """Steps all lanes; see the class for what happens to lanes whose episode ends."""
        if (self._seeds < 0).any():
            raise ResetNeeded("call reset() before step()")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._done.any():
            raise ResetNeeded(
                f"lanes {np.flatnonzero(self._done).tolist()} are over: reset them with options['reset_mask']"
            )
        actions = self.lanes.check(actions)
        fresh = self._done.copy()  # only ever true in NEXT_STEP mode: lanes that spend this step on their reset
        active = ~fresh
        reward, terminated = self.lanes.advance(actions, active)
        self._elapsed += active
        if fresh.any():
            self._begin(fresh)
        reward, terminated = np.where(active, reward, 0.0), terminated & active
        limit = self.max_episode_steps
        truncated = (self._elapsed >= limit) & active if limit else np.zeros(self.num_envs, np.bool_)
        self._done = terminated | truncated
        info = masked(self.lanes.step_info(), active)
        if fresh.any():
            info = merged(info, masked(self.lanes.reset_info(), fresh))
        observation = self.lanes.observe()
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._done.any():
            observation, info = self._autoreset(observation)
        return observation, reward, terminated, truncated, info

    def _autoreset(self, observation: Any) -> tuple[Any, Info]:
        done = self._done
        columns = self.lanes.step_info()
        info, final_info = masked(columns, ~done), masked(columns, done)
        final_obs = np.full(self.num_envs, None, dtype=object)
        for lane in np.flatnonzero(done):
            final_obs[lane] = lane_of(observation, int(lane))
        self._begin(done)
        info = merged(info, masked(self.lanes.reset_info(), done))
        info |= {
            "final_obs": final_obs,
            "_final_obs": done,
            "final_info": final_info,
            "_final_info": done,
        }
        return self.lanes.observe(), info

    def expert(self) -> Expert:
        """The scripted policy, for all lanes at once."""
        return Expert(self.lanes, single=False)

    def render(self) -> Any:
        """A tuple of one RGB frame ``[H, W, 3]`` a lane when made with ``render_mode="rgb_array"``."""
        return None if self.render_mode is None else tuple(self.lanes.render(i) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Frees threads and renderers."""
        self.lanes.close()

    def _begin(self, mask: Bools) -> None:
        lanes = np.flatnonzero(mask)
        self._episodes[lanes] += 1
        self._elapsed[lanes] = 0
        self._done = self._done & ~mask
        self.lanes.begin(lanes, self._seeds[lanes], self._episodes[lanes])

    def _lane_seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if not isinstance(seed, Sequence | np.ndarray) or isinstance(seed, str):
            first = _check_seed(seed)
            _check_seed(first + self.num_envs - 1)
            return [first + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"a list of seeds needs one entry a lane: expected {self.num_envs}, got {len(seed)}")
        return seed

    def _reset_mask(self, options: dict[str, Any] | None) -> Bools:
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        if (
            not isinstance(mask, np.ndarray)
            or mask.shape != (self.num_envs,)
            or mask.dtype != np.bool_
            or not mask.any()
        ):
            raise ValueError(
                f"options['reset_mask'] must be a boolean array of shape ({self.num_envs},) with a True in it"
            )
        return mask
