"""Formats: sorting, shares, and the one that takes over, by hand."""

import math

import pytest

from tiltyard.benchmarks.analysis.echo_chamber import accuracy, dominant, formats, predicted, shares

PATTERNS = {"code": r"^return ", "words": r"answer is"}
TEXTS = ["return 3", "the answer is 3", "return 4 as the answer is 4", "3"]


def test_shares_and_accuracies_by_hand() -> None:
    assert formats(TEXTS, PATTERNS) == ["code", "words", "code", "other"]
    assert shares(TEXTS, PATTERNS) == {"code": 0.5, "words": 0.25, "other": 0.25}
    found = accuracy(TEXTS, [True, True, False, False], PATTERNS)
    assert (found["code"], found["words"], found["other"]) == (0.5, 1.0, 0.0)
    assert math.isnan(accuracy(["3"], [True], PATTERNS)["code"])


def test_the_format_that_takes_over_and_since_when() -> None:
    course = [{"a": 0.4, "b": 0.6}, {"a": 0.92, "b": 0.08}, {"a": 0.8, "b": 0.2}, {"a": 0.95, "b": 0.05}]
    assert dominant(course) == ("a", 3)
    assert dominant(course[:3]) is None
    assert dominant(course, least=0.8) == ("a", 1)
    assert dominant([{"a": 1.0}]) == ("a", 0)


def test_the_format_with_most_correct_completions_is_predicted() -> None:
    assert predicted({"a": 0.7, "b": 0.3, "c": 0.0}, {"a": 0.2, "b": 0.5, "c": float("nan")}) == "b"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: formats(["x"], {"other": "x"}), "something else"),
        (lambda: formats(["x"], {"a": "("}), "cannot be read"),
        (lambda: shares([], PATTERNS), "at least one completion"),
        (lambda: accuracy(TEXTS, [True], PATTERNS), "each of 4 completions"),
        (lambda: dominant([], least=0.9), "at least one moment"),
        (lambda: dominant([{"a": 1.0}], least=0.5), "above 1/2"),
    ],
)
def test_bad_input_is_a_sentence(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
