import numpy as np
import pytest
import torch

from tiltyard.agents import make
from tiltyard.agents.language import archer
from tiltyard.agents.language.archer import ArCHer
from tiltyard.agents.models.turn_critics import Episode, critic_loss
from tiltyard.benchmarks.studies.credit_probe import ProbeVectorEnv

SMALL = {
    "policy": "transformer-100k",
    "episodes_per_iteration": 32,
    "gradient_steps": 20,
    "fresh_turns": 128,
    "batch_size": 32,
    "critic_warm_up": 2,
    "max_answer_tokens": 4,
    "warm_start_noise": 0.5,
    "warm_start_batch_size": 16,
    "seed": 0,
    "device": "cpu",
}


def probe(n: int = 32) -> ProbeVectorEnv:
    """Two turns, of which the first decides."""
    return ProbeVectorEnv(num_envs=n, turns=2, decisive=0)


def agent(**settings) -> ArCHer:
    return ArCHer(env=probe(), **{**SMALL, **settings})


def weights(module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in module.parameters()])


@pytest.mark.slow
def test_critics_find_the_turn_that_decides_and_the_policy_follows_them():
    trained = agent(
        warm_start_steps=100,
        warm_start_noise=0.35,
        warm_start_batch_size=16,
        batch_size=64,
        gradient_steps=30,
        learning_rate=3e-4,
        critic_learning_rate=1e-3,
        tau=0.2,
        critic_warm_up=6,
        actor_steps=3,
    )

    def last_episodes(n: int) -> tuple[list[Episode], np.ndarray]:
        episodes = list(trained.replay.kept)[-n:]
        return episodes, np.array([episode.reward.sum() > 0 for episode in episodes])

    trained.learn(6 * 64)
    episodes, won = last_episodes(64)
    advantage = trained.critics.advantages(episodes).numpy().reshape(-1, 2)
    difference = advantage[won].mean(0) - advantage[~won].mean(0)
    assert difference[0] > 0.5  # the utterance decides between a return of 0 and one of 0.95
    assert abs(difference[1]) < 0.25  # what is said in the second turn changes nothing
    before = np.mean([episode.reward.sum() for episode in trained.replay.kept])
    trained.learn(5 * 64, reset_num_timesteps=False)
    _, won = last_episodes(64)
    assert won.mean() > before + 0.1


def test_only_critics_learn_in_the_warm_up():
    trained = agent(gradient_steps=2, critic_warm_up=1, actor_steps=1, warm_start_steps=60)
    trained.warm_start()
    policy, critics = weights(trained.policy), weights(trained.critics)
    trained.learn(1)
    assert torch.equal(weights(trained.policy), policy)
    assert not torch.equal(weights(trained.critics), critics)
    assert trained.num_timesteps == 64  # 32 episodes of two turns
    assert len(trained.replay) == 64
    trained.learn(1, reset_num_timesteps=False)
    assert not torch.equal(weights(trained.policy), policy)
    assert trained._n_updates == 1


def test_a_critic_step_descends_the_loss_of_its_turns():
    trained = agent(gradient_steps=1, warm_start_steps=60)
    trained.learn(1)
    batch = trained._renew(list(trained.replay.kept)[:16])
    target = weights(trained.target_critics)
    first = trained._critic_step(batch)
    assert torch.allclose(weights(trained.target_critics), 0.9 * target + 0.1 * weights(trained.critics), atol=1e-6)
    for _ in range(20):
        last = trained._critic_step(batch)
    assert last < first


def test_a_critic_step_is_of_the_loss_over_the_batch_read_at_once():
    trained = agent(gradient_steps=1, warm_start_steps=60)
    trained.learn(1)
    batch = trained._renew(list(trained.replay.kept)[:12])
    episodes = [one.episode for one in batch]
    with torch.no_grad():
        values = trained.critics(episodes)
        target = trained.target_critics(episodes, [said for one in batch for said in one.utterances])
    reward = torch.tensor(np.concatenate([one.reward for one in episodes]), dtype=torch.float32)
    done = torch.tensor([False, True] * 12)  # of two turns each
    whole = critic_loss(values, target.v, target.q, reward, done, trained.gamma)
    assert float(trained._critic_step(batch)) == pytest.approx(float(whole), rel=1e-5)


def test_a_critic_step_in_pieces_is_the_step_of_the_whole_batch(monkeypatch):
    def step(pieces: int) -> tuple[float, torch.Tensor]:
        trained = agent(gradient_steps=1, warm_start_steps=60)
        trained.learn(1)
        batch = trained._renew(list(trained.replay.kept)[:24])
        monkeypatch.setattr(archer, "similar", lambda some: np.array_split(np.arange(len(some)), pieces))
        loss = float(trained._critic_step(batch))
        return loss, torch.cat([p.grad.flatten() for p in trained.critics.parameters() if p.grad is not None])

    whole, gradient = step(1)
    monkeypatch.undo()
    in_pieces, sum_of_gradients = step(5)
    assert whole == pytest.approx(in_pieces, rel=1e-5)
    assert gradient.norm() > 1e-3
    torch.testing.assert_close(sum_of_gradients, gradient, rtol=1e-3, atol=1e-6)


def test_a_batch_has_as_many_turns_as_it_should():
    trained = agent(gradient_steps=1)
    trained.learn(1)
    renewed = trained._renew(trained.replay.sample(41, trained.rng))
    assert [len(one.said) for one in renewed] == [2] * 21
    assert len(trained._batch(renewed)) == 16
    trained.batch_size = 1000
    assert len(trained._batch(renewed)) == 21


@pytest.mark.parametrize("token_baseline", [False, True])
def test_a_checkpoint_brings_back_critics_and_replay(tmp_path, token_baseline):
    trained = agent(gradient_steps=2, critic_warm_up=0, token_baseline=token_baseline)
    trained.learn(1)
    trained.save(tmp_path / "agent")
    loaded = ArCHer.load(tmp_path / "agent", env=probe())
    for name in ("policy", "critics", "target_critics", *(["baseline"] if token_baseline else [])):
        assert torch.equal(weights(getattr(loaded, name)), weights(getattr(trained, name)))
    assert loaded.iterations == 1
    assert len(loaded.replay) == 64
    steps = [one.critic_optimizer.state_dict()["state"][0]["step"] for one in (trained, loaded)]
    assert steps[0] == steps[1] == 2
    loaded.learn(1, reset_num_timesteps=False)
    assert loaded.num_timesteps == 128


def test_it_plays_the_games_of_the_catalogue():
    trained = make(
        "archer",
        "tiltyard/GuessMyCity-v0",
        n_envs=4,
        **{**SMALL, "episodes_per_iteration": 4, "gradient_steps": 1, "warm_start_steps": 1, "critic_warm_up": 0},
    )
    assert trained.learn(5).num_timesteps >= 5
    assert weights(trained.policy).isfinite().all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gradient_steps": 0}, "at least 1"),
        ({"fresh_turns": 0}, "at least 1"),
        ({"gamma": 1.5}, "gamma must be a number from 0 to 1"),
        ({"tau": 1.5}, "tau must be a number from 0 to 1"),
    ],
)
def test_bad_settings_are_refused_at_construction(settings, message):
    with pytest.raises(ValueError, match=message):
        agent(**settings)
