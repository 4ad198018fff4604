import pytest

from tiltyard.wrappers.guidance.hints import beginnings, check_phrase, without_answer


def test_beginnings_grow_and_none_stands_there_twice():
    assert beginnings("12345678", [0.25, 0.5, 1.0]) == ["12", "1234", "12345678"]
    assert beginnings("12", [0.25, 0.5, 0.75, 1.0]) == ["1", "12"]  # a quarter is nothing, three quarters a half
    assert beginnings("", [0.5]) == []


def test_the_answer_is_no_part_of_a_hint():
    assert without_answer("8+4=12 <answer>12</answer>") == "8+4=12 "
    assert without_answer("no answer") == "no answer"


def test_a_phrase_that_could_not_be_filled_in_is_refused_now():
    check_phrase("{question} ({hint})")
    with pytest.raises(ValueError, match="phrase needs {question} and {hint}"):
        check_phrase("{question}")
