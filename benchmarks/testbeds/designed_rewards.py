"""Where designed rewards are learnt from: four rooms for Q-learning, and a line with a decoy for PPO."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from ...agents import make
from ..rewarddesign_thesis import Design, Designer, Process, designed, potential_based
from ..sqirl import Tabular
from ..statistics import Floats
from .misleading_rewards import line
from .tabular import Processes

SLIP, REWARD, DECOY = 0.1, 10.0, 0.02
"""How often another direction is taken in the rooms, what they pay, and what the wrong end of the line pays a step."""
MOVES, DOWN, LEFT, RIGHT = ((-1, 0), (1, 0), (0, -1), (0, 1)), 1, 2, 3
SETTINGS: dict[str, Any] = {
    **{"gamma": 0.99, "norm_obs": False, "norm_reward": False, "batch_size": 64, "ent_coef": 0.01},
    **{"policy_kwargs": {"net_arch": []}},
}
Kind = Literal["original", "designed", "designed everywhere", "crafted", "potential"]


class Rooms(NamedTuple):
    """Four rooms as a process, and states of interest."""

    process: Process
    start: int
    crafted: tuple[int, ...]  # beside the doors, and in the middle of the goal's room


@lru_cache
def rooms(side: int, gamma: float = 0.95) -> Rooms:
    """Four rooms of a square grid, from the bottom left to the top right, where going right pays 10 and ends it.

    Going left or down at the start ends it too, for nothing; with :data:`SLIP` another direction is taken. Walls lie
    between cells, each with two doors, one from the edge (the paper's picture is not to be had).
    """
    middle, last = side // 2, side * side
    transitions, rewards = np.zeros((last + 1, 4, last + 1)), np.zeros((last + 1, 4))
    start, goal = (side - 1) * side, side - 1

    def after(row: int, column: int, action: int) -> int:
        state, down, right = row * side + column, *MOVES[action]
        if (state, action) in ((start, LEFT), (start, DOWN), (goal, RIGHT)):
            return last
        to = row + down, column + right
        crossed = (down and {row, to[0]} == {middle - 1, middle} and column not in (1, side - 2)) or (
            right and {column, to[1]} == {middle - 1, middle} and row not in (1, side - 2)
        )
        outside = not (0 <= to[0] < side and 0 <= to[1] < side)
        return state if crossed or outside else to[0] * side + to[1]

    for state, action in np.ndindex(last, 4):
        for done in range(4):
            share = 1 - SLIP if done == action else SLIP / 3
            transitions[state, action, after(state // side, state % side, done)] += share
    transitions[last] = np.eye(last + 1)[last]
    rewards[goal, RIGHT] = REWARD
    doors = ((middle, 1), (side - 2, middle), (middle - 1, side - 2), (1, middle), (1, side - 2))
    return Rooms(Process(transitions, rewards, gamma), start, tuple(row * side + column for row, column in doors))


@lru_cache
def design(side: int, budget: int | None) -> Design:
    """The reward that is designed for the rooms, on so many states, or on all of them."""
    process = rooms(side).process
    return Designer(process).on(range(len(process.rewards))) if budget is None else designed(process, budget)


def decoy_line(length: int, horizon: int, start: int) -> Tabular:
    """:func:`.misleading_rewards.line` whose other end pays a little, all the time."""
    found = line(length, horizon, start)
    rewards = found.rewards.copy()
    rewards[0] = DECOY
    return replace(found, rewards=rewards)


class Teaching(NamedTuple):
    """A condition: a reward of the rooms for Q-learning, or settings of the agent ``explors`` on the line."""

    reward: Kind | None = None
    explores: bool = False
    shapes: bool = False


@dataclass(frozen=True, kw_only=True)
class DesignedRewards:
    """The testbed.

    Attributes:
        side: of the grid of rooms.
        budget: states that a designed reward may add.
        episodes: of Q-learning.
        steps: the most of an episode of Q-learning.
        epsilon: share of random actions.
        length: places of the line.
        horizon: steps of an episode there.
        num_envs: episodes of an iteration there.
        iterations: of PPO.
        moments: at which greedy policies are evaluated exactly.
        settings: of ``explors``.
    """

    side: int = 7
    budget: int = 5
    episodes: int = 1000
    steps: int = 50
    epsilon: float = 0.1
    length: int = 13
    horizon: int = 20
    num_envs: int = 8
    iterations: int = 40
    moments: int = 10
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def rewards(self, kind: Kind) -> Floats:
        """``[S, A]`` that Q-learning gets in the rooms."""
        process, _, crafted = rooms(self.side)
        if "designed" in kind:
            return design(self.side, self.budget if kind == "designed" else None).rewards
        if kind == "potential":
            return potential_based(process)
        found = process.rewards.copy()
        if kind == "crafted":
            states = list(crafted[: self.budget])
            found[states] = np.where(process.gaps()[states] == 0, 1.0, -1.0)
        return found

    def q_learning(self, kind: Kind, rate: float, seed: int) -> Floats:
        """Original values of the greedy policy in units of the best, ``[moments]``; rates above 1 count as 1."""
        (process, start, _), paid = rooms(self.side), self.rewards(kind)
        rng, q = np.random.default_rng([2503, seed]), np.zeros(paid.shape)
        reached, last = process.transitions.cumsum(axis=2), len(paid) - 1
        best, found = process.optimum().max(axis=1)[start], []
        for episode in range(self.episodes):
            state = start
            for chance in rng.random((self.steps, 3)):
                ties = np.flatnonzero(q[state] == q[state].max())
                action = int(4 * chance[1]) if chance[0] < self.epsilon else int(ties[int(len(ties) * chance[1])])
                after = min(int(np.searchsorted(reached[state, action], chance[2], side="right")), last)
                target = paid[state, action] + process.gamma * q[after].max() * (after != last)
                q[state, action] += min(rate, 1.0) * (target - q[state, action])
                if (state := after) == last:
                    break
            if (episode + 1) % (self.episodes // self.moments) == 0:
                greedy = (q + 1e-9 * rng.random(q.shape)).argmax(axis=1)
                found.append(process.q(greedy)[start, greedy[start]] / best)
        return np.array(found)

    def explores(self, condition: Teaching, rate: float, seed: int) -> Floats:
        """Returns of the deterministic policy on the line in units of the best, ``[moments]``."""
        mdp = decoy_line(self.length, self.horizon, 2)
        env, settings = Processes(self.num_envs, mdp), {**self.settings, "learning_rate": rate}
        settings |= {"n_steps": self.horizon}
        settings |= {} if condition.explores else {"bonus_limit": 0.0}
        settings |= {} if condition.shapes else {"reward_learning_rate": 0.0}
        agent: Any = make("explors", env, seed=seed, device="cpu", **settings)
        every, found = np.arange(mdp.size[0]), []
        for _ in range(self.moments):
            agent.learn(self.num_envs * self.horizon * self.iterations // self.moments, reset_num_timesteps=False)
            seen = np.concatenate([env.observed(every, step) for step in range(self.horizon)])
            policy = agent.predict(seen, deterministic=True)[0].reshape(self.horizon, -1)
            found.append(mdp.returns(policy) / mdp.optimum())
        return np.array(found)

    def run(self, condition: Teaching, rate: float, seed: int) -> Floats:
        """Scores of a condition, ``[moments]``."""
        if condition.reward is not None:
            return self.q_learning(condition.reward, rate, seed)
        return self.explores(condition, rate, seed)

    def smallest(self) -> Self:
        """Small rooms, few episodes."""
        return replace(self, side=4, budget=1, episodes=8, iterations=2, moments=2, num_envs=2)
