import numpy as np
import pytest
import torch as th

from tiltyard.wrappers.rewards.driving_captions import GOALS
from tiltyard.wrappers.rewards.driving_encoder import ClipEncoder, DualEncoder, load, painted


def scenes(n, rng):
    """Frames in which a bright half says whether there was an accident."""
    values = np.zeros((n, 6), np.int64)
    values[:, 0] = rng.integers(2, size=n)
    frames = np.zeros((n, 64, 64, 8), np.uint8)
    frames[values[:, 0] == 1, :32, :, 4] = 255
    frames[values[:, 0] == 0, 32:, :, 4] = 255
    return frames, values


def test_it_learns_which_words_fit_a_picture():
    rng = np.random.default_rng(0)
    encoder = DualEncoder()
    frames, values = scenes(64, rng)
    losses = encoder.fit(frames, values, steps=25, rng=rng, batch=32)
    assert losses[-1] < losses[0]
    held_out, truth = scenes(40, rng)
    wanted, unwanted = encoder.words(list(GOALS))
    contrast = (encoder.pictures(held_out) @ (unwanted - wanted)).numpy()
    assert contrast[truth[:, 0] == 1].min() > contrast[truth[:, 0] == 0].max()


def test_the_loss_by_hand():
    encoder = DualEncoder()
    frames, values = scenes(1, np.random.default_rng(1))
    told = np.array([[True, False, False, False, False, False]])
    likeness = (encoder.pictures(frames) @ encoder.words([GOALS[values[0, 0]]]).T).item()
    expected = np.log1p(np.exp(-(np.exp(2.3) * likeness - 3.0)))
    assert encoder.loss(th.from_numpy(frames), values, told).item() == pytest.approx(expected, rel=1e-4)


def test_vectors_have_length_one_and_do_not_depend_on_the_batch():
    encoder = DualEncoder()
    frames = np.random.default_rng(0).integers(0, 255, (5, 64, 64, 8)).astype(np.uint8)
    together = encoder.pictures(frames)
    assert together.norm(dim=1).numpy() == pytest.approx(np.ones(5), abs=1e-5)
    alone = th.cat([encoder.pictures(one[None]) for one in frames])
    assert th.allclose(together, alone, atol=1e-5)


def test_unknown_words_and_files_are_refused(tmp_path):
    with pytest.raises(KeyError, match="did you mean 'collided'"):
        DualEncoder().words(["two cars colided"])
    (tmp_path / "no").write_bytes(b"none")
    with pytest.raises(ValueError, match="holds no driving encoder"):
        load(tmp_path / "no")


def test_a_saved_encoder_sees_alike(tmp_path):
    encoder = DualEncoder(seed=3).eval()
    encoder.save(tmp_path / "one", {"span": [0.0, 1.0]})
    found, told = load(tmp_path / "one")
    frames = np.random.default_rng(0).integers(0, 255, (2, 64, 64, 8)).astype(np.uint8)
    assert told == {"span": [0.0, 1.0]}
    assert th.allclose(found.pictures(frames), encoder.pictures(frames), atol=1e-2)


class Linear(th.nn.Module):
    """A model with CLIP's two methods, small enough to work out: the mean colour, and the length of a text."""

    def get_image_features(self, pixel_values):
        return pixel_values.mean(dim=(1, 2))

    def get_text_features(self, input_ids):
        return input_ids.float()


def prepared(images=None, text=None, return_tensors="pt", padding=True):
    """What such a model takes, as CLIP's processor would make it."""
    if images is not None:
        return {"pixel_values": th.stack([th.from_numpy(one).float() for one in images])}
    return {"input_ids": th.tensor([[len(one), 0, 0] for one in text])}


def test_a_clip_of_another_library_is_an_encoder():
    frames = np.zeros((1, 64, 64, 8), np.uint8)
    frames[..., 3] = 255  # red: 200, 40, 40
    encoder = ClipEncoder(Linear(), prepared)
    length = np.sqrt(200**2 + 40**2 + 40**2)
    assert encoder.pictures(frames)[0].tolist() == pytest.approx([200 / length, 40 / length, 40 / length])
    assert encoder.words(["one", "three"]).tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_pictures_for_clip_show_vehicles_over_roads():
    frames = np.zeros((1, 64, 64, 8), np.uint8)
    frames[0, :, :, 0] = 255
    frames[0, 10, 10, 4] = 255
    picture = painted(frames)
    assert picture[0, 10, 10].tolist() == [240, 160, 40]
    assert picture[0, 0, 0].tolist() == [90, 90, 90]
