"""Values of one fixed policy on Pendulum, learnt from noisy rewards by temporal differences.

The policy swings up; episodes of it are the data. Since policy and task are deterministic, the value of a state is the
return that followed, known to 0.6% (0.95^100) in the first half of every episode. A network learns these values from
the data with a slowly moving target network, where zero-mean Gaussian noise of some times the rewards' own deviation
has been added to every stored reward, and is judged on episodes it has not seen, without noise: the root mean squared
error in percent of the values' deviation.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import Tensor

from ...agents.control.networks import Critics
from ...agents.control.updates import polyak
from ...agents.optimizers import FusedAdam
from ..statistics import Floats

GAMMA = 0.95
LOWEST = -16.3 / (1 - GAMMA)
"""The least value that the task's reward allows."""


class Walk(NamedTuple):
    """Steps of the policy: ``observations`` of T + 1 moments ``[T + 1, n, 3]`` and ``rewards`` ``[T, n]``."""

    observations: Floats
    rewards: Floats

    def values(self, judged: int, gamma: float = GAMMA) -> tuple[Tensor, Floats]:
        """States of the first ``judged`` steps, and the discounted returns that followed them."""
        returns = np.zeros_like(self.rewards)
        following = np.zeros(self.rewards.shape[1])
        for t in reversed(range(len(self.rewards))):
            following = self.rewards[t] + gamma * following
            returns[t] = following
        return _tensor(self.observations[:judged].reshape(-1, 3)), returns[:judged].reshape(-1)


def swing_up(observations: Floats) -> Floats:
    """Torques ``[n, 1]``: towards the energy of standing upright, and near there a proportional-derivative law."""
    cosine, sine, speed = observations.T
    lacking = 10.0 * (1 - cosine) - speed**2 / 2 * (2 / 3)  # of m g l (1 - cos) / 2 and inertia m l^2 / 3, twice
    swinging = np.sign(speed) * np.sign(lacking) * 2.0
    standing = -10.0 * np.arctan2(sine, cosine) - 2.0 * speed
    torques: Floats = np.where(cosine > 0.9, standing, swinging).clip(-2, 2)[:, None].astype(np.float32)
    return torques


@dataclass(frozen=True)
class Head:
    """A condition of this testbed.

    Attributes:
        kind: of the critic's head.
        settings: of the head.
        scale: what rewards are divided by.
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    scale: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Values:
    """The testbed.

    Attributes:
        noise: levels, in deviations of the rewards.
        episodes: of data.
        steps: of each.
        judged: steps of each whose values are known.
        updates: of the network.
        batch_size: transitions an update.
        tau: of the target network.
    """

    noise: tuple[float, ...] = (0.0, 2.0, 8.0)
    episodes: int = 40
    steps: int = 200
    judged: int = 100
    updates: int = 2000
    batch_size: int = 256
    tau: float = 0.01

    def run(self, condition: Head, rate: float, seed: int) -> list[float]:
        """Error at each level of noise, in percent, with one learning rate of Adam for all levels."""
        data, fresh = walk(self.episodes, self.steps, seed), walk(self.episodes, self.steps, 1000 + seed)
        states, truth = fresh.values(self.judged)
        found = []
        for j, level in enumerate(self.noise):
            noise = np.random.default_rng([seed, j]).normal(0, level * data.rewards.std(), data.rewards.shape)
            values = self.learn(data._replace(rewards=data.rewards + noise), condition, rate, seed)(states)
            found.append(100 * math.sqrt(np.square(values - truth).mean()) / truth.std())
        return found

    def learn(self, data: Walk, head: Head, rate: float, seed: int) -> Any:
        """A function from states ``[N, 3]`` to values ``[N]``, learnt by temporal differences."""
        th.manual_seed(seed)
        space = Box(-np.inf, np.inf, (3,))
        shape: dict[str, Any] = {"net_arch": [64, 64], "n": 1, "acts": False}
        shape |= {"head": head.kind, "head_kwargs": dict(head.settings)}
        critic, target = (Critics(space, Box(-1, 1, (1,)), FlattenExtractor(space), **shape) for _ in range(2))
        target.load_state_dict(critic.state_dict())
        optimizer = FusedAdam(critic.parameters(), lr=rate)
        before, after = (_tensor(part.reshape(-1, 3)) for part in (data.observations[:-1], data.observations[1:]))
        rewards = _tensor(data.rewards.reshape(-1) / head.scale)
        followed, followers = list(critic.parameters()), list(target.parameters())
        for _ in range(self.updates):
            drawn = th.randint(len(rewards), (self.batch_size,))
            with th.no_grad():
                goal = rewards[drawn] + GAMMA * target(after[drawn])[0]
            loss, _ = critic.loss(before[drawn], None, goal)
            loss.mean().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            polyak(followers, followed, self.tau)
        return lambda states: (critic(states)[0].detach().double() * head.scale).numpy()

    def smallest(self) -> Self:
        """Hardly any data and updates."""
        return replace(self, updates=5, episodes=3, steps=20, judged=10)


@lru_cache(maxsize=4)
def walk(episodes: int, steps: int, seed: int) -> Walk:
    """Plays the policy in as many sub-environments, an episode each."""
    env = gymnasium.make_vec("Pendulum-v1", episodes, "sync", max_episode_steps=steps + 1)
    seen, _ = env.reset(seed=seed)
    observations, rewards = [seen], []
    for _ in range(steps):
        seen, reward, *_ = env.step(swing_up(seen))
        observations.append(seen)
        rewards.append(reward)
    env.close()
    return Walk(np.array(observations, float), np.array(rewards, float))


def _tensor(array: npt.ArrayLike) -> Tensor:
    return th.as_tensor(np.asarray(array), dtype=th.float32)
