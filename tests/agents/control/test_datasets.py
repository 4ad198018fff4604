from dataclasses import replace

import minari
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from minari.data_collector import EpisodeBuffer

from tiltyard.agents.control.datasets import Transitions, load

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:minari")  # it would rather have an author's address

OBSERVATIONS, ACTIONS = Box(-np.inf, np.inf, (1,), np.float64), Box(-2.0, 2.0, (2,), np.float32)


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


def episode(first, rewards, *, terminated, **changed):
    """Observations count up from ``first``; the action at step t is [t / 4, -2]."""
    steps = len(rewards)
    arrays = {
        "observations": np.arange(first, first + steps + 1, dtype=np.float64)[:, None],
        "actions": np.stack((np.arange(steps) / 4, np.full(steps, -2)), axis=1).astype(np.float32),
        "rewards": np.array(rewards, np.float64),
        "terminations": np.arange(steps) == (steps - 1 if terminated else steps),
        "truncations": np.arange(steps) == (steps if terminated else steps - 1),
        "infos": {},
    }
    return EpisodeBuffer(**arrays | changed)


def dataset(*episodes, observation_space=OBSERVATIONS, action_space=ACTIONS):
    return minari.create_dataset_from_buffers(
        "test/by-hand-v0", list(episodes), observation_space=observation_space, action_space=action_space
    )


TWO = (episode(0, [1, 2, 4], terminated=True), episode(10, [8, 16], terminated=False))


def test_transitions_worked_by_hand():
    read = Transitions.from_minari(dataset(*TWO), OBSERVATIONS, ACTIONS)
    assert len(read) == 5
    np.testing.assert_array_equal(read.observations[:, 0], [0, 1, 2, 10, 11])
    np.testing.assert_array_equal(read.next_observations[:, 0], [1, 2, 3, 11, 12])  # 3 and 12 are true last ones
    np.testing.assert_array_equal(read.actions, [[0, -2], [0.25, -2], [0.5, -2], [0, -2], [0.25, -2]])
    np.testing.assert_array_equal(read.terminations, [0, 0, 1, 0, 0])  # the second was cut off by a time limit
    np.testing.assert_array_equal(read.ends, [False, False, True, False, True])
    np.testing.assert_array_equal(read.episodes, [0, 0, 0, 1, 1])
    np.testing.assert_array_equal(read.lengths, [3, 2])
    np.testing.assert_array_equal(read.episode_returns, [7, 24])
    for name in ("observations", "actions", "rewards", "next_observations", "terminations"):
        assert getattr(read, name).dtype == np.float32
        assert getattr(read, name).flags.c_contiguous


def test_returns_worked_by_hand_stay_within_their_episode():
    read = Transitions.from_minari(dataset(*TWO), OBSERVATIONS, ACTIONS)
    np.testing.assert_array_equal(read.returns(0.5), [1 + 0.5 * (2 + 0.5 * 4), 2 + 0.5 * 4, 4, 8 + 0.5 * 16, 16])
    np.testing.assert_array_equal(read.returns(0.0), read.rewards)
    np.testing.assert_array_equal(read.returns(1.0), [7, 6, 4, 24, 16])
    with pytest.raises(ValueError, match=r"gamma is between 0 and 1, got 1\.5"):
        read.returns(1.5)


def test_returns_end_at_a_termination_within_an_episode():
    flags = {"terminations": [False, True, False, False], "truncations": [False, False, False, True]}
    recorded = episode(0, [1, 2, 4, 8], terminated=False, **flags)
    read = Transitions.from_minari(dataset(recorded), OBSERVATIONS, ACTIONS)
    np.testing.assert_array_equal(read.returns(0.5), [1 + 0.5 * 2, 2, 4 + 0.5 * 8, 8])


def test_an_id_loads_what_the_dataset_itself_does():
    made = dataset(*TWO)
    by_id, by_hand = (Transitions.from_minari(source, OBSERVATIONS, ACTIONS) for source in ("test/by-hand-v0", made))
    np.testing.assert_array_equal(by_id.observations, by_hand.observations)
    assert load(made) is made


def test_a_part_of_a_dataset_is_numbered_from_zero():
    second = dataset(*TWO).filter_episodes(lambda found: found.observations[0, 0] == 10)
    read = Transitions.from_minari(second, OBSERVATIONS, ACTIONS)
    np.testing.assert_array_equal(read.episodes, [0, 0])
    np.testing.assert_array_equal(read.episode_returns, [24])


def test_observations_of_several_dimensions_are_flattened():
    square = Box(-np.inf, np.inf, (2, 2), np.float64)
    states = np.arange(12.0).reshape(3, 2, 2)
    made = dataset(episode(0, [1, 1], terminated=True, observations=states), observation_space=square)
    read = Transitions.from_minari(made, square, ACTIONS)
    np.testing.assert_array_equal(read.next_observations, [[4, 5, 6, 7], [8, 9, 10, 11]])


def test_rounding_outside_the_action_space_is_clipped():
    actions = np.array([[2.0001, -2.0003], [0, 0]], np.float32)
    read = Transitions.from_minari(dataset(episode(0, [1, 1], terminated=True, actions=actions)), OBSERVATIONS, ACTIONS)
    np.testing.assert_array_equal(read.actions, [[2, -2], [0, 0]])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"observations": np.array([[0.0], [np.nan], [2.0]])}, "episode 1 holds NaN or infinity in its observations"),
        ({"observations": np.array([[0.0], [1.0], [1e39]])}, "episode 1 holds NaN or infinity in its observations"),
        ({"actions": np.array([[0, 0], [np.inf, 0]])}, "episode 1 holds NaN or infinity in its actions"),
        ({"actions": np.array([[0, 0], [0, -2.5]])}, "entry 1 of step 1 is -2.5, allowed are -2 to 2"),
        ({"actions": np.zeros((2, 3))}, r"episode 1 holds actions of shape \(2, 3\), not \(2, 2\)"),
        ({"observations": np.zeros((2, 1))}, r"episode 1 holds observations of shape \(2, 1\), not \(3, 1\)"),
        ({"rewards": np.array([0.0, np.nan])}, "episode 1 holds NaN or infinity in its rewards"),
        ({"rewards": np.array([0.0, 1e30])}, r"episode 1 holds a reward of 1e\+30"),
        ({"rewards": np.array([-2e8, 0.0])}, r"episode 1 holds a reward of -2e\+08"),
        ({"terminations": np.zeros(3, bool)}, "episode 1 does not hold one reward and one termination flag a step"),
    ],
)
def test_bad_data_is_named_with_its_episode(changed, message):
    made = dataset(TWO[0], replace(episode(0, [1, 1], terminated=True), **changed))
    with pytest.raises(ValueError, match=message):
        Transitions.from_minari(made, OBSERVATIONS, ACTIONS)


def test_a_reward_at_the_limit_is_taken():
    read = Transitions.from_minari(dataset(episode(0, [1e8, -1e8], terminated=True)), OBSERVATIONS, ACTIONS)
    np.testing.assert_array_equal(read.rewards, [1e8, -1e8])


def test_an_empty_dataset_is_refused():
    with pytest.raises(ValueError, match="dataset test/by-hand-v0 is empty"):
        Transitions.from_minari(dataset(), OBSERVATIONS, ACTIONS)


def test_another_space_is_refused():
    made = dataset(*TWO)
    with pytest.raises(ValueError, match=r"its observations have shape \(1,\), the agent's \(11,\)"):
        Transitions.from_minari(made, Box(-1, 1, (11,)), ACTIONS)
    with pytest.raises(ValueError, match=r"its actions have shape \(2,\), the agent's \(3,\)"):
        Transitions.from_minari(made, OBSERVATIONS, Box(-1, 1, (3,)))
    with pytest.raises(TypeError, match=r"needs Box actions, but those of this agent are Discrete\(3\)"):
        Transitions.from_minari(made, OBSERVATIONS, Discrete(3))


def test_a_dataset_of_dicts_is_refused():
    space = Dict({"a": OBSERVATIONS})
    observations = {"a": TWO[0].observations}
    made = dataset(episode(0, [1, 2, 4], terminated=True, observations=observations), observation_space=space)
    with pytest.raises(TypeError, match="holds observations of Dict"):
        Transitions.from_minari(made, OBSERVATIONS, ACTIONS)


def test_a_missing_dataset_and_what_is_none_are_refused():
    with pytest.raises(FileNotFoundError, match=r"there is no local dataset tiltyard/hopper/medium-v0: make it with"):
        Transitions.from_minari("tiltyard/hopper/medium-v0", OBSERVATIONS, ACTIONS)
    with pytest.raises(ValueError, match="a dataset's id is like"):
        load("../../etc")
    with pytest.raises(TypeError, match="or the id of one, got ndarray"):
        load(np.zeros(3))


def by_hand(**changed):
    """Two episodes of two steps, in the spaces above."""
    arrays = {
        "observations": np.arange(4, dtype=np.float32)[:, None],
        "actions": np.zeros((4, 2), np.float32),
        "rewards": np.ones(4, np.float32),
        "next_observations": np.arange(4, dtype=np.float32)[:, None] + 1,
        "terminations": np.array([0, 1, 0, 0], np.float32),
        "ends": np.array([False, True, False, True]),
        "episodes": np.array([0, 0, 1, 1]),
        "episode_returns": np.array([2.0, 2.0]),
    }
    return Transitions(**arrays | changed)


def test_transitions_made_by_hand_fit():
    by_hand().check(OBSERVATIONS, ACTIONS)
    by_hand(terminations=[False, True, False, False], rewards=[1, 1, 1, 1]).check(OBSERVATIONS, ACTIONS)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"actions": np.full((4, 2), 9.0)}, "outside the agent's space: entry 0 of step 0 is 9, allowed are -2 to 2"),
        ({"actions": np.zeros(4)}, r"actions of shape \(4,\), the agent needs \(4, 2\) for 4 steps"),
        ({"rewards": np.ones((4, 1))}, r"rewards of shape \(4, 1\), the agent needs \(4,\) for 4 steps"),
        ({"rewards": np.ones(3)}, r"rewards of shape \(3,\), the agent needs \(4,\) for 4 steps"),
        ({"terminations": np.full(4, 2.0)}, "a termination of 2: it is 1 where the task ended, else 0"),
        ({"ends": np.zeros(4, bool)}, "break off within an episode: the last of their ends must be True"),
        ({"ends": np.ones(2, bool)}, r"ends of shape \(2,\), the agent needs \(4,\) for 4 steps"),
        ({"episodes": np.array([1, 1, 0, 0])}, "do not number their episodes 0, 1, ..., one more after each"),
        ({"episodes": np.array([1, 1, 2, 2])}, "do not number their episodes 0, 1, ..., one more after each"),
        ({"episode_returns": np.zeros(3)}, r"episode_returns of shape \(3,\), their ends need \(2,\)"),
        ({"observations": np.full((4, 1), 1e39)}, "NaN or infinity in their observations"),
    ],
)
def test_what_is_wrong_with_transitions_made_by_hand_is_said(changed, message):
    with pytest.raises(ValueError, match=message):
        by_hand(**changed).check(OBSERVATIONS, ACTIONS)


def test_arrays_of_other_types_become_those_that_agents_read():
    made = by_hand(observations=np.arange(4.0)[:, None], rewards=[1, 1, 1, 1], episodes=np.array([0, 0, 1, 1], np.int8))
    assert made.observations.dtype == made.rewards.dtype == np.float32
    assert made.episodes.dtype == np.int64
    assert by_hand(actions=np.zeros(4, np.int64)).actions.dtype == np.int64  # choices stay whole numbers
