"""Stable-Baselines3's algorithms under our names learn the very same weights."""

from typing import Any

import pytest
import sb3_contrib
import stable_baselines3 as sb3
import torch as th

from tiltyard.agents.control import stock

OFF = {"learning_starts": 20, "batch_size": 16, "buffer_size": 200}
PAIRS: list[tuple[Any, Any, dict[str, Any]]] = [
    (stock.PPO, sb3.PPO, {"n_steps": 32, "batch_size": 16}),
    (stock.SB3SAC, sb3.SAC, OFF),
    (stock.SB3TD3, sb3.TD3, OFF),
    (stock.SB3TQC, sb3_contrib.TQC, OFF),
    (stock.CrossQ, sb3_contrib.CrossQ, OFF),
    (stock.DQN, sb3.DQN, OFF),
]


@pytest.mark.parametrize(("ours", "theirs", "settings"), PAIRS, ids=lambda value: getattr(value, "__name__", ""))
def test_weights_after_training_are_equal(ours: Any, theirs: Any, settings: dict[str, Any]) -> None:
    env = "CartPole-v1" if ours is stock.DQN else "Pendulum-v1"
    agents = [kind("MlpPolicy", env, seed=3, **settings).learn(64) for kind in (ours, theirs)]
    a, b = (agent.policy.state_dict() for agent in agents)
    assert a.keys() == b.keys()
    assert all(th.equal(a[name], b[name]) for name in a)
