"""What steps in the environment add to what was learnt from data.

    python benchmarks/studies/offline_to_online.py run --runs runs/control-v2-offline [--seeds 0,1]
    python benchmarks/studies/offline_to_online.py report

Every finished run of an agent that can go on (IQL and TD3+BC) goes on from its checkpoint twice: ``online``, by steps
in the environment with an update after each, from batches of dataset and replay buffer in proportion to their sizes;
and ``data alone``, by as many further updates without a step. What both do is no effect of the steps: a score that
falls in both falls by the updates. IQL's learning rate is constant in both, as its authors fine-tune. Evaluations are
those of the race, all of the same held-out episodes. ``run --mixed`` trains SAC as in control-v2-halfcheetah, but with
half of each batch from the data and without an update before the first step: what learning from data first is to be
held against. What was run already is not run again.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.logger import configure

from tiltyard import agents
from tiltyard.benchmarks.charts import PALETTE, canvas, curve
from tiltyard.benchmarks.evaluation import evaluation_env
from tiltyard.benchmarks.execution import OF_RUN, HeldOutEvaluation
from tiltyard.benchmarks.loading import load_runs
from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.runs import CURVE, FinishedRun, Run
from tiltyard.benchmarks.session import Session, restored
from tiltyard.benchmarks.studies._study import once, said, stored
from tiltyard.benchmarks.suites import CONTROL_V2_CHEETAH
from tiltyard.envs.catalogue import find

Floats = npt.NDArray[np.float64]
ONLINE, ALONE = ARMS = "online", "data alone"
MIXED = "data mixed in"
CHANGES: dict[str, dict[str, Any]] = {"iql": {"cosine_schedule": False}, "td3-bc": {}}
"""Agents that go on, with what is set otherwise than in the race."""
STEPS, POINTS, LAST = 50_000, 10, 5
RESULTS = Path(__file__).parents[2] / "docs" / "results"
RUNS, OUT = Path("runs") / "offline-to-online", RESULTS / "control-v2-offline-to-online"
SCRATCH = RESULTS / "control-v2-halfcheetah" / "runs"
"""SAC without data in the same environment, with networks of the same sizes and an update after each step."""


def go_on(finished: FinishedRun, arm: str, steps: int) -> dict[str, Any]:
    """Normalised mean returns of a run's agent as it goes on, ``POINTS + 1`` of them: the first before it does."""
    run, changes = finished.run, CHANGES[finished.run.agent]
    params = {name: value for name, value in run.params.items() if name not in OF_RUN}
    data = run.params["dataset"]
    agent = agents.make(run.agent, run.env_id, seed=run.seed, **{**params, **changes})
    agent = restored(agent, finished.folder, run.seed, changes)
    budget = steps if arm == ONLINE else 0
    spaced = replace(run, budget=budget, params={**run.params, "offline_steps": steps}, eval_points=POINTS)
    held_out = evaluation_env(run.env_id, run.agent, run.eval_episodes)
    with TemporaryDirectory() as folder:
        points = HeldOutEvaluation(held_out, spaced, Path(folder), Session())
        agent.set_logger(configure(folder, ["csv"]))
        points.init_callback(agent)
        points.evaluate(0)
        if arm == ONLINE:
            agent.learn_offline(data, 0)
            agent.learn(steps, callback=points)
        else:
            agent.learn_offline(data, steps, callback=points)
        points.evaluate(steps)
    held_out.close()
    agent.get_env().close()
    scale = find(run.env_id).normalise
    scores = [scale(float(np.mean(one))) for one in points.evaluations_results]
    return {"env": run.env_id, "seed": run.seed, "timesteps": points.evaluations_timesteps, "scores": scores}


def mixed(run: Run) -> dict[str, Any]:
    """Normalised mean returns of a run with a dataset, the first before any update."""
    with TemporaryDirectory() as folder:
        curve = run.execute(Path(folder)).curve
    scale = find(run.env_id).normalise
    scores = [scale(mean) for _, mean, *_ in curve]
    return {"env": run.env_id, "seed": run.seed, "timesteps": [step for step, *_ in curve], "scores": scores}


def run_mixed(runs: Path, out: Path, seeds: Sequence[int], steps: int) -> None:
    """Trains SAC with the data of these finished runs, a run a seed."""
    sac = next(one for one in CONTROL_V2_CHEETAH.tasks[0].entries if one.agent == "sac")
    for run in {one.run.seed: one.run for one in chosen_of(runs, seeds)}.values():
        params = {**sac.params, "dataset": run.params["dataset"], "offline_steps": 0, "offline_ratio": 0.5}
        asked = Run(run.env_id, "sac", run.seed, steps, params, eval_episodes=run.eval_episodes, eval_points=POINTS)
        settings = {"agent": "sac", "arm": MIXED, "params": params, "steps": steps}
        found = once(out, f"sac-mixed-s{run.seed}", settings, partial(mixed, asked))
        print(f"sac-mixed-s{run.seed}: {last(found):.3f} at the end", flush=True)


def chosen_of(runs: Path, seeds: Sequence[int]) -> list[FinishedRun]:
    """Finished runs of agents that go on, by seed and agent.

    Raises:
        ValueError: there is none with these seeds.
    """
    chosen = [one for one in load_runs(runs) if one.run.agent in CHANGES and (not seeds or one.run.seed in seeds)]
    if not chosen:
        raise ValueError(f"{runs} holds no finished run of {' or '.join(CHANGES)} with these seeds")
    return sorted(chosen, key=lambda one: (one.run.seed, one.run.agent))


def run_all(runs: Path, out: Path, seeds: Sequence[int], steps: int) -> None:
    """Goes on from every finished run of these seeds, in both ways; all of a seed before the next."""
    for finished in chosen_of(runs, seeds):
        for arm in ARMS:
            name = f"{finished.run.agent}-{arm.replace(' ', '-')}-s{finished.run.seed}"
            settings = {"agent": finished.run.agent, "arm": arm, "from": finished.folder.name, "steps": steps}
            found = once(out, name, settings, partial(go_on, finished, arm, steps))
            print(f"{name}: {found['scores'][0]:.3f} before, {last(found):.3f} at the end", flush=True)


def last(one: Mapping[str, Any]) -> float:
    """A run's score: the mean of its last evaluations."""
    return float(np.mean(one["scores"][-LAST:]))


def lowest(one: Mapping[str, Any]) -> float:
    """The lowest evaluation of the first half, less the one before."""
    return float(min(one["scores"][1 : 1 + POINTS // 2]) - one["scores"][0])


def from_scratch(env_id: str, steps: int) -> list[dict[str, Any]]:
    """Timesteps and normalised scores of SAC without data up to so many steps, of each run evaluated by then."""
    curves = []
    for folder in sorted(SCRATCH.glob("*-sac-*")):
        with np.load(folder / CURVE) as points:
            known = points["timesteps"] <= steps
            scores = [find(env_id).normalise(float(one.mean())) for one in points["results"][known]]
            curves.append({"timesteps": points["timesteps"][known].tolist(), "scores": scores})
    return [one for one in curves if one["scores"]]


def runs_of_sac(
    records: Sequence[Mapping[str, Any]], env_id: str, steps: int
) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Runs of SAC with and without data, as far as there are some."""
    with_data: Sequence[Mapping[str, Any]] = list(of(records, "sac", MIXED).values())
    found = {f"SAC, {MIXED}": with_data, "SAC without data": from_scratch(env_id, steps)}
    return {label: runs for label, runs in found.items() if runs}


def on_the_way(runs: Sequence[Mapping[str, Any]], steps: int) -> list[str]:
    """Means of single evaluations after a fifth of the steps, half of them and all."""
    curves = [dict(zip(one["timesteps"], one["scores"], strict=True)) for one in runs]
    return [said([one[steps * share // 10] for one in curves], 3) for share in (2, 5, 10)]


def of(records: Sequence[Mapping[str, Any]], agent: str, arm: str) -> dict[int, Mapping[str, Any]]:
    """An agent's runs of an arm by seed."""
    return {
        one["seed"]: one
        for one in sorted(records, key=lambda one: one["seed"])
        if (one["settings"]["agent"], one["settings"]["arm"]) == (agent, arm)
    }


def report(runs: Path, out: Path, given: str) -> None:
    """The page, its data and its figure.

    Raises:
        ValueError: there is no run, or one arm lacks a seed that the other has.
    """
    records = stored(runs)
    if not records:
        raise ValueError(f"{runs} holds no run yet: python benchmarks/studies/offline_to_online.py run --runs FOLDER")
    env_id, steps = records[0]["env"], records[0]["settings"]["steps"]
    rows, dips = [], []
    for agent in CHANGES:
        online, alone = (of(records, agent, arm) for arm in ARMS)
        if online.keys() != alone.keys():
            raise ValueError(f"{agent} has the seeds {list(online)} online and {list(alone)} from data alone")
        if not online:
            continue
        pairs = [(online[seed], alone[seed]) for seed in online]
        before = [one["scores"][0] for one, _ in pairs]
        ends = [[last(one) for one in arm] for arm in zip(*pairs, strict=True)]
        falls = [[lowest(one) for one in arm] for arm in zip(*pairs, strict=True)]
        rows.append([agent, str(len(pairs)), *(said(cell, 3) for cell in (before, *ends, difference(*ends)))])
        dips.append([agent, *(said(cell, 3) for cell in (*falls, difference(*falls)))])
    beside = runs_of_sac(records, env_id, steps)
    learning = {**{f"{name}, online": list(of(records, name, ONLINE).values()) for name in CHANGES}, **beside}
    way = [[label, *on_the_way(runs, steps)] for label, runs in learning.items() if runs]
    text = render(
        "offline_to_online.md.jinja",
        command=given,
        commits=sorted({one["commit"] for one in records}),
        made=records[0],
        minutes=sum(one["cpu_seconds"] for one in records) / 60,
        env=env_id,
        steps=steps,
        points=POINTS,
        last=LAST,
        rows=rows,
        dips=dips,
        beside=[[label, str(len(runs)), said([last(one) for one in runs], 3)] for label, runs in beside.items()],
        way=way,
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps({"command": given, "runs": records}, indent=1) + "\n")
    draw(records, beside, out / "curves.png")
    (out / "README.md").write_text(text, encoding="utf-8")
    print(text)


def difference(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Within runs."""
    return [a - b for a, b in zip(one, other, strict=True)]


def draw(records: Sequence[Mapping[str, Any]], beside: Mapping[str, Sequence[Mapping[str, Any]]], path: Path) -> None:
    """A panel an agent: thin lines are runs, thick ones means; SAC with and without data beside them."""
    with canvas(9.6, 3.6) as figure:
        for axes, agent in zip(figure.subplots(1, len(CHANGES), sharey=True), CHANGES, strict=True):
            for arm, colour in zip(ARMS, PALETTE, strict=False):
                mine = list(of(records, agent, arm).values())
                if mine:
                    values = np.array([one["scores"] for one in mine])
                    axes.plot(mine[0]["timesteps"], values.T, color=colour, alpha=0.3, linewidth=1)
                    curve(axes, mine[0]["timesteps"], values.mean(0), colour=colour, label=arm, width=2.2)
            axes.set(title=agent, xlabel="steps, or updates on data alone")
            for (label, runs), colour in zip(beside.items(), PALETTE[len(ARMS) :], strict=False):
                mean = np.mean([one["scores"] for one in runs], axis=0)
                curve(axes, runs[0]["timesteps"], mean, colour=colour, label=label, width=2.2)
            if axes.lines:
                axes.legend()
        figure.axes[0].set(ylabel="normalised return")
        figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> None:
    """One step of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("run", "report"))
    parser.add_argument("--runs", type=Path, default=Path("runs/control-v2-offline"), help="of the race")
    parser.add_argument("--seeds", default="", help="with commas between; all by default")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--mixed", action="store_true", help="SAC with the data mixed in, in place of what goes on")
    parser.add_argument("--done", type=Path, default=RUNS, help="where a file a run is kept")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args(arguments)
    if given.step == "run":
        run = run_mixed if given.mixed else run_all
        run(given.runs, given.done, [int(seed) for seed in given.seeds.split(",") if seed], given.steps)
    else:
        report(given.done, given.out, "python benchmarks/studies/offline_to_online.py report")


if __name__ == "__main__":
    main()
