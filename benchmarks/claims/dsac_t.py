"""Does DSAC-T over-estimate values less than SAC?

Both agents train with the same networks, learning rates, batches, budget and seeds; what differs is the method: its
Gaussian critics with their three refinements, the slowly moving target actor and the actor's half pace. At three
moments of the last half of training, the present stochastic policy acts from fresh starts and every visited pair gets

* the agent's estimate, min over its critics of Q(s, a), which is what its actor is trained on,
* its discounted return with the entropy bonuses both methods count, ``G_t = r_t + gamma (G_t+1 - alpha log pi_t+1)``,
  judged where at least 150 further steps are counted (0.95^150 = 0.05%) or the episode ends by itself; time limits are
  lifted, since the critics look past them.

A bias is the mean estimate minus the mean return, in percent of the mean absolute return. The discount is 0.95, not the
paper's 0.99, so that values can follow the policy within a small budget; where they lag, that counts as bias too, for
either agent. Clipped double critics, which both have, are known to lean below the truth; ``details`` therefore tells
both biases, and which is nearer to zero.
"""

from dataclasses import asdict, dataclass
from typing import Any, cast

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from ...agents import make
from ..statistics import Floats, Interval, bootstrap_interval, mean
from .claim import Claim, Measurement

CLAIM = Claim(
    handle="dsac-t",
    sentence="DSAC-T lessens the over-estimation of values that SAC is left with (Duan et al. 2025, abstract)",
    effect="over-estimation of SAC minus that of DSAC-T, in percent of the mean absolute return",
)

TASKS = ("Pendulum-v1", "tiltyard/Hopper-v5")
SEEDS = 5
MOMENTS = (4000, 5000, 6000)
LANES, HORIZON, TAIL = 16, 400, 150
EQUAL: dict[str, Any] = {
    "learning_rate": 1e-3,
    "learning_starts": 500,
    "batch_size": 128,
    "gamma": 0.95,
    "tau": 0.01,
    "buffer_size": 10_000,
    "n_envs": 4,
    "gradient_steps": -1,
    "device": "cpu",
}
NETWORKS = {"net_arch": [64, 64], "activation_fn": th.nn.ReLU}


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
    """Plays the stochastic policy ``horizon`` steps in every lane and compares its values with what came.

    Args:
        agent: SAC or a relative: an actor with ``action_log_prob`` and critics.
        env: without time limit, in SAME_STEP mode.
        horizon: steps a lane.
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
    alpha = float(cast(Any, agent).log_ent_coef.detach().exp())
    returns = soft_returns(np.array(rewards), np.array(log_probs), np.array(ended), agent.gamma, alpha)[
        : horizon - tail
    ]
    estimates = np.asarray(values, float)[: horizon - tail]
    return Bias(float(estimates.mean()), float(returns.mean()), float(np.abs(returns).mean()))


def _endless(task: str) -> VectorEnv[Any, Any, Any]:
    """Lanes of a task without time limit."""
    if task.startswith("tiltyard/"):
        return gymnasium.make_vec(task, LANES, "vector_entry_point", max_episode_steps=HORIZON + 1, split="test")
    same_step = {"autoreset_mode": AutoresetMode.SAME_STEP}
    return gymnasium.make_vec(task, LANES, "sync", vector_kwargs=same_step, max_episode_steps=HORIZON + 1)


def biases(name: str, task: str, seed: int) -> list[Bias]:
    """Trains one agent and measures it at each of :data:`MOMENTS`."""
    extra = {"ent_coef_learning_rate": EQUAL["learning_rate"]} if name == "dsac-t" else {}
    agent = cast(OffPolicyAlgorithm, make(name, task, seed=seed, policy_kwargs=dict(NETWORKS), **EQUAL, **extra))
    env = _endless(task)
    found = []
    for moment in MOMENTS:
        agent.learn(moment - agent.num_timesteps, reset_num_timesteps=False)
        found.append(bias(agent, env, horizon=HORIZON, tail=TAIL, seed=100_000 + 1000 * seed))
    env.close()
    return found


def _interval(values: Floats, seed: int) -> Interval:
    return bootstrap_interval(values, mean, rng=np.random.default_rng([2310, seed]))


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains both agents on both tasks with ``seeds`` seeds (5 by default), on one thread: about seven minutes."""
    count = SEEDS if seeds is None else seeds
    found = {
        (name, task, seed): biases(name, task, seed)
        for seed in range(count)
        for task in TASKS
        for name in ("sac", "dsac-t")
    }

    def percents(name: str) -> Floats:
        """Mean over the moments, ``[seeds, tasks]``."""
        return np.array(
            [[np.mean([one.percent for one in found[name, task, seed]]) for task in TASKS] for seed in range(count)]
        )

    sac, dsact = percents("sac"), percents("dsac-t")
    details = {
        "seeds": count,
        "steps": MOMENTS[-1],
        "measured after steps": MOMENTS,
        "bias in percent": {
            f"{name}, {task}": asdict(_interval(values[:, [i]], i))
            for name, values in (("SAC", sac), ("DSAC-T", dsact))
            for i, task in enumerate(TASKS)
        },
        "absolute bias of SAC minus that of DSAC-T": asdict(_interval(np.abs(sac) - np.abs(dsact), 7)),
        "mean return counted": {
            f"{name}, {task}": round(float(np.mean([found[name, task, seed][-1].truth for seed in range(count)])), 1)
            for name in ("sac", "dsac-t")
            for task in TASKS
        },
        "settings of both": {key: value for key, value in EQUAL.items() if key != "device"} | {"net_arch": [64, 64]},
    }
    return Measurement(_interval(sac - dsact, 0), details)
