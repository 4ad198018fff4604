from types import SimpleNamespace

import pytest
import torch

from tiltyard.agents.objectives.filtered_bc import advantage as filtered


def advantages(rewards, **params):
    return filtered(SimpleNamespace(reward=torch.tensor(rewards)), **params).tolist()


def test_the_best_share_is_imitated_by_hand():
    rewards = [0.1, 0.9, 0.4, 0.4, 0.2]
    assert advantages(rewards, share=0.25) == [0, 1, 1, 1, 0]  # the 75% quantile is 0.4, ties included
    assert advantages(rewards, share=0.1) == [0, 1, 0, 0, 0]  # 90%: 0.4 + 0.6 * 0.5 = 0.7
    assert advantages(rewards, share=1.0) == [0, 1, 1, 1, 1]  # never the least


def test_every_success_is_imitated_and_failures_alone_teach_nothing():
    assert advantages([0.0, 1.0, 1.0, 0.0, 1.0], share=0.1) == [0, 1, 1, 0, 1]
    assert advantages([0.0] * 4) == [0] * 4


def test_a_share_is_a_part():
    with pytest.raises(ValueError, match="share is a part"):
        advantages([0.0, 1.0], share=0.0)
