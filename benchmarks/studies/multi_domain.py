"""Does learning in one domain help others? GRPO in arithmetic, program traces and logic puzzles, or in all of them.

    python benchmarks/studies/multi_domain.py run --out docs/results/multi-domain
    python benchmarks/studies/multi_domain.py report --out docs/results/multi-domain

The experiment of the claim ``multi-domain-rlvr`` (:mod:`tiltyard.benchmarks.claims.multi_domain_rlvr`), a run a file,
with the whole 3x3 matrix of transfer. Runs that are there are not done again: ``run`` goes on where it was stopped, and
``tiltyard claim multi-domain-rlvr`` does none anew whose file lies in ``runs/multi-domain``.

Three domains have one alphabet: sums of three numbers, programs of four assignments whose values are traced line by
line, and puzzles of three knights and knaves. A fourth set of puzzles has five people and is answered at once, which
the base gets right by chance alone. A base learns from demonstrations of all four sets in two templates, then GRPO
without a KL penalty learns in one template from successes, or from the share of a puzzle's people that are right.

Paper: Can One Domain Help Others? A Data-Centric Study on Multi-Domain Reasoning via Reinforcement Learning (2025).
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tiltyard.benchmarks.claims.claim import Found
from tiltyard.benchmarks.claims.effects import part
from tiltyard.benchmarks.claims.harness import judged
from tiltyard.benchmarks.claims.multi_domain_rlvr import CLAIM, gains
from tiltyard.benchmarks.statistics import Floats
from tiltyard.benchmarks.studies._study import Table, said, stored, write_page
from tiltyard.benchmarks.testbeds.domains import DOMAINS, HARD
from tiltyard.benchmarks.testbeds.multi_domain import OTHER, TESTS, TRAINED, MultiDomain, Scores, Training, test_name
from tiltyard.benchmarks.verdicts import judge

OUT = Path("docs/results/multi-domain")
MATRIX = (*DOMAINS, "mixed")
REWARDS = {"logic": ("logic", "logic, partial reward"), HARD: ("hard logic", "hard logic, partial reward")}


@dataclass(frozen=True, kw_only=True)
class Stored(MultiDomain):
    """The testbed without training: a run that is not there is an error."""

    def base(self, seed: int) -> dict[str, Any]:
        """Says that a run is missing.

        Raises:
            ValueError: always, as runs that are there need no base.
        """
        raise ValueError(f"{self.home} lacks runs of seed {seed}: do them first, with multi_domain.py run")


def found_in(bed: MultiDomain, seeds: int | Sequence[int] = CLAIM.seeds) -> Found[Training, Scores]:
    """All runs of the claim, tuning included, on a testbed."""
    return CLAIM.compare(seeds=seeds, testbed=bed)


def cells(found: Found[Training, Scores]) -> dict[tuple[str, str], Floats]:
    """Gains ``[seeds]`` by condition and domain: the matrix of transfer, whose last row is the mixture."""
    return {(row, column): gains(found, row, column) for row in MATRIX for column in DOMAINS}


def matrix(found: Found[Training, Scores]) -> Table:
    """The matrix; a star where Student's t with Holm's correction over its cells finds a gain or a loss."""
    each = cells(found)
    tested = judge({f"{row}, {column}": part(values) for (row, column), values in each.items()})
    rows = []
    for row in MATRIX:
        told = []
        for column in DOMAINS:
            star = " *" if tested[f"{row}, {column}"].judgement in ("supported", "contradicted") else ""
            told.append(f"{said(each[row, column].tolist(), 3)}{star}")
        rows.append([row, *told, said(found[row].each(Scores.overall).tolist(), 3)])
    caption = (
        "Gains in success: trained in the row, tested in the column. Means and 95% Student intervals over seeds; * "
        "where the gain or loss is significant at 5% with Holm's correction over the 12 cells."
    )
    return Table(caption, ["trained in", *DOMAINS, "mean of the three"], rows)


def bases(found: Found[Training, Scores]) -> Table:
    """What the bases can do."""
    runs = found["mixed"].runs[: found.testbed.bases]
    rows = [
        [domain, *(f"{run.before[test_name(domain, template)]:.3f}" for template in (TRAINED, OTHER) for run in runs)]
        for domain in TESTS
    ]
    heads = [f"base {i}, {template}" for template in (TRAINED, OTHER) for i in range(len(runs))]
    return Table("Success of the bases before training.", ["domain", *heads], rows)


def rewards(found: Found[Training, Scores]) -> Table:
    """Binary and partial rewards."""
    rows = []
    for domain, (binary, shares) in REWARDS.items():
        before = np.array([run.before[test_name(domain, TRAINED)] for run in found[binary].runs])
        one, other = gains(found, binary, domain), gains(found, shares, domain)
        rows.append([domain, f"{before.mean():.3f}", *(said(x.tolist(), 3) for x in (one, other, other - one))])
    heads = ["puzzles", "success before", "gain, binary reward", "gain, partial reward", "partial minus binary"]
    return Table("Rewards: whole successes, or the share of people that are right; paired by seed.", heads, rows)


def templates(found: Found[Training, Scores]) -> Table:
    """Gains in the trained domain, in both templates."""
    rows = []
    for domain in DOMAINS:
        here, there = gains(found, domain, domain), gains(found, domain, domain, OTHER)
        rows.append([domain, *(said(x.tolist(), 3) for x in (here, there, here - there))])
    heads = ["domain", f"gain in the trained template ({TRAINED})", f"in the other ({OTHER})", "difference"]
    return Table("Templates: the base has learnt both, GRPO one.", heads, rows)


def verdict(found: Found[Training, Scores]) -> str:
    """The claim's."""
    told: Mapping[str, Any] = judged(CLAIM, CLAIM.parts(found), CLAIM.details(found))
    reason = f" ({told['reason']})" if told["reason"] else ""
    parts = "\n".join(f"- {one}" for one in told["parts"])
    return f"The claim `{CLAIM.handle}` by its parts:\n\n{parts}\n\nVerdict: {told['judgement']}{reason}."


def report(out: Path, bed: MultiDomain, seeds: int | Sequence[int] = CLAIM.seeds) -> None:
    """Writes the page of the runs in ``out``."""
    found = found_in(bed, seeds)
    rates = ", ".join(f"{rate:g}" for rate in found.grid)
    write_page(
        out,
        stored(out),
        title="Learning in one domain, tested in others",
        command="python benchmarks/studies/multi_domain.py run",
        words=f"GRPO, {bed.completions:,} completions a run, {found.seeds} seeds, {bed.problems} held-out problems a "
        f"test, one sampled completion each. {bed.bases} bases share the seeds, so that intervals say what other "
        "seeds would do from these, and little of other bases, which differ more. One learning rate for all, "
        f"{found.rates['mixed']:g}, chosen of {rates} by the mixture's mean success in three domains on tuning seeds "
        "with problems of their own. As many completions a run, so that the mixture has a third of them in each "
        "domain.",
        tables=[bases(found), matrix(found), rewards(found), templates(found)],
        found=verdict(found),
    )


def main() -> None:
    """Runs everything that is missing, or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--seeds", type=int, default=CLAIM.seeds, help="of 0, 1, ...")
    asked = parser.parse_args()
    bed = MultiDomain(folder=str(asked.out.absolute()))
    if asked.what == "report":
        report(asked.out, Stored(**vars(bed)), asked.seeds)
    else:
        found_in(bed, asked.seeds)


if __name__ == "__main__":
    main()
