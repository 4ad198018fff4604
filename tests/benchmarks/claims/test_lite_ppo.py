from typing import Any

import pytest
import torch

from tiltyard.benchmarks.claims.lite_ppo import CLAIM
from tiltyard.benchmarks.testbeds.tree_diagnostics import inflation

BED: Any = CLAIM.testbed


def test_cells_by_hand() -> None:
    # Two groups of two: rewards 1, 0 and 1, 1. Deviation of the first group 0.7071, of the batch (1, 0, 1, 1) 0.5.
    learner = BED.learner(CLAIM.conditions["grpo"], 0.0, 1000)
    correct = learner.task.reward[:2].argmax(1)
    incorrect = int(torch.nonzero(learner.task.reward[0] == 0)[0])
    rollouts = learner.write(
        torch.tensor([0, 0, 1, 1]), torch.stack([correct[0], torch.tensor(incorrect), correct[1], correct[1]])
    )
    objectives = {name: condition.objective() for name, condition in CLAIM.conditions.items()}
    advantages = {name: objectives[name].advantage(rollouts).tolist() for name in ("none, tokens", "grpo", "lite-ppo")}
    assert advantages["none, tokens"] == pytest.approx([0.5, -0.5, 0, 0])
    assert advantages["grpo"] == pytest.approx([0.70711, -0.70711, 0, 0], abs=1e-4)
    assert advantages["lite-ppo"] == pytest.approx([1, -1, 0, 0], abs=1e-4)
    mask = torch.tensor([[True, False], [True, True]])
    assert objectives["grpo"].aggregate(mask).tolist() == [[0.5, 0], [0.25, 0.25]]
    assert objectives["batch, answers"].aggregate(mask).tolist() == [[0.5, 0], [0.25, 0.25]]
    assert objectives["lite-ppo"].aggregate(mask)[1].tolist() == pytest.approx([1 / 3, 1 / 3])


def test_the_groups_deviation_blows_up_what_is_nearly_solved_and_the_batchs_does_not() -> None:
    cells = {"none": "none, tokens", "group": "group, tokens", "batch": "lite-ppo"}
    blown_up = {by: inflation(BED, CLAIM.conditions[cell], 1000, copies=16) for by, cell in cells.items()}
    assert blown_up["batch"] == pytest.approx(blown_up["none"], rel=1e-3)
    assert 0.55 < blown_up["none"] < 0.8  # deviations of 0.88 against 0.5: sqrt(0.88 * 0.12) / 0.5 = 0.65
    assert blown_up["group"] > 1.2 * blown_up["batch"]
