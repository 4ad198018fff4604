"""A finite set of problems: which they are, how they are drawn, what is remembered of them."""

import numpy as np
import pytest

from tiltyard.wrappers.curricula.catalogue import load
from tiltyard.wrappers.curricula.pool import Pool


def test_a_pool_is_the_same_problems_every_time():
    assert np.array_equal(Pool(50).seeds, Pool(50).seeds)
    assert np.array_equal(Pool(20).seeds, Pool(50).seeds[:20])
    assert len(set(Pool(50).seeds.tolist()) & set(Pool(50, seed=1).seeds.tolist())) == 0
    assert len(set(Pool(50).seeds.tolist())) == 50


def test_draws_are_different_problems_by_weight():
    pool, rng = Pool(4), np.random.default_rng(0)
    assert sorted(pool.draw(9, rng)) == sorted(pool.seeds.tolist())
    drawn = np.concatenate([pool.places(pool.draw(1, rng, np.array([1.0, 3.0, 0.0, 0.0]))) for _ in range(2000)])
    assert np.bincount(drawn, minlength=4) / 2000 == pytest.approx([0.25, 0.75, 0, 0], abs=0.03)


def test_columns_are_kept_by_problem_and_come_back():
    pool, again = Pool(3), Pool(3)
    pool.column("tries", 0)[pool.places([int(pool.seeds[2])])] += 5
    again.load_state_dict(pool.state_dict())
    assert again.column("tries", 0).tolist() == [0, 0, 5]
    with pytest.raises(ValueError, match="column 'tries' has the shape"):
        Pool(4).load_state_dict(pool.state_dict())
    with pytest.raises(KeyError):
        pool.places([-1])
    with pytest.raises(ValueError, match="at least one problem"):
        Pool(0)


def test_a_curriculum_draws_from_its_pool_alone():
    curriculum = load({"name": "pool", "size": 10, "pool_seed": 3})
    drawn = {seed for _ in range(20) for seed in curriculum.sample(4, np.random.default_rng(1))}
    assert drawn <= set(Pool(10, seed=3).seeds.tolist())
    assert len(curriculum.sample(12, np.random.default_rng(1))) == 10
