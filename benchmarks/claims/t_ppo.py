"""Does PPO on windows of completions get as far as synchronous PPO, and sooner, in equal time of writing?

Time is counted in generation steps: all slots write side by side, a token each a step, and a synchronous iteration
takes as many as its longest completion. PPO is the catalogue's agent, one completion a slot; "one window" is T-PPO with
a window of the longest completion, which differs from T-PPO in nothing else. All train for as many generation steps.
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
    """Mean success over the time of training."""
    return run.learnt


def times(found: Found[Learner, TailRun], name: str) -> Floats:
    """Generation steps to the threshold, ``[seeds]``; the whole budget for who is never there."""
    return found[name].each(lambda run: run.steps_to(THRESHOLD))


def per_completion(found: Found[Learner, TailRun], name: str) -> Floats:
    """Success of T-PPO after as many completions as another condition had in its time, minus that one's at its end."""
    pairs = zip(found[OURS].runs, found[name].runs, strict=True)
    return np.array([ours.success_after(other.completions[-1]) - other.success[-1] for ours, other in pairs])


def parts(found: Found[Learner, TailRun]) -> dict[str, Part]:
    """Time and success, against PPO and, beside it, against one window; and success by completions."""
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
        most = 1 - float(ends[name].mean())
        how = {"margin": SUCCESS, "wanted": "no less", "highest": most}
        told[f"success after equal time, {OURS}'s minus {name}'s"] = part(
            ends[OURS] - ends[name], decides=decides, **how
        )
        told[f"success after as many completions, {OURS}'s minus {name}'s"] = part(
            per_completion(found, name), margin=SUCCESS, wanted="no less", decides=False
        )
    return told


def details(found: Found[Learner, TailRun]) -> dict[str, Any]:
    """Courses by time, idle slots, and what the premise is judged by."""
    idle, ends = found.each(lambda run: run.idle), found.each(lambda run: run.end)
    before = found[PPO].each(lambda run: run.success[0])
    bed = found.testbed
    grid = np.linspace(0, bed.budget, 9)
    return {
        "seeds": found.seeds,
        "generation steps, slots": [bed.budget, bed.slots],
        "learning rates": rates_told(found),
        ACTS: [float(of.mean()) for of in (idle[PPO], idle[OURS], before, ends[PPO])],
        "share of idle slots": summary(idle),
        f"generation steps to {THRESHOLD:.0%} success": summary({name: times(found, name) for name in idle}),
        f"runs with {THRESHOLD:.0%} success": found.count(lambda run: run.steps_to(THRESHOLD) < run.budget),
        "success after training": summary(ends),
        "mean success over the time of training": summary(found.each(learnt)),
        f"mean success after {grid.round().astype(int).tolist()} steps": {
            name: np.mean([[run.success_at(steps) for steps in grid] for run in of.runs], 0).round(3).tolist()
            for name, of in found.outcomes.items()
        },
        "completions": summary(found.each(lambda run: run.completions[-1])),
        "tokens of a completion": summary(found.each(lambda run: run.tokens[-1] / run.completions[-1])),
    }


CLAIM = Comparison(
    handle="t-ppo",
    sentence="T-PPO, which learns from windows of unfinished responses, improves training efficiency by up to 2.5 "
    "times without sacrificing convergence (Fan et al. 2025, abstract)",
    effect="generation steps that synchronous PPO takes to a success of 70% on held-out problems over those that T-PPO "
    "takes (a factor); and T-PPO's success after as many generation steps minus PPO's",
    testbed=LongTails(),
    conditions={PPO: Learner(plain=True), WHOLE: Learner(), OURS: Learner(window=8)},
    ours=OURS,
    baselines=(PPO, WHOLE),
    seeds=8,
    tuning=Tuning(learnt, (2.5e-4, 5e-4, 1e-3, 2e-3), seeds=2),
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
