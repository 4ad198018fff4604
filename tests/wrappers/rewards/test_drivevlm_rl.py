import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from tiltyard.agents import make
from tiltyard.wrappers.rewards.drivevlm_rl import (
    ContrastJudge,
    Correction,
    DualPathway,
    LateRewards,
    VectorDriveVLMRL,
    gate,
)

sys.path.insert(0, str(Path(__file__).parents[1]))
from scenes import observed  # noqa: E402


class Fine:
    """A fast pathway that sees no danger."""

    def score(self, frames):
        return np.ones(len(frames))


class Slow:
    """A slow judge that remembers what it was shown."""

    def __init__(self, risk=0.75):
        self.risk, self.clips = risk, []

    def risks(self, clips):
        self.clips.extend(clips)
        return np.full(len(clips), self.risk)


def near(speed=8.0):
    row = observed(speed=speed)
    row[0, 73:76] = 1.0, 5 / 80, 1 / 80
    row[0, 82] = 1.0
    return row


def frame(level=0):
    return np.full((1, 64, 64, 8), level, np.uint8)


def paid(judge, row, level=0, infraction=""):
    return float(judge.judge(row, row, np.array([infraction]), frame(level))["reward"][0])


def begun(**keywords):
    judge = DualPathway(Fine(), Slow(), target=8.0, **keywords)
    judge.begin(np.array([0]))
    return judge


def test_the_gate_opens_for_what_is_near_ahead():
    assert gate(near())[0]
    assert not gate(observed())[0]
    for column, value in ((74, 9 / 80), (74, -3 / 80), (75, 5 / 80), (73, 0.0)):
        row = near()
        row[0, column] = value
        assert not gate(row)[0]
    person = near()
    person[0, [74, 82]] = 9 / 80, -1.0
    assert gate(person)[0]


def test_an_answer_comes_late_and_counts_for_a_while():
    judge = begun(delay=2, hold=2)
    # At 8 of 8 m/s the reward is the score, since 1 - |1 - s| = s. The answer of step 1 comes at the end of step 3.
    rewards = [paid(judge, near()), *(paid(judge, observed(speed=8.0)) for _ in range(5))]
    assert rewards == pytest.approx([1.0, 1.0, 1.0, 0.25, 0.25, 1.0], abs=1e-5)
    assert judge.queue.asked == 1


def test_an_answer_of_a_past_episode_is_dropped():
    judge = begun(delay=1)
    paid(judge, near())
    judge.begin(np.array([0]))
    assert [paid(judge, observed(speed=8.0)) for _ in range(3)] == pytest.approx([1.0] * 3, abs=1e-5)


def test_the_slow_judge_sees_the_last_frames_oldest_first():
    judge = begun(delay=0)
    for level in (1, 2, 3, 4):
        paid(judge, observed(), level)
    paid(judge, near(), 5)
    assert [int(one[0, 0, 0]) for one in judge.slow.clips[0]] == [2, 3, 4, 5]


def test_late_answers_say_what_that_step_should_have_been_paid():
    judge = begun(delay=2, late=True)
    assert paid(judge, near(speed=4.0)) == pytest.approx(0.5, abs=1e-5)  # 8 m/s seemed right
    paid(judge, observed(speed=8.0))
    assert judge.corrections == []
    assert paid(judge, observed(speed=8.0)) == pytest.approx(1.0, abs=1e-5)
    (found,) = judge.corrections
    assert (found.place, found.ago) == (0, 2)
    assert found.reward == pytest.approx(0.75, abs=1e-5)  # 2 m/s were right: 1 - 2 / 8


def test_the_built_in_judge_takes_the_mean_danger_of_a_clip():
    class Level:
        def score(self, frames):
            return frames[:, 0, 0, 0] / 10.0

    clip = np.concatenate([frame(level) for level in (2, 4, 6, 8)])
    assert ContrastJudge(Level()).risks(clip[None])[0] == pytest.approx(0.5)


def test_late_rewards_reach_the_replay_buffer():
    vector = gymnasium.make_vec("tiltyard/RaceTrack-v0", 2, "vector_entry_point")
    env = VectorDriveVLMRL(vector, slow=Slow(), delay=3, late=True)
    asked = env.pathways

    agent = make("sac", env, seed=0, device="cpu", learning_starts=1000, buffer_size=100)
    callback = LateRewards(env)
    agent.learn(20, callback=callback)
    assert callback.written == 0  # nobody else is on a race track
    pos = agent.replay_buffer.pos
    asked.corrections = [Correction(1, 3, 0.125), Correction(0, pos + 1, 9.0)]  # the second was never stored
    callback._on_step()
    assert agent.replay_buffer.rewards[pos - 3, 1] == 0.125
    assert callback.written == 1
    with pytest.raises(ValueError, match="at least 1"):
        VectorDriveVLMRL(vector, slow=Slow(), delay=0, late=True)


def test_late_rewards_say_what_they_need():
    vector = gymnasium.make_vec("tiltyard/RaceTrack-v0", 2, "vector_entry_point")
    with pytest.raises(TypeError, match="late=True"):
        LateRewards(VectorDriveVLMRL(vector, slow=Slow()))
    env = VectorDriveVLMRL(vector, slow=Slow(), late=True)
    with pytest.raises(TypeError, match="keeps no replay buffer"):
        make("ppo", env, seed=0, device="cpu", n_steps=4, batch_size=8).learn(8, callback=LateRewards(env))
