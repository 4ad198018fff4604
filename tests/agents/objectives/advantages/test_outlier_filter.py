import math

import pytest

from tiltyard.agents.objectives.advantages.outlier_filter import outlier_filter


def test_by_hand(answers):
    # over four tokens: mean 0.25, variance 3 / 16
    rollouts, _ = answers([1.0, 0.0], [[-1.0], [-1.0] * 3])
    assert outlier_filter(rollouts).tolist() == pytest.approx([math.sqrt(3), -1 / math.sqrt(3)])


def test_one_of_sixty_four_is_an_outlier(answers):
    rollouts, _ = answers([1.0] + [0.0] * 63, [[-1.0]] * 64)
    assert outlier_filter(rollouts)[0] == 0  # sqrt(63) = 7.9 standard deviations
    assert outlier_filter(rollouts)[1].item() == pytest.approx(-1 / math.sqrt(63))
    assert outlier_filter(rollouts, limit=8.0)[0].item() == pytest.approx(math.sqrt(63))


def test_an_outlier_is_one_on_either_side(answers):
    rollouts, _ = answers([0.0] + [1.0] * 63, [[-1.0]] * 64)
    assert outlier_filter(rollouts)[0] == 0
    assert outlier_filter(rollouts)[1].item() == pytest.approx(1 / math.sqrt(63))
