import numpy as np
import pytest

from tiltyard.benchmarks.adastop import AdaStop


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def run(test: AdaStop, draw: dict[str, np.random.Generator], shift: dict[str, float]) -> AdaStop:
    while not test.done:
        test.add({a: (draw[a].standard_normal(test.group) + shift[a]).tolist() for a in test.needed})
    return test


@pytest.mark.parametrize(("level", "expected"), [(0.12, "larger"), (0.08, "undecided")])
def test_two_separated_groups_of_three_by_hand(level: float, expected: str) -> None:
    """Of the 20 ways to split six scores only the observed one and its mirror are as extreme: p = 1/10."""
    test = AdaStop(["a", "b"], rng=rng(), group=3, groups=1, level=level)
    assert test.add({"a": [4.0, 5.0, 6.0], "b": [1.0, 2.0, 3.0]}) == {("a", "b"): expected}
    assert test.done
    assert test.runs == {"a": 3, "b": 3}


def test_the_level_is_spent_little_by_little() -> None:
    """p = 1/10 at the first of two groups: not enough for half of 0.12; with two groups p = 2/400."""
    test = AdaStop(["a", "b"], rng=rng(), group=3, groups=2, level=0.12)
    assert test.add({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}) == {("a", "b"): "undecided"}
    assert not test.done
    assert test.add({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}) == {("a", "b"): "smaller"}


def test_no_more_permutations_cross_in_all_groups_than_the_level_allows() -> None:
    test = AdaStop(["a", "b"], rng=rng(), group=5, groups=4, level=0.2, permutations=1000)
    for spent in (50, 100, 150, 200):  # a quarter of the level a group
        block = rng(spent).standard_normal(5)
        test.add({"a": block.tolist(), "b": (block + 1e-3).tolist()})
        assert int((~test._unspent).sum()) == spent
    assert test.decisions == {("a", "b"): "undecided"}


def test_clear_differences_stop_early_and_only_undecided_agents_go_on() -> None:
    shift = {"a": 10.0, "b": 0.0, "c": 0.0}
    test = AdaStop(list(shift), rng=rng(), permutations=2000)
    run(test, {agent: rng(i + 1) for i, agent in enumerate(shift)}, shift)
    assert test.decisions == {("a", "b"): "larger", ("a", "c"): "larger", ("b", "c"): "undecided"}
    assert test.runs["a"] < test.runs["b"] == test.runs["c"] == 25


def test_equal_scores_are_never_told_apart() -> None:
    test = AdaStop(["a", "b"], rng=rng(), groups=3, level=0.3, permutations=500)
    while not test.done:
        test.add(dict.fromkeys("ab", [1.0] * 5))
    assert test.decisions == {("a", "b"): "undecided"}


def test_same_rng_same_decisions() -> None:
    found = []
    for _ in range(2):
        test = AdaStop(["a", "b"], rng=rng(3), permutations=500)
        run(test, {"a": rng(1), "b": rng(2)}, {"a": 1.0, "b": 0.0})
        found.append((test.decisions, test.runs))
    assert found[0] == found[1]


def test_bad_input_is_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="two or more different agents"):
        AdaStop(["a", "a"], rng=rng())
    with pytest.raises(ValueError, match="too few to spend"):
        AdaStop(["a", "b"], rng=rng(), permutations=50)
    with pytest.raises(ValueError, match="level between 0 and 1"):
        AdaStop(["a", "b"], rng=rng(), level=5)
    test = AdaStop(["a", "b"], rng=rng(), group=2, groups=1)
    with pytest.raises(ValueError, match="unknown agent 'aa'; did you mean 'a'"):
        test.add({"aa": [1.0, 2.0], "b": [1.0, 2.0]})
    for block in ([1.0], [1.0, float("nan")], []):
        with pytest.raises(ValueError, match="agent 'b' must add 2 finite scores"):
            test.add({"a": [1.0, 2.0], "b": block})
    assert test.runs == {"a": 0, "b": 0}
    test.add({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match="is done"):
        test.add({"a": [1.0, 2.0], "b": [1.0, 2.0]})


def family_wise_error(shift: dict[str, float], repeats: int) -> float:
    """Share of tests that tell apart a pair of equal agents, with heavy-tailed scores."""
    wrong = 0
    for seed in range(repeats):
        test = AdaStop(list(shift), rng=rng(seed), group=4, groups=3, permutations=500)
        draw = {agent: np.random.default_rng([seed, i]) for i, agent in enumerate(shift)}
        while not test.done:
            test.add({a: (draw[a].standard_t(3, 4) + shift[a]).tolist() for a in test.needed})
        pairs = [pair for pair, decision in test.decisions.items() if decision != "undecided"]
        wrong += any(shift[a] == shift[b] for a, b in pairs)
    return wrong / repeats


@pytest.mark.slow
@pytest.mark.parametrize(
    "shift", [{"a": 0.0, "b": 0.0}, {"a": 0.0, "b": 0.0, "c": 0.0}, {"a": 0.0, "b": 0.0, "c": 6.0}]
)
def test_family_wise_error_is_controlled(shift: dict[str, float]) -> None:
    repeats = 1500
    assert family_wise_error(shift, repeats) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / repeats)


def test_an_agent_that_is_dropped_takes_its_decisions_with_it() -> None:
    test = AdaStop(["a", "b", "c"], rng=np.random.default_rng(0), group=5, groups=2, level=0.2)
    test.add({"a": [9.0, 9.1, 9.2, 9.3, 9.4], "b": [1.0, 1.1, 1.2, 1.3, 1.4], "c": [1.05, 1.15, 1.25, 1.3, 1.35]})
    assert test.decisions == {("a", "b"): "larger", ("a", "c"): "larger", ("b", "c"): "undecided"}
    test.drop("a")
    assert (test.decisions, test.needed, test.dropped) == ({("b", "c"): "undecided"}, ("b", "c"), ["a"])
    test.drop("b")
    assert test.done
    with pytest.raises(KeyError, match="unknown agent 'd'"):
        test.drop("d")
