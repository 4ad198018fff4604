"""Leads are losses of rules less DPT's, and total variation is held against its bound."""

from dataclasses import dataclass

import pytest

from tiltyard.benchmarks.claims import dpt
from tiltyard.benchmarks.testbeds import in_context_bandits as bed


@dataclass(frozen=True, kw_only=True)
class Invented(bed.InContextBandits):
    """DPT loses 0.1 online and 0.02 from datasets, and is 0.06 away; rules lose as below."""

    tests: int = 20
    pulls: int = 20
    sizes: tuple[int, ...] = (5,)

    def run(self, condition: bed.Rule, rate: float, seed: int) -> bed.Scores:
        noise = 0.001 * seed
        if condition is bed.DPT:
            return {bed.ONLINE: 0.1, bed.OFFLINE: 0.02, bed.TV: 0.06 + noise, bed.TV_GREEDY: 0.3, bed.TV_EVEN: 0.5}
        online = {bed.UCB: 0.09, bed.MEAN: 0.2, bed.THOMPSON: 0.11}
        return {bed.ONLINE: online.get(condition, 1) + noise, bed.OFFLINE: 0.05 + noise}


def test_parts_are_leads_and_the_bound() -> None:
    found = dpt.CLAIM.compare(seeds=3, testbed=Invented())
    means = {name: part.sample.mean for name, part in dpt.parts(found).items()}
    assert means == pytest.approx(
        {
            "online, over empirical mean": 0.101,
            "online, over UCB": -0.009,
            "online, over Thompson sampling": 0.011,
            "offline, over empirical mean": 0.031,
            "offline, over LCB": 0.031,
            "total variation below 0.1": 0.039,
        }
    )
    wanted = {name for name, part in dpt.parts(found).items() if part.wanted == "no less"}
    assert wanted == {"online, over UCB", "online, over Thompson sampling"}
    told = dpt.details(found)
    assert not dpt.CLAIM.premise.missing(told)
    told[dpt.REGRETS][dpt.THOMPSON]["estimate"] = 0.3
    assert "Exploring pays" in dpt.CLAIM.premise.missing(told)
