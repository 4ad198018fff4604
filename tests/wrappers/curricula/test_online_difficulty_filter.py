from types import SimpleNamespace

import pytest
import torch

from tiltyard.wrappers.curricula.catalogue import load
from tiltyard.wrappers.curricula.online_difficulty_filter import OnlineDifficultyFilter

# success rates by group: 7 -> 0/4, 1 -> 1/4, 3 -> 4/4, in mixed order
GROUP = torch.tensor([7, 1, 3, 7, 1, 3, 7, 1, 3, 7, 1, 3])
SUCCESS = torch.tensor([0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1], dtype=torch.bool)


def kept(curriculum) -> set[int]:
    return set(GROUP[curriculum.keep(SimpleNamespace(group=GROUP, info={"success": SUCCESS}))].tolist())


def test_only_middling_groups_are_kept_bounds_included():
    assert kept(OnlineDifficultyFilter(low=0.25, high=0.75)) == {1}
    assert kept(OnlineDifficultyFilter(low=0.26, high=0.75)) == set()
    assert kept(OnlineDifficultyFilter(low=0.0, high=0.25)) == {7, 1}


def test_dynamic_sampling_drops_all_right_and_all_wrong_alone():
    assert kept(load("dynamic-sampling")) == {1}


def test_bounds_in_the_wrong_order_are_refused():
    with pytest.raises(ValueError, match="low <= high"):
        OnlineDifficultyFilter(low=0.8, high=0.2)
