"""Phone-v1 on the compiled phone is Phone-v1 on the interpreted one: observations, rewards, infos, in any batch."""

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest

import tiltyard  # noqa: F401
from tiltyard.envs import InvalidAction
from tiltyard.envs.gui import phone_v1
from tiltyard.envs.gui.compiled import env as compiled
from tiltyard.envs.gui.compiled import memory as w
from tiltyard.envs.gui.compiled.core import Faulty, hashes
from tiltyard.envs.gui.elements import SIZES
from tiltyard.envs.gui.problems_v1 import fnv1a


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, tuple | list) or (isinstance(a, np.ndarray) and a.dtype == object):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(np.array_equal(a, b)) if isinstance(a, np.ndarray) else bool(a == b)


@pytest.mark.parametrize("keywords", [{}, {"level": 3, "split": "test", "held_out": "wording"}], ids=["train", "test"])
def test_pixels_trees_rewards_and_infos_are_those_of_the_interpreted_phone(keywords: dict[str, Any]) -> None:
    ours, other = (one.PhoneV1VectorEnv(3, max_episode_steps=12, **keywords) for one in (compiled, phone_v1))
    seen = ours.reset(seed=4), other.reset(seed=4)
    assert same(*seen)
    space = ours.single_action_space
    space.seed(0)
    for step in range(30):
        expert = other.expert().predict(seen[1][0])[0]
        actions = tuple(expert[i] if (step + i) % 3 else space.sample() for i in range(3))
        assert ours.expert().predict(seen[0][0])[0] == expert
        seen = ours.step(actions), other.step(actions)
        assert same(*seen), step


def test_info_says_of_each_phone_whether_its_command_was_understood() -> None:
    for phones in (compiled, phone_v1):
        env = phones.PhoneV1VectorEnv(3)
        env.reset(seed=4)
        understood = [env.step(said)[4]["understood"].tolist() for said in (("back", "bak", "tap 2 2"), ("wait",) * 3)]
        assert understood == [[True, False, False], [True, True, True]]


def test_numbers_do_what_words_do() -> None:
    ours = compiled.PhoneV1VectorEnv(4, observation="elements", max_episode_steps=10)
    other = phone_v1.PhoneV1VectorEnv(4, observation="elements", max_episode_steps=10)
    rng, seen = np.random.default_rng(0), (ours.reset(seed=9), other.reset(seed=9))
    assert same(*seen)
    for step in range(40):
        actions = np.stack([rng.integers(0, n, 4) for n in SIZES], 1)
        actions[:, 0] = np.where(rng.random(4) < 0.5, 0, actions[:, 0])  # more taps
        actions[:, 1:3] %= 12
        if step % 4 == 0:
            actions = other.expert().predict(None)[0]
        seen = ours.step(actions), other.step(actions)
        assert same(*seen), step


def test_a_phone_is_the_same_alone_and_in_a_large_batch_with_threads() -> None:
    many = compiled.BatchedPhoneV1(64, observation="elements", threads=2)
    alone = compiled.BatchedPhoneV1(1, observation="elements", threads=1)
    many.begin(np.arange(64), np.arange(64), np.zeros(64, np.int64))
    alone.begin(np.array([0]), np.array([41]), np.array([0]))
    rng = np.random.default_rng(1)
    for _ in range(25):
        actions = np.stack([rng.integers(0, n, 64) for n in (16, 15, 15, 20, 5)], 1)
        many.advance(actions, np.ones(64, np.bool_))
        alone.advance(actions[41:42], np.ones(1, np.bool_))
        assert (many.observe()["elements"][41] == alone.observe()["elements"][0]).all()
    assert many.core._threads == 2


@pytest.mark.parametrize("observation", compiled.OBSERVATIONS)
def test_every_kind_of_observation_is_in_its_space(observation: str) -> None:
    env = gymnasium.make("tiltyard/Phone-v1", observation=observation)
    seen, _ = env.reset(seed=0)
    assert env.observation_space.contains(seen)
    seen, *_ = env.step(env.action_space.sample())
    assert env.observation_space.contains(seen)


def test_languages_stand_side_by_side() -> None:
    env = compiled.PhoneV1VectorEnv(6, split="test", held_out="locale", observation="tree")
    seen, info = env.reset(seed=1)
    assert set(info["locale"]) == {"de", "es"}
    for index in range(6):
        problem, phone = env.unwrapped.batched.mirror(index)  # type: ignore[attr-defined]
        assert problem.locale == info["locale"][index]
        assert seen["tree"][index] == phone.tree()


def test_copies_and_snapshots_go_on_alike() -> None:
    one = compiled.BatchedPhoneV1(2, level=2, observation="tree")
    one.begin(np.arange(2), np.array([5, 6]), np.zeros(2, np.int64))
    go = np.ones(2, np.bool_)
    for _ in range(4):
        one.advance(one.expert_actions(), go)
    kept = one.snapshot(1)
    copies = [copy.deepcopy(one), pickle.loads(pickle.dumps(one))]
    for _ in range(6):
        actions = one.expert_actions()
        one.advance(actions, go)
        for other in copies:
            assert other.expert_actions() == actions
            other.advance(actions, go)
            assert other.observe() == one.observe()
    last = one.observe()["tree"][1]
    one.restore(1, kept)
    for _ in range(6):
        one.advance(one.expert_actions(), np.array([False, True]))
    assert one.observe()["tree"][1] == last


def test_bad_arguments_and_actions_say_what_is_wrong() -> None:
    for keywords, words in (
        ({"observation": "smell"}, "observation"), ({"held_out": "moon"}, "held_out"), ({"drift": 2.0}, "drift"),
        ({"level": 4}, "level"), ({"apps": "radio"}, "app"), ({"size": (100, 100)}, "16 to 9"),
        ({"rows": ["x"]}, "unknown row 'x'"), ({"rows": "foo"}, "unknown row 'foo'"), ({"size": "big"}, "got 'big'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            compiled.BatchedPhoneV1(1, **keywords)  # type: ignore[arg-type]
    env = gymnasium.make("tiltyard/Phone-v1", observation="elements")
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="five integers"):
        env.step(np.array([99, 0, 0, 0, 0]))


def test_a_fault_of_the_machine_is_an_error_that_names_the_phone() -> None:
    one = compiled.BatchedPhoneV1(2, observation="tree")
    one.begin(np.arange(2), np.arange(2), np.zeros(2, np.int64))
    one.core.memory[1, w.FAULT] = 7
    with pytest.raises(Faulty, match="phone 1 .* a list is too short"):
        one.advance(["wait", "wait"], np.ones(2, np.bool_))


def test_hashes_of_many_texts_are_those_of_each() -> None:
    texts = ["", "a", "12|Turn Wi-Fi on", "M\N{LATIN SMALL LETTER U WITH DIAERESIS}nchen " * 40]
    assert hashes(texts) == [fnv1a(text) for text in texts]
    assert hashes([]) == []
