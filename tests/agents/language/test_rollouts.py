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
