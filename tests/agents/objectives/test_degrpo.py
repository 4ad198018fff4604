import pytest
import torch

from tiltyard.agents.objectives.degrpo import aggregate as decoupled


def test_by_hand():
    mask = torch.tensor([[False, True, True, True], [False, True, True, False]])
    weights = decoupled(mask, alpha=0.1)
    assert weights[0].tolist() == pytest.approx([0.0, 0.05, 0.25, 0.25])
    assert weights[1].tolist() == pytest.approx([0.0, 0.05, 0.5, 0.0])
    assert decoupled(mask[:, :2], alpha=0.1).sum().item() == pytest.approx(0.1)  # nothing after the choice


def test_the_choice_weighs_the_same_however_long_the_answer():
    columns = torch.arange(101)
    short, long = (decoupled((columns >= 1) & (columns <= torch.tensor([[n]]))) for n in (10, 100))
    assert short[0, 1] == long[0, 1] == pytest.approx(0.001)
    assert long.sum().item() == pytest.approx(1.001)
