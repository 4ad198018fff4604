"""Triggers played: each fires, who does not see it comes to harm, and the expert gets through most."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tiltyard.envs.driving.scenarios.driving import Driving, DrivingEnv
from tiltyard.envs.driving.scenarios.self_play import SelfPlayVectorEnv
from tiltyard.envs.driving.scenarios.triggers import FAST, TRIGGERS, chosen
from tiltyard.envs.driving.town.state import ABSENT, NONE, PARKED

Policy = Callable[[Driving], np.ndarray]
N, STEPS = 12, 900
HARM = ("collision", "struck")
QUICK = ("cut-in", "pedestrian-behind-car", "parked-obstacle", "red-light-runner")
"""In the default suite; the others are marked slow."""


def begun(trigger: str | None, n: int = N, **kwargs) -> Driving:
    scene = "highway" if trigger in TRIGGERS and TRIGGERS[trigger].fit.limits == FAST else "town"
    batched = Driving(n, **{"scene": scene, "density": 0.0, "pedestrians": 0, "maps": 3, "trigger": trigger} | kwargs)
    batched.begin(np.arange(n), np.arange(n), np.zeros(n, np.int64))
    return batched


def unseen(batched: Driving) -> np.ndarray:
    """What the expert would do were the actors not there."""
    keys, listed, phase = (
        batched.batch.keys.copy(),
        batched.worlds["listed"].copy(),
        batched.batch.scripts["phase"].copy(),
    )
    hidden = [(w, k, batched.agents[w, k].copy()) for w, k in actors(batched)]
    for w, k, _ in hidden:
        car = batched.agents[w, k]
        car["controller"], car["lane"], car["beside"], car["zone"], car["further"] = ABSENT, NONE, NONE, NONE, NONE
    batched.batch.scripts["phase"] = 0
    actions = batched.expert_actions()
    for w, k, car in hidden:
        batched.agents[w, k] = car
    batched.batch.keys[...], batched.worlds["listed"], batched.batch.scripts["phase"] = keys, listed, phase
    return actions


def onward(batched: Driving) -> np.ndarray:
    """Manoeuvres of who stays in its lane at nine tenths of the limit."""
    cars = batched.agents[:, 0]
    wanted = 0.9 * batched.library.atlas.lanes["limit"][np.maximum(cars["lane"], 0)]
    return np.where(cars["v"] < wanted - 0.5, 3, 0)


def actors(batched: Driving) -> Iterator[tuple[int, int]]:
    for w, i in np.argwhere(batched.batch.scripts["phase"] > 0):
        yield int(w), int(batched.batch.scripts[w, i]["agent"])


def play(batched: Driving, policy: Policy) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether the trigger fired in each environment, what ended it, and success."""
    open_ = batched.reset_info()["trigger"] != ""
    fired = np.zeros(batched.num_envs, bool)
    for _ in range(STEPS):
        _, ended = batched.advance(batched.check(policy(batched)), open_)
        fired |= batched.step_info()["trigger_fired"] & open_
        open_ &= ~ended
        if not open_.any():
            break
    info = batched.step_info()
    return fired, info["infraction"], info["success"]


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in TRIGGERS])
def test_a_trigger_fires_is_dangerous_and_can_be_survived(name: str) -> None:
    batched = begun(name)
    placed = batched.reset_info()["trigger"] == name
    assert placed.mean() >= 0.5
    fired, infractions, success = play(batched, Driving.expert_actions)
    assert fired[placed].mean() >= 0.75
    assert np.isin(infractions[placed], HARM).mean() <= 0.25, infractions
    assert success[placed].mean() >= 0.5, infractions
    if TRIGGERS[name].hazard:
        fast = TRIGGERS[name].fit.limits == FAST  # there one may change lane without having seen anybody
        blind = begun(name, action="discrete") if fast else begun(name)
        fired, infractions, _ = play(blind, onward if fast else unseen)
        assert fired[placed].mean() > 0.5
        assert np.isin(infractions[placed], HARM).mean() > 0.5, infractions


def test_held_out_triggers_are_never_met_in_training() -> None:
    train, test = chosen(None, "triggers", "train"), chosen(None, "triggers", "test")
    assert not set(train) & set(test)
    assert set(train) | set(test) == set(TRIGGERS)
    batched = begun(None, 16, held_out="triggers")
    met = set(batched.reset_info()["trigger"].tolist()) - {""}
    assert len(met) >= 4
    assert met <= set(train)


def test_one_of_several_is_drawn_and_none_without_a_wish() -> None:
    assert set(begun(("cut-in", "hard-brake"), 16).reset_info()["trigger"].tolist()) == {"cut-in", "hard-brake"}
    plain = begun(None)
    assert set(plain.reset_info()["trigger"].tolist()) == {""}
    assert not plain.step_info()["trigger_fired"].any()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"trigger": "cutin"}, "did you mean 'cut-in'"),
        ({"trigger": "accident", "held_out": "triggers"}, "the train split has none of the triggers"),
        ({"trigger": "unprotected-left", "scene": "racetrack"}, "no map of this scene has a place for"),
        ({"held_out": "towns"}, "held_out"),
        ({"parked": float("nan")}, "parked must be a number, got nan"),
        ({"density": "a"}, "density must be a number or None, got 'a'"),
        ({"maps": 2.5}, "maps must be a whole number, got 2.5"),
        ({"pedestrians": True}, "pedestrians must be a whole number or None, got True"),
    ],
)
def test_bad_wishes_are_named(kwargs: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DrivingEnv(**kwargs)


def test_a_trigger_is_for_one_agent_a_world() -> None:
    with pytest.raises(ValueError, match="agents must be 1"):
        SelfPlayVectorEnv(4, agents=2, trigger="cut-in")


def test_parked_cars_stand_beside_the_lanes_and_nobody_touches_them() -> None:
    batched = begun(None, 8, density=3.0, pedestrians=4, parked=4.0)
    stands = batched.agents["controller"] == PARKED
    assert stands.sum(axis=1).min() >= 5
    places = batched.agents["x"][stands].copy()
    batched.agents["collisions"] = 0
    for _ in range(120):
        batched.advance(batched.expert_actions(), np.ones(8, bool))
    assert np.array_equal(batched.agents["x"][stands], places)
    assert not batched.agents["collisions"][stands].any()
