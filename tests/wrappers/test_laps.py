import copy
import pickle

import gymnasium
import numpy as np
import pytest

from tiltyard.wrappers.laps import LapPractice, best_time, course, curvature, fastest, seconds

ENV = "tiltyard/RaceTrack-v0"
LEFT = np.array([1.0, 1.0], np.float32)


def practice(**settings):
    return LapPractice(gymnasium.make(ENV), **settings)


def expert(env):
    return env.unwrapped.batched.expert_actions()[0]


def test_a_straight_is_sped_up_and_braked_on_by_hand():
    # No resistance, 2 m/s2 and 4 m/s2: v^2 grows by 4 a metre and falls by 8 a metre to a bend of v^2 = 8 at its end.
    bends = np.zeros(10)
    bends[-1] = 0.5
    found = fastest(bends, 1.0, start=0.0, grip=4.0, throttle=2.0, brake=4.0, resistance=(0.0, 0.0))
    assert found**2 == pytest.approx([0, 4, 8, 12, 16, 20, 24, 24, 16, 8])
    assert seconds(np.array([0.0, 2.0, 4.0]), 1.0) == pytest.approx(1.0 + 1 / 3)


def test_a_circle_is_driven_as_fast_as_grip_allows():
    angle = np.linspace(0.0, np.pi, 400)
    bends, step = curvature(np.stack([50 * np.cos(angle), 50 * np.sin(angle)], axis=1))
    assert bends[10:-10] == pytest.approx(1 / 50, rel=0.02)
    speed = fastest(bends, step, start=100.0)[20:-20]
    assert speed == pytest.approx(np.sqrt(5.0 * 50.0), rel=0.02)
    assert step * len(bends) == pytest.approx(50 * np.pi, rel=0.02)


def test_the_expert_is_slower_than_the_limits_of_its_lane_and_the_course_is_its_route():
    env = practice()
    _, info = env.reset(seed=2)
    batched = env.unwrapped.batched
    mark = best_time(batched)
    line = course(batched)
    assert np.hypot(*np.diff(line, axis=0).T).sum() == pytest.approx(info["route_length"] + 8.0, rel=0.01)
    ended = False
    while not ended:
        _, _, terminated, ended, info = env.step(expert(env))
        assert not terminated
    assert info["laps"] == 1
    assert mark < info["lap_time"] < 3 * mark
    _, info = env.reset()
    assert (info["laps"], info["recoveries"]) == (1, 0)


def test_who_leaves_the_road_is_put_back_standing_and_the_lap_goes_on():
    env = practice(back=1.0, pause=4.0, penalty=0.5)
    seen, info = env.reset(seed=1)
    track = info["map"]
    for _ in range(30):
        seen, reward, *_ = env.step(expert(env))
    assert seen[-1] == pytest.approx(env.unwrapped.batched.agents[0, 0]["v"] / 50.0)
    assert reward == pytest.approx(env.unwrapped.batched.agents[0, 0]["v"] / 20.0, rel=0.1)
    steps, terminated = 30, False
    while not terminated:
        _, reward, terminated, truncated, info = env.step(LEFT)
        steps += 1
        assert not truncated
    assert info["infraction"] == "off_road"
    assert info["reward_terms"]["recovery"] == -0.5
    left = float(env.unwrapped.batched.episodes["left"][0])
    seen, info = env.reset()
    batched = env.unwrapped.batched
    assert (info["recoveries"], info["laps"], info["map"]) == (1, 0, track)
    assert seen[-1] == batched.agents[0, 0]["v"] == 0.0
    assert left < float(batched.episodes["left"][0]) < left + 30.0  # a second ago
    assert env._spent == pytest.approx(0.2 * steps + 4.0)
    car = batched.agents[0, 0]
    lane = batched.library.atlas.points[int(car["point"])]
    assert (car["d"], car["turn"]) == (0.0, 0.0)  # in the middle and straight, from where there is a way on
    assert np.hypot(car["x"] - lane["x"], car["y"] - lane["y"]) < 3.0
    assert car["heading"] == pytest.approx(lane["heading"], abs=0.1)
    env.step(expert(env))
    _, info = env.reset(seed=1)
    assert info["recoveries"] == 0


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_is_put_back_as_the_original(again):
    env, terminated = practice(), False
    env.reset(seed=1)
    while not terminated:
        terminated = env.step(LEFT)[2]
    other = again(env)
    assert np.array_equal(env.reset()[0], other.reset()[0])
    states = [one.unwrapped.snapshot()["episodes"] for one in (env, other)]
    assert [float(state["last_v"]) for state in states] == [0.0, 0.0]  # it stands in both
    assert float(states[0]["clock"]) == float(states[1]["clock"])


def test_a_time_limit_and_the_budget_cut_no_lap():
    env = LapPractice(gymnasium.make(ENV, max_episode_steps=20))
    env.reset(seed=1)
    places = []
    for _ in range(45):
        _, _, terminated, truncated, info = env.step(expert(env))
        assert not terminated
        places.append(info["route_completion"])
        if truncated:
            _, info = env.reset()
    assert np.diff(places).min() > 0.0
    assert (info["recoveries"], info["laps"]) == (0, 0)
    env.unwrapped.batched.episodes["clock"] = 1e6
    assert env.step(expert(env))[2] is False


def test_other_scenes_and_bad_settings_are_refused():
    with pytest.raises(ValueError, match="RaceTrack-v0"):
        LapPractice(gymnasium.make(ENV, observation="bev"))
    with pytest.raises(ValueError, match="at least 0"):
        practice(back=-1.0)
