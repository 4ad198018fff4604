"""A pendulum that hangs down at first and has to be swung up and held: Pendulum of Gymnasium but for where it begins.

There every angle is as likely at the start; here what is above is seen by whoever has learnt to get there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.wrappers import TimeLimit

from ...envs.actions import bounded, numbers
from ...envs.core import BatchedEnv, Bools, Floats, Info, Ints, SingleEnv
from ...envs.seeding import Split, check_split, problem_rng
from .control import Env
from .pendulum import swing_up

STEPS, TORQUE, FASTEST = 200, 2.0, 8.0
SPREAD = 0.1
"""Of angle and speed at the start, to both sides of hanging at rest."""


class HangingPendulums(BatchedEnv):
    """The pendulums, batched: gravity 10, mass and length 1, steps of 0.05 s; their time limit is a wrapper's.

    Args:
        num_envs: pendulums.
        split: "train" or "test".
        render_mode: None.
    """

    metadata = {"render_modes": []}  # noqa: RUF012
    env_state = ("angle", "speed")

    def __init__(self, num_envs: int, *, split: Split = "train", render_mode: str | None = None) -> None:
        super().__init__(num_envs, render_mode)
        self.split = check_split(split)
        high = np.array([1.0, 1.0, FASTEST], np.float32)
        self.observation_space = Box(-high, high)
        self.action_space = Box(-TORQUE, TORQUE, (1,), np.float32)
        self.angle, self.speed, self.paid = (np.zeros(num_envs) for _ in range(3))

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Nearly at rest below."""
        for index, seed, one in zip(indices.tolist(), seeds.tolist(), episodes.tolist(), strict=True):
            angle, self.speed[index] = problem_rng(self.split, seed, one).uniform(-SPREAD, SPREAD, 2)
            self.angle[index] = np.pi + angle

    def check(self, actions: Any) -> Floats:
        """Torques ``[n, 1]``."""
        wanted = f"an action is a torque from {-TORQUE} to {TORQUE}"
        torques = numbers(actions, (self.num_envs, 1), kinds="f", wanted=wanted)
        return np.asarray(bounded(torques, -TORQUE, TORQUE, wanted=wanted), np.float64)

    def advance(self, actions: Floats, active: Bools) -> tuple[Floats, Bools]:
        """Pays minus the squared angle from upright, with a little for speed and torque."""
        torque = actions[:, 0]
        angle = (self.angle + np.pi) % (2 * np.pi) - np.pi
        self.paid = np.where(active, -(angle**2 + 0.1 * self.speed**2 + 0.001 * torque**2), 0.0)
        faster = self.speed + 0.05 * (15 * np.sin(self.angle) + 3 * torque)
        self.speed = np.where(active, np.clip(faster, -FASTEST, FASTEST), self.speed)
        self.angle = np.where(active, self.angle + 0.05 * self.speed, self.angle)
        return self.paid.copy(), np.zeros(self.num_envs, np.bool_)

    def observe(self) -> npt.NDArray[np.float32]:
        """Cosine and sine of the angle from upright, and speed, ``[n, 3]``."""
        return np.stack([np.cos(self.angle), np.sin(self.angle), self.speed], axis=1).astype(np.float32)

    def step_info(self) -> Info:
        """Whether it stands."""
        return {"success": np.cos(self.angle) > 0.95, "reward_terms": {"cost": self.paid.copy()}}

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """The scripted swing-up."""
        return swing_up(self.observe())


class HangingPendulum(SingleEnv):
    """One pendulum; keywords as of :class:`HangingPendulums`."""

    batched_class = HangingPendulums


def limited() -> Env:
    """What agents train in."""
    return TimeLimit(HangingPendulum(), STEPS)


def played(policy: Callable[[Any], Any], episodes: int, steps: int) -> float:
    """The mean return of a policy, observations ``[n, 3]`` to torques ``[n, 1]``, from test starts."""
    env, every = HangingPendulums(episodes, split="test"), np.arange(episodes)
    env.begin(every, every, np.zeros_like(every))
    returns = np.zeros(episodes)
    for _ in range(steps):
        returns += env.advance(env.check(policy(env.observe())), every >= 0)[0]
    return float(returns.mean())


@lru_cache
def references(episodes: int, steps: int) -> tuple[float, float]:
    """Mean returns of random torques and of the swing-up."""
    rng = np.random.default_rng(2403)
    random = played(lambda seen: rng.uniform(-TORQUE, TORQUE, (len(seen), 1)), episodes, steps)
    return random, played(swing_up, episodes, steps)


@dataclass(frozen=True)
class SwungUp:
    """Scores an agent by its normalised return from test starts: 0 random torques, 1 the scripted swing-up.

    Attributes:
        episodes: played.
        steps: of each.
    """

    episodes: int = 20
    steps: int = STEPS

    def __call__(self, agent: Any, seed: int) -> float:
        """See the class."""
        random, expert = references(self.episodes, self.steps)
        found = played(lambda seen: agent.predict(seen, deterministic=True)[0], self.episodes, self.steps)
        return (found - random) / (expert - random)
