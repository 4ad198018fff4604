"""What every control agent adds to its SB3 class: safe checkpoints, and environments of any kind."""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space
from gymnasium.vector import VectorEnv
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import NormalActionNoise, VectorizedActionNoise
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.preprocessing import get_action_dim
from stable_baselines3.common.type_aliases import MaybeCallback, TrainFreq
from stable_baselines3.common.vec_env import VecEnv, unwrap_vec_normalize
from stable_baselines3.her import HerReplayBuffer

from ... import unknown
from ...wrappers.spaces import sb3_env, sb3_spaces, to_sb3
from ..archive import one_line
from ..checkpoint import PathOrFile, SafeCheckpoint, check_keywords, write_atomically
from ..diverged import told
from ..settings import WrongKind, check_settings
from . import stored_buffers

Self = TypeVar("Self", bound="ControlAgent")
REWARD_LIMIT = 1e8
"""A reward beyond this, either way, is a fault: its square, as in a critic's loss, drowns all others in float32."""


def check_rewards(rewards: Any) -> None:
    """Refuses rewards of a vector of environments that no agent could learn from.

    Raises:
        ValueError: one that is not finite or beyond :data:`REWARD_LIMIT`.
    """
    if not (np.abs(rewards) <= REWARD_LIMIT).all():  # so written that NaN is refused too
        worst = np.asarray(rewards).ravel()[np.argmax(~(np.abs(rewards) <= REWARD_LIMIT))]
        raise ValueError(
            f"the environment gave a reward of {worst:g}: rewards are finite and at most {REWARD_LIMIT:g} in size, "
            "or critics drown in them; scale them (gymnasium.wrappers.TransformReward)"
        )


def check_step(observations: Any, rewards: Any, last: Iterable[Any] = ()) -> None:
    """Refuses a step of a vector of environments that no agent could learn from.

    Args:
        observations: to act on next, batched.
        rewards: ``[N]``.
        last: observations of episodes that ended with the step, where ``observations`` does not hold them.

    Raises:
        ValueError: what is not finite, or a reward beyond :data:`REWARD_LIMIT`.
    """
    check_rewards(rewards)
    for seen in (observations, *last):
        check_observations(seen)


def last_of(dones: Any, infos: Sequence[dict[str, Any]]) -> list[Any]:
    """The observations with which episodes of SB3's vectors ended, where they are told."""
    ended = [infos[i] for i in np.flatnonzero(dones).tolist()]
    return [info["terminal_observation"] for info in ended if "terminal_observation" in info]


def check_observations(observations: Any) -> None:
    """Refuses observations, an array or a dictionary of them, of which networks would only learn to give NaN.

    Raises:
        ValueError: one that is not finite.
    """
    parts = observations.values() if isinstance(observations, Mapping) else (observations,)
    for part in map(np.asarray, parts):
        if part.dtype.kind == "f" and not np.isfinite(part).all():
            worst = part.ravel()[np.argmin(np.isfinite(part))]
            raise ValueError(
                f"the environment gave an observation that holds {worst}, which networks would pass on to all their "
                "weights: nothing was learnt from it; correct it in the environment"
            )


def check_spaces(agent: type[Any], observation_space: Space[Any], action_space: Space[Any]) -> None:
    """Refuses spaces whose values an agent would read, or give, with another meaning.

    Raises:
        TypeError: observations that are no numbers of at least one dimension, choices that are not numbered from 0, or
            whole numbers as actions in a Box.
    """
    name, numbered = agent.__name__, getattr(agent, "numbered_from_0", True)
    parts = observation_space.values() if isinstance(observation_space, Dict) else (observation_space,)
    for part in parts:
        if not isinstance(part, Box | Discrete | MultiBinary | MultiDiscrete):
            raise TypeError(
                f"{name} observes Box, Discrete, MultiDiscrete or MultiBinary spaces, alone or in a Dict, not {part}: "
                "flatten it (gymnasium.wrappers.FlattenObservation)"
            )
        if part.shape == () and isinstance(part, Box):
            raise TypeError(
                f"{name} observes Boxes of one dimension or more, not {part}: give it one "
                "(gymnasium.wrappers.ReshapeObservation(env, (1,)))"
            )
        if numbered and np.any(getattr(part, "start", 0)):
            raise TypeError(
                f"{name} observes choices numbered from 0, not {part}: shift them "
                "(gymnasium.wrappers.TransformObservation)"
            )
    if numbered and np.any(getattr(action_space, "start", 0)):
        raise TypeError(
            f"{name} numbers its choices from 0, unlike {action_space}: shift them (gymnasium.wrappers.TransformAction)"
        )
    if isinstance(action_space, Box) and action_space.dtype.kind != "f":
        raise TypeError(
            f"{name} acts in Boxes of floats, not in {action_space}: round floats to it "
            "(gymnasium.wrappers.TransformAction), or make it a MultiDiscrete space"
        )


def check_box(agent: type[Any], observation_space: Space[Any]) -> None:
    """Refuses observations that are no array of numbers, for agents with networks of their own on them.

    Raises:
        TypeError: another space than a Box or a MultiBinary one.
    """
    if not isinstance(observation_space, Box | MultiBinary):
        raise TypeError(
            f"{agent.__name__} observes Box spaces, not {observation_space}: flatten it "
            "(gymnasium.wrappers.FlattenObservation)"
        )


def check_callback(callback: Any) -> None:
    """Refuses what Stable-Baselines3 could not call.

    Raises:
        TypeError: neither callbacks nor a function.
    """
    listed = callback if isinstance(callback, list) else [callback] if isinstance(callback, BaseCallback) else []
    function = callable(callback) and not isinstance(callback, type)
    if not all(isinstance(one, BaseCallback) for one in listed) or not (listed or function or callback in (None, [])):
        raise WrongKind(
            f"callback must be a BaseCallback, a list of them, a function or None, got {callback!r:.200}: see "
            "stable_baselines3.common.callbacks"
        )


class ControlAgent(SafeCheckpoint):
    """An SB3 algorithm that takes any environment of ours as it is; mix it in before the SB3 class."""

    acts_in: ClassVar[tuple[type[Space[Any]], ...]]
    """The kinds of action space it can act in."""
    numbered_from_0: ClassVar[bool] = True
    """Whether its spaces' choices must be numbered from 0."""
    refuses_vec_normalize: ClassVar[bool] = False
    """Whether it keeps what it sees in a way in which ``VecNormalize`` could not normalise it later."""

    @staticmethod
    def _wrap_env(env: Any, verbose: int = 0, monitor_wrapper: bool = True) -> VecEnv:
        """Adapts spaces SB3 cannot train on (text, phones) and native vectors, then does as SB3 does."""
        if isinstance(env, VectorEnv):
            env = to_sb3(env)
        elif isinstance(env, gymnasium.Env):
            env = sb3_spaces(env)
        elif not hasattr(env, "step") and not isinstance(env, VecEnv):
            raise TypeError(
                f"an agent's environment is a Gymnasium environment or vector, or a VecEnv, got {env!r:.200}: make it "
                "with gymnasium.make"
            )
        return BaseAlgorithm._wrap_env(env, verbose, monitor_wrapper)

    def _get_policy_from_name(self, policy_name: str) -> type[BasePolicy]:
        if policy_name not in self.policy_aliases:
            raise ValueError(unknown("policy", policy_name, self.policy_aliases))
        return super()._get_policy_from_name(policy_name)

    def _setup_model(self) -> None:
        """As in SB3, once the spaces and the policy's keywords are known to be some."""
        check_spaces(type(self), self.observation_space, self.action_space)
        self._check_wrappers(self.env)
        given = self._given.get("policy_kwargs") or {}
        check_keywords(self.policy_class, given)
        check_settings(self.policy_class, given)
        super()._setup_model()  # type: ignore[safe-super]

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        """As in SB3; also by an id, in the form that the agent was trained in.

        Raises:
            TypeError: no environment, or a ``VecNormalize`` that the agent refuses.
            ValueError: one of other spaces.
        """
        if isinstance(env, str):
            from ..build import in_form  # which reads the catalogue, and that this class

            made = in_form(type(self), env, self.n_envs, [self.observation_space, self.action_space])
            env = sb3_env(env, self.n_envs) if made is None else made
        self._check_wrappers(env)
        super().set_env(env, force_reset)

    @classmethod
    def _made(cls, env: Any, n_envs: int, spaces: list[Space[Any]]) -> Any:
        """As of all checkpoints; wrappers that the agent refuses are told before it is made."""
        cls._check_wrappers(env)
        return super()._made(env, n_envs, spaces)

    @classmethod
    def _check_wrappers(cls, env: Any) -> None:
        """Refuses a ``VecNormalize`` where observations and rewards would be kept as they are, but acted on otherwise.

        Raises:
            TypeError: there is one.
        """
        if cls.refuses_vec_normalize and isinstance(env, VecEnv) and unwrap_vec_normalize(env) is not None:
            raise TypeError(
                f"{cls.__name__} learns from observations and rewards as the environment gives them: take "
                "VecNormalize off the environment"
            )

    def learn(self: Self, total_timesteps: int, callback: MaybeCallback = None, *args: Any, **kwargs: Any) -> Self:
        """As in SB3; a ``log_interval`` of 0 is None, for no logs.

        Raises:
            Diverged: what the agent computes is no longer finite.
        """
        if args:
            args = (args[0] or None, *args[1:])
        elif kwargs.get("log_interval") == 0:
            kwargs["log_interval"] = None
        with told(self):
            super().learn(total_timesteps, callback, *args, **kwargs)  # type: ignore[safe-super]
        return self

    def _setup_learn(
        self, total_timesteps: int, callback: MaybeCallback = None, *args: Any, **kwargs: Any
    ) -> tuple[int, BaseCallback]:
        """As in SB3, once it is known that there is something to learn from."""
        check_callback(callback)
        if self.env is None:
            raise RuntimeError("this agent was loaded without an environment: call set_env(env) before learn()")
        found = super()._setup_learn(total_timesteps, callback, *args, **kwargs)
        check_observations(self._last_obs)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """For copies (``copy.deepcopy(agent)``): all but what is made anew, and the logger with its open files."""
        own = {"_targets", "_compiled"} | (set() if self._custom_logger else {"_logger"})
        return {name: value for name, value in vars(self).items() if name not in own or value is None}

    def set_random_seed(self, seed: int | None = None) -> None:
        """As in SB3, but environment i starts from ``seed * n_envs + i``.

        With ``seed + i``, as there, the runs of seeds 0 and 1 would see the same problems in all environments but one.
        """
        super().set_random_seed(seed)
        if seed is not None and self.env is not None:
            self.env.seed(seed * self.env.num_envs)


class OffPolicyAgent(ControlAgent, OffPolicyAlgorithm):
    """A control agent whose replay buffer is saved as plain arrays.

    ``action_noise`` may also be a number: the standard deviation of Gaussian noise on actions scaled to [-1, 1].
    """

    def __setattr__(self, name: str, value: Any) -> None:
        """Keeps ``action_noise`` and ``train_freq`` in SB3's form, and what was given later for checkpoints."""
        own = isinstance(value, VectorizedActionNoise | TrainFreq)  # SB3's, made of what was given
        if name in ("action_noise", "train_freq") and "_constructed_with" in vars(self) and not own:
            self._given[name] = value
        if name == "action_noise" and isinstance(value, int | float) and "action_space" in vars(self):
            shape = self.action_space.shape or (get_action_dim(self.action_space),)
            value = NormalActionNoise(np.zeros(shape), np.full(shape, float(value)))
        if name == "train_freq" and isinstance(value, list):  # as JSON has pairs
            value = (value[0], value[1])
        super().__setattr__(name, value)
        if name == "train_freq" and "replay_buffer" in vars(self):
            self._convert_train_freq()

    def _setup_model(self) -> None:
        space = self.action_space
        if isinstance(space, Box) and (fixed := np.flatnonzero(space.low == space.high)).size:
            raise TypeError(
                f"{type(self).__name__} scales actions between their bounds, which are equal in entry {fixed[0]} of "
                f"{space}: leave the entry out (gymnasium.wrappers.TransformAction)"
            )
        if isinstance(self.action_noise, int | float):  # given before the spaces, to an agent without an environment
            self.action_noise = self.action_noise
        super()._setup_model()

    def _store_transition(self, replay_buffer: Any, buffer_action: Any, new_obs: Any, reward: Any, *rest: Any) -> None:
        """As in SB3, but a step that no critic could learn from stops the training before it is stored."""
        dones, infos = rest
        check_step(new_obs, reward, last_of(dones, infos))
        super()._store_transition(replay_buffer, buffer_action, new_obs, reward, *rest)

    def save_replay_buffer(self, path: PathOrFile) -> None:
        """Writes the replay buffer, oldest transition first, as a compressed ``.npz`` of plain arrays.

        Raises:
            TypeError: a ``HerReplayBuffer`` that copies infos, which are no arrays.
        """
        arrays = stored_buffers.contents(self._buffer)
        write_atomically(path, lambda file: np.savez_compressed(file, allow_pickle=False, **arrays), suffix=".npz")

    def load_replay_buffer(self, path: PathOrFile, truncate_last_traj: bool = True) -> None:
        """Fills the replay buffer from :meth:`save_replay_buffer`; runs no code from the file.

        Args:
            path: of the file (``.npz`` may be left out), or an open binary file.
            truncate_last_traj: whether episodes that had not ended when a ``HerReplayBuffer`` was saved end there, as
                they must where the environment begins anew.

        Raises:
            FileNotFoundError: no file.
            ValueError: not such a file, or one of other spaces or another number of environments, or too long.
        """
        source: Any = path if isinstance(path, io.BufferedIOBase) else _with_suffix(Path(path))
        buffer: ReplayBuffer = vars(self).get("replay_buffer") or self._new_buffer()
        try:
            with np.load(source, allow_pickle=False) as file:
                stored_buffers.check(file.zip, buffer)
                stored_buffers.fill(buffer, dict(file))
        except FileNotFoundError as error:
            raise FileNotFoundError(f"no replay buffer at {path}") from error
        except Exception as error:  # zip, zlib and NumPy have many kinds of errors for broken files
            raise ValueError(
                f"{path} is not a replay buffer saved by Tiltyard that fits here ({one_line(error)})"
            ) from error
        buffer.device = self.device
        self.replay_buffer = buffer
        if truncate_last_traj and isinstance(buffer, HerReplayBuffer):
            buffer.truncate_last_trajectory()

    def _new_buffer(self) -> ReplayBuffer:
        """An empty replay buffer, as SB3 makes one with the agent."""
        kind = self.replay_buffer_class or ReplayBuffer
        settings = dict(self.replay_buffer_kwargs)
        if issubclass(kind, HerReplayBuffer):
            settings["env"] = self.env
        settings |= {"device": self.device, "n_envs": self.n_envs, "optimize_memory_usage": self.optimize_memory_usage}
        return kind(self.buffer_size, self.observation_space, self.action_space, **settings)

    @property
    def _buffer(self) -> ReplayBuffer:
        if self.replay_buffer is None:
            raise ValueError("this agent has no replay buffer yet")
        return self.replay_buffer


def _with_suffix(path: Path) -> Path:
    return path if path.suffix else path.with_name(path.name + ".npz")
