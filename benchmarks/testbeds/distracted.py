"""A puck on a line, observed among dimensions that move on their own and do not matter, for tiny dynamics models."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box

from .control import Agent, Control, evenly

Floats = npt.NDArray[np.float64]
STARTS = 1_000_000  # the seed of the starts that agents are scored on
SETTINGS: dict[str, Any] = {
    "batch_size": 256,
    "buffer_size": 10_000,
    "learning_starts": 120,
    "gamma": 0.95,
    "tau": 0.02,
    "train_freq": 8,
    "gradient_steps": 16,
    "policy_delay": 2,
    "policy_kwargs": {"net_arch": [32, 32]},
    "n_models": 5,
    "n_elites": 3,
    "model_net_arch": [8],
    "learning_rate": 3e-3,
    "model_train_freq": 120,
    "model_updates": 120,
    "model_patience": None,
    "rollouts_per_step": 20,
    "mse_steps": 240,
}


def pushed(puck: Floats, action: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Place and speed ``[n, 2]`` a step later, and rewards ``[n]``, of pushes ``[n]`` in [-1, 1]."""
    place, speed = puck.T
    speed = 0.9 * speed + 0.2 * np.clip(action, -1, 1) + 0.05 * rng.normal(size=speed.shape)
    place = np.clip(place + 0.2 * speed, -2, 2)
    return np.stack([place, speed], axis=1), -np.abs(place)


def turned(seen: Floats, rng: np.random.Generator) -> Floats:
    """Distractors ``[n, D]`` a step later: pairs that turn, each at its own speed, with some noise."""
    pairs = seen.reshape(len(seen), -1, 2)
    angles = 0.5 + 2.0 * np.arange(pairs.shape[1]) / max(pairs.shape[1], 1)
    cosine, sine = np.cos(angles), np.sin(angles)
    x, y = pairs[..., 0], pairs[..., 1]
    found = np.stack([cosine * x - sine * y, sine * x + cosine * y], axis=-1)
    noisy = 0.98 * found + 0.2 * rng.normal(size=found.shape)
    return noisy.reshape(seen.shape)


class Puck(gymnasium.Env[Any, Any]):
    """Place and speed of a puck that a push accelerates; pays minus its distance from 0.

    Args:
        distractors: dimensions besides, an even number.
        steps: of an episode.
    """

    action_space = Box(-1, 1, (1,), np.float32)

    def __init__(self, distractors: int = 0, steps: int = 30) -> None:
        self.distractors, self.steps = distractors, steps
        self.observation_space = Box(-np.inf, np.inf, (2 + distractors,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """At rest somewhere between -1 and 1."""
        super().reset(seed=seed)
        self.puck, self.others = starts(1, self.distractors, self.np_random)
        self.step_count = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Pushes."""
        self.puck, reward = pushed(self.puck, np.asarray(action, float), self.np_random)
        self.others = turned(self.others, self.np_random)
        self.step_count += 1
        return self._seen(), float(reward[0]), False, self.step_count >= self.steps, {}

    def _seen(self) -> Any:
        return np.concatenate([self.puck, self.others], axis=1)[0].astype(np.float32)


def starts(n: int, distractors: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Pucks ``[n, 2]`` and distractors ``[n, D]`` of new episodes."""
    pucks = np.stack([rng.uniform(-1, 1, n), np.zeros(n)], axis=1)
    return pucks, rng.normal(size=(n, distractors))


def mean_return(act: Any, episodes: int, distractors: int, steps: int) -> float:
    """Of test episodes, which no agent trains on; ``act`` takes and gives batches."""
    rng = np.random.default_rng(STARTS)
    pucks, others = starts(episodes, distractors, rng)
    total = np.zeros(episodes)
    for _ in range(steps):
        actions = act(np.concatenate([pucks, others], axis=1).astype(np.float32))[:, 0]
        pucks, rewards = pushed(pucks, actions, rng)
        others = turned(others, rng)
        total += rewards
    return float(total.mean())


def brake(seen: Any) -> Any:
    """Pushes ``[n, 1]`` of a scripted expert: towards 0, with damping."""
    return np.clip(-8 * seen[:, :1] - 6 * seen[:, 1:2], -1, 1)


class Modelled(NamedTuple):
    """What became of an agent and of its model."""

    scores: list[float]  # after each phase
    errors: dict[str, float]  # of the model at the end, by kind of output


def late(run: Modelled) -> float:
    """The mean score over the second half of training."""
    return float(np.mean(run.scores[len(run.scores) // 2 :]))


@th.no_grad()
def model_errors(agent: Any) -> dict[str, float]:
    """Squared errors of the elites' means on all real steps, as shares of each output's variance, by kind of output."""
    steps, model = agent.real_steps(), agent.model
    true = th.cat([steps.next_observations - steps.observations, steps.rewards[:, None]], dim=1)
    wanted = (true - model.target_mean) / model.target_std
    predicted = model(steps.observations, steps.actions, model.elites).mean
    errors = (predicted - wanted).square().mean(dim=(0, 1))
    found = {"puck": float(errors[:2].mean()), "reward": float(errors[-1])}
    return found if len(errors) == 3 else {**found, "distractors": float(errors[2:-1].mean())}


@dataclass(frozen=True, kw_only=True)
class Distracted:
    """The testbed: scores are returns, 0 that of doing nothing and 1 that of a scripted expert.

    A condition is an agent whose setting ``distractors`` is their number.

    Attributes:
        settings: of all agents.
        learnt: steps in the environment.
        moments: at which agents are scored, evenly.
        steps: of an episode.
        episodes: of a score.
    """

    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)
    learnt: int = 720
    moments: int = 6
    steps: int = 30
    episodes: int = 50

    def score(self, agent: Any, distractors: int) -> float:
        """The normalised return."""

        def act(seen: Any) -> Any:
            return agent.predict(seen, deterministic=True)[0]

        policies = (act, lambda seen: np.zeros((len(seen), 1)), brake)
        own, idle, best = (mean_return(policy, self.episodes, distractors, self.steps) for policy in policies)
        return (own - idle) / (best - idle)

    def run(self, condition: Agent, rate: float, seed: int) -> Modelled:
        """Trains a condition, whose model learns at ``rate``."""
        settings = dict(condition.settings)
        distractors = settings.pop("distractors")
        bed = Control(
            env=lambda: Puck(distractors, self.steps),
            settings=self.settings,
            phases=evenly(self.learnt, self.moments),
            score=lambda agent, _: self.score(agent, distractors),
            at_end=model_errors,
        )
        shown = replace(condition, settings=settings, rates=("model_learning_rate",))
        return Modelled(*vars(bed.run(shown, rate, seed)).values())

    def smallest(self) -> Self:
        """Hardly any updates."""
        few = {"learning_starts": 8, "model_updates": 2, "model_train_freq": 8, "rollouts_per_step": 2}
        return replace(self, settings={**self.settings, **few}, learnt=16, moments=2, episodes=2)
