import sys

import gymnasium
import imageio.v2 as imageio
import numpy as np
import pytest

from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.play import LINE, PAD, captioned, play


def frames_of(video):
    return imageio.mimread(video, memtest=False)


def test_a_caption_adds_a_strip_and_leaves_the_picture_as_it_was():
    frame = np.random.default_rng(0).integers(0, 256, (192, 108, 3), dtype=np.uint8)
    page = captioned(frame, ["one", "two"])  # 192 -> 384 high (twice), 480 wide, two lines and two margins below
    assert page.shape == (384 + 2 * LINE + 2 * PAD, 480, 3)
    left = (480 - 216) // 2
    assert (page[:384:2, left : left + 216 : 2] == frame).all()
    assert page[384:].max() > 200


def test_sides_are_even_as_video_needs():
    assert captioned(np.zeros((321, 481, 3), np.uint8), ["one"]).shape == (
        352,
        482,
        3,
    )  # 321 + 18 + 2 * 6 = 351, one more to be even


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
def test_a_text_episode_shows_the_question_then_the_verdict(tmp_path, suffix):
    video = tmp_path / "new" / f"text{suffix}"
    (episode,) = play("tiltyard/Countdown-v0", video=video, episodes=1)
    assert (episode.score, episode.success, episode.steps) == (1.0, True, 1)
    frames = frames_of(video)
    assert len(frames) == (2 if suffix == ".gif" else 30)  # gif joins frames that stand still: 1.5 s each at 10 fps
    assert (np.asarray(frames[0])[..., :3] != np.asarray(frames[-1])[..., :3]).any()
    assert [path.name for path in video.parent.iterdir()] == [video.name]


def test_random_play_fails_and_each_seed_is_another_episode(tmp_path):
    played = play("tiltyard/Countdown-v0", "random", video=tmp_path / "a.gif", episodes=2, seed=5)
    assert [episode.success for episode in played] == [False, False]
    assert len(frames_of(tmp_path / "a.gif")) == 4
    played = play("tiltyard/Countdown-v0", lambda question: "?", video=tmp_path / "b.gif", episodes=2)
    assert [(episode.success, episode.steps) for episode in played] == [(False, 1)] * 2


def test_steps_bound_the_video_even_within_an_episode(tmp_path):
    steps = []
    (episode,) = play("tiltyard/Hopper-v5", video=tmp_path / "a.mp4", steps=12, progress=steps.append)
    assert steps == list(range(1, 13))
    assert episode.steps == 12
    assert len(frames_of(tmp_path / "a.mp4")) == 2 * round(1.5 * 25) + 2  # 125 fps: every 5th of 12 steps, and the ends


def test_an_agent_plays_through_its_adapter(tmp_path):
    from tiltyard.agents import make

    agent = make("ppo", "tiltyard/Phone-v0", seed=0, n_envs=1)
    (episode,) = play("tiltyard/Phone-v0", agent, video=tmp_path / "a.gif", episodes=1, steps=3)
    assert episode.steps == 3
    assert len({frame.shape for frame in frames_of(tmp_path / "a.gif")}) == 1


OWN = """
import gymnasium, numpy as np

class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Dict({"a": gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)})
    action_space = gymnasium.spaces.Discrete(2)
    metadata = {"render_modes": ["rgb_array"]}
    def __init__(self, render_mode=None):
        self.render_mode = render_mode
    def render(self):
        return np.zeros((8, 8, 3), np.uint8)
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return {"a": np.zeros(1, np.float32)}, {}
    def step(self, action):
        return {"a": np.zeros(1, np.float32)}, 1.0, True, False, {}

gymnasium.register("own/Play-v0", Env)
"""


def test_an_environment_named_by_its_module_is_played(tmp_path, monkeypatch, capsys):
    (tmp_path / "own_played.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])  # the folder one works in is added to it
    line = "play --env own_played:own/Play-v0 --agent random --video a.gif --episodes 1"
    assert main(line.split()) == 0, capsys.readouterr().err
    assert "episode 0: return 1.00, 1 steps\nwrote a.gif" in capsys.readouterr().out
    assert frames_of(tmp_path / "a.gif")
    gymnasium.registry.pop("own/Play-v0")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"video": "a.avi"}, ValueError, "unknown video format '.avi'"),
        ({"steps": 0}, ValueError, "at least 1 step and 1 episode"),
        ({"agent": "expret"}, ValueError, "unknown policy 'expret'; did you mean 'expert'"),
        ({"env_id": "tiltyard/Hoper-v5"}, KeyError, "did you mean 'tiltyard/Hopper-v5'"),
    ],
)
def test_what_cannot_be_played_is_refused_and_leaves_no_file(tmp_path, arguments, error, message):
    video = tmp_path / arguments.pop("video", "a.gif")
    with pytest.raises(error, match=message):
        play(**{"env_id": "tiltyard/Countdown-v0", **arguments}, video=video)
    assert list(tmp_path.iterdir()) == []


def test_a_broken_off_recording_leaves_no_file(tmp_path):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play("tiltyard/Countdown-v0", video=tmp_path / "a.mp4", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_a_seed_below_0_is_refused(tmp_path):
    with pytest.raises(ValueError, match="a seed is 0 or more, got seed=-1"):
        play("CartPole-v1", "random", video=tmp_path / "one.gif", seed=-1)
    assert not list(tmp_path.iterdir())
