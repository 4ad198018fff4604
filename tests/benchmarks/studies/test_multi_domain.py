"""Transfer between domains: gains are after minus before, runs are kept, and the page is made of them alone."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims.multi_domain_rlvr import CLAIM
from tiltyard.benchmarks.studies.multi_domain import Stored, cells, found_in, report
from tiltyard.benchmarks.testbeds.domains import HARD
from tiltyard.benchmarks.testbeds.multi_domain import TEMPLATES, TESTS, MultiDomain, Training

BEFORE = {f"{domain}, {template}": 0.25 for domain in TESTS for template in TEMPLATES}
SEEDS = 4


@dataclass(frozen=True, kw_only=True)
class Invented(MultiDomain):
    """Gains that are known: 0.2 where a domain is learnt, 0.05 from logic for arithmetic, -0.1 else."""

    def base(self, seed: int) -> dict[str, Any]:
        return {"file": "", "success": BEFORE}  # nothing is trained

    def _trained(self, condition: Training, rate: float, seed: int) -> dict[str, Any]:
        noise = 0.001 * np.random.default_rng([seed, *map(len, condition.domains), condition.partial]).random()
        after = dict(BEFORE)
        for domain in TESTS:
            gain = 0.2 / len(condition.domains) ** 0.5 if domain in condition.domains else -0.1
            gain = 0.05 if (domain, condition.domains) == ("arithmetic", ("logic",)) else gain
            gain += 0.1 * condition.partial * (domain == HARD) - abs(rate - 4e-4)
            after[f"{domain}, chat"] += gain + noise
            after[f"{domain}, bare"] += gain / 2 + noise**2
        return {"domains": condition.domains, "before": BEFORE, "after": after}


@pytest.fixture
def bed(tmp_path: Path) -> Invented:
    return Invented(folder=str(tmp_path / "runs"))


def test_gains_are_after_minus_before_and_of_the_row_in_the_column(bed: Invented) -> None:
    found = found_in(bed, SEEDS)
    assert found.rates["logic"] == 4e-4  # the mixture's best, for all
    gains = {key: values.mean() for key, values in cells(found).items()}
    assert gains["logic", "arithmetic"] == pytest.approx(0.05, abs=0.002)
    assert gains["arithmetic", "logic"] == pytest.approx(-0.1, abs=0.002)
    assert gains["mixed", "code"] == pytest.approx(0.2 / 3**0.5, abs=0.002)


def test_the_page_is_made_of_stored_runs_and_says_what_is_missing(bed: Invented, tmp_path: Path) -> None:
    found_in(bed, SEEDS)
    out = tmp_path / "runs"
    report(out, Stored(**vars(bed)), SEEDS)
    text = (out / "README.md").read_text()
    assert "Command: `python benchmarks/studies/multi_domain.py run`" in text
    row = next(line for line in text.splitlines() if line.startswith("| logic | 0.05"))
    assert row.count(" *") == 3
    assert "- arithmetic gains from logic: 0.05" in text
    assert "Verdict: contradicted." in text  # as logic loses from arithmetic here
    next(out.glob("logic-0.0004-2.json")).unlink()
    with pytest.raises(ValueError, match="lacks runs of seed 2"):
        report(out, Stored(**vars(bed)), SEEDS)


def test_every_part_is_of_the_conditions_that_it_names(bed: Invented) -> None:
    parts = CLAIM.parts(found_in(bed, SEEDS))
    found = {name: part.sample.mean for name, part in parts.items()}
    assert found["partial minus binary reward, hard puzzles"] == pytest.approx(0.1, abs=0.002)
    assert found["binary minus partial reward, easy puzzles"] == pytest.approx(0.0, abs=0.002)
    assert found["gains are larger in the trained template"] == pytest.approx(0.1, abs=0.002)
    assert found["programs lose by arithmetic"] == pytest.approx(0.1, abs=0.002)
    over = found["mixture over code, mean gain"]
    assert over == pytest.approx(0.2 / 3**0.5 - 0.0, abs=0.002)  # code alone: (0.2 - 0.1 - 0.1) / 3


@pytest.mark.slow
def test_a_run_keeps_its_base_and_is_not_done_again(tmp_path: Path) -> None:
    small = replace(MultiDomain().smallest(), folder=str(tmp_path))
    first = small.run(Training(("logic",), partial=True), 1e-3, 1)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"base-1.safetensors", "base-1.json", "base-1-reported.json", "logic-partial-0.001-1.json"} == names
    assert set(first.before) == {f"{domain}, {template}" for domain in TESTS for template in TEMPLATES}
    (tmp_path / "base-1.safetensors").unlink()
    assert replace(small).run(Training(("logic",), partial=True), 1e-3, 1) == first
