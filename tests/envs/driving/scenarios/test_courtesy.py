"""Harm done behind is charged, as much as the option says."""

import numpy as np
import pytest

from tiltyard.envs.driving.metrics.harm import courtesy, imposed
from tiltyard.envs.driving.scenarios.driving import Driving

N, STEPS = 48, 24


def pushed(weight):
    """Rewards, penalties and courtesy factors ``[steps, n]`` of cars that change lane as they like in dense traffic."""
    batched = Driving(N, scene="intersection", action="discrete", density=30.0, courtesy=weight)
    batched.begin(np.arange(N), np.arange(N), np.zeros(N, np.int64))
    rng, found = np.random.default_rng(0), []
    for step in range(STEPS):
        actions = rng.choice([0, 1, 2, 3, 3, 3, 4], N) if step % 3 == 0 else np.zeros(N, np.int64)
        reward, _ = batched.advance(batched.check(actions), np.ones(N, np.bool_))
        found.append([reward, batched.terms["penalty"], batched.terms["courtesy"]])
    return np.array(found).transpose(1, 0, 2), batched.step_info()["offence"]


def test_who_makes_others_brake_is_paid_less_by_that_factor_alone():
    (charged, penalty, factor), offences = pushed(1.0)
    (free, _, same), _ = pushed(0.0)
    half = pushed(0.5)[0][0]
    assert (factor == same).all()  # the option changes what is paid, and nothing that happens
    harmful = (factor < 1.0) & (free - penalty > 0.0)
    assert harmful.sum() >= 3
    assert charged - penalty == pytest.approx((free - penalty) * factor)
    assert half - penalty == pytest.approx((free - penalty) * (1.0 + factor) / 2)
    assert (charged[harmful] < free[harmful]).all()
    assert "imposed_braking" in offences


def test_the_weight_is_a_share():
    with pytest.raises(ValueError, match="courtesy must be between 0 and 1"):
        Driving(1, courtesy=1.5)


def braked(counted):
    """Courtesy factors of every step of the expert, who stands on the brakes for two seconds of every six; and logs."""
    batched = Driving(8, scene="intersection", density=25.0, pedestrians=0, record=True, imposed=counted)
    batched.begin(np.arange(8), np.arange(8), np.zeros(8, np.int64))
    factors, open_ = [], np.ones(8, bool)
    for step in range(120):
        actions = batched.expert_actions()
        if step % 30 >= 20:
            actions[:, 0] = -1.0
        _, ended = batched.advance(batched.check(actions), open_)
        factors.append(batched.terms["courtesy"])
        open_ &= ~ended
    return np.array(factors), [batched.log(index) for index in range(8)]


def test_who_brakes_for_nothing_is_charged_if_all_imposed_braking_counts():
    (cut_ins, _), (every, logs) = braked("cut-ins"), braked("all")
    harsher = 0
    for index, log in enumerate(logs):
        hardest = imposed(log)[1:].reshape(-1, 2).max(axis=1)  # of the two ticks of a step
        steps = len(hardest)
        wanted = np.minimum([courtesy(one) for one in hardest], cut_ins[:steps, index])
        assert every[:steps, index] == pytest.approx(wanted, abs=1e-5)
        harsher += int((hardest > 3.0).sum())
    assert harsher >= 3
    assert (every < cut_ins).sum() >= 5
