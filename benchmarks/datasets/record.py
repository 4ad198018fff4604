"""Recording policies: whole episodes on the native vector environment, and everything an agent does while it learns."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Protocol

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Space
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from ...agents.control.elements_policy import reads
from ...envs.core import select_env
from ...envs.errors import made_by_others
from ...envs.gui.baselines import NoisyExpert
from .episodes import Array, Episode, Tape
from .play import PlayActor, ScriptedActor

NUM_ENVS = 16
"""Environments recorded on at once. A trained agent draws its noise for all environments together, so that its data
hang on this number; random and expert data do not (see tests/benchmarks/datasets/test_record.py)."""


class Actor(Protocol):
    """Acts in all environments at once, from an episode's seed on."""

    def begin(self, index: int, seed: int) -> None:
        """An episode begins on ``index``."""

    def act(self, observations: Any) -> Array:
        """Actions of all environments."""


class RandomActor:
    """Uniformly random actions (as D4RL's ``collect_data.py --random``), from a stream of each episode's own."""

    def __init__(self, space: Space[Any], num_envs: int) -> None:
        self._spaces = [deepcopy(space) for _ in range(num_envs)]

    def begin(self, index: int, seed: int) -> None:
        """The environment's stream starts anew."""
        self._spaces[index].seed(seed)

    def act(self, observations: Any) -> Array:
        """One draw per environment."""
        return np.stack([space.sample() for space in self._spaces])


class PredictActor:
    """Anything with SB3's ``predict``: the scripted expert, or an agent that samples from its policy."""

    def __init__(self, policy: Any, num_envs: int) -> None:
        self._policy, self._state = policy, None
        self._begins = np.ones(num_envs, np.bool_)

    def begin(self, index: int, seed: int) -> None:
        """A policy with memory forgets the episode before."""
        self._begins[index] = True

    def act(self, observations: Any) -> Array:
        """What the policy does."""
        actions, self._state = self._policy.predict(observations, self._state, self._begins.copy(), False)
        self._begins[:] = False
        return np.asarray(actions)


class NoisyActor(PredictActor):
    """An expert whose noise is drawn from a stream of each episode's own."""

    def begin(self, index: int, seed: int) -> None:
        """The stream starts anew."""
        super().begin(index, seed)
        self._policy.begin(index, seed)


def boxed(env_id: str, **env_kwargs: Any) -> gymnasium.Env[Any, Any]:
    """An environment, closed already, whose spaces and spec a dataset may take over.

    Raises:
        TypeError: other than ``Box`` spaces, or the numbers of a phone.
    """
    with made_by_others(env_id, env_kwargs):
        env: gymnasium.Env[Any, Any] = gymnasium.make(env_id, **env_kwargs)
    env.close()
    if reads(env.observation_space):
        return env
    for kind, space in (("observation", env.observation_space), ("action", env.action_space)):
        if not isinstance(space, Box):
            raise TypeError(
                f"datasets hold Box observations and actions, but the {kind} space of {env_id} is "
                f"{type(space).__name__}: choose a driving or robotics environment (tiltyard list envs)"
            )
    return env


def record(
    env_id: str,
    policy: str,
    seeds: Sequence[int],
    *,
    agent: Any = None,
    env_kwargs: Mapping[str, Any] | None = None,
    noise: float = 0.0,
    num_envs: int = NUM_ENVS,
    progress: Callable[[int], None] | None = None,
) -> list[Episode]:
    """Plays one whole episode a seed, in the order of the seeds, on training problems.

    Args:
        env_id: where.
        policy: ``"random"``, ``"expert"``, ``"scripted"`` and ``"play"`` (:mod:`.play`), ``"noisy-expert"``, or the
            name under which ``agent`` is recorded.
        seeds: of the episodes; each decides its problem and, for random actions, the actions.
        agent: what acts, if neither at random nor the expert; it samples from its policy.
        env_kwargs: the environment's own keywords.
        noise: the probability with which each action of the noisy expert is a random one; in scripted data and play
            the standard deviation of what is added to actions.
        num_envs: played at once.
        progress: is told the number of episodes finished.

    Raises:
        TypeError: an environment with other than ``Box`` spaces.
    """
    boxed(env_id, **(env_kwargs or {}))
    env = gymnasium.make_vec(
        env_id,
        min(num_envs, len(seeds)),
        "vector_entry_point",
        autoreset_mode=AutoresetMode.DISABLED,
        **{"split": "train", **(env_kwargs or {})},
    )
    try:
        return _Recording(env, policy, _actor(policy, agent, env, noise), seeds).episodes(progress)
    finally:
        env.close()


def _actor(policy: str, agent: Any, env: VectorEnv[Any, Any, Any], noise: float) -> Actor:
    if agent is not None:
        return PredictActor(agent, env.num_envs)
    if policy == "noisy-expert":
        if not reads(env.single_observation_space):
            raise TypeError("the noisy expert acts on phones in numbers: choose a phone, such as tiltyard/Phone-v0")
        batched: Any = env.unwrapped
        return NoisyActor(NoisyExpert(batched.batched, noise), env.num_envs)
    if policy == "random":
        return RandomActor(env.single_action_space, env.num_envs)
    expert: Any = env.unwrapped
    if policy in ("scripted", "play"):
        space = env.single_action_space
        assert isinstance(space, Box)
        return (PlayActor if policy == "play" else ScriptedActor)(expert.batched, space, noise)
    return PredictActor(expert.expert(), env.num_envs)


class _Recording:
    """Hands the seeds out to the environments as these become free; environments without a seed run on unrecorded."""

    def __init__(self, env: VectorEnv[Any, Any, Any], policy: str, actor: Actor, seeds: Sequence[int]) -> None:
        self._env, self._actor, self._seeds = env, actor, seeds
        self._tape = Tape(policy)
        self._next = 0
        self._episode: list[int | None] = [None] * env.num_envs
        self._done: dict[int, Episode] = {}

    def episodes(self, progress: Callable[[int], None] | None) -> list[Episode]:
        """All of them, in the order of their seeds."""
        observations = self._begin(None, np.ones(self._env.num_envs, np.bool_))
        while len(self._done) < len(self._seeds):
            actions = self._actor.act(observations)
            observations, rewards, terminated, truncated, info = self._env.step(actions)
            for index, episode in enumerate(self._episode):
                if episode is not None:
                    success = bool(info["success"][index])
                    seen = select_env(observations, index)
                    self._tape.add(index, actions[index], float(rewards[index]), seen, success)
            ended = terminated | truncated
            if ended.any():
                for index in np.flatnonzero(ended).tolist():
                    self._end(index, bool(terminated[index]))
                if progress is not None:
                    progress(len(self._done))
                observations = self._begin(observations, ended)
        return [self._done[k] for k in range(len(self._seeds))]

    def _end(self, index: int, terminated: bool) -> None:
        episode = self._episode[index]
        if episode is not None:
            self._done[episode] = self._tape.cut(index, terminated=terminated)
            self._episode[index] = None

    def _begin(self, observations: Any, ended: npt.NDArray[np.bool_]) -> Any:
        """Resets the environments in ``ended``, each with the next seed, and returns all environments' observations."""
        seeds: list[int | None] = [None] * self._env.num_envs
        indices = np.flatnonzero(ended).tolist()
        for index in indices:
            if self._next < len(self._seeds):
                seeds[index], self._episode[index] = int(self._seeds[self._next]), self._next
                self._next += 1
        several: Any = seeds  # Gymnasium's types know one seed alone
        fresh, _ = self._env.reset(seed=several, options={"reset_mask": ended})
        for index in indices:
            seed = seeds[index]
            if seed is not None:
                self._actor.begin(index, seed)
                self._tape.begin(index, select_env(fresh, index), seed)
        return fresh


class Recorder(VecEnvWrapper):
    """Keeps every transition an agent trains on, episode by episode: its replay buffer, were that endless."""

    def __init__(self, env: VecEnv, policy: str) -> None:
        super().__init__(env)
        self._tape = Tape(policy)
        self._finished: list[Episode] = []
        self._actions: Array = np.empty(0)

    def finish(self) -> list[Episode]:
        """Ends the recording: episodes in the order in which they ended, then what still ran, as truncated ones."""
        return self._finished + self._tape.cut_all()

    def reset(self) -> VecEnvObs:
        """Resets all environments."""
        observations = self.venv.reset()
        for index in range(self.num_envs):
            self._tape.begin(index, np.array(observations[index]))  # type: ignore[index]
        return observations

    def step_async(self, actions: Array) -> None:
        """Keeps the actions."""
        self._actions = np.array(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Steps all environments and records the transitions."""
        observations, rewards, dones, infos = self.venv.step_wait()
        for index, (done, info) in enumerate(zip(dones, infos, strict=True)):
            fresh: Array = np.array(observations[index])  # type: ignore[index]
            last = np.array(info["terminal_observation"]) if done else fresh
            self._tape.add(index, self._actions[index], float(rewards[index]), last, bool(info["success"]))
            if done:
                self._finished.append(self._tape.cut(index, terminated=not info["TimeLimit.truncated"]))
                self._tape.begin(index, fresh)
        return observations, rewards, dones, infos
