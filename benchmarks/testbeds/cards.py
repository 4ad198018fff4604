"""Cards to remember, and PPO with memory that learns to: the first card, or the one a few steps back.

Games: RepeatFirst and RepeatPrevious of Morad et al., POPGym (2023), appendix A, in the form in which Lu et al.,
Structured State Space Models for In-Context Reinforcement Learning (2023), section 5.3, show them: an observation holds
the card, the last action, and whether the episode begins.
"""

import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from ...envs.actions import numbers
from ...envs.core import BatchedEnv, BatchedVectorEnv, Bools, Info, Ints
from ...envs.seeding import problem_rng
from ..statistics import Floats

SUITS, DECK = 4, 52
TASKS = ("first", "previous")
TEST_SEED = 10**6


class Cards(BatchedEnv):
    """A deck of 52 cards of four suits, one shown at each step; name the suit of the first, or of ``back`` cards ago.

    A right answer pays ``1 / n`` and a wrong one ``-1 / n``, of n answers that count: all but those before there is a
    card ``back`` steps ago. Chance is -0.5, the best 1.

    Args:
        num_envs: games.
        task: one of :data:`TASKS`.
        back: cards that lie between, for "previous".
    """

    env_state: ClassVar[tuple[str, ...]] = ("cards", "steps", "last")

    def __init__(self, num_envs: int, *, task: str = "first", back: int = 4) -> None:
        super().__init__(num_envs)
        if task not in TASKS or not 1 <= back < DECK:
            raise ValueError(f"task is one of {TASKS} and back between 1 and {DECK - 1}, got {task!r} and {back}")
        self.task, self.back = task, back
        self.answers = DECK - 1 if task == "first" else DECK - back
        self.observation_space = Box(0.0, 1.0, (2 * SUITS + 1,), np.float32)
        self.action_space = Discrete(SUITS)
        self.cards = np.zeros((num_envs, DECK), np.int64)
        self.steps = np.zeros(num_envs, np.int64)
        self.last = np.full(num_envs, -1)
        self.right = np.zeros(num_envs, np.bool_)
        self.paid = np.zeros(num_envs)

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Shuffles."""
        for index, seed, episode in zip(indices, seeds, episodes, strict=True):
            self.cards[index] = problem_rng("train", int(seed), int(episode)).permutation(DECK) % SUITS
        self.steps[indices], self.last[indices] = 0, -1

    def check(self, actions: Any) -> npt.NDArray[np.int64]:
        """Suits."""
        return numbers(actions, (self.num_envs,), kinds="iu", wanted="an action is a suit from 0 to 3")

    @property
    def wanted(self) -> Ints:
        """The right answers ``[n]`` now; -1 where no answer counts."""
        rows = np.arange(self.num_envs)
        if self.task == "first":
            return self.cards[:, 0]
        return np.where(self.steps < self.back, -1, self.cards[rows, self.steps - self.back])

    def advance(self, actions: npt.NDArray[np.int64], active: Bools) -> tuple[Floats, Bools]:
        """Pays the answer and shows the next card."""
        wanted = self.wanted
        self.right = actions == wanted
        self.paid = np.where(wanted < 0, 0.0, np.where(self.right, 1.0, -1.0) / self.answers) * active
        self.steps += active
        self.last = np.where(active, actions, self.last)
        return self.paid, self.steps >= (DECK - 1 if self.task == "first" else DECK)

    def observe(self) -> npt.NDArray[np.float32]:
        """``[n, 9]``: card, last action, beginning."""
        out, rows = np.zeros((self.num_envs, 2 * SUITS + 1), np.float32), np.arange(self.num_envs)
        out[rows, self.cards[rows, np.minimum(self.steps, DECK - 1)]] = 1.0
        acted = self.last >= 0
        out[rows[acted], SUITS + self.last[acted]] = 1.0
        out[:, -1] = ~acted
        return out

    def step_info(self) -> Info:
        """Whether the last answer was right."""
        return {"success": self.right, "reward_terms": {"answer": self.paid}}

    def expert_actions(self) -> Ints:
        """The right answers."""
        return np.maximum(self.wanted, 0)


class CardsVectorEnv(BatchedVectorEnv):
    """:class:`Cards` as a native vector."""

    batched_class = Cards


@dataclass(frozen=True, kw_only=True)
class Learner:
    """A condition.

    Attributes:
        agent: of the catalogue, with memory.
        task: of :data:`TASKS`.
        policy: its ``policy_kwargs``.
    """

    agent: str
    task: str
    policy: tuple[tuple[str, Any], ...] = ()


class Course(NamedTuple):
    """What a run came to."""

    scores: Floats  # [moments] mean returns of best actions
    seconds: Floats  # [lengths] processor time of a gradient over sequences of 64 environments


@dataclass(frozen=True, kw_only=True)
class CardGames:
    """The testbed.

    Attributes:
        steps: of training.
        moments: at which is scored, evenly spaced.
        episodes: of a score.
        n_envs: that experience comes from.
        lengths: of sequences whose gradients are timed.
        settings: of all agents.
    """

    steps: int = 199_680
    moments: int = 5
    episodes: int = 64
    n_envs: int = 64
    lengths: tuple[int, ...] = (64, 1024)
    settings: tuple[tuple[str, Any], ...] = (
        ("n_steps", 52),
        ("bptt_steps", 52),
        ("batch_size", 832),
        ("n_epochs", 4),
        ("gamma", 0.99),
        ("gae_lambda", 0.95),
        ("norm_obs", False),
    )

    def run(self, condition: Learner, rate: float, seed: int) -> Course:
        """Trains, scores and times an agent."""
        from ...agents import make

        envs = CardsVectorEnv(self.n_envs, task=condition.task)
        policy = {"net_arch": [64], **dict(condition.policy)}
        settings = {**dict(self.settings), "learning_rate": rate, "policy_kwargs": policy}
        agent: Any = make(condition.agent, envs, seed=seed, device="cpu", **settings)
        agent.env.seed(seed * self.n_envs)
        scores = []
        for _ in range(self.moments):
            agent.learn(self.steps // self.moments, reset_num_timesteps=False)
            scores.append(self._score(agent, condition.task))
        seconds = [self._seconds(agent, length) for length in self.lengths]
        return Course(np.array(scores), np.array(seconds))

    def _score(self, agent: Any, task: str) -> float:
        """Mean return of games that all agents are scored on."""
        envs = CardsVectorEnv(self.episodes, task=task)
        seen, _ = envs.reset(seed=TEST_SEED)
        returns, open_, state = np.zeros(self.episodes), np.ones(self.episodes, np.bool_), None
        while open_.any():
            actions, state = agent.predict(seen, state=state, deterministic=True)
            seen, rewards, terminated, _, _ = envs.step(actions)
            returns += rewards * open_
            open_ &= ~terminated
        return float(returns.mean())

    def _seconds(self, agent: Any, length: int) -> float:
        """Processor time of a gradient of values over sequences, at each step of which one environment begins anew."""
        import torch as th

        rng, policy = th.Generator().manual_seed(length), agent.policy
        seen = th.rand(length * self.n_envs, 2 * SUITS + 1, generator=rng)
        starts = th.zeros(length, self.n_envs, dtype=th.bool)
        starts[th.arange(length), th.arange(length) % self.n_envs] = True
        spent = []
        for _ in range(4):
            start = time.process_time()
            _, values, _ = policy.sequence_outputs(seen, policy.empty(self.n_envs), starts)
            values.sum().backward()
            spent.append(time.process_time() - start)
        policy.zero_grad()
        return float(np.median(spent[1:]))

    def smallest(self) -> Self:
        """A rollout, two games."""
        return replace(self, steps=208, moments=1, episodes=2, n_envs=4, lengths=(4,))
