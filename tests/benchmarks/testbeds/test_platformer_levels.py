from typing import Any

import numpy as np
import pytest

from tiltyard.agents import make
from tiltyard.benchmarks.claims.ramario_reptile import CLAIM, CONDITIONS, JOINT, RANDOM, REPTILE, TRAINED, after
from tiltyard.benchmarks.testbeds.platformer_levels import (
    FAR,
    GAPS,
    JUMP,
    LEFT,
    LEVELS,
    NEAR,
    RIGHT,
    SIGHT,
    STAND,
    STEPS,
    WIDTH,
    Adapted,
    Expert,
    Level,
    PlatformerLevels,
    Platformers,
    travelled,
)


def at(distance: int, level: Level) -> Platformers:
    """A runner so many cells before the first gap of a course that ends at cell 80."""
    env = Platformers(1, [level])
    env.reset(seed=0)
    env.gaps = np.array([[20, 40, 60, 77]])
    env.place = np.array([20 - distance])
    return env


def clears(command_at: int, level: Level) -> bool:
    """Whether a jump that is commanded so many cells before a gap clears it."""
    env, action = at(command_at, level), JUMP
    while env.place[0] < 20 + WIDTH:
        if env.step([action])[2][0]:
            return False
        action = RIGHT
    return True


def test_a_jump_clears_a_gap_within_its_window_by_hand() -> None:
    # It must be commanded lag + 1 to lag + 1 + air - 3 cells before: with lag 2 and air 5 from 3 to 5.
    assert [d for d in range(1, 10) if clears(d, Level(2, 5))] == [3, 4, 5]
    assert [d for d in range(1, 10) if clears(d, Level(0, 4))] == [1, 2]


def test_rewards_are_shares_of_the_course_by_hand() -> None:
    env = at(2, Level(0, 4))
    assert [float(env.step([action])[1][0]) for action in (STAND, LEFT, RIGHT)] == pytest.approx([0, -1 / 80, 1 / 80])
    assert env.place[0] == 18
    _, rewards, over, *_ = env.step([RIGHT])
    assert (rewards[0], over[0]) == (pytest.approx(1 / 80), False)
    _, rewards, over, late, info = env.step([RIGHT])  # into the gap
    assert (rewards[0], over[0], late[0]) == (0, True, False)
    assert info["final_obs"][0].shape == (SIGHT + 1,)
    assert env.place[0] == 0


def test_there_is_one_jump_for_each_gap_and_it_shows_when_it_is_spent() -> None:
    env = at(12, Level(3, 4))
    seen = [env.step([JUMP])[0][0, -1]]
    seen += [env.step([LEFT])[0][0, -1] for _ in range(6)]
    assert env.place[0] == 15  # three steps of lag and four of the jump, all to the right
    assert seen == [1] * 7
    env.step([LEFT])
    assert env.place[0] == 14
    for _ in range(5):
        assert not env.step([JUMP])[2][0]
    assert env.step([JUMP])[2][0]  # into the gap
    env = at(4, Level(3, 4))
    seen = [env.step([JUMP])[0][0, -1] for _ in range(8)]
    assert env.place[0] == 24
    assert seen == [1, 1, 1, 1, 1, 1, 0, 1]  # the second command, beyond the gap, is for the next one


def test_an_episode_that_goes_nowhere_is_cut_off() -> None:
    env = Platformers(2, LEVELS[:2])
    env.reset(seed=0)
    for _ in range(STEPS - 1):
        assert not np.any(env.step([STAND, STAND])[2:4])
    _, _, over, late, _ = env.step([STAND, STAND])
    assert (over.tolist(), late.tolist()) == ([False, False], [True, True])


def test_gaps_are_elsewhere_in_every_episode_and_the_longest_course_fits() -> None:
    env = Platformers(50, LEVELS[:1])
    env.reset(seed=0)
    first = env.gaps.copy()
    apart = np.diff(np.concatenate([np.zeros((50, 1), int), first], axis=1)) - WIDTH
    assert (apart[:, 1:].min(), apart[:, 1:].max()) == (NEAR, FAR)
    assert GAPS * (FAR + WIDTH) < STEPS
    env.reset()
    assert (env.gaps != first).any()
    env.reset(seed=0)
    np.testing.assert_array_equal(env.gaps, first)


def test_every_level_can_be_run_and_no_window_serves_all() -> None:
    for level in LEVELS:
        assert travelled(Expert(level), [level], 4)[0] == pytest.approx(1)
    of_one = travelled(Expert(LEVELS[8]), LEVELS, 4)
    assert (of_one > 0.99).sum() <= 6
    assert of_one.mean() < 0.5


def test_levels_of_a_seed_are_held_out() -> None:
    bed = PlatformerLevels()
    levels, others = bed.split(3)
    assert len(others) == bed.held_out
    assert sorted(levels + others) == sorted(LEVELS)
    assert bed.split(4)[1] != others


def test_starts_differ_in_what_came_before_alone() -> None:
    bed = PlatformerLevels().smallest()
    nothing, joint, reptile = (bed.start(CONDITIONS[name], 0.01, 0) for name in (RANDOM, JOINT, REPTILE))
    assert (nothing.num_timesteps, reptile.num_timesteps) == (0, bed.steps)
    settings = {**bed.settings, "seed": 0, "device": "cpu", "learning_rate": 0.01}
    alone = make("fast-ppo", Platformers(bed.envs, bed.split(0)[0]), **settings).learn(bed.steps)
    for ours, theirs in zip(joint.policy.state_dict().values(), alone.policy.state_dict().values(), strict=True):
        assert ours.equal(theirs)
    assert joint.reward_scale.var == alone.reward_scale.var
    assert nothing.policy.state_dict().keys() == joint.policy.state_dict().keys()
    assert len(reptile.levels) == len(LEVELS) - bed.held_out


def test_the_claims_premise_and_score() -> None:
    assert after(Adapted(0.0, [0.0, 0.0], [0.5, 1.0])) == 0.75
    shown: dict[str, Any] = {TRAINED: {JOINT: 0.4}}
    assert not CLAIM.premise.missing(shown)
    assert "its premise does not hold here" in CLAIM.premise.missing({TRAINED: {JOINT: 0.8}})
