"""Perceptual rewards: steps, features and a reward by hand, and a rendered maze under them."""

from itertools import combinations

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import tiltyard  # noqa: F401
from tiltyard.wrappers import PerceptualReward, StepRewards, VectorPerceptualReward
from tiltyard.wrappers.rewards.frame_features import ConvolutionalFeatures, pixels
from tiltyard.wrappers.rewards.perceptualreward import Step, combined, deviations, labels, relevance, split

MAZE = "tiltyard/PointMaze-v0"


def column(*values):
    return np.array(values, np.float64)[:, None]


def shades(*values):
    """Grey frames, whose only feature is how light they are."""
    return np.broadcast_to(np.array(values, np.uint8)[:, None, None, None], (len(values), 8, 8, 3)).copy()


def lightness(frames):
    return frames.reshape(len(frames), -1).mean(axis=1, keepdims=True)


def test_boundaries_by_hand():
    # Steps of 0, 0, 0 | 4, 4, 4: no other boundary leaves deviations of 0 on both sides.
    assert split(column(0, 0, 0, 4, 4, 4), 2, min_size=1) == [3]
    assert split(column(0, 0, 7, 7, 2, 2, 2), 3, min_size=2) == [2, 4]
    assert split(column(0, 0, 4, 4), 1) == []
    assert labels([2, 4], 7).tolist() == [0, 0, 1, 1, 2, 2, 2]


def test_printed_and_by_length_by_hand():
    """0, 1, 2, 3, 10 in two: {0..3} and {10} have deviations sqrt(5)/2 and 0; {0, 1, 2} and {3, 10} sqrt(2/3), 3.5."""
    ramp = column(0, 1, 2, 3, 10)
    found = deviations(ramp)
    assert found[0, 4] == pytest.approx(np.sqrt(5) / 2)
    assert found[3, 5] == pytest.approx(3.5)
    assert split(ramp, 2, min_size=1) == [4]
    # An even ramp of 6: as printed {0} and {1..5} cost 0 + sqrt(2) = 1.41, two halves 2 sqrt(2/3) = 1.63. By length,
    # the first cost 5 sqrt(2) = 7.07, and the halves 6 sqrt(2/3) = 4.90.
    even = column(0, 1, 2, 3, 4, 5)
    assert split(even, 2, min_size=1) in ([1], [5])
    assert split(even, 2, min_size=1, by_length=True) == [3]


@pytest.mark.parametrize("by_length", [False, True])
@pytest.mark.parametrize("steps", [2, 3, 4])
def test_no_other_boundaries_cost_less(steps, by_length):
    features = np.random.default_rng(steps).normal(size=(13, 5)).cumsum(axis=0)

    def cost(starts):
        edges = [0, *starts, 13]
        segments = [features[a:b] for a, b in zip(edges[:-1], edges[1:], strict=True)]
        return sum((len(one) if by_length else 1) * one.std(axis=0).mean() for one in segments)

    allowed = [one for one in combinations(range(1, 13), steps - 1) if min(np.diff([0, *one, 13])) >= 2]
    found = split(features, steps, min_size=2, by_length=by_length)
    assert tuple(found) in allowed
    assert cost(found) == pytest.approx(min(map(cost, allowed)))


def test_relevance_by_hand():
    """Means 2 and 0, deviations 1 and 0, alpha 5: z = 5 * 2 - (1 + 0) = 9; what never varies is never kept."""
    features = np.array([[1.0, 3.0], [3.0, 3.0], [0.0, 3.0], [0.0, 3.0]])
    positive = np.array([True, True, False, False])
    assert relevance(features, positive).tolist() == [9.0, -np.inf]
    assert relevance(features, positive, alpha=1.0)[0] == 1.0


def test_scores_by_hand():
    """Of features 0 and 2, means 0 and 1, deviations 1 and 2: -(1 + (2/2)^2) / (2 * 2) = -0.5 at (1, ., 3)."""
    step = Step(np.array([0, 2]), np.array([0.0, 1.0]), np.array([1.0, 2.0]), least=-1.0, most=0.0)
    features = np.array([[1.0, 99.0, 3.0], [0.0, 99.0, 1.0], [9.0, 99.0, 9.0]])
    assert step.score(features)[:2].tolist() == [-0.5, 0.0]
    assert step.reward(features).tolist() == [0.5, 1.0, 0.0]
    # The first step is not paid, the second twice, the third four times.
    assert combined(np.array([[1.0, 0.5, 0.25], [1.0, 0.0, 1.0]])).tolist() == [2.0, 4.0]


def test_demonstrations_of_known_steps():
    first, second = shades(0, 4, 0, 100, 104, 100, 200, 204, 200), shades(0, 0, 4, 4, 100, 104, 104, 200, 204, 204)
    found = StepRewards([first, second], lightness, steps=3, n_features=4, min_size=2)
    assert found.starts == [[3, 6], [4, 7]]
    seen = found.score(shades(0, 102, 202))
    assert seen == pytest.approx([0.0, 2.0, 4.0], abs=0.01)
    alone = found.step_rewards(shades(0, 50, 100, 150, 200))
    assert alone[::2].argmax(axis=1).tolist() == [0, 1, 2]
    assert 0 < found.step_rewards(shades(60))[0, 1] < found.step_rewards(shades(80))[0, 1] <= 1
    assert alone.min() == 0.0
    assert alone.max() == 1.0


def test_features_that_do_not_tell_the_step_are_not_kept():
    rng = np.random.default_rng(0)
    frames = shades(*range(10, 16), *range(200, 206))
    noise = {value.tobytes(): rng.normal(size=20) for value in frames}

    def features(given):
        return np.stack([np.append(noise.get(one.tobytes(), np.zeros(20)), one.mean()) for one in given])

    assert StepRewards([frames], features, steps=2, n_features=1).found[1].kept.tolist() == [20]


def test_a_maze_is_paid_by_its_frames_and_tells_its_own_reward():
    how = {"render_mode": "rgb_array", "width": 32, "height": 32, "max_episode_steps": 2}
    own = gymnasium.make(MAZE, **how)
    shown = []
    for seed in range(8):
        own.reset(seed=seed)
        shown.append(own.render())
    own.reset(seed=0)
    shown += [own.step(np.ones(2, np.float32)) and own.render()] * 8  # the second step is this very frame
    rewards = StepRewards([np.stack(shown)], pixels, steps=2, by_length=True)
    env = PerceptualReward(gymnasium.make(MAZE, **how), rewards)
    own.reset(seed=0)
    env.reset(seed=0)
    actions = np.ones((2, 2), np.float32)
    _, true_reward, *_ = own.step(actions[0])
    _, reward, _, _, info = env.step(actions[0])
    assert reward == pytest.approx(float(rewards.score(own.render()[None])[0]))
    assert reward == pytest.approx(2.0)
    assert info["true_reward"] == true_reward
    assert info["reward_terms"] == {"progress": reward}
    modes = {"autoreset_mode": AutoresetMode.NEXT_STEP}
    vector = VectorPerceptualReward(gymnasium.make_vec(MAZE, 2, "sync", modes, None, **how), rewards)
    vector.reset(seed=[0, 1])
    _, several, *_, info = vector.step(actions)
    assert several[0] == pytest.approx(reward)
    assert info["progress"].tolist() == several.tolist()


def test_convolutions_are_repeatable_and_learn_to_restore_frames():
    frames = np.random.default_rng(0).integers(0, 256, (6, 32, 48, 3)).astype(np.uint8)
    features = ConvolutionalFeatures(filters=(4, 5, 6), cells=2, seed=1)
    before = features(frames)
    assert before.shape == (6, 4 * 15)
    assert (before >= 0).all()
    assert (ConvolutionalFeatures(filters=(4, 5, 6), cells=2, seed=1)(frames) == before).all()
    assert (ConvolutionalFeatures(filters=(4, 5, 6), cells=2, seed=2)(frames) != before).any()
    assert features(frames[2:3]) == pytest.approx(before[2:3], abs=1e-6)
    losses = features.fit(shades(*range(0, 250, 10)), steps=60, rng=np.random.default_rng(0), batch_size=8)
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])
    assert (features(frames) != before).any()
    assert pixels(shades(0, 255), side=2).tolist() == [[0.0] * 12, [1.0] * 12]


def test_bad_input_is_told_in_a_sentence():
    frames = shades(0, 0, 0, 9, 9, 9)
    with pytest.raises(ValueError, match="3 steps of at least 3 frames cannot be found in a demonstration of 6"):
        StepRewards([frames], lightness, steps=3)
    with pytest.raises(ValueError, match="give at least one"):
        StepRewards([], lightness, steps=2)
    with pytest.raises(ValueError, match="steps must be 2 or more, got 1"):
        StepRewards([frames], lightness, steps=1)
    with pytest.raises(ValueError, match="must be positive, got 0, 5.0 and 0.1"):
        StepRewards([frames], lightness, steps=2, n_features=0)
    with pytest.raises(ValueError, match="their frames are all alike"):
        StepRewards([shades(5, 5, 5, 5, 5, 5)], lightness, steps=2)
    with pytest.raises(ValueError, match=r"uint8 \[n, H, W, 3\], got float64 \[6, 8, 8, 3\]"):
        StepRewards([frames.astype(np.float64)], lightness, steps=2)
    with pytest.raises(ValueError, match="render_mode='rgb_array', not None"):
        PerceptualReward(gymnasium.make(MAZE), StepRewards([frames], lightness, steps=2))
    with pytest.raises(TypeError, match="rewards must be StepRewards, .*, got None"):
        PerceptualReward(gymnasium.make(MAZE, render_mode="rgb_array"), None)
    with pytest.raises(ValueError, match="1 to 8 cells each way"):
        ConvolutionalFeatures(cells=9)
