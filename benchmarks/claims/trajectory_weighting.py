"""Does drawing good trajectories more often help where a dataset is mostly poor?

On Pendulum, 380 of 400 trajectories are of random actions and 20 of a scripted swing-up; IQL learns from them with each
sampler, everything else equal: networks, updates, seeds, dataset and temperature (the authors' 0.1). All episodes have
200 steps, so the same shares hold of trajectories and of steps. Starts are random and matter much for the return, which
is what advantage weighting, unlike return weighting, allows for.

Tried first, on tuning seeds: 5 good trajectories of 100. There advantage weighting gained nothing (0.23 and -0.05,
uniform 0.21 and 0.19), because at this temperature all the weight fell on one or two trajectories; that the good ones
must be a few dozen is part of what the verdict says.

Negative control, in ``details``: where all trajectories are the swing-up's there is little to prefer, and weighting
should change little. The positive-sided variance tells both datasets apart beforehand.
"""

from dataclasses import asdict
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from ...agents import make
from ...agents.control.datasets import Transitions
from ...agents.control.trajectory_weighting import positive_sided_variance
from ..statistics import Floats, Interval, bootstrap_interval, mean
from .claim import Claim, Measurement

CLAIM = Claim(
    handle="trajectory-weighting",
    sentence="Offline RL exploits the few good trajectories of a mostly poor dataset to the full only once they are "
    "drawn more often (Hong et al. 2023, abstract)",
    effect="normalised return (0 random, 1 the swing-up) of IQL with advantage weighting minus with uniform sampling",
)

TASK, STEPS = "Pendulum-v1", 200
SEEDS = 10
TRAJECTORIES, GOOD = 400, 20
UPDATES = 3000
EPISODES = 20
SETTINGS: dict[str, Any] = {
    "learning_rate": 1e-3,
    "batch_size": 128,
    "reward_scale": 0.1,  # with which it clones the swing-up alone: chosen on other seeds, not by what is claimed
    "buffer_size": 10,  # nothing is learnt online
}
NETWORKS = {"net_arch": [64, 64]}
ARMS = (
    ("mixed", "uniform"),
    ("mixed", "advantage-weighting"),
    ("mixed", "return-weighting"),
    ("swing-up alone", "uniform"),
    ("swing-up alone", "advantage-weighting"),
)

Float32 = npt.NDArray[np.float32]


def swing_up(observations: Float32) -> Float32:
    r"""Torques ``[n, 1]`` of a scripted expert: to the energy of standing upright, and there to rest.

    Pumps :math:`u = 2 \dot\theta (E^* - E)` with the energy :math:`E = \dot\theta^2 / 6 + 5 \cos\theta`, which upright
    and at rest is :math:`E^* = 5`; near there :math:`u = -10 \theta - 2 \dot\theta`.
    """
    cosine, sine, speed = observations.T
    angle = np.arctan2(sine, cosine)
    lacking = 5 - (speed**2 / 6 + 5 * cosine)
    pump = 2 * np.where(speed == 0, 0.1, speed) * lacking
    torque = np.where(np.abs(angle) + 0.2 * np.abs(speed) < 0.5, -10 * angle - 2 * speed, pump)
    return np.asarray(np.clip(torque, -2, 2)[:, None], np.float32)


def play(policy: Any, episodes: int, seed: int) -> tuple[Float32, Float32, Float32]:
    """Observations ``[n, 201, 3]``, actions ``[n, 200, 1]`` and rewards ``[n, 200]`` of whole episodes at once."""
    env = gymnasium.make_vec(
        TASK, episodes, "sync", vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED}, max_episode_steps=STEPS
    )
    observations, actions, rewards = [env.reset(seed=seed)[0]], [], []
    for _ in range(STEPS):
        actions.append(policy(observations[-1]))
        observation, reward, *_ = env.step(actions[-1])
        observations.append(observation.copy())
        rewards.append(reward)
    env.close()
    found = (np.stack(part, axis=1).astype(np.float32) for part in (observations, actions, rewards))
    return tuple(found)  # type: ignore[return-value]


def dataset(good: int, seed: int) -> Transitions:
    """:data:`TRAJECTORIES` episodes, ``good`` of them the swing-up's and the others random; no start is shared."""
    rng = np.random.default_rng([2306, seed])
    several = [(swing_up, good), (lambda seen: rng.uniform(-2, 2, (len(seen), 1)), TRAJECTORIES - good)]
    parts = [play(policy, n, int(rng.integers(2**31))) for policy, n in several if n]
    observations, actions, rewards = (np.concatenate(part) for part in zip(*parts, strict=True))
    n = TRAJECTORIES * STEPS
    return Transitions(
        observations=observations[:, :-1].reshape(n, -1),
        actions=actions.reshape(n, -1),
        rewards=rewards.reshape(n),
        next_observations=observations[:, 1:].reshape(n, -1),
        terminations=np.zeros(n, np.float32),
        ends=np.arange(1, n + 1) % STEPS == 0,
        episodes=np.arange(n) // STEPS,
        episode_returns=rewards.sum(axis=1, dtype=np.float64),
    )


@lru_cache
def references() -> tuple[float, float]:
    """Mean returns of random actions and of the swing-up, on the starts that agents are scored on."""
    rng = np.random.default_rng(2306)
    random = play(lambda seen: rng.uniform(-2, 2, (len(seen), 1)), 10 * EPISODES, 1_000_000_000)
    expert = play(swing_up, 10 * EPISODES, 1_000_000_000)
    return float(random[2].sum(axis=1).mean()), float(expert[2].sum(axis=1).mean())


def score(data: Transitions, sampler: str, seed: int) -> float:
    """The normalised return of an agent that has learnt from a dataset with a sampler."""
    agent: Any = make("iql", TASK, sampler=sampler, seed=seed, policy_kwargs=dict(NETWORKS), device="cpu", **SETTINGS)
    agent.learn_offline(data, UPDATES)
    played = play(lambda seen: agent.predict(seen, deterministic=True)[0], EPISODES, 1_000_000_000)
    random, expert = references()
    return float((played[2].sum(axis=1).mean() - random) / (expert - random))


def _interval(values: Floats, seed: int) -> Interval:
    return bootstrap_interval(values, mean, rng=np.random.default_rng([2306, seed]))


def measure(*, seeds: int | None = None) -> Measurement:
    """Learns with each sampler from ``seeds`` datasets of each kind (10 by default), on one thread: eight minutes."""
    count = SEEDS if seeds is None else seeds
    found: dict[tuple[str, str], list[float]] = {arm: [] for arm in ARMS}
    spreads: dict[str, list[float]] = {}
    for seed in range(count):
        kinds = {"mixed": dataset(GOOD, seed), "swing-up alone": dataset(TRAJECTORIES, seed)}
        for kind, data in kinds.items():
            spreads.setdefault(kind, []).append(positive_sided_variance(data.episode_returns))
        for kind, sampler in ARMS:
            found[kind, sampler].append(score(kinds[kind], sampler, seed))
    scores = {arm: np.array(values)[:, None] for arm, values in found.items()}
    weighted, uniform = "advantage-weighting", "uniform"
    random, expert = references()
    details = {
        "seeds": count,
        "updates": UPDATES,
        "normalised return": {f"{kind}, {by}": asdict(_interval(scores[kind, by], 1)) for kind, by in ARMS},
        "return weighting minus uniform, mixed": asdict(
            _interval(scores["mixed", "return-weighting"] - scores["mixed", uniform], 2)
        ),
        "negative control: advantage weighting minus uniform, swing-up alone": asdict(
            _interval(scores["swing-up alone", weighted] - scores["swing-up alone", uniform], 3)
        ),
        "positive-sided variance of returns": {kind: round(float(np.mean(of)), 1) for kind, of in spreads.items()},
        "mean return": {"random": round(random, 1), "swing-up": round(expert, 1)},
        "settings of all": {key: value for key, value in SETTINGS.items() if key != "buffer_size"} | NETWORKS,
    }
    return Measurement(_interval(scores["mixed", weighted] - scores["mixed", uniform], 0), details)
