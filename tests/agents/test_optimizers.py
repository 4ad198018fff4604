"""Optimisers that make the numbers of torch's, and processes that train without torch's compiler."""

import copy
import subprocess
import sys
from typing import Any

import pytest
import torch as th
from torch import nn

from tiltyard.agents.optimizers import Adam, AdamW, FusedAdam, FusedAdamW

TRAIN = """
import sys
import tiltyard
from tiltyard.agents import make
for agent, task, steps in ("sac", "InvertedPendulum-v5", 120), ("fast-ppo", "InvertedPendulum-v5", 1), ("grpo", "Countdown-v0", 1):
    make(agent, f"tiltyard/{task}", seed=0).learn(steps).save(f"{sys.argv[1]}/{agent}")
print(*{"torch._dynamo", "scipy.stats"} & set(sys.modules))
"""  # noqa: E501


@pytest.mark.parametrize(
    ("made", "torchs"), [(Adam, th.optim.Adam), (AdamW, th.optim.AdamW), (FusedAdamW, th.optim.AdamW)]
)
def test_steps_are_those_of_torchs(made: Any, torchs: Any) -> None:
    th.manual_seed(0)
    ours = [nn.Parameter(th.randn(3, 2)), nn.Parameter(th.randn(4))]
    theirs = copy.deepcopy(ours)
    fused = {} if made is FusedAdamW else {"fused": True}
    one, other = made(ours, lr=0.01, weight_decay=0.1, **fused), torchs(theirs, lr=0.01, weight_decay=0.1, fused=True)
    for _ in range(3):
        for optimizer, params in ((one, ours), (other, theirs)):
            optimizer.zero_grad()
            sum((param.square() / 3).sum() for param in params).backward()
            optimizer.step()
    for param, expected in zip(ours, theirs, strict=True):
        th.testing.assert_close(param, expected, rtol=0, atol=0)


def test_adam_is_torchs_adam_also_after_loading_its_state() -> None:
    th.manual_seed(0)
    ours = [nn.Parameter(th.randn(3, 2)), nn.Parameter(th.randn(4))]
    theirs = copy.deepcopy(ours)
    one, other = FusedAdam(ours, lr=0.01), th.optim.Adam(theirs, lr=0.01, fused=True)
    for step in range(6):
        if step == 3:
            state = copy.deepcopy(one.state_dict())
            one = FusedAdam(ours, lr=0.5)
            one.load_state_dict(state)
        for params in (ours, theirs):
            th.manual_seed(step)
            for param in params:
                param.grad = th.randn_like(param)
        one.step()
        other.step()
        assert all(param.grad is None for param in ours)
    for param, expected in zip(ours, theirs, strict=True):
        th.testing.assert_close(param, expected, rtol=0, atol=0)


def test_no_process_that_trains_imports_a_compiler_or_what_else_takes_long(tmp_path: Any) -> None:
    done = subprocess.run([sys.executable, "-c", TRAIN, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() == ""
    assert {path.stem for path in tmp_path.iterdir()} == {"sac", "fast-ppo", "grpo"}
