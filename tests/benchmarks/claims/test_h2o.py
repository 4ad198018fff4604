from typing import Any

import numpy as np
import pytest

from tiltyard.agents.control.h2o import H2O
from tiltyard.benchmarks.claims.h2o import CLAIM
from tiltyard.benchmarks.testbeds import pendulum_gap as h2o


def test_true_errors_by_hand() -> None:
    # Upright to the side (sin 1) and at rest: reality adds 1.5 * 10 * 0.05 = 0.75 to the speed, gravity 15 adds 1.125.
    # The angle moves by 0.05 of that: cos goes from 0 to -sin(0.0375) = -0.0374912 and to -sin(0.05625) = -0.0562203,
    # sin from 1 to 0.999297 and to 0.998418.
    observations, actions = np.array([[0.0, 1.0, 0.0]]), np.zeros((1, 1))
    simulated = np.array([[-0.0562203, 0.998418, 1.125]])
    found = h2o.true_errors(observations, actions, simulated)
    assert found == pytest.approx([np.hypot(0.375, np.hypot(0.0187291, 0.000879))], abs=1e-5)


def test_reality_agrees_with_itself() -> None:
    env = h2o.pendulum(h2o.REAL_GRAVITY)
    before, _ = env.reset(seed=3)
    action = np.array([0.7], np.float32)
    after, *_ = env.step(action)
    assert h2o.true_errors(before[None], action[None], after[None]) == pytest.approx([0], abs=1e-6)


def test_rank_correlation_by_hand() -> None:
    # Ranks 0 1 2 3 and 1 0 2 3: 1 - 6 * (1 + 1) / (4 * 15) = 0.8.
    assert h2o.rank_correlation(np.array([1.0, 2, 5, 9]), np.array([4.0, 3, 50, 60])) == pytest.approx(0.8)


def test_data_are_what_was_seen_in_reality() -> None:
    data = h2o.real_data(0, 450, h2o.SHARED)
    assert data.lengths.tolist() == [200, 200, 50]
    assert data.episode_returns.sum() == pytest.approx(data.rewards.sum(), rel=1e-4)
    errors = h2o.true_errors(data.observations, data.actions, data.next_observations)
    assert errors.max() < 1e-3  # so the actions are in the task's units


@pytest.mark.slow
def test_every_baseline_is_a_part() -> None:
    found = CLAIM.smallest().measure()
    returns = found.details["return in reality, by seed"]
    assert list(returns) == list(CLAIM.conditions)
    for name in CLAIM.baselines:
        lead = np.subtract(returns["H2O"], returns[name]).mean()
        assert found.means[f"over {name}"] == pytest.approx(lead, abs=0.2)


def test_correlations_are_of_what_the_simulator_made() -> None:
    data = h2o.real_data(0, 210, h2o.SHARED)
    settings: Any = {
        "learning_starts": 8,
        "batch_size": 16,
        "discriminator_width": 8,
        "policy_kwargs": {"net_arch": [8]},
    }
    agent = H2O("MlpPolicy", h2o.pendulum(h2o.SIMULATED_GRAVITY), seed=0, **settings).learn_offline(data, 0).learn(40)
    found = h2o.GapCorrelations(1000)(agent)
    assert found.keys() == {"u(s, a)", "-log ratio(s'|s, a)"}
    assert all(-1 <= value <= 1 for value in found.values())


def test_a_tuned_rate_reaches_every_network() -> None:
    bed = CLAIM.smallest().testbed
    for name, condition in CLAIM.conditions.items():
        agent = bed.agent(condition.at(0.0125), 0)
        learned = [agent.actor.optimizer, agent.critic.optimizer, *agent._optimizers()]
        assert {group["lr"] for one in learned for group in one.param_groups} == {0.0125}, name


def test_every_condition_has_as_many_forms() -> None:
    assert CLAIM.tuning is not None
    assert CLAIM.tuning.variants.keys() == CLAIM.conditions.keys()
    for name, (first, other) in CLAIM.tuning.variants.items():
        assert first == CLAIM.conditions[name] != other, name


def test_a_testbed_of_agents_trains_them_at_the_tuned_rate_or_their_own() -> None:
    bed, condition = CLAIM.smallest().testbed, CLAIM.conditions["SAC in the simulator"]
    own, same, other = (
        bed.run(condition, rate, 0).scores for rate in (float("nan"), h2o.SHARED["learning_rate"], 0.05)
    )
    assert own == same != other
