"""What methods need besides completions, as the trainer gives it to them."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.logger import configure

from tiltyard.agents.language.collect import Collector, by_turns
from tiltyard.agents.language.context import Context
from tiltyard.agents.language.methods import objective_of
from tiltyard.agents.language.providers.greedy import Greedy
from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.objectives import catalogue
from tiltyard.agents.objectives.registry import load
from tiltyard.agents.objectives.row import Row
from tiltyard.wrappers.components import Reward

ENV = "tiltyard/Countdown-v0"
SMALL = {"policy": "transformer-100k", "group_size": 4, "prompts_per_batch": 4, "max_answer_tokens": 12, "seed": 0}


class Pays(gymnasium.Wrapper):
    """Pays for completions that an untrained policy gives now and then."""

    def __init__(self, env, which):
        super().__init__(env)
        self.which = which

    def step(self, action):
        observation, _, terminated, truncated, info = self.env.step(action)
        info["success"] = self.which(action)
        return observation, float(info["success"]), terminated, truncated, info


def vector(which, n: int = 16) -> gymnasium.vector.SyncVectorEnv:
    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    return gymnasium.vector.SyncVectorEnv([lambda: Pays(gymnasium.make(ENV), which)] * n, autoreset_mode=mode)


def high() -> gymnasium.vector.SyncVectorEnv:
    return vector(lambda completion: completion.startswith(("7", "8", "9")))  # one token in fifteen


def odd(n: int = 16) -> gymnasium.vector.SyncVectorEnv:
    return vector(lambda completion: len(completion) % 2 == 1, n)


def agent(env=ENV, **settings) -> PolicyGradient:
    return PolicyGradient(env=env, **{**SMALL, **settings})


def weights(trained: PolicyGradient) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in trained.policy.parameters()])


@pytest.mark.parametrize("method", ["ngrpo", "topr", "w-reinforce-nsr", "remax", "ppo", "spo", "simpo", "gigpo"])
def test_methods_learn_what_is_rewarded(method):
    """Direction only, as for GRPO: completions that begin with a 7, 8 or 9 become common within seconds."""
    small = {"max_answer_tokens": 2, "learning_rate": 3e-3, "group_size": 16}
    small |= {"curriculum": "uniform"} if method == "spo" else {}  # its pool would be measured first
    trained = agent(high(), method=method, **small)
    questions = ["Make 57 from 8 4 25."] * 200

    def share() -> float:
        return float(np.mean([completion.startswith(("7", "8", "9")) for completion in trained.predict(questions)[0]]))

    before = share()
    trained.learn(64 * 15)
    assert share() > before + 0.4


@pytest.fixture(scope="module")
def eight_envs():
    return odd(8)


@pytest.mark.usefixtures("small_verifier")
@pytest.mark.parametrize("method", [row.handle for row in catalogue.ROWS])
def test_every_method_of_the_catalogue_trains(eight_envs, method):
    kwargs = {"max_entropy": 10.0} if method == "gtpo" else {}  # it leaves out what an untrained policy writes
    small = {"prompts_per_batch": 2, "max_answer_tokens": 6, "batch_size": 4, "n_epochs": 2}
    trained = agent(eight_envs, method=method, method_kwargs=kwargs, **small)
    start = weights(trained)
    trained.learn(8)
    assert not torch.equal(weights(trained), start)
    assert weights(trained).isfinite().all()


@pytest.mark.parametrize("method", ["dr-grpo", "canon", "rl-plus"])
def test_the_constant_of_dr_grpo_is_the_longest_completion(method):
    mask = torch.ones(2, 5, dtype=torch.bool)
    for longest in (12, 24):
        trained = agent(method=method, max_answer_tokens=longest)
        assert trained.objective.aggregate(mask)[0, 0].item() == pytest.approx(1 / (2 * longest))
    given = agent(method=method, method_kwargs={"length": 10})
    assert given.objective.aggregate(mask)[0, 0].item() == pytest.approx(1 / 20)
    assert agent(method="drpo-decoupled").objective.params["max_length"] == 12
    default = PolicyGradient(env=ENV, policy="transformer-100k", method=method, group_size=4, prompts_per_batch=4)
    assert default.objective.params["length"] == default.policy.max_answer_tokens == 128


def test_greedy_completions_are_graded_and_counted():
    trained = agent(odd(), method="remax")
    assert trained.learn(1).num_timesteps == 20  # 4 problems: 4 completions each, and the greedy one
    seeds = list(range(12))
    context = Context(trained.policy, trained.env, trained.rng)
    rollouts = Greedy().supply(Collector(context, 2, providers=[Greedy()]).collect(seeds), context)
    questions = [gymnasium.make(ENV).reset(seed=seed)[0] for seed in seeds]
    greedy = trained.predict(questions, deterministic=True)[0]
    assert rollouts.baseline[::2].tolist() == rollouts.baseline[1::2].tolist() == [len(a) % 2 for a in greedy]


def test_a_critic_is_fitted_and_comes_back_with_the_agent(tmp_path):
    trained = agent(odd(), method="ppo")
    trained.set_logger(configure(str(tmp_path), ["csv"]))
    trained.learn(32, log_interval=1)
    assert "train/value_loss" in (tmp_path / "progress.csv").read_text()
    assert trained.networks.critic.weight.abs().sum() > 0
    trained.save(tmp_path / "agent")
    loaded = PolicyGradient.load(tmp_path / "agent", env=odd())
    assert torch.equal(loaded.networks.critic.weight, trained.networks.critic.weight)
    moments = loaded.networks.critic.optimizer.state_dict()["state"]
    assert moments[0]["step"] == trained.networks.critic.optimizer.state_dict()["state"][0]["step"] > 0
    loaded.learn(16, reset_num_timesteps=False)


def test_a_tracker_reads_the_past_and_comes_back_with_the_agent(tmp_path):
    trained = agent(method="spo", curriculum="uniform")
    trained.learn(16)
    assert len(trained.networks.tracker.records) == 4
    trained.save(tmp_path / "agent")
    loaded = PolicyGradient.load(tmp_path / "agent")
    assert loaded.networks.tracker.state_dict().keys() == trained.networks.tracker.state_dict().keys()
    for name, column in trained.networks.tracker.state_dict().items():
        assert torch.equal(loaded.networks.tracker.state_dict()[name], column)


def test_a_reference_is_kept_for_penalties_inside_the_reward():
    assert hasattr(agent(method="reinforce-plus-plus").networks, "reference")
    assert not hasattr(agent(method="grpo", kl_coef=0.0).networks, "reference")
    assert not hasattr(agent(method="rloo").networks, "critic")


def test_vocabulary_means_are_those_of_the_policy_that_wrote():
    trained = agent(method="rover")
    trained._callback = trained._setup_learn(16)[1]
    context = trained.context()
    rollouts = trained._supplied(trained._sample(context), context)
    out = trained.policy.evaluate(rollouts.tokens, rollouts.mask, vocabulary_mean=True)
    assert torch.allclose(out.logp_mean, rollouts.logp_mean_old, atol=1e-4)
    row, column = (int(index[0]) for index in rollouts.mask.nonzero(as_tuple=True))
    hidden = trained.policy.network(rollouts.tokens[row : row + 1, :column])[0, -1]
    writable = trained.policy.network.forbidden == 0
    expected = torch.log_softmax(trained.policy.network.logits(hidden), -1)[writable].mean()
    assert out.logp_mean[row, column].item() == pytest.approx(expected.item(), abs=1e-4)


def test_one_turn_is_one_step_from_one_state():
    trained = agent()
    collector = Collector(Context(trained.policy, trained.env, trained.rng), 2)
    rollouts = collector.collect([5, 9])
    turned = by_turns(rollouts)
    assert torch.equal(turned.step_reward.sum(1), rollouts.reward)
    ends = turned.mask.cumsum(1).argmax(1)  # the last written token
    assert torch.equal(turned.step_reward[range(4), ends], rollouts.reward)
    assert turned.state[:, 0].tolist() == [5, 5, 9, 9]
    two = replace(rollouts, turn=rollouts.mask.cumsum(1) // 2)
    with pytest.raises(ValueError, match="rewards and states of turns"):
        by_turns(two)
    given = replace(two, step_reward=turned.step_reward, state=turned.state)
    assert by_turns(given) is given


@pytest.mark.parametrize("bad", ["nan", "inf", "shape"])
def test_bad_rewards_are_refused_before_any_update(bad):
    class Bad(Reward):
        def shape(self, rollouts, context):
            reward = rollouts.reward.clone()
            if bad == "shape":
                return reward[:, None]
            reward[3] = float(bad)
            return reward

    trained = agent(rewards=Bad(), method="reinforce")
    start = weights(trained)
    with pytest.raises(ValueError, match="one number for each of the 16" if bad == "shape" else "completion 3 is"):
        trained.learn(16)
    assert torch.equal(weights(trained), start)


def test_what_cannot_be_supplied_is_refused_at_construction():
    with pytest.raises(ValueError, match="method 'oracle' needs 'oracle'"):
        Row("oracle", needs=("oracle",))
    with pytest.raises(ValueError, match="group_size must be at least 2"):
        agent(method="simpo", group_size=1)


def groups_of_one() -> Rollouts:
    """Eight completions to eight problems, half of them rewarded, with all that methods read."""
    mask = torch.zeros(8, 10, dtype=torch.bool)
    mask[:, 4:] = True
    draws = torch.Generator().manual_seed(0)
    logp = -torch.rand(mask.shape, generator=draws) * mask
    reward = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    rows = torch.arange(8)
    rollouts = Rollouts(
        tokens=torch.randint(4, 20, mask.shape, generator=draws),
        mask=mask,
        logp_old=logp,
        logp_ref=logp - 0.1 * mask,
        reward=reward,
        group=rows,
        seed=rows,
        turn=torch.zeros(mask.shape, dtype=torch.int64),
        length=mask.sum(1),
        entropy=torch.rand(mask.shape, generator=draws) * mask,
        info={"success": reward > 0, "answer": rows, "expert": torch.zeros(8, dtype=torch.bool)},
        values=torch.zeros(mask.shape),
        baseline=torch.full((8,), 0.5),
        logp_mean_old=logp - 1,
        logp_prm=logp,
        state=torch.zeros(mask.shape, dtype=torch.int64),
        completions=[["a"]] * 8,
    )
    return replace(rollouts, step_reward=rollouts.token_reward)


@pytest.mark.parametrize("row", catalogue.ROWS, ids=lambda row: row.handle)
def test_methods_that_would_learn_nothing_from_groups_of_one_refuse_them(row):
    silent = not load(row.handle).advantage(groups_of_one()).any()
    assert row.smallest_group == 1 or silent
    if silent:
        with pytest.raises(ValueError, match="group_size must be at least 2"):
            objective_of(row.handle, {}, group_size=1, max_answer_tokens=12)
