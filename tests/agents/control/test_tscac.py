"""The closed form and the losses by hand, the two stages, what is refused, and which way it learns."""

import copy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete

from tiltyard.agents import TSCAC, make
from tiltyard.agents.control.tscac_losses import closed_form, imitation_weights, stage_one_loss, stage_two_loss
from tiltyard.agents.control.vector_rewards import VectorTransitions

SMALL: dict[str, Any] = {"batch_size": 16, "seed": 0, "device": "cpu", "policy_kwargs": {"net_arch": [16]}}
LIKE = np.array([0.0, 0.0, 1.0])
WATCH = np.array([1.0, 0.6, 0.0])


class Shelf(gymnasium.Env[Any, Any]):
    """One of three things is shown, five times: the first is watched, the last is liked, the second a bit of both."""

    observation_space = Box(0, 1, (2,), np.float32)
    action_space = Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.ones(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        terms = {"watch": float(WATCH[action]), "like": float(LIKE[action]), "share": 0.5 * float(action == 1)}
        return np.ones(2, np.float32), terms["watch"], False, self.steps == 5, {"reward_terms": terms}


def recorded(episodes: int = 40) -> VectorTransitions:
    """Of actions that are drawn evenly; each is the only one of its episode."""
    rng = np.random.default_rng(0)
    actions = rng.integers(3, size=5 * episodes)
    seen, ends = np.ones((len(actions), 2), np.float32), np.arange(1, len(actions) + 1) % 5 == 0
    return VectorTransitions(
        observations=seen,
        actions=actions,
        rewards=WATCH[actions].astype(np.float32),
        next_observations=seen,
        terminations=np.ones(len(actions), np.float32),
        ends=ends,
        episodes=np.arange(len(actions)) // 5,
        episode_returns=np.zeros(episodes),
        terms=np.stack([LIKE[actions], 0.5 * (actions == 1)], axis=1).astype(np.float32),
        names=("like", "share"),
    )


def made(**settings: Any) -> TSCAC:
    return TSCAC("MlpPolicy", Shelf(), **{**SMALL, "auxiliary": ["like", "share"], **settings})


def shares(agent: Any, net: str = "actor") -> Any:
    with th.no_grad():
        return getattr(agent.policy, net)(th.ones(1, 2)).softmax(dim=2)[:, 0].numpy()


FIRST, SECOND = th.tensor([[[0.5, 0.25, 0.25]], [[0.2, 0.2, 0.6]]]).log(), th.tensor([[0.0, np.log(2.0), 0.0]]).float()


def test_the_closed_form_of_three_actions_by_hand() -> None:
    # lambda 1 and 1, so Lambda 2: sqrt(pi_1 pi_2) = sqrt(0.1), sqrt(0.05), sqrt(0.15); the second times e^(ln 2 / 2).
    # 0.3162, 0.2236 * 1.4142 = 0.3162, 0.3873: divided by 1.0197.
    found = closed_form(FIRST, SECOND, th.tensor([1.0, 1.0])).exp()
    np.testing.assert_allclose(found, [[0.3101, 0.3101, 0.3798]], atol=1e-4)


def test_the_closed_form_is_best_near_the_auxiliary_policies() -> None:
    multipliers = th.tensor([0.7, 0.2])
    best = closed_form(FIRST, SECOND, multipliers)[0]

    def value(logp: th.Tensor) -> float:
        divergence = (logp.exp() * (logp - FIRST[:, 0])).sum(dim=1)
        return float((logp.exp() * SECOND[0]).sum() - multipliers @ divergence)

    others = (best + 0.3 * th.randn(200, 3, generator=th.Generator().manual_seed(0))).log_softmax(dim=1)
    assert max(value(other) for other in others) < value(best)


def test_small_multipliers_follow_the_main_reward_and_large_ones_the_auxiliary_policies() -> None:
    tiny = closed_form(FIRST, SECOND, th.tensor([1e-3, 1e-3])).exp()
    np.testing.assert_allclose(tiny, [[0, 1, 0]], atol=1e-6)
    one = closed_form(FIRST, SECOND, th.tensor([1e6, 1e-3])).exp()
    np.testing.assert_allclose(one, FIRST[0].exp(), atol=1e-4)


def test_weights_by_hand_and_their_limit() -> None:
    # pi_b = 1/2: (0.25/0.5)^(1/2) (1/0.5)^(1/2) e^(1/2) = e^(1/2); the second e^(20/2) is cut off at 10.
    near, by = th.tensor([[0.25, 0.25], [1.0, 1.0]]).log(), th.tensor([0.5, 0.5]).log()
    found = imitation_weights(near, by, th.tensor([1.0, 20.0]), th.tensor([1.0, 1.0]), 10.0)
    np.testing.assert_allclose(found, [np.exp(0.5), 10.0], rtol=1e-5)


def test_the_second_stages_gradient_is_that_of_the_written_loss() -> None:
    agent = made(stage_one=0.0, multiplier=0.5, multipliers={"share": 0.2})
    agent.learn_offline(recorded(), 3)
    policy, batch = agent.policy, agent.sample(32)
    behaviour = policy.behaviour(batch.observations).log_softmax(dim=2)[0].gather(1, batch.actions[:, None])[:, 0]
    loss = agent._second(batch, behaviour.detach())["actor"]
    ours = th.autograd.grad(loss, list(policy.actor.parameters()))
    q = policy.critic(batch.observations)[0].detach()
    logp = policy.actor(batch.observations)[0].log_softmax(dim=1)
    rows = th.arange(32)
    advantage = q[rows, batch.actions] - (logp.exp() * q).sum(dim=1).detach()
    like, share = (one.log_softmax(dim=1)[rows, batch.actions] for one in policy.auxiliary(batch.observations))
    weights = ((like - behaviour) * 0.5 / 0.7 + (share - behaviour) * 0.2 / 0.7 + advantage / 0.7).exp().detach()
    written = -(weights.clamp(max=10.0) * logp[rows, batch.actions]).mean()
    for one, other in zip(ours, th.autograd.grad(written, list(policy.actor.parameters())), strict=True):
        th.testing.assert_close(one, other)
        assert one.abs().max() > 0


def test_losses_by_hand() -> None:
    assert stage_two_loss(th.tensor([-1.0, -2.0]), th.tensor([0.5, 2.0])).item() == pytest.approx(2.25)
    # One state of two actions with 1/2 each, taken with 1/4: ratio 2, cut to 1.5; A = 3; entropy ln 2.
    logp = th.full((1, 1, 2), 0.5).log()
    how = th.tensor([0]), th.tensor([0.25]).log(), th.tensor([[3.0]])
    assert stage_one_loss(logp, *how, 10.0, 0.0).item() == pytest.approx(6 * np.log(2), rel=1e-5)
    assert stage_one_loss(logp, *how, 1.5, 0.5).item() == pytest.approx((4.5 - 0.5) * np.log(2), rel=1e-5)


def test_each_stage_leaves_the_others_networks_alone() -> None:
    agent = made()
    before = copy.deepcopy(agent.policy.state_dict())

    def moved() -> set[str]:
        now = agent.policy.state_dict()
        return {name.partition(".")[0] for name in now if not now[name].equal(before[name])}

    agent.learn_offline(recorded(), 0)
    agent.train(2, 16)
    assert moved() == {"behaviour", "auxiliary", "auxiliary_critic", "auxiliary_target"}
    before = copy.deepcopy(agent.policy.state_dict())
    agent._current_progress_remaining = 0.5
    agent.train(2, 16)
    assert moved() == {"behaviour", "actor", "critic", "target"}


def test_a_signals_discount_is_its_own() -> None:
    agent = made(gammas={"share": 0.0}, gamma=0.5)
    assert agent.gammas.tolist() == [0.5, 0.0]
    assert agent.multipliers.tolist() == [1.0, 1.0]
    agent.learn_offline(recorded(), 0)
    batch = agent.sample(8)._replace(going_on=th.ones(8))
    with th.no_grad():
        for parameter in agent.policy.auxiliary_target.parameters():
            parameter.zero_()
        agent.policy.auxiliary_target.params[-1].fill_(4.0)  # every action's value
        *_, loss = agent._judged(
            agent.policy.auxiliary,
            agent.policy.auxiliary_critic,
            agent.policy.auxiliary_target,
            batch,
            batch.terms.T,
            agent.gammas,
        )
        values = agent.policy.auxiliary_critic(batch.observations)[:, th.arange(8), batch.actions]
    targets = batch.terms.T + th.tensor([[2.0], [0.0]])
    assert loss.item() == pytest.approx((values - targets).square().mean(dim=1).sum().item(), rel=1e-5)


@pytest.mark.parametrize(
    ("multiplier", "low", "high"), [(0.01, (0.8, 0.0), (1.0, 0.1)), (30.0, (0.0, 0.75), (0.15, 1.0))]
)
def test_from_data_small_multipliers_choose_what_is_watched_and_large_ones_what_is_liked(
    multiplier: float, low: tuple[float, float], high: tuple[float, float]
) -> None:
    agent = made(auxiliary=["like"], multiplier=multiplier, learning_rate=0.01, ent_coef=0.1)
    agent.learn_offline(recorded(), 500)
    np.testing.assert_allclose(shares(agent, "behaviour")[0], [1 / 3] * 3, atol=0.1)
    found = shares(agent)[0]
    assert low[0] <= found[0] <= high[0]
    assert low[1] <= found[2] <= high[1]
    assert agent.predict(np.ones(2, np.float32), deterministic=True)[0] == (0 if multiplier < 1 else 2)


def test_it_learns_online_the_same_with_the_same_seed_and_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    how: dict[str, Any] = {"auxiliary": ["like"], "learning_rate": 0.01, "learning_starts": 20, "multiplier": 0.02}
    one, same = (made(**how).learn(300) for _ in range(2))
    for first, second in zip(one.policy.parameters(), same.policy.parameters(), strict=True):
        assert first.equal(second)
    assert shares(one, "auxiliary")[0][2] > 0.6
    assert shares(one)[0][0] > 0.6
    one.save(tmp_path / "agent")
    one.save_replay_buffer(tmp_path / "buffer")
    loaded = make("tscac", Shelf(), auxiliary=["like"], **SMALL).load(tmp_path / "agent", env=Shelf())
    loaded.load_replay_buffer(tmp_path / "buffer")
    np.testing.assert_array_equal(loaded.replay_buffer.terms[:300], one.replay_buffer.terms[:300])  # type: ignore[union-attr]
    assert loaded.replay_buffer.terms[:300].sum() > 50
    for agent in (loaded, one):
        th.manual_seed(0)
        agent.train(2, 16)
    for first, second in zip(one.policy.parameters(), loaded.policy.parameters(), strict=True):
        assert first.equal(second)
    twin = copy.deepcopy(one)
    twin.train(1, 16)
    assert not shares(twin)[0].tolist() == shares(one)[0].tolist()


def test_data_and_experience_are_mixed() -> None:
    agent = made(offline_ratio=0.25, learning_starts=5)
    agent.learn_offline(recorded(), 0).learn(20)
    assert agent.replay_buffer is not None
    agent.replay_buffer.rewards[:] = 7.0
    assert (agent.sample(400).rewards == 7).sum() == 300
    agent.offline_ratio = None
    share = float((agent.sample(2000).rewards == 7).float().mean())
    assert share == pytest.approx(20 / 220, abs=0.03)
    agent.offline_ratio = 1.0
    assert not (agent.sample(64).rewards == 7).any()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"auxiliary": []}, "auxiliary must list the names"),
        ({"auxiliary": "like"}, "auxiliary must list the names"),
        ({"auxiliary": ["like", "like"]}, "auxiliary must list the names"),
        ({"gammas": {"likes": 0.9}}, "gammas has 'likes', which is not among auxiliary \\(like, share\\)"),
        ({"gammas": {"like": 1.5}}, "gammas must be numbers from 0 to 1, got 1.5 for like"),
        ({"multipliers": {"like": -1.0}}, "multipliers must be numbers of at least 0, got -1.0 for like"),
        ({"multipliers": {"like": "a"}}, "multipliers must be numbers of at least 0, got 'a' for like"),
        ({"multipliers": {"like": 0, "share": 0.0}}, "multipliers must be finite and not all be 0"),
        ({"multiplier": 0.0}, "multiplier must be a number above 0"),
        ({"stage_one": 1.5}, "stage_one must be a number from 0 to 1"),
    ],
)
def test_what_settings_cannot_mean_is_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        made(**settings)


def test_other_spaces_and_signals_that_are_not_there_are_refused() -> None:
    with pytest.raises(TypeError, match="TSCAC acts in Discrete spaces"):
        make("tscac", "tiltyard/Hopper-v5", auxiliary=["alive"])
    with pytest.raises(TypeError, match="flat Box observations"):
        make("tscac", "FrozenLake-v1", auxiliary=["alive"])
    with pytest.raises(ValueError, match=r"there is no 'likes' among the reward_terms \(like, share, watch\)"):
        made(auxiliary=["likes"]).learn(2)
    agent = made(auxiliary=["watch"])
    with pytest.raises(ValueError, match=r"there is no 'watch' among the reward_terms \(like, share\)"):
        agent.learn_offline(recorded(), 1)
    assert agent.demonstrations is None
    with pytest.raises(ValueError, match="learn_offline"):
        made().train(1, 8)
    with pytest.raises(ValueError, match="gradient_steps must be an integer"):
        made().learn_offline(recorded(), -1)
