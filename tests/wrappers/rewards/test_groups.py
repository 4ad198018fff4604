"""Places and sums within groups, which rewards share."""

from types import SimpleNamespace

import torch

from tiltyard.wrappers.rewards.groups import less_likely, over_group, sampled

GROUP = torch.tensor([7, 2, 7, 2, 7])


def test_sums_over_groups():
    assert over_group(torch.tensor([1, 2, 3, 4, 5]), GROUP).tolist() == [9, 6, 9, 6, 9]


def test_places_by_likelihood():
    everyone = torch.ones(5, dtype=torch.bool)
    places = less_likely(torch.tensor([-1.0, -3.0, -2.0, -4.0, -5.0]), GROUP, everyone)
    assert places.tolist() == [2, 1, 1, 0, 0]


def test_equals_share_the_mean_of_their_places():
    everyone = torch.ones(5, dtype=torch.bool)
    places = less_likely(torch.tensor([-1.0, -3.0, -1.0 + 1e-6, -4.0, -1.0]), GROUP, everyone)
    assert places.tolist() == [1, 1, 1, 0, 1]  # of 0, 1 and 2


def test_what_was_not_sampled_is_placed_but_not_counted():
    info = {"greedy": torch.tensor([True, False, False, False, False]), "expert": torch.tensor([False] * 4 + [True])}
    own = sampled(SimpleNamespace(group=GROUP, info=info))
    assert own.tolist() == [False, True, True, True, False]
    places = less_likely(torch.tensor([-1.0, -3.0, -2.0, -4.0, -5.0]), GROUP, own)
    assert places.tolist() == [1, 1, 0, 0, 0]
