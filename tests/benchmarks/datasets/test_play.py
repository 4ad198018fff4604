import gymnasium
import numpy as np
import pytest

from tiltyard.benchmarks.datasets.play import ATTENTION, SLIP_STEPS, PlayActor, ScriptedActor
from tiltyard.benchmarks.datasets.record import record

MAZE, CABINET = "tiltyard/PointMaze-v0", "tiltyard/DrawerDoor-v0"


def made(env_id, actor, noise=0.0, num_envs=2):
    env = gymnasium.make_vec(env_id, num_envs, "vector_entry_point")
    env.reset(seed=list(range(num_envs)))
    acting = actor(env.unwrapped.batched, env.single_action_space, noise)
    for index in range(num_envs):
        acting.begin(index, 7 + index)
    return env, acting


@pytest.mark.parametrize("env_id", [MAZE, CABINET])
def test_play_follows_goals_of_its_own_and_leaves_the_environments(env_id):
    env, play = made(env_id, PlayActor)
    batched = env.unwrapped.batched
    asked, before = batched.goal.copy(), env.unwrapped.batched.observe().copy()
    actions = play.act(None)
    assert np.array_equal(batched.goal, asked)
    assert np.array_equal(batched.observe(), before)
    batched.goal[:] = play._goals
    assert np.allclose(actions, batched.expert_actions())  # without noise: the expert's for the goal it follows


def test_play_turns_to_another_goal_after_a_while():
    _, play = made(MAZE, PlayActor)
    play.act(None)
    first = play._goals.copy()
    for _ in range(ATTENTION - 1):
        play.act(None)
    assert np.array_equal(play._goals, first)
    play.act(None)
    assert not np.array_equal(play._goals, first)


def test_play_knows_goals_of_mazes_and_the_cabinet_alone():
    with pytest.raises(TypeError, match="not in Hopper: choose another environment or policy"):
        record("tiltyard/Hopper-v5", "play", [0])


def test_slips_hold_one_action_and_else_it_is_the_expert():
    env, scripted = made(MAZE, ScriptedActor)
    expert = env.unwrapped.batched.expert_actions()
    slipping = []
    for _ in range(100):
        slipping.append(not np.allclose(scripted.act(None)[0], expert[0]))
    ends = np.flatnonzero(np.diff([0, *slipping, 0]))
    lengths = ends[1::2] - ends[::2]
    assert len(lengths) > 0
    assert (lengths[:-1] % SLIP_STEPS == 0).all()


@pytest.mark.parametrize("policy", ["scripted", "play"])
def test_episodes_do_not_hang_on_how_many_environments_there_are(policy):
    keywords = {"env_kwargs": {"max_episode_steps": 40}, "noise": 0.3}
    few = record(MAZE, policy, [3, 4, 5], num_envs=1, **keywords)
    many = record(MAZE, policy, [3, 4, 5], num_envs=3, **keywords)
    for one, other in zip(few, many, strict=True):
        assert np.array_equal(one.actions, other.actions)
        assert np.array_equal(one.observations, other.observations)
