"""Does it matter that only the problems that are solved most often pay for length?

The conditions are the catalogue's ``grpo`` without a length penalty, with the penalty of the reward ``grpo-lambda`` for
every group of a batch (``everywhere``) and for the fifth of the groups that is solved most often (``grpo-lambda``), at
three weights. The paper's text at hand gives no weight. All have one learning rate, which did best without a penalty.

The claim's parts are, at each weight, success at the end minus that with the penalty everywhere, and tokens saved
against no penalty. Beside are success minus that without a penalty, and that with as many groups drawn at random.
"""

from typing import Any

from ..statistics import Floats
from ..testbeds.sequences import SequenceMethod, Sequences, mean_first
from ..testbeds.thoughts import Thoughts, length_penalised
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import part, rates_told, summary

WEIGHTS, SHARE, PLAIN = (0.05, 0.2, 0.5), 0.2, "without"
COST, RANDOM, HARM = "success that the penalty everywhere costs", "at random", 0.05


def at_end(found: Found[SequenceMethod, Floats]) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Success and tokens after training, ``[seeds]`` of each condition."""
    return found.each(lambda run: run[-1, 0]), found.each(lambda run: run[-1, 1])


def parts(found: Found[SequenceMethod, Floats]) -> dict[str, Part]:
    """More success than with the penalty everywhere, and fewer tokens than without, at every weight."""
    success, tokens = at_end(found)
    made: dict[str, Part] = {}
    for weight in WEIGHTS:
        ours, everywhere = (f"{name}, {weight}" for name in ("grpo-lambda", "everywhere"))
        room = 1 - float(success[everywhere].mean())
        lead, saved = success[ours] - success[everywhere], 1 - tokens[ours] / tokens[PLAIN]
        made |= {
            f"weight {weight:g}: success over the penalty everywhere": part(lead, highest=room, margin=0.01),
            f"weight {weight:g}: share of tokens saved": part(saved, highest=1.0, margin=0.05),
            f"weight {weight:g}: success minus without": part(success[ours] - success[PLAIN], decides=False),
        }
    random = part(success[f"grpo-lambda, {WEIGHTS[-1]}"] - success[RANDOM], decides=False)
    return made | {f"weight {WEIGHTS[-1]:g}: success over groups at random": random}


def details(found: Found[SequenceMethod, Floats]) -> dict[str, Any]:
    """Success and tokens of all conditions."""
    success, tokens = at_end(found)
    return {
        "learning rates": rates_told(found),
        "success and tokens before": found[PLAIN].each(lambda run: run[0]).mean(0).tolist(),
        "success at the end": summary(success),
        "tokens at the end": summary(tokens),
        COST: {f"{w:g}": float((success[PLAIN] - success[f"everywhere, {w}"]).mean()) for w in WEIGHTS},
    }


CLAIM = Comparison(
    handle="grpo-lambda",
    sentence="A length penalty for the groups solved most often alone avoids the loss of accuracy that one for all "
    "groups brings, and still shortens completions (Dai et al. 2025, abstract)",
    effect="success at the end minus that with the penalty everywhere; tokens saved against none; at three weights",
    testbed=Sequences(task=Thoughts(prompts=10), every=20),
    conditions={PLAIN: length_penalised(0.0, 0.0), RANDOM: length_penalised(SHARE, WEIGHTS[-1], at_random=True)}
    | {f"grpo-lambda, {weight}": length_penalised(SHARE, weight) for weight in WEIGHTS}
    | {f"everywhere, {weight}": length_penalised(1.0, weight) for weight in WEIGHTS},
    ours=f"grpo-lambda, {WEIGHTS[-1]}",
    baselines=(PLAIN, f"everywhere, {WEIGHTS[-1]}"),
    seeds=24,
    tuning=Tuning(mean_first, (0.03, 0.1, 0.3), 6, alike=PLAIN),
    premise=Premise(
        f"The penalty everywhere costs at least {HARM} of success at the largest weight",
        (COST, f"{WEIGHTS[-1]:g}"),
        lambda cost: cost >= HARM,
    ),
    parts=parts,
    details=details,
    remark="A policy linear in eight features. Accuracy ends lower here, where in the paper it collapses at once.",
)
measure = CLAIM.measure
