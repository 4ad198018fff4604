"""Does H2O, with a little real data and a wrong simulator, beat either alone and both mixed as they are?

The real system is Gymnasium's Pendulum-v1; its simulator has another gravity. The real data are the replay of a short
training run of SAC in reality, stopped about when it first swings the pendulum up: so little that learning from them
alone does not solve the task. Every arm then learns with the same networks, rates and batches, CQL by as many updates
as the others take steps in the simulator:

* H2O, on the data and the simulator;
* CQL on the data alone;
* SAC in the simulator alone;
* naive mixing: SAC in the simulator, half of each batch from the data.

Every arm is scored in reality by its deterministic policy from the same test starts, as the mean of three evaluations
at the end. The effect pairs the arms by seed and takes that baseline which is best on average, which favours the
baselines. ``details`` also tell whether what H2O takes for the dynamics gap follows the true one: Spearman's rank
correlation, over transitions that the simulator made, of u(s, a) and of -log P_real/P_sim(s'|s, a) with the distance
between the simulator's next state and reality's. The next states that u is averaged over are drawn near the simulator's
(``next_state_scale``): with deviations of the size of the data's own they are as improbable in reality as in the
simulator, and u no longer follows the truth (seen on other seeds than those of the measurement).
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.vector import AutoresetMode

from ...agents import make
from ...agents.control.datasets import Transitions
from ...agents.control.h2o import H2O
from ..statistics import Floats, Interval, bootstrap_interval, mean
from .claim import Claim, Measurement

CLAIM = Claim(
    handle="h2o",
    sentence="From limited real data and an imperfect simulator, H2O learns policies that earn more in reality than "
    "offline learning from the data, online learning in the simulator, or both mixed (Niu et al. 2022, table 1)",
    effect="return in reality of H2O minus that of the best of CQL on the data, SAC in the simulator, and naive mixing",
    withdrawn="the t interval of the same eight differences is [-11, 204] and includes 0; a percentile bootstrap of so "
    "few seeds is too narrow",
)

TASK, REAL_GRAVITY, SIMULATED_GRAVITY = "Pendulum-v1", 10.0, 15.0
SEEDS = 8
DATA_STEPS, EVALUATIONS = 3000, (5000, 5500, 6000)
EPISODES, EPISODE_STEPS = 20, 200
JUDGED = 1000
EQUAL: dict[str, Any] = {
    "learning_rate": 1e-3,
    "batch_size": 128,
    "buffer_size": 10_000,
    "learning_starts": 500,
    "gradient_steps": 1,
    "device": "cpu",
}
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "H2O": ("h2o", {"discriminator_width": 64, "next_state_scale": 0.03}),
    "CQL on the data": ("cql", {"n_actions": 4, "actor_learning_rate": 1e-3}),
    "SAC in the simulator": ("sac", {}),
    "naive mixing": ("sac", {"offline_ratio": 0.5}),
}
Agent = Any
Array = npt.NDArray[Any]


def pendulum(gravity: float) -> gymnasium.Env[Any, Any]:
    """The task with this gravity."""
    return gymnasium.make(TASK, g=gravity)


def real_data(seed: int) -> Transitions:
    """What SAC saw while it trained :data:`DATA_STEPS` steps in reality."""
    agent: Agent = make("sac", pendulum(REAL_GRAVITY), seed=seed, policy_kwargs=_networks(), **EQUAL)
    buffer = agent.learn(DATA_STEPS).replay_buffer
    n = buffer.size()
    ends = buffer.dones[:n, 0] > 0
    ends[-1] = True
    episodes = np.concatenate([[0], np.cumsum(ends)[:-1]]).astype(np.int64)
    rewards = buffer.rewards[:n, 0].copy()
    return Transitions(
        observations=buffer.observations[:n, 0].copy(),
        actions=agent.policy.unscale_action(buffer.actions[:n, 0]).astype(np.float32),
        rewards=rewards,
        next_observations=buffer.next_observations[:n, 0].copy(),
        terminations=np.zeros(n, np.float32),
        ends=ends,
        episodes=episodes,
        episode_returns=np.bincount(episodes, rewards).astype(np.float64),
    )


def trained(arm: str, data: Transitions, seed: int, score: Callable[[Agent], float]) -> tuple[Agent, list[float]]:
    """Trains one arm, scoring it at each of :data:`EVALUATIONS`."""
    name, own = ARMS[arm]
    agent: Agent = make(name, pendulum(SIMULATED_GRAVITY), seed=seed, policy_kwargs=_networks(), **(EQUAL | own))
    if name == "h2o" or "offline_ratio" in own:
        agent.learn_offline(data, 0)
    found, done = [], 0
    for moment in EVALUATIONS:
        if name == "cql":
            agent.learn_offline(data, moment - done)
        else:
            agent.learn(moment - done, reset_num_timesteps=False)
        found.append(score(agent))
        done = moment
    return agent, found


def real_return(agent: Agent, seed: int) -> float:
    """Mean return of the deterministic policy in reality."""
    same_step = {"autoreset_mode": AutoresetMode.SAME_STEP}
    env = gymnasium.make_vec(TASK, EPISODES, "sync", vector_kwargs=same_step, g=REAL_GRAVITY)
    observations, _ = env.reset(seed=seed)
    total = np.zeros(EPISODES)
    for _ in range(EPISODE_STEPS):
        actions, _ = agent.predict(observations, deterministic=True)
        observations, rewards, _, _, _ = env.step(actions)
        total += rewards
    env.close()
    return float(total.mean())


def true_errors(observations: Array, actions: Array, next_observations: Array) -> Floats:
    """How far each simulated next observation is from what reality would have shown, ``[N]``.

    Args:
        observations: ``[N, 3]`` cos, sin and speed of the angle.
        actions: ``[N, 1]`` in the task's units.
        next_observations: ``[N, 3]`` of the simulator.
    """
    env: Any = pendulum(REAL_GRAVITY).unwrapped
    env.reset(seed=0)
    found = []
    for (cosine, sine, speed), action, simulated in zip(observations, actions, next_observations, strict=True):
        env.state = np.array([np.arctan2(sine, cosine), speed])
        found.append(np.linalg.norm(env.step(action)[0] - simulated))
    return np.array(found)


def correlations(agent: H2O) -> dict[str, float]:
    """Rank correlation of H2O's two measures of the dynamics gap with the true one."""
    batch = agent.replayed(JUDGED)
    transitions = (batch.observations, batch.actions, batch.next_observations)
    with th.no_grad():
        gap = agent.dynamics_gap(*transitions).numpy()
        ratio = -agent.discriminators.log_ratio(*transitions).numpy()
    actions = agent.policy.unscale_action(batch.actions.numpy())
    errors = true_errors(batch.observations.numpy(), actions, batch.next_observations.numpy())
    return {"u(s, a)": rank_correlation(gap, errors), "-log ratio(s'|s, a)": rank_correlation(ratio, errors)}


def rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's, of values without ties."""
    first, second = (np.argsort(np.argsort(values)) - (len(values) - 1) / 2 for values in (one, other))
    return float((first * second).sum() / (first**2).sum())


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains all arms with ``seeds`` seeds (8 by default), on one thread: about eight minutes."""
    count = SEEDS if seeds is None else seeds
    scores: dict[str, list[float]] = {arm: [] for arm in ARMS}
    gaps: list[dict[str, float]] = []
    behaviour: list[float] = []
    for seed in range(count):
        data = real_data(100 + seed)
        behaviour.append(float(np.mean(data.episode_returns)))
        for arm in ARMS:
            agent, found = trained(arm, data, seed, lambda agent, at=seed: real_return(agent, 10_000 + 100 * at))  # type: ignore[misc]
            scores[arm].append(float(np.mean(found)))
            if isinstance(agent, H2O):
                gaps.append(correlations(agent))
    best = max((arm for arm in ARMS if arm != "H2O"), key=lambda arm: np.mean(scores[arm]))
    effect = _interval(np.subtract(scores["H2O"], scores[best]), 0)
    return Measurement(effect, _details(scores, gaps, behaviour, best))


def _details(
    scores: dict[str, list[float]], gaps: list[dict[str, float]], behaviour: list[float], best: str
) -> dict[str, Any]:
    count = len(behaviour)
    return {
        "seeds": count,
        "best baseline": best,
        "return in reality": {arm: asdict(_interval(np.array(found), 1)) for arm, found in scores.items()},
        "return in reality, by seed": {arm: [round(one, 1) for one in found] for arm, found in scores.items()},
        "H2O minus each": {
            arm: asdict(_interval(np.subtract(scores["H2O"], found), 2))
            for arm, found in scores.items()
            if arm != "H2O"
        },
        "mean return of the data": round(float(np.mean(behaviour)), 1),
        "rank correlation with the true gap": {
            kind: asdict(_interval(np.array([gap[kind] for gap in gaps]), 3)) for kind in gaps[0]
        },
        "gravity": {"real": REAL_GRAVITY, "simulated": SIMULATED_GRAVITY},
        "real transitions": DATA_STEPS,
        "steps": EVALUATIONS[-1],
        "settings of all": {name: value for name, value in EQUAL.items() if name != "device"} | _networks(),
        "settings of each": {arm: own for arm, (_, own) in ARMS.items()},
    }


def _networks() -> dict[str, Any]:
    return {"net_arch": [64, 64]}


def _interval(values: Floats, stream: int) -> Interval:
    return bootstrap_interval(values[:, None], mean, rng=np.random.default_rng([2206, stream]))
