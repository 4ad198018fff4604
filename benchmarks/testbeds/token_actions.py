"""Action tokens on the way around a post: cloned from few demonstrations, then trained by GRPO on success alone."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from ..evaluation import evaluation_seeds
from ..statistics import Floats
from .detour import WeakDemonstrations


@dataclass(frozen=True, kw_only=True)
class Knobs:
    """A condition: which of the three means of exploration GRPO has.

    Attributes:
        dynamic_sampling: whether groups that all succeed or all fail are replaced by others.
        clip_high: how far a ratio may rise above 1.
        temperature: of rollouts.
    """

    dynamic_sampling: bool = False
    clip_high: float = 0.2
    temperature: float = 1.0

    @property
    def params(self) -> dict[str, Any]:
        """The settings, as the agent takes them."""
        return vars(self).copy()


class TokenRun(NamedTuple):
    """What a run came to, before training and after each of M parts of it."""

    successes: Floats  # [M + 1], of the greedy policy on test problems
    steps: Floats  # [M + 1], environment steps until then
    kept: Floats  # [M], share of sampled groups that the last iteration of a part learnt from
    clipped: Floats  # [M], share of its tokens whose gradient the clip removed
    entropy: Floats  # [M], of a token in it, in nats

    @property
    def before(self) -> float:
        """Success of the cloned policy."""
        return float(self.successes[0])

    @property
    def after(self) -> float:
        """Success after training."""
        return float(self.successes[-1])

    @property
    def learnt(self) -> float:
        """Mean success after the parts of training."""
        return float(self.successes[1:].mean())

    def learnt_by_steps(self, steps: float) -> float:
        """Mean success over the first ``steps`` environment steps, straight lines between measurements."""
        return float(np.interp(np.linspace(0, steps, 50), self.steps, self.successes).mean())


class Iterations(BaseCallback):
    """Ends training after so many iterations.

    Args:
        count: of iterations.

    Attributes:
        steps: environment steps until the last one's end; the step that ends training comes on top.
    """

    def __init__(self, count: int) -> None:
        super().__init__()
        self.left, self.steps = count + 1, 0

    def _on_rollout_start(self) -> None:
        self.left -= 1

    def _on_step(self) -> bool:
        return self.left > 0

    def _on_rollout_end(self) -> None:
        self.steps = self.model.num_timesteps


@dataclass(frozen=True, kw_only=True)
class TokenDemonstrations(WeakDemonstrations):
    """The testbed: :class:`~.detour.WeakDemonstrations` with a policy of action tokens.

    Attributes:
        iterations: of training in each of ``moments`` parts; ``steps`` has no meaning.
    """

    demonstrations: int = 6
    noise: float = 0.3
    updates: int = 300
    moments: int = 5
    iterations: int = 2
    settings: tuple[tuple[str, Any], ...] = (
        ("chunk_size", 2),
        ("bins", 11),
        ("group_size", 8),
        ("n_groups", 32),
        ("batch_size", 32),
        ("policy_kwargs", {"net_arch": [64, 64]}),
    )

    def run(self, condition: Knobs, rate: float, seed: int) -> TokenRun:  # type: ignore[override]
        """Clones, trains and scores a policy; conditions of a seed have the same cloned policy."""
        from ...agents import make

        settings = {**dict(self.settings), **condition.params, "learning_rate": rate}
        agent: Any = make("simplevla-rl", self.envs(self.n_envs, "train"), seed=seed, device="cpu", **settings)
        agent.learn_offline(self.data(seed), self.updates)
        successes, steps, noted = [self._success(agent, seed)], [0], []
        for _ in range(self.moments):
            callback = Iterations(self.iterations)
            agent.learn(10**9, callback=callback, reset_num_timesteps=False, log_interval=None)
            successes.append(self._success(agent, seed))
            agent.num_timesteps = callback.steps
            steps.append(callback.steps)
            told = agent.logger.name_to_value
            noted.append([told[name] for name in ("rollout/groups_kept", "train/clip_fraction", "train/entropy")])
        kept, clipped, entropy = np.array(noted, float).T
        return TokenRun(np.array(successes), np.array(steps, float), kept, clipped, entropy)

    def _success(self, agent: Any, seed: int) -> float:
        """Share of test problems that the greedy policy solves."""
        envs = self.envs(self.episodes, "test")
        several: Any = evaluation_seeds(seed, self.episodes)
        observations, _ = envs.reset(seed=several)
        solved, open_ = np.zeros(self.episodes, np.bool_), np.ones(self.episodes, np.bool_)
        state = None
        while open_.any():
            actions, state = agent.predict(observations, state, deterministic=True)
            observations, rewards, terminated, truncated, _ = envs.step(actions)
            solved |= open_ & (rewards > 0)
            open_ &= ~(terminated | truncated)
        return float(solved.mean())

    def smallest(self) -> Self:
        """An iteration of two groups of two."""
        small = {**dict(self.settings), "group_size": 2, "n_groups": 2, "batch_size": 2}
        few: dict[str, Any] = {"demonstrations": 2, "updates": 2, "moments": 1, "iterations": 1, "episodes": 2}
        return type(self)(**few, n_envs=4, limit=12, settings=tuple(small.items()))
