"""Can a reward for every step be learnt from when it errs, and does it take the minimum instead of the sum?

A proof needs four moves and then an answer. In each step the policy makes one of three moves (one is right, which one
hangs on the problem), writes filler, or answers; after a wrong move, or an answer too soon, the proof is lost, and so
is one without an answer after sixteen steps, which nobody has told the policy. It is a softmax, linear in the problem's
features, that knows how far the proof has come. Success is computed exactly, on problems that were not trained on.

A process reward model scores every step in [-1, 1]: 0.8 for steps without fault, -0.8 for wrong ones, plus an error of
its own at every problem and step (deviation 0.3, the same whenever it is asked). There is no fault in filler, which is
what a learner may abuse. The arms differ in the rewards that one and the same method of the catalogue is given:

* ``min-form``: ``pure`` as in its row but for the KL penalty (a step is one token, so that no separator is masked);
* ``sum-form``: ``pure`` with an infinite temperature and step rewards times the number of steps, so that a step's
  credit is the plain sum of the rewards from it on; baseline and loss stay what they are;
* ``outcome``: no step rewards, the verifiable reward alone;
* ``min-form and outcome``: both.

Each arm has the best of three learning rates by success over training on worlds of its own. The claim has two parts,
and the effect is the smaller: by how much min-form's success exceeds sum-form's at the end; and by how much min-form's
success after 30% of the updates exceeds outcome's after all of them less 5 points ("comparable"). ``details`` also has
what becomes of all at the largest learning rate, and, with few seeds, reward models that mind filler or do not err, and
a base that seldom succeeds.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch as th
from torch import Tensor

from ...agents.language.rollouts import PolicyOut, Rollouts
from ...agents.objectives.registry import load
from ..statistics import Floats
from .comparisons import best_rates, summary, weakest
from .harness import Claim, Measurement

CLAIM = Claim(
    handle="pure",
    sentence="With the minimum instead of the sum of process rewards as the value, training reaches what verifiable "
    "rewards do in 30% of the steps, where the sum collapses (Cheng et al. 2025, abstract)",
    effect="the smaller of: min-form's success minus sum-form's; min-form's after 30% of the updates minus outcome's "
    "after all, plus 0.05",
)

SEEDS, SIDE_SEEDS, TUNING_SEEDS = 12, 3, 2
MOVES_NEEDED, STEPS = 4, 16
MOVES, FILLER, ANSWER = 3, 3, 4  # actions 0, 1 and 2 are moves
LOST = MOVES_NEEDED + 1  # states: moves made so far, and this
PROBLEMS, HELD_OUT, WIDTH = 128, 128, 16
PROMPTS, GROUP = 8, 8
UPDATES, EVERY = 100, 10
RATES = (0.01, 0.03, 0.1)
RIGHT, NOISE = 0.8, 0.5


@dataclass(frozen=True)
class Arm:
    """What ``pure`` is given: its parameters, step rewards or none, and their sum instead of their minimum."""

    params: dict[str, float]
    steps: bool = True
    summed: bool = False


ARMS = {
    "min-form": Arm({}),
    "sum-form": Arm({"temperature": 1e9}, summed=True),
    "outcome": Arm({"verifiable_weight": 1.0}, steps=False),
    "min-form and outcome": Arm({"verifiable_weight": 1.0}),
}
SIDE_ARMS = ("min-form", "sum-form", "outcome")


class Setting(NamedTuple):
    """What the reward model thinks of filler, how far it errs, and how well the base knows the right moves."""

    filler: float = RIGHT
    error: float = 0.3
    skill: float = 3.0


MAIN = "filler is no fault"
SETTINGS = {
    MAIN: Setting(),
    "filler is half a fault": Setting(filler=-RIGHT / 2),
    "a reward model without errors": Setting(error=0.0),
    "a base that seldom succeeds": Setting(skill=1.0),
}


class World(NamedTuple):
    """N problems, the first ``PROBLEMS`` to learn from. S states, A actions."""

    features: Tensor  # [N, F]; the last is 1
    right: Tensor  # [N, MOVES_NEEDED] the right move
    scores: Tensor  # [N, S, A] of the process reward model
    base: Tensor  # [F, S * A] weights that training starts from


def draw_world(seed: int, setting: Setting) -> World:
    """Problems, what is right for them and what the reward model thinks."""
    rng = np.random.default_rng([2504, seed])
    n, states, actions = PROBLEMS + HELD_OUT, LOST + 1, ANSWER + 1
    features = np.column_stack([rng.normal(size=(n, WIDTH)) * 2 / np.sqrt(WIDTH), np.ones(n)])
    teacher, error = (rng.normal(size=(WIDTH + 1, states, actions)) for _ in range(2))
    teacher[-1], teacher[:, :, MOVES:], teacher[:, MOVES_NEEDED:] = 0.0, 0.0, 0.0
    liked = np.einsum("nf,fsa->nsa", features, teacher)[..., :MOVES]
    right = liked[:, :MOVES_NEEDED].argmax(-1)
    base = setting.skill * teacher + NOISE * error
    base[-1] = 0.0  # moves, a filler now and then, and an answer when it is time
    base[-1, :, FILLER] = -1.0
    base[-1, :, ANSWER] = np.where(np.arange(states) < MOVES_NEEDED, -4.0, 4.0)
    scores = np.full((n, states, actions), -RIGHT)
    scores[..., FILLER] = setting.filler
    np.put_along_axis(scores[:, :MOVES_NEEDED], right[..., None], RIGHT, -1)
    scores[:, MOVES_NEEDED, ANSWER] = RIGHT
    scores = (scores + setting.error * rng.normal(size=scores.shape)).clip(-1, 1)
    parts = (features, right, scores, base.reshape(WIDTH + 1, -1))
    return World(*[th.from_numpy(part) for part in parts])


def logps(world: World, weight: Tensor, problems: Tensor | slice) -> Tensor:
    """Log-probabilities of actions, ``[n, S, A]``."""
    return (world.features[problems] @ weight).view(-1, LOST + 1, ANSWER + 1).log_softmax(-1)


@th.no_grad()
def exact(world: World, weight: Tensor) -> tuple[float, float]:
    """Probability of a proof in time, and expected steps of an attempt, over the problems held out."""
    chances = logps(world, weight, slice(PROBLEMS, None)).exp()
    n = len(chances)
    onward = chances[:, :MOVES_NEEDED].gather(-1, world.right[PROBLEMS:, :, None])[..., 0]
    at, proven, steps = th.zeros(n, LOST + 1, dtype=chances.dtype), 0.0, 0.0
    at[:, 0] = 1.0
    for _ in range(STEPS):
        steps += float(at.sum() / n)
        proven += float((at[:, MOVES_NEEDED] * chances[:, MOVES_NEEDED, ANSWER]).mean())
        stay, alive = at * chances[..., FILLER], at * (1 - chances[..., ANSWER])
        moved = th.nn.functional.pad(at[:, :MOVES_NEEDED] * onward, (1, 1))
        lost = alive.sum(1) - stay[:, :LOST].sum(1) - moved.sum(1)
        at = stay + moved
        at[:, LOST] = lost
    return proven, steps


class Attempts(NamedTuple):
    """B attempts of T steps at most."""

    problem: Tensor  # [B]
    state: Tensor  # [B, T]
    action: Tensor  # [B, T]
    mask: Tensor  # [B, T]
    proven: Tensor  # [B]


@th.no_grad()
def attempt(world: World, weight: Tensor, problem: Tensor, generator: th.Generator) -> Attempts:
    """One attempt at each problem ``[B]``."""
    below, rows = logps(world, weight, problem).exp().cumsum(-1), th.arange(len(problem))
    state, over, proven = th.zeros_like(problem), th.zeros(len(problem), dtype=th.bool), th.zeros(len(problem))
    right = th.nn.functional.pad(world.right[problem], (0, 2), value=-1)
    columns = []
    for _ in range(STEPS):
        drawn = th.rand(len(problem), 1, dtype=below.dtype, generator=generator)
        action = (below[rows, state] <= drawn).sum(1).clamp(max=ANSWER)
        columns.append((state, action, ~over))
        proven = proven + (~over & (action == ANSWER) & (state == MOVES_NEEDED))
        over = over | (action == ANSWER)
        moved = th.where(action == right[rows, state], state + 1, LOST)
        state = th.where(action < MOVES, moved, state)
    states, actions, mask = (th.stack(column, 1) for column in zip(*columns, strict=True))
    return Attempts(problem, states, actions, mask, proven)


def as_rollouts(arm: Arm, world: World, found: Attempts, logp: Tensor) -> Rollouts:
    """Attempts as objectives read them: a step is a turn of one token."""
    length, turn = found.mask.sum(1), th.arange(STEPS).expand(found.mask.shape)
    scores = world.scores[found.problem[:, None], found.state, found.action] * found.mask * arm.steps
    return Rollouts(
        tokens=found.action,
        mask=found.mask,
        logp_old=logp.detach(),
        logp_ref=None,
        reward=found.proven,
        group=found.problem,
        seed=found.problem,
        turn=turn,
        length=length,
        entropy=th.zeros_like(logp),
        step_reward=scores * length[:, None] if arm.summed else scores,
    )


def course(name: str, rate: float, seed: int, setting: Setting = SETTINGS[MAIN]) -> Floats:
    """Success and steps of an arm at the start and after every ``EVERY`` updates, ``[moments, 2]``."""
    arm, world = ARMS[name], draw_world(seed, setting)
    objective, generator = load("pure", reward_kl_coef=0.0, **arm.params), th.Generator().manual_seed(seed)
    weight = world.base.clone().requires_grad_()
    optimizer = th.optim.Adam([weight], lr=rate)
    found: list[Any] = []
    for update in range(UPDATES + 1):
        if update % EVERY == 0:
            found.append(exact(world, weight))
        problems = th.randperm(PROBLEMS, generator=generator)[:PROMPTS].repeat_interleave(GROUP)
        tried = attempt(world, weight, problems, generator)
        rows = th.arange(len(problems))[:, None]
        logp = logps(world, weight, problems)[rows, tried.state, tried.action]
        rollouts = as_rollouts(arm, world, tried, logp)
        loss, _ = objective(rollouts, PolicyOut(logp, rollouts.entropy))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return np.array(found)


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (12 by default), after choosing its learning rate: half a minute."""
    count = SEEDS if seeds is None else seeds
    tuning, few = min(count, TUNING_SEEDS), min(count, SIDE_SEEDS)
    rates = best_rates(
        lambda arm, rate, seed: float(course(arm, rate, seed)[:, 0].mean()), ARMS, seeds=tuning, grid=RATES
    )
    found = {
        kind: {arm: np.array([course(arm, rates[arm], seed, setting) for seed in range(n)]) for arm in arms}
        for kind, setting in SETTINGS.items()
        for n, arms in [(count, tuple(ARMS)) if kind == MAIN else (few, SIDE_ARMS)]
    }
    hasty = {arm: np.array([course(arm, RATES[-1], seed)[-1] for seed in range(few)]) for arm in SIDE_ARMS}
    main = {arm: courses[..., 0] for arm, courses in found[MAIN].items()}
    at_30 = round(0.3 * UPDATES / EVERY)
    ours = main["min-form"]
    parts = {
        "min-form minus sum-form at the end": ours[:, -1] - main["sum-form"][:, -1],
        "min-form at 30% minus outcome at the end, plus 0.05": ours[:, at_30] - main["outcome"][:, -1] + 0.05,
    }
    details = {
        "seeds": count,
        "seeds of other settings": few,
        "updates": UPDATES,
        "learning rates": {"grid": list(RATES), "tuning seeds": tuning, "chosen": rates},
        "parts": summary(parts),
        f"success at the end, at the largest learning rate, {RATES[-1]}": summary(
            {arm: end[:, 0] for arm, end in hasty.items()}
        ),
        "success at 30%": summary({arm: courses[:, at_30] for arm, courses in main.items()}),
        **{
            kind: {
                "success before training": float(arms["outcome"][:, 0, 0].mean()),
                "success at the end": summary({arm: courses[:, -1, 0] for arm, courses in arms.items()}),
                "steps at the end": summary({arm: courses[:, -1, 1] for arm, courses in arms.items()}),
            }
            for kind, arms in found.items()
        },
    }
    return Measurement(weakest(parts), details)
