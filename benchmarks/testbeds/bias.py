"""Over-estimation: an agent's values against the discounted soft returns that its stochastic policy then gets.

The present stochastic policy acts from fresh starts, and every visited pair gets the agent's estimate, min over its
critics of Q(s, a), which is what its actor is trained on, and its discounted return with the entropy bonuses,
``G_t = r_t + gamma (G_t+1 - alpha log pi_t+1)``, judged where many further steps are counted or the episode ends by
itself; time limits are lifted, since critics look past them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from ..statistics import Floats
from .control import Control, OnEach, Phase, Trained

SHARED: dict[str, Any] = {
    "learning_rate": 1e-3,
    "learning_starts": 500,
    "batch_size": 128,
    "gamma": 0.95,
    "tau": 0.01,
    "buffer_size": 10_000,
    "n_envs": 4,
    "gradient_steps": -1,
}
NET_ARCH = [64, 64]


@dataclass(frozen=True)
class Bias:
    """Estimates against returns at the pairs that a policy visits.

    Attributes:
        estimate: mean of min Q.
        truth: mean discounted soft return.
        scale: mean absolute discounted soft return.
    """

    estimate: float
    truth: float
    scale: float

    @property
    def percent(self) -> float:
        """Over-estimation in percent of the scale; negative below the truth."""
        return 100 * (self.estimate - self.truth) / self.scale


def soft_returns(
    rewards: Floats, log_probs: Floats, ended: npt.NDArray[np.bool_], gamma: float, alpha: float
) -> Floats:
    """Discounted soft returns of each step, each ``[T, n]``; what would follow the last step counts as nothing.

    An episode that ends at step t contributes its reward and nothing after.
    """
    returns = np.zeros_like(rewards)
    returns[-1] = rewards[-1]
    for t in range(len(rewards) - 2, -1, -1):
        returns[t] = rewards[t] + gamma * ~ended[t] * (returns[t + 1] - alpha * log_probs[t + 1])
    return returns


def bias(agent: OffPolicyAlgorithm, env: VectorEnv[Any, Any, Any], *, horizon: int, tail: int, seed: int) -> Bias:
    """Plays the stochastic policy ``horizon`` steps in every sub-environment and compares its values with what came.

    Args:
        agent: SAC or a relative: an actor with ``action_log_prob`` and critics.
        env: without time limit, in SAME_STEP mode.
        horizon: steps of each.
        tail: the last steps, counted in returns but not judged.
        seed: of the starts.
    """
    policy: Any = agent.policy
    observation, _ = env.reset(seed=seed)
    rewards, log_probs, values, ended = ([] for _ in range(4))
    for _ in range(horizon):
        with th.no_grad():
            observed = th.as_tensor(np.asarray(observation), dtype=th.float32)
            actions, log_prob = agent.actor.action_log_prob(observed)  # type: ignore[operator, union-attr]
            values.append(policy.critic(observed, actions).min(dim=0).values.numpy())
        observation, reward, terminated, _, _ = env.step(policy.unscale_action(actions.numpy()))
        rewards.append(reward)
        log_probs.append(log_prob.numpy())
        ended.append(terminated)
    soft = cast(Any, agent)  # where the temperature is fixed there is no logarithm of it that learns, as in SB3
    alpha = float(soft.ent_coef_tensor if soft.log_ent_coef is None else soft.log_ent_coef.detach().exp())
    whole = soft_returns(np.array(rewards), np.array(log_probs), np.array(ended), agent.gamma, alpha)
    returns = whole[: horizon - tail]
    estimates = np.asarray(values, float)[: horizon - tail]
    return Bias(float(estimates.mean()), float(returns.mean()), float(np.abs(returns).mean()))


@dataclass(frozen=True)
class Judge:
    """Scores an agent by its :class:`Bias` on a task.

    Attributes:
        task: an id.
        num_envs: sub-environments.
        horizon: steps of each.
        tail: the last of them, which are not judged.
    """

    task: str
    num_envs: int = 16
    horizon: int = 400
    tail: int = 150

    def __call__(self, agent: Any, seed: int) -> Bias:
        """See the class."""
        endless: dict[str, Any] = {"max_episode_steps": self.horizon + 1}
        if self.task.startswith("tiltyard/"):
            env = gymnasium.make_vec(self.task, self.num_envs, "vector_entry_point", split="test", **endless)
        else:
            same_step = {"autoreset_mode": AutoresetMode.SAME_STEP}
            env = gymnasium.make_vec(self.task, self.num_envs, "sync", vector_kwargs=same_step, **endless)
        found = bias(agent, env, horizon=self.horizon, tail=self.tail, seed=100_000 + 1000 * seed)
        env.close()
        return found


Run = Mapping[str, Trained[Bias]]


def percents(run: Run) -> list[float]:
    """Over-estimation in percent, mean over the moments, for each task."""
    return [float(np.mean([one.percent for one in of.scores])) for of in run.values()]


def returns(run: Run) -> list[float]:
    """The mean return that was counted at the end, for each task."""
    return [of.scores[-1].truth for of in run.values()]


def _on(task: str) -> Control:
    return Control(
        env=task,
        settings={**SHARED, "policy_kwargs": {"net_arch": NET_ARCH, "activation_fn": th.nn.ReLU}},
        phases=(Phase("steps", 4000), Phase("steps", 1000), Phase("steps", 1000)),
        score=Judge(task),
        small={"score": Judge(task, 2, 12, 4)},
    )


OVER_ESTIMATION = OnEach({task: _on(task) for task in ("Pendulum-v1", "tiltyard/Hopper-v5")})
"""Biases at three moments of the last half of training."""
