"""Do demonstrations help more by RLPD's way of using them than as the first entries of a replay buffer?

The task is peg insertion under impedance control with a reward only when the peg is in, a simulated relative of the
tasks SERL was shown on. A scripted expert gives 20 demonstrations, as many as SERL's authors gave, anew for each seed.
All arms have the same networks, rates, batches, temperature and problems, and differ in the method:

* RLPD (row ``serl``): half of each batch from the demonstrations, ten critics with LayerNorm of which a target takes
  the least of two, an actor that follows their mean and moves once a step, four updates of the critics a step;
* SAC with the demonstrations in its replay buffer, drawn like anything else there, with one update a step;
* the same with four updates a step, as many as RLPD does;
* SAC from scratch, one update a step.

An arm's score is the success rate on test problems averaged over evaluations at even distances up to the end, that is
the area under its curve: what counts is how soon. The effect pairs arms by seed and takes that form of SAC which is
best on average, which favours the baselines. ``details`` hold the curves, the success at the end, what behaviour
cloning makes of five times as many demonstrations (the authors' own comparison), and the authors' figures, which are of
real robots that see by cameras and so no more than a frame for ours.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import gymnasium
import numpy as np

from ...agents import make
from ...agents.control.datasets import Transitions
from ..datasets.episodes import Episode
from ..datasets.record import record
from ..evaluation import evaluation_seeds
from ..statistics import Floats, Interval, bootstrap_interval, mean
from .claim import Claim, Measurement

CLAIM = Claim(
    handle="serl",
    sentence="RLPD's many updates a step, batches half from demonstrations and normalised critics let SERL learn "
    "contact-rich manipulation from sparse rewards in few steps (Luo et al. 2024, sections 4.1 and 5)",
    effect="area under RLPD's curve of success minus that of the best of SAC from scratch and SAC with the "
    "demonstrations preloaded into its replay buffer",
)

TASK, LIMIT = "tiltyard/PegInsertion-v0", 100
SEEDS = 6
DEMONSTRATIONS = 20
MOMENTS = tuple(range(500, 4001, 500))
EPISODES = 20
LANES = 4
CLONED, CLONING_UPDATES = 100, 3000
EQUAL: dict[str, Any] = {
    "learning_rate": 1e-3,
    "batch_size": 128,
    "buffer_size": 20_000,
    "learning_starts": 400,
    "ent_coef": "auto_0.01",
    "target_entropy": -2.0,
    "policy_kwargs": {"net_arch": [64, 64]},
}
SERL = "RLPD"
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    SERL: ("serl", {"gradient_steps": 4 * LANES}),
    "SAC, demonstrations preloaded": ("sac", {"gradient_steps": LANES}),
    "SAC, demonstrations preloaded, 4 updates a step": ("sac", {"gradient_steps": 4 * LANES}),
    "SAC from scratch": ("sac", {"gradient_steps": LANES}),
}
REAL_ROBOTS = {
    "source": "Luo et al. 2024, section 5, table 2 and figure 6: Franka arms, camera images, 20 demonstrations",
    "minutes to train": {"PCB insertion": 20, "cable routing": 31, "object relocation, both ways": 105, "peg": 19},
    "success": "100 of 100 trials a task",
    "success over that of behaviour cloning on 100 demonstrations": {
        "PCB insertion": "10 times",
        "cable routing": "5 times",
        "object relocation": "1.7 times",
    },
}


def demonstrations(count: int, seed: int) -> Transitions:
    """``count`` episodes of the scripted expert on training problems."""
    first = 1000 * seed
    return as_transitions(record(TASK, "expert", range(first, first + count)))


def as_transitions(episodes: Sequence[Episode]) -> Transitions:
    """Episodes as an agent's ``learn_offline`` takes them."""
    lengths = [len(episode.rewards) for episode in episodes]
    ends = np.zeros(sum(lengths), np.bool_)
    ends[np.cumsum(lengths) - 1] = True
    terminations = np.zeros(len(ends), np.float32)
    terminations[ends] = [episode.terminated for episode in episodes]
    return Transitions(
        observations=np.concatenate([episode.observations[:-1] for episode in episodes]).astype(np.float32),
        actions=np.concatenate([episode.actions for episode in episodes]).astype(np.float32),
        rewards=np.concatenate([episode.rewards for episode in episodes]).astype(np.float32),
        next_observations=np.concatenate([episode.observations[1:] for episode in episodes]).astype(np.float32),
        terminations=terminations,
        ends=ends,
        episodes=np.repeat(np.arange(len(episodes)), lengths),
        episode_returns=np.array([episode.rewards.sum() for episode in episodes], np.float64),
    )


def success(agent: Any, seed: int) -> float:
    """Share of :data:`EPISODES` test problems that the deterministic policy solves."""
    env = gymnasium.make_vec(TASK, EPISODES, "vector_entry_point", split="test")
    several: Any = evaluation_seeds(seed, EPISODES)  # Gymnasium's types know one seed alone
    observations, _ = env.reset(seed=several)
    solved = np.zeros(EPISODES, np.bool_)
    for _ in range(LIMIT):  # a lane that has solved its problem goes on with another, which changes nothing
        actions, _ = agent.predict(observations, deterministic=True)
        observations, rewards, *_ = env.step(actions)
        solved |= rewards > 0
        if solved.all():
            break
    env.close()
    return float(solved.mean())


def curve(arm: str, data: Transitions, seed: int) -> list[float]:
    """Trains one arm; its success at each of :data:`MOMENTS`."""
    name, own = ARMS[arm]
    agent: Any = make(name, TASK, seed=seed, n_envs=LANES, device="cpu", **(EQUAL | own))
    if arm != "SAC from scratch":
        agent.learn_offline(data, 0)
    found = []
    for moment in MOMENTS:
        agent.learn(moment - agent.num_timesteps, reset_num_timesteps=False)
        found.append(success(agent, seed))
    return found


def cloned(seed: int) -> float:
    """Success of behaviour cloning on :data:`CLONED` demonstrations."""
    shared = {name: EQUAL[name] for name in ("learning_rate", "batch_size", "policy_kwargs")}
    agent: Any = make("bc", TASK, seed=seed, device="cpu", **shared)
    return success(agent.learn_offline(demonstrations(CLONED, seed), CLONING_UPDATES), seed)


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains all arms with ``seeds`` seeds (6 by default), on one thread: about a quarter of an hour."""
    count = SEEDS if seeds is None else seeds
    curves: dict[str, list[list[float]]] = {arm: [] for arm in ARMS}
    cloning: list[float] = []
    for seed in range(count):
        data = demonstrations(DEMONSTRATIONS, seed)
        for arm in ARMS:
            curves[arm].append(curve(arm, data, seed))
        cloning.append(cloned(seed))
    found = {arm: np.array(rows) for arm, rows in curves.items()}  # [seeds, moments]
    best = max((arm for arm in ARMS if arm != SERL), key=lambda arm: found[arm].mean())
    effect = _interval((found[SERL] - found[best]).mean(axis=1), 0)
    return Measurement(effect, _details(found, np.array(cloning), best))


def _details(found: dict[str, Floats], cloning: Floats, best: str) -> dict[str, Any]:
    areas = {arm: rows.mean(axis=1) for arm, rows in found.items()}
    return {
        "seeds": len(cloning),
        "best baseline": best,
        "steps": MOMENTS,
        "area under the curve": {arm: asdict(_interval(area, 1)) for arm, area in areas.items()},
        "RLPD minus each": {
            arm: asdict(_interval(areas[SERL] - area, 2)) for arm, area in areas.items() if arm != SERL
        },
        "success at the end": {arm: asdict(_interval(rows[:, -1], 3)) for arm, rows in found.items()},
        "mean curve": {arm: rows.mean(axis=0).round(3).tolist() for arm, rows in found.items()},
        "curves, by seed": {arm: rows.round(3).tolist() for arm, rows in found.items()},
        f"success of behaviour cloning on {CLONED} demonstrations": asdict(_interval(cloning, 4)),
        "test problems an evaluation": EPISODES,
        "settings of all": {**EQUAL, "n_envs": LANES},
        "settings of each": {arm: {"agent": name, **own} for arm, (name, own) in ARMS.items()},
        "on real robots": REAL_ROBOTS,
    }


def _interval(values: Floats, stream: int) -> Interval:
    return bootstrap_interval(values[:, None], mean, rng=np.random.default_rng([2401, stream]))
