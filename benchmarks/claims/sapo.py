"""Does a soft gate stand stale answers better than clips do?

In the laboratory (:mod:`.laboratory`) an iteration's 64 answers are used for four passes of two gradient steps, so that
the last step is seven behind the policy that wrote them. Same advantages (GRPO's), same worlds; only the loss differs,
and every arm has the learning rate of :data:`.comparisons.GRID` that did best on tuning worlds. GSPO's published bounds
are for the mean over thousands of tokens and close at once on answers of four; a second GSPO with PPO's bounds is there
so that it does not lose by that alone, and SAPO must beat it too.

The effect is SAPO's lead in held-out success, mean over training, over the best of the others. ``details`` also counts
collapses (worlds in which success ends below three quarters of its peak) at the chosen rate and at three times that
rate, and shows what one token far off the old policy does to the gradient of the other three.
"""

from typing import Any

import torch

from ...agents.objectives.registry import load
from .harness import Claim, Measurement
from .laboratory import GRID, Arm, Course, Student, Tree, compare, draw_world, leads, learn, report, summary, weakest

CLAIM = Claim(
    handle="sapo",
    sentence="A soft gate on token ratios trains more stably and to higher success than GRPO's and GSPO's clips at "
    "equal budget (Gao et al. 2025, abstract)",
    effect="held-out success, mean over training, of SAPO minus that of the best of GRPO and GSPO with either bounds",
)

SEEDS = 16
TREE = Tree(4, 4)
ITERATIONS = 30
SETTINGS = {"prompts": 8, "group": 8, "epochs": 4, "batch_size": 32}
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "sapo": ("sapo", {}),
    "grpo": ("grpo", {"kl_coef": 0.0}),
    "gspo": ("gspo", {}),
    "gspo, bounds 0.2": ("gspo", {"clip_low": 0.2, "clip_high": 0.2}),
}
RIVALS = tuple(ARMS)[1:]
FASTER = 3.0


def run(arm: str, rate: float, seed: int) -> Course:
    """Trains an arm in the world of ``seed``."""
    handle, params = ARMS[arm]
    student = Student(draw_world(seed, TREE), load(handle, **params), seed=seed, learning_rate=rate, **SETTINGS)
    return learn(student, ITERATIONS)


def collapsed(course: Course) -> bool:
    """Held-out success ends below three quarters of its peak."""
    return bool(course.held_out[-1] < 0.75 * course.held_out.max())


def others_gradient(arm: str) -> float:
    """How long the gradient of three tokens is when the fourth has doubled its probability since, over when it has not.

    One right answer of two in a group, the other as it was.
    """
    handle, params = ARMS[arm]
    student = Student(draw_world(0, TREE), load(handle, **params), seed=0, learning_rate=0.0)
    right = int(student.world.reward[0].argmax())
    rollouts = student.write(torch.tensor([0, 0]), torch.tensor([right, (right + 1) % len(TREE)]))
    lengths = []
    for shift in (0.0, torch.tensor(2.0).log()):
        out = student.evaluate(rollouts.tokens, rollouts.mask)
        moved = out.logp.detach().clone()
        moved[0, 1] += shift
        logp = moved.requires_grad_()
        loss, _ = student.objective(rollouts, type(out)(logp, out.entropy.detach()))
        lengths.append(float(torch.autograd.grad(loss, logp)[0][0, 2:].norm()))
    return lengths[1] / lengths[0]


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (16 by default): a minute of processor time."""
    count = SEEDS if seeds is None else seeds
    arms = compare(run, ARMS, seeds=count, tuning=3)
    some = range(min(count, 8))
    faster = {name: Arm(FASTER * a.rate, [run(name, FASTER * a.rate, s) for s in some]) for name, a in arms.items()}
    lead, lead_faster = leads(arms, "sapo", RIVALS), leads(faster, "sapo", RIVALS)
    details = {
        "lead of SAPO": summary(lead),
        "learning rates tried": GRID,
        **report(arms),
        "worlds that collapse": {name: sum(map(collapsed, arm.courses)) for name, arm in arms.items()},
        "at three times the learning rate": {
            "seeds": len(some),
            "lead of SAPO": summary(lead_faster),
            "worlds that collapse": {name: sum(map(collapsed, arm.courses)) for name, arm in faster.items()},
        },
        "gradient of three tokens once the fourth is twice as likely": {arm: others_gradient(arm) for arm in ARMS},
    }
    return Measurement(weakest(lead), details)
