"""The one thing an environment author writes, :class:`BatchedEnv`, and the two Gymnasium faces it gets for free.

A task is written once, as ``n`` independent environments stepped together. :class:`SingleEnv` is its ``gymnasium.Env``
(one environment) and :class:`BatchedVectorEnv` its native ``gymnasium.vector.VectorEnv``; a trajectory is therefore the
same, bit for bit, alone or as environment i of any vector size, as long as environments do not read each other.

    class Countdown(BatchedEnv): ...
    class CountdownEnv(SingleEnv): batched_class = Countdown
    class CountdownVectorEnv(BatchedVectorEnv): batched_class = Countdown
"""

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
from .columns import fits, is_batch, masked, merged, select_info
from .keywords import check_keywords, whole
from .seeding import check_seed, fresh_seed

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Info = dict[str, Any]


class BatchedEnv(ABC):
    """``n`` independent indices of one task. Subclasses set the two spaces in ``__init__`` and fill the methods.

    Infos are dicts of per-environment columns: arrays or lists of length ``n``, or dicts of such (``reward_terms``).
    Every step info holds ``success`` (bool) and ``reward_terms`` (named columns whose sum or product is the reward).
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space: Space[Any]
    """Of one environment."""
    action_space: Space[Any]
    """Of one environment."""
    env_state: ClassVar[tuple[str, ...]] = ()
    """Names of the arrays or lists ``[n, ...]`` that decide an environment's coming steps: what a snapshot holds."""
    reset_options: ClassVar[tuple[str, ...]] = ()
    """Names of the options that a reset takes; others are refused, and never overlooked."""
    typed: ClassVar[bool] = False
    """Whether keywords are checked against the types of the signature; without, the constructor says what is wrong."""
    fresh_infos: ClassVar[bool] = False
    """Whether infos are arrays of their own, which are not written to later: they are then handed out uncopied."""

    def __init__(self, num_envs: int, render_mode: str | None = None) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, got {num_envs}")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(unknown("render_mode", render_mode, self.metadata["render_modes"]))
        self.num_envs = num_envs
        self.render_mode = render_mode

    @abstractmethod
    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Starts at env index ``indices[j]`` problem ``episodes[j]`` (from 0) of seed ``seeds[j]``; all ``[k]``."""

    @abstractmethod
    def check(self, actions: Any) -> Any:
        """Validates a batch of n actions and returns it in the form :meth:`advance` takes.

        Raises:
            InvalidAction: on an action outside the space; nothing may have changed.
        """

    @abstractmethod
    def advance(self, actions: Any, active: Bools) -> tuple[Floats, Bools]:
        """Steps the environments where ``active`` ``[n]`` and no others; returns reward and terminated ``[n]``."""

    @abstractmethod
    def observe(self) -> Any:
        """All observations, batched as Gymnasium batches the space; never a view of internal state."""

    def observe_at(self, indices: Ints) -> Sequence[Any] | npt.NDArray[Any]:
        """Observations of ``indices`` ``[k]``, one after the other; override where that is less work than all."""
        observation = self.observe()
        return [select_env(observation, index) for index in indices.tolist()]

    def reset_info(self) -> Info:
        """Columns ``[n]`` that name each environment's current problem (Countdown: ``numbers``, ``target``)."""
        return {}

    @abstractmethod
    def step_info(self) -> Info:
        """Columns ``[n]`` after a step: at least ``success`` and ``reward_terms``."""

    @abstractmethod
    def expert_actions(self) -> Any:
        """What a scripted expert does now in every environment (it may read the true state), batched as actions."""

    def broken(self) -> Bools:
        """Episodes ``[n]`` that the last step broke off, their server or device gone: they are truncated."""
        return np.zeros(self.num_envs, np.bool_)

    def snapshot(self, index: int) -> dict[str, Any]:
        """All of ``index`` that decides its coming steps, as plain data of its own."""
        self._need_env_state()
        return {name: deepcopy(getattr(self, name)[index]) for name in self.env_state}

    def restore(self, index: int, state: Mapping[str, Any]) -> None:
        """Puts an environment where :meth:`snapshot` saw one; the streams of problems go on as if nothing had happened.

        Raises:
            ValueError: a state of another task; nothing has changed.
        """
        self._need_env_state()
        own = {name: getattr(self, name) for name in self.env_state}
        if state.keys() != own.keys() or not all(fits(state[name], column, index) for name, column in own.items()):
            raise ValueError(f"this is no state of {type(self).__name__}: restore what its own snapshot() returned")
        for name, column in own.items():
            column[index] = deepcopy(state[name])

    def _need_env_state(self) -> None:
        if not self.env_state:
            raise TypeError(f"{type(self).__name__} cannot take snapshots: it does not name its env_state")

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """An RGB frame ``[H, W, 3]`` of one environment."""
        raise ValueError(f"{type(self).__name__} has no frames to render")

    def close(self) -> None:  # noqa: B027 (most tasks have nothing to free)
        """Frees threads and renderers."""


class Expert:
    """The scripted expert with SB3's ``predict``, for every evaluation tool (text: by ``sb3_env(strings=True)``)."""

    def __init__(self, batched: BatchedEnv, *, single: bool) -> None:
        self._batched, self._single = batched, single

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """The expert's action(s) for the *current* state (a batch, if that is what is observed), and ``state``."""
        actions = self._batched.expert_actions()
        single = self._single and not is_batch(observation, self._batched.observation_space)
        return (select_env(actions, 0) if single else actions), state


def select_env(batch: Any, index: int) -> Any:
    """One environment's part of a batch of observations or actions (arrays, lists or dicts of them)."""
    return {key: select_env(part, index) for key, part in batch.items()} if isinstance(batch, Mapping) else batch[index]


def _build(batched_class: type[BatchedEnv], num_envs: int, kwargs: dict[str, Any]) -> BatchedEnv:
    check_keywords(batched_class, kwargs, types=batched_class.typed)
    if not whole(num_envs):
        raise ValueError(f"num_envs must be a whole number, got {num_envs!r:.200}")
    return batched_class(num_envs, **kwargs)


def check_options(options: Mapping[str, Any] | None, known: Sequence[str]) -> dict[str, Any]:
    """The options of a reset as a dictionary; raises ``ValueError`` if they are none, or one is not known."""
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options must be a dictionary, got {options!r:.200}")
    for name in options or {}:
        if name not in known:
            raise ValueError(unknown("option", name, known))
    return dict(options or {})


class SingleEnv(gymnasium.Env[Any, Any]):
    """One environment as a ``gymnasium.Env``; the time limit is Gymnasium's wrapper, added by ``gymnasium.make``."""

    batched_class: ClassVar[type[BatchedEnv]]

    def __init_subclass__(cls) -> None:
        """Gymnasium asks the class for its render modes before it makes one."""
        if "batched_class" in vars(cls):
            cls.metadata = cls.batched_class.metadata

    def __init__(self, **kwargs: Any) -> None:
        self.batched = _build(self.batched_class, 1, kwargs)
        self.metadata = self.batched.metadata
        self.render_mode = self.batched.render_mode
        self.observation_space = self.batched.observation_space
        self.action_space = self.batched.action_space
        self._seed: int | None = None
        self._episode = 0
        self._running = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts the problem that ``seed`` names; without a seed, the next problem of the last seed's stream."""
        check_options(options, self.batched.reset_options)
        super().reset(seed=seed)
        if seed is not None or self._seed is None:
            self._seed, self._episode = check_seed(fresh_seed() if seed is None else seed), 0
        else:
            self._episode += 1
        self.batched.begin(np.zeros(1, np.int64), np.array([self._seed]), np.array([self._episode]))
        self._running = True
        return select_env(self.batched.observe(), 0), select_info(self.batched.reset_info(), 0)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        """Checks the action (:class:`InvalidAction` leaves the state as it was), then takes one step."""
        if not self._running:
            raise ResetNeeded("the episode is over (or never began): call reset() before step()")
        actions = self.batched.check([action])
        reward, terminated = self.batched.advance(actions, np.ones(1, np.bool_))
        broken = bool(self.batched.broken()[0])
        self._running = not (terminated[0] or broken)
        info = select_info(self.batched.step_info(), 0)
        return select_env(self.batched.observe(), 0), float(reward[0]), bool(terminated[0]), broken, info

    def snapshot(self) -> dict[str, Any]:
        """All that decides the episode's coming steps, as plain data; the stream of problems is no part of it.

        Raises:
            ResetNeeded: no episode is under way.
            TypeError: this task cannot take snapshots.
        """
        if not self._running:
            raise ResetNeeded("the episode is over (or never began): call reset() before snapshot()")
        return self.batched.snapshot(0)

    def restore(self, state: Mapping[str, Any]) -> tuple[Any, Info]:
        """Goes on from a :meth:`snapshot`; returns what :meth:`reset` does. The next reset is as it would have been.

        A time limit counts on: it is a wrapper's, which knows nothing of this.

        Raises:
            ValueError: a state of another task; nothing has changed.
        """
        self.batched.restore(0, state)
        self._running = True
        return select_env(self.batched.observe(), 0), select_info(self.batched.reset_info(), 0)

    def expert(self) -> Expert:
        """The scripted policy that solves (nearly all of) the task; it may read the true state."""
        return Expert(self.batched, single=True)

    def render(self) -> Any:
        """An RGB frame ``[H, W, 3]`` when made with ``render_mode="rgb_array"``."""
        return None if self.render_mode is None else self.batched.render(0)

    def close(self) -> None:
        """Frees threads and renderers."""
        self.batched.close()


class BatchedVectorEnv(VectorEnv[Any, Any, Any]):
    """All environments as a native ``gymnasium.vector.VectorEnv``.

    Args:
        num_envs: number of environments.
        max_episode_steps: truncation (``make_vec`` passes the registered limit); None, 0, or -1 as for
            ``gymnasium.make``: none.
        autoreset_mode: Gymnasium's three modes. The default is SAME_STEP: the step that ends an episode returns the
            next episode's first observation, and the last one in ``info["final_obs"]`` and ``info["final_info"]``, so
            no transition in a replay buffer ever straddles two episodes.
        **kwargs: the environment's own keywords.
    """

    batched_class: ClassVar[type[BatchedEnv]]

    def __init__(
        self,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        **kwargs: Any,
    ) -> None:
        self.batched = _build(self.batched_class, num_envs, kwargs)
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.batched.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = self.batched.render_mode
        if max_episode_steps is not None and not (whole(max_episode_steps) and max_episode_steps >= -1):
            raise ValueError(f"max_episode_steps must be a whole number or None, got {max_episode_steps!r:.200}")
        self.max_episode_steps = None if max_episode_steps in (-1, 0) else max_episode_steps
        self.single_observation_space = self.batched.observation_space
        self.single_action_space = self.batched.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seeds = np.full(num_envs, -1, np.int64)
        self._episodes = np.zeros(num_envs, np.int64)
        self._elapsed = np.zeros(num_envs, np.int64)
        self._done = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Info]:
        """Resets all environments, or those in ``options["reset_mask"]`` (bool ``[n]``).

        An int seeds environment i with ``seed + i`` (Gymnasium's convention); a list seeds each environment with its
        own entry, so ``seed=[s] * n`` puts the same problem in every environment.
        """
        check_options(options, (*self.batched.reset_options, "reset_mask"))
        mask = self._reset_mask(options)
        seeds = [None if one is None else check_seed(one) for one in self._seeds_per_env(seed)]
        for index in np.flatnonzero(mask):
            one = seeds[index]
            if one is not None or self._seeds[index] < 0:
                self._seeds[index], self._episodes[index] = fresh_seed() if one is None else one, -1
        self._begin(mask)
        return self.batched.observe(), self._masked(self.batched.reset_info(), mask)

    def step(self, actions: Any) -> tuple[Any, Floats, Bools, Bools, Info]:
        """Steps all environments; see the class for what happens to environments whose episode ends."""
        if (self._seeds < 0).any():
            raise ResetNeeded("call reset() before step()")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._done.any():
            raise ResetNeeded(
                f"environments {np.flatnonzero(self._done).tolist()} are over: reset them with options['reset_mask']"
            )
        actions = self.batched.check(actions)
        fresh = self._done.copy()  # only ever true in NEXT_STEP mode: environments that spend this step on their reset
        active = ~fresh
        reward, terminated = self.batched.advance(actions, active)
        self._elapsed += active
        if fresh.any():
            self._begin(fresh)
        reward, terminated = np.where(active, reward, 0.0), terminated & active
        limit = self.max_episode_steps or np.inf
        truncated = ((self._elapsed >= limit) | self.batched.broken()) & active
        self._done = terminated | truncated
        columns = self.batched.step_info()
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._done.any():
            info = self._autoreset(columns)
        else:
            info = self._masked(columns, active)
        if fresh.any():
            info = merged(info, self._masked(self.batched.reset_info(), fresh))
        return self.batched.observe(), reward, terminated, truncated, info

    def _autoreset(self, columns: Info) -> Info:
        done, indices = self._done, np.flatnonzero(self._done)
        info, final_info = self._masked(columns, ~done), self._masked(columns, done)
        final_obs = np.full(self.num_envs, None, dtype=object)
        for index, last in zip(indices, self.batched.observe_at(indices), strict=True):
            final_obs[index] = last
        self._begin(done)
        info = merged(info, self._masked(self.batched.reset_info(), done))
        return info | {"final_obs": final_obs, "_final_obs": done, "final_info": final_info, "_final_info": done}

    def _masked(self, columns: Info, mask: Bools) -> Info:
        return masked(columns, mask, copy=not self.batched.fresh_infos)

    def expert(self) -> Expert:
        """The scripted policy, for all environments at once."""
        return Expert(self.batched, single=False)

    def render(self) -> Any:
        """A tuple of one RGB frame ``[H, W, 3]`` an environment when made with ``render_mode="rgb_array"``."""
        return None if self.render_mode is None else tuple(self.batched.render(i) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Frees threads and renderers."""
        self.batched.close()

    def _begin(self, mask: Bools) -> None:
        indices = np.flatnonzero(mask)
        self._episodes[indices] += 1
        self._elapsed[indices] = 0
        self._done = self._done & ~mask
        self.batched.begin(indices, self._seeds[indices], self._episodes[indices])

    def _seeds_per_env(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if not isinstance(seed, Sequence | np.ndarray) or isinstance(seed, str):
            first = check_seed(seed)
            check_seed(first + self.num_envs - 1)
            return [first + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(
                f"a list of seeds needs one entry per environment: expected {self.num_envs}, got {len(seed)}"
            )
        return seed

    def _reset_mask(self, options: dict[str, Any] | None) -> Bools:
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        wanted = ((self.num_envs,), np.bool_)
        if not isinstance(mask, np.ndarray) or (mask.shape, mask.dtype) != wanted or not mask.any():
            raise ValueError(
                f"options['reset_mask'] must be a boolean array of shape ({self.num_envs},) with a True in it"
            )
        return mask
