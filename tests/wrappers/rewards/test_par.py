import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tiltyard.wrappers.rewards.par import PAR

sys.path.insert(0, str(Path(__file__).parent))
from made_up import Read, played, sigmoid  # noqa: E402


@pytest.mark.parametrize("by_tokens", [False, True])
def test_par_is_the_chance_of_being_preferred_to_references_of_the_same_problem(by_tokens):
    episodes, context, asked = played()
    found = PAR(of=Read(by_tokens=by_tokens), references=2).shape(episodes, context)
    assert found.tolist() == pytest.approx(
        [
            (sigmoid(1 - 1) + sigmoid(1 - 3)) / 2,
            (sigmoid(-1.5) + sigmoid(-0.5)) / 2,
            (sigmoid(-1) + sigmoid(-3)) / 2,
        ]
    )
    assert asked == [([3, 7], 2)]


def test_par_is_a_half_at_the_reference_and_bounded_far_from_it():
    _, context, _ = played()
    far = SimpleNamespace(seed=torch.tensor([7, 7, 7]), info={"first": torch.tensor([1.0, 900.0, -900.0])})
    assert PAR(of=Read()).shape(far, context).tolist() == pytest.approx([0.5, 1.0, 0.0])


def test_there_is_a_reference():
    with pytest.raises(ValueError, match="references is at least 1, got 0"):
        PAR(references=0)
