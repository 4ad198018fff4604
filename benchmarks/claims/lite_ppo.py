"""Do two switches, the batch's deviation and a mean over tokens, make plain clipped policy gradients better than GRPO?

In the laboratory (:mod:`.laboratory`) answers have one to four tokens, and problems range from hopeless to nearly
solved: feature vectors are up to six long. The whole grid of deviations (none, the group's, the batch's) and means
(over answers, over tokens) is run, each cell by the registry's own functions, and DAPO's objective (group, tokens, a
wider upper clip; no dynamic sampling). GRPO is the group's deviation and the mean over answers, without a KL penalty;
Lite PPO the batch's and the mean over tokens. An iteration is 8 problems with 8 answers each and two gradient steps;
every arm has the learning rate of :data:`.comparisons.GRID` that did best on tuning worlds.

The effect is Lite PPO's lead in held-out success, mean over training, over the better of GRPO and DAPO. ``details`` has
all cells, and by how much each deviation blows up the advantages of problems that the base policy nearly solves: the
root mean square of their advantages over that of problems it solves about half the time, where 1 would be no
distinction at all and rewards themselves (no deviation) give what the spread of rewards is worth.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ...agents.objectives.registry import Objective, load
from .harness import Claim, Measurement
from .laboratory import GRID, Course, Student, Tree, World, compare, draw_world, leads, learn, report, summary, weakest

CLAIM = Claim(
    handle="lite-ppo",
    sentence="Vanilla PPO loss with advantages by the group's mean and the batch's deviation and a mean over tokens "
    "beats GRPO and DAPO (Liu et al. 2025, abstract and section 5)",
    effect="held-out success, mean over training, of Lite PPO minus that of the better of GRPO and DAPO",
)

SEEDS = 20
TREE = Tree(4, 4, stops=True)
SURENESS = (1.0, 6.0)
ITERATIONS = 60
SETTINGS: dict[str, Any] = {"prompts": 8, "group": 8, "batch_size": 32}
DEVIATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "none": ("grpo", {"scale": False, "kl_coef": 0.0}),
    "group": ("grpo", {"kl_coef": 0.0}),
    "batch": ("lite-ppo", {}),
}
MEANS = {"answers": "grpo", "tokens": "lite-ppo"}
NAMES = {"group, answers": "grpo", "batch, tokens": "lite-ppo"}
ARMS = (*(NAMES.get(f"{by}, {over}", f"{by}, {over}") for by in DEVIATIONS for over in MEANS), "dapo")
HALF, NEARLY = (0.4, 0.6), (0.8, 0.95)
COPIES = 8


def objective(arm: str) -> Objective:
    """One cell of the grid, or DAPO."""
    if arm == "dapo":
        return load("dapo")
    by, over = {name: cell for cell, name in NAMES.items()}.get(arm, arm).split(", ")
    handle, params = DEVIATIONS[by]
    return replace(load(handle, **params), aggregate=load(MEANS[over]).aggregate)


def problems(seed: int) -> World:
    """Of all difficulties."""
    return draw_world(seed, TREE, sureness=SURENESS)


def run(arm: str, rate: float, seed: int) -> Course:
    """Trains an arm in the world of ``seed``."""
    return learn(Student(problems(seed), objective(arm), seed=seed, learning_rate=rate, **SETTINGS), ITERATIONS)


def inflation(by: str, seed: int) -> float:
    """Root mean square advantage on nearly solved problems over that on half-solved ones, in the base's groups of 8."""
    student = Student(
        problems(seed), objective(f"{by}, tokens" if by != "batch" else "lite-ppo"), seed=seed, learning_rate=0.0
    )
    chance = (student.distribution() * student.world.reward).sum(1)
    asked = torch.arange(len(chance)).repeat(COPIES)  # each problem in many groups of its own
    rollouts = student.sample(asked.repeat_interleave(8))
    rollouts = replace(rollouts, group=torch.arange(len(rollouts)) // 8)
    square = student.objective.advantage(rollouts).double().square()
    near, half = (square[((chance > low) & (chance < high))[rollouts.seed]].mean() for low, high in (NEARLY, HALF))
    return float((near / half).sqrt())


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (20 by default): a minute of processor time."""
    count = SEEDS if seeds is None else seeds
    arms = compare(run, ARMS, seeds=count, tuning=3)
    lead = leads(arms, "lite-ppo", ("grpo", "dapo"))
    blown_up = {by: float(np.mean([inflation(by, seed) for seed in range(min(count, 10))])) for by in DEVIATIONS}
    details = {
        "lead of Lite PPO": summary(lead),
        "learning rates tried": GRID,
        **report(arms),
        "advantages of nearly solved problems over those of half-solved ones, by deviation": blown_up,
    }
    return Measurement(weakest(lead), details)
