import pytest
import torch

from tiltyard.benchmarks.claims import comparisons, lite_ppo
from tiltyard.benchmarks.claims.laboratory import Student, Tree


def test_cells_by_hand() -> None:
    # Two groups of two: rewards 1, 0 and 1, 1. Deviation of the first group 0.7071, of the batch (1, 0, 1, 1) 0.5.
    student = Student(lite_ppo.problems(1000), lite_ppo.objective("grpo"), seed=0, learning_rate=0.0)
    right = student.world.reward[:2].argmax(1)
    wrong = int(torch.nonzero(student.world.reward[0] == 0)[0])
    rollouts = student.write(
        torch.tensor([0, 0, 1, 1]), torch.stack([right[0], torch.tensor(wrong), right[1], right[1]])
    )
    advantages = {
        arm: lite_ppo.objective(arm).advantage(rollouts).tolist() for arm in ("none, tokens", "grpo", "lite-ppo")
    }
    assert advantages["none, tokens"] == pytest.approx([0.5, -0.5, 0, 0])
    assert advantages["grpo"] == pytest.approx([0.70711, -0.70711, 0, 0], abs=1e-4)
    assert advantages["lite-ppo"] == pytest.approx([1, -1, 0, 0], abs=1e-4)
    mask = torch.tensor([[True, False], [True, True]])
    assert lite_ppo.objective("grpo").aggregate(mask).tolist() == [[0.5, 0], [0.25, 0.25]]
    assert lite_ppo.objective("batch, answers").aggregate(mask).tolist() == [[0.5, 0], [0.25, 0.25]]
    assert lite_ppo.objective("lite-ppo").aggregate(mask)[1].tolist() == pytest.approx([1 / 3, 1 / 3])


def test_the_groups_deviation_blows_up_what_is_nearly_solved_and_the_batchs_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lite_ppo, "COPIES", 16)
    blown_up = {by: lite_ppo.inflation(by, 1000) for by in lite_ppo.DEVIATIONS}
    assert blown_up["batch"] == pytest.approx(blown_up["none"], rel=1e-3)
    assert 0.55 < blown_up["none"] < 0.8  # deviations of 0.88 against 0.5: sqrt(0.88 * 0.12) / 0.5 = 0.65
    assert blown_up["group"] > 1.2 * blown_up["batch"]


def test_every_cell_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lite_ppo, "ITERATIONS", 10)
    monkeypatch.setattr(lite_ppo, "TREE", Tree(2, 3, stops=True))
    monkeypatch.setattr(comparisons, "best_rates", lambda score, arms, seeds, grid: dict.fromkeys(arms, 0.03))
    found = lite_ppo.measure(seeds=3)
    means = {name: one["estimate"] for name, one in found.details["held-out success, mean over training"].items()}
    assert set(means) == {
        "none, answers",
        "none, tokens",
        "grpo",
        "group, tokens",
        "batch, answers",
        "lite-ppo",
        "dapo",
    }
    assert found.effect.estimate == pytest.approx(means["lite-ppo"] - max(means["grpo"], means["dapo"]))
