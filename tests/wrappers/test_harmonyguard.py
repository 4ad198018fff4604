import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from tiltyard.wrappers import HybridReward, RuleGuard
from tiltyard.wrappers.guard_rules import Rule
from tiltyard.wrappers.harmonyguard import rates
from tiltyard.wrappers.phone_view import of_tree

V0, V1 = "tiltyard/Phone-v0", "tiltyard/Phone-v1"


def guard(env_id: str = V1, mode: Any = "veto", **keywords: Any) -> RuleGuard:
    own: dict[str, Any] = {"observation": "tree", "rows": (), **keywords} if env_id == V1 else keywords
    return RuleGuard(gymnasium.make(env_id, **own), mode=mode)


def problem(env: RuleGuard, template: str) -> tuple[Any, Any]:
    """The first problem of a template."""
    for seed in range(3000):
        observed, info = env.reset(seed=seed)
        if info["template"] == template:
            return observed, info
    raise AssertionError(template)


def tapping(env: RuleGuard, text: str) -> dict[str, Any]:
    """Taps what has a text, after scrolling down to it; the info of the tap."""
    for _ in range(12):
        for line in env.states.tree(0).split("\n"):
            if f' "{text}"' in line and not line.startswith(("title", "screen", "dialog", "text")):
                x0, y0, x1, y1 = (float(part) for part in line.split('"')[-1].split()[:4])
                return env.step(f"tap {(x0 + x1) / 2:.3f} {(y0 + y1) / 2:.3f}")[4]
        env.step("swipe up")
    raise AssertionError(f"{text} is not on {env.states.tree(0)}")


def test_a_refused_action_leaves_the_phone_as_it_was_and_costs_a_step() -> None:
    env = guard(max_episode_steps=8)
    problem(env, "settings_switch")
    env.step("open phone")
    name = next(line.split('"')[1] for line in env.states.tree(0).split("\n") if line.startswith("row"))
    tapping(env, name)
    before, state = env.states.tree(0), env.states.rows(0, ("contacts", "log"))
    info = tapping(env, "Call")
    assert info["violations"] == ("stranger",)
    assert info["vetoed"]
    assert (info["cost"], info["compliant"], info["success"]) == (0.0, True, False)
    assert (env.states.tree(0), env.states.rows(0, ("contacts", "log"))) == (before, state)
    steps = 3
    while True:
        steps += 1
        observed, reward, _, truncated, _ = env.step("swipe down")
        if truncated:
            break
    assert steps == 8
    assert observed["tree"].split("\n")[0] == before.split("\n")[0]
    assert reward == 0


def test_in_cost_mode_it_is_done_and_costs() -> None:
    env = guard(mode="cost")
    problem(env, "settings_switch")
    env.step("open phone")
    name = next(line.split('"')[1] for line in env.states.tree(0).split("\n") if line.startswith("row"))
    tapping(env, name)
    calls = len(env.states.rows(0, ("contacts", "log")))
    info = tapping(env, "Call")
    assert (info["cost"], info["vetoed"], info["compliant"]) == (1.0, False, False)
    assert len(env.states.rows(0, ("contacts", "log"))) == calls + 1
    assert not env.step("back")[4]["compliant"]
    env.reset()
    assert env.step("back")[4]["compliant"]


def test_calling_whom_the_goal_names_is_fine() -> None:
    env = guard()
    problem(env, "contacts_call")
    played_by_the_expert(env)


def played_by_the_expert(env: RuleGuard, observed: Any = None) -> None:
    over, info = False, {}
    while not over:
        action = env.unwrapped.expert().predict(observed)[0]  # type: ignore[attr-defined]
        action = action if isinstance(action, str) else action[0]
        observed, _, terminated, truncated, info = env.step(action)
        assert info["violations"] == (), (env._goal, action)
        over = terminated or truncated
    assert info["success"]


@pytest.mark.parametrize("env_id", [V0, V1])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_expert_breaks_no_rule(env_id: str, level: int) -> None:
    env = guard(env_id, level=level) if env_id == V0 else guard(level=level, rows=None)
    for seed in range(20):
        played_by_the_expert(env, env.reset(seed=700 + seed)[0])


def with_an_advert() -> RuleGuard:
    """A phone that shows one."""
    env = guard(mode="cost", rows=("advert",), drift=1.0)
    for seed in range(200):
        env.reset(seed=seed)
        env.step("wait")
        if "Sponsored" in env.states.tree(0):
            return env
    raise AssertionError("no phone shows an advert")


def test_an_advert_may_not_be_tapped_nor_its_offer_taken() -> None:
    env = with_an_advert()
    place = next(i for i, one in enumerate(of_tree(env.states.tree(0)).elements) if one.role == "row")
    text = [line for line in env.states.tree(0).split("\n") if line[:4] not in ("scre", "stat", "mess")][place]
    assert "Sponsored" in text
    assert tapping(env, text.split('"')[1])["violations"] == ("advert",)
    assert tapping(env, "Install")["violations"] == ("offer",)


def test_an_advert_may_be_closed() -> None:
    env = with_an_advert()
    tapping(env, next(line for line in env.states.tree(0).split("\n") if "Sponsored" in line).split('"')[1])
    assert tapping(env, "Close")["violations"] == ()


@pytest.mark.parametrize("observation", ["tree", "elements"])
def test_a_seed_decides_everything(observation: str) -> None:
    def played() -> list[Any]:
        env = RuleGuard(gymnasium.make(V1, observation=observation, drift=1.0))
        env.action_space.seed(0)
        shown: list[Any] = [env.reset(seed=3)]
        for _ in range(60):
            shown.append(env.step(env.action_space.sample()))
            if shown[-1][2] or shown[-1][3]:
                shown.append(env.reset())
        return shown

    assert data_equivalence(played(), played())


def test_rates_by_hand() -> None:
    found = rates([True, True, False, False], [0, 2, 0, 1])
    assert (found.compliance, found.completion, found.under_policy, found.cost) == (0.5, 0.5, 0.25, 0.75)
    with pytest.raises(ValueError, match="one episode or more"):
        rates([], [])


def test_unknown_modes_and_other_environments_are_refused() -> None:
    with pytest.raises(ValueError, match="veto"):
        guard(mode="vetoo")
    with pytest.raises(TypeError, match="no simulated phone"):
        RuleGuard(gymnasium.make("tiltyard/PointMaze-v0"))


def test_the_guard_is_made_again_from_its_spec() -> None:
    env = guard(mode="cost")
    assert env.spec is not None
    assert data_equivalence(gymnasium.make(env.spec).reset(seed=1), env.reset(seed=1))
    assert np.isscalar(env.step("back")[4]["cost"])


def test_a_guard_refuses_a_rule_that_could_never_be_broken() -> None:
    typo = Rule("mine", "No order.", "high", "insert", ("shop.order",))
    with pytest.raises(ValueError, match="'shop.orders'"):
        RuleGuard(gymnasium.make(V1, observation="tree"), rules=[typo])


@pytest.mark.parametrize("beneath", [HybridReward, gymnasium.wrappers.RecordEpisodeStatistics])
def test_a_veto_goes_beneath_what_would_have_seen_the_step(beneath: Any) -> None:
    phone = beneath(gymnasium.make(V1, observation="tree"))
    with pytest.raises(ValueError, match=f"not what {beneath.__name__} beneath saw"):
        RuleGuard(phone)
    RuleGuard(phone, mode="cost")


@pytest.mark.parametrize("env_id", [V0, V1])
def test_a_guarded_phone_goes_on_from_its_copy_and_its_pickle(env_id: str) -> None:
    env = HybridReward(guard(env_id))
    env.reset(seed=0)
    env.step("swipe up")
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for action in ("back", "home"):
        expected = env.step(action)
        for one in copies:
            assert data_equivalence(one.step(action), expected)
