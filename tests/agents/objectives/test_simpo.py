import math

import pytest
import torch

from tiltyard.agents.objectives.registry import load
from tiltyard.agents.objectives.simpo import advantage as extremes
from tiltyard.agents.objectives.simpo import loss as simpo


def test_best_and_worst_are_marked(answers):
    group = [0, 0, 0, 0, 7, 7]
    rollouts, _ = answers([1.0, 1.0, 0.0, 0.5, 0.3, 0.3], [[-1.0]] * 6, group=group)
    assert extremes(rollouts).tolist() == [1.0, 1.0, -1.0, 0.0, 0.0, 0.0]


def log_loss(gap: float) -> float:
    return math.log(1 + math.exp(-gap))


def test_two_pairs_by_hand(answers):
    # mean log-probabilities -0.5 against -1 and -0.25, beta 2, margin 0.5: gaps 1 - 0.5 and -0.5 - 0.5
    rollouts, out = answers([1.0, 0.0, 0.0], [[-0.4, -0.6], [-1.0], [-0.25]])
    loss, metrics = simpo(rollouts, extremes(rollouts), out, beta=2.0, margin=0.5)
    expected = (log_loss(0.5) + log_loss(-1.0)) / 2
    assert loss[rollouts.mask].tolist() == pytest.approx([expected] * 4)
    assert metrics["ranking_accuracy"] == 0.5
    total, _ = load("simpo", beta=2.0, margin=0.5)(rollouts, out)
    assert total.item() == pytest.approx(expected)


def test_length_does_not_matter_and_groups_do_not_meet(answers):
    old = [[-1.0], [-1.0] * 9, [-5.0], [-7.0], [-2.0], [-2.0]]
    rollouts, out = answers([1.0, 0.0, 1.0, 1.0, 1.0, 0.0], old, group=[0, 0, 1, 1, 2, 2])
    loss, _ = simpo(rollouts, extremes(rollouts), out, margin=0.0)
    assert loss[[0, 1, 4, 5], 1].tolist() == pytest.approx([math.log(2)] * 4)
    assert (loss[2:4] == 0).all()
    total = (loss * rollouts.mask / rollouts.mask.sum(1, keepdim=True)).sum()
    total.backward()
    assert out.logp.grad[0, 1].item() == pytest.approx(-2.0)  # two rows carry beta * sigmoid(0) = 1 each
    assert torch.allclose(out.logp.grad[1, 1:], torch.full((9,), 2 / 9))
