import numpy as np
import pytest
import torch

from tiltyard.agents.language.episodes import Written
from tiltyard.agents.language.slots import NOTHING, Piece, Unfinished, cut, episode, joined
from tiltyard.agents.models.tokenizer import END


def said(*tokens: int) -> Written:
    """These tokens; the numbers beside them tell each one apart."""
    numbers = np.array(tokens, np.float32)
    return Written("", np.array(tokens, np.int64), -numbers / 8, numbers / 4, -numbers / 2)


def piece(seed: int, prompt: list[int], *tokens: int) -> Piece:
    return Piece(seed, np.array(prompt, np.int64), said(*tokens) if tokens else NOTHING)


def assert_same(one: Piece, other: Piece) -> None:
    assert one.seed == other.seed
    for mine, theirs in zip((one.prompt, *one.written[1:]), (other.prompt, *other.written[1:]), strict=True):
        assert mine.dtype == theirs.dtype
        assert np.array_equal(mine, theirs)


def test_windows_join_in_their_order():
    whole = piece(3, [9, 8], 5).go_on(said(6, 7))
    assert whole.history.tolist() == [9, 8, 5, 6, 7]
    assert whole.written.logp.tolist() == [-5 / 8, -6 / 8, -7 / 8]
    assert whole.written.entropy.tolist() == [5 / 4, 6 / 4, 7 / 4]
    assert whole.written.drawn.tolist() == [-5 / 2, -6 / 2, -7 / 2]
    assert joined(Written("a", *said(5)[1:]), Written("b", *said(6)[1:])).text == "ab"
    assert joined(said(5)._replace(drawn=None), said(6)).drawn.tolist() == [-5 / 8, -6 / 2]  # as it was written


def test_a_sequence_ends_with_its_mark_or_where_it_is_as_long_as_can_be():
    assert not piece(0, [9]).ended(2)
    assert not piece(0, [9], 5).ended(2)
    assert piece(0, [9], 5, 6).ended(2)
    assert piece(0, [9], END).ended(2)
    assert not piece(0, [END], 5).ended(2)  # the mark of what it read


def test_what_is_written_beyond_the_longest_completion_is_cut():
    short = cut(said(5, 6, 7), 2)
    assert [len(column) for column in short[1:]] == [2, 2, 2, 2]
    assert short.tokens.tolist() == [5, 6]


def test_an_unfinished_sequence_has_earned_nothing():
    part = episode(np.array([9, 5]), said(6, 7))
    assert (part.reward, part.success, part.length) == (0.0, False, 2)
    assert part.turns[0].read.tolist() == [9, 5]
    assert episode(np.array([9]), said(6), 1.0, True).reward == 1.0


@pytest.mark.parametrize("kept", [[], [piece(4, [9, 8, 7], 5, 6)], [piece(4, [9, 8, 7], 5, 6), piece(2, [9], 7)]])
def test_unfinished_sequences_come_back_from_their_tensors(kept):
    before, after = Unfinished(), Unfinished()
    before.kept, after.kept = kept, [piece(0, [3], 3)]
    after.load_state_dict(before.state_dict())
    assert len(after) == len(kept)
    for mine, theirs in zip(after.kept, kept, strict=True):
        assert_same(mine, theirs)


@pytest.mark.parametrize("name", ["seeds", "prompt", "tokens", "logp", "drawn"])
def test_sequences_of_other_lengths_than_they_say_are_refused(name):
    unfinished = Unfinished()
    unfinished.kept = [piece(4, [9, 8, 7], 5, 6), piece(2, [9], 7)]
    state = unfinished.state_dict()
    with pytest.raises(ValueError, match="not as long as their sizes say"):
        unfinished.load_state_dict({**state, name: state[name][:-1]})
    with pytest.raises(ValueError, match="not as long as their sizes say"):
        unfinished.load_state_dict({**state, "sizes": torch.zeros_like(state["sizes"])})
