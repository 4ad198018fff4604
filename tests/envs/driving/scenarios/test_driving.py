"""All scenes of one implementation: what holds of each, and which tricks pay nothing."""

import gymnasium
import numpy as np
import pytest

import tiltyard.envs
from tiltyard.envs.driving.scenarios.driving import Driving, DrivingEnv, DrivingVectorEnv
from tiltyard.envs.driving.scenarios.scenes import SCENES
from tiltyard.envs.driving.town.episode import FACTORS, TERMS

N, TRICKED = 24, 10  # problems of the expert, and of each trick, which are the first of those
STEPS = 700
ACTIONS = ("box", "discrete", "waypoints")
each_scene = pytest.mark.parametrize("scene", SCENES)
NO_TRICKS = {"racetrack": {"weaving", "shoulder"}}
"""What is allowed: on an empty track any line may be driven."""


def begun(n=N, first=0, **kwargs):
    batched = Driving(n, **kwargs)
    batched.begin(np.arange(n), first + np.arange(n), np.zeros(n, np.int64))
    return batched


def play(batched, policy, steps=STEPS):
    """Returns, infractions and success of one episode per environment."""
    returns, open_ = np.zeros(batched.num_envs), np.ones(batched.num_envs, bool)
    for step in range(steps):
        reward, ended = batched.advance(batched.check(policy(batched, step)), open_)
        returns[open_] += reward[open_]
        open_ &= ~ended
        if not open_.any():
            break
    info = batched.step_info()
    return returns, info["infraction"], info["success"]


def expert(batched, step):
    return batched.expert_actions()


def constant(*action):
    return lambda batched, step: np.tile(np.array(action, np.float32), (batched.num_envs, 1))


def weaving(batched, step):
    actions = batched.expert_actions()
    actions[:, 1] = np.clip(actions[:, 1] + (0.5 if step // 4 % 2 else -0.5), -1, 1)
    return actions


def shoulder(batched, step):
    """The expert, but two metres further to the right."""
    actions = batched.expert_actions()
    d = batched.agents[:, 0]["d"]
    actions[:, 1] = np.clip(actions[:, 1] - 0.6 * (d + 2.0), -1, 1)
    return actions


TRICKS = {
    "standing": constant(-1.0, 0.0),
    "creeping": lambda batched, step: np.stack(
        [np.where(batched.agents[:, 0]["v"] < 1.0, 0.3, -0.2), batched.expert_actions()[:, 1]], 1
    ),
    "spinning": constant(0.2, 1.0),
    "weaving": weaving,
    "shoulder": shoulder,
    "racing": lambda batched, step: np.stack([np.ones(batched.num_envs), batched.expert_actions()[:, 1]], 1),
}


@each_scene
def test_the_expert_arrives_and_tricks_earn_less(scene):
    returns, infractions, success = play(begun(scene=scene, split="test"), expert)
    assert success.mean() >= 0.75, infractions
    assert returns.max() <= 1.0 + 1e-6
    for name in TRICKS.keys() - NO_TRICKS.get(scene, set()):
        policy = TRICKS[name]
        earned, _, done = play(begun(TRICKED, scene=scene, split="test"), policy)
        solved = success[:TRICKED]
        assert earned[solved].mean() < returns[:TRICKED][solved].mean() - 0.05, name
        assert done.mean() <= solved.mean(), name
        if name in ("standing", "creeping", "spinning"):
            assert not done.any(), name


@each_scene
@pytest.mark.parametrize("action", ACTIONS)
def test_the_reward_is_its_terms_and_observations_stay_in_their_space(scene, action):
    batched, rng, open_ = begun(8, scene=scene, action=action), np.random.default_rng(0), np.ones(8, bool)
    for _ in range(40):
        n = batched.num_envs
        random = rng.integers(0, 5, n) if action == "discrete" else rng.uniform(-1, 1, (n, 2 + (action == "waypoints")))
        reward, ended = batched.advance(batched.check(random), open_)
        terms = batched.step_info()["reward_terms"]
        assert tuple(terms) == TERMS
        product = terms["route_completion"] * np.prod([terms[name] for name in FACTORS], axis=0) + terms["penalty"]
        np.testing.assert_allclose(reward[open_], product[open_], atol=1e-9)
        seen = batched.observe()
        assert np.isfinite(seen).all()
        assert all(batched.observation_space.contains(one) for one in seen)
        open_ &= ~ended


def test_observations_that_a_step_makes_are_those_of_its_end_and_of_episodes_that_begin_after_it():
    batched = Driving(6, scene="intersection", noise=0.1)
    batched.begin(np.arange(6), np.arange(6), np.zeros(6, np.int64))
    for _ in range(3):
        batched.advance(batched.check(batched.expert_actions()), np.array([1, 1, 0, 1, 1, 1], bool))
    last = batched.observe_at(np.array([1, 4]))
    batched.begin(np.array([1]), np.array([9]), np.array([0]))
    first, again = batched.observe(), batched.observe()  # the second time all are looked at anew
    assert first is not again
    assert np.array_equal(first, again)
    assert np.array_equal(first[4], last[1])
    assert not np.array_equal(first[1], last[0])


def test_a_state_that_is_put_back_is_observed_anew():
    batched = Driving(2, scene="intersection")
    batched.begin(np.arange(2), np.arange(2), np.zeros(2, np.int64))
    before, state = batched.observe(), batched.snapshot(1)
    batched.advance(batched.check(batched.expert_actions()), np.ones(2, bool))
    batched.restore(1, state)
    after = batched.observe()
    assert np.array_equal(after[1], before[1])
    assert not np.array_equal(after[0], before[0])


@pytest.mark.parametrize("threads", [1, 2])
def test_an_environment_does_not_depend_on_its_company(threads):
    env, alone = DrivingVectorEnv(5, scene="intersection", threads=threads), DrivingEnv(scene="intersection")
    many, one = env.reset(seed=40)[0], alone.reset(seed=43)[0]
    for _ in range(60):
        assert np.array_equal(many[3], one)
        actions = env.batched.expert_actions()
        assert np.array_equal(actions[3], alone.batched.expert_actions()[0])
        many, reward, ended, _, _ = env.step(actions)
        one, r, over, _, _ = alone.step(actions[3])
        assert (r, over) == (reward[3], ended[3])
        if over:
            break
    else:
        assert alone.batched.worlds["tick"][0] == 60 + 2 * 60  # warm-up and episode
    env.close()


def test_test_maps_are_no_training_maps():
    train, test = Driving(1, scene="intersection"), Driving(1, scene="intersection", split="test")
    seen = {graph.columns.x.tobytes() for graph in train.library.graphs}
    assert len(seen) == 10
    assert not seen & {graph.columns.x.tobytes() for graph in test.library.graphs}
    assert len(Driving(1, scene="intersection", maps=1).library.graphs) == 1


def test_noise_and_occlusion_change_what_is_seen_and_nothing_else():
    plain, noisy = begun(4, scene="intersection"), begun(4, scene="intersection", noise=0.1)
    hidden = begun(4, scene="intersection", occlusion=True)
    before = noisy.observe()
    assert np.array_equal(before, noisy.observe())  # looking twice shows the same
    assert not np.array_equal(before, plain.observe())
    assert np.array_equal(before[:, :73], plain.observe()[:, :73])  # its own state is known
    assert plain.agents.tobytes() == noisy.agents.tobytes() == hidden.agents.tobytes()
    present = slice(73, None, 10)
    assert hidden.observe()[:, present].sum() < plain.observe()[:, present].sum()


def test_a_raster_shows_the_agent_its_road_and_its_route():
    batched = begun(4, scene="intersection", observation="bev")
    seen = batched.observe()
    assert seen.shape == (4, 64, 64, 8)
    assert (seen[:, 46:50, 31:33, 4] == 128).all()  # itself
    assert (seen[:, 47, 31, 0] == 255).all()  # on its road
    assert (seen[:, 40, 31, 2] == 255).all()  # its route leads ahead
    assert np.array_equal(seen, batched.observe())


def test_a_state_of_other_maps_is_refused():
    few, many, discrete = (
        begun(2, scene="town", **kwargs) for kwargs in ({"maps": 2}, {"maps": 4}, {"maps": 2, "action": "discrete"})
    )
    before = few.agents.tobytes(), few.worlds.tobytes()
    for other in (many, discrete):
        with pytest.raises(ValueError, match="restore it in an environment of these maps and actions"):
            few.restore(0, other.snapshot(1))
    assert before == (few.agents.tobytes(), few.worlds.tobytes())
    few.restore(0, few.snapshot(1))


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"occlusion": "no"}, "occlusion must be True or False, got 'no'"),
        ({"record": 1}, "record must be True or False, got 1"),
        ({"trigger": 3}, 'trigger must be a name, several, "any" or None, got 3'),
        ({"trigger": ["cut-in", "cutin"]}, "did you mean 'cut-in'"),
        ({"scene": "highway", "parked": 40.0}, "would have .*: lower density, pedestrians, parked"),
        ({"scene": "twn"}, "did you mean 'town'"),
        ({"action": "boxes"}, "did you mean 'box'"),
        ({"observation": "bve"}, "did you mean 'bev'"),
        ({"maps": 0}, "maps must be between 1 and 1000"),
        ({"density": float("nan")}, "density must be a number or None, got nan"),
        ({"maps": None}, "maps must be a whole number, got None"),
        ({"courtesy": None}, "courtesy must be a number, got None"),
        ({"observation": np.arange(2)}, "unknown observation"),
        ({"trigger": []}, "trigger names no situation"),
        ({"scene": "town", "density": 40.0, "maps": 1}, "a world holds 128 road users"),
        ({"action": "discrete", "invalid_action": "clip"}, "there is no nearest manoeuvre"),
    ],
)
def test_bad_keywords_are_named(kwargs, message):
    with pytest.raises(ValueError, match=message):
        DrivingEnv(**kwargs)


@pytest.mark.parametrize("bad", [np.array([np.nan, 0.0]), np.array([1.01, 0.0]), np.zeros(3), "left"])
def test_a_bad_action_is_refused_and_changes_nothing(bad):
    env = DrivingEnv(scene="intersection")
    env.reset(seed=0)
    before = env.batched.agents.tobytes(), env.batched.worlds.tobytes()
    with pytest.raises(tiltyard.envs.InvalidAction, match="an action is"):
        env.step(bad)
    assert (env.batched.agents.tobytes(), env.batched.worlds.tobytes()) == before


def test_the_reset_info_names_the_problem():
    env = DrivingEnv(scene="intersection", density=5.0)
    _, info = env.reset(seed=3)
    assert info["map"].startswith("intersection-train-")
    assert info["route_length"] > 100.0
    assert info["time_budget"] > info["route_length"] / info["limit"]
    with pytest.raises(gymnasium.error.ResetNeeded):
        DrivingEnv(scene="intersection").step(np.zeros(2, np.float32))
