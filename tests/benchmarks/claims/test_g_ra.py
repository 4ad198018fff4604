from dataclasses import replace
from typing import Any

import pytest
import torch

from tiltyard.benchmarks.claims.g_ra import CLAIM, MISLED

BED: Any = CLAIM.testbed


def paid(name: str, batch: Any) -> Any:
    """A batch as a condition pays it."""
    return BED.payer(CLAIM.conditions[name].rewards)(batch, None)


def test_what_each_condition_is_paid() -> None:
    batch = BED.task.learner(1000).attempt(torch.arange(64))
    success = batch.info["success"]
    assert 0 < success.sum() < len(batch)
    gated, direct, outcome = (paid(name, batch).reward for name in ("gated", "direct", "outcome"))
    assert direct.tolist() == pytest.approx(batch.reward.tolist(), abs=1e-5)
    assert gated[success].tolist() == pytest.approx(batch.reward[success].tolist(), abs=1e-5)
    assert not gated[~success].any()
    assert outcome.tolist() == success.float().tolist()


def test_adding_all_up_leads_to_filler() -> None:
    bed = replace(BED, iterations=30, every=30)
    gated, direct = (bed.run(CLAIM.conditions[name], 0.1, 10000)[-1] for name in ("gated", "direct"))
    assert direct[0] < gated[0]
    assert direct[1] > gated[1]


@pytest.mark.parametrize(("lost", "holds"), [(0.04, False), (0.06, True)])
def test_the_premise_is_that_steps_can_be_farmed(lost: float, holds: bool) -> None:
    assert (CLAIM.premise.missing({MISLED: lost}) == "") == holds
