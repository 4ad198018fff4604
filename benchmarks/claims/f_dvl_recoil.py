"""Is f-DVL steadier than XQL, and does ReCOIL imitate one trajectory with the help of poor data?

One learner, three losses of V: chi-square and total variation, which are f-DVL's, and XQL's Gumbel loss, all else
equal. The setting that each loss has takes three values: lambda from 0.6 to 0.9, XQL's temperature from a quarter to
four times the 2 that is this library's default. The effect compares means over them: a loss that does well at one
setting and breaks down at the next is unsteady, which is what the paper says of XQL. The two ranges have no common
unit, so ``details`` has every setting by itself, to be compared best with best. XQL is measured as in its authors'
code, with the exponent clipped at 7 and scaled by the batch's largest. ``details`` also has how fast the pull of an
outlier Q - V = x on V grows with each loss; and, on the first task, ReCOIL with one expert trajectory and the mixed or
random data against behaviour cloning of the one and of all.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.offline_mixture import OfflineMixture, Swept, best_value, f_dvl, slopes
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import interval, part, summary

BY_SETTING = "normalised return by setting and task"
F_DVL = {"chi-square": f_dvl("chi-square", 0.6, 0.75, 0.9), "total-variation": f_dvl("total-variation", 0.6, 0.75, 0.9)}
XQL = {"kl": f_dvl("kl", 0.5, 2.0, 8.0)}


def lead(scores: dict[str, Floats]) -> Floats:
    """Mean over f-DVL's losses and settings minus XQL's mean over its own, ``[seeds, tasks]``."""
    means = {name: of.mean(axis=2) for name, of in scores.items()}
    return np.asarray((means["chi-square"] + means["total-variation"]) / 2 - means["kl"])


def parts(found: Found[Swept, list[list[float]]]) -> dict[str, Part]:
    """The lead on each task."""
    ahead = lead(found.each(lambda run: run))
    return {task: part(ahead[:, i], margin=0.05) for i, task in enumerate(found.testbed.tasks)}


def unstable(by_setting: dict[str, dict[str, float]]) -> bool:
    """Whether on some task the worst setting earns less than half of the best."""
    rows = list(by_setting.values())
    return any(min(row[task] for row in rows) < max(row[task] for row in rows) / 2 for task in rows[0])


def details(found: Found[Swept, list[list[float]]]) -> dict[str, Any]:
    """Every setting, the losses' slopes, and imitation."""
    scores, bed = found.each(lambda run: run), found.testbed
    ours = np.concatenate([scores[name] for name in F_DVL], axis=2)
    imitations = [bed.imitation(seed) for seed in found.seed_list]
    return {
        "seeds": found.seeds,
        "updates": bed.updates,
        "normalised return, mean over settings": summary({n: s.mean(axis=2) for n, s in scores.items()}),
        BY_SETTING: {name: found[name].condition.by_value(bed.tasks, of) for name, of in scores.items()},
        "best setting of f-DVL minus best of XQL": asdict(interval(best_value(ours) - best_value(scores["kl"]))),
        "slope of the loss at errors of 1, 10 and 30": slopes(),
        f"imitation on {bed.tasks[0]}": summary({name: [one[name] for one in imitations] for name in imitations[0]}),
    }


CLAIM = Comparison(
    handle="f-dvl-recoil",
    sentence="f-DVL removes the instability of XQL's Gumbel regression in offline reinforcement learning (Sikchi et "
    "al. 2023, abstract)",
    effect="normalised return of f-DVL (mean of chi-square and total variation) minus XQL's, each the mean over its "
    "range of settings",
    testbed=OfflineMixture(),
    conditions=F_DVL | XQL,
    ours="chi-square",
    baselines=("kl",),
    seeds=5,
    premise=Premise("XQL breaks down: some setting earns less than half of its best", (BY_SETTING, "kl"), unstable),
    parts=parts,
    details=details,
    remark="XQL is steady here over a 16-fold range of its temperature: there is no instability to remove.",
)
measure = CLAIM.measure
