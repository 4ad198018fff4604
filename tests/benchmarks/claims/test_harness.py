import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from tiltyard.benchmarks.claims import harness
from tiltyard.benchmarks.claims.claim import Claim, Measurement
from tiltyard.benchmarks.claims.harness import judge, run_claim
from tiltyard.benchmarks.statistics import Interval
from tiltyard.papers import find


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.1, 0.5, "reproduced"),
        (0.0, 0.5, "inconclusive"),  # an interval that touches the threshold is not above it
        (-0.2, 0.5, "inconclusive"),
        (-0.2, 0.0, "not reproduced at this scale"),
        (-0.5, -0.2, "not reproduced at this scale"),
        (math.nan, 0.5, "inconclusive"),
        (0.1, math.inf, "inconclusive"),
    ],
)
def test_judgement_by_hand(low: float, high: float, expected: str) -> None:
    assert judge(Interval(0.2, low, high), 0.0) == expected
    assert judge(Interval(1.2, low + 1, high + 1), 1.0) == expected


@pytest.fixture
def a_claim(monkeypatch: pytest.MonkeyPatch) -> type:
    """A claim file of our own beside the real ones, with an experiment that is done at once."""

    class Module:
        CLAIM = Claim(handle="made-up", sentence="Two is more than one.", effect="two minus one")

        @staticmethod
        def measure(*, seeds: int | None = None) -> Measurement:
            return Measurement(Interval(1.0, 0.5, 1.5), {"array": np.arange(3), "float": np.float32(0.5)})

    monkeypatch.setattr(harness, "claims", lambda: ("made-up", "rliable"))
    monkeypatch.setitem(sys.modules, "tiltyard.benchmarks.claims.made_up", Module)  # type: ignore[arg-type]
    return Module


def test_a_verdict_is_stored_and_read_back_with_its_command(a_claim: type, tmp_path: Path) -> None:
    verdict = run_claim("made-up", folder=tmp_path)
    record = json.loads((tmp_path / "made-up.json").read_text())
    assert record["judgement"] == "reproduced"
    assert record["interval"] == {"estimate": 1.0, "low": 0.5, "high": 1.5}
    assert record["command"] == "tiltyard claim made-up"
    assert record["details"] == {"array": [0, 1, 2], "float": 0.5}
    assert {"tiltyard", "mujoco", "torch", "numba"} <= set(record["versions"])
    read = harness.stored(tmp_path)["made-up"]
    assert (read.interval, read.versions, read.seconds) == (verdict.interval, verdict.versions, verdict.seconds)
    assert "made-up: reproduced" in str(read)
    assert "1.00 [0.50, 1.50]" in str(read)
    assert [path.name for path in tmp_path.iterdir()] == ["made-up.json"]


def test_a_withdrawn_claim_stays_withdrawn_however_often_it_is_run(a_claim: type, tmp_path: Path) -> None:
    a_claim.CLAIM = Claim(handle="made-up", sentence="s", effect="e", withdrawn="it shows nothing")  # type: ignore[attr-defined]
    verdict = run_claim("made-up", folder=tmp_path)
    read = harness.stored(tmp_path)["made-up"]
    assert (read.judgement, read.standing, read.withdrawn) == ("reproduced", "withdrawn", "it shows nothing")
    assert read.interval == verdict.interval  # what was measured is kept
    assert "made-up: withdrawn\n  withdrawn it shows nothing (before: reproduced)" in str(read)


def test_stored_verdicts_are_withdrawn_where_their_claims_are() -> None:
    stored = harness.stored(Path(harness.__file__).resolve().parents[2] / harness.RESULTS)
    said = {handle: harness.load(handle)[0].withdrawn for handle in stored}
    assert {handle: verdict.withdrawn for handle, verdict in stored.items()} == said
    assert {handle for handle, why in said.items() if why} == {"archer", "h2o", "hl-gauss", "spo"}


def test_results_go_to_docs_unless_told_otherwise(
    a_claim: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_claim("made-up", seeds=2)
    assert not list(tmp_path.iterdir())  # another number of seeds has no command to repeat it
    run_claim("made-up")
    assert (tmp_path / "docs/results/claims/made-up.json").exists()


def test_a_claim_under_another_handle_is_refused(a_claim: type, tmp_path: Path) -> None:
    a_claim.CLAIM = Claim(handle="other", sentence="s", effect="e")  # type: ignore[attr-defined]
    a_claim.__file__ = "made_up.py"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="named after its claim's handle 'other'"):
        run_claim("made-up", folder=tmp_path)


def test_a_broken_verdict_is_named(tmp_path: Path) -> None:
    for text in ("{", "{}", "[]"):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(ValueError, match=r"x\.json holds no verdict"):
            harness.stored(tmp_path)
    assert harness.stored(tmp_path / "nowhere") == {}


def test_unknown_claims_get_the_nearest() -> None:
    with pytest.raises(KeyError, match="unknown claim 'rliabel'; did you mean 'rliable'"):
        run_claim("rliabel")


def test_every_claim_in_the_folder_loads_and_belongs_to_a_paper() -> None:
    assert "rliable" in harness.claims()
    for handle in harness.claims():
        claim, measure = harness.load(handle)
        assert claim.sentence
        assert claim.effect
        assert callable(measure)
        assert find(handle).handle == handle
