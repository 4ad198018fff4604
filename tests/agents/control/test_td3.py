from typing import Any

import pytest
import torch as th

from tiltyard.agents.control.replay import Batch
from tiltyard.agents.control.td3 import TD3, smoothed_target, smoothing

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [16]}, "batch_size": 32, "buffer_size": 500, "seed": 0}


def one(reward: float, discount: float) -> Batch:
    column = th.zeros(1, 1)
    return Batch(column, column, th.tensor([reward]), column, th.tensor([discount]))


def test_target_by_hand(match: Any) -> None:
    # The target critics say 3 and 5 everywhere: y = 2 + 0.9 * min(3, 5) = 4.7; a terminal step keeps its reward alone.
    agent = TD3("MlpPolicy", match.env(), **SMALL)
    with th.no_grad():
        for param in agent.critic_target.parameters():
            param.zero_()
        last = list(agent.critic_target.parameters())[-1]
        last[0].fill_(3.0)
        last[1].fill_(5.0)
    for discount, expected in ((0.9, 4.7), (0.0, 2.0)):
        batch = one(2.0, discount)
        noise = smoothing(batch, agent.target_policy_noise, agent.target_noise_clip)
        found = smoothed_target(agent.critic_target, agent.policy.actor_target, batch, noise)
        assert found.tolist() == pytest.approx([expected])


def test_actor_and_targets_move_at_every_second_update_alone(match: Any) -> None:
    agent = TD3("MlpPolicy", match.env(), **SMALL)
    agent.learn_offline(match.data(100), 1)
    weights = [param.detach().clone() for param in agent.actor.parameters()]
    first = TD3("MlpPolicy", match.env(), **SMALL)
    assert all(th.equal(a, b) for a, b in zip(weights, first.actor.parameters(), strict=True))
    agent.learn_offline(match.data(100), 1)
    assert any(not th.equal(a, b) for a, b in zip(weights, agent.actor.parameters(), strict=True))


def test_policy_delay_below_one_is_refused(match: Any) -> None:
    with pytest.raises(ValueError, match="policy_delay must be a whole number of at least 1, got 0"):
        TD3("MlpPolicy", match.env(), policy_delay=0, **SMALL)
