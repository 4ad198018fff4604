"""Micro-batches: gradients that add up to that of the whole batch."""

import pytest
import torch
from stable_baselines3.common.logger import configure

from tests.agents.language.test_loop import Digest, lines
from tiltyard.agents.language.trainer import PolicyGradient

SMALL = {"policy": "transformer-100k", "max_answer_tokens": 6, "seed": 0, "device": "cpu", "group_size": 4}


def stepped(folder, **settings) -> tuple[torch.Tensor, list[dict[str, str]]]:
    """The change of the weights in one iteration of plain gradient descent, and the log."""
    one = PolicyGradient(
        env="tiltyard/Countdown-v0", rewards=Digest(), prompts_per_batch=6, learning_rate=1.0,
        max_staleness=1, exact_staleness=True, groups_per_task=1, **{**SMALL, "max_grad_norm": 1e9, **settings},
    )  # fmt: skip
    one.policy.optimizer = torch.optim.SGD(one.policy.network.parameters(), lr=1.0)
    before = torch.cat([p.detach().flatten().clone() for p in one.policy.network.parameters()])
    one.set_logger(configure(str(folder), ["csv"]))
    one.learn(24, log_interval=1)
    return torch.cat([p.detach().flatten() for p in one.policy.network.parameters()]) - before, lines(folder)


@pytest.mark.parametrize("method", ["grpo", "dr-grpo", "rloo", "llamarl", "gspo"])
@pytest.mark.parametrize("groups", [1, 4])  # 4 leaves a smaller one
def test_micro_batches_add_up_to_the_gradient_of_the_batch(tmp_path, method, groups):
    how = {"method": method, "rollout_workers": 0}
    how |= {"kl_coef": 0.0} if method == "grpo" else {}
    whole, log = stepped(tmp_path / "whole", **how)
    parts, streamed = stepped(tmp_path / "parts", micro_batch_groups=groups, **how)
    assert whole.abs().max() > 1e-4
    assert torch.allclose(parts, whole, atol=1e-6, rtol=1e-4)
    for name in ("train/n_updates", "rollout/success_rate", "time/total_timesteps"):
        assert streamed[0][name] == log[0][name]
    assert float(streamed[0]["train/grad_norm"]) == pytest.approx(float(log[0]["train/grad_norm"]), rel=1e-3)


def test_later_passes_are_over_the_whole_batch(tmp_path):
    _, log = stepped(tmp_path, micro_batch_groups=2, n_epochs=3, batch_size=8, max_grad_norm=1e-3)
    assert log[0]["train/n_updates"] == "9"  # three passes of three steps


def test_a_step_is_taken_once_so_many_completions_have_been_seen(tmp_path):
    _, log = stepped(tmp_path, micro_batch_groups=1, batch_size=8, kl_coef=0.0)
    assert log[0]["train/n_updates"] == "3"  # of 24 completions
