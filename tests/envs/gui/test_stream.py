"""The stream of random numbers: SplitMix64's published words, uniform integers, permutations, independent children."""

import numpy as np

from tiltyard.envs.gui.stream import Stream


def test_words_are_those_of_splitmix64() -> None:
    stream = Stream(1234567)
    # The first outputs of the reference implementation from this start, as Rosetta Code's SplitMix64 task lists them.
    assert [stream.word() for _ in range(3)] == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_integers_are_uniform_and_in_range() -> None:
    drawn = Stream(3).integers(2, 7, 5000)
    assert set(drawn.tolist()) == {2, 3, 4, 5, 6}
    assert np.bincount(drawn)[2:].min() > 850  # five standard deviations below 1000


def test_a_permutation_has_every_entry_once_and_every_first_entry_comes_up() -> None:
    stream = Stream(5)
    firsts = set()
    for _ in range(200):
        order = stream.permutation(6)
        assert sorted(order.tolist()) == list(range(6))
        firsts.add(int(order[0]))
    assert firsts == set(range(6))


def test_children_differ_and_leave_their_parent_alone() -> None:
    parent = Stream(11)
    words = [parent.child(i).word() for i in range(50)]
    assert len(set(words)) == 50
    assert parent.word() == Stream(11).word()
