from dataclasses import replace

import pytest
import torch

from tiltyard.agents.objectives.parts.leave_one_out import leave_one_out
from tiltyard.agents.objectives.pav import advantage
from tiltyard.agents.objectives.registry import load


def two_completions(completions, reward=(1.0, 0.0)):
    """A success that had a chance of 1/2 before its first token and of 1/4 before its second; a failure that had 1/2.

    The values before the tokens of each row stand at its tokens.
    """
    rollouts, _ = completions(list(reward), [[-1.0, -1.0], [-1.0]], ref=[[-1.0, -1.0], [-1.0]])
    values = torch.zeros(rollouts.mask.shape)
    values[rollouts.mask] = torch.tensor([0.5, 0.25, 0.5])
    return replace(rollouts, values=values)


def test_by_hand(completions):
    # the best of two succeeds with 3/4 and 7/16; progress -5/16, then 9/16; and -3/4
    given = two_completions(completions)
    found = advantage(given, alpha=2.0, best_of=2)
    assert found[given.mask].tolist() == pytest.approx([1 - 2 * 5 / 16, 1 + 2 * 9 / 16, -1 - 2 * 3 / 4])
    assert not found[~given.mask].any()


def test_progress_under_the_policy_itself_is_the_change_of_its_chance(completions):
    given = two_completions(completions)
    found = advantage(given, best_of=1)[given.mask]
    assert found.tolist() == pytest.approx([1 - 0.25, 1 + 0.75, -1 - 0.5])


def test_a_prover_pays_more_where_success_is_rare_and_less_where_it_is_not(completions):
    given = two_completions(completions, reward=(1.0, 1.0))

    def progress(before, after, best_of):
        values = torch.zeros(given.mask.shape)
        values[given.mask] = torch.tensor([before, after, 0.5])
        return advantage(replace(given, values=values), best_of=best_of)[0, given.mask[0]][0].item()

    assert progress(0.0, 0.1, 4) > 3 * progress(0.0, 0.1, 1)
    assert progress(0.8, 0.9, 4) < progress(0.8, 0.9, 1) / 5


def test_without_progress_it_is_rloo(completions):
    given = two_completions(completions)
    expected = torch.where(given.mask, leave_one_out(given)[:, None], 0.0)
    assert torch.equal(advantage(given, alpha=0.0), expected)
    assert not torch.allclose(advantage(given), expected)
    sure = replace(given, values=torch.where(given.mask, given.reward[:, None], 0.0))  # nothing is left to be known
    assert torch.equal(advantage(sure), expected)


def test_values_are_cut_to_chances(completions):
    given = two_completions(completions)
    wild = torch.where(given.mask, torch.tensor(3.0), 0.0)
    assert torch.equal(advantage(replace(given, values=wild)), advantage(replace(given, values=wild.clamp(0, 1))))


def test_the_environments_words_take_no_time(completions):
    given = two_completions(completions)
    apart = torch.zeros_like(given.mask)
    apart[0, [0, 2]], apart[1, 0] = True, True
    moved = replace(given, mask=apart, values=torch.zeros(apart.shape).masked_scatter(apart, given.values[given.mask]))
    assert advantage(moved)[apart].tolist() == pytest.approx(advantage(given)[given.mask].tolist())


@pytest.mark.parametrize("params", [{"alpha": -1.0}, {"best_of": 0}])
def test_numbers_out_of_range_are_refused(completions, params):
    with pytest.raises(ValueError, match="alpha is at least 0 and best_of at least 1"):
        advantage(two_completions(completions), **params)


def test_the_row_takes_the_best_of_four():
    assert load("pav").params == {"best_of": 4}
    assert load("pav").needs == {"verifier"}
