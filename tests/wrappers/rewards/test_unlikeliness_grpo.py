from types import SimpleNamespace

import pytest
import torch

from tiltyard.agents.objectives.parts.group_relative import group_relative
from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.unlikeliness_grpo import UnlikelinessGRPO


def batch(reward, logp, group=None, mask=None):
    """Rows of two tokens after one of the prompt."""
    logp_old = torch.tensor([[0.0, *row] for row in logp])
    return SimpleNamespace(
        reward=torch.tensor(reward),
        group=torch.tensor(group or [0] * len(reward)),
        logp_old=logp_old,
        mask=torch.tensor([[False, True, True]]).expand(logp_old.shape) if mask is None else mask,
        info={"success": torch.tensor(reward) > 0.5},
    )


def test_by_hand():
    # of a group of four, by mean log-probability: -1, -2, -3, -4, so that 3, 2, 1 and 0 are less likely
    rows = batch([1.0, 1.0, 0.0, 1.0], [[-1, -1], [-3, -1], [-3, -3], [-4, -4]])
    reward = load("unlikeliness-grpo")  # of weight 0.25
    assert reward.shape(rows, None).tolist() == pytest.approx([1 - 0.25 * 3 / 4, 1 - 0.25 * 2 / 4, 0.0, 1.0])


def test_the_unlikely_of_two_correct_completions_is_raised_more():
    rows = batch([1.0, 0.0, 1.0], [[-1, -1], [-2, -2], [-3, -3]])
    plain = group_relative(rows)
    assert plain[0] == plain[2]
    rows.reward = UnlikelinessGRPO().shape(rows, None)
    likely, _, unlikely = group_relative(rows).tolist()
    assert 0 < likely < unlikely


def test_nothing_changes_without_weight_or_correct_completions():
    rows = batch([1.0, 0.0, 0.0, -0.1], [[-1, -1], [-2, -2], [-3, -3], [-1, -2]], group=[0, 0, 1, 1])
    assert torch.equal(UnlikelinessGRPO(weight=0.0).shape(rows, None), rows.reward)
    assert UnlikelinessGRPO(weight=1.0).shape(rows, None)[1:].tolist() == rows.reward[1:].tolist()


def test_copies_of_a_completion_earn_alike_and_alone_all_of_it():
    rows = batch([1.0, 1.0, 1.0], [[-1, -1], [-1, -1], [-5, -5]], group=[0, 0, 1])
    assert UnlikelinessGRPO(weight=0.5).shape(rows, None).tolist() == pytest.approx([0.875, 0.875, 1.0])


def test_what_stands_outside_the_mask_changes_nothing():
    mask = torch.tensor([[False, True, True], [False, True, False]])
    rows = batch([1.0, 1.0], [[-1.0, -1.0], [-2.0, float("nan")]], mask=mask)
    assert UnlikelinessGRPO().shape(rows, None).tolist() == pytest.approx([0.875, 1.0])


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan")])
def test_a_weight_is_a_share(weight):
    with pytest.raises(ValueError, match="weight is the share of a reward that is lost"):
        UnlikelinessGRPO(weight=weight)
    with pytest.raises(TypeError, match="weight must be a number"):
        UnlikelinessGRPO(weight="much")
