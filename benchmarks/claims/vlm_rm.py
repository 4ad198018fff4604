"""Is how much a rendered frame is like a goal in words a reward, better with a baseline text, and with larger encoders?

Dual encoders of three sizes are trained on the same frames of a rendered maze and captions; their rewards for "ball at
goal" are compared with minus the length of the path, in rank, on frames held out. Parts: the correlation of the largest
encoder, where light and squares distract; what the projection on the line from "ball in maze" to the goal adds there,
with the alpha that did best on seeds for tuning (0 not among them); and what each larger size adds, without it.
"""

from typing import Any

from ..statistics import Floats
from ..testbeds.language_rewards import ALPHAS, LanguageRewards, Likeness, Size, best_alpha
from .claim import TUNING, Comparison, Found, Premise
from .effects import part, summary

SIZES = {"small": Size((4, 8, 16), 8), "middle": Size((8, 16, 32), 16), "large": Size((16, 32, 64), 64)}
TUNED, PLAIN = 2, "correlation of the large encoder without distractors"
MARGIN = 0.02


def chosen(found: Found[Size, Likeness]) -> int:
    """Number of the alpha above 0 that did best on tuning seeds."""
    return best_alpha(found.testbed, SIZES["large"], tuple(range(TUNING, TUNING + min(found.seeds, TUNED))))


def cosine(found: Found[Size, Likeness], size: str) -> Floats:
    """Correlations without the projection where much distracts, ``[seeds]``."""
    return found[size].each(lambda run: run.distracted[0])


def parts(found: Found[Size, Likeness]) -> dict[str, Any]:
    """Correlation, what the baseline adds, what size adds."""
    small, middle, large = (cosine(found, size) for size in SIZES)
    with_baseline = found["large"].each(lambda run: run.distracted[chosen(found)])
    return {
        "correlation of the large encoder": part(large, threshold=0.5, highest=1.0),
        "with the baseline minus without": part(with_baseline - large, margin=MARGIN, highest=1 - float(large.mean())),
        "middle minus small": part(middle - small, margin=MARGIN, highest=1 - float(small.mean())),
        "large minus middle": part(large - middle, margin=MARGIN, highest=1 - float(middle.mean())),
    }


def details(found: Found[Size, Likeness]) -> dict[str, Any]:
    """Correlations by size and alpha."""
    runs = {"without distractors": lambda run: run.plain, "with distractors": lambda run: run.distracted}
    return {
        "seeds": found.seeds,
        "alpha of tuning": ALPHAS[chosen(found)],
        PLAIN: float(found["large"].each(lambda run: run.plain[0]).mean()),
        "mean correlations, by size and alpha": {
            kind: {
                size: dict(zip(map(str, ALPHAS), found[size].each(of).mean(axis=0).round(3).tolist(), strict=True))
                for size in SIZES
            }
            for kind, of in runs.items()
        },
        "correlation with distractors, alpha 0": summary({size: cosine(found, size) for size in SIZES}),
    }


CLAIM = Comparison(
    handle="vlm-rm",
    sentence="The likeness of frames and a goal text is a reward, a baseline text improves it, and larger encoders are "
    "better rewards (Rocamonde et al. 2023, abstract, definition 1 and figure 4)",
    effect="Spearman's correlation of reward and minus the distance on frames held out, of the large encoder (above "
    "0.5); with the baseline minus without; of each size minus that of the next smaller one",
    testbed=LanguageRewards(),
    conditions=SIZES,
    ours="large",
    baselines=("small", "middle"),
    seeds=5,
    premise=Premise("The large encoder has learnt what the goal means: 0.3 or more", (PLAIN,), lambda rho: rho >= 0.3),
    parts=parts,
    details=details,
    remark="Encoders of up to 90,000 weights, trained on this maze, not the paper's CLIP, measured on a "
    "humanoid. Five trials came before, in three of which the large encoder did not learn; steps, rate, centred frames "
    "and a goal in one place are those of the last. On some seeds 400 steps end before the loss leaves its plateau, so "
    "that this says nothing of the paper.",
)
measure = CLAIM.measure
