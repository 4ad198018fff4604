import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tiltyard.wrappers import SuccessClassifier
from tiltyard.wrappers.rewards.success_classifier import shifted


def states(n: int, middle: float, seed: int) -> Any:
    """Around a middle, the third number always 7, units far apart."""
    rng = np.random.default_rng(seed)
    return np.column_stack((rng.normal(middle, 1, n), 1000 * rng.normal(0, 1, n), np.full(n, 7.0)))


@pytest.fixture(scope="module")
def fitted() -> Any:
    classifier = SuccessClassifier()
    return classifier, classifier.fit(states(40, 2.0, 0), states(400, -2.0, 1), steps=300)


def test_it_tells_success_from_failure_whatever_their_numbers(fitted: Any) -> None:
    classifier, report = fitted
    successes, failures = states(500, 2.0, 2), states(500, -2.0, 3)
    assert classifier.claims(successes).mean() > 0.9
    assert classifier.claims(failures).mean() < 0.1
    assert (report.successes, report.failures) == (4, 40)  # a fifth is held out, and half of that reported on
    assert report.false_positives < 0.2


def test_it_is_calibrated_where_truth_is_known() -> None:
    classifier = SuccessClassifier(hidden=(32,))
    report = classifier.fit(
        states(400, 1.0, 0), states(400, -1.0, 1), held_out=(states(2000, 1.0, 2), states(2000, -1.0, 3))
    )
    assert report.error < 0.06
    # Two normals of deviation 1 at 1 and -1: the log-odds of x are 2 x.
    places = np.array([[x, 0.0, 7.0] for x in (-1.0, 0.0, 1.0)])
    assert classifier.logits(places) == pytest.approx([-2.0, 0.0, 2.0], abs=0.8)


def test_a_threshold_asks_for_more() -> None:
    sets = states(200, 1.0, 0), states(200, -1.0, 1)
    bold, careful = (SuccessClassifier(threshold=threshold) for threshold in (0.5, 0.95))
    reports = [classifier.fit(*sets, steps=300) for classifier in (bold, careful)]
    seen = states(1000, 0.0, 2)
    assert np.array_equal(bold.logits(seen), careful.logits(seen))
    assert 0 < careful.claims(seen).mean() < bold.claims(seen).mean()
    assert reports[1].false_positives <= reports[0].false_positives


def test_the_same_seed_learns_the_same_and_leaves_torchs_alone() -> None:
    sets = states(50, 1.0, 0), states(50, -1.0, 1)
    before = torch.get_rng_state()
    first, second = SuccessClassifier(seed=3), SuccessClassifier(seed=3)
    for classifier in (first, second):
        classifier.fit(*sets, steps=30)
    assert torch.equal(before, torch.get_rng_state())
    assert np.array_equal(first.logits(sets[0]), second.logits(sets[0]))
    second.fit(*sets, steps=30)  # anew
    assert np.array_equal(first.logits(sets[0]), second.logits(sets[0]))


def test_frames_are_judged_by_a_small_cnn() -> None:
    rng = np.random.default_rng(0)

    def frames(n: int, bright: bool) -> Any:
        pictures = rng.integers(0, 60, (n, 24, 24, 3)).astype(np.uint8)
        pictures[:, 6:14, 6:14, 0] += 160 * bright
        return pictures

    classifier = SuccessClassifier(hidden=(32,))
    report = classifier.fit(frames(40, True), frames(80, False), steps=60, batch_size=32)
    assert report.false_positives == report.false_negatives == 0
    assert (
        classifier.claims(np.concatenate((frames(20, True), frames(20, False)))).tolist() == [True] * 20 + [False] * 20
    )


def test_frames_are_shifted_by_up_to_four_pixels() -> None:
    frame = np.zeros((200, 16, 16, 1), np.uint8)
    frame[:, 8, 8] = 255
    moved = np.argwhere(shifted(frame, np.random.default_rng(0))[..., 0] == 255)[:, 1:] - 8
    assert moved.min(axis=0).tolist() == [-4, -4]
    assert moved.max(axis=0).tolist() == [4, 4]


def test_added_examples_are_believed_and_the_others_kept() -> None:
    classifier = SuccessClassifier()
    classifier.fit(states(40, 2.0, 0), states(400, -2.0, 1), steps=300)
    exploit = states(100, 6.0, 4)  # looks like more than success
    assert classifier.claims(exploit).mean() > 0.95
    classifier.add(failures=exploit, steps=300)
    assert classifier.claims(states(100, 6.0, 5)).mean() < 0.1
    assert classifier.claims(states(200, 2.0, 6)).mean() > 0.75
    classifier.add(successes=states(100, -7.0, 4), steps=300)
    assert classifier.claims(states(100, -7.0, 5)).mean() > 0.9
    with pytest.raises(ValueError, match="these failures have shape"):
        classifier.add(failures=np.zeros((5, 2)))


def test_logits_are_divided_by_the_temperature(fitted: Any, tmp_path: Path) -> None:
    fitted[0].save(tmp_path / "one")
    other, seen = SuccessClassifier.load(tmp_path / "one"), states(20, 0.0, 9)
    other.temperature *= 2
    assert 2 * other.logits(seen) == pytest.approx(fitted[0].logits(seen))
    assert fitted[1].temperature == fitted[0].temperature != 1.0


def test_a_saved_classifier_comes_back_without_pickle(fitted: Any, tmp_path: Path) -> None:
    classifier, _ = fitted
    classifier.save(tmp_path / "there" / "peg.safetensors")
    loaded = SuccessClassifier.load(tmp_path / "there" / "peg.safetensors")
    seen = states(20, 0.0, 9)
    assert np.array_equal(loaded.logits(seen), classifier.logits(seen))
    assert (loaded.threshold, loaded.temperature, loaded.hidden) == (0.5, classifier.temperature, (64, 64))
    assert [file.name for file in (tmp_path / "there").iterdir()] == ["peg.safetensors"]
    with pytest.raises(RuntimeError, match="goes on from fit"):
        loaded.add(failures=seen)
    wide = SuccessClassifier(hidden=(8,), threshold=0.8)
    wide.fit(np.zeros((20, 20, 20, 1), np.uint8), np.full((20, 20, 20, 1), 255, np.uint8), steps=2, batch_size=4)
    wide.save(tmp_path / "frames.safetensors")
    assert SuccessClassifier.load(tmp_path / "frames.safetensors").shape == (20, 20, 1)


class Trap:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("sprung"),))


def test_other_files_are_refused_and_run_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trap").write_bytes(pickle.dumps(Trap()))
    save_file({"x": torch.zeros(1)}, "other")
    save_file({"x": torch.zeros(1)}, "half", {"success_classifier": '{"temperature": 1, "shape": [3], "hidden": [4]}'})
    large = {"temperature": 1, "shape": [10**6], "hidden": [10**6], "threshold": 0.5, "seed": 0}
    wrong = [
        large,  # 4 TB
        {**large, "shape": [3], "hidden": [4] * 10**6},
        {**large, "shape": ["3"], "hidden": [4]},
        {**large, "temperature": "nan"},
        {**large, "more": 1},
        [1],
    ]
    for i, settings in enumerate(wrong):
        save_file({"x": torch.zeros(1)}, f"wrong{i}", {"success_classifier": json.dumps(settings)})
    for name in ("trap", "other", "half", *(f"wrong{i}" for i in range(len(wrong)))):
        with pytest.raises(ValueError, match="no success classifier saved by Tiltyard"):
            SuccessClassifier.load(name)
    assert not Path("sprung").exists()
    with pytest.raises(FileNotFoundError, match="there is no classifier at"):
        SuccessClassifier.load("nowhere")


@pytest.mark.parametrize(
    ("successes", "failures", "message"),
    [
        (np.zeros((50, 3)), np.zeros((50, 2)), "one shape"),
        (np.zeros((3, 3)), np.zeros((50, 3)), "too few successes"),
        (np.full((50, 3), np.nan), np.zeros((50, 3)), "not finite"),
        (np.zeros(50), np.zeros(50), r"states \[n, size\]"),
        (np.zeros((50, 8, 8, 3)), np.zeros((50, 8, 8, 3)), "of uint8"),
    ],
)
def test_bad_examples_are_refused(successes: Any, failures: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SuccessClassifier().fit(successes, failures)


def test_misuse_is_refused(fitted: Any) -> None:
    for bad in ({"threshold": 1.0}, {"threshold": 0.0}, {"hidden": ()}):
        with pytest.raises(ValueError, match="threshold is|hidden holds"):
            SuccessClassifier(**bad)
    with pytest.raises(RuntimeError, match="learned nothing yet"):
        SuccessClassifier().logits(np.zeros((1, 3)))
    with pytest.raises(RuntimeError, match="learned nothing yet"):
        SuccessClassifier().save("x")
    with pytest.raises(ValueError, match="states to judge have shape"):
        fitted[0].logits(np.zeros((1, 4)))
