import pytest

from tiltyard.agents.objectives.advantages.oreal import oreal


def test_by_hand(answers):
    # against the others: +-2/3; two of eight tokens are in right answers, six in wrong ones of half the weight
    rollouts, _ = answers([1.0, 0.0, 0.0, 1.0], [[-1.0], [-1.0] * 3, [-1.0] * 3, [-1.0]])
    expected = [2 / 3 * 8 / 2, -2 / 3 * 0.5 * 8 / 6, -2 / 3 * 0.5 * 8 / 6, 2 / 3 * 8 / 2]
    assert oreal(rollouts).tolist() == pytest.approx(expected)


def test_success_decides_which_are_right(answers):
    rollouts, _ = answers([0.3, 0.1], [[-1.0], [-1.0]], success=[False, True])
    assert oreal(rollouts).tolist() == pytest.approx([0.2 * 0.5 * 2, -0.2 * 2])
