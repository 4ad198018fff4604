"""Offline mixture: imitation of one expert trajectory, with other data beside it that are mixed or random.

Episodes of the mixed data are a scripted expert's, played side by side, each with a share of random actions of its own,
from little to nothing but noise; an agent that has learnt plays test episodes. Scores are 0 for a random policy and 1
for the expert.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

import gymnasium
import numpy as np
import numpy.typing as npt

from ...agents import make
from ...agents.control.datasets import Transitions

TEST_ENVS = 8
SETTINGS: dict[str, Any] = {
    "learning_rate": 1e-3,
    "batch_size": 128,
    "gamma": 0.97,
    "tau": 0.01,
    "policy_kwargs": {"net_arch": [64, 64]},
    "n_envs": 1,
}


@dataclass(frozen=True, kw_only=True)
class OfflineMixture:
    """The testbed.

    Attributes:
        task: an id.
        settings: of all agents.
        updates: of each agent.
        num_envs: episodes of data, played side by side.
        steps: of each episode at most.
        noise: the least share of random actions in an episode, and the largest; evenly spaced in between.
    """

    task: str = "tiltyard/HalfCheetah-v5"
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)
    updates: int = 1500
    num_envs: int = 32
    steps: int = 250
    noise: tuple[float, float] = (0.15, 1.0)

    def score(
        self, name: str, task: "Mixture", data: Transitions, *, other: Transitions | None = None, **settings: Any
    ) -> float:
        """Normalised return of an agent that learns from ``data``, and from ``other`` data that are suboptimal."""
        agent: Any = make(name, task.id, seed=task.seed, **{"device": "cpu", **self.settings, **settings})
        agent.learn_offline(data, self.updates, **({} if other is None else {"suboptimal": other}))
        return task.score(agent)

    def imitation(self, seed: int) -> dict[str, float]:
        """ReCOIL and behaviour cloning with one expert trajectory, and other data that are mixed or random."""
        task = mixture(self.task, seed, self.num_envs, self.steps, self.noise)
        found = {"BC, expert alone": self.score("bc", task, task.expert)}
        for kind, other in {"mixed": task.mixed, "random": task.random}.items():
            found[f"BC, expert and {kind}"] = self.score("bc", task, joined(task.expert, other))
            found[f"ReCOIL, expert and {kind}"] = self.score("recoil", task, task.expert, other=other)
        return found

    def smallest(self) -> Self:
        """Few short episodes, hardly any updates."""
        return replace(self, updates=3, num_envs=2, steps=10)


class Player:
    """One episode of a task in each of several sub-environments, cut off after so many steps.

    Args:
        task: an id.
        num_envs: sub-environments.
        split: of problems.
        steps: of each episode at most.
    """

    def __init__(self, task: str, num_envs: int, split: str, steps: int) -> None:
        self.env = gymnasium.make_vec(task, num_envs, "vector_entry_point", max_episode_steps=steps + 1, split=split)
        self.num_envs, self.steps = num_envs, steps

    def expert(self) -> Any:
        """The scripted one."""
        env: Any = self.env
        return env.expert()

    def __call__(self, policy: Any, seed: int, noise: npt.ArrayLike = 0.0) -> Transitions:
        """Plays ``policy`` (with SB3's ``predict``), a share ``noise`` ``[num_envs]`` of whose actions is random."""
        space: Any = self.env.single_action_space
        rng = np.random.default_rng([seed, 1])
        seen, _ = self.env.reset(seed=seed)
        alive, found = np.ones(self.num_envs, bool), []
        for _ in range(self.steps):
            actions, _ = policy.predict(seen, deterministic=True)
            share = np.broadcast_to(np.asarray(noise, np.float32), self.num_envs)[:, None]
            actions = (1 - share) * actions + share * rng.uniform(space.low, space.high, actions.shape)
            after, reward, terminated, _, info = self.env.step(actions.astype(np.float32))
            last = np.array(after)
            for index in np.flatnonzero(terminated):
                last[index] = info["final_obs"][index]
            found.append((np.array(seen), actions, reward, last, terminated, alive.copy()))
            alive &= ~terminated
            seen = after
        return _transitions(found)


class Mixture:
    """Data and tests of one task and seed.

    Attributes:
        mixed: episodes of the expert with the testbed's noise.
        expert: one episode without.
        random: as many episodes as ``mixed`` of random actions.
    """

    def __init__(self, task: str, seed: int, num_envs: int, steps: int, noise: tuple[float, float]) -> None:
        self.id, self.seed, self._test = task, seed, Player(task, TEST_ENVS, "test", steps)
        play, one = Player(task, num_envs, "train", steps), Player(task, 1, "train", steps)
        expert, test_expert = play.expert(), self._test.expert()
        self.mixed = play(expert, seed, np.linspace(*noise, num_envs))
        self._worst, self._best = (
            float(self._test(test_expert, 77 + seed, share).episode_returns.mean()) for share in (1.0, 0.0)
        )
        self.expert = one(one.expert(), 100 + seed)
        self.random = play(expert, 200 + seed, 1.0)

    def score(self, agent: Any) -> float:
        """Normalised return on test problems."""
        returns = self._test(agent, 77 + self.seed).episode_returns
        return (float(returns.mean()) - self._worst) / (self._best - self._worst)


@lru_cache(maxsize=4)
def mixture(task: str, seed: int, num_envs: int, steps: int, noise: tuple[float, float]) -> Mixture:
    """The same for all conditions."""
    return Mixture(task, seed, num_envs, steps, noise)


def _transitions(found: list[tuple[Any, ...]]) -> Transitions:
    """Steps of all environments ``[T, n, ...]`` as transitions, episode by episode, without those after an end."""
    seen, actions, rewards, last, terminated, alive = (np.stack(part, axis=1) for part in zip(*found, strict=True))
    lengths = alive.sum(axis=1)
    ends = np.zeros(lengths.sum(), bool)
    ends[np.cumsum(lengths) - 1] = True
    return Transitions(
        seen[alive].astype(np.float32),
        actions[alive].astype(np.float32),
        rewards[alive].astype(np.float32),
        last[alive].astype(np.float32),
        terminated[alive].astype(np.float32),
        ends,
        np.repeat(np.arange(len(lengths)), lengths),
        (rewards * alive).sum(axis=1),
    )


def joined(one: Transitions, other: Transitions) -> Transitions:
    """Both, one after the other."""
    parts = {name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in vars(one)}
    parts["episodes"] = np.concatenate([one.episodes, other.episodes + len(one.episode_returns)])
    return replace(one, **parts)
