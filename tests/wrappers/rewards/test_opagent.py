import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode

from tiltyard.envs.gui.apps import APPS
from tiltyard.envs.gui.baselines import RandomPolicy
from tiltyard.envs.gui.compiled.env import PhoneV1VectorEnv
from tiltyard.envs.gui.phone import PhoneVectorEnv
from tiltyard.wrappers import HybridReward, VectorHybridReward
from tiltyard.wrappers.rewards.opagent import leaves

V0, V1 = "tiltyard/Phone-v0", "tiltyard/Phone-v1"
CONTACT = next(one for one in APPS if one.key == "contacts").place.schemas["contacts"].records["Contact"][0]


def test_leaves_of_a_value_rows_and_columns_by_hand() -> None:
    ada, bob, eve = CONTACT("Ada", "1"), CONTACT("Bob", "2"), CONTACT("Eve", "3")
    found = leaves((ada, bob), (CONTACT("Ada", "9", favourite=True), eve))
    assert [(leaf.kind, leaf.column) for leaf in found] == [
        ("column", "number"),
        ("column", "favourite"),
        ("there", ""),
        ("gone", ""),
    ]
    assert [leaf.holds((ada, bob)) for leaf in found] == [False] * 4
    assert [leaf.holds((CONTACT("Ada", "9"), CONTACT("Bob", "7"))) for leaf in found] == [True, False, False, False]
    assert [leaf.holds((CONTACT("Ada", "9", favourite=True), eve)) for leaf in found] == [True] * 4


def test_leaves_of_equal_values_are_counted_and_an_order_is_one_leaf() -> None:
    (more,) = leaves(("a",), ("a", "a"))
    assert not more.holds(("a",))
    assert more.holds(("a", "a"))
    (order,) = leaves((1, 2), (2, 1))
    assert not order.holds((1, 2))
    assert order.holds((2, 1))


@pytest.mark.parametrize(("env_id", "templates"), [(V0, 12), (V1, 45)])
def test_progress_never_falls_along_the_expert_and_ends_full(env_id: str, templates: int) -> None:
    seen: set[str] = set()
    for level in (1, 2, 3):
        made = gymnasium.make(env_id, level=level, **({"observation": "tree"} if env_id == V1 else {}))
        env = HybridReward(made, gamma=1.0, weight=1.0)
        for seed in range(30):
            observed, info = env.reset(seed=seed)
            seen.add(info["template"])
            expert, shares, over = env.unwrapped.expert(), [info["progress"]], False  # type: ignore[attr-defined]
            while not over:
                observed, _, terminated, truncated, step = env.step(expert.predict(observed)[0])
                shares.append(step["progress"])
                over = terminated or truncated
            assert shares[0] == 0
            assert (np.diff(shares) >= 0).all(), (info["template"], shares)
            assert shares[-1] == float(not info.get("infeasible", False)), info["template"]
    assert len(seen) >= templates


def test_random_hands_make_almost_no_progress() -> None:
    env = VectorHybridReward(PhoneV1VectorEnv(50, observation="elements", autoreset_mode=AutoresetMode.DISABLED))
    observed, _ = env.reset(seed=7)
    hands, best = RandomPolicy(3), np.zeros(50)
    for _ in range(12):
        actions, _ = hands.predict(observed)
        actions[actions[:, 0] >= 16] = 0  # no action is done
        observed, _, _, _, info = env.step(actions)
        best = np.maximum(best, info["progress"])
    assert best.mean() < 0.1
    assert best.max() <= 1.0


def returns(env: Any, gamma: float, act: Callable[[Any], Any], seed: int) -> tuple[float, float]:
    """The discounted sums of what was paid, and of the true rewards."""
    observed, _ = env.reset(seed=seed)
    paid = true = 0.0
    for t in range(60):
        observed, reward, terminated, truncated, info = env.step(act(observed))
        paid, true = paid + gamma**t * float(reward), true + gamma**t * float(info["true_reward"])
        if terminated or truncated:
            return paid, true + gamma ** (t + 1) * (not terminated) * 0.5 * info["progress"]
    raise AssertionError


@pytest.mark.parametrize("env_id", [V0, V1])
def test_whatever_is_done_the_discounted_return_is_what_it_was(env_id: str) -> None:
    """The best policy stays the best: at a time limit agents bootstrap from a state that keeps its potential."""
    env = HybridReward(gymnasium.make(env_id, observation="elements", max_episode_steps=40), gamma=0.9, weight=0.5)
    for seed in range(4):
        paid, true = returns(env, 0.9, lambda seen: env.unwrapped.expert().predict(seen)[0], seed)  # type: ignore[attr-defined]
        assert paid == pytest.approx(true)
        hands = RandomPolicy(seed)
        paid, true = returns(env, 0.9, lambda seen, hands=hands: hands.predict(seen)[0], seed)  # type: ignore[misc]
        assert paid == pytest.approx(true)


def values(env: Any, actions: list[str], depth: int, state: Any) -> dict[str, tuple[float, float]]:
    """Best returns of each action, true and shaped, looking ``depth`` steps ahead in the real phone."""
    found = {}
    bare = env.unwrapped
    for action in actions:
        bare.restore(state)
        before = float(env.progress.shares()[0])
        _, reward, terminated, _, _ = bare.step(action)
        after = 0.0 if terminated else float(env.progress.shares()[0])
        bonus = 0.5 * (0.9 * after - before)
        true, shaped = float(reward), float(reward) + bonus
        if not terminated and depth > 1:
            later = values(env, actions, depth - 1, bare.snapshot())
            true += 0.9 * max(one for one, _ in later.values())
            shaped += 0.9 * max(one for _, one in later.values())
        elif not terminated:
            shaped -= 0.9 * 0.5 * after  # as an agent bootstraps
        found[action] = (true, shaped)
    return found


def test_the_best_action_in_a_real_phone_is_the_best_action_still() -> None:
    env = HybridReward(gymnasium.make(V1, observation="tree", rows=()), gamma=0.9, weight=0.5)
    for seed in range(200):
        observed, info = env.reset(seed=seed)
        bare: Any = env.unwrapped
        start, way = bare.snapshot(), []
        while not way or way[-1] != "done":
            way.append(bare.expert().predict(observed)[0])
            observed = bare.step(way[-1])[0]
            if way[-1] == "infeasible" or len(way) > 3:
                break
        if len(way) == 3 and way[-1] == "done":
            break
    found = values(env, [*way, "back"], 3, start)
    best = max(found, key=lambda action: found[action][0])
    assert best == way[0], info["goal"]
    assert best == max(found, key=lambda action: found[action][1])
    for true, shaped in found.values():
        assert shaped == pytest.approx(true)  # no progress yet: the potential of the first state is 0


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("vector", [PhoneV1VectorEnv, PhoneVectorEnv])
def test_a_vector_pays_what_single_phones_pay(vector: Any, mode: AutoresetMode) -> None:
    steps, env_id = 12, V1 if vector is PhoneV1VectorEnv else V0
    batch = VectorHybridReward(vector(3, observation="elements", max_episode_steps=8, autoreset_mode=mode))
    singles = [HybridReward(gymnasium.make(env_id, observation="elements", max_episode_steps=8)) for _ in range(3)]
    seen, _ = batch.reset(seed=[5, 6, 7])
    for i, one in enumerate(singles):
        one.reset(seed=5 + i)
    over = np.zeros(3, np.bool_)
    for _ in range(steps):
        if over.any() and mode == AutoresetMode.DISABLED:
            batch.reset(options={"reset_mask": over})
            over[:] = False
        actions = batch.unwrapped.expert().predict(seen)[0]
        seen, paid, terminated, truncated, info = batch.step(actions)
        for i, one in enumerate(singles):
            if over[i] and mode == AutoresetMode.NEXT_STEP:
                one.reset()
                assert paid[i] == 0
                continue
            _, reward, ended, cut, told = one.step(actions[i])
            assert (paid[i], terminated[i], truncated[i]) == (pytest.approx(reward), ended, cut)
            last = info["final_info"] if "final_info" in info and (ended or cut) else info
            assert last["progress"][i] == told["progress"]
            if (ended or cut) and mode != AutoresetMode.NEXT_STEP:
                one.reset()
        over = terminated | truncated


def test_idle_steps_cost_where_that_is_asked_for() -> None:
    env = HybridReward(gymnasium.make(V1, observation="tree", rows=(), level=2), gamma=1.0, idle=0.01)
    observed, _ = env.reset(seed=0)
    assert env.step("wait")[1] == -0.01
    action = env.unwrapped.expert().predict(observed)[0]  # type: ignore[attr-defined]
    _, reward, _, _, info = env.step(action)
    assert reward == 0
    assert info["reward_terms"] == {"goal": 0.0, "format": 0.0, "progress": 0.0, "idle": 0.0}


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_an_idle_step_that_the_time_limit_ends_costs_alike_in_a_vector(mode: AutoresetMode) -> None:
    keywords: dict[str, Any] = {"observation": "tree", "rows": (), "level": 2}
    one = HybridReward(gymnasium.make(V1, max_episode_steps=2, **keywords), idle=0.01)
    vector = PhoneV1VectorEnv(2, max_episode_steps=2, autoreset_mode=mode, **keywords)
    batch = VectorHybridReward(vector, idle=0.01)
    one.reset(seed=0)
    batch.reset(seed=[0, 0])
    for _ in range(2):
        assert batch.step(("wait", "wait"))[1].tolist() == [one.step("wait")[1]] * 2 == [-0.01] * 2


@pytest.mark.parametrize("settings", [{"gamma": 0.0}, {"gamma": 1.1}, {"weight": -1.0}, {"idle": float("nan")}])
def test_settings_outside_their_range_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        HybridReward(gymnasium.make(V1, observation="tree"), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("env_id", ["tiltyard/PointMaze-v0", "tiltyard/Android-v0"])
def test_other_environments_are_refused(env_id: str) -> None:
    with pytest.raises(TypeError, match="no simulated phone"):
        HybridReward(gymnasium.make(env_id))


def test_a_vector_goes_on_from_its_copy_and_its_pickle() -> None:
    vector = VectorHybridReward(
        PhoneV1VectorEnv(2, observation="tree", rows=(), autoreset_mode=AutoresetMode.SAME_STEP)
    )
    vector.reset(seed=0)
    vector.step(("swipe up", "back"))
    copies = [copy.deepcopy(vector), pickle.loads(pickle.dumps(vector))]
    expected = vector.step(("done", "done"))
    for one in copies:
        assert data_equivalence(one.step(("done", "done")), expected)
