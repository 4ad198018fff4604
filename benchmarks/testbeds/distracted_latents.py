"""A point mass among noise: how well agents with a world model steer it, and what can be read from their latents.

Observations are where the goal lies and the velocity, and distractors that nothing depends on: one half is drawn anew
at every step, the other half follows autoregressions. They vary more than what matters. An agent that reconstructs its
observations is paid for them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box

from ...agents import make
from ...agents.control.rssm import divergence

Floats = npt.NDArray[np.float64]
STEPS, THRUST, DRAG, PAY, WALL = 30, 0.08, 0.7, 5.0, 1.5
SPREAD, MEMORY = 2.0, 0.9
"""The standard deviation of distractors, and by how much the autoregressive ones keep."""
SCALES = (2.0, 2.0, 8.0, 8.0)
"""By which what matters is multiplied, so that it varies by about 1."""
TESTS, PROBES = 1_000_000, 1_000_001
"""Seeds of the episodes that agents are tested and probed on."""
SETTINGS: dict[str, Any] = {
    "sequence_length": 8,
    "horizon": 6,
    "batch_size": 16,
    "learning_starts": 300,
    "buffer_size": 10_000,
    "train_freq": 1,
    "gamma": 0.9,
    "ent_coef": 0.1,
    "initial_multiplier": 1e-3,
    "multiplier_learning_rate": 0.02,
    "policy_kwargs": {"belief_size": 32, "stoch_size": 16, "hidden_size": 32, "embedding_size": 32},
}
RATES = {"learning_rate": 1.0, "actor_learning_rate": 0.25, "value_learning_rate": 0.25}
"""By which a rate is multiplied: the authors' model learns nearly four times as fast as actor and value."""


class Masses(NamedTuple):
    """n masses among D distractors."""

    away: Floats  # [n, 2] where their goals lie
    velocity: Floats  # [n, 2]
    noise: Floats  # [n, D]

    @property
    def state(self) -> Floats:
        """What matters, as it is seen, ``[n, 4]``."""
        found: Floats = np.concatenate([self.away, self.velocity], axis=1) * np.array(SCALES)
        return found

    @property
    def seen(self) -> npt.NDArray[np.float32]:
        """Observations ``[n, 4 + D]``."""
        return np.concatenate([self.state, self.noise], axis=1).astype(np.float32)


def starts(n: int, distractors: int, rng: np.random.Generator) -> Masses:
    """At rest, with goals half a unit to a unit away."""
    angle, distance = rng.uniform(0, 2 * np.pi, n), rng.uniform(0.5, 1, n)
    away = distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return Masses(away, np.zeros((n, 2)), SPREAD * rng.normal(size=(n, distractors)))


def moved(now: Masses, actions: Floats, rng: np.random.Generator) -> tuple[Masses, Floats]:
    """A step later, and rewards ``[n]``, 5 times 1 less the distance; goals are at most 1.5 away on each axis."""
    velocity = DRAG * now.velocity + THRUST * np.clip(actions, -1, 1)
    away = np.clip(now.away - velocity, -WALL, WALL)
    fresh, half = SPREAD * rng.normal(size=now.noise.shape), now.noise.shape[1] // 2
    kept = MEMORY * now.noise[:, half:] + np.sqrt(1 - MEMORY**2) * fresh[:, half:]
    noise = np.concatenate([fresh[:, :half], kept], axis=1)
    return Masses(away, velocity, noise), PAY * (1 - np.hypot(*away.T))


class DistractedMass(gymnasium.Env[npt.NDArray[np.float32], npt.NDArray[np.float32]]):
    """One of them for 30 steps; observations are ``[4 + distractors]``, actions ``[2]`` in [-1, 1].

    Args:
        distractors: how many; the first half is drawn anew at every step, the rest is autoregressive.
    """

    def __init__(self, distractors: int = 0) -> None:
        self.distractors = distractors
        self.observation_space = Box(-np.inf, np.inf, (4 + distractors,), np.float32)
        self.action_space = Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """See :func:`starts`."""
        super().reset(seed=seed)
        self.mass, self.count = starts(1, self.distractors, self.np_random), 0
        return self.mass.seen[0], {}

    def step(
        self, action: npt.NDArray[np.float32]
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """See :func:`moved`."""
        self.mass, reward = moved(self.mass, np.asarray(action, np.float64)[None], self.np_random)
        self.count += 1
        return self.mass.seen[0], float(reward[0]), False, self.count == STEPS, {}


@dataclass(frozen=True)
class Dreaming:
    """A condition.

    Attributes:
        agent: "repo" or "dreamer".
        distractors: how many there are.
        settings: that differ from the testbed's.
    """

    agent: str
    distractors: int
    settings: Mapping[str, Any] = field(default_factory=dict)


class Dreamt(NamedTuple):
    """Of one agent.

    Attributes:
        rewards: mean reward of a step of test episodes, after each part of training, ``[parts]``.
        state: R^2 of what matters, read from latents; see :func:`read`.
        noise: R^2 of the distractors; 0 where there are none.
        kl: nats by which an observation tells more of a latent than was foreseen, mean over the probe's steps.
    """

    rewards: Floats
    state: float
    noise: float
    kl: float


@dataclass(frozen=True, kw_only=True)
class DistractedLatents:
    """The testbed.

    Attributes:
        part: steps of training after which the agent is tested.
        parts: how many.
        episodes: of a test, the same ones for all.
        probes: episodes with random actions whose latents are read.
        settings: of all conditions.
    """

    part: int = 375
    parts: int = 4
    episodes: int = 40
    probes: int = 120
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def run(self, condition: Dreaming, rate: float, seed: int) -> Dreamt:
        """Trains an agent with networks at a learning rate and a quarter of it; see :data:`RATES`."""
        given = {**self.settings, **condition.settings, **{name: times * rate for name, times in RATES.items()}}
        env = DistractedMass(condition.distractors)
        agent: Any = make(condition.agent, env, seed=seed, device="cpu", **given)
        rewards = []
        for _ in range(self.parts):
            agent.learn(self.part, reset_num_timesteps=False)
            rewards.append(mean_reward(agent, self.episodes, condition.distractors))
        return Dreamt(np.array(rewards), *probed(agent, self.probes, condition.distractors))

    def smallest(self) -> Self:
        """A few steps and episodes."""
        few = {**self.settings, "learning_starts": 40, "batch_size": 4, "train_freq": 10}
        return replace(self, part=60, parts=1, episodes=2, probes=4, settings=few)


def mean_reward(agent: Any, episodes: int, distractors: int) -> float:
    """Of a step of test episodes, in units of :data:`PAY`: 1 less the distance."""
    rng = np.random.default_rng(TESTS)
    now, memory, total = starts(episodes, distractors, rng), None, 0.0
    for _ in range(STEPS):
        actions, memory = agent.predict(now.seen, memory, deterministic=True)
        now, rewards = moved(now, actions, rng)
        total += float(rewards.mean())
    return total / STEPS / PAY


@th.no_grad()
def probed(agent: Any, episodes: int, distractors: int) -> tuple[float, float, float]:
    """R^2 of what matters and of distractors in latents of episodes with random actions, and the divergence.

    Half of the episodes choose how latents are read, the other half tell how well.
    """
    rng = np.random.default_rng(PROBES)
    now, actions = starts(episodes, distractors, rng), []
    track = [now]
    for _ in range(STEPS):
        actions.append(rng.uniform(-1, 1, (episodes, 2)))
        now, _ = moved(now, actions[-1], rng)
        track.append(now)
    seen, done = (np.stack(part, axis=1).astype(np.float32) for part in ([one.seen for one in track], actions))
    found = agent.policy.model.rssm.observe(th.as_tensor(seen), th.as_tensor(done))
    latents = found.latents.features.double().numpy()
    states, noise = (np.stack(part, axis=1) for part in zip(*[(one.state, one.noise) for one in track], strict=True))
    kl = float(divergence(found.posterior, found.prior).mean())
    return read(latents, states), read(latents, noise) if distractors else 0.0, kl


def read(latents: Floats, wanted: Floats, ridge: float = 1e-3) -> float:
    """R^2 of a linear reading by ridge regression, on the second half of the episodes; mean over numbers, at least 0.

    Args:
        latents: ``[episodes, steps, L]``.
        wanted: ``[episodes, steps, W]``.
        ridge: times the number of steps, of latents scaled to unit variance.
    """
    half = len(latents) // 2
    shown, asked = (part[:half].reshape(-1, part.shape[-1]) for part in (latents, wanted))
    held, truth = (part[half:].reshape(-1, part.shape[-1]) for part in (latents, wanted))
    mean, scale = shown.mean(axis=0), shown.std(axis=0) + 1e-9
    x, y = (shown - mean) / scale, asked - asked.mean(axis=0)
    weights = np.linalg.solve(x.T @ x + ridge * len(x) * np.eye(x.shape[1]), x.T @ y)
    errors = truth - asked.mean(axis=0) - (held - mean) / scale @ weights
    explained = 1 - (errors**2).mean(axis=0) / truth.var(axis=0)
    return float(explained.clip(0).mean())
