"""Small stochastic decision processes, and how many episodes PPO needs for each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ...agents import make
from ..sqirl import Tabular, episodes_needed, stochastic_effective_horizon
from ..statistics import Floats

SLIP = 0.1
"""How often another action than the one chosen is done."""
SETTINGS: dict[str, Any] = {"learning_rate": 3e-3, "batch_size": 256, "n_epochs": 4, "gamma": 1.0, "norm_reward": False}


def slippery(transitions: Floats) -> Floats:
    """With probability :data:`SLIP` a random action is done in place of the chosen one."""
    return np.asarray((1 - SLIP) * transitions + SLIP * transitions.mean(axis=1, keepdims=True))


def walk(length: int, near: float = 0.0) -> Tabular:
    """Left or right on a line; the right end pays 1 once, and the left one ``near``, where episodes end as well.

    Which action goes right alternates from place to place, so that one preference for all places goes nowhere.
    """
    states = length + 3  # the left end, the line, the right end, and after the end
    transitions, rewards = np.zeros((states, 2, states)), np.zeros((states, 2))
    for place in range(1, length + 1):
        transitions[place, place % 2, place - 1 if near else max(place - 1, 1)] = 1
        transitions[place, 1 - place % 2, place + 1] = 1
    transitions[[0, length + 1, length + 2], :, length + 2] = 1
    rewards[0], rewards[length + 1] = near, 1
    return Tabular(slippery(transitions), rewards, horizon=2 * length + 1, start=1)


def lock(length: int, actions: int = 3) -> Tabular:
    """One action of several leads on at each step, the others to failure; the last one pays."""
    states = length + 2
    transitions, rewards = np.zeros((states, actions, states)), np.zeros((states, actions))
    transitions[:, :, states - 1] = 1
    for step in range(length):
        transitions[step, step % actions] = np.eye(states)[step + 1]
    rewards[length] = 1
    return Tabular(slippery(transitions), rewards, horizon=length + 1)


def random_process(seed: int, states: int = 6, actions: int = 3, horizon: int = 5) -> Tabular:
    """Two next states an action, and rewards in a quarter of the pairs."""
    rng = np.random.default_rng([2312, seed])
    transitions = np.zeros((states, actions, states))
    for state, action in np.ndindex(states, actions):
        transitions[state, action, rng.choice(states, 2, replace=False)] = rng.dirichlet([1, 1])
    rewards = rng.random((states, actions)) * (rng.random((states, actions)) < 0.25) / horizon
    return Tabular(slippery(transitions), rewards, horizon=horizon)


PROCESSES: dict[str, Callable[[], Tabular]] = {
    **{f"walk of {n}": partial(walk, n) for n in (2, 4, 6)},
    **{f"walk of {n} from a trap": partial(walk, n, 0.2) for n in (2, 3, 4, 5)},
    **{f"lock of {n}": partial(lock, n) for n in (2, 3, 4, 5, 6)},
    **{f"random process {n}": partial(random_process, n) for n in range(4)},
}


class Processes(VectorEnv[Any, Any, Any]):
    """Several episodes of one process side by side; state and step are seen, one-hot.

    Args:
        num_envs: episodes.
        mdp: the process.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int, mdp: Tabular) -> None:
        self.num_envs, self.mdp = num_envs, mdp
        states, actions = mdp.size
        self.single_observation_space = Box(0, 1, (states + mdp.horizon,), np.float32)
        self.single_action_space = Discrete(actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.draws, self.state, self.step_count = np.random.default_rng(), np.zeros(num_envs, np.int64), 0

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """In the start state; with ``seed`` (one, or one an episode) the draws begin anew."""
        if seed is not None:
            self.draws = np.random.default_rng([2312, *np.atleast_1d(np.asarray(seed, np.int64))])
        self.state, self.step_count = np.full(self.num_envs, self.mdp.start), 0
        return self.observed(self.state, 0), {}

    def observed(self, states: Any, step: int) -> Any:
        """Observations ``[n, S + T]`` of states ``[n]`` at a step."""
        found = np.zeros((len(states), self.mdp.size[0] + self.mdp.horizon), np.float32)
        found[np.arange(len(states)), states] = 1
        found[:, self.mdp.size[0] + min(step, self.mdp.horizon - 1)] = 1
        return found

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps all; they end together."""
        rewards = self.mdp.rewards[self.state, actions].astype(np.float32)
        self.state = self.mdp.moved(self.state, np.asarray(actions), self.draws)
        self.step_count += 1
        seen, ended, info = self.observed(self.state, self.step_count), self.step_count == self.mdp.horizon, {}
        if ended:
            every, final = np.ones(self.num_envs, np.bool_), np.empty(self.num_envs, object)
            final[:] = list(seen)
            info = {"final_obs": final, "_final_obs": every, "final_info": {}, "_final_info": every}
            seen, _ = self.reset()
        done = np.full(self.num_envs, ended)
        return seen, rewards, done, np.zeros_like(done), info


class Needs(NamedTuple):
    """Of each process, ``[processes]``."""

    predicted: Floats
    ppo: Floats  # episodes


Predictor = Callable[[Tabular, np.random.Generator], float]


def by_sqirl(mdp: Tabular, rng: np.random.Generator) -> float:
    """Episodes that SQIRL needs."""
    return episodes_needed(mdp, rng)


def by_effective_horizon(mdp: Tabular, rng: np.random.Generator) -> float:
    """The stochastic effective horizon."""
    return stochastic_effective_horizon(mdp)


def by_size(mdp: Tabular, rng: np.random.Generator) -> float:
    """States times actions times steps, as bounds of strategic exploration grow."""
    return float(np.prod(mdp.size) * mdp.horizon)


@dataclass(frozen=True, kw_only=True)
class TabularTasks:
    """The testbed: what predicts PPO's need of episodes.

    Attributes:
        processes: by name.
        num_envs: episodes of an iteration.
        most: episodes at which PPO is given up; that many count.
        share: of the best return that its deterministic policy is to earn.
        settings: of PPO.
    """

    processes: Mapping[str, Callable[[], Tabular]] = field(default_factory=PROCESSES.copy)
    num_envs: int = 8
    most: int = 960
    share: float = 0.95
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def ppo(self, mdp: Tabular, seed: int) -> float:
        """Episodes until PPO's deterministic policy earns enough, exactly evaluated."""
        env = Processes(self.num_envs, mdp)
        settings = {**self.settings, "n_steps": mdp.horizon, "norm_obs": False, "policy_kwargs": {"net_arch": [32]}}
        agent: Any = make("fast-ppo", env, seed=seed, device="cpu", **settings)
        every, played = np.arange(mdp.size[0]), 0
        while played < self.most:
            agent.learn(self.num_envs * mdp.horizon, reset_num_timesteps=False)
            played += self.num_envs
            seen = np.concatenate([env.observed(every, step) for step in range(mdp.horizon)])
            policy = agent.predict(seen, deterministic=True)[0].reshape(mdp.horizon, -1)
            if mdp.returns(policy) >= self.share * mdp.optimum():
                break
        return float(played)

    def run(self, condition: Predictor, rate: float, seed: int) -> Needs:
        """What a predictor says of each process, beside PPO's need."""
        tasks = [make_task() for make_task in self.processes.values()]
        predicted = [condition(mdp, np.random.default_rng([seed, i])) for i, mdp in enumerate(tasks)]
        return Needs(np.array(predicted), self._of_ppo(seed))

    def _of_ppo(self, seed: int) -> Floats:
        key = (seed, tuple(self.processes), self.most)
        if key not in _PLAYED:
            _PLAYED[key] = np.array([self.ppo(make_task(), seed) for make_task in self.processes.values()])
        return _PLAYED[key]

    def smallest(self) -> Self:
        """Three processes, three iterations."""
        few = dict(list(self.processes.items())[::5])
        return replace(self, processes=few, most=48)


_PLAYED: dict[Any, Floats] = {}
