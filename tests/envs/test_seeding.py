"""Every seed and episode has problems of its own, and those of seeds below 2^32 are the published ones for ever."""

import gymnasium
import numpy as np
import pytest

from tiltyard.envs.seeding import generator, problem_keys, problem_rng

BIG = 2**32


def drawn(rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(rng.integers(2**62, size=4).tolist())


@pytest.mark.parametrize(("seed", "episode"), [(0, 0), (5, 3), (BIG - 1, 0), (7, BIG - 1)])
def test_seeds_below_two_to_the_32_give_the_problems_they_always_gave(seed: int, episode: int) -> None:
    assert drawn(problem_rng("train", seed, episode)) == drawn(np.random.default_rng([0, seed, episode]))
    assert drawn(problem_rng("test", seed, episode)) == drawn(np.random.default_rng([1, seed, episode]))


def test_a_problem_worked_out_once_stays_what_it_is() -> None:
    assert problem_rng("train", 5, 3).integers(1000, size=3).tolist() == [4, 109, 229]
    assert problem_keys("test", 5, 3) == 14716886041918373349


def test_no_seed_repeats_the_problems_of_another() -> None:
    assert drawn(np.random.default_rng([0, 5 + 3 * BIG, 0])) == drawn(np.random.default_rng([0, 5, 3]))  # NumPy's way
    seeds = [s + k * BIG for s in (0, 1, 5) for k in (0, 1, 3, 5, BIG // 4)]
    episodes = [e + k * BIG for e in (0, 1, 3, 5) for k in (0, 1, 3)]
    found = {drawn(problem_rng(split, s, e)) for split in ("train", "test") for s in seeds for e in episodes}
    assert len(found) == 2 * len(seeds) * len(episodes)
    assert len({int(problem_keys("train", s, e)) for s in seeds for e in episodes}) == len(seeds) * len(episodes)


def test_streams_of_several_names_do_not_run_into_each_other() -> None:
    assert drawn(generator(5 + 7 * BIG, 0)) != drawn(generator(5, 7))
    assert drawn(generator(5, 7)) == drawn(np.random.default_rng([5, 7]))


@pytest.mark.parametrize("env_id", ["tiltyard/Countdown-v0", "tiltyard/Phone-v0", "tiltyard/PointMaze-v0"])
def test_episodes_of_a_large_seed_are_no_later_episodes_of_a_small_one(env_id: str) -> None:
    env = gymnasium.make(env_id)
    env.reset(seed=5)
    for _ in range(3):
        third = env.reset()[1]
    large = env.reset(seed=5 + 3 * BIG)[1]
    assert str(large) != str(third)
    assert str(large) == str(env.reset(seed=5 + 3 * BIG)[1])
