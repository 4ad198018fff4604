"""Formats on the answer tree: a correct completion in each, shares that sum to 1, and what is told of the winner."""

from dataclasses import replace

import pytest

from tiltyard.benchmarks.testbeds.testbed import method
from tiltyard.benchmarks.testbeds.tree_formats import FormatTree, format_of, shares_of

BED = FormatTree(depth=3, branching=3, trained=16, held_out=16, iterations=10, every=5)


def test_every_format_has_one_correct_completion() -> None:
    task = BED.task(0)
    for form in range(3):
        assert task.reward[:, task.tree.choices[:, 0] == form].sum(1).tolist() == [1.0] * 32


def test_nodes_belong_to_the_format_that_leads_to_them() -> None:
    tree = BED.task(0).tree
    forms = format_of(tree)
    for choices, nodes in zip(tree.choices.tolist(), tree.nodes.tolist(), strict=True):
        assert {int(forms[node]) for node in nodes[1:]} == {choices[0]}


def test_the_base_has_the_same_shares_for_all_problems_and_other_skill_in_each_format() -> None:
    learner = BED.learner(method("grpo", kl_coef=0.0), 0.1, 0)
    chance, first = learner.distribution(), learner.tree.choices[:, 0]
    share = chance[:, first == 1].sum(1)
    assert share.tolist() == pytest.approx([float(share[0])] * len(share))
    exact, noisy = (
        shares_of(replace(BED, errors=ends).learner(method("grpo", kl_coef=0.0), 0.1, 0))[1]
        for ends in ((0.0, 0.0), (5.0, 5.0))
    )
    assert all(exact[name] > noisy[name] for name in exact), (exact, noisy)


def test_shares_and_accuracies_add_up_to_success() -> None:
    learner = BED.learner(method("grpo", kl_coef=0.0), 0.1, 0)
    share, right = shares_of(learner)
    assert sum(share.values()) == pytest.approx(1)
    success = float(learner.success()[learner.task.trained :].mean())
    assert sum(share[name] * right[name] for name in share) == pytest.approx(success)


def test_what_is_told_of_the_winner() -> None:
    found = BED.run(method("grpo", kl_coef=0.0), 0.1, 0).at_end
    assert 1 / 3 < found["largest share before"] < 1
    assert found["largest share after"] != found["largest share before"]
    assert {found[name] for name in found if name.startswith(("it", "one"))} <= {0.0, 1.0}
