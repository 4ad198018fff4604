import pytest
import torch

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.claims import comparisons, remax
from tiltyard.benchmarks.claims.laboratory import Student, Tree, World, draw_world


def test_variance_of_a_bandits_gradient_by_hand() -> None:
    # Two answers, right with 0.8. grad log pi is (0.2, -0.2) for the right one and (-0.8, 0.8) for the wrong one, of
    # squared lengths 0.08 and 1.28; the expected gradient is 0.8 * (0.2, -0.2), of squared length 0.0512.
    # No baseline: 0.8 * 0.08 - 0.0512. Baseline 1: 0.2 * 1.28 - 0.0512. Baseline 0.2, the chance to be wrong, the best:
    # 0.8 * 0.64 * 0.08 + 0.2 * 0.04 * 1.28 - 0.0512 = 0.
    logits = torch.tensor([[0.8, 0.2]], dtype=torch.float64).log()
    reward = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    world = World(Tree(1, 2), torch.ones(1, 1, dtype=torch.float64), reward, logits, trained=1)
    student = Student(world, load("remax"), seed=0, learning_rate=0.0)
    assert student.greedy_reward().tolist() == [1]
    for baseline, variance in ((0.0, 0.0128), (1.0, 0.2048), (0.2, 0.0)):
        found = remax.gradient_variance(student, torch.tensor([baseline]))
        assert found.tolist() == pytest.approx([variance], abs=1e-12)


def test_variance_is_that_of_every_answers_gradient() -> None:
    world = draw_world(4, Tree(3, 3), trained=1, held_out=0, width=3, sureness=(2, 2))
    student = Student(world, load("remax"), seed=0, learning_rate=0.0)
    logits, tree = (world.features @ world.base).view(-1, 3).requires_grad_(), world.tree
    gradients = []
    for answer in range(len(tree)):
        logp = logits.log_softmax(-1)[tree.nodes[answer], tree.choices[answer]].sum()
        gradients.append((world.reward[0, answer] - 0.3) * torch.autograd.grad(logp, logits)[0].flatten())
    chance, each = student.distribution()[0, :, None], torch.stack(gradients)
    expected = (chance * (each - (chance * each).sum(0)).square()).sum()
    assert remax.gradient_variance(student, torch.tensor([0.3])).item() == pytest.approx(float(expected))


def test_remax_holds_half_of_what_ppo_holds() -> None:
    held = remax.costs(iterations=1, problems=2)["numbers held for training"]
    assert held["ratio"] == pytest.approx(0.5, abs=1e-3)


def test_every_arm_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remax, "ITERATIONS", 10)
    monkeypatch.setattr(remax, "TREE", Tree(2, 3))
    monkeypatch.setattr(remax, "costs", lambda: {})
    monkeypatch.setattr(comparisons, "best_rates", lambda score, arms, seeds, grid: dict.fromkeys(arms, 0.03))
    found = remax.measure(seeds=3)
    means = {name: one["estimate"] for name, one in found.details["held-out success, mean over training"].items()}
    assert means.keys() == set(remax.ARMS)
    assert found.effect.estimate == pytest.approx(means["remax"] - max(means[name] for name in remax.PPO))
