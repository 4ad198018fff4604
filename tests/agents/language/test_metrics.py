"""What is logged of completions and of updates, against numbers worked by hand and against the answers themselves."""

import csv
from math import log

import numpy as np
import pytest
import torch
from stable_baselines3.common.logger import configure

from tiltyard.agents.language import update
from tiltyard.agents.language.archer import ArCHer
from tiltyard.agents.language.metrics import completion_metrics
from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.language.update import policy_gradient_step
from tiltyard.agents.models.tokenizer import END
from tiltyard.agents.objectives.registry import load
from tiltyard.wrappers.components import Reward

ENV, GAME = "tiltyard/Countdown-v0", "tiltyard/TwentyQuestions-v0"
SMALL = {"policy": "transformer-100k", "max_answer_tokens": 5, "seed": 0, "device": "cpu"}


def completions(lengths, reward, success, group) -> Rollouts:
    """Completions of some tokens each after a prompt of one, of entropy 0.5 a token."""
    mask = torch.arange(max(lengths) + 1) * torch.ones(len(lengths), 1) <= torch.tensor(lengths)[:, None]
    mask[:, 0] = False
    zeros = torch.zeros(mask.shape)
    return Rollouts(
        tokens=torch.where(mask, 20, 0).index_fill(1, torch.tensor([0]), 2),
        mask=mask,
        logp_old=zeros,
        logp_ref=None,
        reward=torch.tensor(reward),
        group=torch.tensor(group),
        seed=torch.tensor(group),
        turn=torch.zeros(mask.shape, dtype=torch.int64),
        length=torch.tensor(lengths),
        entropy=torch.where(mask, 0.5, 9.0),
        info={"success": torch.tensor(success)},
    )


def test_completions_in_groups_by_hand():
    found = completion_metrics(
        completions(
            [1, 2, 3, 4, 5, 3],
            [1.0, 1.0, 0.0, 1.0, -0.1, -0.1],
            [True, True, False, True, False, False],
            [7, 7, 3, 3, 4, 4],
        )
    )
    assert found == pytest.approx(
        {
            "reward": 2.8 / 6,
            "completion_tokens": 3,
            "truncated": 1,
            "entropy": 0.5,
            "pass@1": 0.5,
            "pass@2": 2 / 3,
            "uniform_groups": 2 / 3,
        }
    )


def test_completions_without_groups_by_hand():
    found = completion_metrics(completions([1, 3], [1.0, 0.0], [True, False], [0, 1]))
    expected = {"reward": 0.5, "completion_tokens": 2, "truncated": 1, "entropy": 0.5, "pass@1": 0.5}
    assert found == pytest.approx(expected)


def test_an_episode_is_truncated_where_one_of_its_turns_is():
    rollouts = completions([3, 3, 2, 1], [0.0] * 4, [False] * 4, [0, 0, 1, 1])
    turn = torch.tensor([[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
    tokens = torch.tensor([[2, 20, END, END], [2, 20, 20, END], [2, 20, END, 0], [2, 20, 0, 0]])
    found = completion_metrics(completions_with(rollouts, turn=turn, tokens=tokens))
    assert found["truncated"] == 0.5  # the first turn of the second, and the fourth


def test_groups_of_several_sizes_have_no_common_k():
    found = completion_metrics(completions([1] * 3, [1.0, 1.0, 0.0], [True, True, False], [0, 0, 1]))
    assert found["uniform_groups"] == 1  # one completion equals itself
    assert [name for name in found if name.startswith("pass")] == ["pass@1"]


@pytest.mark.parametrize("pieces", [1, 2])
def test_clip_fraction_and_kl_by_hand(monkeypatch, pieces):
    """The policy now likes each token twice as well: of 1 + 3 tokens only those of advantage 1 are clipped."""
    trained = PolicyGradient(env=ENV, **SMALL)
    rollouts = completions([1, 3], [1.0, -1.0], [True, False], [0, 0])
    now = trained.policy.evaluate(rollouts.tokens, rollouts.mask).logp.detach()
    rollouts = completions_with(rollouts, logp_old=now - log(2))
    budget = 100 if pieces == 1 else 3
    monkeypatch.setattr(update, "pieces", lambda mask, group=None: PIECES(mask, budget, group))
    metrics = policy_gradient_step(trained.policy, load("grpo", kl_coef=0.0), rollouts, torch.tensor([1.0, -1.0]))
    assert metrics["clip_fraction"].item() == pytest.approx(1 / 4)
    assert metrics["approx_kl"].item() == pytest.approx(2 - 1 - log(2), abs=1e-5)
    metrics = policy_gradient_step(trained.policy, load("reinforce"), rollouts, torch.tensor([1.0, -1.0]))
    assert metrics["approx_kl"] > 0  # of methods that do not clip, too
    assert "clip_fraction" not in metrics


PIECES = update.pieces


def completions_with(rollouts: Rollouts, **columns) -> Rollouts:
    return Rollouts(**{**vars(rollouts), **columns})


class Digest(Reward):
    def shape(self, rollouts, context):
        return (rollouts.tokens.sum(1) % 3 == 0).float()


def logged(trained, folder, steps: int) -> dict[str, float]:
    """The last line, and that all of what was seen is in it."""
    trained.set_logger(configure(str(folder), ["csv"]))
    trained.learn(steps, log_interval=1)
    line = list(csv.DictReader((folder / "progress.csv").open()))[-1]
    return {name: float(text) for name, text in line.items() if text}


@pytest.mark.parametrize(
    ("method", "game", "group_size"),
    [("grpo", ENV, 4), ("grpo", GAME, 4), ("ppo", GAME, 1), ("gigpo", GAME, 4), ("reinforce-plus-plus", ENV, 1)],
)
def test_what_is_logged_is_what_happened(tmp_path, method, game, group_size):
    trained = PolicyGradient(
        env=game,
        method=method,
        group_size=group_size,
        prompts_per_batch=4,
        batch_size=4,
        n_epochs=2,
        kl_coef=0.1 if method == "grpo" else None,
        learning_rate=1e-4,
        rewards=Digest(),
        **SMALL,
    )
    seen = []
    train = trained.train
    trained.train = lambda rollouts, objective: (seen.append(rollouts), train(rollouts, objective))
    line = logged(trained, tmp_path, 1)
    (rollouts,) = seen
    rewards = rollouts.reward.view(4, group_size).numpy()
    assert line["rollout/reward"] == pytest.approx(rewards.mean())
    assert line["rollout/completion_tokens"] == pytest.approx(rollouts.mask.sum() / len(rollouts))
    assert line["rollout/entropy"] == pytest.approx(rollouts.entropy[rollouts.mask].mean().item())
    assert line["rollout/pass@1"] == line["rollout/success_rate"] == rollouts.info["success"].float().mean()
    assert line["time/episodes"] == len(rollouts)
    assert line["rollout/ep_len_mean"] == rollouts.turn.amax(1).float().mean() + 1
    assert ("rollout/uniform_groups" in line) == ("rollout/pass@4" in line) == (group_size == 4)
    if group_size == 4:
        assert line["rollout/uniform_groups"] == (np.ptp(rewards, 1) == 0).mean() < 1
    assert 0 <= line["train/clip_fraction"] <= 1
    assert 0 < line["train/approx_kl"] < 0.1
    assert line["train/entropy"] > 0
    assert ("rollout/kl_ref" in line) == ("logp_ref" in trained.objective.needs)
    assert line.get("rollout/kl_ref", 0) < 1e-6  # the reference wrote them
    assert line["train/n_updates"] > 1


def test_success_is_that_of_all_episodes_of_an_iteration(tmp_path):
    # Games that are lost last longest: a window of the last 100 of 128 would leave out those that were won early.
    settings = {"policy": "guess-my-city-base", "max_answer_tokens": 16, "prompts_per_batch": 16, "seed": 0}
    agent = PolicyGradient(env="tiltyard/GuessMyCity-v0", device="cpu", **settings)
    agent.set_logger(configure(str(tmp_path), ["csv"]))
    agent.learn(128)
    with (tmp_path / "progress.csv").open() as file:
        (line,) = csv.DictReader(file)
    assert float(line["rollout/pass@1"]) > 0.05
    assert float(line["rollout/success_rate"]) == pytest.approx(float(line["rollout/pass@1"]))


def test_archer_logs_the_same(tmp_path):
    small = {"episodes_per_iteration": 4, "gradient_steps": 1, "actor_steps": 1, "batch_size": 4, "critic_warm_up": 0}
    line = logged(ArCHer(env=GAME, **small, **SMALL), tmp_path, 1)
    names = {"reward", "completion_tokens", "entropy", "pass@1", "ep_rew_mean", "success_rate"}
    assert {f"rollout/{name}" for name in names} <= line.keys()
    assert line["rollout/reward"] == pytest.approx(line["rollout/ep_rew_mean"], abs=1e-6)
    assert "rollout/uniform_groups" not in line
