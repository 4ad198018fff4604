"""Card games: what is shown, what is paid, and what is timed."""

import numpy as np
import pytest

from tiltyard.benchmarks.testbeds.cards import DECK, SUITS, TASKS, CardGames, Cards, CardsVectorEnv, Learner


@pytest.mark.parametrize("task", TASKS)
def test_the_right_answers_pay_one_and_wrong_ones_minus_one(task: str) -> None:
    envs = CardsVectorEnv(3, task=task)
    for right, best in ((True, 1.0), (False, -1.0)):
        envs.reset(seed=0)
        total, steps, over = np.zeros(3), 0, np.zeros(3, np.bool_)
        while not over.any():
            answers = envs.batched.expert_actions()
            _, rewards, over, _, _ = envs.step(answers if right else (answers + 1) % SUITS)
            total, steps = total + rewards, steps + 1
        assert total.tolist() == pytest.approx([best] * 3)
        assert over.all()
        assert steps == (DECK - 1 if task == "first" else DECK)


def test_cards_are_a_deck_and_what_is_asked_was_shown() -> None:
    games = Cards(2, task="previous", back=3)
    games.begin(np.arange(2), np.array([4, 4]), np.array([0, 1]))
    assert [np.bincount(cards).tolist() for cards in games.cards] == [[13] * 4] * 2
    assert not np.array_equal(*games.cards)
    shown = []
    for step in range(6):
        seen = games.observe()
        assert seen[:, -1].tolist() == [float(step == 0)] * 2
        shown.append(seen[:, :SUITS].argmax(axis=1))
        wanted = shown[step - 3] if step >= 3 else np.array([-1, -1])
        assert games.wanted.tolist() == wanted.tolist()
        games.advance(np.array([step % SUITS, 2]), np.ones(2, np.bool_))
        assert games.observe()[:, SUITS:-1].argmax(axis=1).tolist() == [step % SUITS, 2]
    assert games.steps.tolist() == [6, 6]
    assert games.advance(np.array([0, 0]), np.array([True, False]))[0][1] == 0.0
    assert games.steps.tolist() == [7, 6]


def test_what_cannot_be_played_is_refused() -> None:
    with pytest.raises(ValueError, match="task is one of"):
        Cards(1, task="last")
    with pytest.raises(ValueError, match="back between 1 and 51, got 'previous' and 52"):
        Cards(1, task="previous", back=52)


def test_a_run_is_decided_by_its_seed_and_longer_sequences_take_longer() -> None:
    bed = CardGames(steps=208, moments=1, episodes=2, n_envs=4, lengths=(2, 64))
    learner = Learner(agent="s5-rl", task="first", policy=(("s5_width", 8), ("s5_states", 8)))
    one, again, other = (bed.run(learner, 0.003, seed) for seed in (0, 0, 1))
    assert one.scores.tolist() == again.scores.tolist()
    assert one.scores.tolist() != other.scores.tolist()
    assert one.scores.shape == (1,)
    assert (one.seconds > 0).all()
