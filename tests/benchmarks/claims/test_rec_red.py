import numpy as np
import pytest
import torch

from tiltyard.agents.language.rollouts import PolicyOut
from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.claims import rec_red as claim
from tiltyard.benchmarks.claims.laboratory import Student, draw_world


def test_it_is_one_gradient_step_on_consistency_between_pairs() -> None:
    # sum over i < j of (a_i - a_j)^2 with a = r - tau * (logp - logp_old) of whole answers; where logp = logp_old its
    # gradient is -2 tau G sum_i (r_i - mean r) grad logp_i. Ours divides by the number of tokens, 16 answers of 4.
    world = draw_world(3, claim.TREE)
    student = Student(world, load("rec-red"), seed=0, learning_rate=0.0)
    rollouts = student.sample(torch.arange(2).repeat_interleave(8))
    rollouts.reward[::3] += 0.5  # so that no group is dead
    out = student.evaluate(rollouts.tokens, rollouts.mask)
    loss, _ = student.objective(rollouts, PolicyOut(out.logp, out.entropy))
    (ours,) = torch.autograd.grad(loss, student.weight, retain_graph=True)
    tau, consistency = 0.3, torch.zeros((), dtype=torch.float64)
    for group in range(2):
        rows = rollouts.group == group
        a = rollouts.reward[rows] - tau * (out.logp - rollouts.logp_old)[rows].sum(1)
        consistency = consistency + (a[:, None] - a[None]).square().sum() / 2
    (theirs,) = torch.autograd.grad(consistency, student.weight)
    assert ours.abs().max() > 1e-3
    torch.testing.assert_close(ours * 64, theirs / (2 * tau * 8), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("age", "renewed"), [("every 20 steps", 2), ("never", 1)])
def test_answers_are_as_old_as_is_said(age: str, renewed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "STEPS", 30)
    writers, sample = [], Student.sample

    def spied(self: Student, problems: torch.Tensor) -> object:
        writers.append(self.weight.detach().clone())
        return sample(self, problems)

    monkeypatch.setattr(Student, "sample", spied)
    course = claim.run(f"clip, {age}", 0.1, 0)
    different = 1 + sum(not torch.equal(a, b) for a, b in zip(writers, writers[1:], strict=False))
    assert (len(writers), different) == (30, renewed)
    assert course.answers.tolist() == [0, 640, 1280, 1920]


def test_every_arm_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "STEPS", 10)
    monkeypatch.setattr(
        "tiltyard.benchmarks.claims.comparisons.best_rates", lambda score, arms, **_: dict.fromkeys(arms, 0.1)
    )
    found = claim.measure(seeds=3)
    assert found.details["learning rate"].keys() == claim.ARMS.keys()
    assert found.effect.estimate == min(part["estimate"] for part in found.details["parts"].values())
    ends = found.details["held-out success at the end"]
    assert all(end["estimate"] > found.details["held-out success before"]["estimate"] for end in ends.values())
    assert np.isfinite(found.effect.low)
