"""Ambiguous instructions, answers, rewards and the expert of AskToAct, each by hand."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.envs import InvalidAction
from tiltyard.envs.robotics.ask_to_act import (
    ASK_COLOUR,
    ASK_LARGE,
    ASK_PLACE,
    MEANT,
    OBJECTS,
    PICK,
    PLACES,
    PUT,
    SLOTS,
    BatchedAskToAct,
    held_out,
)

ROW = "tiltyard/AskToAct-v0"


def made(**how: Any) -> tuple[gymnasium.Env[Any, Any], BatchedAskToAct]:
    env = gymnasium.make(ROW, **how)
    env.reset(seed=0)
    batched: BatchedAskToAct = env.unwrapped.batched
    return env, batched


def cups(**how: Any) -> tuple[gymnasium.Env[Any, Any], BatchedAskToAct]:
    """ "Bring the cup to the desk", of four: large red on place 0, small red on 1, small blue on 2, small white on 3.

    The first is meant; the others are small red bowls on 4, 5 and 7, and the robot is at place 9, the sink.
    """
    env, home = made(**how)
    home.kind[0], home.colour[0], home.large[0] = [0] * 4 + [1] * 8, [0, 0, 2, 3] + [0] * 8, [True] + [False] * 11
    for one, (kind, colour, large) in enumerate(zip(home.kind[0], home.colour[0], home.large[0], strict=True)):
        home.looks[0, one] = [*np.eye(6)[kind], *np.eye(5)[colour], 1 if large else -1]
    home.origin[0] = [0, 1, 2, 3, 4, 4, 4, 5, 5, 5, 7, 7]
    home.slots[0] = -1
    for one, place in enumerate(home.origin[0]):
        home.slots[0, place, np.flatnonzero(home.slots[0, place] < 0)[0]] = one
    home.says_colour[0], home.says_large[0], home.destination[0], home.at[0] = -1, 0, 6, 9
    home.visited[0] = [False] * 9 + [True]
    return env, home


def run(env: gymnasium.Env[Any, Any], *actions: int) -> tuple[float, bool, dict[str, Any]]:
    """Rewards in sum, and the end of the last step."""
    total = 0.0
    for action in actions:
        _, reward, terminated, _, info = env.step(action)
        total += float(reward)
    return total, terminated, info


def fits(home: BatchedAskToAct) -> list[int]:
    return np.flatnonzero(home.fitting()[0]).tolist()


@pytest.mark.parametrize(
    ("question", "left"),
    [
        (ASK_COLOUR + 0, [0, 1]),  # red: yes
        (ASK_COLOUR + 2, [0, 1, 3]),  # blue: no
        (ASK_LARGE, [0]),
        (ASK_PLACE + 0, [0]),  # on the kitchen counter: yes
        (ASK_PLACE + 1, [0, 2, 3]),
        (ASK_COLOUR + 1, [0, 1, 2, 3]),  # green: no, and no object that fits is green
        (ASK_PLACE + 4, [0, 1, 2, 3]),
    ],
)
def test_an_answer_rules_out_what_it_does(question: int, left: list[int]) -> None:
    env, home = cups()
    assert fits(home) == [0, 1, 2, 3]
    _, _, info = run(env, question)
    assert fits(home) == left
    assert (info["questions"], info["redundant"]) == (1, len(left) == 4)
    _, _, info = run(env, question)  # once more says nothing
    assert (info["questions"], info["redundant"]) == (2, 1 + (len(left) == 4))


def test_answers_to_several_questions_hold_together() -> None:
    env, home = cups()
    run(env, ASK_PLACE + 1, ASK_COLOUR + 3)
    assert fits(home) == [0, 2]
    home.says_colour[0] = 2  # "the blue cup"
    assert fits(home) == [2]
    home.says_colour[0], home.says_large[0] = -1, -1  # "the small cup"
    assert fits(home) == [2]


def test_reward_is_success_less_five_hundredths_a_question() -> None:
    env, _ = cups()
    reward, terminated, info = run(env, ASK_LARGE, ASK_LARGE, 0, PICK, 6, PUT)
    assert reward == pytest.approx(1 - 2 * 0.05)
    assert terminated
    assert info["success"]
    assert info["reward_terms"] == {"success": 1.0, "questions": pytest.approx(-0.1)}


def test_questions_beyond_ten_cost_nothing_more() -> None:
    env, _ = cups()
    assert run(env, *[ASK_LARGE] * 13, 0, PICK, 6, PUT)[0] == pytest.approx(0.5)


def test_the_wrong_object_ends_the_episode_without_reward() -> None:
    env, _ = cups()
    reward, terminated, info = run(env, ASK_LARGE, 1, PICK, 6, PUT)
    assert (reward, terminated, info["success"]) == (0.0, True, False)


def test_the_dense_reward_pays_for_what_is_useful_when_it_is_done() -> None:
    env, _ = cups(reward="dense")
    assert run(env, ASK_COLOUR + 1)[0] == pytest.approx(-0.05)
    assert run(env, ASK_COLOUR + 0)[0] == pytest.approx(0.1 - 0.05)
    assert run(env, 1, PICK)[0] == 0.0  # not the one
    assert run(env, PUT, 0)[0] == 0.0
    assert run(env, PICK)[0] == pytest.approx(0.2)
    assert run(env, PUT, PICK)[0] == 0.0  # once
    assert run(env, 5, 6)[0] == pytest.approx(0.2)
    assert run(env, 5, 6)[0] == 0.0  # once
    reward, terminated, info = run(env, PUT)
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    names = ("success", "questions", "useful_questions", "picked_up", "arrived")
    assert info["reward_terms"] == dict(zip(names, (1.0, 0.0, 0.0, 0.0, 0.0), strict=True))


def test_what_cannot_be_done_changes_nothing() -> None:
    env, home = cups()
    before = home.slots.copy()
    run(env, PUT, PICK, 0, PICK + 1)  # empty hands; no object in any slot of the sink; the counter has one object
    np.testing.assert_array_equal(home.slots, before)
    run(env, PICK, 1, PICK)  # full hands
    assert home.held[0] == 0
    run(env, 4, PUT)  # a full receptacle
    assert home.held[0] == 0
    run(env, 9, PUT)
    assert home.held[0] == -1
    assert home.slots[0, 9].tolist() == [0, -1, -1]
    assert fits(home) == [0, 1, 2, 3]


def test_places_are_asked_for_as_they_were_at_first() -> None:
    env, home = cups()
    run(env, 0, PICK, 9, PUT, ASK_PLACE + 9)
    assert fits(home) == [0, 1, 2, 3]
    run(env, ASK_PLACE + 0)
    assert fits(home) == [0]


def test_only_what_was_visited_is_seen() -> None:
    env, home = cups()
    places, slots = len(PLACES), len(PLACES) * SLOTS
    start = env.unwrapped.batched.observe()[0]
    looks, flags = start[-slots - 12 * slots : -slots].reshape(places, SLOTS, 12), start[-slots:].reshape(places, SLOTS)
    assert not looks.any()
    assert not flags.any()
    observation, *_ = env.step(1)
    looks = observation[-slots - 12 * slots : -slots].reshape(places, SLOTS, 12)
    small_red_cup = [1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1]
    assert looks[1, 0].tolist() == small_red_cup
    assert np.flatnonzero(looks.any((1, 2))).tolist() == [1]
    assert observation[-slots:].reshape(places, SLOTS)[1].tolist() == [1, 0, 0]
    observation, *_ = env.step(ASK_LARGE)
    assert not observation[-slots:].any()
    observation, *_ = env.step(0)
    assert np.argwhere(observation[-slots:].reshape(places, SLOTS)).tolist() == [[0, 0]]


def test_nothing_observed_tells_the_object_meant_from_its_doubles() -> None:
    env, home = cups()
    run(env, 0, 1, 2, 3)
    seen = home.observe()
    others = [1, 0, *range(2, OBJECTS)]  # the small red cup is meant instead
    for column in (home.kind, home.colour, home.large, home.looks, home.origin):
        column[0, : len(others)] = column[0, others].copy()
    home.slots[0] = np.select([home.slots[0] == 0, home.slots[0] == 1], [1, 0], home.slots[0])
    np.testing.assert_array_equal(home.observe(), seen)


def test_instructions_fit_as_many_objects_as_said_on_places_of_their_own() -> None:
    for fewest, most in ((1, 4), (1, 1), (3, 3), (6, 6)):
        env = gymnasium.make_vec(ROW, 300, vectorization_mode="vector_entry_point", ambiguity=(fewest, most))
        _, info = env.reset(seed=1)
        home: BatchedAskToAct = env.unwrapped.batched
        fitting = home.fitting()
        assert set(info["candidates"].tolist()) == set(range(fewest, most + 1))
        np.testing.assert_array_equal(fitting.sum(1), info["candidates"])
        for i in range(300):
            places = home.origin[i][fitting[i]].tolist()
            assert len(set(places)) == len(places)
            assert home.origin[i, MEANT] != home.destination[i]
            assert sorted(home.slots[i][home.slots[i] >= 0].tolist()) == list(range(OBJECTS))
        env.close()


def test_instructions_say_what_they_are_understood_as() -> None:
    env = gymnasium.make_vec(ROW, 200, vectorization_mode="vector_entry_point")
    _, info = env.reset(seed=2)
    home: BatchedAskToAct = env.unwrapped.batched
    kinds = ("cup", "bowl", "book", "toy", "shoe", "bottle")
    colours = ("red", "green", "blue", "white", "black")
    for i, said in enumerate(info["instruction"]):
        words = said.removesuffix(".").split()
        assert kinds[home.kind[i, MEANT]] in words
        assert said.endswith(f" to the {PLACES[home.destination[i]]}.")
        assert [one for one in colours if one in words] == (
            [colours[home.colour[i, MEANT]]] if home.says_colour[i] >= 0 else []
        )
        assert [one for one in ("small", "large") if one in words] == (
            [["small", "large"][int(home.large[i, MEANT])]] if home.says_large[i] else []
        )
    assert {(bool(c >= 0), bool(s)) for c, s in zip(home.says_colour, home.says_large, strict=True)} == {
        (False, False),
        (True, False),
        (False, True),
    }
    env.close()


def test_training_never_asks_for_the_combinations_held_out() -> None:
    asked = {}
    for split in ("train", "test"):
        env = gymnasium.make_vec(ROW, 1000, vectorization_mode="vector_entry_point", split=split)
        asked[split] = env.reset(seed=3)[1]["held_out"]
        env.close()
    assert not asked["train"].any()
    assert 0.15 < asked["test"].mean() < 0.25  # six of thirty
    assert held_out(np.repeat(np.arange(6), 5), np.tile(np.arange(5), 6)).sum() == 6


@pytest.mark.parametrize(("ambiguity", "questions"), [(1, 0.0), (2, 1.0)])
def test_the_expert_asks_only_what_it_must(ambiguity: int, questions: float) -> None:
    env = gymnasium.make_vec(ROW, 100, vectorization_mode="vector_entry_point", ambiguity=(ambiguity, ambiguity))
    observation, _ = env.reset(seed=4)
    expert, asked = env.unwrapped.expert(), []
    for _ in range(40):
        observation, _, terminated, _, info = env.step(expert.predict(observation)[0])
        if terminated.any():
            asked += info["final_info"]["questions"][terminated].tolist()
            assert info["final_info"]["success"][terminated].all()
    assert np.mean(asked[:100]) == questions
    env.close()


def test_the_expert_mends_what_others_did() -> None:
    env, home = cups()
    home.destination[0] = 8  # where the expert arrives last, with the wrong cup in its hand
    run(env, 1, PICK, 6)
    for _ in range(30):
        _, _, terminated, _, info = env.step(int(env.unwrapped.expert().predict(None)[0]))
        if terminated:
            break
    assert info["success"]
    assert home.questions[0] == 2  # red or not, large or not


def test_bad_values_are_refused() -> None:
    env, home = made()
    before = home.observe()
    for action in (30, -1, 1.5, [1, 2]):
        with pytest.raises(InvalidAction, match="from 0 to 29"):
            env.step(action)
    np.testing.assert_array_equal(home.observe(), before)
    for bad in ((0, 4), (3, 2), (1, 7)):
        with pytest.raises(ValueError, match="ambiguity must be two numbers from 1 to 6"):
            gymnasium.make(ROW, ambiguity=bad)
    with pytest.raises(ValueError, match="unknown reward 'dens'; did you mean 'dense'"):
        gymnasium.make(ROW, reward="dens")
