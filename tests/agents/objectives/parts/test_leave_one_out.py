from types import SimpleNamespace

import torch

from tiltyard.agents.objectives.parts.leave_one_out import leave_one_out


def test_by_hand():
    rollouts = SimpleNamespace(reward=torch.tensor([3.0, 0.0, 6.0, 9.0]), group=torch.tensor([0, 0, 0, 1]))
    # 3 - (0 + 6) / 2, 0 - (3 + 6) / 2, 6 - (3 + 0) / 2; the last row has no others, and no baseline
    assert leave_one_out(rollouts).tolist() == [0.0, -4.5, 4.5, 9.0]
