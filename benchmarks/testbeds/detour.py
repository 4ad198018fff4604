"""A point on its way around a post, left or right: few and poor demonstrations, cloned and then fine-tuned by success.

Demonstrations pass on either side, so that their mean leads into the post: what is cloned has to have two modes.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from ...agents.control.datasets import Transitions
from ...envs.actions import bounded, numbers
from ...envs.core import BatchedEnv, BatchedVectorEnv, Bools, Info, Ints
from ...envs.seeding import Split, problem_rng
from ..evaluation import evaluation_seeds
from ..statistics import Floats

STRIDE, REACH, POST, ASIDE, WALL = 0.2, 0.15, 0.4, 0.7, 1.2
"""Of a step along an axis, of the goal, of the post, how far aside the expert passes, and how far points can go."""


class Detour(BatchedEnv):
    """A point goes from below a post to a goal above it, in steps of at most 0.2 along each axis.

    Observation ``[x, y, goal x, goal y]``, action ``[x, y]`` of a step in units of 0.2. Reward 1 at the goal (within
    0.15), which ends the episode as the post (a disc of radius 0.4 around 0) does, and ``limit`` steps. Walls are at
    1.2 each way.

    Args:
        num_envs: points.
        limit: of steps; to need more is to fail, so it terminates the episode.
        split: "train" or "test".
    """

    env_state: ClassVar[tuple[str, ...]] = ("place", "goal", "side", "steps")

    def __init__(self, num_envs: int, *, limit: int = 20, split: Split = "train") -> None:
        super().__init__(num_envs)
        self.limit, self.split = limit, split
        self.observation_space = Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = Box(-1.0, 1.0, (2,), np.float32)
        self.place, self.goal, self.side = np.zeros((num_envs, 2)), np.zeros((num_envs, 2)), np.ones(num_envs)
        self.steps, self.reached = np.zeros(num_envs, np.int64), np.zeros(num_envs, np.bool_)

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Draws start, goal and the side on which the expert passes."""
        for index, seed, episode in zip(indices, seeds, episodes, strict=True):
            rng = problem_rng(self.split, int(seed), int(episode))
            self.place[index], self.goal[index] = (rng.uniform(-0.5, 0.5), -1), (rng.uniform(-0.5, 0.5), 1)
            self.side[index] = rng.choice([-1, 1])
        self.steps[indices] = 0

    def check(self, actions: Any) -> npt.NDArray[np.float64]:
        """Steps."""
        wanted = "an action is two numbers from -1 to 1"
        batch = numbers(actions, (self.num_envs, 2), kinds="f", wanted=wanted)
        return bounded(batch, -1.0, 1.0, wanted=wanted).astype(np.float64)

    def advance(self, actions: npt.NDArray[np.float64], active: Bools) -> tuple[Floats, Bools]:
        """Moves."""
        self.place = (self.place + STRIDE * actions * active[:, None]).clip(-WALL, WALL)
        self.steps += active
        self.reached = np.linalg.norm(self.place - self.goal, axis=1) <= REACH
        hit = np.linalg.norm(self.place, axis=1) < POST
        return self.reached.astype(np.float64) * active, self.reached | hit | (self.steps >= self.limit)

    def observe(self) -> npt.NDArray[np.float32]:
        """``[n, 4]``."""
        return np.concatenate([self.place, self.goal], axis=1).astype(np.float32)

    def step_info(self) -> Info:
        """Whether the goal is reached."""
        return {"success": self.reached.copy(), "reward_terms": {"goal": self.reached.astype(np.float64)}}

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """To a place beside the post, on the problem's side, and from there to the goal."""
        beside = np.column_stack((ASIDE * self.side, np.zeros(self.num_envs)))
        ahead = np.where(self.place[:, 1:] < -0.05, beside, self.goal) - self.place
        return np.asarray(ahead / np.maximum(np.abs(ahead).max(axis=1, keepdims=True), STRIDE), np.float32)


class DetourVectorEnv(BatchedVectorEnv):
    """:class:`Detour` as a native vector."""

    batched_class = Detour


@dataclass(frozen=True, kw_only=True)
class Learner:
    """A condition.

    Attributes:
        variant: of :class:`~tiltyard.agents.PiRL`.
        settings: of the agent that differ from the testbed's.
    """

    variant: str
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def params(self) -> dict[str, Any]:
        """The settings, as reports tell them."""
        return dict(self.settings)


class Tuned(NamedTuple):
    """What a run came to."""

    successes: Floats  # [moments + 1], of the cloned policy and while it is fine-tuned

    @property
    def before(self) -> float:
        """Success of the cloned policy."""
        return float(self.successes[0])

    @property
    def after(self) -> float:
        """Success of the fine-tuned policy."""
        return float(self.successes[-1])


@dataclass(frozen=True, kw_only=True)
class WeakDemonstrations:
    """The testbed.

    Attributes:
        demonstrations: episodes that are cloned.
        noise: standard deviation of what is added to the expert's actions in them.
        updates: of cloning.
        steps: of fine-tuning, environment steps.
        moments: at which is scored while fine-tuning, evenly spaced.
        episodes: of a score, on problems of the test split.
        n_envs: that experience comes from.
        limit: actions of an episode.
        settings: of all agents.
    """

    demonstrations: int = 6
    noise: float = 0.5
    updates: int = 400
    steps: int = 32_768
    moments: int = 2
    episodes: int = 200
    n_envs: int = 64
    limit: int = 20
    settings: tuple[tuple[str, Any], ...] = (
        ("n_steps", 32),
        ("batch_size", 512),
        ("n_epochs", 4),
        ("gamma", 0.95),
        ("gae_lambda", 0.95),
        ("value_learning_rate", 0.003),
        ("denoise_steps", 4),
        ("policy_kwargs", {"net_arch": [64, 64]}),
    )

    def envs(self, count: int, split: Split, mode: AutoresetMode = AutoresetMode.SAME_STEP) -> DetourVectorEnv:
        """Points around posts."""
        return DetourVectorEnv(count, autoreset_mode=mode, limit=self.limit, split=split)

    def data(self, seed: int) -> Transitions:
        """Demonstrations of a seed, each to its goal, to the post or to the limit."""
        rng, envs = (
            np.random.default_rng([2510, seed]),
            self.envs(self.demonstrations, "train", AutoresetMode.NEXT_STEP),
        )
        seen, _ = envs.reset(seed=[10**6 + seed * self.demonstrations + i for i in range(self.demonstrations)])
        steps: list[tuple[Any, ...]] = []
        for _ in range(self.limit):
            right = envs.batched.expert_actions()
            actions = (right + self.noise * rng.normal(size=right.shape)).clip(-1, 1).astype(np.float32)
            before, (seen, rewards, terminated, truncated, _) = seen, envs.step(actions)
            steps.append((before, actions, rewards, seen, terminated, terminated | truncated))
        return joined([np.stack(part, axis=1) for part in zip(*steps, strict=True)])

    def run(self, condition: Learner, rate: float, seed: int) -> Tuned:
        """Clones, fine-tunes and scores a policy."""
        from ...agents import make

        settings = {**dict(self.settings), **condition.params, "learning_rate": rate, "variant": condition.variant}
        agent: Any = make("pi-rl", self.envs(self.n_envs, "train"), seed=seed, device="cpu", **settings)
        agent.learn_offline(self.data(seed), self.updates)
        successes = [self._success(agent, seed)]
        for _ in range(self.moments):
            agent.learn(self.steps // self.moments, reset_num_timesteps=False)
            successes.append(self._success(agent, seed))
        return Tuned(np.array(successes))

    def _success(self, agent: Any, seed: int) -> float:
        """Share of test problems that the policy solves by the ODE, from noise of the agent's stream."""
        envs = self.envs(self.episodes, "test")
        several: Any = evaluation_seeds(seed, self.episodes)
        observations, _ = envs.reset(seed=several)
        solved, open_ = np.zeros(self.episodes, np.bool_), np.ones(self.episodes, np.bool_)
        while open_.any():
            actions, _ = agent.predict(observations)
            observations, rewards, terminated, truncated, _ = envs.step(actions)
            solved |= open_ & (rewards > 0)
            open_ &= ~(terminated | truncated)
        return float(solved.mean())

    def smallest(self) -> Self:
        """A rollout, two problems."""
        few: dict[str, Any] = {**dict(self.settings), "n_steps": 8}
        small = replace(self, demonstrations=2, updates=2, steps=16, moments=1, episodes=2, n_envs=2, limit=4)
        return replace(small, settings=tuple(few.items()))


def joined(parts: list[Any]) -> Transitions:
    """The first episode of each environment, from arrays ``[n, T, ...]``, the last of which says where one ended."""
    ended = parts[-1]
    lengths = 1 + ended.argmax(axis=1)
    within = np.arange(ended.shape[1]) < lengths[:, None]
    observations, actions, rewards, following, terminations = (
        np.ascontiguousarray(part[within], np.float32) for part in parts[:-1]
    )
    ends = np.zeros(len(rewards), np.bool_)
    ends[np.cumsum(lengths) - 1] = True
    episodes = np.repeat(np.arange(len(lengths)), lengths)
    returns: Floats = np.bincount(episodes, rewards).astype(np.float64)
    return Transitions(observations, actions, rewards, following, terminations, ends, episodes, returns)
