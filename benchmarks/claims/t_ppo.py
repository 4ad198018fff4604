"""Does PPO on windows of completions get as far as synchronous PPO in less time of writing?

Time is counted in generation steps: all slots write side by side, a token each a step, and a synchronous iteration
takes as many as its longest completion. PPO is the catalogue's agent, one completion a slot; "one window" is T-PPO with
a window of the longest completion, which differs from T-PPO in nothing else. All learn from as many completions.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.long_tails import Learner, LongTails, TailRun
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import SUCCESS, part, rates_told, summary

PPO, WHOLE, OURS = "PPO", "one window", "T-PPO"
THRESHOLD, FASTER = 0.7, float(np.log(1.1))
ACTS = "idle slots of PPO and of T-PPO, shares; PPO's success before and after training"


def learnt(run: TailRun) -> float:
    """Mean success after the parts of training."""
    return float(run.success[1:].mean())


def times(found: Found[Learner, TailRun], name: str) -> Floats:
    """Generation steps to the threshold, ``[seeds]``; who is never there counts as there when PPO has ended."""
    return np.minimum(found[name].each(lambda run: run.steps_to(THRESHOLD)), found[PPO].each(lambda run: run.steps[-1]))


def parts(found: Found[Learner, TailRun]) -> dict[str, Part]:
    """Time and success, against PPO and, beside it, against one window."""
    ends, told = found.each(lambda run: run.end), {}
    first = np.log(found[OURS].each(lambda run: run.steps[1]))
    for name in (PPO, WHOLE):
        slower, decides = np.log(times(found, name)), name == PPO
        told[f"generation steps to {THRESHOLD:.0%} success, {name}'s over {OURS}'s"] = part(
            slower - np.log(times(found, OURS)),
            margin=FASTER,
            log=True,
            highest=float((slower - first).mean()),
            decides=decides,
        )
        told[f"success after as many completions, {OURS}'s minus {name}'s"] = part(
            ends[OURS] - ends[name],
            margin=SUCCESS,
            wanted="no less",
            highest=1 - float(ends[name].mean()),
            decides=decides,
        )
    return told


def details(found: Found[Learner, TailRun]) -> dict[str, Any]:
    """Courses by time, idle slots, and what the premise is judged by."""
    idle = found.each(lambda run: run.idle)
    success = {name: np.array(list(of)) for name, of in found.each(lambda run: run.success).items()}
    return {
        "seeds": found.seeds,
        "completions, slots": [found.testbed.completions, found.testbed.slots],
        "learning rates": rates_told(found),
        ACTS: [float(of.mean()) for of in (idle[PPO], idle[OURS], success[PPO][:, 0], success[PPO][:, -1])],
        "share of idle slots": summary(idle),
        f"generation steps to {THRESHOLD:.0%} success": summary({name: times(found, name) for name in success}),
        f"runs with {THRESHOLD:.0%} success": found.count(lambda run: run.steps_to(THRESHOLD) < np.inf),
        "success after training": summary({name: of[:, -1] for name, of in success.items()}),
        "mean success at each moment": {name: of.mean(0).round(3).tolist() for name, of in success.items()},
        "mean generation steps at each moment": {
            name: of.mean(0).round().tolist() for name, of in found.each(lambda run: run.steps).items()
        },
        "tokens of a completion": summary(found.each(lambda run: run.tokens[-1] / run.completions[-1])),
    }


CLAIM = Comparison(
    handle="t-ppo",
    sentence="T-PPO, which learns from windows of unfinished responses, improves training efficiency by up to 2.5 "
    "times without sacrificing convergence (Fan et al. 2025, abstract)",
    effect="generation steps that synchronous PPO takes to a success of 70% on held-out problems over those that T-PPO "
    "takes (a factor); and T-PPO's success after as many completions minus PPO's",
    testbed=LongTails(),
    conditions={PPO: Learner(plain=True), WHOLE: Learner(), OURS: Learner(window=8)},
    ours=OURS,
    baselines=(PPO, WHOLE),
    seeds=8,
    tuning=Tuning(learnt, (1e-4, 3e-4, 1e-3, 3e-3), seeds=2),
    premise=Premise(
        "At least half of PPO's slot-time is idle, and more than T-PPO's by a fifth; PPO gains at least 0.2 of success "
        "and ends above the threshold",
        (ACTS,),
        lambda shown: shown[0] >= max(0.5, shown[1] + 0.2) and shown[3] >= max(THRESHOLD, shown[2] + 0.2),
    ),
    parts=parts,
    details=details,
    remark="Walks of 3 to 40 tokens with a Pareto tail, 32 slots, windows of 8 tokens and a transformer of 100,000 "
    "weights, where the paper has chains of thought and 32 billion. Time is simulated: a generation step costs the "
    "same with one slot at work as with all, and reading a carried prefix again, gradient steps and evaluation cost "
    "nothing; the paper measures whole training. A synchronous batch has as many prompts as slots, which is the "
    "paper's picture; an engine that queues more prompts than it has slots would idle less. The task, threshold, "
    "window and length of training were chosen on tuning seeds, where T-PPO and synchronous PPO were seen at a few "
    "rates.",
)
measure = CLAIM.measure
