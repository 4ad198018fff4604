"""Rewards from preferences: the loss by hand, judges, a reward learnt from answers, and a dataset under it."""

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from scipy.stats import spearmanr

import tiltyard  # noqa: F401
from tiltyard.agents.control.datasets import Transitions
from tiltyard.wrappers import NoisyJudge, PreferenceModel, PreferenceReward, TextJudge
from tiltyard.wrappers.rewards.encoders import DualEncoder
from tiltyard.wrappers.rewards.offline_rl_vlm_f import bradley_terry


def states(n: int = 300, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)


def first_column(shown: Any) -> Any:
    return np.asarray(shown)[:, 0]


def fitted(**how: Any) -> PreferenceModel:
    model = PreferenceModel(hidden=(16,))
    model.fit(states(), NoisyJudge(first_column), **{"steps": 60, "learning_rate": 1e-2, **how})
    return model


def test_the_loss_by_hand() -> None:
    """Rewards 0 and log 3: P = 3 / (1 + 3); equal ones: 1 / 2."""
    worse, better = th.tensor([0.0, 0.7]), th.tensor([np.log(3.0), 0.7])
    assert bradley_terry(worse, better).item() == pytest.approx(-(np.log(0.75) + np.log(0.5)) / 2)


def test_a_judge_by_a_score_answers_and_knows_when_it_does_not() -> None:
    first, second = np.array([[0.0], [1.0], [0.0], [0.0]]), np.array([[1.0], [0.0], [0.05], [0.0]])
    judge = NoisyJudge(first_column, margin=0.1)
    assert judge(first, second).tolist() == [1, 0, -1, -1]
    assert NoisyJudge(first_column)(first, second).tolist() == [1, 0, 1, -1]


def test_mistakes_are_as_frequent_as_told_and_never_of_pairs_without_a_preference() -> None:
    first, second = np.zeros((4000, 1)), np.repeat([[1.0], [0.0]], [3000, 1000], axis=0)
    answers = NoisyJudge(first_column, mistakes=0.3, seed=1)(first, second)
    assert (answers[:3000] == 0).mean() == pytest.approx(0.3, abs=0.03)  # 3.6 standard errors
    assert (answers[3000:] == -1).all()
    assert (NoisyJudge(first_column, mistakes=1.0)(first, second)[:3000] == 0).all()


def test_a_judge_by_a_text_prefers_the_frame_more_like_it() -> None:
    class Reds(DualEncoder):
        """Red pictures are like the goal, blue ones are not."""

        def pictures(self, frames: Any) -> Any:
            red = th.from_numpy(frames[..., 0].mean(axis=(1, 2)) / 255.0)
            return th.stack([red, (1 - red**2).sqrt()], dim=1)

        def words(self, texts: list[str]) -> Any:
            return th.tensor([[1.0, 0.0]]).expand(len(texts), 2)

    frames = np.zeros((3, 8, 8, 3), np.uint8)
    frames[1, ..., 0], frames[2, ..., 0] = 255, 128
    judge = TextJudge(Reds(("red",)), "red")
    assert judge(frames, frames[[1, 2, 2]]).tolist() == [1, 0, -1]
    assert TextJudge(Reds(("red",)), "red", margin=0.6)(frames, frames[[1, 2, 2]]).tolist() == [1, -1, -1]


def test_a_reward_is_learnt_from_preferences_alone() -> None:
    model = PreferenceModel(hidden=(16,))
    found = model.fit(states(), NoisyJudge(first_column), pairs=600, steps=150, learning_rate=1e-2)
    assert found.asked == pytest.approx(600, abs=10)  # an observation is not asked about beside itself
    assert found.unsure == 0
    assert found.agreement > 0.9
    new = states(seed=9)
    rewards = model.rewards(new)
    assert spearmanr(rewards, new[:, 0]).statistic > 0.95
    assert np.abs(rewards).max() <= 1


def test_what_the_judge_is_shown_is_not_what_is_rewarded() -> None:
    """The judge sees minus the first column, and so the reward falls with it."""
    seen = states()
    model = PreferenceModel(hidden=(16,))
    model.fit(seen, NoisyJudge(first_column), shown=-seen[:, :1], pairs=600, steps=150, learning_rate=1e-2)
    assert spearmanr(model.rewards(seen), seen[:, 0]).statistic < -0.95


def test_pairs_without_a_preference_are_left_out() -> None:
    """The judge knows of large differences alone; had unsure pairs counted as answers, the reward would be none."""
    found = PreferenceModel(hidden=(8,)).fit(states(), NoisyJudge(first_column, margin=2.0), pairs=800, steps=100)
    assert 0.7 < found.unsure / found.asked < 0.95  # |N(0, 2)| <= 2 has probability 0.84
    assert found.agreement > 0.9


def test_the_reward_is_the_mean_of_the_members() -> None:
    model, given = fitted(), th.from_numpy(states(5))
    with th.no_grad():
        members = [network(given).tanh().numpy() for network in model.networks]
    assert len(members) == 3
    assert np.ptp(members, axis=0).min() > 0
    assert model.rewards(given.numpy()) == pytest.approx(np.mean(members, axis=0))


def test_the_same_seed_gives_the_same_reward_and_leaves_the_global_generator_alone() -> None:
    th.manual_seed(3)
    before = th.random.get_rng_state()
    one, same = fitted(), fitted()
    assert th.equal(before, th.random.get_rng_state())
    np.testing.assert_array_equal(one.rewards(states(9)), same.rewards(states(9)))


def test_frames_are_rewarded_too() -> None:
    shades = np.arange(200, dtype=np.uint8)
    frames = np.repeat(shades, 16 * 16).reshape(200, 16, 16, 1)
    model = PreferenceModel(members=1, hidden=(16,))
    model.fit(frames, NoisyJudge(lambda shown: shown.mean(axis=(1, 2, 3))), pairs=300, steps=60, learning_rate=3e-3)
    assert np.corrcoef(model.rewards(frames), shades)[0, 1] > 0.9


def transitions(after: Any) -> Transitions:
    n = len(after)
    nothing = np.zeros(n, np.float32)
    return Transitions(
        observations=states(n, 5),
        actions=nothing[:, None],
        rewards=nothing + 7,
        next_observations=after,
        terminations=nothing,
        ends=np.arange(n) % 3 == 2,
        episodes=np.arange(n) // 3,
        episode_returns=np.full(n // 3, 21.0),
    )


def test_a_dataset_is_rewarded_by_what_comes_after_each_step() -> None:
    model, after = fitted(), states(6, 6)
    data = transitions(after)
    found = model.relabelled(data)
    rewards = model.rewards(after)
    assert found.rewards == pytest.approx(rewards, rel=1e-6)
    assert found.episode_returns == pytest.approx([rewards[:3].sum(), rewards[3:].sum()])
    assert (data.rewards == 7).all()  # its own are as they were
    np.testing.assert_array_equal(found.next_observations, after)
    other = states(6, 8)
    assert model.relabelled(data, other).rewards == pytest.approx(model.rewards(other), rel=1e-6)


def test_an_environment_pays_the_learnt_reward_and_tells_its_own() -> None:
    model = PreferenceModel(hidden=(8,))
    model.fit(np.random.default_rng(0).normal(size=(99, 11)), NoisyJudge(first_column), steps=5)
    env, plain = (gymnasium.make("tiltyard/Hopper-v5") for _ in range(2))
    wrapped = PreferenceReward(env, model, view=lambda seen: -seen)
    for one in (wrapped, plain):
        one.reset(seed=1)
    action = np.full(3, 0.1, np.float32)
    seen, reward, *_, info = wrapped.step(action)
    _, own, *_ = plain.step(action)
    assert reward == pytest.approx(model.rewards(-seen[None])[0])
    assert info["reward_terms"] == {"preference": reward}
    assert info["true_reward"] == own != reward


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PreferenceModel(members=0), "at least 1"),
        (lambda: PreferenceModel(hidden=()), "at least one layer"),
        (lambda: NoisyJudge(first_column, mistakes=1.5), "between 0 and 1"),
        (lambda: NoisyJudge(first_column, margin=-1), "0 or more"),
        (lambda: NoisyJudge(first_column, margin=float("nan")), "0 or more"),
        (lambda: PreferenceModel().fit(states(), NoisyJudge(first_column), shown=states(5)), "got 5 for 300"),
        (lambda: PreferenceModel().fit(states() * np.nan, NoisyJudge(first_column)), "not finite"),
        (lambda: PreferenceModel().fit(states(), NoisyJudge(first_column, margin=99)), "in 0 of"),
        (lambda: PreferenceModel().fit(states(), lambda first, _: np.full(len(first), 2)), "0, 1 or -1"),
        (lambda: PreferenceModel().fit(states(), lambda *_: np.zeros(3)), "0, 1 or -1"),
        (lambda: fitted().rewards(np.zeros((2, 4))), r"\('n', 3\)"),
        (lambda: fitted().relabelled(transitions(states(6)), states(5)), "got 5 seen"),
    ],
)
def test_bad_input_is_one_clear_sentence(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_model_that_was_never_fitted_says_so() -> None:
    with pytest.raises(RuntimeError, match="call fit"):
        PreferenceModel().rewards(states())
    with pytest.raises(TypeError, match="model must be a fitted PreferenceModel, got None"):
        PreferenceReward(gymnasium.make("Pendulum-v1"), None)


@pytest.mark.parametrize("holdout", [-0.5, 0.0, 1.0, 20.0, float("nan")])
def test_a_holdout_is_a_share(holdout: float) -> None:
    with pytest.raises(ValueError, match="holdout is a share of the preferences"):
        PreferenceModel().fit(np.eye(3), NoisyJudge(lambda states: states[:, 0]), holdout=holdout)
