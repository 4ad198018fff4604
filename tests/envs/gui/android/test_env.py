"""Android-v0 on the fake device, by our own client: the same problems, screens and rewards as on the phone itself."""

import copy
import pickle
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import tiltyard
from tiltyard.envs.gui.android.errors import AdbMissing, CommandFailed
from tiltyard.envs.gui.android.faults import KINDS
from tiltyard.envs.gui.android.tasks import TASKS

sys.path.insert(0, str(Path(__file__).parent))
from test_hierarchy import alike

assert tiltyard.__version__


def make(**kwargs: Any) -> Any:
    return gymnasium.make("tiltyard/Android-v0", **kwargs)


def solve(env: Any, seed: int) -> tuple[dict[str, Any], list[str]]:
    observation, _ = env.reset(seed=seed)
    expert, actions = env.unwrapped.expert(), []
    while True:
        actions.append(expert.predict(observation)[0])
        observation, _, terminated, truncated, info = env.step(actions[-1])
        if terminated or truncated:
            return info, actions


@pytest.mark.parametrize("tasks", ["phone-v0", "phone-v1"])
def test_the_device_shows_what_the_phone_itself_shows_at_every_step(tasks: str) -> None:
    env = make(tasks=tasks, level=2)
    phone = gymnasium.make(tasks.replace("phone", "tiltyard/Phone"), level=2)
    for seed in (1,):
        (here, info), (there, known) = env.reset(seed=seed), phone.reset(seed=seed)
        assert (info["goal"], info["template"], info["problem"]) == (here["goal"], known["template"], known["problem"])
        rng, expert = np.random.default_rng(seed), phone.unwrapped.expert()
        for k in range(20):
            assert here["goal"] == there["goal"]
            alike(there["tree"], here["tree"])
            assert abs(here["screen"].astype(int) - there["screen"]).mean() < 12, "the same picture at another size"
            x, y = rng.random(2)
            action = (
                expert.predict(None)[0] if k % 3 else str(rng.choice([f"tap {x:.3f} {y:.3f}", "dance", "swipe up"]))
            )
            here, *ours = env.step(action)
            there, *theirs = phone.step(action)
            assert ours[:2] == theirs[:2], action
            assert ours[3]["reward_terms"] == theirs[3]["reward_terms"]
            if ours[1]:
                break
    env.close()


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("tasks", ["phone-v0", "phone-v1"])
def test_the_expert_solves_the_phones_tasks_over_the_wire(tasks: str, level: int) -> None:
    env = make(tasks=tasks, level=level, split="test")
    results = [solve(env, seed) for seed in range(2)]
    assert [info["success"] for info, _ in results] == [True] * 2
    assert {actions[-1] for _, actions in results} <= {"done", "infeasible"}
    assert all(info["failures"] == 0 for info, _ in results)
    env.close()


def test_done_at_once_and_a_changed_bystander_earn_nothing() -> None:
    env = make()
    env.reset(seed=3)
    assert env.step("done")[1:3] == (0.0, True)
    env.reset(seed=3)
    seat, expert = env.unwrapped.batched.seats[0], env.unwrapped.expert()
    while (action := expert.predict(None)[0]) != "done":
        env.step(action)
    seat.handset.ask("content delete --uri content://tiltyard.contacts/log")
    assert env.step("done")[1:3] == (0.0, True)
    env.close()


def test_stock_tasks_are_set_up_checked_and_solved_on_the_fake_device() -> None:
    env = make(tasks="stock")
    seen = set()
    for seed in range(16):
        info, _ = solve(env, seed)
        assert info["success"], env.unwrapped.batched.reset_info()
        seen.add(env.unwrapped.batched.reset_info()["template"][0])
        env.reset(seed=seed)
        assert env.step("done")[1] == 0.0, "nothing holds by doing nothing"
    assert len(seen) > 0.4 * len(TASKS)
    with pytest.raises(ValueError, match="our phones' tasks and faults are for serial='fake'"):
        make(serial="emulator-5554", tasks="phone-v0", adb="true")
    env.close()


def test_the_splits_of_stock_tasks_ask_for_different_things() -> None:
    asked = {}
    for split in ("train", "test"):
        env = make(tasks="stock", split=split)
        asked[split] = {env.reset(seed=seed)[1]["problem"] for seed in range(12)}
        env.close()
    assert len(asked["test"]) >= 4
    assert not asked["train"] & asked["test"]


def test_what_cannot_be_read_tells_so_and_costs_a_little() -> None:
    env = make(tasks="phone-v1")
    env.reset(seed=5)
    for action in ("<script>", "type " + "x" * 10_000, "tap 2 2", "open"):
        observation, reward, terminated, truncated, info = env.step(action)
        assert reward == pytest.approx(-0.01)
        assert 'message "could not read that action' in observation["tree"].splitlines()[2]
        assert (terminated, truncated, info["failures"], bool(info["understood"])) == (False, False, 0, False)
    observation, *_ = env.step("open Nowhere")
    assert observation["tree"].splitlines()[2] == 'message "there is no app of that name"'
    observation, *_ = env.step("open sHOp")
    assert re.search(r'screen "Shop', observation["tree"]) or "spinner" in observation["tree"]
    env.close()


def test_a_faulty_device_is_recovered_from_and_nothing_hangs() -> None:
    chances = {**dict.fromkeys(KINDS, 0.006), "delay": 0.03, "delay_s": 0.05, "gone_s": 0.1}
    env = make(timeout=0.5, patience=20.0, faults={**chances, "seed": 4})
    won, steps, failures = [], 0, 0
    for seed in range(8):
        info, actions = solve(env, seed)
        assert not info["crashed"]
        won.append(info["success"])
        steps, failures = steps + len(actions), failures + info["failures"]
    counts = env.unwrapped.batched.seats[0].adbd.faults.counts
    assert sum(counts[kind] for kind in KINDS if kind != "delay") > 2, "something did go wrong"
    assert failures > 0
    assert all(won), "the expert looks again and goes on"
    env.close()


def test_a_device_that_does_not_come_back_ends_the_episode_and_then_the_reset() -> None:
    env = make(timeout=1.0, patience=2.0)
    first, _ = env.reset(seed=1)
    seat = env.unwrapped.batched.seats[0]
    seat.adbd.unplug(3600.0)
    while seat.adbd.connections:
        time.sleep(0.01)
    observation, reward, terminated, truncated, info = env.step("tap 0.5 0.5")
    assert (reward, terminated, truncated, info["crashed"], info["success"]) == (0.0, False, True, True, False)
    assert observation["tree"] == first["tree"], "the last that was seen"
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.unwrapped.step("back")
    with pytest.raises(tiltyard.envs.gui.android.errors.AdbError, match="is gone"):
        env.reset(seed=2)
    seat.adbd.unplug(0.0)
    time.sleep(0.05)
    env.reset(seed=2)
    assert not env.step("back")[3]
    env.close()


def test_a_crash_at_done_is_no_success() -> None:
    env = make(timeout=1.0, patience=2.0)
    env.reset(seed=1)
    expert, seat = env.unwrapped.expert(), env.unwrapped.batched.seats[0]
    while (action := expert.predict(None)[0]) != "done":
        env.step(action)
    seat.adbd.unplug(3600.0)
    while seat.adbd.connections:
        time.sleep(0.01)
    _, reward, terminated, truncated, info = env.step("done")
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, True, False)
    env.close()


def test_closing_leaves_no_thread_and_a_frame_is_of_the_devices_size() -> None:
    before = threading.active_count()
    env = make(render_mode="rgb_array", device_size=(270, 480))
    env.reset(seed=0)
    assert env.render().shape == (480, 270, 3)
    env.close()
    assert threading.active_count() == before


def test_missing_programs_and_bad_keywords_say_what_to_do() -> None:
    with pytest.raises(AdbMissing, match="no program 'adb-that-is-not-here' here; run: sudo apt-get install adb"):
        make(adb="adb-that-is-not-here")
    with pytest.raises(ValueError, match="unknown kind of tasks 'phones'"):
        make(tasks="phones")
    with pytest.raises(ValueError, match="chances of faults"):
        make(faults={"drop": 2.0})
    with pytest.raises(ValueError, match="unknown fault 'dropp'; did you mean 'drop'"):
        make(faults={"dropp": 0.1})
    with pytest.raises(ValueError, match="settle is a number of seconds, at least 0, got -1"):
        make(settle=-1).reset()
    with pytest.raises(ValueError, match="settle is a number of seconds, at least 0, got x"):
        make(settle="x").reset()
    with pytest.raises(ValueError, match="timeout is above 0 and at most patience"):
        make(timeout=9.0, patience=1.0).reset()


def test_a_real_device_has_no_expert() -> None:
    env = make(tasks="stock")
    env.reset(seed=0)
    env.unwrapped.batched._goals[0]._goal = None  # as where there is no phone of ours
    with pytest.raises(CommandFailed, match="reads the fake device's phone"):
        env.unwrapped.expert().predict(None)
    env.close()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"snapshot": "clean"}, "snapshots are of emulators, not of serial='fake'"),
        ({"port": 5037}, "the fake device is spoken to without adb: give adb='adb' too, or leave it out"),
        ({"serial": "emulator-5554", "port": 0}, "port is a whole number from 1 to 65535, or None, got 0"),
        ({"serial": "emulator-5554", "port": "5037"}, "port is a whole number .* got '5037'"),
        ({"serial": "emulator-5554", "device_size": (100, 200)}, "has the size that it has: leave it out"),
        ({"device_size": 3}, r"device_size is \(width, height\) in pixels, such as \(432, 768\), got 3"),
        ({"device_size": (432, 0)}, "device_size is"),
    ],
)
def test_what_would_be_passed_over_in_silence_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make(**settings)


def test_a_closed_environment_begins_again_with_its_next_problem() -> None:
    env = make()
    first, _ = env.reset(seed=0)
    env.close()
    env.close()
    again, _ = env.reset(seed=0)
    assert again["tree"] == first["tree"]
    assert env.step("done")[2]
    env.close()


def test_copies_of_a_device_are_refused_in_a_sentence() -> None:
    env = make()
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled, because its device cannot be"):
            copied(env)
    env.close()
