from types import SimpleNamespace

import pytest
import torch

from tiltyard.wrappers.rewards.steps import by_step, step_ends

SPELLED = {1: "a", 2: " ", 3: "b, ", 4: ";", 5: ";;"}
CONTEXT = SimpleNamespace(detokenize=lambda tokens: "".join(SPELLED.get(int(token), "") for token in tokens))


def episodes(tokens, mask, turn):
    return SimpleNamespace(tokens=torch.tensor(tokens), mask=torch.tensor(mask).bool(), turn=torch.tensor(turn))


def test_steps_end_with_turns_and_separators_by_hand():
    # a prompt that holds the separator, two turns with the environment's words between them, padding
    rows = episodes([[2, 1, 2, 1, 2, 1, 3, 1, 0]], [[0, 1, 1, 1, 0, 1, 1, 1, 0]], [[0, 0, 0, 0, 1, 1, 1, 1, 1]])
    assert step_ends(rows, CONTEXT, " ").tolist() == [[False, False, True, True, False, False, True, True, False]]
    assert step_ends(rows, CONTEXT).nonzero()[:, 1].tolist() == [3, 7]


def test_a_separator_of_several_tokens_ends_with_its_last_and_not_across_turns():
    rows = episodes([[1, 4, 4, 4, 1]], [[0, 1, 1, 1, 1]], [[0, 0, 0, 0, 0]])
    assert step_ends(rows, CONTEXT, ";;").nonzero()[:, 1].tolist() == [2, 4]
    apart = episodes([[1, 4, 1, 4, 1]], [[0, 1, 0, 1, 1]], [[0, 0, 1, 1, 1]])
    assert step_ends(apart, CONTEXT, ";;").nonzero()[:, 1].tolist() == [1, 4]


def test_an_episode_without_a_written_token_has_no_step():
    assert not step_ends(episodes([[1, 1]], [[0, 0]], [[0, 0]]), CONTEXT, " ").any()


def test_sums_of_steps_by_hand():
    values = torch.tensor([[0.0, 1.0, 2.0, 4.0, 0.0, 8.0, 16.0]])
    ends = torch.tensor([[0, 0, 1, 0, 0, 1, 0]]).bool()
    assert by_step(values, ends)[0].tolist() == pytest.approx([0, 0, 3, 0, 0, 12, 0])
