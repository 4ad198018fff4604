"""What wrappers of driving scenes share: names for what is observed, and rewards that stand in for the environment's.

A reward of this kind is a function of the numbers observed before and after a step (``observation="vector"``, see
:mod:`tiltyard.envs.driving.town.observe`) and of how the episode ended; :class:`Judged` and :class:`VectorJudged` put
it in place of the reward of one environment, or of a vector of them.
"""

from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from ..envs.driving.town.observe import AHEAD, HALF_PI, NEIGHBOUR, NEIGHBOURS, OWN, RULES, SIGHT, SIZE
from ..envs.driving.town.observe import WAYPOINT as POINT
from .checks import check_observations, own_reward, own_rewards
from .perturbations.streams import reset_mask

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Info = dict[str, Any]
_RULES = len(OWN) + len(AHEAD) * len(POINT)
_OTHERS = _RULES + len(RULES)


class Seen(NamedTuple):
    """Entries of observations in their own units, each ``[n]`` but the neighbours."""

    speed: Floats  # m/s
    limit: Floats  # m/s
    steer: Floats  # rad, at the wheels
    heading: Floats  # rad, relative to the lane
    offset: Floats  # m from the middle of the lane, positive to the left
    line: Floats  # m to the next stop line of the route; infinite where there is none within 80 m
    stop: npt.NDArray[np.bool_]  # its signal is red or amber, or its stop sign has not been obeyed yet
    crossing: Floats  # m to the next crossing that somebody is on; infinite where there is none
    gap: Floats  # m to the vehicle ahead; infinite where there is none
    others: Floats  # [n, 16, 10], as in :data:`tiltyard.envs.driving.town.observe.NEIGHBOUR`


def seen(observations: Any) -> Seen:
    """Names the entries of observations ``[n, 233]``.

    Raises:
        ValueError: these are no observations of a driving scene in numbers.
    """
    rows = np.asarray(observations, np.float64)
    if rows.ndim != 2 or rows.shape[1] != SIZE:
        raise ValueError(f"a driving scene's numbers are [n, {SIZE}], got {list(rows.shape)}: observation='vector'")
    rules = rows[:, _RULES:_OTHERS]
    half = 4.0 * rows[:, len(OWN) + 3]  # m, of the lane's width where the route is seen first
    unstopped = (rules[:, 2] > 0.5) & (rules[:, 7] < 0.5)
    return Seen(
        20.0 * rows[:, 0],
        30.0 * rows[:, 2],
        0.5 * rows[:, 4],
        HALF_PI * rows[:, 7],
        half * rows[:, 8],
        _metres(rules[:, 0]),
        (rules[:, 4] > 0.5) | (rules[:, 5] > 0.5) | unstopped,
        np.where(rules[:, 9] > 0.5, _metres(rules[:, 8]), np.inf),
        _metres(rules[:, 10]),
        rows[:, _OTHERS:].reshape(len(rows), NEIGHBOURS, len(NEIGHBOUR)),
    )


def _metres(share: Floats) -> Floats:
    return np.where(share >= 1.0, np.inf, SIGHT * share)


class Judge(Protocol):
    """A reward that stands in for the environment's."""

    def begin(self, indices: npt.NDArray[np.int64]) -> None:
        """Episodes begin at these places of the batch: forget what was remembered of them."""

    def judge(self, before: Array, after: Array, infractions: Array, frames: Array | None) -> dict[str, Floats]:
        """The named terms of a step, each ``[n]``; ``reward`` is what is paid.

        Args:
            before: observations ``[n, 233]`` in which was acted.
            after: those that came of it, of the same episodes.
            infractions: what ended them, ``[n]`` strings, ``""`` for nothing.
            frames: rasters ``uint8 [n, 64, 64, 8]`` after the step, if the judge asks for them.
        """


class Judged(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """One driving scene under another reward; its own stays in the info as ``true_reward``."""

    judge: Judge
    needs_frames = False

    def __init__(self, env: gymnasium.Env[Any, Any], judge: Judge) -> None:
        super().__init__(env)
        _check(env, env.observation_space, self.needs_frames)
        self.judge = judge

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Resets."""
        self._before, info = self.env.reset(seed=seed, options=options)
        self.judge.begin(np.zeros(1, np.int64))
        return self._before, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps and judges."""
        observation, paid, terminated, truncated, info = self.env.step(action)
        frames = frames_of(self.env) if self.needs_frames else None
        ended = np.array([str(info["infraction"])])
        terms = self.judge.judge(self._before[None], observation[None], ended, frames)
        told = {name: float(value[0]) for name, value in terms.items()}
        reward = told.pop("reward")
        self._before = observation
        told_of = {**info, "true_reward": own_reward(info, paid), "reward_terms": told}
        return observation, reward, terminated, truncated, told_of


class VectorJudged(VectorWrapper[Any, Any, Any]):
    """A vector of driving scenes under another reward, all of them judged at once.

    Raises:
        ValueError: a vector in NEXT_STEP mode, or one that does not observe in numbers, or one of Gymnasium's own for a
            reward that needs frames.
    """

    needs_frames = False

    def __init__(self, env: VectorEnv[Any, Any, Any], judge: Judge) -> None:
        super().__init__(env)
        _check(env, env.single_observation_space, self.needs_frames)
        if env.metadata.get("autoreset_mode") == AutoresetMode.NEXT_STEP:
            raise ValueError(
                "rewards of driving need SAME_STEP or DISABLED autoreset, not NEXT_STEP with its extra step"
            )
        self.judge = judge

    def reset(self, *, seed: Any = None, options: Info | None = None) -> tuple[Any, Info]:
        """Resets."""
        mask = reset_mask(options, self.num_envs)
        if self.needs_frames:
            batched: Any = self.env.unwrapped.batched  # type: ignore[attr-defined]  # checked when this was made
            if batched.last_frames is None:
                batched.last_frames = np.empty(0, np.uint8)  # from now on they are kept
        self._before, info = self.env.reset(seed=seed, options=options)
        self.judge.begin(np.flatnonzero(mask))
        return self._before, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Steps and judges; the terms are told as ``judged_...``, also of the steps that ended an episode."""
        observations, paid, terminated, truncated, info = self.env.step(actions)
        after = np.array(observations)
        infractions = np.asarray(info.get("infraction", np.full(self.num_envs, ""))).astype("<U16")
        final = info.get("final_info", {})
        ended = np.flatnonzero(info.get("_final_info", np.zeros(self.num_envs, np.bool_)))
        for index in ended:
            after[index] = info["final_obs"][index]
            infractions[index] = final["infraction"][index]
        frames = frames_of(self.env, before_reset=len(ended) > 0) if self.needs_frames else None
        terms = self.judge.judge(self._before, after, infractions, frames)
        reward = terms["reward"]
        self.judge.begin(ended)
        self._before = np.array(observations)
        whole = np.ones(self.num_envs, np.bool_)
        named = {f"judged_{name}": value for name, value in terms.items()}
        told = {**info, **named, **{f"_{name}": whole for name in named}}
        told |= {"true_reward": own_rewards(info, paid), "_true_reward": whole}
        return observations, reward, terminated, truncated, told


def frames_of(env: Any, *, before_reset: bool = False) -> Array:
    """The rasters ``uint8 [n, 64, 64, 8]`` of a driving scene as it is now, whatever it lets agents observe.

    With ``before_reset`` those of a step after which a vector has begun the next episodes of some, as it was before.
    """
    batched = env.unwrapped.batched
    frames: Array = batched.last_frames if before_reset else batched.view("bev")
    return frames


def _check(env: Any, space: Any, needs_frames: bool) -> None:
    if getattr(space, "shape", None) != (SIZE,):
        raise ValueError(
            f"this reward reads the {SIZE} numbers of a driving scene: make one, such as tiltyard/Town-v0, with "
            "observation='vector'"
        )
    check_observations(env)
    if needs_frames and not hasattr(env.unwrapped, "batched"):
        raise ValueError(
            f"this reward sees the rasters of scenes, which {env.unwrapped} does not show: wrap each environment, or "
            'make the vector with vectorization_mode="vector_entry_point"'
        )
