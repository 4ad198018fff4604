"""Does a policy that is restricted to an older policy's nucleus write better texts than PPO's, and more stably?

Texts of eight tokens, each of 512 possible ones: some are good, some spoil the text, or none do. NLPO and PPO have the
same loss, critic and KL penalty, and each the penalty and the learning rate that suit it. What NLPO writes is
restricted afterwards, too, which helps a policy that was not trained so: PPO cut to its own nucleus stands beside it.
"""

from collections.abc import Callable
from typing import Any

from ..testbeds.wide_vocabulary import Restricted, WideTexts, WideVocabulary, Written
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import part, rates_told, summary

COEFS = (0.0, 0.001, 0.003, 0.01, 0.03)
MARGIN, FASTER = 0.01, 3.0  # a point of reward, of the dozen that training gains: a lead this small counts as none
TASKS: dict[str, dict[str, Any]] = {"": {}, ", nothing spoils": {"spoiling": 0.0}, ", 64 tokens": {"vocabulary": 64}}
GAIN = "what PPO gains"
FORMS = {
    name + task: tuple(Restricted(name, task={**changes, **own, "kl_coef": coef}) for coef in COEFS)
    for task, changes in TASKS.items()
    for name, own in (("nlpo", {"top_p": 0.9}), ("ppo", {}))
}


def end(of: str = "reward") -> Callable[[Written], float]:
    """A column of what is written after training."""
    return lambda run: float(getattr(run, of)[-1])


def at_faster(found: Found[Restricted, Written]) -> Found[Restricted, Written]:
    """Both at three times the rates that suit them."""
    return found.rerun({name: FASTER * found.rates[name] for name in ("nlpo", "ppo")}, most=found.seeds)


def parts(found: Found[Restricted, Written]) -> dict[str, Part]:
    """Better at the rates that suit each, and at three times these; beside it, what of it is learnt."""
    value, whole, cut = (found.each(end(of)) for of in ("reward", "whole", "cut"))
    faster = at_faster(found).each(end())
    ahead = {task: value["nlpo" + task] - value["ppo" + task] for task in TASKS}
    beside: dict[str, Any] = {"margin": MARGIN, "decides": False}
    return {
        "over PPO": part(ahead[""], margin=MARGIN),
        "over PPO, nothing spoils": part(ahead[", nothing spoils"], margin=MARGIN),
        "over PPO, at three times the rates": part(faster["nlpo"] - faster["ppo"], margin=MARGIN),
        "over PPO, whole policies": part(whole["nlpo"] - whole["ppo"], **beside),
        "over PPO cut to its nucleus": part(value["nlpo"] - cut["ppo"], **beside),
        "more than with 64 tokens": part(ahead[""] - ahead[", 64 tokens"], **beside),
    }


def details(found: Found[Restricted, Written]) -> dict[str, Any]:
    """Rates, penalties, and all columns after training."""
    gained = found["ppo"].each(lambda run: run.reward[-1] - run.reward[0])
    return {
        "seeds": found.seeds,
        "tuned": rates_told(found),
        "KL penalties": {name: one.condition.task["kl_coef"] for name, one in found.outcomes.items()},
        GAIN: summary({"": gained})[""],
        **{f"{name} at the end": summary(found.each(end(name))) for name in Written._fields},
        "reward at three times the rates": summary(at_faster(found).each(end())),
    }


CLAIM = Comparison(
    handle="rl4lms-nlpo-grue",
    sentence="NLPO, which restricts a policy to an older policy's nucleus, is more stable and performs better than PPO "
    "in language generation (Ramamurthy et al. 2022, abstract)",
    effect="true reward after training with NLPO minus that with PPO, at the learning rates that suit each, where "
    "some tokens spoil a text and where none do, and at three times these rates",
    testbed=WideTexts(task=WideVocabulary(), iterations=100, every=20, epochs=4),
    conditions={name: of[0] for name, of in FORMS.items()},
    ours="nlpo",
    baselines=("ppo",),
    seeds=40,
    tuning=Tuning(end(), (0.01, 0.03, 0.1), seeds=8, variants=FORMS),
    premise=Premise("PPO learns: five points of reward or more", (GAIN, "estimate"), lambda gain: gain >= 0.05),
    parts=parts,
    details=details,
    remark="Fluency is told as the likelihood under the base policy (nll); no human judged. Tokens that spoil a text "
    "came into the task when NLPO was ahead by only 0.015 without them, on three tuning seeds: both decide. A first "
    "run had penalties from 0.003 on, which PPO chose; its parts that decide were 0.045, 0.024 and 0.050.",
)
measure = CLAIM.measure
