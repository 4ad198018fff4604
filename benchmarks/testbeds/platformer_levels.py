"""A tiny platformer whose levels differ in how late and how far the runner jumps, which is nowhere to be seen.

A runner moves one cell a step, and falls where it is on the ground over a gap. It sees how far the next gap is; gaps
are elsewhere in every episode. A command to jump is followed ``lag`` steps later, and the jump lasts ``air`` steps: to
clear a gap the command must come ``lag + 1`` to ``lag + 1 + air - WIDTH`` cells before it. There is one jump for each
gap, so that no policy without memory serves all levels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ...agents import make

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
WIDTH, GAPS = 3, 4
"""Cells of a gap, and how many gaps a course has."""
NEAR, FAR = 14, 20
"""Cells from one gap's end to the next gap."""
SIGHT = 14
"""Cells from which a gap is seen."""


STEPS = 120
"""Of an episode at most; the longest course takes 92."""
RIGHT, JUMP, STAND, LEFT = range(4)
SETTINGS: dict[str, Any] = {
    "n_steps": 32,
    "batch_size": 512,
    "gamma": 0.95,
    "ent_coef": 0.01,
    "policy_kwargs": {"net_arch": [32, 32]},
}


class Level(NamedTuple):
    """A level.

    Attributes:
        lag: steps from a command to the jump.
        air: steps of a jump.
    """

    lag: int
    air: int


LEVELS = tuple(Level(lag, WIDTH + slack) for lag in range(10) for slack in (1, 2))


class Platformers(VectorEnv[Any, Any, Any]):
    """Runners side by side, each in a level. A cell further pays its share of the course, whose end makes it 1.

    Observed are Gaussian bumps over the distance of the next gap, ``[SIGHT]``, and whether the jump for it is spent.
    From the command to the end of a jump the runner moves to the right, whatever the actions.

    Args:
        num_envs: runners.
        levels: runner i is in that of number i, counted round.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, num_envs: int, levels: Sequence[Level]) -> None:
        self.num_envs = num_envs
        self.lags, self.airs = np.array([levels[i % len(levels)] for i in range(num_envs)]).T
        self.single_observation_space = Box(0.0, 1.0, (SIGHT + 1,), np.float32)
        self.single_action_space = Discrete(4)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.draws = np.random.default_rng()
        self.gaps = np.zeros((num_envs, GAPS), np.int64)  # first cells
        self.place, self.age = np.zeros(num_envs, np.int64), np.zeros(num_envs, np.int64)
        self.since = np.full(num_envs, -1, np.int64)  # steps since the command that is followed, -1 for none
        self.spent = np.full(num_envs, -1, np.int64)  # gaps that lay behind at the last command, -1 for none
        away = np.arange(-WIDTH, FAR + 3 * SIGHT)[:, None] - np.arange(SIGHT)
        self._bumps = np.exp(-0.5 * (away / 1.5) ** 2).astype(np.float32)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """To the start of new courses; with ``seed`` (one, or one a runner) the draws begin anew."""
        if seed is not None:
            self.draws = np.random.default_rng([2305, *np.atleast_1d(np.asarray(seed, np.int64))])
        self._begin(np.ones(self.num_envs, np.bool_))
        return self._seen(), {}

    def _begin(self, which: Bools) -> None:
        apart = self.draws.integers(NEAR, FAR + 1, (int(which.sum()), GAPS))
        self.gaps[which] = np.cumsum(apart + WIDTH, axis=1) - WIDTH
        self.place[which], self.age[which], self.since[which], self.spent[which] = 0, 0, -1, -1

    def _next(self) -> npt.NDArray[np.int64]:
        """Cells to the next gap's first, from ``1 - WIDTH`` within a gap."""
        ahead = self.gaps - self.place[:, None]
        found: npt.NDArray[np.int64] = np.where(ahead > -WIDTH, ahead, SIGHT * 3).min(axis=1)
        return found

    def _seen(self) -> npt.NDArray[np.float32]:
        spent = ~self._can_jump()[:, None]
        return np.concatenate([self._bumps[self._next() + WIDTH], spent.astype(np.float32)], axis=1)

    def _behind(self) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = (self.place[:, None] >= self.gaps + WIDTH).sum(axis=1)
        return found

    def _can_jump(self) -> Bools:
        return np.asarray((self.since < 0) & (self.spent != self._behind()))

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps all."""
        actions, before = np.asarray(actions), self.place
        commanded = (actions == JUMP) & self._can_jump()
        self.spent = np.where(commanded, self._behind(), self.spent)
        self.since = np.where(self.since >= 0, self.since + 1, np.where(commanded, 0, -1))
        moved = np.where(self.since >= 0, 1, np.array([1, 1, 0, -1])[actions])
        flying = (self.since >= self.lags) & (self.since < self.lags + self.airs)
        self.since[self.since >= self.lags + self.airs - 1] = -1
        self.place, self.age = np.maximum(before + moved, 0), self.age + 1
        end = self.gaps[:, -1] + WIDTH
        fell = ~flying & (self._next() <= 0)
        over = fell | (self.place >= end)
        late = ~over & (self.age == STEPS)
        rewards, done, info = (~fell * (self.place - before) / end).astype(np.float32), over | late, {}
        if done.any():
            final, seen = np.empty(self.num_envs, object), self._seen()
            for i in np.flatnonzero(done):
                final[i] = seen[i]
            info = {"final_obs": final, "_final_obs": done, "final_info": {}, "_final_info": done}
            self._begin(done)
        return self._seen(), rewards, over, late, info


class Expert:
    """Jumps in a level as late as it may.

    Args:
        level: that it knows.
    """

    def __init__(self, level: Level) -> None:
        self.level = level

    def predict(self, observations: Any, deterministic: bool = True) -> tuple[Any, None]:
        """As of SB3's policies."""
        seen = np.asarray(observations)[:, :SIGHT]
        there = (seen.argmax(axis=1) == self.level.lag + 1) & (seen.max(axis=1) > 0.99)
        return np.where(there, JUMP, RIGHT), None


def travelled(policy: Any, levels: Sequence[Level], tests: int) -> Floats:
    """The share of the course that a policy runs in each level before it falls, ``[levels]``, mean over episodes."""
    env = Platformers(tests * len(levels), levels)
    seen, _ = env.reset(seed=1_000_000)
    total, going = np.zeros(env.num_envs), np.ones(env.num_envs, np.bool_)
    for _ in range(STEPS):
        seen, rewards, over, late, _ = env.step(policy.predict(seen, deterministic=True)[0])
        total, going = total + going * rewards, going & ~(over | late)
        if not going.any():
            break
    return np.asarray(total.reshape(tests, -1).mean(axis=0))


@dataclass(frozen=True)
class Start:
    """A condition: where adaptation to a held-out level begins.

    Attributes:
        kind: what came before: Reptile, PPO in all training levels at once, or nothing.
        settings: that differ from the testbed's.
    """

    kind: Literal["reptile", "joint", "random"]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Adapted:
    """What became of a start.

    Attributes:
        trained: share of the course in the training levels, without adaptation.
        before: of each held-out level, without adaptation.
        after: of each held-out level, after adaptation.
    """

    trained: float
    before: list[float]
    after: list[float]


@dataclass(frozen=True, kw_only=True)
class PlatformerLevels:
    """The testbed: training on most levels, a few updates of PPO in each of the others.

    Attributes:
        envs: runners.
        updates: rollouts of training.
        adaptation: rollouts in a held-out level.
        held_out: levels that are not trained in.
        tests: episodes of a score.
        settings: of all agents.
    """

    envs: int = 64
    updates: int = 60
    adaptation: int = 5
    held_out: int = 3
    tests: int = 16
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def split(self, seed: int) -> tuple[list[Level], list[Level]]:
        """Training levels and held-out ones of a seed."""
        order = np.random.default_rng([2305, seed]).permutation(len(LEVELS)).tolist()
        return [LEVELS[i] for i in order[self.held_out :]], [LEVELS[i] for i in order[: self.held_out]]

    @property
    def steps(self) -> int:
        """Of training."""
        return self.updates * self.envs * int(self.settings["n_steps"])

    @property
    def adaptation_steps(self) -> int:
        """Of adaptation to one level."""
        return self.adaptation * self.envs * int(self.settings["n_steps"])

    def start(self, condition: Start, rate: float, seed: int) -> Any:
        """The agent that adapts."""
        levels, _ = self.split(seed)
        settings = {**self.settings, **condition.settings, "seed": seed, "device": "cpu"}
        agent: Any = make("ramario-reptile", Platformers(self.envs, levels), learning_rate=rate, **settings)
        if condition.kind == "reptile":
            agent.levels = [Platformers(self.envs, [level]) for level in levels]
            agent.learn(self.steps)
        elif condition.kind == "joint":
            env = Platformers(self.envs, levels)
            joint: Any = make("fast-ppo", env, learning_rate=rate, **settings).learn(self.steps)
            agent.policy.load_state_dict(joint.policy.state_dict())
            agent.reward_scale.load_state_dict(joint.reward_scale.state_dict())
        return agent

    def run(self, condition: Start, rate: float, seed: int) -> Adapted:
        """Trains a condition, and adapts it to each held-out level, both at a learning rate of ``rate``."""
        agent, (levels, others) = self.start(condition, rate, seed), self.split(seed)
        after = []
        for i, level in enumerate(others):
            adapted = agent.adapt(Platformers(self.envs, [level]), self.adaptation, seed=100 * seed + i)
            after.append(float(travelled(adapted, [level], self.tests)[0]))
        trained = float(travelled(agent, levels, self.tests).mean())
        return Adapted(trained, travelled(agent, others, self.tests).tolist(), after)

    def smallest(self) -> Self:
        """A few updates in few levels."""
        return replace(self, envs=4, updates=2, adaptation=1, held_out=2, tests=2)
