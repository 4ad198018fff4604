import gymnasium
import numpy as np
import pytest

import tiltyard.envs
from tiltyard.envs.driving.scenarios.highway import TERMS, Highway, HighwayEnv, HighwayVectorEnv
from tiltyard.envs.driving.state import INFRACTIONS, LANE_WIDTH, OFFENCES, OUTSIDE_LANES, SPEEDING, STRADDLING
from tiltyard.envs.driving.vehicle import steer_limit

ENV = "tiltyard/Highway-v0"
MODES = ("box", "discrete")


def policy(name, batched, rng):
    n = batched.num_envs
    if name == "expert":
        return batched.expert_actions()
    if name == "random":
        return rng.integers(0, 5, n) if batched.discrete else rng.uniform(-1, 1, (n, 2))
    constant = {"noop": (0, (0.0, 0.0)), "brake": (4, (-1.0, 0.0)), "circle": (1, (0.05, 1.0)), "race": (3, (1.0, 0.0))}
    return np.full(n, constant[name][0]) if batched.discrete else np.tile(constant[name][1], (n, 1))


def play(name, action, episodes, **kwargs):
    """Returns, success flags and infractions of one episode per environment on the test split."""
    batched = Highway(episodes, action=action, split="test", **kwargs)
    batched.begin(np.arange(episodes), np.arange(episodes), np.zeros(episodes, np.int64))
    rng = np.random.default_rng(0)
    returns, open_ = np.zeros(episodes), np.ones(episodes, bool)
    for _ in range(400):
        reward, ended = batched.advance(batched.check(policy(name, batched, rng)), open_)
        returns[open_] += reward[open_]
        open_ &= ~ended
    assert not open_.any()
    info = batched.step_info()
    return returns, info["success"], info["infraction"]


@pytest.mark.parametrize("action", MODES)
def test_the_expert_arrives(action):
    returns, success, _ = play("expert", action, 200)
    assert success.mean() >= 0.95
    assert 0.9 < returns.mean() < 1.0
    assert returns.max() <= 1.0


@pytest.mark.parametrize("action", MODES)
@pytest.mark.parametrize("name", ["noop", "random", "brake", "circle"])
def test_idle_and_blind_driving_never_succeeds(name, action):
    returns, success, infractions = play(name, action, 100)
    assert not success.any()
    assert (infractions != "").all()
    assert returns.mean() < 0.3
    assert returns.max() < 0.6


def test_standing_still_is_worth_less_than_nothing():
    returns, _, infractions = play("brake", "box", 50)
    assert set(infractions) <= {"blocked", "collision"}
    assert returns.max() < 0.0


def test_keeping_the_starting_speed_is_late_and_racing_does_not_pay():
    assert (play("noop", "discrete", 50)[2] == "late").all()
    assert play("race", "discrete", 100)[0].mean() < 0.3


@pytest.mark.parametrize("action", MODES)
def test_success_means_the_route_is_complete_and_reward_is_its_terms(action):
    env = HighwayVectorEnv(64, action=action, autoreset_mode="Disabled")
    env.reset(seed=3)
    batched, open_ = env.batched, np.ones(64, bool)
    rng = np.random.default_rng(1)
    for step in range(400):
        name = "expert" if step < 100 else "random"
        reward, ended = batched.advance(batched.check(policy(name, batched, rng)), open_)
        info = batched.step_info()
        terms = info["reward_terms"]
        product = np.prod([terms[term] for term in TERMS if term != "penalty"], axis=0)
        assert np.allclose(reward, product + terms["penalty"])
        assert all(((terms[term] >= 0) & (terms[term] <= 1)).all() for term in TERMS if term != "penalty")
        complete = batched.worlds["best"] >= batched.worlds["length"]
        assert np.array_equal(info["success"], complete & (info["infraction"] == "") & (info["offence"] == ""))
        assert np.array_equal(ended, complete | (info["infraction"] != ""))
        open_ &= ~ended


@pytest.mark.parametrize("action", MODES)
@pytest.mark.parametrize("threads", [1, 2])
def test_an_environment_does_not_depend_on_its_company(action, threads):
    env = HighwayVectorEnv(7, action=action, split="test", threads=threads, max_episode_steps=60)
    alone = HighwayEnv(action=action, split="test")
    rng = np.random.default_rng(5)
    batch, _ = env.reset(seed=40)
    single, _ = alone.reset(seed=43)
    assert np.array_equal(batch[3], single)
    for step in range(60):
        name = "random" if step % 2 else "expert"
        actions = policy(name, env.batched, rng)
        if name == "expert":
            assert np.array_equal(policy(name, alone.batched, rng)[0], actions[3])
        batch, reward, ended, truncated, _ = env.step(actions)
        single, r, over, _, _ = alone.step(actions[3])
        assert (r, over) == (reward[3], ended[3])
        if over or truncated[3]:
            break
        assert np.array_equal(batch[3], single)
        assert env.batched.worlds[3].tobytes() == alone.batched.worlds[0].tobytes()
    env.close()


def test_the_same_seed_gives_the_same_trajectory_and_the_splits_differ():
    first, second, other = HighwayEnv(split="test"), HighwayEnv(split="test"), HighwayEnv(split="train")
    observations = [env.reset(seed=11)[0] for env in (first, second, other)]
    assert np.array_equal(observations[0], observations[1])
    assert not np.array_equal(observations[0], observations[2])
    for _ in range(50):
        action = first.batched.expert_actions()[0]
        assert np.array_equal(first.step(action)[0], second.step(action)[0])


BAD = {
    "box": [
        np.array([np.nan, 0.0]),
        np.array([1.01, 0.0]),
        np.array([0.0, -np.inf]),
        np.zeros(3),
        np.zeros(1),
        0.0,
        "left",
        None,
        [0.0, [1.0]],
        np.array([True, False]),
    ],
    "discrete": [5, -1, 1.0, np.nan, "left", None, [1, 2], True, np.zeros(2, np.int64)],
}


@pytest.mark.parametrize(("action", "bad"), [(mode, bad) for mode in MODES for bad in BAD[mode]])
def test_a_bad_action_is_refused_and_changes_nothing(action, bad):
    env = HighwayEnv(action=action)
    env.reset(seed=0)
    env.step(env.batched.expert_actions()[0])
    before = env.batched.worlds.tobytes(), env.batched.cars.tobytes()
    with pytest.raises(tiltyard.envs.InvalidAction, match="an action is"):
        env.step(bad)
    assert (env.batched.worlds.tobytes(), env.batched.cars.tobytes()) == before


def test_one_bad_environment_stops_the_whole_batch_before_anything_moves():
    env = HighwayVectorEnv(4, action="discrete")
    env.reset(seed=0)
    before = env.batched.worlds.tobytes()
    with pytest.raises(tiltyard.envs.InvalidAction, match="got 9 in environment 2"):
        env.step(np.array([0, 1, 9, 2]))
    with pytest.raises(tiltyard.envs.InvalidAction):
        env.step(np.array([0, 1]))
    assert env.batched.worlds.tobytes() == before


def test_the_reset_info_names_the_problem_and_keywords_fix_it():
    env = gymnasium.make(ENV, lanes=2, density=12.0, route_length=300.0)
    for seed in range(5):
        _, info = env.reset(seed=seed)
        assert (info["lanes"], info["density"], info["route_length"], info["vehicles"]) == (2, 12.0, 300.0, 12)
        assert info["limit"] * 3.6 == pytest.approx(round(info["limit"] * 3.6 / 20) * 20)
        assert info["time_budget"] == pytest.approx(3.0 + 300.0 / (0.7 * info["limit"]))


def test_problems_differ_in_all_that_is_drawn():
    env = HighwayVectorEnv(300)
    _, info = env.reset(seed=0)
    assert set(info["lanes"]) == {2, 3, 4}
    assert {round(limit * 3.6) for limit in info["limit"]} == {80, 100, 120}
    assert 0.15 < (env.batched.worlds["bend"] == 0.0).mean() < 0.35
    assert info["density"].min() < 9.0 < 15.0 < info["density"].max()


@pytest.mark.parametrize("action", MODES)
def test_observations_stay_in_their_space(action):
    env = HighwayVectorEnv(32, action=action, max_episode_steps=400)
    observation, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(150):
        assert env.observation_space.contains(observation)
        observation, *_ = env.step(policy("random", env.batched, rng))


def test_the_row_limits_no_budget():
    batched = Highway(500, split="test")
    batched.begin(np.arange(500), np.arange(500), np.zeros(500, np.int64))
    assert batched.worlds["budget"].max() / 0.2 < gymnasium.spec(ENV).max_episode_steps


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"action": "boxes"}, "did you mean 'box'"),
        ({"split": "tst"}, "did you mean 'test'"),
        ({"lanes": 0}, "lanes must be between 1 and 6"),
        ({"lanes": 2.5}, "lanes must be a whole number or None, got 2.5"),
        ({"density": "x"}, "density must be a number or None, got 'x'"),
        ({"threads": True}, "threads must be a whole number, got True"),
        ({"density": 25}, "density must be between 0 and 24"),
        ({"route_length": 3}, "route_length must be between"),
    ],
)
def test_bad_keywords_are_named(kwargs, message):
    with pytest.raises(ValueError, match=message):
        HighwayEnv(**kwargs)


def steered(batched, offset, speed):
    """Pedal and steering ``[n, 2]`` towards ``offset`` metres from the rightmost lane's middle, at ``speed``."""
    world, ego = batched.worlds, batched.cars[:, 0]
    v = np.maximum(ego["v"], 3.0)
    course = world["heading"] + np.arctan(0.5 * np.tan(world["steer"]))
    drift = np.clip(0.7 * (offset - ego["d"]), -1.5, 1.5) / v
    bend = world["bend"] * np.sin(2 * np.pi * ego["s"] / world["wave"] + world["phase"])
    turn = bend * v + 1.6 * (np.arcsin(np.clip(drift, -0.3, 0.3)) - course)
    limit = np.array([steer_limit(one) for one in ego["v"]])
    pedal = 0.9 * (speed - ego["v"]) + 0.3
    return np.clip(np.stack([pedal / np.where(pedal > 0, 3.0, 8.0), np.arctan(2.8 * turn / v) / limit], 1), -1, 1)


def outlaw(name, batched):
    """The expert's own driving, but by other rules."""
    world, ego = batched.worlds, batched.cars[:, 0]
    middle = {"right shoulder": -0.45, "left shoulder": world["lanes"] - 0.55, "marking": 0.5}.get(name)
    if middle is not None:
        return steered(batched, middle * LANE_WIDTH, 0.75 * world["limit"])
    actions = batched.expert_actions().astype(float)
    actions[(actions[:, 0] > -0.05) & (ego["v"] < world["limit"] + 2.0), 0] = 1.0
    return actions


@pytest.mark.parametrize(
    ("name", "offence"),
    [
        ("right shoulder", "outside_lanes"),
        ("left shoulder", "outside_lanes"),
        ("marking", "straddling"),
        ("speed", "speeding"),
    ],
)
def test_arriving_against_the_rules_is_no_success(name, offence):
    batched = Highway(40, split="test")
    batched.begin(np.arange(40), np.arange(40), np.zeros(40, np.int64))
    open_, fastest = np.ones(40, bool), np.zeros(40)
    for _ in range(400):
        _, ended = batched.advance(batched.check(outlaw(name, batched)), open_)
        fastest = np.maximum(fastest, batched.cars[:, 0]["v"] - batched.worlds["limit"])
        open_ &= ~ended
    info = batched.step_info()
    broke = fastest > 1.2 if name == "speed" else np.ones(40, bool)  # traffic keeps some from speeding
    assert broke.mean() > 0.5
    assert (batched.worlds["best"] >= batched.worlds["length"])[broke].mean() > 0.6
    assert not info["success"][broke].any()
    assert (info["offence"] == offence)[broke].mean() > 0.8


def test_infraction_names_fit_their_numbers():
    assert INFRACTIONS[1:] == ("collision", "off_road", "wrong_way", "blocked", "late")
    numbers = (OUTSIDE_LANES, SPEEDING, STRADDLING)
    assert [OFFENCES[number] for number in numbers] == ["outside_lanes", "speeding", "straddling"]
