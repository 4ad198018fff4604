import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tiltyard.benchmarks.claims import harness, record
from tiltyard.benchmarks.claims.claim import Claim, Measurement
from tiltyard.benchmarks.claims.effects import part
from tiltyard.benchmarks.claims.harness import run_claim
from tiltyard.benchmarks.verdicts import RULE, Judgement
from tiltyard.papers import find

ROOT = Path(harness.__file__).resolve().parents[2]
OLD_RULE = "percentile bootstrap of 2,000 resamples; of several parts the least; until 2026-11-22"


@pytest.fixture
def a_claim(monkeypatch: pytest.MonkeyPatch) -> type:
    """A claim file of our own beside the real ones, with an experiment that is done at once."""

    class Module:
        CLAIM = Claim(handle="made-up", sentence="Two is more than one.", effect="two minus one")

        @staticmethod
        def measure(*, seeds: int | Sequence[int] | None = None) -> Measurement:
            return Measurement({"": part([0.9, 1.0, 1.1])}, {"array": np.arange(3), "float": np.float32(0.5)})

    monkeypatch.setattr(harness, "claims", lambda: ("made-up", "rliable"))
    monkeypatch.setitem(sys.modules, "tiltyard.benchmarks.claims.made_up", Module)  # type: ignore[arg-type]
    return Module


def test_a_verdict_is_stored_and_read_back_with_its_command(a_claim: type, tmp_path: Path) -> None:
    verdict = run_claim("made-up", folder=tmp_path)
    kept = json.loads((tmp_path / "made-up.json").read_text())
    assert kept["judgement"] == "supported"
    assert kept["parts"][0]["values"] == [0.9, 1.0, 1.1]
    assert kept["command"] == "tiltyard claim made-up"
    assert kept["details"] == {"array": [0, 1, 2], "float": 0.5}
    assert {"tiltyard", "mujoco", "torch", "numba"} <= set(kept["versions"])
    read = harness.stored(tmp_path)["made-up"]
    assert (read.parts, read.versions, read.seconds) == (verdict.parts, verdict.versions, verdict.seconds)
    assert "made-up: supported" in str(read)
    assert "effect: 1.00 [0.75, 1.25], supported" in str(read)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made-up.json", "registered.tsv"]


def test_numbers_that_json_does_not_have_are_read_back(a_claim: type, tmp_path: Path) -> None:
    a_claim.measure = staticmethod(lambda *, seeds=None: Measurement({"": part([1.0] * 3)}, {"x": float("nan")}))  # type: ignore[attr-defined]
    run_claim("made-up", folder=tmp_path)
    text = (tmp_path / "made-up.json").read_text()
    assert "NaN" not in text
    read = harness.stored(tmp_path)["made-up"]
    assert read.judgement == "undecided"
    assert "all 3 runs have the value 1" in read.reason
    assert np.isnan(read.parts[0].interval.low)


def test_a_withdrawn_claim_stays_withdrawn_however_often_it_is_run(a_claim: type, tmp_path: Path) -> None:
    a_claim.CLAIM = Claim(handle="made-up", sentence="s", effect="e", withdrawn="it shows nothing")  # type: ignore[attr-defined]
    verdict = run_claim("made-up", folder=tmp_path)
    read = harness.stored(tmp_path)["made-up"]
    assert (read.judgement, read.standing, read.withdrawn) == ("supported", "withdrawn", "it shows nothing")
    assert read.parts == verdict.parts  # what was measured is kept
    assert "made-up: withdrawn\n  withdrawn it shows nothing (before: supported)" in str(read)


def test_a_verdict_joins_the_history_of_the_next_which_only_grows(a_claim: type, tmp_path: Path) -> None:
    first = run_claim("made-up", folder=tmp_path)
    a_claim.measure = staticmethod(lambda *, seeds=None: Measurement({"": part([-0.9, -1.0, -1.1])}))  # type: ignore[attr-defined]
    second = run_claim("made-up", folder=tmp_path)
    read = harness.stored(tmp_path)["made-up"]
    assert (first.judgement, read.judgement) == ("supported", "contradicted")
    (before,) = read.history
    assert (before["judgement"], before["date"], before["commit"]) == ("supported", first.date, first.commit)
    assert before["parts"][0]["values"] == [0.9, 1.0, 1.1]
    with pytest.raises(ValueError, match="the history of .* may only grow"):
        harness.store(second, tmp_path)
    with pytest.raises(ValueError, match="the history of .* may only grow"):
        harness.store(replace(read, history=({**before, "judgement": "undecided"},)), tmp_path)
    assert harness.stored(tmp_path)["made-up"] == read


def test_the_definition_is_registered_before_the_first_seed_runs(a_claim: type, tmp_path: Path) -> None:
    def broken(*, seeds: int | Sequence[int] | None = None) -> Measurement:
        lines = (tmp_path / "registered.tsv").read_text().splitlines()
        assert lines[0].split("\t") == ["when", "claim", "definition", "seeds", "commit"]
        assert lines[1].split("\t")[1] == "made-up"
        raise RuntimeError("stopped in the middle")

    a_claim.measure = staticmethod(broken)  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="in the middle"):
        run_claim("made-up", folder=tmp_path)
    with pytest.raises(RuntimeError, match="in the middle"):
        run_claim("made-up", folder=tmp_path)
    assert len((tmp_path / "registered.tsv").read_text().splitlines()) == 3


def test_the_definition_changes_with_the_claim_and_its_testbed(tmp_path: Path) -> None:
    source = ROOT / "benchmarks/claims/spo.py"
    digest = record.definition(source)
    copy = tmp_path / "spo.py"
    copy.write_text(source.read_text())
    assert record.definition(copy) == digest
    copy.write_text(source.read_text().replace("skill=1.5", "skill=1.6"))
    assert record.definition(copy) != digest
    copy.write_text(source.read_text().replace("from ..testbeds.tree_loops import", "from ..elsewhere import"))
    assert record.definition(copy) != digest  # the testbeds are part of it


def test_fresh_seeds_replicate_beside_the_verdict(a_claim: type, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no verdict on made-up in .* or run tiltyard claim made-up first"):
        run_claim("made-up", seeds=(100, 101, 102), folder=tmp_path)
    stands = replace(run_claim("made-up", folder=tmp_path), seeds="0-9")
    record.store(stands, tmp_path)
    replication = run_claim("made-up", seeds=(100, 101, 102), folder=tmp_path)
    assert replication.command == "tiltyard claim made-up --seeds 100-102"
    read = harness.stored(tmp_path)["made-up"]
    assert (read.seeds, read.history, len(read.replications)) == ("0-9", (), 1)
    assert read.replications[0]["seeds"] == "100-102"
    for had in (9, 101):
        with pytest.raises(ValueError, match=f"seed {had} has had a verdict on made-up.* such as 103-105"):
            run_claim("made-up", seeds=(had, 200, 300), folder=tmp_path)


@pytest.mark.parametrize(
    ("seeds", "why"),
    [((100, 100, 100), "each seed counts once, got 100,100,100"), ((100, 101), "needs at least 3 seeds, got 2")],
)
def test_seeds_that_give_no_verdict_are_refused_before_anything_runs(
    seeds: tuple[int, ...], why: str, a_claim: type, tmp_path: Path
) -> None:
    run_claim("made-up", folder=tmp_path)
    registered = (tmp_path / "registered.tsv").read_text()
    with pytest.raises(ValueError, match=why):
        run_claim("made-up", seeds=seeds, folder=tmp_path)
    assert (tmp_path / "registered.tsv").read_text() == registered


def test_a_replication_of_a_changed_definition_is_told(a_claim: type, tmp_path: Path) -> None:
    record.store(replace(run_claim("made-up", folder=tmp_path), seeds="0-9", definition="0123"), tmp_path)
    with pytest.warns(UserWarning, match="define made-up have changed since its stored verdict .digest 0123, now"):
        run_claim("made-up", seeds=(100, 101, 102), folder=tmp_path)


OLDER = "an older rule"


def judged_by_another_rule(folder: Path, *, judgement: Judgement = "contradicted", reason: str = "") -> record.Verdict:
    """A stored verdict whose part is in truth supported."""
    stands = run_claim("made-up", folder=folder)
    parts = tuple(replace(one, judgement=judgement, reason=reason) for one in stands.parts)
    other = replace(stands, judgement=judgement, parts=parts, rule=OLDER, reason=reason)
    record.store(other, folder)
    return other


def test_stored_runs_are_judged_again_without_running_any(
    a_claim: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="no verdict to judge again: run tiltyard claim made-up first"):
        harness.rejudge("made-up", tmp_path)
    old = judged_by_another_rule(tmp_path)
    registered = (tmp_path / "registered.tsv").read_text()
    monkeypatch.setattr(a_claim, "measure", None)
    found = harness.rejudge("made-up", tmp_path)
    assert found == harness.stored(tmp_path)["made-up"]
    assert (found.judgement, found.rule) == ("supported", RULE)
    assert found.parts[0].interval == old.parts[0].interval
    assert (found.seeds, found.commit, found.command) == (old.seeds, old.commit, old.command)
    assert [(one["judgement"], one["rule"]) for one in found.history] == [("contradicted", OLDER)]
    assert (tmp_path / "registered.tsv").read_text() == registered
    assert harness.rejudge("made-up", tmp_path) == found  # nothing changes, and nothing is written


def test_a_part_alone_may_change(a_claim: type, tmp_path: Path) -> None:
    old = judged_by_another_rule(tmp_path)
    record.store(replace(old, judgement="supported"), tmp_path)
    found = harness.rejudge("made-up", tmp_path)
    assert [one.judgement for one in found.parts] == ["supported"]
    assert len(found.history) == 1


def test_what_could_not_be_decided_stays_undecided_when_judged_again(a_claim: type, tmp_path: Path) -> None:
    judged_by_another_rule(tmp_path, judgement="undecided", reason="cannot be decided here")
    assert harness.rejudge("made-up", tmp_path).judgement == "undecided"
    assert not harness.stored(tmp_path)["made-up"].history


def test_verdicts_that_keep_no_values_cannot_be_judged_again(a_claim: type, tmp_path: Path) -> None:
    old = judged_by_another_rule(tmp_path)
    record.store(replace(old, parts=tuple(replace(one, values=()) for one in old.parts)), tmp_path)
    with pytest.raises(ValueError, match="keeps no value a run, and cannot be judged again: run its claim"):
        harness.rejudge("made-up", tmp_path)


def test_seeds_are_spelled_as_the_command_line_takes_them() -> None:
    assert record.spelled([0, 1, 2, 7, 9, 10]) == "0-2,7,9-10"
    assert record.spelled([]) == ""


def test_stored_verdicts_are_of_todays_rule_and_keep_those_before() -> None:
    stored = harness.stored(ROOT / harness.RESULTS)
    assert set(stored) == set(harness.claims())
    assert {handle: verdict.withdrawn for handle, verdict in stored.items()} == {
        handle: harness.load(handle)[0].withdrawn for handle in stored
    }
    before = [
        handle for handle, verdict in stored.items() if verdict.history and verdict.history[0]["rule"] == OLD_RULE
    ]
    assert len(before) == 27, "claims from before the rule keep what they were judged then"
    assert sum(len(verdict.history) for verdict in stored.values()) >= 27 + 2  # DSAC-T's and NGRPO's first ones too
    said = {handle: [one["judgement"] for one in verdict.history] for handle, verdict in stored.items()}
    assert said["dsac-t"][:2] == ["not reproduced at this scale", "inconclusive"]


def test_every_stored_part_is_judged_as_the_rule_judges_it_now() -> None:
    for handle, verdict in harness.stored(ROOT / harness.RESULTS).items():
        for one in verdict.parts:
            if one.values and one.interval.estimate == pytest.approx(np.mean(one.values), rel=1e-6):
                again = part(one.values).sample.interval()
                assert (one.interval.low, one.interval.high) == pytest.approx((again.low, again.high)), handle
            assert one.source
            assert one.runs >= 3


def test_every_stored_verdict_is_that_of_todays_rule(tmp_path: Path) -> None:
    shutil.copytree(ROOT / harness.RESULTS, tmp_path / "claims")
    for handle, verdict in harness.stored(tmp_path / "claims").items():
        if all(one.values for one in verdict.parts):
            assert harness.rejudge(handle, tmp_path / "claims") == verdict, f"run tiltyard claim {handle} --rejudge"


def test_results_go_to_docs_unless_told_otherwise(
    a_claim: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_claim("made-up", seeds=3)
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
