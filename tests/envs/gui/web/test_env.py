"""``tiltyard/WebPhone-v0``: Gymnasium's contract, the reward, bad input, and pages that die."""

import pickle
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tiltyard.envs import InvalidAction
from tiltyard.envs.gui.web.env import WebPhoneEnv, WebPhoneVectorEnv

pytestmark = pytest.mark.web


@pytest.fixture(scope="module")
def shared() -> Iterator[WebPhoneEnv]:
    env = WebPhoneEnv(render_mode="rgb_array", rows=())
    yield env
    env.close()


@pytest.fixture
def env(shared: WebPhoneEnv) -> WebPhoneEnv:
    shared.reset(seed=0)
    return shared


def solve(env: Any, limit: int = 60) -> tuple[float, dict[str, Any]]:
    for _ in range(limit):
        action, _ = env.expert().predict(None)
        _, reward, terminated, _, info = env.step(action)
        if terminated:
            return float(reward), info
    raise AssertionError("the expert did not end")


def test_it_meets_gymnasiums_contract() -> None:
    env = gymnasium.make("tiltyard/WebPhone-v0")
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec is not None
    assert env.spec.max_episode_steps == 60
    env.close()


def test_the_expert_earns_one_and_done_at_once_nothing(env: WebPhoneEnv) -> None:
    assert solve(env)[0] == 1.0
    env.reset(seed=1)
    _, reward, terminated, _, info = env.step("done")
    assert (reward, terminated, info["success"]) == (0.0, True, False)


def test_an_action_that_cannot_be_read_costs_a_hundredth_and_is_said_to_be_so(env: WebPhoneEnv) -> None:
    observation, reward, terminated, _, info = env.step("tap somewhere")
    assert (reward, terminated) == (-0.01, False)
    assert info["reward_terms"] == {"goal": 0.0, "format": -0.01}
    assert 'message "could not read that action' in observation["tree"]


BAD = ("tap 2 2", "tap nan 0", "", "type " + "x" * 10_000, "type \u00e9\u4e16", "fly home")


@pytest.mark.parametrize("action", BAD, ids=range(len(BAD)))
def test_bad_words_do_nothing(env: WebPhoneEnv, action: str) -> None:
    before = env.batched.phones[0].state
    _, reward, _, _, _ = env.step(action)
    assert reward == -0.01
    assert env.batched.phones[0].state == before


def test_what_is_no_string_is_refused(env: WebPhoneEnv) -> None:
    with pytest.raises(InvalidAction):
        env.step(3)


def test_the_last_row_and_column_are_on_the_page(env: WebPhoneEnv) -> None:
    phone: Any = env.batched.phones[0]
    for action in ("tap 1 1", "long_press 1 1", "drag 0 0 1 1", "drag 1 1 0 0", "tap 0 0"):
        steps = phone.report["steps"]
        env.step(action)
        assert phone.report["steps"] == steps + 1, action


def test_markup_in_typed_text_is_text() -> None:
    env = WebPhoneEnv(apps=["contacts"], rows=())
    env.reset(seed=0)
    typed = "<b onclick=alert(1)>&amp;</b>"
    for action in ("home", "open Phone", "tap 0.4 0.28", f"type {typed}"):
        observation, *_ = env.step(action)
    assert f'"{typed}"' in observation["tree"]
    phone: Any = env.batched.phones[0]
    assert phone.page.evaluate("document.querySelectorAll('#column b').length") == 0
    assert typed in phone.page.evaluate("document.getElementById('column').textContent")
    env.close()


def test_screens_change_when_the_page_does(env: WebPhoneEnv) -> None:
    first, *_ = env.step("home")
    again, *_ = env.step("back")  # there is nothing to go back to
    changed, *_ = env.step("open Settings")
    assert np.array_equal(first["screen"], again["screen"])
    assert not np.array_equal(first["screen"], changed["screen"])
    assert first["screen"].shape == (640, 360, 3)
    assert np.array_equal(env.render(), changed["screen"])
    assert len(np.unique(changed["screen"].reshape(-1, 3), axis=0)) > 20


def test_a_dead_page_ends_its_episode_and_the_next_one_has_another(env: WebPhoneEnv) -> None:
    phone: Any = env.batched.phones[0]
    phone.page.send("Page.crash")
    _, reward, terminated, truncated, info = env.step("home")
    assert (reward, terminated, truncated, info["success"], info["crashed"]) == (0.0, False, True, False, True)
    env.reset(seed=0)
    reward, info = solve(env)
    assert reward == 1.0
    assert not info["crashed"]


def test_a_dead_browser_ends_the_episodes_of_its_pages() -> None:
    env = WebPhoneVectorEnv(2)
    env.reset(seed=[0, 1])
    pages: Any = env.batched.phones  # type: ignore[attr-defined]
    pages[0].page.browser.close()
    _, reward, terminated, truncated, info = env.step(("home", "home"))
    assert truncated.all()
    assert not terminated.any()
    assert not reward.any()
    assert info["final_info"]["crashed"].all()
    _, _, _, truncated, _ = env.step(("home", "home"))
    assert not truncated.any()
    env.close()


def test_a_phone_is_the_same_alone_and_beside_others(env: WebPhoneEnv) -> None:
    several = WebPhoneVectorEnv(2, rows=())
    batch, _ = several.reset(seed=[4, 9])
    alone, _ = env.reset(seed=9)
    for action in ("home", "open Settings", "tap 0.5 0.3", "swipe up"):
        assert alone["tree"] == batch["tree"][1]
        assert np.array_equal(alone["screen"], batch["screen"][1])
        alone, *_ = env.step(action)
        batch, *_ = several.step(("wait", action))
    several.close()


def test_a_copy_goes_on_from_where_it_was(env: WebPhoneEnv) -> None:
    env.step("home")
    seen, *_ = env.step("open Settings")
    copy = pickle.loads(pickle.dumps(env))
    env.step("back")
    other, *_ = copy.step("wait")
    assert other["tree"] == seen["tree"]
    copy.close()


@pytest.mark.parametrize(
    ("keywords", "says"),
    [
        ({"layout": "grid"}, "unknown layout 'grid'"),
        ({"size": (640, 400)}, "16 to 9"),
        ({"size": (64, 36)}, "240 to 2560"),
        ({"size": 640}, r"size is \(height, width\)"),
        ({"size": (640.5, 360)}, "in whole pixels"),
        ({"size": ("640", "360")}, "in whole pixels"),
        ({"render_mode": "human"}, "render_mode"),
        ({"browsers": 2}, "browsers must be from 1"),
    ],
)
def test_keywords_that_make_no_sense_are_refused(keywords: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        WebPhoneEnv(**keywords)
