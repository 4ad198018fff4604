"""TQC: the update of sb3-contrib's, and what is left out."""

import sys
from pathlib import Path
from typing import Any

import pytest
import sb3_contrib
import torch as th
from stable_baselines3.common.logger import configure

from tiltyard.agents import SAC, TQC, make
from tiltyard.agents.control.replay import Batch
from tiltyard.agents.control.tqc import truncated

sys.path.insert(0, str(Path(__file__).parent))
from beside_sb3 import constant_noise, copy_networks

SMALL: dict[str, Any] = {"learning_starts": 20, "batch_size": 16, "buffer_size": 2000, "seed": 0, "device": "cpu"}


def test_the_largest_of_all_critics_are_left_out() -> None:
    # Two critics of three quantiles, one left out of each: the two largest of the six, both of the second critic.
    out = th.tensor([[[1.0, 2.0, 0.0]], [[9.0, 8.0, 1.5]]])
    assert truncated(out, 1).tolist() == [[0, 1, 1.5, 2]]
    assert truncated(out, 0).shape == (1, 6)


@pytest.mark.parametrize("kwargs", [{}, {"n_critics": 3, "n_quantiles": 5}])
def test_the_update_is_sb3_contribs(kwargs: dict[str, int]) -> None:
    """With equal networks and equal draws."""
    settings: dict[str, Any] = {"learning_starts": 300, "seed": 0, "device": "cpu", "top_quantiles_to_drop_per_net": 3}
    theirs = sb3_contrib.TQC("MlpPolicy", "Pendulum-v1", policy_kwargs=dict(kwargs), **settings).learn(300)
    ours = TQC("MlpPolicy", "Pendulum-v1", policy_kwargs=kwargs, **settings)
    copy_networks(theirs, ours)
    drawn = theirs.replay_buffer.sample(64)
    batch = Batch(
        drawn.observations, drawn.actions, drawn.rewards[:, 0], drawn.next_observations, 0.99 * (1 - drawn.dones[:, 0])
    )
    theirs.replay_buffer.sample = lambda *args, **kwargs: drawn
    theirs.set_logger(configure(None, []))
    noise = th.randn(2, 64, 1)
    with constant_noise(noise[0], noise[1]):  # they draw for the actor first
        theirs.train(1, 64)
    with constant_noise(noise[1], noise[0]):
        metrics = ours.update(batch)
    assert metrics["critic_loss"].item() == pytest.approx(theirs.logger.name_to_value["train/critic_loss"], rel=1e-5)
    assert metrics["actor_loss"].item() == pytest.approx(theirs.logger.name_to_value["train/actor_loss"], rel=1e-3)
    x = th.cat([drawn.observations, drawn.actions], 1)
    for i in range(ours.critic.net.n):
        for mine, critic in ((ours.critic, theirs.critic), (ours.critic_target, theirs.critic_target)):
            th.testing.assert_close(mine.net(x)[i], critic.q_networks[i](x), rtol=1e-5, atol=1e-5)
    mean, log_std, _ = theirs.actor.get_action_dist_params(drawn.observations)
    th.testing.assert_close(ours.actor.out(drawn.observations), th.cat([mean, log_std], 1), rtol=1e-4, atol=1e-5)
    th.testing.assert_close(ours.log_ent_coef, theirs.log_ent_coef)


def test_leaving_out_more_lowers_values() -> None:
    """Of random rewards of mean 0 values stay near 0; targets that keep the lower half alone pull them down."""

    def value(dropped: int) -> float:
        agent = TQC("MlpPolicy", "Pendulum-v1", **SMALL, gamma=0.5, top_quantiles_to_drop_per_net=dropped)
        agent.learn(20)
        th.manual_seed(0)
        for _ in range(300):
            agent.update(agent.sample(64)._replace(rewards=th.randn(64)))
            agent._n_updates += 1
        batch = agent.sample(64)
        return float(agent.critic(batch.observations, batch.actions).detach().mean())

    assert value(12) < value(0) - 0.2


def test_what_sb3_contrib_calls_quantiles_is_understood(tmp_path: Path) -> None:
    agent = TQC("MlpPolicy", "Pendulum-v1", **SMALL, policy_kwargs={"n_quantiles": 9, "n_critics": 3}).learn(22)
    assert agent.critic.outputs(th.zeros(4, 3), th.zeros(4, 1)).shape == (3, 4, 9)
    agent.save(tmp_path / "agent")
    assert TQC.load(tmp_path / "agent").critic.head.n_out == 9
    assert type(make("tqc", "Pendulum-v1", seed=0)) is TQC
    assert make("sb3-tqc", "Pendulum-v1", seed=0).gradient_steps == make("tqc", "Pendulum-v1", seed=0).gradient_steps


def test_quantiles_are_a_head_of_other_agents_too() -> None:
    kwargs = {"critic_head": "quantile", "critic_head_kwargs": {"n_quantiles": 5}}
    assert SAC("MlpPolicy", "Pendulum-v1", **SMALL, policy_kwargs=kwargs).learn(24)._n_updates == 4
    with pytest.raises(ValueError, match='n_quantiles of policy_kwargs is for the critic_head "quantile", not "mse"'):
        SAC("MlpPolicy", "Pendulum-v1", **SMALL, policy_kwargs={"n_quantiles": 5})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"top_quantiles_to_drop_per_net": 25}, "must be below the 25 quantiles of a critic, got 25"),
        ({"top_quantiles_to_drop_per_net": -1}, "top_quantiles_to_drop_per_net must be a whole number of at least 0"),
        ({"policy_kwargs": {"critic_head": "mse"}}, "TQC learns quantiles"),
        ({"policy_kwargs": {"n_quantiles": 0}}, "n_quantiles must be"),
        ({"use_sde": True}, "use_sde=True is for SAC, not for TQC"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TQC("MlpPolicy", "Pendulum-v1", **SMALL, **settings)


def test_what_is_left_out_may_be_changed_later() -> None:
    agent = TQC("MlpPolicy", "Pendulum-v1", **SMALL).learn(21)
    with pytest.raises(ValueError, match="below the 25 quantiles"):
        agent.top_quantiles_to_drop_per_net = 30
    agent.top_quantiles_to_drop_per_net = 5
    agent.train(1, 16)
    assert agent.settings.top_quantiles_to_drop_per_net == 5
