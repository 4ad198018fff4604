"""The study of recorded steps: its correlation by hand, its summary, and a run of it at the least size."""

import json
import math
from pathlib import Path

import pytest

from tiltyard.benchmarks.studies import recorded_steps
from tiltyard.benchmarks.studies.recorded_steps import correlation, spearman, summary


def test_spearman_by_hand():
    assert spearman([1, 2, 3, 4], [10, 20, 30, 40]) == 1
    assert spearman([1, 2, 3], [3, 2, 1]) == -1
    assert spearman([1, 2, 3, 4], [2, 1, 4, 3]) == pytest.approx(0.6)  # 1 - 6 * 4 / (4 * 15)
    assert spearman([1, 1, 2], [1, 2, 3]) == pytest.approx(3**0.5 / 2)  # ranks 0.5, 0.5, 2 and 0, 1, 2
    assert spearman([1, 1, 1], [1, 2, 3]) == 0


def point(online: float, steps: float, sop: float) -> dict[str, float]:
    return {"updates": 0, "online": online, "steps": steps, "progress": sop, "complete": sop, "sop": sop}


def made(last: float) -> dict[str, object]:
    begun = point(0.1, 0.5, 0.1)
    paths = {name: [begun, point(last + i / 10, 0.4, 0.2 + i / 10)] for i, name in enumerate(recorded_steps.METHODS)}
    return {"methods": paths}


def test_the_common_beginning_counts_once_and_differences_are_paired():
    one = made(0.2)
    assert correlation(one, "sop") == 1
    assert correlation(one, "steps") == pytest.approx(spearman([0.5, 0.4, 0.4, 0.4, 0.4], range(5)))
    found = summary([made(0.2), made(0.4), made(0.6)])
    assert found["at_end"]["phone-bc"]["online"][0] == pytest.approx(0.4)
    for pair, gain in (("ui-s1 - phone-bc", 0.2), ("ui-s1 - ui-s1, no patches", -0.1)):
        # The same in each seed: there is no interval.
        assert found["gains"][pair] == pytest.approx([gain, math.nan, math.nan], nan_ok=True)
    assert len(summary([made(0.2)])["at_end"]["ui-r1"]["online"]) == 1  # no interval of one run


def test_problems_of_different_purposes_differ():
    drawn = [seed for purpose in range(3) for seed in recorded_steps.seeds_of(purpose, 0, 50)]
    assert len(set(drawn)) == 150
    assert recorded_steps.seeds_of(1, 0, 5) == drawn[50:55]


@pytest.mark.slow
def test_a_run_of_the_least_size(tmp_path: Path):
    small = "--seeds 1 --demonstrations 4 --updates 2 --checkpoints 1 --episodes 2 --recorded 2"
    where = ["--env", "tiltyard/Phone-v0", "--out", str(tmp_path)]
    recorded_steps.main([*small.split(), *where, "--tune", "--rates", "1e-5", "1e-3", "--tuning-seeds", "7"])
    tuning = json.loads((tmp_path / "tuning.json").read_text())
    assert {name: list(rates) for name, rates in tuning["online"].items()} == {
        name: ["1e-05", "0.001"] for name in recorded_steps.METHODS
    }
    assert tuning["command"].endswith("--tune --rates 1e-05 0.001 --tuning-seeds 7")
    (tmp_path / "tuning.json").write_text(json.dumps({**tuning, "chosen": dict.fromkeys(recorded_steps.METHODS, 0.0)}))
    recorded_steps.main([*small.split(), *where])
    one = json.loads((tmp_path / "seed-0.json").read_text())
    one["methods"]["ui-s1"][-1]["online"] = 0.123
    (tmp_path / "seed-0.json").write_text(json.dumps(one))
    recorded_steps.main([*small.split(), *where])  # what is there is not run again
    assert "| ui-s1 | 0.123 |" in (tmp_path / "README.md").read_text()
    one["methods"]["ui-s1"][-1]["online"] = one["methods"]["ui-s1"][0]["online"]
    assert list(one["methods"]) == list(recorded_steps.METHODS)
    assert [kept["updates"] for kept in one["methods"]["ui-s1"]] == [1, 2]
    for kept in one["methods"].values():  # the rate chosen is the one used: 0 changes nothing
        assert {**kept[0], "updates": 2} == kept[1]
    assert "| 1e-05 | 0.001 | chosen |" in (tmp_path / "README.md").read_text()
    assert (
        f"python benchmarks/studies/recorded_steps.py --env tiltyard/Phone-v0 {small}"
        in (tmp_path / "README.md").read_text()
    )
