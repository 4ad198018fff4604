"""Problems of Phone-v1: one key decides all, app data do not hang on the task, splits differ along one axis alone."""

from typing import Any

import gymnasium
import numpy as np
import pytest

import tiltyard  # noqa: F401
from tiltyard.envs import seeding
from tiltyard.envs.gui.apps.declared import DECLARED_V1, HELD_OUT_APPS, tasks
from tiltyard.envs.gui.phone_v1 import BatchedPhoneV1
from tiltyard.envs.gui.problems_v1 import (
    AXES,
    HELD_OUT_TEMPLATES,
    Drawn,
    Problem,
    Split,
    asked_hash,
    choices,
    fnv1a,
    generate,
    world,
)
from tiltyard.envs.gui.stream import Stream
from tiltyard.envs.gui.themes import TEST_THEMES

WORDINGS = {one.name: one.wordings for _, one in tasks()}


def problems(split: Split, level: int = 1, n: int = 20) -> list[Problem]:
    keys = seeding.problem_keys(split.name, np.arange(n), np.zeros(n, np.int64)).tolist()
    return [generate(key, level, choices(level, None, split), split) for key in keys]


def sides(problem: Problem) -> dict[str, bool]:
    """Along which axes a problem is a test problem."""
    name = problem.template.name
    app = not set(problem.template.apps).isdisjoint(HELD_OUT_APPS)
    return {
        "params": bool(seeding.in_test_split(asked_hash(name, problem.goal))),
        "wording": problem.goal.wording == len(WORDINGS[name]) - 1,
        "template": name in HELD_OUT_TEMPLATES and not app,
        "app": app,
        "theme": problem.twists.theme in TEST_THEMES,
        "locale": problem.locale != "en",
    }


def test_hashes_are_fnv1a() -> None:
    # The published test vectors of 64-bit FNV-1a.
    assert fnv1a("") == 0xCBF29CE484222325
    assert fnv1a("foobar") == 0x85944171F73967E8


def test_a_key_decides_the_problem() -> None:
    split = Split()
    numbers = choices(2, None, split)
    one, again, other = (generate(key, 2, numbers, split) for key in (5, 5, 6))
    assert repr(one) == repr(again)
    assert one.digest == again.digest != other.digest
    assert one.goal.expected == again.goal.expected
    assert one.state != other.state


def test_app_data_are_drawn_from_streams_of_their_own_and_only_when_asked_for() -> None:
    programs = world().programs
    root = Stream(77)
    for attempt in (0, 2):
        state = Drawn(programs, root, attempt, {})
        shop = state["shop"]
        assert list(state) == ["shop"]
        number = [app.key for app in DECLARED_V1].index("shop")
        assert shop == programs["shop"].initial(Stream(77).child(1 + number + 64 * attempt))
        copy = state.copy()
        assert copy["shop"] is shop
        assert copy["settings"] == state["settings"]
        assert list(state.all()) == list(programs)


def test_train_problems_are_train_problems_along_every_axis() -> None:
    for level in (1, 2, 3):
        for problem in problems(Split(), level):
            assert not any(sides(problem).values()), problem.goal.text
    assert repr(problems(Split("train", "wording"))) == repr(problems(Split())), "held_out is about the test split"


@pytest.mark.parametrize("axis", AXES)
def test_test_problems_differ_along_one_axis_alone(axis: Any) -> None:
    for problem in problems(Split("test", axis)):
        differing = [name for name, differs in sides(problem).items() if differs]
        assert differing == [axis], problem.goal.text


def test_half_of_the_phones_of_level_1_start_in_the_first_app_of_the_task() -> None:
    opened = [(one.opened, one.template.apps[0]) for one in problems(Split(), 1, 80)]
    assert 25 <= sum(bool(app) for app, _ in opened) <= 55
    assert all(app in ("", first) for app, first in opened)
    assert not any(one.opened for one in problems(Split(), 2))
    phone = next(one for one in problems(Split(), 1) if one.opened).phone()
    assert len(phone.stack) == 1
    assert not phone.loading


def test_drift_makes_some_apps_more_popular() -> None:
    calm, moved = Split(), Split(drift=1.0)
    ratios = {one.apps[0]: moved.weight(one) / calm.weight(one) for one in world().templates}
    assert ratios["settings"] == 0.25
    assert ratios["contacts"] == 1.5


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"held_out": "colour"}, "held_out"),
        ({"drift": 1.5}, "drift is from 0 to 1"),
        ({"rows": ["theme", "rain"]}, "rain"),
        ({"split": "test", "held_out": "theme", "rows": ["home"]}, "needs the row"),
        ({"apps": ["notes"]}, "held_out='app'"),
        ({"apps": ["nothing"]}, "nothing"),
        ({"level": 4}, "level"),
        ({"split": "dev"}, "split"),
    ],
)
def test_keywords_outside_of_what_there_is_are_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BatchedPhoneV1(1, **keywords)


def test_an_episode_of_the_environment() -> None:
    env: Any = gymnasium.make("tiltyard/Phone-v1", split="test", held_out="wording", level=2)
    observation, info = env.reset(seed=3)
    assert env.observation_space.contains(observation)
    assert set(info) >= {"goal", "template", "apps", "level", "problem", "infeasible", "locale"}
    again, _ = env.reset(seed=3)
    assert again["tree"] == observation["tree"]
    _, _, terminated, _, info = env.step("done")
    assert terminated
    assert not info["success"]
    observation, _ = env.reset(seed=3)
    terminated = False
    while not terminated:
        action = env.unwrapped.expert().predict(observation)[0]
        observation, reward, terminated, _, info = env.step(action)
    assert info["success"]
    assert reward == 1.0


def test_a_batch_plays_as_its_phones_do_alone_and_copies_go_on_alike() -> None:
    batch, alone = BatchedPhoneV1(3, level=2), BatchedPhoneV1(1, level=2)
    seeds, episodes = np.array([4, 5, 6]), np.zeros(3, np.int64)
    batch.begin(np.arange(3), seeds, episodes)
    alone.begin(np.arange(1), seeds[1:2], episodes[:1])
    for _ in range(6):
        actions = batch.expert_actions()
        assert alone.expert_actions() == actions[1:2]
        batch.advance(list(actions), np.ones(3, np.bool_))
        alone.advance(list(actions[1:2]), np.ones(1, np.bool_))
        assert batch.observe()["tree"][1] == alone.observe()["tree"][0]
    state = batch.snapshot(1)
    alone.begin(np.arange(1), seeds[:1], episodes[:1])
    alone.restore(0, state)
    assert alone.observe()["tree"][0] == batch.observe()["tree"][1]


def test_saying_infeasible_at_once_succeeds_rarely_in_every_split() -> None:
    for axis in AXES:
        for level in (1, 2, 3):
            split = Split("test", axis)
            some = [world().templates[number] for number in choices(level, None, split)]
            rare = sum(split.weight(one) for one in some if one.infeasible)
            assert rare / sum(split.weight(one) for one in some) < 0.08, (axis, level)
