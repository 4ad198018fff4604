"""Reward models on the answer tree, and what policies make of them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.testbeds.answer_tree import AnswerTree
from tiltyard.benchmarks.testbeds.proxy_rewards import Optimised, Paid, ProxyRewards, TreeScorer
from tiltyard.benchmarks.testbeds.tree_learner import Learner

BED = ProxyRewards(
    tree=AnswerTree(depth=3, branching=3, trained=32, held_out=16, iterations=60, every=15), pairs=400, epochs=5
)


def learner(bed: ProxyRewards = BED) -> Learner:
    return Learner(bed.task(10_000), load("rloo"), seed=0, learning_rate=0.1)


def accuracy(model, of: Learner) -> float:
    """How often a model puts the better of two completions higher, by the base policy's probabilities."""
    scores, true, chance = model.network.every(), of.task.reward, of.distribution()
    two = chance[:, :, None] * chance[:, None]
    better = true[:, :, None] > true[:, None]
    return float((two * better * (scores[:, :, None] > scores[:, None])).sum() / (two * better).sum())


def test_the_true_reward_is_the_share_of_the_teachers_choices():
    task = BED.task(10_000)
    assert set(task.reward.unique().mul(3).round().int().tolist()) == {0, 1, 2, 3}
    assert (task.reward.max(1).values == 1).all()
    best = task.reward == 1
    assert (best.sum(1) == 1).all()  # one path has nothing but choices that the teacher likes best
    assert best.equal(BED.tree.task(10_000).reward > 0)


def test_scores_of_a_batch_are_those_of_all_completions():
    of = learner()
    scorer = TreeScorer(of.task, torch.Generator().manual_seed(0), 1.0)
    problems, completions = torch.tensor([0, 5, 5]), torch.tensor([3, 3, 20])
    found = scorer(of.write(problems, completions))
    torch.testing.assert_close(found, scorer.every()[problems, completions])


def test_a_reward_model_learns_what_is_better_and_less_of_wrong_labels():
    of = learner()
    right = {}
    for flips in (0.0, 0.4):
        model = replace(BED, flips=flips).model()
        model.start(of.context)
        before = accuracy(model, of)
        model.begin(of.context)
        right[flips] = accuracy(model, of)
    assert 0.35 < before < 0.65
    assert right[0.0] > 0.8
    assert right[0.4] < right[0.0] - 0.05


def test_members_of_an_ensemble_learn_from_the_same_pairs_and_are_not_alike():
    of = learner()
    ensemble = BED.ensemble("wco", members=3)
    ensemble.start(of.context)
    ensemble.begin(of.context)
    assert of.completed == 2 * BED.pairs  # completed once
    batch = of.sample(torch.arange(32))
    each = torch.stack([member.score(batch) for member in ensemble.of])
    torch.testing.assert_close(ensemble.shape(batch, of.context), each.amin(0))
    assert each.std(0).mean() > 0.01
    assert torch.corrcoef(each).min() > 0.8


@pytest.mark.parametrize("reward", ["par", "lsc"])
def test_references_are_the_base_policys_also_after_training(reward):
    of = learner()
    (made,) = BED.rewards(Paid("rloo", reward=reward))
    made.start(of.context)
    made.begin(of.context)
    with torch.no_grad():
        of.weight.mul_(0).add_(torch.randn(of.weight.shape, generator=torch.Generator().manual_seed(1)) * 9)
    moved = of.weight.clone()
    reference = of.context.play_reference(list(range(32)), group_size=200)
    assert of.weight.equal(moved)
    seen = torch.zeros(32, len(of.tree))
    seen.index_put_((reference.seed, reference.info["answer"]), torch.ones(6400), accumulate=True)
    of.weight.data.copy_(of.task.base)
    assert (seen / 200 - of.distribution()[:32]).abs().max() < 0.15
    assert torch.isfinite(made.shape(of.sample(torch.arange(8)), of.context)).all()


def test_training_pays_more_and_more_and_is_watched():
    run = BED.run(Paid("rloo"), 0.1, 10_000)
    assert len(run.true) == len(run.paid) == len(run.divergence) == 5
    assert run.divergence[0] == 0 < run.divergence[-1]
    assert run.paid[-1] > run.paid[0] + 0.3
    assert run.half == run.true[2]
    again = BED.run(Paid("rloo"), 0.1, 10_000)
    np.testing.assert_array_equal(run.true, again.true)


def test_a_penalty_keeps_the_policy_near():
    free, held = (BED.run(Paid("rloo", coef=coef), 0.1, 10_000) for coef in (0.0, 3.0))
    assert held.divergence[-1] < free.divergence[-1] / 3


def test_moments_by_hand():
    run = Optimised(np.array([0.5, 0.6, 0.4]), np.zeros(3), np.zeros(3))
    assert (run.before, run.half, run.end) == (0.5, 0.6, 0.4)
