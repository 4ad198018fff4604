import numpy as np
import pytest

from tiltyard.envs.driving.scenarios.self_play import SelfPlay, SelfPlayEnv, SelfPlayVectorEnv

AGENTS = 4


def vector(worlds=2, **kwargs):
    return SelfPlayVectorEnv(worlds * AGENTS, agents=AGENTS, maps=1, **kwargs)


def test_agents_of_a_world_see_each_other_and_those_of_another_do_not():
    env = vector()
    env.reset(seed=0)
    agents = env.batched.agents
    assert agents.shape[0] == 2
    assert (agents[:, :AGENTS]["controller"] == agents[0, 0]["controller"]).all()
    assert list(env.batched.episodes["world"]) == [0] * AGENTS + [1] * AGENTS
    assert list(env.batched.episodes["agent"]) == [0, 1, 2, 3] * 2


def test_an_agent_whose_episode_ends_comes_in_elsewhere_and_the_others_drive_on():
    env = vector(autoreset_mode="SameStep")
    env.reset(seed=0)
    before = env.batched.agents[:, :AGENTS][["x", "y"]].copy()
    env.batched.episodes["clock"][1] = 1e6  # its time is up
    actions = np.tile(np.array([0.1, 0.0], np.float32), (2 * AGENTS, 1))
    _, reward, terminated, _, info = env.step(actions)
    assert terminated.tolist() == [False, True] + [False] * 6
    assert info["final_info"]["infraction"][1] == "late"
    assert reward[1] < 0.0
    after = env.batched.agents[:, :AGENTS]
    moved = np.hypot(after["x"] - before["x"], after["y"] - before["y"])
    assert moved[0, 1] > 5.0
    assert (np.delete(moved.ravel(), 1) < 5.0).all()
    assert env.batched.episodes["clock"][1] == 0.0
    assert env.batched.worlds["tick"][0] == env.batched.worlds["tick"][1]


def test_a_world_is_the_same_beside_other_worlds():
    one, two = vector(1), vector(2)
    a, b = one.reset(seed=[7] * AGENTS)[0], two.reset(seed=[7] * AGENTS + [8] * AGENTS)[0]
    rng = np.random.default_rng(0)
    for _ in range(30):
        assert np.array_equal(a, b[:AGENTS])
        actions = rng.uniform(-1, 1, (2 * AGENTS, 2)).astype(np.float32)
        a, b = one.step(actions[:AGENTS])[0], two.step(actions)[0]


def test_weights_are_drawn_for_each_agent_and_shown_to_it():
    env = vector()
    observation, info = env.reset(seed=1)
    weights = np.stack(list(info["weights"]))
    assert ((weights >= 0.2) & (weights <= 1.0)).all()
    assert len(np.unique(weights)) == weights.size
    np.testing.assert_allclose(observation[:, -7:], weights, rtol=1e-6)
    full = vector(reward_weights="full")
    assert (full.reset(seed=1)[0][:, -7:] == 1.0).all()


def test_one_agent_alone_has_snapshots_and_several_do_not():
    env = SelfPlayEnv(maps=1)
    env.reset(seed=0)
    state = env.snapshot()
    first = env.step(np.array([0.5, 0.0], np.float32))[0]
    env.restore(state)
    assert np.array_equal(env.step(np.array([0.5, 0.0], np.float32))[0], first)
    many = SelfPlay(AGENTS, agents=AGENTS, maps=1)
    many.begin(np.arange(AGENTS), np.arange(AGENTS), np.zeros(AGENTS, np.int64))
    with pytest.raises(TypeError, match="snapshots need agents=1"):
        many.snapshot(0)


def test_stable_baselines3_trains_on_it():
    from stable_baselines3 import PPO

    from tiltyard.wrappers.spaces import to_sb3

    agent = PPO("MlpPolicy", to_sb3(vector()), n_steps=8, batch_size=32, n_epochs=1)
    assert agent.learn(64).num_timesteps == 64


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_envs": 5, "agents": 4}, "5 is no multiple of 4 agents"),
        ({"num_envs": 4, "agents": 0}, "agents must be between 1 and 100"),
        ({"num_envs": 4, "reward_weights": "none"}, 'must be "random" or "full"'),
    ],
)
def test_bad_keywords_are_named(kwargs, message):
    with pytest.raises(ValueError, match=message):
        SelfPlay(**kwargs)


def test_some_slots_see_what_they_see_among_all_and_kept_infos_stay_as_they_were():
    env = vector(threads=2)
    env.reset(seed=3)
    some = np.array([6, 1, 3])
    assert np.array_equal(env.batched.observe_at(some), env.batched.observe()[some])
    steps = [env.step(env.action_space.sample())[4] for _ in range(2)]
    kept = [(info["scores"]["km"].copy(), info["reward_terms"]["speed"].copy()) for info in steps]
    for _ in range(5):
        env.step(env.action_space.sample())
    for info, (km, speed) in zip(steps, kept, strict=True):
        assert np.array_equal(info["scores"]["km"], km)
        assert np.array_equal(info["reward_terms"]["speed"], speed)
    assert (kept[1][0] > kept[0][0]).any()
