"""Rewards and sampling in rounds on the answer tree."""

from dataclasses import replace

import pytest
import torch

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.testbeds.answer_tree import AnswerTree, TreeMethod
from tiltyard.benchmarks.testbeds.thoughts import Thoughts, length_penalised
from tiltyard.benchmarks.testbeds.tree_components import filtered, grpo, ordered, pool, risen
from tiltyard.benchmarks.testbeds.tree_learner import Learner

BED = AnswerTree(depth=2, branching=3, correct=3, trained=16, held_out=4, iterations=5, every=5)


def learner(**settings) -> Learner:
    return Learner(BED.task(10_000), load("grpo", kl_coef=0.0), seed=0, learning_rate=0.1, **settings)


def trained(*rewards) -> torch.Tensor:
    condition = grpo(*rewards)
    of = BED.learner(condition, 0.1, 10_000)
    BED.train(condition, of)
    assert of.completed == 5 * 8 * 8
    return of.weight.detach()


def test_a_reward_changes_what_is_learnt_and_one_without_weight_does_not():
    plain = trained()
    assert torch.equal(trained({"name": "unlikeliness-grpo", "weight": 0.0}), plain)
    assert not torch.equal(trained("unlikeliness-grpo"), plain)


def test_groups_of_one_outcome_teach_nothing():
    of = learner(prompts=4)
    of.task = replace(of.task, reward=torch.ones_like(of.task.reward))  # everything is correct
    iterate = grpo("unlikeliness-grpo").iteration(of)
    iterate()
    assert torch.equal(of.weight.detach(), of.task.base)


def test_only_problems_that_lack_an_outcome_are_sampled_again():
    of = learner(prompts=8, group=2)
    sampled = pool(of, "balanced", 3, 4)
    assert of.completed == len(sampled)
    for number in range(8):
        success = sampled.info["success"][sampled.group == number].view(-1, 4)
        mixed = [bool(success[: i + 1].any() and not success[: i + 1].all()) for i in range(len(success))]
        assert mixed.index(True) == len(mixed) - 1 if True in mixed else len(mixed) == 3


def test_what_rose_by_hand():
    of = learner()
    assert risen(of) == {"place 1": 0.0, "place 2": 0.0, "place 3": 0.0}
    with torch.no_grad():
        before, likeliest = of.distribution()[: BED.trained], of.task.reward[: BED.trained] > 0
        best = torch.where(likeliest, before, 0.0).max(1).values
        of.weight.mul_(1.5)
        after = of.distribution()[: BED.trained]
        place = torch.where(likeliest, before, 0.0).argmax(1, keepdim=True)
        rises = (after.gather(1, place)[:, 0] > best).double().mean()
    assert risen(of)["place 1"] == pytest.approx(float(rises))


@pytest.mark.parametrize("at_random", [False, True])
def test_as_many_groups_pay_for_length_at_random(at_random):
    batch = Thoughts(prompts=10).learner(10_000).rollouts()
    condition = length_penalised(0.2, 0.5, at_random=at_random)
    shaped = condition.sees(batch, torch.Generator().manual_seed(0))
    changed = shaped.reward != batch.reward
    assert (batch.reward[changed] > 0).all()
    assert len(torch.unique(batch.group[changed])) <= 2
    success = torch.stack([batch.reward[batch.group == number].mean() for number in torch.unique(batch.group)])
    paying = [batch.reward[batch.group == number].mean() for number in torch.unique(batch.group[changed])]
    if not at_random:
        assert sorted(paying) == sorted(success.topk(2).values)


def test_groups_that_a_curriculum_drops_teach_neither_policy_nor_reward_model():
    kept = {"name": "online-difficulty-filter", "low": 0.2, "high": 0.8}
    for success, moves in ((1.0, False), (None, True)):
        condition = TreeMethod("prime", iteration=filtered(kept))
        of = BED.learner(condition, 0.1, 10_000)
        if success is not None:
            of.task = replace(of.task, reward=torch.full_like(of.task.reward, success))
        condition.iteration(of)()
        (prm,) = of.providers["logp_prm"].networks()["implicit_prm"]
        assert of.completed == of.prompts * of.group
        for weight in (of.weight, prm):
            assert torch.equal(weight.detach(), of.task.base) != moves


def test_a_reward_model_orders_completions_by_hand():
    of = replace(BED, correct=1).learner(TreeMethod("prime"), 0.1, 10_000)
    assert ordered(of)["ordered"] == pytest.approx(0.5)  # it is the base policy still
    (prm,) = of.providers["logp_prm"].networks()["implicit_prm"]
    task = of.task
    task = of.task = replace(task, trained=len(task.features) - 1)  # one problem is judged
    path, features = task.tree.choices[int(task.reward[-1].argmax())], task.features[-1]
    with torch.no_grad():
        for node, choice in zip(task.tree.node_of(path[None])[0].tolist(), path.tolist(), strict=True):
            prm.view(len(features), -1, task.tree.branching)[:, node, choice] += 10 * features / features.norm()
    assert ordered(of)["ordered"] == 1.0
    prm.data = 2 * task.base - prm.data
    assert ordered(of)["ordered"] == 0.0
