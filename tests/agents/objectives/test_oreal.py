import math

import pytest
import torch

from tiltyard.agents.objectives import oreal


def test_advantage_by_hand(completions):
    # against the others: +-2/3; two of eight tokens are in correct completions, six in others of half the weight
    rollouts, _ = completions([1.0, 0.0, 0.0, 1.0], [[-1.0], [-1.0] * 3, [-1.0] * 3, [-1.0]])
    expected = [2 / 3 * 8 / 2, -2 / 3 * 0.5 * 8 / 6, -2 / 3 * 0.5 * 8 / 6, 2 / 3 * 8 / 2]
    assert oreal.advantage(rollouts).tolist() == pytest.approx(expected)


def test_success_decides_which_are_right(completions):
    rollouts, _ = completions([0.3, 0.1], [[-1.0], [-1.0]], success=[False, True])
    assert oreal.advantage(rollouts).tolist() == pytest.approx([0.2 * 0.5 * 2, -0.2 * 2])


def test_loss_by_hand(completions):
    # correct: -2 * -1.5; incorrect: 1 * e^0.1, whose slope is the ratio
    rollouts, out = completions([1.0, 0.0], [[-1.5], [-1.0]], [[-1.5], [-0.9]])
    loss, _ = oreal.loss(rollouts, torch.tensor([2.0, -1.0]), out, kl_coef=0.0)
    assert loss[:, 1].tolist() == pytest.approx([3.0, math.exp(0.1)])
    loss.sum().backward()
    assert out.logp.grad[:, 1].tolist() == pytest.approx([-2.0, math.exp(0.1)])


def test_penalty_by_hand(completions):
    # the reference is twice as likely: 2 - ln 2 - 1
    rollouts, out = completions([1.0], [[-1.0]], ref=[[-1.0 + math.log(2)]])
    loss, metrics = oreal.loss(rollouts, torch.zeros(1), out, kl_coef=0.1)
    assert loss[0, 1].item() == pytest.approx(0.1 * (1 - math.log(2)), abs=1e-6)
    assert metrics["kl_ref"].item() == pytest.approx(1 - math.log(2), abs=1e-6)


def test_the_penalty_on_a_token_that_became_all_but_impossible_is_finite(completions):
    rollouts, out = completions([1.0], [[-1.0]], [[-100.0]], ref=[[-1.0]])
    loss, _ = oreal.loss(rollouts, torch.zeros(1), out)
    loss.sum().backward()
    assert loss.isfinite().all()
    assert out.logp.grad.isfinite().all()
