import math
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tiltyard.wrappers.rewards.infalign_ctrl import InfAlignCTRL

sys.path.insert(0, str(Path(__file__).parent))
from made_up import Read, played  # noqa: E402


def test_ranks_among_references_of_the_same_problem_by_hand():
    # Problem 7 has references that score 1 and 3, problem 3 has 0.5 and -0.5; the episodes score 1, -1 and 0.
    episodes, context, asked = played()
    found = InfAlignCTRL(of=Read(), tilt=0.0, references=2).shape(episodes, context)
    assert found.tolist() == [0.25, 0.0, 0.0]  # one tie of two
    assert asked == [([3, 7], 2)]
    far = SimpleNamespace(seed=torch.tensor([7, 7]), info={"first": torch.tensor([2.0, 900.0])})
    assert InfAlignCTRL(of=Read(), tilt=0.0, references=2).shape(far, context).tolist() == [0.5, 1.0]


@pytest.mark.parametrize("tilt", [10.0, 2.0, -2.0, -10.0])
def test_what_is_paid_is_the_exponential_between_0_and_1(tilt):
    rank = torch.tensor([0.0, 0.25, 1.0], dtype=torch.float64)
    found = InfAlignCTRL(of=Read(), tilt=tilt).transformed(rank)
    by_hand = (math.exp(tilt * 0.25) - 1) / (math.exp(tilt) - 1)
    assert found.tolist() == pytest.approx([0.0, by_hand, 1.0])


def test_the_best_counts_for_a_tilt_above_0_and_the_worst_below():
    step = torch.tensor([0.0, 0.1, 0.9, 1.0], dtype=torch.float64)
    for tilt, where in ((10.0, 2), (-10.0, 0)):
        paid = InfAlignCTRL(of=Read(), tilt=tilt).transformed(step).diff()
        assert paid[where] > 0.6
        assert paid[2 - where] < 0.001


def test_ranks_are_uniform_under_the_policy_before_training():
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(4000, 11, generator=generator).exp()  # of no scale in particular
    context = SimpleNamespace(
        play_reference=lambda seeds, group_size: SimpleNamespace(info={"first": drawn[: len(seeds), 1:].flatten()})
    )
    episodes = SimpleNamespace(seed=torch.arange(4000), info={"first": drawn[:, 0]})
    rank = InfAlignCTRL(of=Read(), tilt=0.0, references=10).shape(episodes, context)
    seen = torch.bincount((rank * 10).round().long(), minlength=11) / 4000
    assert (seen - 1 / 11).abs().max() < 0.02


@pytest.mark.parametrize(
    ("settings", "says"), [({"references": 0}, "references is at least 1"), ({"tilt": 1e4}, "tilt")]
)
def test_settings_that_mean_nothing_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        InfAlignCTRL(**settings)
