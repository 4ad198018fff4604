"""Catching balls in small pictures: how soon Q-learning from pixels learns, with and without what helps its encoder.

A ball falls from the top of a picture and bounces off its sides; a paddle at the bottom moves left, right or not, and
gets 1 for catching it and -1 for missing it. A picture holds the present and the last frame, so that it tells where
the ball is going, and dots that flicker at random, which tell nothing. An episode is one ball.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Discrete

from ..statistics import Floats

BALL, PADDLE, DOT = 255, 160, 90


class Catching(gymnasium.Env[npt.NDArray[np.uint8], np.int64]):
    """The game; observations are ``[2, size, size]``, the last frame and the present one.

    Args:
        size: pixels of a side.
        paddle: pixels of the paddle, odd.
        dots: how many flicker.
    """

    def __init__(self, size: int = 10, paddle: int = 3, dots: int = 3) -> None:
        self.size, self.half, self.dots = size, paddle // 2, dots
        self.observation_space = Box(0, 255, (2, size, size), np.uint8)
        self.action_space = Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[npt.NDArray[np.uint8], dict[str, Any]]:
        """A ball somewhere at the top, and the paddle somewhere at the bottom."""
        super().reset(seed=seed)
        self.row, self.column = 0, int(self.np_random.integers(self.size))
        self.heading = int(self.np_random.integers(-1, 2))
        self.place = int(self.np_random.integers(self.half, self.size - self.half))
        self.last = self._frame()
        return np.stack([self.last, self.last]), {}

    def step(self, action: np.int64) -> tuple[npt.NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Moves the paddle, then the ball by a row."""
        self.place = int(np.clip(self.place + int(action) - 1, self.half, self.size - 1 - self.half))
        self.row += 1
        if not 0 <= self.column + self.heading < self.size:
            self.heading = -self.heading
        self.column += self.heading
        frame, ended = self._frame(), self.row == self.size - 1
        seen, self.last = np.stack([self.last, frame]), frame
        caught = abs(self.column - self.place) <= self.half
        return seen, float(2 * caught - 1) * ended, ended, False, {"is_success": bool(caught)} if ended else {}

    def _frame(self) -> npt.NDArray[np.uint8]:
        frame = np.zeros((self.size, self.size), np.uint8)
        rows, columns = self.np_random.integers(self.size, size=(2, self.dots))
        frame[rows, columns] = DOT
        frame[-1, self.place - self.half : self.place + self.half + 1] = PADDLE
        frame[self.row, self.column] = BALL
        return frame


@dataclass(frozen=True)
class Learner:
    """A condition: settings of SPR that differ from those of all."""

    settings: dict[str, Any] = field(default_factory=dict)


class Caught(NamedTuple):
    """Of one agent.

    Attributes:
        shares: of the balls caught after each part of training, ``[parts]``.
        alike: see :func:`alike`, at the end.
    """

    shares: Floats
    alike: float

    @property
    def mean(self) -> float:
        """Over training."""
        return float(self.shares.mean())


@dataclass(frozen=True, kw_only=True)
class CatchingGame:
    """The testbed.

    Attributes:
        steps: of training.
        parts: of training, after each of which the agent plays.
        balls: that it plays then, the same ones for all.
        settings: of all conditions.
    """

    steps: int = 4000
    parts: int = 8
    balls: int = 100
    settings: dict[str, Any] = field(
        default_factory=lambda: {
            "n_steps": 5,
            "shift": 1,
            "learning_starts": 200,
            "gradient_steps": 1,
            "exploration_fraction": 0.3,
            "policy_kwargs": {"net_arch": [64], "filters": [16, 16, 16]},
        }
    )

    def run(self, condition: Learner, rate: float, seed: int) -> Caught:
        """Trains an agent at a learning rate, and lets it play on the way."""
        from stable_baselines3.common.callbacks import BaseCallback
        from stable_baselines3.common.env_util import make_vec_env

        from ...agents.control.spr import SPR

        env, judged = make_vec_env(Catching, 1, seed=seed), make_vec_env(Catching, self.balls, seed=10_000)
        agent: Any = SPR("CnnPolicy", env, learning_rate=rate, seed=seed, **{**self.settings, **condition.settings})
        shares: list[float] = []

        class Look(BaseCallback):
            def _on_step(self) -> bool:
                if self.num_timesteps % every == 0:
                    shares.append(played(agent, judged))
                return True

        every = self.steps // self.parts
        agent.learn(self.steps, callback=Look(), log_interval=None)
        found = Caught(np.array(shares), alike(agent, judged.reset()))
        env.close()
        judged.close()
        return found

    def smallest(self) -> Self:
        """A few steps and balls."""
        return replace(self, steps=240, parts=2, balls=4)


def played(agent: Any, env: Any) -> float:
    """The share of balls that an agent catches, one of each environment, the same ones each time."""
    env.seed(10_000)
    seen, caught = env.reset(), np.zeros(env.num_envs)
    for _ in range(env.get_attr("size")[0] - 1):
        seen, rewards, _, _ = env.step(agent.predict(seen, deterministic=True)[0])
        caught += rewards
    return float((caught > 0).mean())


def alike(agent: Any, observations: Any) -> float:
    """The mean cosine between an agent's projected latents of different observations: 1 where they have collapsed."""
    from ...agents.control.spr import mean_cosine

    net = agent.policy.q_net
    with th.no_grad():
        return float(mean_cosine(net.project(net.encode(th.as_tensor(observations)))))
