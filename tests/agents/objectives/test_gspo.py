import math

import pytest
import torch

from tiltyard.agents.objectives.gspo import loss as gspo


def moved(answers, *steps):
    return answers([1.0], [[-1.0] * len(steps)], [[-1.0 + step for step in steps]])


def test_the_ratio_is_the_answers_by_hand(answers):
    # log-ratios 0.2 and 0: s = exp(0.1) on both tokens, and each token moves it by half
    rollouts, out = moved(answers, 0.2, 0.0)
    loss, metrics = gspo(rollouts, torch.tensor([2.0]), out, clip_low=0.2, clip_high=0.2)
    assert loss[0, 1:].tolist() == pytest.approx([-2 * math.exp(0.1)] * 2)
    assert metrics["clip_fraction"] == 0
    loss[rollouts.mask].mean().backward()
    assert out.logp.grad[0].tolist() == pytest.approx([0.0, -math.exp(0.1), -math.exp(0.1)])


def test_an_answer_is_clipped_as_a_whole(answers):
    rollouts, out = moved(answers, 0.2, 0.0)
    loss, metrics = gspo(rollouts, torch.tensor([2.0]), out, clip_high=0.05)
    assert loss[0, 1:].tolist() == pytest.approx([-2.1] * 2)
    assert metrics["clip_fraction"] == 1
    loss[rollouts.mask].mean().backward()
    assert (out.logp.grad == 0).all()
