"""Is how much a rendered frame is like a goal in words a reward, better with a baseline text, and with larger encoders?

Dual encoders of three sizes are trained on the same frames of a rendered maze and captions; their rewards for "ball at
goal" are compared with minus the length of the path, in rank, on frames held out. Each size is trained at the rate
that does best on the tuning seeds, where light and squares distract. Parts: the correlation of the largest encoder
there; what the projection on the line from "ball in maze" to the goal adds, with the alpha that did best on the tuning
seeds (0 not among them); and what each larger size adds, without it.
"""

from typing import Any

from ..statistics import Floats
from ..testbeds.language_rewards import ALPHAS, LanguageRewards, Likeness, Size, best_alpha
from .claim import TUNING, Comparison, Found, Premise, Tuning
from .effects import part, rates_told, summary

SIZES = {"small": Size((4, 8, 16), 8), "middle": Size((8, 16, 32), 16), "large": Size((16, 32, 64), 64)}
TUNED, PLAIN = 3, "correlation of the large encoder without distractors"
MARGIN = 0.02


def chosen(found: Found[Size, Likeness]) -> int:
    """Number of the alpha above 0 that did best on tuning seeds."""
    seeds = tuple(range(TUNING, TUNING + min(found.seeds, TUNED)))
    return best_alpha(found.testbed, SIZES["large"], found["large"].rate, seeds)


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
        "learning rates": rates_told(found),
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
    seeds=12,
    tuning=Tuning(lambda run: float(run.distracted[0]), (3e-4, 7e-4, 2e-3, 5e-3), TUNED),
    premise=Premise("The large encoder has learnt what the goal means: 0.3 or more", (PLAIN,), lambda rho: rho >= 0.3),
    parts=parts,
    details=details,
    remark="Encoders of up to 90,000 weights, trained on this maze, not the paper's CLIP, measured on a humanoid. "
    "Centred frames and a goal in one place were chosen in five trials. A first experiment, 5 seeds of 400 steps at "
    "one rate for all, ended before the loss left its plateau: its premise did not hold. The 1,500 steps were chosen "
    "on tuning seeds 1000 and 1001.",
)
measure = CLAIM.measure
