"""A household robot that may ask: cloned from demonstrations, then fine-tuned by PPO, or by more cloning.

The task is ``tiltyard/AskToAct-v0``. Its expert's episodes in training homes are cloned by cross-entropy, and all
conditions of a seed go on from the same policy: by PPO on the dense reward (with terms for useful questions and
subgoals, as the paper's rewards have), by PPO on the sparse one, or by as many updates of cloning as it began with.
Policies are judged greedily in unseen homes, a fifth of whose objects are of combinations that training never asks for.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th

from ...wrappers.spaces import sb3_env
from ..evaluation import evaluation_seeds
from ..statistics import Floats

TASK = "tiltyard/AskToAct-v0"
MOST = 4
"""Objects that an instruction fits, at most."""
Demonstrations = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


@dataclass(frozen=True)
class FineTuning:
    """A condition.

    Attributes:
        reward: of PPO, "dense" or "sparse"; None clones on.
    """

    reward: str | None = None


class Judged(NamedTuple):
    """A greedy policy in unseen homes, by episode ``[N]``."""

    success: Floats
    questions: Floats
    candidates: Floats  # objects that the instruction fitted
    held_out: Floats  # whether training never asks for the combination

    def by_candidates(self, values: Floats) -> list[float]:
        """The mean where the instruction fitted 1, 2, ... objects."""
        return [float(values[self.candidates == k].mean()) for k in range(1, MOST + 1)]


class AskRun(NamedTuple):
    """What a run came to: the policy cloned at first, and at the end."""

    before: Judged
    after: Judged

    @property
    def gain(self) -> float:
        """Success that fine-tuning added."""
        return float(self.after.success.mean() - self.before.success.mean())


@dataclass(frozen=True, kw_only=True)
class AskHousehold:
    """The testbed.

    Attributes:
        demonstrations: episodes of the expert.
        updates: of cloning before conditions part, and of the condition that clones on, with batches of 256.
        cloning_rate: learning rate of the first of them.
        steps: of PPO.
        n_envs: sub-environments.
        n_steps: of each between updates.
        episodes: of an evaluation.
    """

    demonstrations: int = 2_000
    updates: int = 3_000
    cloning_rate: float = 1e-3
    steps: int = 400_000
    n_envs: int = 128
    n_steps: int = 64
    episodes: int = 1_000

    def run(self, condition: FineTuning, rate: float, seed: int) -> AskRun:
        """Clones, fine-tunes at ``rate`` and judges a policy; conditions of a seed have the same cloned policy."""
        from ...agents import make

        env = sb3_env(TASK, self.n_envs, seed=seed, reward=condition.reward or "sparse")
        settings: dict[str, Any] = {"n_steps": self.n_steps, "batch_size": 2_048, "n_epochs": 4, "gamma": 0.99}
        agent: Any = make(
            "fast-ppo", env, seed=seed, preset="none", device="cpu", learning_rate=rate, ent_coef=0.003, **settings
        )
        data = demonstrations(self.demonstrations, seed)
        agent.policy.update_moments(th.from_numpy(data[0]))
        self.clone(agent.policy, data, self.cloning_rate, seed)
        before = self.judge(agent, seed)
        if condition.reward is None:
            self.clone(agent.policy, data, rate, seed + 1)
        else:
            agent.learn(self.steps, log_interval=None)
        after = self.judge(agent, seed)
        env.close()
        return AskRun(before, after)

    def clone(self, policy: Any, data: Demonstrations, rate: float, seed: int) -> None:
        """Cross-entropy to the demonstrated actions, by Adam."""
        observations, actions = map(th.from_numpy, data)
        generator, optimizer = th.Generator().manual_seed(seed), th.optim.Adam(policy.parameters(), lr=rate)
        for _ in range(self.updates):
            drawn = th.randint(len(actions), (256,), generator=generator)
            _, logp, _ = policy.evaluate_actions(observations[drawn], actions[drawn])
            optimizer.zero_grad()
            (-logp.mean()).backward()
            optimizer.step()

    def judge(self, agent: Any, seed: int) -> Judged:
        """Plays one episode a home."""
        envs = gymnasium.make_vec(TASK, self.episodes, vectorization_mode="vector_entry_point", split="test")
        several: Any = evaluation_seeds(seed, self.episodes)
        observations, begun = envs.reset(seed=several)
        success, questions, open_ = np.zeros(self.episodes), np.zeros(self.episodes), np.ones(self.episodes, np.bool_)
        candidates, held_out = (np.asarray(begun[name], float) for name in ("candidates", "held_out"))
        while open_.any():
            actions, _ = agent.predict(observations, deterministic=True)
            observations, _, terminated, truncated, info = envs.step(actions)
            ended = open_ & (terminated | truncated)
            if ended.any():
                success[ended] = info["final_info"]["success"][ended]
                questions[ended] = info["final_info"]["questions"][ended]
            open_ &= ~ended
        envs.close()
        return Judged(success, questions, candidates, held_out)

    def smallest(self) -> Self:
        """Hardly any data, updates and steps."""
        return replace(self, demonstrations=20, updates=10, steps=512, n_envs=8, n_steps=32, episodes=40)


@lru_cache(maxsize=2)
def demonstrations(episodes: int, seed: int) -> Demonstrations:
    """Observations ``[T, 462]`` and actions ``[T]`` of the expert in training homes."""
    envs = gymnasium.make_vec(TASK, episodes, vectorization_mode="vector_entry_point", split="train")
    several: Any = [seed * 100_000 + i for i in range(episodes)]
    observations, _ = envs.reset(seed=several)
    expert, open_ = envs.unwrapped.expert(), np.ones(episodes, np.bool_)  # type: ignore[attr-defined]
    seen, done = [], []
    while open_.any():
        actions, _ = expert.predict(observations)
        seen.append(observations[open_])
        done.append(actions[open_])
        observations, _, terminated, truncated, _ = envs.step(actions)
        open_ &= ~(terminated | truncated)
    envs.close()
    return np.concatenate(seen), np.concatenate(done)
