from typing import Any

import numpy as np
import pytest
import torch as th

from tiltyard.agents import MEX, TD3
from tiltyard.agents.control.mex import optimism
from tiltyard.benchmarks.testbeds.river_swim import River

SMALL: dict[str, Any] = {
    "policy_kwargs": {"net_arch": [16]},
    "batch_size": 16,
    "buffer_size": 500,
    "learning_starts": 20,
    "learning_rate": 1e-3,
    "seed": 0,
    "device": "cpu",
}


def test_optimism_by_hand() -> None:
    # The actor's action is worth 1, the others log 1, log 2 and log 5, whose exponentials sum to 8.
    values = th.tensor([[[1.0, 0.0, np.log(2.0), np.log(5.0)]]], requires_grad=True)
    gain, slope = optimism(values, soft=True)
    assert gain.item() == pytest.approx(1 - np.log(8))
    np.testing.assert_allclose(slope[0, 0].detach(), [1, -1 / 8, -2 / 8, -5 / 8], rtol=1e-6)
    (found,) = th.autograd.grad(gain.sum(), values)
    th.testing.assert_close(found, slope)
    gain, slope = optimism(values, soft=False)
    assert gain.item() == 1.0
    assert slope.tolist() == [[[1, 0, 0, 0]]]


def weights(agent: Any) -> list[Any]:
    return [parameter.detach().clone() for parameter in agent.policy.parameters()]


def test_without_optimism_it_is_td3_to_the_last_bit() -> None:
    mine = MEX("MlpPolicy", River(), optimism_coef=0.0, **SMALL).learn(60)
    theirs = TD3("MlpPolicy", River(), **SMALL).learn(60)
    for one, other in zip(weights(mine), weights(theirs), strict=True):
        assert one.equal(other)


@pytest.mark.parametrize("soft", [True, False])
def test_optimism_raises_the_actors_action_above_others(soft: bool) -> None:
    agents = [
        MEX("MlpPolicy", River(), optimism_coef=coef, soft_optimism=soft, **SMALL).learn(150) for coef in (0.0, 1.0)
    ]
    seen = th.linspace(0, 1, 20)[:, None]
    above = []
    for agent in agents:
        with th.no_grad():
            own = agent.critic(seen, agent.actor(seen))
            others = th.stack([agent.critic(seen, th.full((20, 1), a)) for a in np.linspace(-1, 1, 9)])
        above.append(float((own - others.mean(dim=0)).mean()) if soft else float(own.mean()))
    assert above[1] > above[0] + 0.1


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="optimism_coef must be a number of at least 0, got -1"):
        MEX("MlpPolicy", River(), optimism_coef=-1.0, **SMALL)
