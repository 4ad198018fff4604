"""Does a bisimulation loss on histories let offline Q-learning use in one place what data show in another?

Histories through two corridors have the same future, and the data open the doors behind one of them often, behind the
other seldom. Conditions are one agent, conservative Q-learning on a GRU's latents, with the loss and without. Each is
tuned over the same learning rates and over one setting of its own: the weight of the loss, and that of the
conservative term, which keeps to what the data did. Judged is success after the corridor in which the data seldom had
any, from two sizes of data.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from ..testbeds.corridors import HIDDEN, SHOWN, CorridorData, Opened, Reader
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, rates_told, summary

OURS, PLAIN = "with the bisimulation loss", "without it"
LEARNT = "success without the loss after the corridor that the data show, from the most data"
FORMS = {
    OURS: tuple(Reader({"bisimulation_weight": weight, "min_q_weight": 0.1}) for weight in (0.5, 0.05)),
    PLAIN: tuple(Reader({"bisimulation_weight": 0.0, "min_q_weight": weight}) for weight in (0.1, 0.02)),
}


def at_end(size: int, corridor: int) -> Callable[[Opened], float]:
    """Success after a corridor, of the agent that learnt from the ``size``-th data."""
    return lambda run: float(run.success[size, -1, corridor])


def whole(run: Opened) -> float:
    """Success at the end, mean over sizes of data and corridors."""
    return float(run.success[:, -1].mean())


def parts(found: Found[Reader, Opened]) -> dict[str, Part]:
    """Leads after the hidden corridor, a part a size of data."""
    return {
        f"after the corridor less shown, {size} episodes": leads(found, at_end(i, HIDDEN))[f"over {PLAIN}"]
        for i, size in enumerate(found.testbed.sizes)
    }


def details(found: Found[Reader, Opened]) -> dict[str, Any]:
    """Success, the loss, and how the two go together."""
    bed, runs = found.testbed, found[PLAIN].runs
    ends = {
        f"success after the corridor {word} shown, {size} episodes": summary(found.each(at_end(i, corridor)))
        for i, size in enumerate(bed.sizes)
        for word, corridor in (("more", SHOWN), ("less", HIDDEN))
    }
    return {
        "seeds": found.seeds,
        "updates": bed.updates,
        "learning rates": rates_told(found),
        LEARNT: float(found[PLAIN].each(at_end(-1, SHOWN)).mean()),
        **ends,
        "bisimulation loss at the end": summary(
            {
                f"{name}, {size} episodes": [run.loss[i, -1] for run in found[name].runs]
                for name in (OURS, PLAIN)
                for i, size in enumerate(bed.sizes)
            }
        ),
        "rank correlation over seeds between the loss and success without it, by episodes": {
            str(size): _rank_correlation([run.loss[i, -1] for run in runs], [run.success[i, -1].mean() for run in runs])
            for i, size in enumerate(bed.sizes)
        },
    }


def _rank_correlation(losses: list[float], scores: list[float]) -> float | None:
    """Spearman's; None where one of them does not vary."""
    if np.ptp(losses) == 0 or np.ptp(scores) == 0:
        return None
    return float(spearmanr(losses, scores).statistic)


CLAIM = Comparison(
    handle="history-bisim",
    sentence="Offline reinforcement learning on observation histories needs fewer data if a bisimulation loss makes "
    "representations of histories alike whose futures are alike (Hong et al. 2023, abstract)",
    effect="share of episodes that succeed after the corridor in which the data seldom do, with the loss minus without",
    testbed=CorridorData(),
    conditions={name: forms[0] for name, forms in FORMS.items()},
    ours=OURS,
    baselines=(PLAIN,),
    seeds=16,
    tuning=Tuning(whole, (1e-3, 3e-3, 1e-2), 2, variants=FORMS),
    premise=Premise(
        "Without the loss it learns what the data show, which needs the sign and so a memory (0.5 at best without one)",
        (LEARNT,),
        lambda success: success > 0.6,
    ),
    parts=parts,
    details=details,
    remark="Wordle and ViZDoom in the paper; here two corridors, three doors and episodes of seven steps.",
)
measure = CLAIM.measure
