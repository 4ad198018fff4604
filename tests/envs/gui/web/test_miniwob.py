"""MiniWoB++ in a real Chromium: the contract of a live environment, no clock in the reward, and browsers that break."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from tiltyard import MissingExtra
from tiltyard.envs import InvalidAction, catalogue
from tiltyard.envs.gui.web import folder
from tiltyard.envs.gui.web.miniwob import MiniWoBEnv, MiniWoBVectorEnv

PAGES = Path(__file__).parent / "pages"
OURS: dict[str, Any] = {"task": "pick", "html": PAGES, "timeout": 30.0}
pytestmark = pytest.mark.web


@pytest.fixture(scope="module")
def shared() -> Iterator[MiniWoBEnv]:
    env = MiniWoBEnv(**OURS, pixels=True, render_mode="rgb_array")
    yield env
    env.close()


@pytest.fixture
def env(shared: MiniWoBEnv) -> MiniWoBEnv:
    shared.reset(seed=0)
    return shared


def press(tree: str, name: str) -> str:
    """The action that taps the middle of a button."""
    found = re.search(rf'button "{name}" .*?([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)$', tree, re.MULTILINE)
    assert found
    x0, y0, x1, y1 = map(float, found.groups())
    return f"tap {(x0 + x1) / 2} {(y0 + y1) / 2}"


def right(observation: dict[str, Any]) -> str:
    return press(observation["tree"], observation["goal"].split()[1])


def wrong(observation: dict[str, Any]) -> str:
    return press(observation["tree"], {"alpha": "beta", "beta": "alpha"}[observation["goal"].split()[1]])


def test_gymnasium_s_check_passes(env: MiniWoBEnv) -> None:
    check_env(env, skip_render_check=True, skip_close_check=True)


def test_the_tree_says_what_is_where(env: MiniWoBEnv) -> None:
    observation, info = env.reset(seed=3)
    assert observation["tree"].splitlines() == [
        'field "" "#words" 0.06 0.29 0.69 0.38',
        'button "alpha" "#alpha" 0.06 0.48 0.31 0.67',
        'button "beta" "#beta" 0.50 0.48 0.75 0.67',
    ]
    assert observation["goal"] == info["goal"]
    assert observation["goal"] in ("Press alpha", "Press beta")
    assert observation["screen"][103, 13].tolist() == [0x33, 0xCC, 0x33], "a corner of the button, whatever the font"
    assert env.render().shape == (210, 160, 3)


def test_the_reward_is_the_page_s_raw_one(env: MiniWoBEnv) -> None:
    observation, _ = env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step(right(observation))
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)  # the timed one is 0.5
    observation, _ = env.reset()
    _, reward, terminated, _, info = env.step(wrong(observation))
    assert (reward, terminated, info["success"]) == (-1.0, True, False)
    assert info["reason"].startswith("pressed ")
    assert info["reward_terms"] == {"goal": -1.0, "format": 0.0}


def test_a_seed_names_a_problem_and_splits_do_not_share_seeds(env: MiniWoBEnv) -> None:
    first = [env.reset(seed=seed)[0]["goal"] for seed in range(12)]
    assert [env.reset(seed=seed)[0]["goal"] for seed in range(12)] == first
    assert set(first) == {"Press alpha", "Press beta"}
    test = MiniWoBEnv(**OURS, split="test")
    assert test.reset(seed=0)[1]["page_seed"] != env.reset(seed=0)[1]["page_seed"]
    assert [one.batched.tabs.page(0).evaluate("core.mode") for one in (env, test)] == ["train", "test"]
    test.close()


def test_typed_html_is_text(env: MiniWoBEnv) -> None:
    env.step("tap 0.3 0.34")
    for text in ('<b id="x">&amp; é 漢', "' \\ </script>"):
        tree = env.step(f"type {text}")[0]["tree"]
        assert text.replace('"', "'") in tree
    env.step("key Control+a")
    assert 'field "" "#words" 0.06 0.29 0.69 0.38 focused' in env.step("key Delete")[0]["tree"].splitlines()


@pytest.mark.parametrize(
    "action",
    ["", "dance", "tap 2 0.5", "tap -0.1 0", "tap nan 0", "tap 0.5", "type " + "x" * 10_000, "drag 0 0", "key Entr"],
)
def test_what_cannot_be_read_does_nothing_but_cost(env: MiniWoBEnv, action: str) -> None:
    before = env.reset(seed=2)[0]["tree"]
    observation, reward, terminated, _, info = env.step(action)
    message, _, tree = observation["tree"].partition("\n")
    assert message.startswith('message "could not read that')
    assert (tree, reward, terminated, info["reward_terms"]["format"]) == (before, -0.01, False, -0.01)


def test_what_is_no_string_is_refused(env: MiniWoBEnv) -> None:
    with pytest.raises(InvalidAction):
        env.step(3)


def test_every_gesture_reaches_the_page(env: MiniWoBEnv) -> None:
    page = env.batched.tabs.page(0)
    page.evaluate(
        "window.seen = []; for (const kind of ['mousedown', 'mouseup', 'dblclick', 'wheel', 'mousemove', 'keydown'])"
        "window.addEventListener(kind, event => seen.push(kind))"
    )
    kinds = {}
    for action in (
        "tap 1 1",
        "double_tap 1 1",
        "long_press 1 1",
        "hover 0.9 0.9",
        "drag 0.9 1 1 1",
        "swipe up",
        "enter",
    ):
        page.evaluate("seen.length = 0")
        env.step(action)
        kinds[action.split()[0]] = set(page.evaluate("seen"))
    assert kinds["tap"] >= {"mousedown", "mouseup"}
    assert "dblclick" in kinds["double_tap"]
    assert kinds["long_press"] >= {"mousedown", "mouseup"}
    assert kinds["hover"] == {"mousemove"}
    assert kinds["drag"] >= {"mousedown", "mousemove", "mouseup"}
    assert kinds["enter"] == {"keydown"}
    assert "wheel" in kinds["swipe"]


def test_a_vector_gives_what_single_environments_give(env: MiniWoBEnv) -> None:
    vector = MiniWoBVectorEnv(3, browsers=2, max_episode_steps=2, **OURS)
    observation, _ = vector.reset(seed=4)
    alone = [env.reset(seed=4 + i)[0] for i in range(3)]
    assert list(observation["goal"]) == [one["goal"] for one in alone]
    assert list(observation["tree"]) == [one["tree"] for one in alone]
    actions = [right(alone[0]), wrong(alone[1]), "wait"]
    _, reward, terminated, truncated, info = vector.step(actions)
    assert reward.tolist() == [1.0, -1.0, 0.0]
    assert terminated.tolist() == [True, True, False]
    assert info["final_info"]["success"].tolist() == [True, False, False]
    _, _, _, truncated, _ = vector.step(["wait"] * 3)
    assert truncated.tolist() == [False, False, True]
    vector.close()


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_a_crashed_browser_is_replaced_and_its_episode_marked(mode: AutoresetMode) -> None:
    vector = MiniWoBVectorEnv(2, autoreset_mode=mode, **OURS)
    vector.reset(seed=0)
    tabs = vector.batched.tabs
    os.kill(tabs.page(0).browser.process.pid, signal.SIGKILL)
    _, reward, terminated, truncated, info = vector.step(["wait", "wait"])
    final = info["final_info"] if mode == AutoresetMode.SAME_STEP else info
    assert truncated.tolist() == [True, False]
    assert terminated.tolist() == [False, False]
    assert reward.tolist() == [0.0, 0.0]
    assert final["crashed"].tolist() == [True, False]
    assert "gone" in final["reason"][0]
    observation, *_, truncated, info = vector.step(["wait", "wait"])
    assert not truncated.any()
    assert observation["goal"][0].startswith("Press ")
    assert "button" in observation["tree"][0]
    assert tabs.restarts == 1
    vector.close()


def break_off(env: MiniWoBEnv, how: str) -> None:
    page = env.batched.tabs.page(0)
    if how == "dead renderer":
        page.send("Page.crash")
    elif how == "stopped browser":
        os.killpg(page.browser.process.pid, signal.SIGSTOP)
    elif how == "closed browser":
        page.browser.close()
    elif how == "endless script":
        page.ask("for (;;);")
    else:
        page.evaluate("tiltyard = undefined")


WAITED_FOR = [pytest.param(how, marks=pytest.mark.slow) for how in ("stopped browser", "endless script")]
"""Breaks that show by nothing but that no answer comes, so that each step waits for its time-out."""


@pytest.mark.parametrize("how", ["dead renderer", "closed browser", "broken page", *WAITED_FOR])
def test_nothing_hangs_and_the_next_reset_works(how: str) -> None:
    env = MiniWoBEnv(**{**OURS, "timeout": 2.5}, pixels=True)
    env.reset(seed=0)
    break_off(env, how)
    observation, reward, terminated, truncated, info = env.step("tap 0.5 0.5")
    assert (reward, terminated, truncated, info["crashed"], info["success"]) == (0.0, False, True, True, False)
    assert observation in env.observation_space
    assert observation["tree"].startswith("message")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("wait")
    observation, _ = env.reset(seed=1)
    assert env.step(right(observation))[1] == 1.0
    break_off(env, how)
    assert "button" in env.reset(seed=2)[0]["tree"]
    env.close()


def test_bad_settings_are_named() -> None:
    with pytest.raises(ValueError, match="did you mean 'pick'"):
        MiniWoBEnv(task="pik", html=PAGES)
    with pytest.raises(ValueError, match="browsers must be from 1"):
        MiniWoBVectorEnv(2, browsers=3, **OURS)
    bad: tuple[dict[str, Any], ...] = ({"success_above": "x"}, {"success_above": float("nan")}, {"timeout": -1.0})
    for settings in bad:
        with pytest.raises(ValueError, match=f"{next(iter(settings))} must be a number of at least"):
            MiniWoBEnv(**{**OURS, **settings})
    with pytest.raises(TypeError, match="no scripted expert"):
        MiniWoBEnv(**OURS).expert().predict(None)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "PACKAGE", "miniwob_that_is_not_there")
    assert folder.tasks() == []
    with pytest.raises(MissingExtra, match=r"pip install .*\[web\]"):
        gymnasium.make("tiltyard/MiniWoB-v0")


def test_a_row_a_page() -> None:
    rows = {row.id: row for row in catalogue.INSTALLED if "MiniWoB" in row.id}
    assert set(rows) == {"tiltyard/MiniWoB-v0", *(f"tiltyard/MiniWoB-{task}-v0" for task in folder.tasks())}
    assert all(row.tier == "live" and row.id in gymnasium.registry for row in rows.values())
    assert set(rows) <= {row.id for row in catalogue.rows()}


def test_the_package_s_own_pages_can_be_played() -> None:
    """With the extra installed: one tap on the one button of click-test."""
    for task in {"click-test"} & set(folder.tasks()):
        env = gymnasium.make(f"tiltyard/MiniWoB-{task}-v0")
        observation, _ = env.reset(seed=0)
        assert env.step(press(observation["tree"], "Click Me!"))[1:3] == (1.0, True)
        env.close()
