"""The totals of every episode, and the log that says the same at length."""

import gymnasium
import numpy as np
import pytest

from tiltyard.envs.driving.metrics.fault import at_fault
from tiltyard.envs.driving.metrics.harm import harm
from tiltyard.envs.driving.metrics.leaderboard import COEFFICIENTS, MIN_SPEED, driving_score
from tiltyard.envs.driving.metrics.nuplan import at_fault as collisions
from tiltyard.envs.driving.scenarios.driving import Driving
from tiltyard.envs.driving.town import account
from tiltyard.envs.driving.town.episode import FACTORS

N = 4


def expert(batched, step):
    return batched.expert_actions()


def racing(batched, step):
    actions = batched.expert_actions()
    actions[:, 0] = 1.0
    return actions


def braking(batched, step):
    """The expert, who stands on the brakes for two seconds of every six."""
    actions = batched.expert_actions()
    if step % 30 >= 20:
        actions[:, 0] = -1.0
    return actions


def played(policy, scene, **kwargs):
    batched = Driving(N, scene=scene, record=True, **kwargs)
    batched.begin(np.arange(N), 40 + np.arange(N), np.zeros(N, np.int64))
    open_ = np.ones(N, bool)
    for step in range(400):
        open_ &= ~batched.advance(batched.check(policy(batched, step)), open_)[1]
        if not open_.any():
            break
    return batched


def by_the_log(log):
    """What the totals should be."""
    found = driving_score(log, "carla-2.1")
    done = harm([log])
    counted = {kind: len(log.of(kind)) for kind in ("red_light", "stop_sign")}
    return {
        "driving_score": found.score,
        "completion": found.completion,
        "km": log.driven / 1000.0,
        "collisions": len(collisions(log, lambda event: True)),
        "at_fault_collisions": len(collisions(log, at_fault)),
        "red_lights": counted["red_light"],
        "stop_signs": counted["stop_sign"],
        "imposed_braking": done.hardest,
        "hard_braking_share": done.hard_share,
    }


@pytest.mark.parametrize("policy", [expert, racing, braking])
@pytest.mark.parametrize("scene", ["intersection", "roundabout", "racetrack", "town"])
def test_totals_equal_the_log(scene, policy):
    batched = played(policy, scene)
    totals = batched.step_info()["scores"]
    for index in range(N):
        log = batched.log(index)
        mine = {name: float(totals[name][index]) for name in account.SCORES}
        assert mine == pytest.approx(by_the_log(log), abs=1e-6), (index, log.ended, log.events)
    if policy is racing and scene != "racetrack":
        assert totals["at_fault_collisions"].sum() + totals["red_lights"].sum() > 0
    if policy is expert:
        assert totals["at_fault_collisions"].sum() == 0


def test_coefficients_are_the_leaderboards():
    weights = COEFFICIENTS["carla-2.1"]
    assert account.PERSON_COST == weights["collision_pedestrian"]
    assert account.VEHICLE_COST == weights["collision_vehicle"]
    assert (account.RED_COST, account.STOP_COST) == (weights["red_light"], weights["stop_sign"])
    assert MIN_SPEED["carla-2.1"] == account.SLOW_COST


def test_recording_changes_nothing():
    plain = Driving(2, scene="roundabout")
    kept = Driving(2, scene="roundabout", record=True)
    for one in (plain, kept):
        one.begin(np.arange(2), np.arange(2), np.zeros(2, np.int64))
        for step in range(40):
            one.advance(one.check(racing(one, step)), np.ones(2, bool))
    assert (plain.agents == kept.agents).all()
    with pytest.raises(ValueError, match="record=True"):
        plain.log()
    with pytest.raises(TypeError, match="record=False"):
        kept.snapshot(0)


def test_there_is_no_log_before_the_first_step():
    env = gymnasium.make("tiltyard/Intersection-v0", record=True)
    with pytest.raises(ValueError, match="no episode has begun"):
        _ = env.unwrapped.log
    env.reset(seed=3)
    with pytest.raises(ValueError, match="two states at least"):
        _ = env.unwrapped.log


def test_an_episode_ends_with_all_scores():
    env = gymnasium.make("tiltyard/Intersection-v0", record=True)
    env.reset(seed=3)
    pilot, ended = env.unwrapped.expert(), False
    while not ended:
        _, _, terminated, truncated, info = env.step(pilot.predict(None)[0])
        ended = terminated or truncated
    log = env.unwrapped.log
    assert (log.ended == "completed") == (info["scores"]["completion"] == 1.0)
    assert info["scores"]["carla-2.1"] == pytest.approx(info["scores"]["driving_score"])
    assert {"carla-2.0", "nuplan-closed-loop", "imposed_braking.hardest"} <= info["scores"].keys()
    assert log.from_json(log.to_json()).driven == log.driven


def test_the_test_split_pays_the_same_whatever_one_trains_with():
    """And the training split the sum of the terms, where that is asked for."""
    paid = {}
    for split, training_reward in (("train", "carl"), ("train", "sum"), ("test", "carl"), ("test", "sum")):
        batched = Driving(2, scene="racetrack", split=split, training_reward=training_reward)
        batched.begin(np.arange(2), np.arange(2), np.zeros(2, np.int64))
        for step in range(20):
            reward, _ = batched.advance(batched.check(racing(batched, step)), np.ones(2, bool))
        paid[split, training_reward] = reward
        if (split, training_reward) == ("train", "sum"):
            terms = batched.step_info()["reward_terms"]
            short = sum(1.0 - terms[name] for name in FACTORS)
            assert reward == pytest.approx(terms["route_completion"] - 0.005 * short + terms["penalty"])
    assert (paid["test", "sum"] == paid["test", "carl"]).all()
    assert (paid["train", "sum"] < paid["train", "carl"]).all()  # who races breaks limits
    with pytest.raises(ValueError, match="unknown training_reward 'product'"):
        Driving(1, training_reward="product")
