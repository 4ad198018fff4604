import numpy as np
import pytest
import torch

from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.agents.language.tokenizer import Tokenizer
from tiltyard.agents.language.transformer import SIZES, Transformer
from tiltyard.agents.language.turn_critics import (
    Replay,
    Transition,
    TurnCritics,
    Values,
    critic_loss,
    similar,
    transitions,
)


def critics() -> TurnCritics:
    torch.manual_seed(0)
    network = Transformer(Tokenizer().vocabulary_size, **SIZES["transformer-100k"])
    return TurnCritics(network, torch.Generator().manual_seed(0))


def turns() -> list[Transition]:
    return [
        Transition(np.arange(10, 19), 3, 6, -0.5, False),
        Transition(np.arange(20, 25), 2, 5, 1.0, True),
    ]


def test_the_critics_loss_by_hand():
    """One turn that ended with reward 1 and one of reward 0 that went on; gamma 0.5."""
    values = Values(torch.tensor([[0.5, 0.2], [0.0, 0.1]]), torch.tensor([[0.4, 0.0], [0.4, 0.3]]), torch.zeros(2, 2))
    loss = critic_loss(
        values,
        v_next=torch.tensor([[9.0, 0.8], [9.0, 0.2]]),  # the first means nothing: the episode is over
        q_fresh=torch.tensor([[0.6, 0.5], [0.2, 0.3]]),
        reward=torch.tensor([1.0, 0.0]),
        done=torch.tensor([1.0, 0.0]),
        gamma=0.5,
    )
    # Q targets: [1, 0.4] and [1, 0.1]: (0.25 + 0.04) / 2 + (1 + 0) / 2; V: (0.04 + 0.25) / 2 + (0.04 + 0) / 2
    assert loss.item() == pytest.approx(0.145 + 0.5 + 0.145 + 0.02)


def test_turns_are_cut_from_an_episode_by_hand():
    mask = torch.tensor([[0, 0, 1, 1, 0, 1, 1, 0]]).bool()
    turn = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 1]])
    reward = torch.tensor([[0, 0, 0, -0.5, 0, 0, 1.0, 0]])
    zeros = torch.zeros(1, 8)
    episode = Rollouts(
        tokens=torch.arange(8)[None],
        mask=mask,
        logp_old=zeros,
        logp_ref=None,
        reward=torch.tensor([0.5]),
        group=torch.zeros(1, dtype=torch.int64),
        seed=torch.zeros(1, dtype=torch.int64),
        turn=turn,
        length=torch.tensor([4]),
        entropy=zeros,
        step_reward=reward,
    )
    first, second = transitions(episode)
    assert (first.tokens.tolist(), *first[1:]) == ([0, 1, 2, 3, 4], 2, 4, -0.5, False)
    assert (second.tokens.tolist(), *second[1:]) == ([0, 1, 2, 3, 4, 5, 6], 5, 7, 1.0, True)
    assert first.history.tolist() == [0, 1]
    assert second.history.tolist() == first.tokens.tolist()  # the next history of the first


def test_turns_without_words_between_them_are_kept_apart():
    columns = torch.ones(1, 4, dtype=torch.int64)
    episode = Rollouts(
        tokens=columns,
        mask=torch.tensor([[False, True, True, True]]),
        logp_old=torch.zeros(1, 4),
        logp_ref=None,
        reward=torch.zeros(1),
        group=columns[:, 0],
        seed=columns[:, 0],
        turn=torch.tensor([[0, 0, 0, 1]]),
        length=torch.tensor([3]),
        entropy=torch.zeros(1, 4),
        step_reward=torch.zeros(1, 4),
    )
    assert [(one.said, one.heard, one.done) for one in transitions(episode)] == [(1, 3, False), (3, 4, True)]


def test_values_begin_at_zero_and_padding_changes_nothing():
    ours = critics()
    assert all((column == 0).all() for column in ours(turns()))
    with torch.no_grad():
        for head in (*ours.q, *ours.v):
            head[-1].weight.normal_(generator=torch.Generator().manual_seed(1))
    together = ours(turns())
    for i, turn in enumerate(turns()):
        for all_of, alone in zip(together, ours([turn]), strict=True):
            assert torch.allclose(all_of[:, i], alone[:, 0], atol=1e-5)
    assert torch.allclose(ours.advantages(turns()), together.q.amin(0) - together.v.amin(0), atol=1e-6)


def test_a_value_of_a_history_sees_no_utterance():
    ours, (turn, _) = critics(), turns()
    with torch.no_grad():
        for head in (*ours.q, *ours.v):
            head[-1].weight.fill_(1.0)
    other = turn._replace(tokens=np.concatenate([turn.tokens[:3], turn.tokens[3:] + 40]))
    one, two = ours([turn]), ours([other])
    assert torch.allclose(one.v, two.v, atol=1e-6)
    assert not torch.allclose(one.q, two.q)


def test_targets_follow_by_a_share():
    ours, theirs = critics(), critics()
    with torch.no_grad():
        theirs.v[0][-1].bias.fill_(1.0)
    ours.follow(theirs, 0.1)
    ours.follow(theirs, 0.1)
    assert ours.v[0][-1].bias.item() == pytest.approx(0.19)


def test_the_replay_forgets_the_oldest_and_comes_back_from_tensors():
    replay = Replay(3)
    replay.add([*turns(), *turns()])
    assert [one.reward for one in replay.kept] == [1.0, -0.5, 1.0]
    again = Replay(3)
    again.load_state_dict(replay.state_dict())
    for one, other in zip(replay.kept, again.kept, strict=True):
        assert one[1:] == other[1:]
        assert one.tokens.tolist() == other.tokens.tolist()
    empty = Replay(2)
    empty.load_state_dict(Replay(2).state_dict())
    assert len(empty) == 0
    drawn = replay.sample(50, np.random.default_rng(0))
    assert len(drawn) == 50
    assert {one.done for one in drawn} == {True, False}


def test_many_turns_are_read_in_pieces_and_keep_their_places():
    rng = np.random.default_rng(0)
    many = [Transition(rng.integers(0, 40, n), n // 3, n // 2, 0.0, False) for n in rng.integers(20, 120, 96)]
    network = critics()
    for head in (*network.q, *network.v):
        torch.nn.init.normal_(head[-1].weight)  # they begin at 0, and then everything is equal
    assert len(list(similar(many))) > 1
    assert sorted(row for rows in similar(many) for row in rows) == list(range(96))
    alone = torch.cat([network.advantages([turn]) for turn in many])
    assert alone.std() > 0.1
    torch.testing.assert_close(network.advantages(many), alone, rtol=1e-4, atol=1e-4)
