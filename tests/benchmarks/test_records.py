import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.records import episodes_of, part, printable, read_points, read_record, words

STEPS, RESULTS = np.array([50, 100]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.5]])
WHOLE = {"timesteps": STEPS, "results": RESULTS, "ep_lengths": np.full((2, 3), 9), "successes": RESULTS > 4}


def test_points_are_read_as_they_were_written(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **WHOLE)
    points = read_points(tmp_path / "a.npz", 3, 5)
    assert points.results.tolist() == RESULTS.tolist()
    assert points.curve == ((50, 2.0, 0.0), (100, 5.5, pytest.approx(2 / 3)))  # (4 + 5 + 7.5) / 3, two of three above 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"results": RESULTS.astype(np.float32)}, "a.npz: results holds <f4, not <f8"),
        ({"results": RESULTS.astype(">f8")}, "results holds >f8"),
        ({"results": RESULTS.T}, r"results is no array as a run writes it|the shape \(3, 2\)"),
        ({"results": RESULTS.ravel()}, r"the shape \(6,\), not \(2, 3\)"),
        ({"results": RESULTS.astype(object)}, "results is no array|results holds"),
        ({"results": np.where(RESULTS > 7, np.nan, RESULTS)}, "scores that are not finite"),
        ({"results": np.where(RESULTS > 7, 1e200, RESULTS)}, "scores that are not finite"),
        ({"successes": np.full((2, 3), 2, np.uint8).view(bool)}, "neither true nor false"),
        ({"timesteps": STEPS[::-1].copy()}, "counts steps backwards"),
        ({"timesteps": STEPS - 60}, "counts steps backwards"),
        ({"ep_lengths": np.zeros((2, 3), int)}, "episodes without a step"),
        ({name: array[:0] for name, array in WHOLE.items()}, "has 0 evaluations"),
        (
            {name: np.concatenate([array] * 3) for name, array in WHOLE.items()},
            "has 6 evaluations, the run at most 5|back",
        ),
    ],
)
def test_other_points_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "a.npz", **{**WHOLE, **changes})
    with pytest.raises(ValueError, match=message):
        read_points(tmp_path / "a.npz", 3, 5)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", **{**WHOLE, "results": np.zeros((2, 4_000_000))})
    tracemalloc.start()
    with pytest.raises(ValueError, match="holds compressed arrays"):
        read_points(tmp_path / "a.npz", 4_000_000, 5)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()


def test_what_is_no_file_or_too_large_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    for name in ("pipe.json", "zero.json"):
        with pytest.raises(ValueError, match=f"{name} is no regular file"):
            read_record(tmp_path / name, 1000)
    (tmp_path / "long.json").write_text("{}" + " " * 999)
    with pytest.raises(ValueError, match="long.json has 1,001 bytes, and a run writes at most 1,000"):
        read_record(tmp_path / "long.json", 1000)
    assert read_record(tmp_path / "long.json", 1001) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "holds no JSON object"),
        ('{"a": "\\ud800"}', "surrogates not allowed"),
        ('{"\\ud800": 1}', "surrogates not allowed"),
        ('{"a": ' + "[" * 31 + "]" * 31 + "}", None),
        ('{"a": ' + "[" * 32 + "]" * 32 + "}", "nested deeper than 32 levels"),
        ('{"a": ' + "[" * 99_999, "nested deeper than 32 levels"),
        ("{", "a.json: Expecting property name"),
    ],
)
def test_records_are_objects_of_text_that_can_be_written(tmp_path: Path, text: str, message: str | None) -> None:
    (tmp_path / "a.json").write_text(text)
    if message is None:
        assert read_record(tmp_path / "a.json", 1 << 20) == json.loads(text)
        return
    with pytest.raises(ValueError, match=message):
        read_record(tmp_path / "a.json", 1 << 20)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e101, 10**400, True, None, "1", [1.0]])
def test_a_number_is_finite_and_no_other_thing(value: Any) -> None:
    with pytest.raises(ValueError, match="'a' must"):
        part({"a": value}, "a", float)
    with pytest.raises(ValueError, match="'scores' must hold finite numbers"):
        episodes_of({"scores": [1.0, value], "successes": [True, False]}, 2)


def test_parts_are_of_their_type() -> None:
    assert part({"a": 3}, "a", float) == 3.0
    for kind, value in ((int, True), (int, 1.0), (bool, 1), (str, 1), (list, {}), (dict, [])):
        with pytest.raises(ValueError, match="'a' must be"):
            part({"a": value}, "a", kind)
    with pytest.raises(ValueError, match="'a' is missing"):
        part({}, "a", int)
    with pytest.raises(ValueError, match="true and false alone"):
        episodes_of({"scores": [1.0], "successes": [1]}, 1)
    with pytest.raises(ValueError, match="a run of 2 episodes has 1 scores and 2 successes"):
        episodes_of({"scores": [1.0], "successes": [True, True]}, 2)


def test_words_can_be_printed() -> None:
    assert words({"a": "Intel® CPU"}, "a") == "Intel® CPU"
    for text in ("\x1b[2J", "two\nlines", "\u202eback"):
        with pytest.raises(ValueError, match="cannot be printed"):
            words({"a": text}, "a")
    assert printable("a\n\x1b[2J ü") == "a\\n\\x1b[2J ü"
