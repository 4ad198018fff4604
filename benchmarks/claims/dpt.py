"""Does a network taught optimal arms explore new bandits, doubt datasets, and sample as Thompson sampling does?

Gaussian bandits of five arms, of which DPT has seen others in pretraining: regret of 200 pulls, and suboptimality of
the arm chosen from datasets of 5 to 200 pulls by mixed behaviour. The rules know the noise or have a constant chosen of
seven on other bandits; DPT's settings, the margin and the bound were chosen after nine first experiments on a tuning
seed, on other bandits and most with fewer pulls. In Bernoulli bandits its distribution is held against the exact one at
every fifth of its own 50 pulls.
"""

from operator import itemgetter
from typing import Any

from ..testbeds import in_context_bandits as bed
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import part, summary

OURS, UCB, MEAN, LCB, THOMPSON = "DPT", "UCB", "empirical mean", "LCB", "Thompson sampling"
BOUND, MARGIN = 0.1, 0.02
REGRETS = "regret, share of that of arms at random"
GAPS = "suboptimality from datasets, share of that of arms at random"


def lead(found: Found[bed.Rule, bed.Scores], name: str, score: str, **how: Any) -> Part:
    """How much less of a loss than a rule's."""
    theirs = found[name].each(lambda run: run[score])
    ours = found[OURS].each(lambda run: run[score])
    return part(theirs - ours, margin=MARGIN, highest=float(theirs.mean()), **how)


def parts(found: Found[bed.Rule, bed.Scores]) -> dict[str, Part]:
    """Online and offline against each rule, and the bound on total variation."""
    distance = found[OURS].each(lambda run: run[bed.TV])
    return {
        f"online, over {MEAN}": lead(found, MEAN, bed.ONLINE),
        f"online, over {UCB}": lead(found, UCB, bed.ONLINE, wanted="no less"),
        f"online, over {THOMPSON}": lead(found, THOMPSON, bed.ONLINE, wanted="no less"),
        f"offline, over {MEAN}": lead(found, MEAN, bed.OFFLINE),
        f"offline, over {LCB}": lead(found, LCB, bed.OFFLINE),
        f"total variation below {BOUND}": part(BOUND - distance, highest=BOUND),
    }


def details(found: Found[bed.Rule, bed.Scores]) -> dict[str, Any]:
    """Scores, constants, and what other distributions are away from Thompson sampling's."""

    def of(score: str, names: tuple[str, ...]) -> dict[str, Any]:
        return summary({name: found[name].each(lambda run: run[score]) for name in names})

    return {
        "seeds": found.seeds,
        REGRETS: of(bed.ONLINE, (OURS, UCB, THOMPSON, MEAN)),
        GAPS: of(bed.OFFLINE, (OURS, LCB, MEAN)),
        "total variation to Thompson sampling": {
            score: float(found[OURS].each(itemgetter(score)).mean()) for score in (bed.TV, bed.TV_GREEDY, bed.TV_EVEN)
        },
        "constants": {
            "tried": list(bed.CONSTANTS),
            UCB: found.testbed.constant(bed.ucb, bed.ONLINE),
            LCB: found.testbed.constant(bed.lcb, bed.OFFLINE),
        },
    }


CLAIM = Comparison(
    handle="dpt",
    sentence="A transformer pretrained to predict optimal actions explores online and is conservative offline in new "
    "tasks, as an implementation of posterior sampling (Lee et al. 2023, abstract)",
    effect="how much less DPT loses than each rule, in shares of the loss of arms at random; and the bound less DPT's "
    "total variation to Thompson sampling",
    testbed=bed.InContextBandits(),
    conditions={OURS: bed.DPT, UCB: bed.UCB, MEAN: bed.MEAN, LCB: bed.LCB, THOMPSON: bed.THOMPSON},
    ours=OURS,
    baselines=(UCB, MEAN, LCB, THOMPSON),
    seeds=5,
    premise=Premise(
        "Exploring pays: Thompson sampling has less regret than the empirical mean",
        (REGRETS,),
        lambda of: of[THOMPSON]["estimate"] < of[MEAN]["estimate"],
    ),
    parts=parts,
    details=details,
    remark="A network of 0.15 million weights and 200 pulls, where the paper's bandits have 500 and its networks learn "
    "for hours. Transitions are read as a set, rewards beside their arm; losses are of small sets more often.",
)
measure = CLAIM.measure
