"""Does a bonus on contrastively learnt features open a lock sooner than chance or a bonus on counts?

A combination lock of seven steps and four actions has rank fourteen, but each of its states is seen in 64 ways. All
three conditions learn the same features with the same linear networks, and plan with the same model: Contrastive-UCB
has the elliptical bonus of the features, the second a bonus of exact counts, the third none and more random actions.
Scored is the share of deterministic episodes in which the lock holds, mean over training.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ..testbeds.control import Agent, mean_score
from ..testbeds.rich_lock import RichLock, Unlocked
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, part, summary

OURS, COUNT, EPSILON = "Contrastive-UCB", "count bonus", "epsilon-greedy"
SHORT = "epsilon-greedy at the end: on a lock of three steps, and on that of seven"
BONUS, EPSILONS = (1.0, 0.3), (0.1, 0.3)


def forms(**settings: Any) -> list[Agent]:
    """A bonus of either weight."""
    return [Agent("contrastive-ucb", {"bonus_weight": weight, **settings}) for weight in BONUS]


GREEDY = [Agent("contrastive-ucb", {"bonus_weight": 0.0, "exploration_final_eps": share}) for share in EPSILONS]
FORMS = {OURS: forms(), COUNT: forms(bonus="count"), EPSILON: GREEDY}


def parts(found: Found[Agent, Unlocked]) -> dict[str, Part]:
    """Leads in success, features that are nearer to the true ones than those before training, and earlier finds."""
    aligned, earlier = found[OURS].each(lambda run: run.alignment - run.untrained), found.minus(lambda run: -run.found)
    return {
        **leads(found, mean_score, margin=0.05),
        "alignment over untrained features": part(aligned, margin=0.1),
        "first success earlier than with the count bonus": part(earlier[COUNT], margin=0.05, decides=False),
    }


def details(found: Found[Agent, Unlocked]) -> dict[str, Any]:
    """Scores, finds, alignment, and how epsilon-greedy does on a shorter lock."""
    bed, ends = found.testbed, found.each(lambda run: run.scores[-1])
    easy = found.rerun({EPSILON: found.rates[EPSILON]}, most=5, testbed=replace(bed, horizon=min(3, bed.horizon)))
    curves = found.each(lambda run: run.scores)
    return {
        "seeds": found.seeds,
        "episodes": bed.episodes,
        SHORT: [float(easy[EPSILON].each(lambda run: run.scores[-1]).mean()), float(ends[EPSILON].mean())],
        "success, mean over training": summary(found.each(mean_score)),
        "success at the end": summary(ends),
        "share of the episodes before the first success": summary(found.each(lambda run: run.found)),
        "alignment of features with the true ones": summary(found.each(lambda run: run.alignment)),
        "alignment before training": summary(found.each(lambda run: run.untrained)),
        "mean curve": {name: np.mean(of, axis=0).round(3).tolist() for name, of in curves.items()},
        "settings of each": {name: outcome.condition.told for name, outcome in found.outcomes.items()},
        "settings of all": bed.settings,
    }


CLAIM = Comparison(
    handle="contrastive-ucb",
    sentence="UCB with contrastively learnt features recovers the true representations and simultaneously learns the "
    "optimal policy efficiently in low-rank MDPs (Qiu et al. 2022, abstract)",
    effect="success, mean over training, of Contrastive-UCB minus that of each baseline; and the mean squared cosine "
    "between learnt and true features, of pairs visited, after training minus before",
    remark="The paper proves a sample complexity of order 1/eps^2 and plays Atari with another algorithm, Rainbow with "
    "SPR and this bonus; neither the rate nor Atari is tested here, and Markov games are not built. The testbed was "
    "shaped on tuning seeds 1000 to 1002 in some thirty runs: with a hidden layer, none opened a lock of five or eight "
    "steps for good, as sixteen updates a round are no minimisation of the loss; with linear networks, which can "
    "decode the states, they do. Features are compared on what each agent visited, and epsilon-greedy's are as near to "
    "the true ones: that part says nothing of exploration (this sentence was added after the run).",
    testbed=RichLock(),
    conditions={name: forms[0] for name, forms in FORMS.items()},
    ours=OURS,
    baselines=(EPSILON, COUNT),
    seeds=10,
    tuning=Tuning(score=mean_score, grid=(0.01, 0.03, 0.1), seeds=2, variants=FORMS),
    premise=Premise(
        "epsilon-greedy opens a lock of three steps (above 0.8 at the end) and not one of seven (below 0.5)",
        (SHORT,),
        lambda ends: ends[0] > 0.8 and ends[1] < 0.5,
    ),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
