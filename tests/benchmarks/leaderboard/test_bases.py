"""A page that sets differences from two base checkpoints side by side."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tiltyard.benchmarks.docs import RESULTS
from tiltyard.benchmarks.leaderboard.bases import Beside, Raced, base_of, section
from tiltyard.benchmarks.leaderboard.report import write_report
from tiltyard.benchmarks.nested import Tuned
from tiltyard.benchmarks.rebuild import beside_of
from tiltyard.benchmarks.runs import FinishedRun, Run
from tiltyard.benchmarks.suites import Comparison, Entry, Suite, Task, find
from tiltyard.benchmarks.tuning import Choice, Tuning

MakeRun = Callable[..., FinishedRun]
SUMS = "tiltyard/ChainSum-v0"
SEEDS = range(8)
RATES = {1e-4: 0.3, 3e-4: 0.5, 1e-3: 0.2}


def raced(base: str, gspo: list[float], verdict: str = "worse", **more: dict) -> Raced:
    grpo = {seed: 0.4 + 0.01 * seed for seed in SEEDS}
    scores = {"grpo": grpo, "gspo": {seed: grpo[seed] + gspo[seed] for seed in SEEDS}}
    return Raced(f"of-{base}", base, scores, {"grpo": "", "gspo": verdict}, **more)


def test_differences_from_two_bases_by_hand() -> None:
    # -0.05 and -0.03 in turn from one base, always -0.01 less from the other: means -0.04 and -0.05, of both -0.045;
    # of each seed -0.055 or -0.035, all below 0: 2 of 256 ways, p = 0.0078.
    first = [-0.05, -0.03] * 4
    found = section("grpo", [raced("a", first), raced("b", [one - 0.01 for one in first], "no significant difference")])
    assert found is not None
    assert found.heads[:5] == ["agent", "from a", "", "from b", ""]
    (row,) = found.alone
    assert [cell.partition(" ")[0] for cell in row[:2]] == ["gspo", "-0.040"]
    assert row[2:6:2] == ["worse", "no significant difference"]
    assert row[3].startswith("-0.050 [")
    assert row[5] == "sign"
    assert (row[6].partition(" ")[0], *row[7:]) == ("-0.045", "0.008", "worse")
    # 0.01 apart: sqrt(0.01^2 / 2) between bases, as seeds act alike from both; between seeds sqrt(8 * 0.01^2 / 7).
    assert [one[:4] for one in found.spread] == [
        ["score of grpo", "0.0000", "0.0245", "-"],
        ["score of gspo", *found.spread[1][1:4]],
        ["gspo minus grpo", "0.0071", "0.0107", *found.spread[2][3:4]],
    ]
    assert found.spread[2][4].startswith("-0.045 [-0.109, +0.019")  # 12.706 * 0.005


def test_what_bases_agree_on_is_told() -> None:
    one, other = [-0.05, -0.03] * 4, [0.02, 0.03] * 4
    for verdicts, agreed in ((("worse", "better"), "neither"), (("none", "none"), "verdict")):
        races = [raced("a", one, verdicts[0]), raced("b", other, verdicts[1])]
        found = section("grpo", races)
        assert found is not None
        assert found.alone[0][5] == agreed
    found = section("grpo", [raced("a", one), raced("b", one)])
    assert found is not None
    assert found.alone[0][5] == "sign and verdict"


def test_the_noise_of_both_tunings_is_in_the_second_table() -> None:
    def tuned(level: float, race: float) -> Tuned:
        trials = level + np.array([[[-0.1, -0.12]], [[0.0, 0.02]], [[-0.1, -0.11]]])
        return Tuned(trials, race + 0.01 * np.arange(8)[:, None], 1)

    effects = {"gspo": ("-0.050 [-0.060, -0.040]", "worse")}
    races = [
        raced(base, [-0.05, -0.03] * 4, effects=effects, tuned={"grpo": tuned(0.4, 0.4), "gspo": tuned(0.4, theirs)})
        for base, theirs in (("a", 0.3), ("b", 0.36))
    ]
    found = section("grpo", races)
    assert found is not None
    ((name, first, *_, agreed, mean, p, verdict),) = found.nested
    assert (name, first, agreed, verdict) == ("gspo", *effects["gspo"][:1], "sign and verdict", "worse")
    assert mean.startswith("-0.070 [")  # -0.1 from one base, -0.04 from the other
    assert float(p.removeprefix("below ")) <= 0.05
    found = section("grpo", [races[0], replace(races[1], tuned={})])
    assert found is not None
    assert found.nested == []


def test_races_that_share_too_little_have_no_section() -> None:
    one = raced("a", [-0.05] * 8)
    alone = replace(one, scores={"grpo": one.scores["grpo"]})
    assert section("grpo", [one, alone]) is None
    late = replace(
        one, scores={name: {seed + 6: value for seed, value in of.items()} for name, of in one.scores.items()}
    )
    assert section("grpo", [one, late]) is None
    assert section("rloo", [one, one]) is None


def made(make_run: MakeRun, suite: Suite, levels: dict[str, float]) -> list[FinishedRun]:
    (task,) = suite.tasks
    return [
        make_run(SUMS, entry.agent, seed, levels[entry.agent], params=dict(entry.params), budget=entry.budget)
        for entry in task.entries
        for seed in suite.seeds
    ]


def suite_of(name: str, **params: str) -> Suite:
    entries = tuple(Entry(agent, 2_048, 1, {"learning_rate": 3e-4, **params}, agent) for agent in ("grpo", "gspo"))
    return Suite(
        name,
        "",
        (Task(SUMS, entries),),
        tuple(SEEDS),
        comparisons=(Comparison("All conditions", (SUMS,), "grpo"),),
        paired=True,
    )


def trials(suite: Suite) -> Tuning:
    choices = [
        Choice(
            *(SUMS, entry.agent, "learning_rate", {rate: (level, level + 0.01) for rate, level in RATES.items()}),
            *(3e-4, 1, 1.0),
            {name: value for name, value in entry.params.items() if name != "learning_rate"},
        )
        for entry in suite.tasks[0].entries
    ]
    return Tuning((f"{suite.name}-tuning",), "10000-10001", tuple(choices))


def test_a_page_of_a_suite_that_repeats_another_has_both_bases(make_run: MakeRun, tmp_path: Path) -> None:
    first = suite_of("first")
    second = replace(suite_of("second", policy="chain-sum-base-2"), repeats="first")
    beside = Beside(first, made(make_run, first, {"grpo": 0.5, "gspo": 0.2}), trials(first))
    runs = made(make_run, second, {"grpo": 0.4, "gspo": 0.3})
    page = write_report(second, runs, tmp_path, command="", tuning=trials(second), beside=beside).read_text()
    _, _, told = page.partition("\n## From both bases\n")
    assert (
        "[first](../first/README.md) raced these conditions from `chain-sum-base`, this page from `chain-sum-base-2`"
        in told
    )
    rows = [line.strip("| ").split(" | ") for line in told.splitlines() if line.startswith("| gspo |")]
    assert len(rows) == 2  # of the runs alone, and with tuning
    for row in rows:
        assert (row[2], row[4], row[5], row[-1]) == ("worse", "worse", "sign and verdict", "worse")
    apart = [
        np.mean([run.normalised for run in some if run.run.agent == "gspo"])
        - np.mean([run.normalised for run in some if run.run.agent == "grpo"])
        for some in (beside.runs, runs)
    ]
    assert [float(rows[0][i].partition(" ")[0]) for i in (1, 3, 6)] == pytest.approx([*apart, np.mean(apart)], abs=6e-4)
    assert "| score of grpo | " in told
    alone = write_report(second, runs, tmp_path, command="").read_text()
    assert "From both bases" not in alone
    assert "no differences from both bases: the runs of first are not beside this page" in alone


def test_a_run_s_base_is_its_own_or_its_agent_s(make_run: MakeRun) -> None:
    def base(env: str, agent: str, **params: str) -> str:
        return base_of(replace(make_run(SUMS, "grpo", 0, 0.5), run=Run(env, agent, 0, 64, params)))

    assert base(SUMS, "gspo") == "chain-sum-base"
    assert base(SUMS, "gspo", policy="chain-sum-base-2") == "chain-sum-base-2"
    assert base("tiltyard/Hopper-v5", "sac") == ""


def test_the_race_that_a_suite_repeats_is_found_beside_its_page(tmp_path: Path) -> None:
    suite = find("text-v2-stale-base-2")
    found = beside_of(suite, RESULTS / suite.name)
    assert found is not None
    assert (found.suite.name, len(found.runs), found.tuning is None) == ("text-v2-stale", 72, False)
    assert beside_of(suite, tmp_path / suite.name) is None
    assert beside_of(find("text-v2-stale"), RESULTS / "text-v2-stale") is None
