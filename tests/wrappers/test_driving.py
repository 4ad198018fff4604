import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from tiltyard.wrappers import VectorVLMRL
from tiltyard.wrappers.driving import VectorJudged, frames_of, seen
from tiltyard.wrappers.rewards.shaped_driving import ShapedDriving, VectorShapedDriving

sys.path.insert(0, str(Path(__file__).parent))
from scenes import observed  # noqa: E402

SCENE = "tiltyard/RaceTrack-v0"


def vector(n, **keywords):
    return gymnasium.make_vec(SCENE, n, vectorization_mode="vector_entry_point", **keywords)


def test_entries_have_their_names_and_units():
    at = seen(observed(speed=4.0, offset=-0.5, heading=0.2, steer=0.1, line=12.0, red=True, gap=30.0))
    found = [float(one[0]) for one in (at.speed, at.limit, at.offset, at.heading, at.steer, at.line, at.gap)]
    assert found == pytest.approx([4.0, 15.0, -0.5, 0.2, 0.1, 12.0, 30.0], abs=1e-5)
    assert at.stop[0]
    assert np.isinf(at.crossing[0])


def test_names_agree_with_the_simulator():
    env = gymnasium.make(SCENE)
    observation, info = env.reset(seed=0)
    for _ in range(25):
        observation, *_ = env.step(env.unwrapped.expert().predict(observation)[0])
    at, car = seen(observation[None]), env.unwrapped.batched.agents[0, 0]
    assert at.speed[0] == pytest.approx(car["v"], abs=1e-4)
    assert at.offset[0] == pytest.approx(car["d"], abs=1e-3)
    assert abs(at.offset[0]) > 1e-3


def test_one_environment_and_a_vector_are_paid_alike_also_where_an_episode_ends():
    rng = np.random.default_rng(0)
    alone, many = ShapedDriving(gymnasium.make(SCENE)), VectorShapedDriving(vector(2))
    alone.reset(seed=1)
    many.reset(seed=0)
    ended = 0
    for _ in range(120):
        action = np.array([1.0, rng.uniform(-1, 1)], np.float32)
        _, reward, terminated, truncated, info = alone.step(action)
        _, rewards, *_, infos = many.step(np.stack([action, action]))
        assert rewards[1] == pytest.approx(reward)
        assert infos["true_reward"][1] == info["true_reward"]
        if terminated or truncated:
            assert info["reward_terms"]["terminal"] <= -1.0
            ended += 1
            alone.reset()
    assert ended


def test_frames_are_those_of_the_other_observation():
    bev, numbers = vector(2, observation="bev"), vector(2)
    frames, _ = bev.reset(seed=3)
    numbers.reset(seed=3)
    assert (frames_of(numbers) == frames).all()
    assert frames.any()


def test_frames_of_the_step_that_ends_an_episode_are_those_of_that_episode():
    class Remembers:
        def begin(self, indices):
            pass

        def judge(self, before, after, infractions, frames):
            self.frames = frames
            return {"reward": np.zeros(len(after))}

    env = VectorJudged(vector(2, max_episode_steps=5), Remembers())
    env.needs_frames = True
    bev = vector(2, observation="bev", max_episode_steps=5)
    same = vector(2, max_episode_steps=5)
    for one in (env, bev, same):
        one.reset(seed=3)
    ended = 0
    for step in range(12):
        actions = np.tile(np.array([1.0, 0.4], np.float32), (2, 1))
        observed_now, *_ = env.step(actions)
        assert (observed_now == same.step(actions)[0]).all()  # who looks on changes nothing
        frames, _, terminated, truncated, info = bev.step(actions)
        for index in np.flatnonzero(terminated | truncated):
            frames[index] = info["final_obs"][index]
            ended += 1
        assert (env.judge.frames == frames).all(), step
    assert ended >= 4


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="observation='vector'"):
        VectorShapedDriving(vector(1, observation="bev"))
    with pytest.raises(ValueError, match="NEXT_STEP"):
        VectorShapedDriving(vector(1, autoreset_mode="NextStep"))
    with pytest.raises(ValueError, match="observation='vector'"):
        seen(np.zeros((1, 54)))
    with pytest.raises(ValueError, match="speed must be"):
        ShapedDriving(gymnasium.make(SCENE), speed=0.0)


def test_numbers_that_a_wrapper_beneath_has_changed_are_refused():
    with pytest.raises(ValueError, match="NormalizeObservation beneath changes them"):
        ShapedDriving(gymnasium.wrappers.NormalizeObservation(gymnasium.make(SCENE)))


def test_a_reward_of_frames_wants_a_native_vector():
    vectors = gymnasium.make_vec(SCENE, 1, "sync", vector_kwargs={"autoreset_mode": "SameStep"})
    with pytest.raises(ValueError, match="wrap each environment"):
        VectorVLMRL(vectors)
