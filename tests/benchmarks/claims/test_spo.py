from typing import Any

import pytest

from tiltyard.agents.language.tracker import Record
from tiltyard.benchmarks.claims import spo
from tiltyard.benchmarks.testbeds.tree_loops import estimates, uncertain

BED: Any = spo.CLAIM.testbed


def test_problems_are_drawn_by_what_is_uncertain() -> None:
    # Half are known, at 9 correct of 10, weight sqrt(0.9 * 0.1) + 0.05 = 0.35; half are at the typical 0.5: 0.55.
    learner = BED.learner(spo.CLAIM.conditions["spo"], 0.03, 1000)
    for problem in range(128):
        learner.tracker.records[problem] = Record(9.0, 1.0, *[None] * 3)  # type: ignore[list-item]
    assert estimates(learner)[127:129].tolist() == [0.9, 0.5]
    learner.prompts = 1
    known = [int(uncertain(learner)) < 128 for _ in range(4000)]
    assert sum(known) / 4000 == pytest.approx(0.35 / (0.35 + 0.55), abs=0.03)  # 4 standard errors of 0.0077


def test_both_get_as_many_completions_and_few_of_grpos_teach() -> None:
    ours, grpo = (BED.learner(spo.CLAIM.conditions[name], 0.0, 1000) for name in ("spo", "grpo"))
    completions = [ours.iterate(), grpo.iterate()]
    assert [len(one) for one in completions] == [64, 64]
    assert [len(one.seed.unique()) for one in completions] == [64, 8]
    silent = [
        int((one.objective.advantage(of).abs() < 1e-3).sum()) for one, of in zip((ours, grpo), completions, strict=True)
    ]
    assert silent[0] == 0
    assert silent[1] >= 32


def test_more_of_spos_completions_teach() -> None:
    found = spo.CLAIM.smallest().measure()
    shares = found.details[spo.SHARES]
    assert shares["spo"]["all"] > shares["grpo"]["all"]
