"""Does a policy that is led by critics of whole utterances need a hundredth of the episodes?

The suite ``dialogues-v1`` is raced: ArCHer beside policy gradients on whole games and imitation of the games that were
won, in twenty questions and guess my city, from the same base checkpoints, evaluated on the same held-out games. PPO's
mean success at its end is the goal; the number is how many episodes PPO had played when its mean curve first got there,
over how many ArCHer had. Where ArCHer does not get there, what it was given stands in for what it needs, which favours
it; where an agent is there at its first evaluation, that one does.

Raced runs are kept in ``runs/dialogues-v1`` and not run again: ``tiltyard race dialogues-v1 --out runs/dialogues-v1``
makes the same ones, and ``tiltyard report dialogues-v1`` draws their curves.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from ..testbeds.race_curves import Curves, RunCurves, log_ratio, mean_log_ratio, pooled, raced, told_of
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import part

STREAM, LEAST, GAME = 2402, 1.5, "tiltyard/GuessMyCity-v0"
GOAL = "goal: PPO's success at its end"


def by_task(found: Found[str, RunCurves]) -> dict[str, dict[str, Curves]]:
    """Every agent's curves on each game."""
    agents = {name: pooled(outcome.runs) for name, outcome in found.outcomes.items()}
    return {task: {name: curves[task] for name, curves in agents.items()} for task in sorted(agents["ppo"])}


def parts(found: Found[str, RunCurves]) -> dict[str, Part]:
    """ArCHer against PPO seed by seed, mean over games; at most as if it were there at its first evaluation."""
    pairs = [(agents["archer"], agents["ppo"]) for agents in by_task(found).values()]
    ratios = [[log_ratio(*pair, (i,), (i,)) for pair in pairs] for i in range(found.seeds)]
    first = [float(np.log10(theirs.episodes[-1] / max(ours.episodes[0], 1.0))) for ours, theirs in pairs]
    return {"": part(np.mean(ratios, axis=1), threshold=LEAST, highest=float(np.mean(first)))}


def details(found: Found[str, RunCurves]) -> dict[str, Any]:
    """Each game by itself."""
    told = {}
    for task, agents in by_task(found).items():
        alone = mean_log_ratio([(agents["archer"], agents["ppo"])], np.random.default_rng([STREAM, 1]))
        goal = float(agents["ppo"].success[:, -1].mean())
        told[task] = {"effect on this game alone": asdict(alone), GOAL: round(goal, 3), **told_of(agents, goal)}
    return told


CLAIM = Comparison(
    handle="archer",
    sentence="ArCHer needs about a hundredth of the episodes that on-policy methods need (Zhou et al. 2024, abstract)",
    effect="decimal logarithm of the episodes that PPO plays to get where it ends over those that ArCHer plays to get "
    "there, or all it was given where it does not, mean over two games (2 is a hundred times, 0 as many; above 1.5 a "
    "hundred is the nearest power of ten)",
    testbed=raced("dialogues-v1"),
    conditions={name: name for name in ("archer", "filtered-bc", "ppo", "gigpo", "grpo", "reinforce")},
    ours="archer",
    baselines=("ppo",),
    seeds=5,
    premise=Premise("PPO learns, so that there is something to be sooner at", (GAME, GOAL), lambda goal: goal > 0.2),
    parts=parts,
    details=details,
    remark="Even an ArCHer that is where PPO ends at its first evaluation would score 1.02, below the threshold of "
    "1.5; one that never learns scores 0.02, which is what was measured. Its raced runs are not kept, and it was not "
    "measured again. With the settings of its row ArCHer plays 640 games before its policy's first step; PPO would "
    "need 64,000 for a factor of 100 to show, 3 core-hours for two games and five seeds at the speeds of this suite. "
    "What would do: iterations of 8 games, a critic's warm-up of 2, an evaluation after each up to 256 games, and PPO "
    "for 2,560, so that the reach is log10(2560 / 24) = 2.03: about 4 core-minutes a game and seed, tuning apart.",
)
measure = CLAIM.measure
