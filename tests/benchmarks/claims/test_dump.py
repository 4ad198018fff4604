from typing import Any

import pytest
import torch

from tiltyard.benchmarks.claims.dump import CLAIM, SPREAD
from tiltyard.benchmarks.testbeds.tree_arms import ARMS, curriculum, taught

BED: Any = CLAIM.testbed


def test_distributions_are_of_like_size_and_ordered_by_length() -> None:
    learner = BED.learner(CLAIM.conditions["dump"], 0.03, 1000)
    arm = torch.tensor(curriculum(learner).arm)
    assert torch.bincount(arm).tolist() == [43, 43, 42, 43, 43, 42]
    length = learner.task.features[: learner.task.trained].norm(dim=1)
    assert all(length[arm == j].max() < length[arm == j + 1].min() for j in range(ARMS - 1))


def test_where_policies_are_sure_groups_teach_less() -> None:
    size = taught(BED.learner(CLAIM.conditions["uniform"], 0.03, 1000))
    assert size[0] > 2 * size[-3:].mean()


def test_draws_go_to_what_teaches_and_completions_are_as_many() -> None:
    ours, uniform = (BED.learner(CLAIM.conditions[name], 0.0, 1000) for name in ("dump", "uniform"))
    arm = torch.tensor(curriculum(ours).arm)
    iterate, drawn = CLAIM.conditions["dump"].iteration(ours), torch.zeros(ARMS)
    for _ in range(40):
        drawn += torch.bincount(arm[iterate().seed], minlength=ARMS)
        uniform.iterate()
    assert ours.completed == uniform.completed
    assert drawn[0] > 1.5 * drawn[-3:].mean()
    assert drawn.min() > 0


@pytest.mark.parametrize(("ratio", "holds"), [(1.9, False), (2.1, True)])
def test_the_premise_is_that_some_distributions_teach_more(ratio: float, holds: bool) -> None:
    assert (CLAIM.premise.missing({SPREAD: ratio}) == "") == holds
