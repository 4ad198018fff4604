"""Judges the claims measured before 2026-11-23 by today's rule, from what was stored of them.

    python benchmarks/studies/rejudge_claims.py [--out docs/results/claims]

Their records hold the values of single runs for few claims. For the others a percentile bootstrap interval of the same
effect is stored, which gives back the standard error (``Sample.from_percentiles``); effects of which only both sides'
intervals are stored are compared by Welch's test. Each part's ``source`` says which. The records are read from the
commit that held them last, so that the command gives the same again; every verdict that ever stood is in the history.
"""

import argparse
import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tiltyard.benchmarks.claims.harness import claims, judged, load
from tiltyard.benchmarks.claims.record import RESULTS, Verdict, store
from tiltyard.benchmarks.statistics import Interval
from tiltyard.benchmarks.verdicts import Part, Sample

BEFORE = "98071df"
"""The last commit with the old records."""
OLD_RULE = "percentile bootstrap of 2,000 resamples; of several parts the least; until 2026-11-22"
DATE = "2026-11-23"
ROOT = Path(__file__).resolve().parents[2]
CONVERTED, APART, SEEDS = (
    "percentile interval of the effect",
    "both sides' intervals, unpaired",
    "values by seed, rounded",
)
Parts = dict[str, Part]
Record = Mapping[str, Any]


def part(interval: Record, runs: int, *, shift: float = 0.0, **how: Any) -> Part:
    """From a stored percentile interval, moved by ``shift``."""
    sample = Sample.from_percentiles(Interval(**interval), runs)
    return Part(replace(sample, mean=sample.mean + shift), source=CONVERTED, **how)


def apart(ours: Record, theirs: Record, runs: int, **how: Any) -> Part:
    """From the stored intervals of both sides."""
    samples = [Sample.from_percentiles(Interval(**side), runs) for side in (ours, theirs)]
    return Part(samples[0].minus(samples[1]), source=APART, **how)


def paired(ours: Any, theirs: Any, **how: Any) -> Part:
    """From values by seed."""
    values = np.subtract(ours, theirs)
    return Part(Sample.of(values), tuple(np.round(values, 6).tolist()), source=SEEDS, **how)


def leads(key: str, score: str = "held-out success, mean over training", **how: Any) -> Callable[[Record], Parts]:
    """Leads that are stored under a key of the details, in a score of at most 1."""

    def of(record: Record) -> Parts:
        found, runs = record["details"], record["details"]["seeds"]
        made = {"margin": 0.02, **how}
        return {
            name: part(one, runs, highest=1 - found[score][name.removeprefix("over ")]["estimate"], **made)
            for name, one in found[key].items()
            if name != "over reinforce"
        }

    return of


def alp_gmm(record: Record) -> Parts:
    """Two spaces unpaired, the third as it was."""
    cells = record["details"]["cells mastered in percent"]
    spaces = {
        space: apart(cells[f"ALP-GMM, {space}"], cells[f"uniform, {space}"], 10, margin=2.0)
        for space in ("plain", "distractors")
    }
    return {**spaces, "unlearnable": part(record["interval"], 10, margin=2.0)}


def archer(record: Record) -> Parts:
    """With the largest value there could be: PPO's end reached at ArCHer's first evaluation."""
    games = record["details"].values()
    first = [
        np.log10(
            game["episodes in all"]["ppo"] / (game["episodes in all"]["archer"] / len(game["mean curve"]["archer"]))
        )
        for game in games
    ]
    return {"": part(record["interval"], 5, threshold=1.5, highest=float(np.mean(first)))}


def arsq(record: Record) -> Parts:
    """By seed."""
    found = record["details"]
    hopper = "tiltyard/Hopper-v5"
    keys = {"bandit": "bandit, reward", hopper: f"{hopper}, normalised return"}
    each = {name: found[key]["in the end, by seed"] for name, key in keys.items()}
    return {
        name: paired(of["auto-regressive"], of["independent"], margin=0.05, decides=name == "bandit")
        for name, of in each.items()
    }


def dsac_t(record: Record) -> Parts:
    """A part a task, unpaired."""
    bias = record["details"]["bias in percent"]
    tasks = [name.removeprefix("SAC, ") for name in bias if name.startswith("SAC, ")]
    return {task: apart(bias[f"SAC, {task}"], bias[f"DSAC-T, {task}"], 5, margin=5.0) for task in tasks}


def forking_tokens(record: Record) -> Parts:
    """Without the two points that the first part had in it."""
    whole, bottom = record["details"]["parts"].values()
    return {
        "over all": part(whole, 12, shift=-0.02, margin=0.01, wanted="no less"),
        "over bottom 80%": part(bottom, 12, margin=0.02),
    }


def h2o(record: Record) -> Parts:
    """By seed."""
    by_seed = dict(record["details"]["return in reality, by seed"])
    ours = by_seed.pop("H2O")
    return {f"over {n}": paired(ours, of, highest=-float(np.mean(of)), margin=50.0) for n, of in by_seed.items()}


def hl_gauss(record: Record) -> Parts:
    """Over plain squared error as it was; over the scaled one unpaired, the levels' intervals averaged."""
    by_noise = record["details"]["error in percent by noise"]

    def mean(name: str) -> dict[str, float]:
        return {end: (by_noise[name]["2"][end] + by_noise[name]["8"][end]) / 2 for end in ("estimate", "low", "high")}

    return {
        "over squared error": part(record["interval"], 8, margin=2.0),
        "over squared error, scaled": apart(mean("squared error, scaled"), mean("HL-Gauss"), 8, margin=2.0),
    }


def kimi(record: Record) -> Parts:
    """Without the point that the second part had in it."""
    tokens, success, half = record["details"]["parts"].values()
    return {
        "share of tokens saved": part(tokens, 12, margin=0.05),
        "success at the end minus without": part(success, 12, shift=-0.01, margin=0.01, wanted="no less"),
        "success in the first half, without minus early": part(half, 12, margin=0.01),
    }


def pure(record: Record) -> Parts:
    """Without the five points that the second part had in it."""
    least, soon = record["details"]["parts"].values()
    return {
        "min-form minus sum-form at the end": part(least, 12, margin=0.02),
        "min-form at 30% minus outcome at the end": part(soon, 12, shift=-0.05, margin=0.05, wanted="no less"),
    }


def rec_red(record: Record) -> Parts:
    """Without the two points that the second part had in it."""
    plain, weighted = record["details"]["parts"].values()
    return {
        "over neither, every 20 steps": part(plain, 12, margin=0.02),
        "over clip and weights, every 20 steps": part(weighted, 12, shift=-0.02, margin=0.02, wanted="no less"),
    }


def rliable(record: Record) -> Parts:
    """In logarithms."""
    logs = {end: float(np.log(value)) for end, value in record["interval"].items()}
    return {"": part(logs, 40, log=True, margin=float(np.log(1.1)))}


def serl(record: Record) -> Parts:
    """Areas under the stored curves, by seed."""
    areas = {name: np.mean(curves, axis=1) for name, curves in record["details"]["curves, by seed"].items()}
    ours = areas.pop("RLPD")
    return {f"over {n}": paired(ours, of, highest=1 - float(of.mean()), margin=0.05) for n, of in areas.items()}


def spo(record: Record) -> Parts:
    """From the control that the reason for its withdrawal states: 0.004 [-0.007, 0.014], t intervals of 20 seeds."""
    half = 0.0105 / 2.0930
    lead = record["details"]["lead of SPO"]["over grpo"]
    return {
        "estimates over a constant": Part(Sample(0.004, half, 19, 20), margin=0.02, source="t interval, in words"),
        "64 problems over 8 groups": part(lead, 20, margin=0.02, decides=False),
    }


def stream_x(record: Record) -> Parts:
    """Means and deviations of five runs by task, unpaired."""
    means, spread = (record["details"][k] for k in ("mean normalised return by task", "deviation over seeds by task"))

    def sample(name: str, task: str) -> Sample:
        return Sample(means[name][task], spread[name][task] / 2, 4, 5)

    return {
        f"{task}, over {name}": Part(sample("stream-x", task).minus(sample(name, task)), margin=0.05, source=APART)
        for name in means
        if name != "stream-x"
        for task in means[name]
    }


def trajectory_weighting(record: Record) -> Parts:
    """The lead and the negative control."""
    control = record["details"]["negative control: advantage weighting minus uniform, swing-up alone"]
    return {
        "over uniform": part(record["interval"], 10, margin=0.05),
        "negative control: swing-up alone": part(control, 10, margin=0.05, decides=False),
    }


def one(margin: float, runs: int, name: str = "", **how: Any) -> Callable[[Record], Parts]:
    """The effect as it was stored."""
    return lambda record: {name: part(record["interval"], runs, margin=margin, **how)}


def stored_parts(runs: int, *margins: float) -> Callable[[Record], Parts]:
    """The parts as they were stored, each by itself."""

    def of(record: Record) -> Parts:
        named = zip(record["details"]["parts"].items(), margins, strict=True)
        return {name: part(interval, runs, margin=margin) for (name, interval), margin in named}

    return of


def gigpo(record: Record) -> Parts:
    """The form that did better on the seeds reported: the record does not say which did in tuning."""
    found = record["details"]["gigpo, scaled minus each"]
    return {f"over {name}": part(of, 12, margin=0.02) for name, of in found.items()}


def w_reinforce(record: Record) -> Parts:
    """All eleven."""
    found = record["details"]["where problems say little about each other"]["parts"]
    return {name: part(of, 16, margin=0.01) for name, of in found.items()}


PARTS: dict[str, Callable[[Record], Parts]] = {
    "alp-gmm": alp_gmm,
    "archer": archer,
    "arsq": arsq,
    "degrpo": one(0.05, 20),
    "dsac-t": dsac_t,
    "f-dvl-recoil": one(0.05, 5, "both tasks"),
    "forking-tokens-80-20": forking_tokens,
    "gigpo": gigpo,
    "h2o": h2o,
    "hl-gauss": hl_gauss,
    "kimi-k1-5": kimi,
    "lite-ppo": leads("lead of Lite PPO"),
    "ngrpo": leads("lead of NGRPO"),
    "pure": pure,
    "rec-red": rec_red,
    "remax": leads("lead of ReMax", margin=0.01, wanted="no less"),
    "rliable": rliable,
    "rover": stored_parts(12, 0.02, 0.02),
    "s3rl": one(0.02, 5, "over alone"),
    "sapo": leads("lead of SAPO"),
    "serl": serl,
    "simpo": stored_parts(20, 0.02, 0.1),
    "spo": spo,
    "stream-x": stream_x,
    "topr": leads("lead of TOPR", "held-out success at the end"),
    "trajectory-weighting": trajectory_weighting,
    "w-reinforce-nsr": w_reinforce,
}
RENAMED = {"rec-red": {"at the largest learning rate, 0.3": "at the largest learning rate"}}
"""Keys of details that have another name today."""


def git(*words: str) -> str:
    """What git prints, in the repository."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def versions_of(path: str) -> list[tuple[str, Record]]:
    """Every stored form of a record, oldest first, with its date."""
    lines = git("log", "--reverse", "--format=%h %cs", BEFORE, "--", path).splitlines()
    return [(date, json.loads(git("show", f"{commit}:{path}"))) for commit, date in map(str.split, lines)]


def old(date: str, record: Record) -> dict[str, Any]:
    """A record of before as an entry of the history."""
    parts = [{"name": "", "judgement": record["judgement"], "interval": record["interval"], "values": []}]
    about = {name: record[name] for name in ("judgement", "effect", "threshold", "commit", "versions")}
    return {"date": date, "rule": OLD_RULE, **about, "withdrawn": record.get("withdrawn", ""), "parts": parts}


def history(found: list[tuple[str, Record]]) -> tuple[dict[str, Any], ...]:
    """Entries, without those that only word the same verdict anew."""
    entries = [old(date, record) for date, record in found]
    said = [(one["judgement"], one["parts"], one["withdrawn"]) for one in entries]
    return tuple(one for i, one in enumerate(entries) if i == 0 or said[i] != said[i - 1])


def rejudged(handle: str) -> Verdict:
    """A claim's verdict by today's rule."""
    found = versions_of(f"docs/results/claims/{handle}.json")
    _, record = found[-1]
    claim, _ = load(handle)
    parts = PARTS[handle](record)
    renamed = {RENAMED.get(handle, {}).get(key, key): value for key, value in record["details"].items()}
    runs = next(iter(parts.values())).sample.runs
    return Verdict(
        handle=handle,
        **judged(claim, parts, renamed),
        sentence=claim.sentence,
        effect=claim.effect,
        remark=claim.remark,
        date=DATE,
        seeds=f"0-{runs - 1}",
        definition="",
        command=record["command"],
        versions=record["versions"],
        commit=record["commit"],
        hardware=record["hardware"],
        seconds=record["seconds"],
        details=record["details"],
        withdrawn=claim.withdrawn,
        history=history(found),
    )


def main() -> None:
    """Writes a record for each claim, where none by today's rule is there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    folder = parser.parse_args().out
    for handle in claims():
        path = folder / f"{handle}.json"
        if path.exists() and "rule" in json.loads(path.read_text()):
            print(f"{handle}: kept, has a verdict by today's rule")
            continue
        path.unlink(missing_ok=True)
        verdict = rejudged(handle)
        store(verdict, folder)
        print(verdict)


if __name__ == "__main__":
    main()
