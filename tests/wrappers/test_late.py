import pytest

from tiltyard.wrappers.late import Late


def doubled(questions):
    return [2 * one for one in questions]


def test_answers_come_as_many_steps_late_as_said_and_together():
    queue = Late(doubled, delay=2)
    queue.ask(1)
    queue.ask(2)
    assert queue.step() == []
    queue.ask(3)
    assert queue.step() == []
    assert queue.step() == [(1, 2), (2, 4)]
    assert queue.step() == [(3, 6)]
    assert (queue.asked, queue.calls, len(queue)) == (3, 2, 0)


def test_without_delay_the_answer_comes_at_once():
    queue = Late(doubled, delay=0)
    queue.ask(5)
    assert queue.step() == [(5, 10)]


def test_a_full_queue_drops_and_counts():
    queue = Late(doubled, delay=1, capacity=2)
    for one in range(5):
        queue.ask(one)
    queue.step()
    assert queue.step() == [(0, 0), (1, 2)]
    assert queue.dropped == 3


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="delay is at least 0"):
        Late(doubled, delay=-1)
