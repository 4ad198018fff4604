"""Does a reward for brevity save tokens at no loss, and should it wait until the completions are good?

The conditions are the catalogue's ``kimi-k1-5`` without a length reward, and with one from half of training on
(``late``) or from the start (``early``). The paper does not say what it weighs, so that there are five weights; at the
largest, 1, the longest correct completion still earns 0.5, more than any incorrect one. All have one learning rate,
which did best without a length reward.

The claim's parts, each a mean over seeds:

* tokens that ``late`` saves, and its success at the end minus that without, of which it may lose one point. The paper
  says that there is a weight at no loss, so that one is chosen: of those that lost nothing at all on the tuning seeds
  the one that saved most;
* success in the first half of training without a length reward minus that with an ``early`` one, and success at the
  end of ``late`` minus that of ``early``, for each of the three larger weights.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.sequences import SequenceMethod, Sequences, mean_first
from ..testbeds.thoughts import Thoughts, first_half, length_reward
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import part, summary

WEIGHTS, SAVEABLE = (0.01, 0.03, 0.1, 0.3, 1.0), "share that could be saved at no loss"
Outcomes = Found[SequenceMethod, Floats]


def best_weight(found: Outcomes) -> float:
    """The weight that, switched on late, saves most tokens and costs no success on the tuning seeds; else the least."""
    late = found.on_tuning_seeds(("without", *(f"late, {weight}" for weight in WEIGHTS)))
    ends = {name: np.mean([run[-1] for run in runs], 0) for name, runs in late.items()}
    good = [weight for weight in WEIGHTS if ends[f"late, {weight}"][0] >= ends["without"][0]]
    return min(good, key=lambda weight: float(ends[f"late, {weight}"][1]), default=WEIGHTS[0])


def parts(found: Outcomes) -> dict[str, Part]:
    """Tokens are saved and success is no less at one weight; each larger one slows training down when early."""
    late, without = (found[name] for name in (f"late, {best_weight(found)}", "without"))
    (success, tokens), (plain, plain_tokens) = (of.each(lambda run: run[-1]).T for of in (late, without))
    made = {
        "share of tokens saved": part(1 - tokens / plain_tokens, highest=1.0, margin=0.05),
        "success at the end minus without": part(success - plain, margin=0.01, wanted="no less"),
    }
    halves, ends = found.each(first_half), found.each(lambda run: run[-1, 0])
    for weight in WEIGHTS[2:]:
        early, late_end = f"early, {weight}", ends[f"late, {weight}"]
        slower = part(halves["without"] - halves[early], highest=halves["without"].mean(), margin=0.01)
        later = part(late_end - ends[early], highest=late_end.mean(), margin=0.01)
        made |= {
            f"weight {weight:g}: success in the first half, without minus early": slower,
            f"weight {weight:g}: success at the end, late minus early": later,
        }
    return made


def details(found: Outcomes) -> dict[str, Any]:
    """Parts, and what share of tokens could be saved at no loss at all."""
    task, tokens = found.testbed.task, found.each(lambda run: run[-1, 1])
    fewest = np.array([task.fewest_tokens(seed) for seed in found.seed_list])
    start = found["without"].each(lambda run: run[0]).mean(0)
    return {
        "seeds": found.seeds,
        "iterations": found.testbed.iterations,
        "learning rate": {"grid": found.grid, "chosen": found["without"].rate},
        "weight chosen": best_weight(found),
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
    effect="share of tokens saved by the late length reward of the chosen weight; its success minus that without (no "
    "less than 0.01 below); success in the first half without one minus with an early one; success at the end, late "
    "minus early",
    testbed=Sequences(task=Thoughts(), epochs=2),
    conditions={"without": length_reward(0.0, 0.0)}
    | {f"late, {weight}": length_reward(0.0, weight) for weight in WEIGHTS}
    | {f"early, {weight}": length_reward(weight, weight) for weight in WEIGHTS},
    ours="late, 0.1",
    baselines=("without", "early, 0.1"),
    seeds=48,
    tuning=Tuning(mean_first, (0.03, 0.1, 0.3), 24, alike="without"),
    premise=Premise("Completions begin longer than problems take", (SAVEABLE,), lambda share: share > 0.05),
    parts=parts,
    details=details,
    remark="Measured first with 12 seeds, which are among these, by a rule that chose the weight that lost a point of "
    "success at most, so that two parts lay near their bounds by construction. A policy linear in eight features.",
)
measure = CLAIM.measure
