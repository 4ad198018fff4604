import math

import pytest
import torch

from tiltyard.agents.objectives.losses.hapo import hapo

ENTROPY = [[1.0, math.e, math.e**2]]  # logarithms 0, 1, 2: h = -1, 0, 1 about their median


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss"),
    [
        (1.0, 1.0, [0.0, -1.0, -1.0]),  # inside the band tokens of low entropy are damped
        (1.5, 1.0, [-1.2, -1.2, -2.8]),  # outside, those of high entropy count double, and may rise to 1.4
        (0.5, -1.0, [0.6, 0.8, 1.6]),  # and those of low entropy fall to 0.6
    ],
)
def test_by_hand(answers, ratio, advantage, loss):
    rollouts, out = answers([1.0], [[-3.0] * 3], [[-3.0 + math.log(ratio)] * 3], entropy=ENTROPY)
    per_token, _ = hapo(rollouts, torch.tensor([advantage]), out, pivot=0.5)
    assert per_token[0, 1:].tolist() == pytest.approx(loss, abs=1e-5)


def test_low_and_high_are_a_groups_own(answers):
    rollouts, out = answers([1.0, 1.0], [[-3.0] * 3, [-3.0]], entropy=[*ENTROPY, [0.01]], group=[0, 1])
    per_token, _ = hapo(rollouts, torch.ones(2), out, pivot=0.5)
    assert per_token[1, 1].item() == pytest.approx(-1.0)  # alone it is its own median
