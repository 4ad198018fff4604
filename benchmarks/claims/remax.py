"""Does the greedy answer's reward do for a baseline what PPO's critic does?

In the laboratory (:mod:`.laboratory`) every method gets 32 problems an iteration and one answer to each, as the paper
does, for 80 iterations of one gradient step; ReMax's greedy answer to each comes on top. PPO's critic is linear in the
policy's features, and PPO may choose how fast it learns: each of :data:`CRITIC_RATES` is an arm, and the effect is
taken over the best of them. Every arm has the learning rate of :data:`.comparisons.GRID` that did best on tuning
worlds. REINFORCE with the batch's mean as a baseline is there to compare.

"No loss" is read as no more than a hundredth of success lost, so the threshold is -0.01. ``details`` holds the rest:

* the variance of one answer's gradient under each baseline over that with none, exact, before and after training. For
  two answers of a softmax the best baseline is the chance of the *wrong* one; the greedy answer's reward is near it
  where the right one is unlikely, and far where it is likely;
* numbers that the real trainer holds for what it trains (weights, gradients, two moments), and its seconds of
  processor time an iteration, for ReMax and PPO from the base ``countdown-warm`` on Countdown.
"""

import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...agents.language.trainer import PolicyGradient
from ...agents.objectives.registry import load
from .harness import Claim, Measurement
from .laboratory import (
    GRID,
    Course,
    Student,
    Tree,
    compare,
    draw_world,
    leads,
    learn,
    node_logp,
    report,
    summary,
    weakest,
)

CLAIM = Claim(
    handle="remax",
    sentence="REINFORCE with the greedy answer's reward as a baseline loses nothing in performance against PPO at "
    "about half its memory and time (Li et al. 2023, abstract)",
    effect="held-out success, mean over training, of ReMax minus that of PPO with the best of its critics",
    threshold=-0.01,
)

SEEDS = 20
TREE = Tree(4, 4)
ITERATIONS = 80
SETTINGS: dict[str, Any] = {"prompts": 32, "group": 1}
CRITIC_RATES = (0.03, 0.1)
PPO = {f"ppo, critic's rate {rate:g}": rate for rate in CRITIC_RATES}
ARMS = ("remax", "reinforce", *PPO)
BASE, TASK, TIMED = "countdown-warm", "tiltyard/Countdown-v0", 4
WATCHED = 4


def student_of(arm: str, rate: float, seed: int) -> Student:
    """An arm before training; a critic's rate is in learning rates of the policy."""
    world, handle = draw_world(seed, TREE), "ppo" if arm in PPO else arm
    critic_rate = PPO.get(arm, 1.0)
    return Student(world, load(handle), seed=seed, learning_rate=rate, critic_rate=critic_rate, **SETTINGS)


def run(arm: str, rate: float, seed: int) -> Course:
    """Trains an arm in the world of ``seed``."""
    return learn(student_of(arm, rate, seed), ITERATIONS)


@torch.no_grad()
def gradient_variance(student: Student, baseline: Tensor) -> Tensor:
    """Of one answer's gradient in the logits, (r - b) grad log pi, summed over logits; ``[N]``, exact.

    Args:
        student: the policy.
        baseline: ``[N]``, b at every problem.
    """
    tree, chance, reward = student.tree, student.distribution(), student.world.reward
    choices = node_logp(tree, student.world.features, student.weight).exp()  # [N, nodes, b]
    steps = choices[:, tree.nodes]  # [N, L, D, b]
    taken = torch.nn.functional.one_hot(tree.choices, tree.branching)
    length = (taken - steps).square().sum((-1, -2))  # of grad log pi, squared
    second = (chance * (reward - baseline[:, None]).square() * length).sum(1)
    visits = torch.zeros(len(chance), tree.n_nodes, tree.branching, dtype=chance.dtype)
    paid = chance * (reward - baseline[:, None])  # the expectation of the gradient is the same whatever b
    for d in range(tree.depth):
        each = paid[..., None] * (taken[:, d] - steps[:, :, d])
        visits.index_add_(1, tree.nodes[:, d], each)
    return second - visits.square().sum((1, 2))


def variances(student: Student) -> dict[str, float]:
    """Variance under each baseline over that with none, on problems by how likely a right answer is."""
    success = (student.distribution() * student.world.reward).sum(1)
    baselines = {"the greedy answer": student.greedy_reward(), "the exact success": success}
    none = gradient_variance(student, torch.zeros_like(success))
    found = {}
    for name, baseline in baselines.items():
        own = gradient_variance(student, baseline)
        for kind, rows in {"below half": success < 0.5, "above half": success >= 0.5, "all": success >= 0}.items():
            found[f"{name}, success {kind}"] = float(own[rows].sum() / none[rows].sum())
    return found


def costs(iterations: int = TIMED, problems: int = 32) -> dict[str, dict[str, float]]:
    """What the real trainer holds for what it trains, and its processor time an iteration."""
    agents = {method: _trainer(method, problems) for method in ("remax", "ppo")}
    held = {name: 4 * _trained(agent) for name, agent in agents.items()}
    seconds: dict[str, list[float]] = {name: [] for name in agents}
    for _ in range(iterations):
        for name, agent in agents.items():
            start = time.process_time()
            agent.iterate()
            seconds[name].append(time.process_time() - start)
    return {
        "numbers held for training": {**held, "ratio": held["remax"] / held["ppo"]},
        "seconds an iteration": {
            **{name: float(np.median(of)) for name, of in seconds.items()},
            "ratio": float(np.median(np.array(seconds["remax"]) / np.array(seconds["ppo"]))),
        },
    }


def _trainer(method: str, problems: int) -> PolicyGradient:
    agent = PolicyGradient(
        BASE, TASK, method=method, group_size=1, prompts_per_batch=problems, warm_start_steps=0, seed=0
    )
    return agent.learn(1)


def _trained(agent: PolicyGradient) -> int:
    networks = [agent.policy.network, *([agent.networks.critic] if hasattr(agent.networks, "critic") else [])]
    return sum(weights.numel() for network in networks for weights in network.parameters())


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (20 by default): a minute of processor time."""
    count = SEEDS if seeds is None else seeds
    arms = compare(run, ARMS, seeds=count, tuning=3)
    lead = leads(arms, "remax", PPO)
    spread: dict[str, list[dict[str, float]]] = {"before": [], "after": []}
    for seed in range(min(count, WATCHED)):
        student = student_of("remax", arms["remax"].rate, seed)
        spread["before"].append(variances(student))
        learn(student, ITERATIONS, every=ITERATIONS)
        spread["after"].append(variances(student))
    details = {
        "lead of ReMax": summary(lead | leads(arms, "remax", ("reinforce",))),
        "learning rates tried": GRID,
        **report(arms),
        "variance of the gradient over that without a baseline, mean of worlds": {
            moment: {kind: float(np.mean([one[kind] for one in found])) for kind in found[0]}
            for moment, found in spread.items()
        },
        **costs(),
    }
    return Measurement(weakest(lead), details)
