"""Chunks of actions: of a dataset, in an environment's units, and one after the other."""

import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box

from tiltyard.agents.control.on_policy.chunks import chunk_indices, in_units, through_chunks


def test_chunks_of_a_dataset_end_with_its_episodes() -> None:
    rows = chunk_indices(th.tensor([0, 0, 1, 0, 1]).bool(), 3)
    assert rows.tolist() == [[0, 1, 2], [1, 2, 2], [2, 2, 2], [3, 4, 4], [4, 4, 4]]


def test_bounds_are_at_minus_1_and_1() -> None:
    space = Box(np.array([0.0, -2.0], np.float32), np.array([4.0, 2.0], np.float32))
    found = in_units(space, th.tensor([[-1.0, 1.0, 0.5, 0.0]]))
    assert found.tolist() == [[[0.0, 2.0], [3.0, 0.0]]]


def test_actions_of_a_chunk_come_one_after_the_other() -> None:
    old, new = np.arange(6.0).reshape(2, 3, 1), np.arange(10.0, 16.0).reshape(2, 3, 1)
    first, state = through_chunks(old.copy(), None, None)
    assert first[:, 0].tolist() == [0, 3]
    second, state = through_chunks(new.copy(), state, np.array([False, True]))
    assert second[:, 0].tolist() == [1, 13]
    assert state[1].tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"a state for 2 observations is arrays \[2, 3, 1\] and \[2\]"):
        through_chunks(new, (old[:1], state[1]), None)
