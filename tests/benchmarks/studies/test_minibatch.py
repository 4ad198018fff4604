import pytest

from tiltyard.benchmarks.studies import minibatch
from tiltyard.benchmarks.studies._study import once

WHERE = {"commit": "c", "hardware": "h", "cpu_seconds": 60.0}


def cells(scores):
    """Scores by reward and size, one a seed."""
    return {
        (reward, size): [
            {"reward": reward, "minibatch": size, "seed": seed, "curve": [dict.fromkeys(KEYS, score)], **WHERE}
            for seed, score in enumerate(scores.get((reward, size), []))
        ]
        for reward in minibatch.REWARDS
        for size in minibatch.SIZES
    }


KEYS = ("score", "completion", "success")
SMALL, LARGE = minibatch.SIZES[0], minibatch.SIZES[-1]


def test_a_fall_is_counted_seed_by_seed():
    made = cells({("shaped", SMALL): [0.75, 0.5, 0.25], ("shaped", LARGE): [0.25, 0.5]})
    assert minibatch.falls(made, "shaped") == {0: 0.5, 1: 0.0}


@pytest.mark.parametrize(
    ("shaped", "carl", "verdict"),
    [
        ([0.1, 0.2, 0.1], [0.8, 0.8, 0.8], "supported"),
        ([0.1, 0.2, 0.1], [0.1, 0.2, 0.1], "undecided"),  # both fall
        ([0.95, 0.94, 0.96], [0.8, 0.8, 0.8], "contradicted"),  # it rises
        ([0.1, 0.9, 0.5], [0.8, 0.8, 0.8], "undecided"),
    ],
)
def test_both_parts_of_the_claim_must_hold(shaped, carl, verdict):
    small = {(reward, SMALL): [0.81, 0.8, 0.79] for reward in minibatch.REWARDS}
    told = minibatch.verdict(cells({**small, ("shaped", LARGE): shaped, ("carl", LARGE): carl}))
    assert told.endswith(f"Verdict: {verdict}.")


def test_a_run_is_done_once_and_not_mixed_with_others(tmp_path):
    done = []

    def work():
        done.append(1)
        return {"curve": []}

    first = once(tmp_path, "one", {"steps": 1}, work)
    assert once(tmp_path, "one", {"steps": 1}, work) == first
    assert done == [1]
    with pytest.raises(ValueError, match="other settings"):
        once(tmp_path, "one", {"steps": 2}, work)


def test_the_page_has_a_row_a_condition(tmp_path):
    made = cells({(reward, size): [0.5, 0.6, 0.7] for reward in minibatch.REWARDS for size in minibatch.SIZES})
    for runs in made.values():
        for one in runs:
            once(tmp_path, f"{one['reward']}-{one['minibatch']}-{one['seed']}", {}, lambda one=one: one)
    minibatch.report(tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert page.count("0.60 [0.35, 0.85] | 3 |") == 6  # Student: 0.1 * 4.303 / sqrt(3) to either side
    assert "Verdict: undecided." in page
