import math

import pytest

from tiltyard.agents.objectives.advantages.token_group import token_group


def test_by_hand(answers):
    # over four tokens: mean 0.25, variance 3 / 16; the advantages of all tokens cancel
    rollouts, _ = answers([1.0, 0.0], [[-1.0], [-1.0] * 3])
    advantage = token_group(rollouts)
    assert advantage.tolist() == pytest.approx([math.sqrt(3), -1 / math.sqrt(3)], abs=1e-5)
    assert (advantage * rollouts.length).sum().item() == pytest.approx(0.0, abs=1e-5)


def test_a_wild_group_falls_back_on_answers(answers):
    rollouts, _ = answers([1.0, 0.0], [[-1.0], [-1.0] * 63])  # sqrt(63) = 7.9
    assert token_group(rollouts).tolist() == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)], abs=1e-5)
