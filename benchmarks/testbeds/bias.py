"""Over-estimation: an agent's values against the discounted soft returns that its stochastic policy then gets.

The present stochastic policy acts from fresh starts, and every visited pair gets the agent's estimate, min over its
critics of Q(s, a), which is what its actor is trained on, and its discounted return with the entropy bonuses,
``G_t = r_t + gamma (G_t+1 - alpha log pi_t+1)``, judged where many further steps are counted or the episode ends by
itself; time limits are lifted, since critics look past them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from ..statistics import Floats
from .control import Env


@dataclass(frozen=True)
class Bias:
    """Estimates against returns at the pairs that a policy visits.

    Attributes:
        estimate: mean of min Q.
        truth: mean discounted soft return.
    """

    estimate: float
    truth: float

    def percent(self, scale: float) -> float:
        """Over-estimation in percent of ``scale``, a value of the task's; negative below the truth."""
        return 100 * (self.estimate - self.truth) / scale


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
    return Bias(float(estimates.mean()), float(returns.mean()))


@dataclass(frozen=True)
class Judge:
    """Scores an agent by its :class:`Bias` on a task.

    Attributes:
        make: an environment, without time limit.
        num_envs: of them.
        horizon: steps of each.
        tail: the last of them, which are not judged.
    """

    make: Callable[[], Env]
    num_envs: int = 32
    horizon: int = 160
    tail: int = 60

    def __call__(self, agent: Any, seed: int) -> Bias:
        """See the class."""
        env = SyncVectorEnv([self.make] * self.num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
        found = bias(agent, env, horizon=self.horizon, tail=self.tail, seed=100_000 + 1000 * seed)
        env.close()
        return found
