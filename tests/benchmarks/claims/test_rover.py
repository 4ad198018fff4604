from dataclasses import replace
from typing import Any

import pytest
import torch

from tiltyard.agents.language.rollouts import PolicyOut
from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.claims.rover import CLAIM

BED: Any = CLAIM.testbed


def test_what_a_random_policy_finds_by_hand() -> None:
    # Each of 256 completions comes once in 256: four correct ones by 1/64, and each is among 64 by 1 - (255 / 256)^64.
    course = replace(BED, skill=0.0, noise=0.0, iterations=0).run(CLAIM.conditions["rover"], 0.1, 0)
    assert course.at_end["found"] == pytest.approx(1 - (255 / 256) ** 64)
    assert course.held_out == pytest.approx([1 / 64])


def test_the_first_gradient_step_is_reinforce() -> None:
    learner = BED.learner(CLAIM.conditions["rover"], 0.0, 1)
    rollouts = learner.sample(torch.arange(8).repeat_interleave(8))
    out = learner.evaluate(rollouts.tokens, rollouts.mask, vocabulary_mean=True)
    (ours,) = torch.autograd.grad(learner.objective(rollouts, out)[0], learner.weight, retain_graph=True)
    plain = load("rec-red", clip="none")(rollouts, PolicyOut(out.logp, out.entropy))[0]
    (reinforce,) = torch.autograd.grad(plain, learner.weight)
    assert reinforce.abs().max() > 1e-4
    torch.testing.assert_close(ours, 2 * reinforce, rtol=1e-4, atol=1e-7)


def test_leads_over_both_baselines_are_parts() -> None:
    found = CLAIM.smallest().measure()
    ends = found.details["held-out success at the end"]
    assert len(found.parts) == 4
    for name in CLAIM.baselines:
        lead = ends["rover"]["estimate"] - ends[name]["estimate"]
        assert found.means[f"success, over {name}"] == pytest.approx(lead)
        assert found.parts[f"success, over {name}"].highest == pytest.approx(1 - ends[name]["estimate"])
