from types import SimpleNamespace

import torch

from tiltyard.agents.objectives.parts.batch_mean import batch_mean


def test_by_hand():
    assert batch_mean(SimpleNamespace(reward=torch.tensor([1.0, 0.0, 0.0, 3.0]))).tolist() == [0.0, -1.0, -1.0, 2.0]
