"""Does a reward for brevity save tokens at no loss, and should it wait until the completions are good?

The conditions are the catalogue's ``kimi-k1-5`` without a length reward, and with one from half of training on
(``late``) or from the start (``early``). The paper does not say what it weighs, so that there are three weights; at the
largest, 1, the longest correct completion still earns 0.5, more than any incorrect one. All have one learning rate,
which did best without a length reward, and the weight that decides is the one that saved most tokens without losing
more than a point, both on tuning seeds.

The claim has three parts: the share of tokens that ``late`` saves, for which the paper
has no number; its success at the end minus that without, of which it may lose one point; and by how much the
``early`` length reward lowers success in the first half of training.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.sequences import SequenceMethod, Sequences, mean_first
from ..testbeds.thoughts import Thoughts, first_half, length_reward
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import part, summary

WEIGHTS, SAVEABLE = (0.1, 0.3, 1.0), "share that could be saved at no loss"
Outcomes = Found[SequenceMethod, Floats]


def best_weight(found: Outcomes) -> float:
    """The weight that, switched on late, saves most tokens and costs a point of success at most; else the smallest."""
    late = found.on_tuning_seeds(("without", *(f"late, {weight}" for weight in WEIGHTS)))
    ends = {name: np.mean([run[-1] for run in runs], 0) for name, runs in late.items()}
    good = [weight for weight in WEIGHTS if ends[f"late, {weight}"][0] >= ends["without"][0] - 0.01]
    return min(good, key=lambda weight: float(ends[f"late, {weight}"][1]), default=WEIGHTS[0])


def parts(found: Outcomes) -> dict[str, Part]:
    """Tokens are saved, success is no less, and it is slowed down by a length reward from the start."""
    weight = best_weight(found)
    late, early, without = (found[name] for name in (f"late, {weight}", f"early, {weight}", "without"))
    (success, tokens), (plain, plain_tokens) = (of.each(lambda run: run[-1]).T for of in (late, without))
    return {
        "share of tokens saved": part(1 - tokens / plain_tokens, highest=1.0, margin=0.05),
        "success at the end minus without": part(success - plain, margin=0.01, wanted="no less"),
        "success in the first half, without minus early": part(
            without.each(first_half) - early.each(first_half), highest=without.each(first_half).mean(), margin=0.01
        ),
    }


def details(found: Outcomes) -> dict[str, Any]:
    """Parts, and what share of tokens could be saved at no loss at all."""
    weight, task, tokens = best_weight(found), found.testbed.task, found.each(lambda run: run[-1, 1])
    fewest = np.array([task.fewest_tokens(seed) for seed in found.seed_list])
    start = found["without"].each(lambda run: run[0]).mean(0)
    return {
        "seeds": found.seeds,
        "iterations": found.testbed.iterations,
        "learning rate": {"grid": found.grid, "chosen": found["without"].rate},
        "weight that decides": weight,
        "success before": float(start[0]),
        "tokens before": float(start[1]),
        "success in the first half": summary(found.each(first_half)),
        "success at the end": summary(found.each(lambda run: run[-1, 0])),
        "tokens at the end": summary(tokens),
        "share of tokens saved": summary({name: 1 - of / tokens["without"] for name, of in tokens.items()}),
        SAVEABLE: float((1 - fewest / tokens["without"]).mean()),
    }


CLAIM = Comparison(
    handle="kimi-k1-5",
    sentence="A length reward makes completions shorter without loss, but slows training down at first and is better "
    "switched on later (Kimi Team 2025, section 2.3.3)",
    effect="share of tokens saved by the late length reward; its success minus that without (no less than "
    "0.01 below); success in the first half of training without one minus with one",
    testbed=Sequences(task=Thoughts(), epochs=2),
    conditions={"without": length_reward(0.0, 0.0)}
    | {f"late, {weight}": length_reward(0.0, weight) for weight in WEIGHTS}
    | {f"early, {weight}": length_reward(weight, weight) for weight in WEIGHTS},
    ours="late, 0.1",
    baselines=("without", "early, 0.1"),
    seeds=12,
    tuning=Tuning(mean_first, (0.03, 0.1, 0.3), 3, alike="without"),
    premise=Premise("Completions begin longer than problems take", (SAVEABLE,), lambda share: share > 0.05),
    parts=parts,
    details=details,
    remark="The weight is the one that saves most tokens for a point of success at most, so that the second part lies "
    "near its own bound by construction, and so does the third, as a weight that costs little slows down little.",
)
measure = CLAIM.measure
