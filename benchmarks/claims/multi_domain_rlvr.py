"""Does learning from rewards in one domain help others, and all together, and which rewards and templates matter?

GRPO from the same bases in arithmetic, program traces or logic puzzles, or in all three, with as many completions and
one learning rate for all, as in the paper. The claim's parts are five of its takeaways. A gain is success on held-out
problems after training minus the base's on the same ones.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.domains import DOMAINS, HARD
from ..testbeds.multi_domain import OTHER, TRAINED, MultiDomain, Scores, Training
from .claim import Comparison, Found, Premise, Tuning
from .effects import SUCCESS, part, summary

CONDITIONS = {
    **{domain: Training((domain,)) for domain in DOMAINS},
    "mixed": Training(DOMAINS),
    "logic, partial reward": Training(("logic",), partial=True),
    "hard logic": Training((HARD,)),
    "hard logic, partial reward": Training((HARD,), partial=True),
}


def gains(found: Found[Training, Scores], name: str, domain: str, template: str = TRAINED) -> Floats:
    """Of a condition in a domain, ``[seeds]``."""
    return found[name].each(lambda run: run.gain(domain, template))


def template_loss(found: Found[Training, Scores]) -> Floats:
    """By how much gains in the trained domain are larger in the trained template, mean over domains, ``[seeds]``."""
    each = [gains(found, domain, domain) - gains(found, domain, domain, OTHER) for domain in DOMAINS]
    return np.asarray(np.mean(each, axis=0))


def parts(found: Found[Training, Scores]) -> dict[str, Any]:
    """Transfer between arithmetic and logic, the mixture, templates and rewards; beside them, transfer to programs."""
    easy = gains(found, "logic", "logic") - gains(found, "logic, partial reward", "logic")
    hard = gains(found, "hard logic, partial reward", HARD) - gains(found, "hard logic", HARD)
    mixture = found["mixed"].each(Scores.overall)
    over = {name: mixture - found[name].each(Scores.overall) for name in DOMAINS}
    return {
        "arithmetic gains from logic": part(gains(found, "logic", "arithmetic"), margin=SUCCESS),
        "logic gains from arithmetic": part(gains(found, "arithmetic", "logic"), margin=SUCCESS),
        **{f"mixture over {name}, mean gain": part(one, margin=SUCCESS) for name, one in over.items()},
        "gains are larger in the trained template": part(template_loss(found), margin=SUCCESS),
        "partial minus binary reward, hard puzzles": part(hard, margin=SUCCESS),
        "binary minus partial reward, easy puzzles": part(easy, margin=SUCCESS, wanted="no less"),
        "programs lose by arithmetic": part(-gains(found, "arithmetic", "code"), margin=SUCCESS, decides=False),
        "programs lose by logic": part(-gains(found, "logic", "code"), margin=SUCCESS, decides=False),
    }


def details(found: Found[Training, Scores]) -> dict[str, Any]:
    """The bases, every gain, and the least of those in the domain that was learnt from."""
    base = found["mixed"].runs
    return {
        "least gain in the trained domain": min(float(gains(found, name, name).mean()) for name in DOMAINS),
        "success before": summary({test: [run.before[test] for run in base] for test in base[0].before}),
        "gains": {
            name: summary({domain: gains(found, name, domain) for domain in (*DOMAINS, HARD)}) for name in CONDITIONS
        },
    }


CLAIM = Comparison(
    handle="multi-domain-rlvr",
    sentence="Puzzles and math help each other, mixed domains give more robust results, a template that differs in "
    "evaluation costs success, and partial rewards suit tasks that are rarely solved (Li et al. 2025, section 1)",
    effect="success on held-out problems, after GRPO minus before, and differences of that between conditions",
    testbed=MultiDomain(),
    conditions=CONDITIONS,
    ours="logic",
    baselines=("mixed", *(name for name in CONDITIONS if name not in ("logic", "mixed"))),
    seeds=4,
    tuning=Tuning(Scores.overall, (2e-4, 4e-4, 8e-4), seeds=2, alike="mixed"),
    premise=Premise(
        "GRPO learns each domain: success in the domain it learns from rises by at least 0.02",
        ("least gain in the trained domain",),
        lambda gain: gain >= SUCCESS,
    ),
    parts=parts,
    details=details,
    remark="Two bases of 300,000 parameters, half of the seeds each: intervals are over seeds and say little of other "
    "bases. Programs are traced, where the paper's are written. Easy and hard puzzles are those that the base solves "
    "often and seldom, not two sets of one origin.",
)
measure = CLAIM.measure
