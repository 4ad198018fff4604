import copy
import gc
import pickle

import gymnasium
import numpy as np
import pytest
import torch

from tiltyard.envs.buffers import KEPT, SMALLEST, Buffers


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_nothing_holds_it():
    buffers = Buffers()
    first = buffers.empty((SMALLEST,), np.uint8)
    at = address(first)
    del first
    gc.collect()
    assert address(buffers.empty((SMALLEST // 4, 1), np.float32)) == at


@pytest.mark.parametrize(
    "hold",
    [lambda a: a, lambda a: a[1:3], lambda a: a.reshape(-1)[::2], lambda a: a.view(np.uint8).T, memoryview, list],
)
def test_who_holds_a_view_holds_its_content(hold):
    buffers = Buffers()
    array = buffers.empty((4, SMALLEST), np.float32)
    array[:] = 7.0
    held = hold(array)
    before = np.asarray(held).copy()
    del array
    gc.collect()
    buffers.empty((4, SMALLEST), np.float32)[:] = 1.0
    np.testing.assert_array_equal(np.asarray(held), before)


def test_a_tensor_of_torch_holds_it_too():
    buffers = Buffers()
    array = buffers.empty((SMALLEST,), np.float32)
    array[:] = 7.0
    held = torch.from_numpy(array)[10:]
    del array
    gc.collect()
    buffers.empty((SMALLEST,), np.float32)[:] = 1.0
    assert bool((held == 7.0).all())


def test_small_arrays_and_other_sizes_are_made_anew_and_few_blocks_are_kept():
    buffers = Buffers()
    assert buffers.empty((3,), np.float32).base is None
    arrays = [buffers.empty((SMALLEST + i,), np.uint8) for i in range(KEPT + 3)]
    del arrays
    gc.collect()
    assert len(buffers._free) == KEPT
    assert buffers.empty((2 * SMALLEST,), np.uint8).shape == (2 * SMALLEST,)


def test_copies_have_a_store_of_their_own():
    buffers = Buffers()
    array = buffers.empty((SMALLEST,), np.uint8)
    del array
    gc.collect()
    assert len(buffers._free) == 1
    for other in (copy.deepcopy(buffers), pickle.loads(pickle.dumps(buffers))):
        assert len(other._free) == 0


def test_observations_that_are_kept_do_not_change():
    env = gymnasium.make_vec("tiltyard/Intersection-v0", 24, maps=1, observation="bev", density=4.0)
    seen = [env.reset(seed=0)[0]]
    assert seen[0].nbytes >= SMALLEST
    copies = [seen[0].copy()]
    for _ in range(6):
        observation = env.step(env.action_space.sample())[0]
        seen.append(observation)
        copies.append(observation.copy())
    for one, other in zip(seen, copies, strict=True):
        np.testing.assert_array_equal(one, other)
    assert len({address(one) for one in seen}) == len(seen)
    env.close()
