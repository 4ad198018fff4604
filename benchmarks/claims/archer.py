"""Does a policy that is led by critics of whole utterances need a hundredth of the episodes?

ArCHer beside PPO on whole games in guess my city, from the same base checkpoint. ArCHer learns after every 8 games,
2 of whose iterations train its critics alone, up to 256 games; PPO plays 2,560. The number is how many games PPO plays
to get where it ends over how many ArCHer plays to get there. Where ArCHer does not get there its 256 games stand in for
what it needs, which favours it: as much as 1.0 is then an upper bound.

Both are tuned alike: four rates and two forms, which for either are a small and a large batch. Told beside: the same to
half of what PPO learns, and success after equally many games.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.dialogue_learners import Curve, DialogueLearners, Player
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import part, rates_told, summary

LEAST, RISE = 1.5, "what PPO learns"
_ARCHER = {"n_envs": 8, "episodes_per_iteration": 8, "gradient_steps": 10, "actor_steps": 3, "critic_warm_up": 2}
_PPO = {"method": "ppo"}
_SOON, _LATE = (24, 32, 48, 64, 96, 128, 192, 256), (256, 512, 768, 1024, 1536, 2048, 2304, 2560)
FORMS = {
    "archer": [Player("archer", 8, _SOON, {**_ARCHER, "fresh_turns": n, "batch_size": n}) for n in (64, 128)],
    "ppo": [
        Player("grpo", 8 * n, (64, 128, *_LATE), {**_PPO, "n_envs": 8 * n, "prompts_per_batch": n, "batch_size": 2 * n})
        for n in (8, 32)
    ],
}


def mean_success(curve: Curve) -> float:
    """Over the evaluations, which are dense at first: high for learning soon and well."""
    return float(curve.success[1:].mean())


def fewest(ours: Curve, goal: float) -> float:
    """Games of ArCHer's first evaluation, the fewest that it can show; 1 where the base is at the goal already."""
    return 1.0 if ours.success[0] >= goal else float(ours.games[1])


def sooner(found: Found[Player, Curve], share: float) -> tuple[Floats, float]:
    """log10 of PPO's games over ArCHer's to a share of what PPO learns, ``[seeds]``, and the most its mean can be."""
    pairs = zip(found["archer"].runs, found["ppo"].runs, strict=True)
    goals = [(ours, theirs.risen(share), theirs.games_to(theirs.risen(share))) for ours, theirs in pairs]
    values = [np.log10(games / max(ours.games_to(goal), fewest(ours, goal))) for ours, goal, games in goals]
    return np.array(values), float(np.mean([np.log10(games / fewest(ours, goal)) for ours, goal, games in goals]))


def parts(found: Found[Player, Curve]) -> dict[str, Part]:
    """Sooner where PPO ends, by a hundred times or so; beside it half of the way, and success at equal games."""
    pairs = list(zip(found["archer"].runs, found["ppo"].runs, strict=True))
    (end, highest), (half, highest_half) = sooner(found, 1.0), sooner(found, 0.5)
    equal = [ours.success[-1] - theirs.after(ours.games[-1]) for ours, theirs in pairs]
    return {
        "to where PPO ends": part(end, threshold=LEAST, highest=highest),
        "to half of what PPO learns": part(half, threshold=LEAST, highest=highest_half, decides=False),
        "success after equally many games": part(equal, margin=0.02, decides=False),
    }


def details(found: Found[Player, Curve]) -> dict[str, Any]:
    """Curves, and who gets there."""
    pairs = zip(found["archer"].runs, found["ppo"].runs, strict=True)
    curves = {name: (of.runs[0].games, of.each(lambda run: run.success)) for name, of in found.outcomes.items()}
    return {
        "seeds": found.seeds,
        "learning rates": rates_told(found),
        "settings": {name: dict(of.condition.settings) for name, of in found.outcomes.items()},
        RISE: float(found["ppo"].each(lambda run: run.end - run.success[0]).mean()),
        "runs of ArCHer that get where PPO ends": sum(bool(ours.success.max() >= theirs.end) for ours, theirs in pairs),
        "games to half of what PPO learns": summary(
            {
                name: [run.games_to(ppo.risen(0.5)) for run, ppo in zip(of.runs, found["ppo"].runs, strict=True)]
                for name, of in found.outcomes.items()
            }
        ),
        "mean success by games": {
            name: dict(zip(map(int, games), success.mean(axis=0).round(3).tolist(), strict=True))
            for name, (games, success) in curves.items()
        },
    }


CLAIM = Comparison(
    handle="archer",
    sentence="ArCHer needs about a hundredth of the episodes that on-policy methods need (Zhou et al. 2024, abstract)",
    effect="decimal logarithm of the games that PPO plays to get where it ends over those that ArCHer plays to get "
    "there, or all it was given where it does not (2 is a hundred times, 0 as many; above 1.5 a hundred is the nearest "
    "power of ten)",
    testbed=DialogueLearners(env_id="tiltyard/GuessMyCity-v0"),
    conditions={name: forms[0] for name, forms in FORMS.items()},
    ours="archer",
    baselines=("ppo",),
    seeds=8,
    tuning=Tuning(mean_success, (1e-4, 2.5e-4, 6e-4, 1.5e-3), 2, variants=FORMS),
    premise=Premise("PPO learns, so that there is something to be sooner at", (RISE,), lambda rise: rise > 0.1),
    parts=parts,
    details=details,
    remark="Measured before on the race dialogues-v1, where ArCHer's first step came after 640 games: it could not "
    "decide. Iterations of 8 games were chosen after six trials of ArCHer and one of PPO on tuning seed 1000.",
)
measure = CLAIM.measure
