"""Does training by rewards of answers alone raise the share of correct reasoning, at all k?

The last choice of a completion is its answer and can be guessed (one in four); the choices before it are the reasoning,
which a program checks. GRPO sees the answer's reward alone. CoT-pass@k, which asks for both, is exact on held-out
problems before and after training; ``details`` has pass@k beside it.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.course import Course
from ..testbeds.testbed import Method, method
from ..testbeds.tree_support import KS, GuessableTree
from .claim import Comparison, Found, Premise
from .effects import held_out_success, part, report, summary

MARGIN = 0.01


def sound(found: Found[Method, Course], name: str, k: int, when: str) -> Floats:
    """CoT-pass@k, ``[seeds]``."""
    return found[name].each(lambda course: course.at_end[f"{when}, k = {k}"])


def gained(found: Found[Method, Course], k: int) -> Floats:
    """CoT-pass@k of GRPO after training minus before, ``[seeds]``."""
    return sound(found, "grpo", k, "after") - sound(found, "grpo", k, "before")


def parts(found: Found[Method, Course]) -> dict[str, Any]:
    """One effect for each k: the claim is about all of them."""
    return {
        f"CoT-pass@{k} gained": part(
            gained(found, k), margin=MARGIN, highest=float(1 - sound(found, "grpo", k, "before").mean())
        )
        for k in KS
    }


def details(found: Found[Method, Course]) -> dict[str, Any]:
    """pass@k and CoT-pass@k, and by how much guesses inflate the first before training."""
    runs = found["grpo"].runs
    plain = {k: np.array([run.pass_at(k, 0) for run in runs]) for k in KS}
    return {
        "pass@16 minus CoT-pass@16 of the base": float((plain[16] - sound(found, "grpo", 16, "before")).mean()),
        "pass@k before": {str(k): float(values.mean()) for k, values in plain.items()},
        "pass@k gained": summary({str(k): np.array([run.pass_at(k) for run in runs]) - plain[k] for k in KS}),
        "CoT-pass@k before": {str(k): float(sound(found, "grpo", k, "before").mean()) for k in KS},
        "CoT-pass@k gained": summary({str(k): gained(found, k) for k in KS}),
        **report(found),
    }


CLAIM = Comparison(
    handle="cot-pass-k",
    sentence="Measured by CoT-Pass@K, RLVR improves on the base model for all values of K (Wen et al. 2025, abstract)",
    effect=f"gain in exact CoT-pass@k on held-out problems, for each k of {', '.join(map(str, KS))}",
    testbed=GuessableTree(depth=4, width=12, batch_size=32, iterations=100, every=20),
    conditions={"grpo": method("grpo", kl_coef=0.0), "reinforce": method("grpo", kl_coef=0.0, scale=False)},
    ours="grpo",
    baselines=("reinforce",),
    seeds=20,
    tuning=held_out_success(),
    premise=Premise(
        "Guesses inflate pass@k: by at least 0.1 at k = 16 under the base policy",
        ("pass@16 minus CoT-pass@16 of the base",),
        lambda inflated: inflated >= 0.1,
    ),
    parts=parts,
    details=details,
    remark="Reasoning of three choices that a program checks; the paper's judge is a language model.",
)
measure = CLAIM.measure
