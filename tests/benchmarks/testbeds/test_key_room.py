"""The rooms have a key, a door that is locked without it and a goal; both tasks can be scored."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tiltyard.benchmarks.testbeds.key_room import DOOR, GOAL, KEY, LONGEST, MOVES, REACH, SIZE, WALL, KeyRoom, made


def walk(env: KeyRoom, kind: int, passable: set[int]) -> list[int]:
    """Moves of a shortest way to a square of a kind."""
    before: dict[tuple[int, int], tuple[tuple[int, int], int]] = {}
    start = (env.at[0], env.at[1])
    queue = [start]
    for here in queue:
        if env.room[here] == kind:
            moves = []
            while here != start:
                here, move = before[here]
                moves.append(move)
            return moves[::-1]
        for number, (down, right) in enumerate(MOVES):
            to = (here[0] + down, here[1] + right)
            if to != start and to not in before and int(env.room[to]) in passable | {kind}:
                before[to] = (here, number)
                queue.append(to)
    raise AssertionError("there is no way")


def test_it_is_a_gymnasium_environment() -> None:
    check_env(KeyRoom(), skip_render_check=True)


@pytest.mark.parametrize("seed", range(20))
def test_the_key_then_the_goal(seed: int) -> None:
    env = KeyRoom()
    env.reset(seed=seed)
    assert [(env.room == kind).sum() for kind in (KEY, DOOR, GOAL)] == [1, 1, 1]
    with pytest.raises(AssertionError, match="no way"):
        walk(env, GOAL, {0, KEY})
    steps = 0
    for move in walk(env, KEY, {0}):
        seen, reward, terminated, _, _ = env.step(np.int64(move))
        steps += 1
        assert (reward, terminated) == (0.0, False)
    assert seen[-1] == 1
    rest = walk(env, GOAL, {0, DOOR})
    for move in rest:
        seen, reward, terminated, _, _ = env.step(np.int64(move))
    assert terminated
    assert reward == pytest.approx(1 - 0.9 * (steps + len(rest)) / LONGEST)


def test_the_door_is_shut_without_the_key_and_the_view_is_around_the_agent() -> None:
    env = KeyRoom()
    seen, _ = env.reset(seed=3)
    row = int(np.argwhere(env.room == DOOR)[0][0])
    env.room[env.room == KEY] = 0
    env.at = [row, SIZE // 2 - 1]
    seen, *_ = env.step(np.int64(1))
    assert env.at == [row, SIZE // 2 - 1]
    view = seen[:-1].reshape(2 * REACH + 1, -1)
    assert view[REACH, REACH + 1] == DOOR
    assert view[REACH - 1, REACH + 1] == WALL
    for _ in range(LONGEST - 1):
        *_, terminated, truncated, _ = env.step(np.int64(1))
    assert (terminated, truncated) == (False, True)


def test_both_tasks_are_made_side_by_side() -> None:
    assert made("rooms", 3).reset(seed=0)[0].shape == (3, 26)
    assert made("CartPole-v1", 2).reset(seed=0)[0].shape == (2, 4)
