import pytest
import torch

from tiltyard.benchmarks.claims import comparisons, topr
from tiltyard.benchmarks.claims.laboratory import Tree


def test_losses_of_each_arm_by_hand() -> None:
    # Answers that the policy has come to write half as often a token: ratio 1 / 16 an answer, 1 / 2 a token.
    offline = topr.Offline("topr", 0.0, 1000)
    student, right = offline.student, int(offline.student.world.reward[0].argmax())
    rollouts = student.write(torch.tensor([0, 0]), torch.tensor([right, (right + 1) % 256]))
    out = student.evaluate(rollouts.tokens, rollouts.mask)
    logp = (out.logp - torch.log(torch.tensor(2.0)) * rollouts.mask).detach().requires_grad_()
    expected = {  # the gradient in a token of each answer: A times a weight, over two answers
        "topr": (1, -1 / 16),
        "naive": (1, -1),
        "importance sampling": (1 / 2, -1 / 2),
        "clip": (1 / 2, 0),
        "right alone": (1, 0),
    }
    for arm, weights in expected.items():
        objective = topr.objective(arm)
        loss, _ = objective(rollouts, type(out)(logp, out.entropy))
        gradient = -2 * torch.autograd.grad(loss, logp)[0][:, 1]
        assert gradient.tolist() == pytest.approx(weights, abs=1e-6), arm


def test_effective_share_by_hand() -> None:
    # A fifth is right; with c = -0.5 rewards are 1.5 and -0.5: 0.3 to 0.4, so 3 in 7.
    assert topr.effective_share(0.2, -0.5) == pytest.approx(3 / 7)
    assert topr.effective_share(0.2, 0.0) == pytest.approx(0.2)


def test_naive_reinforce_falls_apart_where_topr_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topr, "STEPS", 150)
    ours, naive = (topr.strain(arm, 0.03, 1) for arm in ("topr", "naive"))
    assert ours["held-out success"] > naive["held-out success"] + 0.1
    assert ours["mean log(pi / mu) of wrong answers"] > naive["mean log(pi / mu) of wrong answers"] + 3


def test_every_arm_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topr, "STEPS", 10)
    monkeypatch.setattr(topr, "TREE", Tree(2, 3))
    monkeypatch.setattr(topr, "WATCHED", 1)
    monkeypatch.setattr(comparisons, "best_rates", lambda score, arms, seeds, grid: dict.fromkeys(arms, 0.03))
    found = topr.measure(seeds=3)
    ends = {name: one["estimate"] for name, one in found.details["held-out success at the end"].items()}
    assert ends.keys() == set(topr.ARMS)
    assert found.effect.estimate == pytest.approx(ends["topr"] - max(ends[name] for name in topr.ARMS[1:]))
    assert found.details["answers"] == 640
