import math

import pytest
import torch

from tiltyard.agents.objectives.riskpo import advantage as risk


def test_by_hand(answers):
    # scores 0 to 4: quantiles 1 and 3, deviation sqrt(2.5); tail and middle at 0: -4 - 4, at 1: -4, at 2: -2, then 0
    rollouts, _ = answers([0.0, 1.0, 2.0, 3.0, 4.0], [[-1.0]] * 5)
    advantage = risk(rollouts, low=0.25, high=0.75, omega=0.0, bundle_size=1)
    scale = 2 * math.sqrt(2.5)
    assert advantage.tolist() == pytest.approx([-8 / scale, -4 / scale, -2 / scale, 0.0, 0.0], abs=1e-5)
    centred = risk(rollouts, low=0.25, high=0.75, omega=0.0, bundle_size=1, centred=True)
    assert torch.allclose(centred, advantage + 14 / 5 / scale, atol=1e-5)


def test_answers_of_a_paper_share_its_advantage(answers):
    """The first answers to two problems make a paper, and the second; which is which the tokens decide."""
    rollouts, _ = answers([0.0, 0.0, 1.0, 0.0], [[-1.0]] * 4, group=[0, 0, 1, 1])
    advantage = risk(rollouts, bundle_size=2)
    assert advantage[:2].sort().values.tolist() == advantage[2:].sort().values.tolist()
    assert advantage[2] > advantage[3]
    assert (advantage != 0).sum() == 2  # a dead group learns beside a live one


def test_problems_of_one_bundle_alone_teach_nothing_where_all_fail(answers):
    rollouts, _ = answers([0.0] * 4, [[-1.0]] * 4, group=[0, 0, 1, 1])
    assert (risk(rollouts, bundle_size=2) == 0).all()


def test_an_answer_without_partner_has_no_advantage(answers):
    rollouts, _ = answers([0.0, 1.0, 1.0, 0.0, 0.0], [[-1.0]] * 5, group=[0, 0, 1, 1, 1])
    assert (risk(rollouts, bundle_size=2, centred=True) == 0).sum() == 1
