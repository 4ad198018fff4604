from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.agents.control.lpg_worlds import Floats, GridFamily, GymWorld, RandomWorlds, Worlds

SURE, NEVER = (1.0, 1.0), (1e-12, 1e-12)
REWARD = 0.7


def beside(family: GridFamily) -> Worlds:
    """A 2 x 2 square whose one object, worth 0.7, lies beside the start."""
    for share in np.linspace(0, 0.99, 50):
        grid = family.worlds([[0, 0, 0, share, REWARD, 0, 0]])
        row, column = divmod(int(grid.start[0]), 2)
        there, across = divmod(int(grid.places[0, 0]), 2)
        if abs(row - there) + abs(column - across) == 1:
            return grid
    raise AssertionError("no such level")


def square(steps: int, **how: Any) -> GridFamily:
    return GridFamily(sizes=(2, 2), objects=(1, 1), steps=(steps, steps), walls=0, **how)


def even(worlds: Worlds) -> Floats:
    return np.full((worlds.n, worlds.n_states, worlds.n_actions), 1 / worlds.n_actions)


def played(worlds: Worlds, policy: Floats, workers: int, steps: int) -> tuple[Floats, Floats]:
    """Means of first episodes, and three of their standard errors."""
    rng = np.random.default_rng(0)
    state, total = worlds.reset(workers, rng), np.zeros((worlds.n, workers))
    alive, rows = np.ones((worlds.n, workers), np.bool_), np.arange(worlds.n)[:, None]
    for _ in range(steps):
        bounds = policy.cumsum(axis=-1)[rows, state][..., :-1]
        state, reward, done = worlds.step((rng.random((*state.shape, 1)) > bounds).sum(axis=-1), rng)
        total += reward * alive
        alive &= ~done
    assert not alive.any()
    return total.mean(axis=1), 3.5 * total.std(axis=1) / np.sqrt(workers)


def test_the_worth_of_random_steps_by_hand() -> None:
    # One of five actions reaches the object, one leads away; the other three stay, and leave a second chance.
    worlds = beside(square(2, ends=SURE, returns=NEVER))
    assert worlds.worth(even(worlds))[0] == pytest.approx(REWARD * (1 / 5 + 3 / 5 * 1 / 5))
    assert worlds.worth()[0] == pytest.approx(REWARD)


def test_an_object_that_returns_pays_at_every_other_step() -> None:
    worlds = beside(square(5, ends=NEVER, returns=SURE))
    assert worlds.worth()[0] == pytest.approx(3 * REWARD)


def test_walls_and_borders_stop_and_ends_begin_anew() -> None:
    worlds: Any = beside(square(3, ends=NEVER, returns=NEVER))
    rng = np.random.default_rng(0)
    start = worlds.reset(5, rng).copy()
    state, _, done = worlds.step(np.arange(5)[None], rng)
    assert (state[0] % 4 == start[0] % 4).sum() == 3
    assert not done.any()
    for _ in range(2):
        state, _, done = worlds.step(np.full((1, 5), 4), rng)
    assert done.all()
    assert (state == start).all()
    family = GridFamily(sizes=(4, 4), walls=6)
    walled = family.worlds(np.random.default_rng(0).random((3, family.dimensions)))
    into = [len({cell for place, row in enumerate(moves) for cell in row if cell != place}) for moves in walled.moves]
    assert max(into) <= 16 - 6


def test_what_is_computed_is_what_is_played() -> None:
    rng = np.random.default_rng(1)
    family = GridFamily(sizes=(2, 4), walls=3, steps=(5, 15), returns=(0.05, 0.5))
    several: list[tuple[Worlds, int]] = [
        (family.worlds(rng.random((8, family.dimensions))), 15),
        (RandomWorlds(4, rng, length=10), 10),
    ]
    for worlds, steps in several:
        policy = rng.dirichlet(np.ones(worlds.n_actions), size=(worlds.n, worlds.n_states))
        mean, error = played(worlds, policy, 3000, steps)
        assert (np.abs(mean - worlds.worth(policy)) <= error + 1e-3).all()
        assert (worlds.worth() >= worlds.worth(policy) - 1e-9).all()
        assert worlds.worth().sum() > 1.5 * worlds.worth(policy).sum()


def test_a_level_decides_everything() -> None:
    family = GridFamily()
    levels = np.random.default_rng(2).random((6, family.dimensions))
    np.testing.assert_array_equal(family.worlds(levels).worth(), family.worlds(levels).worth())
    assert family.worlds(levels[3:4]).worth()[0] == family.worlds(levels).worth()[3]
    assert len(np.unique(family.worlds(levels).worth())) > 3


def test_bad_levels_and_families_are_refused() -> None:
    with pytest.raises(ValueError, match="levels are 13 numbers from 0 to 1 each, got shape"):
        GridFamily().worlds(np.zeros((2, 12)))
    with pytest.raises(ValueError, match="levels are 13 numbers"):
        GridFamily().worlds(np.full((2, 13), 1.1))
    with pytest.raises(ValueError, match="steps are bounds above 0 in ascending order, got 9 and 8"):
        GridFamily(steps=(9, 8))
    with pytest.raises(ValueError, match="room for all objects"):
        GridFamily(sizes=(2, 2), objects=(1, 4))


def test_gymnasium_environments_are_worlds() -> None:
    cliff = GymWorld(lambda: gymnasium.make("CliffWalking-v1", max_episode_steps=50))
    assert (cliff.n_states, cliff.n_actions) == (48, 4)
    rng = np.random.default_rng(0)
    assert (cliff.reset(3, rng) == 36).all()
    state, reward, done = cliff.step(np.array([[0, 1, 3]]), rng)
    assert state.tolist() == [[24, 36, 36]]  # up; right over the cliff; left against the border
    assert reward.tolist() == [[-1.0, -100.0, -1.0]]
    policy = np.zeros((1, 48, 4))
    policy[0, :, 1], policy[0, 36], policy[0, 35] = 1, [1, 0, 0, 0], [0, 0, 1, 0]
    assert cliff.worth(policy, episodes=2)[0] == -13
    for step in range(2, 51):  # evaluation has not touched the workers' episodes, which end after 50 steps
        state, _, done = cliff.step(np.zeros((1, 3), np.int64), rng)
        assert done.all() == (step == 50)
    assert (state == 36).all()


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="need Discrete observations and actions, got Box"):
        GymWorld(lambda: gymnasium.make("CartPole-v1"))
    with pytest.raises(ValueError, match="give a policy"):
        GymWorld(lambda: gymnasium.make("FrozenLake-v1")).worth()
