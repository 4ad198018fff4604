from functools import partial

import pytest
import torch

from tiltyard.agents.language.rollouts import PolicyOut
from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.claims import rover as claim
from tiltyard.benchmarks.claims.laboratory import Student, draw_world


def test_what_a_random_policy_finds_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each of 256 answers comes once in 256: four right ones by 1/64, and each is among 64 by 1 - (255 / 256)^64 = 0.22.
    monkeypatch.setattr(claim, "draw_world", partial(draw_world, skill=0.0, noise=0.0))
    monkeypatch.setattr(claim, "ITERATIONS", 0)
    course = claim.run("rover", 0.1, 0)
    assert course.found == pytest.approx(1 - (255 / 256) ** 64)
    assert course.held_out == pytest.approx([1 / 64])


def test_the_first_gradient_step_is_reinforce() -> None:
    world = draw_world(1, claim.TREE, right=claim.RIGHT)
    student = Student(world, load("rover"), seed=0, learning_rate=0.0)
    rollouts = student.sample(torch.arange(8).repeat_interleave(8))
    out = student.evaluate(rollouts.tokens, rollouts.mask, vocabulary_mean=True)
    (ours,) = torch.autograd.grad(student.objective(rollouts, out)[0], student.weight, retain_graph=True)
    plain = load("rec-red", clip="none")(rollouts, PolicyOut(out.logp, out.entropy))[0]
    (reinforce,) = torch.autograd.grad(plain, student.weight)
    assert reinforce.abs().max() > 1e-4
    torch.testing.assert_close(ours, 2 * reinforce, rtol=1e-4, atol=1e-7)


def test_every_arm_learns_and_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "ITERATIONS", 10)
    monkeypatch.setattr(
        "tiltyard.benchmarks.claims.comparisons.best_rates", lambda score, arms, **_: dict.fromkeys(arms, 0.03)
    )
    found = claim.measure(seeds=3)
    ends = found.details["held-out success at the end"]
    assert ends.keys() == claim.ARMS.keys()
    assert all(end["estimate"] > found.details["held-out success before"]["estimate"] for end in ends.values())
    best = max(ends[arm]["estimate"] for arm in claim.RIVALS)
    parts = found.details["parts"].values()
    assert next(iter(parts))["estimate"] == pytest.approx(ends["rover"]["estimate"] - best)
    assert found.effect.estimate == min(part["estimate"] for part in parts)
