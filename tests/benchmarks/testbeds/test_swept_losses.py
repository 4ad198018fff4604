from dataclasses import replace

import numpy as np
import pytest

from tiltyard.benchmarks.claims.f_dvl_recoil import CLAIM, lead
from tiltyard.benchmarks.testbeds.pendulum import SwingUps
from tiltyard.benchmarks.testbeds.swept_losses import Swept, SweptLosses, dataset, slopes

TASK = "Pendulum-v1"


def test_slopes_at_outliers_by_hand() -> None:
    # d/dx of 0.7 (x + x^2/4) - 0.3 x at 10 is 0.7 * 6 - 0.3; of 0.7 x - 0.3 x, 0.4; of e^(x/2) - x/2, (e^5 - 1) / 2.
    found = slopes((10.0,))
    assert found["chi-square"] == [pytest.approx(3.9)]
    assert found["total-variation"] == [pytest.approx(0.4)]
    assert found["kl, as the paper defines it"] == [pytest.approx((np.exp(5) - 1) / 2, abs=1e-3)]


def test_each_value_makes_an_agent_and_is_told_by_hand() -> None:
    swept = Swept("kl", (0.5, 2.0))
    assert [agent.settings["temperature"] for agent in swept.agents()] == [0.5, 2.0]
    assert swept.by_value(np.array([[0.1, 0.5], [0.3, 0.3]])) == {"0.5": {TASK: 0.2}, "2": {TASK: 0.4}}


def test_the_lead_is_of_means_over_settings_by_hand() -> None:
    scores = {"chi-square": [[0.2, 0.6]], "total-variation": [[0.5, 0.9]], "kl": [[0.0, 0.4]]}
    assert lead({name: np.array(of) for name, of in scores.items()}) == pytest.approx([0.55 - 0.2])


def test_the_premise_is_that_a_setting_of_xql_learns_and_another_breaks_down() -> None:
    def settings(*scores: float) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
        return {"normalised return by setting and task": {"kl": {f"{i}": {TASK: one} for i, one in enumerate(scores)}}}

    assert CLAIM.premise.missing(settings(0.31, 0.6))
    assert not CLAIM.premise.missing(settings(0.29, 0.6))
    assert CLAIM.premise.missing(settings(-0.3, 0.1))  # nothing is learnt at all


def test_the_loss_of_a_setting_is_what_an_agent_learns_by() -> None:
    few = SwingUps(good=2, trajectories=4, episodes=2, steps=30)
    bed = replace(SweptLosses(), swing_ups=few, updates=20)
    found = {loss: bed.run(Swept(loss, (0.6, 0.99)), float("nan"), 1) for loss in ("chi-square", "kl")}
    assert len({*found["chi-square"], *found["kl"]}) == 4
    assert dataset(few, 1) is dataset(few, 1)


def test_every_condition_is_measured() -> None:
    found = CLAIM.smallest().measure()
    means = {name: one["estimate"] for name, one in found.details["normalised return, mean over settings"].items()}
    assert found.means[TASK] == pytest.approx((means["chi-square"] + means["total-variation"]) / 2 - means["kl"])
    assert len(found.details["imitation on tiltyard/HalfCheetah-v5"]) == 5
