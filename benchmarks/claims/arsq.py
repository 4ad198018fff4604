"""Does choosing one action dimension given the other find what independent dimensions miss in suboptimal data?

The bandit: an episode is one step, its action is two numbers in [-1, 1] and its reward a product,

    r(a) = g(a_1) g(a_2),  g(x) = bump(x - 0.6) - c bump(x + 0.6),  bump(x) = exp(-x^2 / (2 * 0.2^2)),  c = 0.6

so that both dimensions at 0.6 earn 1, both at -0.6 earn c^2 = 0.36, and one of each -c. As in the paper's motivating
example, the demonstrations are mostly of poor modes: 10% are near the best, 25% near either mixed one and 40% near the
second best, with a deviation of 0.15. Seen one dimension at a time, 0.6 then looks worse (0.1 * 1 - 0.25 * 0.6 < 0)
than -0.6 (0.4 * 0.36 - 0.25 * 0.6, nearly 0).

Each arm is the same class with the same networks, rates, bins and imitation weight (that of the authors for their least
good Hopper data), and differs in its decomposition alone: it learns from the demonstrations, then as many updates
again in the environment with the demonstrations at hand. The effect pairs the arms by seed (of networks and
demonstrations): the reward of the deterministic policy of ARSQ minus that of the arm with independent dimensions. The
"additive" arm, which keeps ARSQ's loss but not its conditioning, is in ``details``, and so are all arms after the
demonstrations alone, and Hopper from episodes of its expert with 30% to 100% of each action replaced by noise, where
the discount is 0.97, so that values can grow to their size within a small budget.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ...agents import make
from ...agents.control.arsq_network import DECOMPOSITIONS
from ...agents.control.datasets import Transitions
from ...envs.catalogue import find as find_env
from ..evaluation import evaluate
from ..statistics import Floats, Interval, bootstrap_interval, mean
from .claim import Claim, Measurement

CLAIM = Claim(
    handle="arsq",
    sentence="Where dimensions of an action depend on each other, auto-regressive advantages find better actions from "
    "suboptimal data than values estimated independently for each dimension (Liu et al. 2025, abstract and figure 1)",
    effect="reward (1 at best) of ARSQ minus that with independent dimensions, in a bandit with coupled dimensions",
)

PEAK, WIDTH, LOSS = 0.6, 0.2, 0.6
MODES = {(1, 1): 0.1, (1, -1): 0.25, (-1, 1): 0.25, (-1, -1): 0.4}
DEMONSTRATIONS, DEVIATION = 1000, 0.15
SEEDS, STEPS = 10, 500
SETTINGS: Mapping[str, Any] = {
    "learning_rate": 1e-3,
    "batch_size": 128,
    "buffer_size": STEPS,
    "learning_starts": 0,
    "gradient_steps": 1,
    "device": "cpu",
}
NETWORKS = {"net_arch": [64, 64]}
IMITATION = 0.03

TASK, TASK_STEPS = "tiltyard/Hopper-v5", 1500
TASK_SEEDS, EPISODES, NOISE = 4, 24, (0.3, 1.0)
TASK_SETTINGS: Mapping[str, Any] = {**SETTINGS, "buffer_size": TASK_STEPS, "gamma": 0.97, "tau": 0.02}
HOPPER_ARMS = ("auto-regressive", "independent")

Array = npt.NDArray[Any]


def reward(actions: npt.ArrayLike) -> Floats:
    """r(a) of actions ``[..., 2]``."""
    x = np.asarray(actions, float)
    g = np.exp(-((x - PEAK) ** 2) / (2 * WIDTH**2)) - LOSS * np.exp(-((x + PEAK) ** 2) / (2 * WIDTH**2))
    return np.asarray(g.prod(axis=-1))


class Coupled(gymnasium.Env[Array, Array]):
    """The bandit; there is nothing to see."""

    observation_space = Box(-1, 1, (1,))
    action_space = Box(-1, 1, (2,))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begins an episode of one step."""
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Earns :func:`reward`."""
        return np.zeros(1, np.float32), float(reward(action)), True, False, {}


def demonstrations(seed: int) -> Transitions:
    """:data:`DEMONSTRATIONS` steps around the modes."""
    rng, n = np.random.default_rng([2502, seed]), DEMONSTRATIONS
    modes = np.array(list(MODES))[rng.choice(len(MODES), n, p=list(MODES.values()))]
    actions = np.clip(PEAK * modes + rng.normal(0, DEVIATION, (n, 2)), -1, 1).astype(np.float32)
    rewards, seen = reward(actions).astype(np.float32), np.zeros((n, 1), np.float32)
    return Transitions(
        observations=seen,
        actions=actions,
        rewards=rewards,
        next_observations=seen,
        terminations=np.ones(n, np.float32),
        ends=np.ones(n, bool),
        episodes=np.arange(n),
        episode_returns=rewards.astype(float),
    )


def rewards_of(decomposition: str, seed: int) -> tuple[float, float]:
    """What the deterministic policy earns after the demonstrations alone, and in the end."""
    settings = {"decomposition": decomposition, "imitation_weight": IMITATION, "policy_kwargs": dict(NETWORKS)}
    agent: Any = make("arsq", Coupled(), seed=seed, **SETTINGS, **settings)

    def earned() -> float:
        return float(reward(agent.predict(np.zeros((1, 1), np.float32), deterministic=True)[0][0]))

    agent.learn_offline(demonstrations(seed), STEPS)
    offline = earned()
    agent.learn(STEPS)
    return offline, earned()


def noisy_expert(seed: int) -> Transitions:
    """:data:`EPISODES` episodes of the task's expert, from 30% to 100% of whose actions is uniform noise."""
    env: Any = gymnasium.make(TASK)
    expert, rng, parts = env.unwrapped.expert(), np.random.default_rng([2503, seed]), []
    for number, share in enumerate(np.linspace(*NOISE, EPISODES)):
        seen, _ = env.reset(seed=int(rng.integers(2**31)))
        ended = False
        while not ended:
            action = (1 - share) * expert.predict(seen)[0] + share * rng.uniform(-1, 1, env.action_space.shape)
            after, earned, terminated, truncated, _ = env.step(action.astype(np.float32))
            ended = terminated or truncated
            parts.append((seen, action, earned, after, terminated, ended, number))
            seen = after
    env.close()
    columns = [np.array(column) for column in zip(*parts, strict=True)]
    observations, actions, rewards, after, terminated = (column.astype(np.float32) for column in columns[:5])
    ends, episodes = columns[5:]
    returns = np.bincount(episodes, rewards).astype(np.float64)
    return Transitions(observations, actions, rewards, after, terminated, ends, episodes, returns)


def hopper_scores(decomposition: str, seed: int) -> tuple[float, float]:
    """Normalised returns (0 random, 1 the expert) after the data alone, and in the end."""
    settings = {**TASK_SETTINGS, "decomposition": decomposition, "imitation_weight": IMITATION}
    agent: Any = make("arsq", TASK, seed=seed, n_envs=1, policy_kwargs=dict(NETWORKS), **settings)

    def scored() -> float:
        return find_env(TASK).normalise(evaluate(agent, TASK, episodes=10).mean)

    agent.learn_offline(noisy_expert(seed), TASK_STEPS)
    offline = scored()
    agent.learn(TASK_STEPS)
    return offline, scored()


def _interval(values: Floats, seed: int) -> Interval:
    return bootstrap_interval(values[:, None], mean, rng=np.random.default_rng([2504, seed]))


def _told(found: Mapping[str, Floats]) -> dict[str, Any]:
    """Every arm's scores ``[seeds, 2]`` and what separates ARSQ from the others, for ``details``."""
    ours = found["auto-regressive"][:, 1]
    return {
        "from the data alone": {name: asdict(_interval(one[:, 0], 1)) for name, one in found.items()},
        "in the end": {name: asdict(_interval(one[:, 1], 2)) for name, one in found.items()},
        "in the end, by seed": {name: [round(float(value), 3) for value in one[:, 1]] for name, one in found.items()},
        "auto-regressive minus": {
            name: asdict(_interval(ours - one[:, 1], 3)) for name, one in found.items() if name != "auto-regressive"
        },
    }


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains all arms with ``seeds`` seeds (10 by default, on Hopper at most 4), one thread: about eight minutes."""
    count = SEEDS if seeds is None else seeds
    hoppers = min(count, TASK_SEEDS)
    bandit = {name: np.array([rewards_of(name, seed) for seed in range(count)]) for name in DECOMPOSITIONS}
    hopper = {name: np.array([hopper_scores(name, seed) for seed in range(hoppers)]) for name in HOPPER_ARMS}
    details = {
        "seeds": count,
        "bandit, reward": _told(bandit),
        f"{TASK}, normalised return": {"seeds": hoppers, **_told(hopper)},
        "settings of all": {**{key: value for key, value in SETTINGS.items() if key != "device"}, **NETWORKS},
        f"settings on {TASK}": {key: TASK_SETTINGS[key] for key in ("gamma", "tau")},
        "imitation weight": IMITATION,
        "updates from the data, then steps": {"bandit": STEPS, TASK: TASK_STEPS},
    }
    return Measurement(_interval(bandit["auto-regressive"][:, 1] - bandit["independent"][:, 1], 0), details)
