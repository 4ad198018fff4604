from dataclasses import replace

import pytest
import torch

from tiltyard.agents.language.rollouts import Rollouts, join


def rollouts(lengths: list[int], group: int, start: int = 1) -> Rollouts:
    n, width = len(lengths), start + max(lengths)
    columns = torch.arange(width)
    mask = (columns >= start) & (columns < start + torch.tensor(lengths)[:, None])
    return Rollouts(
        tokens=torch.full((n, width), 5),
        mask=mask,
        logp_old=-1.0 * mask,
        logp_ref=None,
        reward=torch.arange(n, dtype=torch.float32),
        group=torch.full((n,), group),
        seed=torch.full((n,), 10 * group),
        turn=torch.zeros(n, width, dtype=torch.int64),
        length=torch.tensor(lengths),
        entropy=0.5 * mask,
        info={"success": torch.arange(n) > 0},
    )


def test_taking_rows_cuts_what_only_others_needed():
    taken = rollouts([2, 5, 3], 0).take(torch.tensor([2, 0]))
    assert taken.tokens.shape == (2, 4)  # one prompt token and at most three written
    assert taken.length.tolist() == [3, 2]
    assert taken.info["success"].tolist() == [True, False]
    assert len(rollouts([2, 5, 3], 0).take(torch.tensor([True, False, True]))) == 2


def test_joined_batches_are_padded_to_the_longest():
    joined = join([rollouts([2], 0), rollouts([4, 1], 1)])
    assert joined.tokens.shape == (3, 5)
    assert joined.mask.sum(1).tolist() == joined.length.tolist() == [2, 4, 1]
    assert joined.group.tolist() == [0, 1, 1]
    assert joined.info["success"].tolist() == [False, False, True]


def test_what_only_some_methods_need_is_cut_and_joined_like_the_rest():
    one, two = rollouts([2, 5], 0), rollouts([3], 1)
    one = replace(one, values=torch.arange(12.0).view(2, 6), baseline=torch.tensor([0.1, 0.2]))
    two = replace(two, values=torch.ones(1, 4), baseline=torch.tensor([0.3]), state=torch.ones(1, 4))
    joined = join([one, two])
    assert joined.values.tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [1, 1, 1, 1, 0, 0]]
    assert joined.baseline.tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert joined.state is None  # not every part has it
    taken = joined.take(torch.tensor([2, 0]))
    assert taken.values.tolist() == [[1, 1, 1, 1], [0, 1, 2, 3]]
    assert taken.baseline.tolist() == pytest.approx([0.3, 0.1])


def test_a_missing_column_is_named():
    assert rollouts([2], 0).need("reward").tolist() == [0.0]
    with pytest.raises(ValueError, match=r"rollouts\.values, which is None"):
        rollouts([2], 0).need("values")
