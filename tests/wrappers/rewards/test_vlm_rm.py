"""VLM-RM: the projection by hand, and a rendered maze under its reward."""

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.vector import AutoresetMode

import tiltyard  # noqa: F401
from tiltyard.wrappers import VLMRM, VectorVLMRM
from tiltyard.wrappers.rewards.encoders import ClipEncoder, DualEncoder, load_encoder
from tiltyard.wrappers.rewards.frame_reward import VectorFrameReward
from tiltyard.wrappers.rewards.vlm_rm import GoalText, regularised

WORDS = ("maze", "ball", "red", "blue")
MAZE = "tiltyard/PointMaze-v0"


def units(n, d, seed):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def maze(**how):
    return gymnasium.make(MAZE, render_mode="rgb_array", width=32, height=32, **how)


def test_the_projection_by_hand():
    """Goal (1, 0), baseline (0, 1), frame (0, -1): the line is x + y = 1, and its point nearest to the frame (1, 0)."""
    goal, baseline, seen = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([[0.0, -1.0]])
    assert regularised(seen, goal, baseline, 1.0) == pytest.approx([1.0])
    # halfway between (1, 0) and (0, -1) is (0.5, -0.5), which is away from the goal by (-0.5, -0.5): 1 - 0.5 * 0.5
    assert regularised(seen, goal, baseline, 0.5) == pytest.approx([0.75])
    assert regularised(seen, goal, baseline, 0.0) == pytest.approx([0.0])
    # (-1, 0) is away by (-2, 0), along the line by (-1, 1): 1 - 0.5 * 2
    assert regularised(-goal[None], goal, baseline, 1.0) == pytest.approx([0.0])


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_the_formula_as_the_paper_writes_it(alpha):
    frames, (goal, baseline) = units(20, 5, 0), units(2, 5, 1)
    line = (goal - baseline) / np.linalg.norm(goal - baseline)
    on_line = baseline + ((frames - baseline) @ line)[:, None] * line
    mixed = alpha * on_line + (1 - alpha) * frames
    expected = 1 - 0.5 * np.linalg.norm(mixed - goal, axis=1) ** 2
    assert regularised(frames, goal, baseline, alpha) == pytest.approx(expected)


def test_without_projection_it_is_the_cosine():
    frames, (goal, baseline) = units(20, 5, 2), units(2, 5, 3)
    assert regularised(frames, goal, baseline, 0.0) == pytest.approx(frames @ goal)
    assert regularised(frames, goal) == pytest.approx(frames @ goal)


def test_what_does_not_tell_goal_from_baseline_is_projected_out():
    goal, baseline = np.array([0.6, 0.0, 0.8]), np.array([0.0, 0.6, 0.8])
    aside = np.cross(goal, baseline)
    frames = units(6, 3, 4)
    assert regularised(frames + aside, goal, baseline, 1.0) == pytest.approx(regularised(frames, goal, baseline, 1.0))
    assert np.abs(regularised(frames + aside, goal, baseline, 0.5) - regularised(frames, goal, baseline, 0.5)).min() > 0


def test_a_maze_is_paid_by_its_frames_and_tells_its_own_reward():
    encoder = DualEncoder(WORDS)
    env = VLMRM(maze(), encoder, "red ball", baseline="ball", alpha=0.5)
    env.reset(seed=0)
    own = maze()
    own.reset(seed=0)
    for _ in range(3):
        _, reward, _, _, info = env.step(np.ones(2, np.float32))
        _, true_reward, *_ = own.step(np.ones(2, np.float32))
        seen = encoder.pictures(own.render()[None]).numpy().astype(np.float64)
        goal, baseline = encoder.words(["red ball", "ball"]).numpy().astype(np.float64)
        assert reward == pytest.approx(regularised(seen, goal, baseline, 0.5)[0])
        assert info["true_reward"] == true_reward
        assert info["reward_terms"] == {"likeness": reward}


def test_a_vector_is_paid_as_its_environments_alone_and_nothing_for_resets():
    encoder = DualEncoder(WORDS)
    how = {"render_mode": "rgb_array", "width": 32, "height": 32, "max_episode_steps": 2}
    modes = {"autoreset_mode": AutoresetMode.NEXT_STEP}
    env = VectorVLMRM(gymnasium.make_vec(MAZE, 2, "sync", modes, None, **how), encoder, "red ball")
    alone = [VLMRM(maze(max_episode_steps=2), encoder, "red ball") for _ in range(2)]
    env.reset(seed=5)
    for i, one in enumerate(alone):
        one.reset(seed=5 + i)
    actions = np.ones((2, 2), np.float32)
    for _ in range(2):
        _, rewards, _, truncated, info = env.step(actions)
        assert rewards == pytest.approx([one.step(actions[0])[1] for one in alone], abs=1e-6)
        assert info["true_reward"].tolist() == [0.0, 0.0]
    assert truncated.all()
    assert env.step(actions)[1].tolist() == [0.0, 0.0]
    assert (env.step(actions)[1] != 0).all()


def test_bad_input_is_told_in_a_sentence():
    encoder = DualEncoder(WORDS)
    with pytest.raises(ValueError, match="render_mode='rgb_array', not None"):
        VLMRM(gymnasium.make(MAZE), encoder, "red ball")
    with pytest.raises(ValueError, match="give a baseline text"):
        VLMRM(maze(), encoder, "red ball", alpha=0.5)
    with pytest.raises(ValueError, match=r"in \[0, 1\], got 1.5"):
        VLMRM(maze(), encoder, "red ball", baseline="ball", alpha=1.5)
    with pytest.raises(ValueError, match="a baseline that says less"):
        VLMRM(maze(), encoder, "red ball", baseline="red ball", alpha=0.5)
    with pytest.raises(TypeError, match="has the methods pictures and words, str has not"):
        VLMRM(maze(), "clip", "red ball")
    with pytest.raises(TypeError, match="texts with words, got ' '"):
        VLMRM(maze(), encoder, " ")
    with pytest.raises(KeyError, match="did you mean 'blue'"):
        VLMRM(maze(), encoder, "blu ball")
    with pytest.raises(ValueError, match=r"uint8 \[n, H, W, 3\], got float64 \[2, 8, 8, 3\]"):
        GoalText(encoder, "ball", None, 0.0).score(np.zeros((2, 8, 8, 3)))
    same = {"autoreset_mode": AutoresetMode.SAME_STEP}
    vector = gymnasium.make_vec(MAZE, 2, "sync", same, None, render_mode="rgb_array", width=32, height=32)
    with pytest.raises(ValueError, match="the last frame of an episode is gone"):
        VectorVLMRM(vector, encoder, "ball")


def coloured(n, rng):
    reds = rng.integers(2, size=n)
    frames = np.zeros((n, 24, 24, 3), np.uint8)
    frames[reds == 1, ..., 0] = 255
    frames[reds == 0, ..., 2] = 255
    return frames, reds


@pytest.mark.parametrize("centred", [False, True])
def test_an_encoder_trained_on_statements_tells_the_goal(tmp_path, centred):
    rng = np.random.default_rng(0)
    encoder = DualEncoder(WORDS, filters=(4, 4, 8), width=8, centred=centred)
    frames, reds = coloured(64, rng)
    statements = [["red ball" if red else "blue ball"] for red in reds]
    losses = encoder.fit_statements(frames, statements, subject="maze", steps=60, rng=rng, batch=32)
    assert losses[-1] < losses[0]
    if centred:
        assert encoder.average[0, 0, 0].item() == pytest.approx((reds == 1).mean())
    encoder.save(tmp_path / "one", {"steps": 60})
    found, told = load_encoder(tmp_path / "one")
    assert told == {"steps": 60}
    held_out, truth = coloured(20, rng)
    for one in (encoder, found):
        for alpha in (0.0, 1.0):
            scores = GoalText(one, "maze and red ball", "maze", alpha).score(held_out)
            assert scores[truth == 1].min() > scores[truth == 0].max()
    with pytest.raises(ValueError, match="each frame needs its statements, got 20 frames and 64 lists"):
        encoder.fit_statements(held_out, statements, subject="maze", steps=1, rng=rng)
    (tmp_path / "no").write_bytes(b"none")
    with pytest.raises(ValueError, match="holds no encoder of pictures and texts"):
        load_encoder(tmp_path / "no")


class MeanColour(th.nn.Module):
    """A model with CLIP's two methods whose features are worked out by hand: mean colour, and red for any text."""

    def get_image_features(self, pixel_values):
        return pixel_values.mean(dim=(1, 2))

    def get_text_features(self, input_ids):
        return input_ids.float()


def prepared(images=None, text=None, return_tensors="pt", padding=True):
    if images is not None:
        return {"pixel_values": th.stack([th.from_numpy(one).float() for one in images])}
    return {"input_ids": th.tensor([[1, 0, 0] for _ in text])}


def test_clip_scores_frames_as_they_are():
    frames = np.zeros((1, 8, 8, 3), np.uint8)
    frames[..., 0], frames[..., 1] = 30, 40
    assert GoalText(ClipEncoder(MeanColour(), prepared), "red", None, 0.0).score(frames) == pytest.approx([0.6])


def test_a_partial_reset_leaves_the_others_unpaid_in_the_step_of_their_reset():
    mazes = gymnasium.make_vec("tiltyard/PointMaze-v0", 2, "sync", render_mode="rgb_array", max_episode_steps=1)
    env = VectorFrameReward(mazes, lambda frames: np.ones(len(frames)), "one")
    env.reset(seed=0)
    still = np.zeros((2, 2), np.float32)
    assert env.step(still)[1].tolist() == [1.0, 1.0]
    env.reset(options={"reset_mask": np.array([True, False])})
    assert env.step(still)[1].tolist() == [1.0, 0.0]
