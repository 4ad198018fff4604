"""Policies that are paid by a verifier, and by a reward model of a judge's preferences as well."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tiltyard.benchmarks.claims.tulu_3_rlvr import CLAIM, JUDGES, forms
from tiltyard.benchmarks.testbeds.proxy_rewards import Paid, ProxyRewards
from tiltyard.benchmarks.testbeds.tree_learner import Learner
from tiltyard.benchmarks.testbeds.verified_rewards import BOTH, VERIFIER, JudgedModel, VerifiedRewards

SMALL = VerifiedRewards().smallest()


def method(reward: str, coef: float = 0.1) -> Paid:
    return Paid("tulu-3-rlvr", reward=reward, coef=coef)


def test_a_judge_likes_what_is_correct_and_what_has_nothing_to_do_with_it() -> None:
    correct = replace(SMALL, taste=0.0).judge(3)
    assert torch.equal(correct, ProxyRewards(tree=SMALL.tree).task(3).reward)
    other = replace(SMALL, taste=1.0).judge(3)
    assert torch.allclose(SMALL.judge(3), (correct + other) / 2)
    assert not torch.equal(correct, other)
    task = SMALL.task(3)
    assert (task.reward.sum(1) == 1).all()
    assert torch.equal(task.reward == 1, correct == 1)  # the judge likes nothing better than the correct one
    assert set(other.amax(1).tolist()) == {1.0}


def test_the_reward_model_learns_what_the_judge_prefers() -> None:
    bed = replace(VerifiedRewards(pairs=4096, flips=0.0), taste=1.0)
    paid = method(BOTH)
    learner = Learner(bed.task(10_000), paid.objective(), seed=10_000, learning_rate=0.03)
    reward: Any = bed.rewards(paid)[0]
    (model,) = reward.of
    assert isinstance(model, JudgedModel)
    model.start(learner.context)
    model.begin(learner.context)
    played, liked = learner.completed, bed.judge(10_000)
    assert played == 2 * 4096
    chance, scores = learner.distribution(), model.network.every()
    found = []
    for like in (liked, replace(bed, taste=0.0).judge(10_000)):
        centred = [one - (chance * one).sum(1, keepdim=True) for one in (scores, like)]
        found.append(float((chance * centred[0] * centred[1]).sum() / len(chance)))
    assert found[0] > 0.1 > found[1]
    model.begin(learner.context)
    assert learner.completed == played  # once
    written = learner.sample(torch.arange(64))
    assert torch.allclose(reward.shape(written, learner.context), 10 * written.reward + model.score(written))


def test_what_the_verifier_pays_depends_on_no_judge() -> None:
    alone = SMALL.run(method(VERIFIER), 0.1, 0)
    same = replace(SMALL, taste=0.0).run(method(VERIFIER), 0.1, 0)
    assert np.array_equal(alone.true, same.true)
    assert not np.array_equal(alone.paid, same.paid)
    both = SMALL.run(method(BOTH), 0.1, 0)
    assert both.before == alone.before
    assert both.end != alone.end


def test_the_claim_compares_both_with_as_many_forms() -> None:
    found = CLAIM.smallest().measure()
    assert [name for name, part in found.parts.items() if part.decides] == [f"over {BOTH}"]
    assert {f"over scores of {name}" for name in JUDGES} < found.parts.keys()
    assert len({form.coef for form in forms(BOTH)}) == len(forms(VERIFIER))
    with pytest.raises(KeyError):
        SMALL.rewards(Paid("ppo", reward="neither"))
