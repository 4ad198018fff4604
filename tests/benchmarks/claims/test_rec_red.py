from dataclasses import replace
from typing import Any

import pytest
import torch

from tiltyard.agents.language.rollouts import PolicyOut
from tiltyard.benchmarks.claims.rec_red import CLAIM, MAIN
from tiltyard.benchmarks.testbeds.tree_learner import Learner

BED: Any = CLAIM.testbed


def test_it_is_one_gradient_step_on_consistency_between_pairs() -> None:
    # sum over i < j of (a_i - a_j)^2 with a = r - tau * (logp - logp_old) of completions; where logp = logp_old its
    # gradient is -2 tau G sum_i (r_i - mean r) grad logp_i. Ours divides by the number of tokens, 16 completions of 4.
    learner = BED.learner(CLAIM.conditions[CLAIM.ours], 0.0, 3)
    rollouts = learner.sample(torch.arange(2).repeat_interleave(8))
    rollouts.reward[::3] += 0.5  # so that no group is uniform
    out = learner.evaluate(rollouts.tokens, rollouts.mask)
    loss, _ = learner.objective(rollouts, PolicyOut(out.logp, out.entropy))
    (ours,) = torch.autograd.grad(loss, learner.weight, retain_graph=True)
    tau, consistency = 0.3, torch.zeros((), dtype=torch.float64)
    for group in range(2):
        rows = rollouts.group == group
        a = rollouts.reward[rows] - tau * (out.logp - rollouts.logp_old)[rows].sum(1)
        consistency = consistency + (a[:, None] - a[None]).square().sum() / 2
    (theirs,) = torch.autograd.grad(consistency, learner.weight)
    assert ours.abs().max() > 1e-3
    torch.testing.assert_close(ours * 64, theirs / (2 * tau * 8), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("age", "renewed"), [("every 20 steps", 2), ("never", 1)])
def test_completions_are_as_old_as_is_said(age: str, renewed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    writers, sample = [], Learner.sample

    def spied(self: Learner, problems: torch.Tensor) -> object:
        writers.append(self.weight.detach().clone())
        return sample(self, problems)

    monkeypatch.setattr(Learner, "sample", spied)
    course = replace(BED, iterations=30).run(CLAIM.conditions[f"clip, {age}"], 0.1, 0)
    different = 1 + sum(not torch.equal(a, b) for a, b in zip(writers, writers[1:], strict=False))
    assert (len(writers), different) == (30, renewed)
    assert course.completions.tolist() == [0, 640, 1280, 1920]


def test_both_leads_are_parts() -> None:
    found = CLAIM.smallest().measure()
    each = {name: one["estimate"] for name, one in found.details[f"clip minus each, {MAIN}"].items()}
    assert list(found.means.values()) == pytest.approx([each["neither"], each["clip and weights"]])
    assert [part.wanted for part in found.parts.values()] == ["above", "no less"]
