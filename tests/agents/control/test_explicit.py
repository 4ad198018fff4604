"""What is written out takes the same steps as what autograd differentiates."""

from typing import Any

import pytest
import torch as th
from stable_baselines3.common.utils import set_random_seed

from tiltyard.agents import SAC, TD3
from tiltyard.agents.control import networks, sac, soft
from tiltyard.agents.control.actor_critic import ActorCritic
from tiltyard.agents.control.explicit import plain_actor, plain_critic

SETTINGS: dict[str, Any] = {"learning_starts": 100, "seed": 0, "device": "cpu", "batch_size": 32}
NET = {"net_arch": [24, 16]}
KINDS: dict[str, tuple[type[ActorCritic], dict[str, Any]]] = {
    "SAC": (SAC, {"policy_kwargs": NET}),
    "fixed temperature, tanh": (SAC, {"ent_coef": 0.1, "policy_kwargs": {**NET, "activation_fn": th.nn.Tanh}}),
    "RLPD": (
        SAC,
        {
            **{"critic_subset": 2, "backup_entropy": False, "actor_objective": "mean"},
            "policy_kwargs": {**NET, "n_critics": 4, "critic_layer_norm": True, "actor_layer_norm": True},
        },
    ),
    "normalised, the least critic": (SAC, {"policy_kwargs": {**NET, "critic_layer_norm": True}}),
    "TD3": (TD3, {"policy_kwargs": NET}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_those_of_autograd(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, settings = KINDS[kind]
    one, other = (made("MlpPolicy", "Pendulum-v1", **SETTINGS, **settings).learn(100) for _ in range(2))
    assert plain_critic(one.critic)
    assert plain_actor(one.actor) == (made is SAC)
    for seed in range(20):
        batch = one.sample(32)
        for agent in (one, other):
            with monkeypatch.context() as only:
                if agent is other:
                    only.setattr(soft, "plain_critic", lambda critic: False)
                    only.setattr(soft, "plain_actor", lambda actor: False)
                    only.setattr(sac, "plain_actor", lambda actor: False)
                set_random_seed(seed)
                drawn = _in_the_order_of_one_pass(agent, only) if agent is other and made is SAC else None
                metrics = agent.update(batch)
                agent._n_updates += 1
                assert drawn is None or not drawn
                if agent is one:
                    said = metrics
        assert said.keys() == metrics.keys()
        for name, value in said.items():
            th.testing.assert_close(value.detach(), metrics[name].detach(), rtol=1e-4, atol=1e-5, msg=name)
    for name, parameter in one.policy.state_dict().items():
        th.testing.assert_close(parameter, other.policy.state_dict()[name], rtol=1e-4, atol=1e-5, msg=name)


def _in_the_order_of_one_pass(agent: Any, only: pytest.MonkeyPatch) -> list[th.Tensor]:
    """Has the readable update take the noise of both states drawn at once, which comes before a subset of critics."""
    noises = [th.randn(32, agent.actor.n_actions) for _ in range(2)]

    def draw(self: Any, observations: Any) -> Any:
        return networks._Squash.apply(self.out(observations), noises.pop(0))

    only.setattr(networks.SquashedGaussian, "action_log_prob", draw)
    return noises


def test_other_networks_take_the_readable_steps() -> None:
    for policy_kwargs in ({"critic_head": "gaussian"}, {"optimizer_class": th.optim.AdamW}):
        agent = SAC("MlpPolicy", "Pendulum-v1", policy_kwargs={**NET, **policy_kwargs}, **SETTINGS)
        assert not plain_critic(agent.critic)
    assert not plain_actor(SAC("MlpPolicy", "Pendulum-v1", policy_kwargs={"log_std_offset": -1.0}, **SETTINGS).actor)
