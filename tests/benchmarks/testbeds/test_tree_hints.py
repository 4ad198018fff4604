"""Hints on the answer tree."""

import numpy as np
import pytest
import torch

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.testbeds.answer_tree import AnswerTree, TreeMethod
from tiltyard.benchmarks.testbeds.course import Course
from tiltyard.benchmarks.testbeds.tree_hints import hinted, hopeless, in_rounds, sample_after, written_after
from tiltyard.benchmarks.testbeds.tree_learner import Learner
from tiltyard.wrappers.guidance.catalogue import load as load_guidance

BED = AnswerTree(depth=4, branching=3, trained=16, held_out=4, iterations=5, every=5)
SCAF = {"name": "scaf-grpo", "shares": (0.25, 0.5, 0.75), "exemption": 0.0}


def learner(**settings) -> Learner:
    return Learner(BED.task(10_000), load("grpo", kl_coef=0.0), seed=0, learning_rate=0.1, **settings)


def test_what_begins_with_a_hint_is_drawn_as_the_policy_goes_on_after_it():
    of, problems = learner(), torch.full((4000,), 3)
    drawn = sample_after(of, problems, ["12"] * 4000)
    assert (of.tree.choices[drawn, :2] == torch.tensor([1, 2])).all()
    chance = of.distribution()[3]
    within = (of.tree.choices[:, :2] == torch.tensor([1, 2])).all(1)
    expected = torch.where(within, chance, 0.0) / chance[within].sum()
    seen = torch.bincount(drawn, minlength=len(of.tree)) / 4000
    assert (seen - expected).abs().max() < 0.03


def test_a_hint_carries_no_loss():
    of = learner()
    rows, completions = torch.tensor([0, 0]), torch.tensor([5, 5])
    batch = written_after(of, rows, completions, torch.tensor([0, 3]))
    assert batch.mask.tolist() == [[False, True, True, True, True], [False, False, False, False, True]]
    assert batch.length.tolist() == [4, 1]
    assert (batch.logp_old[1, :4] == 0).all()
    assert batch.logp_old[1, 4] == batch.logp_old[0, 4] < 0
    assert batch.tokens[0].equal(batch.tokens[1])


def test_one_completion_of_each_failed_group_is_sampled_again_until_it_succeeds():
    of = learner(prompts=8, group=4)
    batch = in_rounds(of, load_guidance(SCAF), torch.arange(8))
    given = (4 - batch.length).view(8, 4)
    won = batch.info["success"].view(8, 4)
    assert (given[:, 1:] == 0).all()
    failed = ~won[:, 1:].any(1) & (given[:, 0] > 0)
    assert failed.any()
    assert not won[given[:, 0] > 0, 1:].any()  # only where all had failed
    assert (won[:, 0] | (given[:, 0] == 3))[failed].all()  # up to the largest hint
    of_solution = of.task.tree.choices[of.task.reward[:8].argmax(1)]
    for row in failed.nonzero()[:, 0].tolist():
        begins = int(given[row, 0])
        assert batch.tokens.view(8, 4, -1)[row, 0, 1 : 1 + begins].equal(of_solution[row, :begins])
    assert of.completed == 32 + int(given[:, 0].sum())  # a round a level


def test_no_guidance_is_grpo_and_the_beginning_may_be_exempt():
    def trained(guidance) -> torch.Tensor:
        of = BED.learner(TreeMethod("grpo", {"kl_coef": 0.0}), 0.1, 10_000)
        BED.train(TreeMethod("grpo", {"kl_coef": 0.0}, iteration=hinted(guidance, 5)), of)
        return of.weight.detach()

    plain = trained(None)
    assert torch.equal(trained({**SCAF, "exemption": 1.0}), plain)
    assert not torch.equal(trained(SCAF), plain)
    assert not torch.equal(trained("ghpo"), trained(SCAF))


def test_groups_that_fail_by_hand():
    # Success 1/2 and 1 of the problems trained on: groups of two fail with 1/4 and 0.
    course = Course(np.array([0]), np.array([[0.5, 1.0, 0.1]]), np.zeros((1, 3)), trained=2)
    assert hopeless(2)(course) == pytest.approx(0.125)
