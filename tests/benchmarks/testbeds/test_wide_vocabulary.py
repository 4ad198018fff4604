"""Texts of a wide vocabulary, by hand and in the mean."""

import math
from dataclasses import replace

import pytest
import torch

from tiltyard.agents.models.following import nucleus
from tiltyard.benchmarks.testbeds.wide_vocabulary import Restricted, WideTexts, WideVocabulary

TASK = WideVocabulary(vocabulary=32, places=3, trained=16, held_out=8, prompts=8, group=4, kl_coef=0.1)


def test_the_expected_reward_is_what_texts_earn():
    learner = replace(TASK, good=0.2).learner(0)
    held = torch.arange(TASK.trained, TASK.trained + TASK.held_out)
    logps = learner.logits(held).log_softmax(-1).detach()
    expected = learner.expected(held, logps.exp())
    every = torch.cartesian_prod(*[torch.arange(32)] * 3)
    for i, problem in enumerate(held):
        good, spoiling = learner.data.good[problem], learner.data.spoiling[problem]
        places = torch.arange(3)
        chance = logps[i][places, every].sum(1).exp()
        earned = good[places, every].float().mean(1) * ~spoiling[places, every].any(1)
        assert float((chance * earned).sum()) == pytest.approx(float(expected[i]), rel=1e-4)
        assert good.sum() == 3 * round(0.2 * 32)
        assert spoiling.sum() == 3 * round(0.3 * 32)
        assert not (good & spoiling).any()


def test_a_text_earns_its_good_tokens_unless_one_spoils_it():
    learner = TASK.learner(1)
    good = learner.data.good[5].float().argmax(1)
    bad = learner.data.spoiling[5].float().argmax(1)
    neutral = (~learner.data.good[5] & ~learner.data.spoiling[5]).float().argmax(1)
    words = torch.stack([good, torch.cat([good[:2], neutral[2:]]), torch.cat([good[:2], bad[2:]])])
    batch = learner.batch(torch.tensor([5, 5, 5]), words)
    assert batch.info["earned"].tolist() == pytest.approx([1.0, 2 / 3, 0.0])
    assert torch.allclose(batch.step_reward.sum(1), batch.reward)
    assert torch.allclose(batch.reward, batch.info["earned"])  # the policy is the base policy: no divergence


def test_divergence_of_the_whole_policy_costs_token_by_token():
    learner = replace(TASK, top_p=0.8).learner(1)
    with torch.no_grad():
        learner.weight += 0.2 * torch.randn(learner.weight.shape, generator=torch.Generator().manual_seed(0))
    batch = learner.rollouts()
    problems, words = batch.tokens[:, 0], batch.tokens[:, 1:]
    moved = sum(
        sign * learner.logits(problems, weight).log_softmax(-1).gather(2, words[..., None])[..., 0]
        for sign, weight in ((1, learner.weight), (-1, learner.data.base))
    )
    assert torch.allclose(batch.step_reward[:, 1:3], -0.1 * moved[:, :2], atol=1e-5)
    assert (batch.logp_old[:, 1:] >= learner.logits(problems).log_softmax(-1).gather(2, words[..., None])[..., 0]).all()


def test_a_restricted_policy_writes_in_the_nucleus_of_the_one_before_it_is_renewed():
    learner = replace(TASK, top_p=0.7, refresh=2).learner(2)
    first = learner.weight.detach().clone()
    for iteration in range(3):
        if iteration == 2:
            first = learner.weight.detach().clone()
        batch = learner.rollouts()
        problems, words = batch.tokens[:, 0], batch.tokens[:, 1:]
        inside = nucleus(learner.logits(problems, first).softmax(-1), 0.7)
        assert inside.gather(2, words[..., None]).all()
        with torch.no_grad():
            learner.weight += torch.randn(learner.weight.shape, generator=torch.Generator().manual_seed(iteration))
    inside = nucleus(learner.logits(problems, learner.weight).softmax(-1), 0.7)
    assert not inside.gather(2, words[..., None]).all()


def test_the_first_ratio_is_1():
    learner = replace(TASK, top_p=0.7).learner(3)
    batch = learner.rollouts()
    assert torch.allclose(learner.logp(batch), batch.logp_old, atol=1e-6)
    assert (batch.logp_old[:, 0] == 0).all()


def test_both_learn_and_a_mask_of_everything_is_none():
    bed = WideTexts(task=replace(TASK, kl_coef=0.0), iterations=40, every=20, epochs=2)
    found = {p: bed.run(Restricted("nlpo", task={"top_p": p}), 0.1, 0) for p in (1.0, 0.9)}
    plain = bed.run(Restricted("ppo"), 0.1, 0)
    assert plain.reward.tolist() == found[1.0].reward.tolist()
    for run in (plain, found[0.9]):
        assert run.reward[-1] > run.reward[0] + 0.05
    assert found[0.9].whole[-1] != found[0.9].reward[-1]
    assert plain.whole.tolist() == plain.reward.tolist()


def test_likelihood_and_entropy_by_hand():
    learner = TASK.learner(0)
    with torch.no_grad():
        learner.weight.zero_()
    _, _, _, nll, entropy = learner.exact()
    held = torch.arange(TASK.trained, TASK.trained + TASK.held_out)
    assert entropy == pytest.approx(math.log(32), rel=1e-5)
    assert nll == pytest.approx(float(-learner.logits(held, learner.data.base).log_softmax(-1).mean()), rel=1e-5)
