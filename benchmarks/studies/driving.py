"""What the agents of a driving suite do on the road, on maps they know and on maps they have never seen.

    tiltyard race driving-v2 --out runs/driving-v2
    python benchmarks/studies/driving.py score runs/driving-v2 --suite driving-v2
    python benchmarks/studies/driving.py report --suite driving-v2

``score`` plays the agent of every finished run on 100 problems of the test maps and 100 new ones of its training maps,
and the scripted expert and a random policy on the same; a run's numbers are a file in ``runs`` under
``docs/results/SUITE-road``, and a run whose file is there is not played again. ``report`` makes the page of these
files.

A score of a run is a mean over its problems. Verdicts are exact: two conditions are compared by a permutation test of
their runs; PPO with the expert, and its training maps with test maps, by all flips of signs of its runs' differences,
since both met the same problems or belong to the same run. Each of the three questions is a family of Holm's.
"""

import argparse
import json
import shlex
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tiltyard.benchmarks.pages import render

EPISODES = 100
SPLITS = ("test", "train")
RESULTS = Path(__file__).parents[2] / "docs" / "results"
BEFORE_MEND = ("driving-v1",)  # suites scored while imposed braking missed most of a follower's hard braking
REFERENCES = ("expert", "random")
ALPHA = 0.05
Floats = npt.NDArray[np.float64]


def drive(policy: Any, env_id: str, split: Any, agent: Any, episodes: int, **env_kwargs: Any) -> dict[str, float]:
    """Plays one episode on each of ``episodes`` problems, and returns means, and sums over the km of all together.

    Args:
        policy: with SB3's ``predict``; None for a reference.
        env_id: where.
        split: "test" or "train"; the problems of training maps are none that a run was trained on.
        agent: its name, which says how it sees the environment.
        episodes: at most 128.
        **env_kwargs: the environment's keywords that the policy was trained with.
    """
    from tiltyard.benchmarks.evaluation import evaluation_env, evaluation_seeds, policy_for

    env = evaluation_env(env_id, agent, episodes, split=split, **env_kwargs)
    policy = policy_for(agent, env) if policy is None else policy
    env.unwrapped.seed_envs(evaluation_seeds(0, episodes))  # type: ignore[attr-defined]
    observations: Any = env.reset()
    ended: dict[int, dict[str, Any]] = {}
    while len(ended) < episodes:
        observations, _, dones, infos = env.step(policy.predict(observations, deterministic=True)[0])
        for index in np.flatnonzero(dones).tolist():
            ended.setdefault(index, infos[index])
    env.close()
    return amounts(list(ended.values()))


def amounts(infos: list[dict[str, Any]]) -> dict[str, float]:
    """Of last infos: means of the driving score and the like, and counts for each km driven."""
    scores = {name: np.array([info["scores"][name] for info in infos], float) for name in infos[0]["scores"]}
    km = max(float(scores["km"].sum()), 0.001)
    return {
        "driving_score": float(scores["driving_score"].mean()),
        "completion": float(scores["completion"].mean()),
        "success": float(np.mean([bool(info["success"]) for info in infos])),
        "km": km,
        "at_fault_per_km": float(scores["at_fault_collisions"].sum()) / km,
        "red_lights_per_km": float(scores["red_lights"].sum()) / km,
        "infractions_per_km": sum(bool(info["infraction"]) for info in infos) / km,
        "imposed_braking": float(scores["imposed_braking"].mean()),
    }


def condition_of(params: dict[str, Any]) -> str:
    """The reward that a run was trained with."""
    return str(params.get("env_kwargs", {}).get("training_reward", "carl"))


def play(job: tuple[str, str, str, int]) -> str:
    """Scores a run (folder, "", "", episodes) or a reference ("", environment, policy, episodes); returns its JSON."""
    import torch

    from tiltyard.benchmarks.commands import load_agent
    from tiltyard.benchmarks.runs import read_run

    torch.set_num_threads(1)
    folder, env_id, agent, episodes = job
    found: dict[str, Any] = {"env_id": env_id, "agent": agent, "reward": "", "seed": -1, "episodes": episodes}
    policy: Any = None
    env_kwargs: dict[str, Any] = {}
    if folder:
        run = read_run(Path(folder)).run
        policy, _ = load_agent(folder)
        env_kwargs = run.params.get("env_kwargs", {})
        found |= {"env_id": run.env_id, "agent": run.agent, "reward": condition_of(dict(run.params)), "seed": run.seed}
    for split in SPLITS:
        found[split] = drive(policy, found["env_id"], split, found["agent"], episodes, **env_kwargs)
    return json.dumps(found, indent=1) + "\n"


def score(root: Path, workers: int, out: Path, episodes: int = EPISODES) -> None:
    """Plays all runs under ``root`` that have no file in ``out`` yet."""
    from tiltyard.benchmarks.evaluation import is_tuning
    from tiltyard.benchmarks.loading import load_runs

    runs = [one for one in load_runs(root) if not is_tuning(one.run.seed)]
    jobs = {one.run.name: (str(one.folder), "", "", episodes) for one in runs}
    scenes = sorted({one.run.env_id for one in runs})
    jobs |= {
        f"{env_id.rpartition('/')[2]}-{name}": ("", env_id, name, episodes) for env_id in scenes for name in REFERENCES
    }
    (out / "runs").mkdir(parents=True, exist_ok=True)
    todo = {name: job for name, job in jobs.items() if not (out / "runs" / f"{name}.json").exists()}
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for name, text in zip(todo, pool.map(play, todo.values()), strict=True):
            (out / "runs" / f"{name}.json").write_text(text)
            print(name, flush=True)


def sign_flips(differences: Floats) -> float:
    """Two-sided p-value of a mean difference under all flips of signs (2^n of them)."""
    flips = np.array(list(product((1.0, -1.0), repeat=len(differences))))
    means = np.abs(flips @ differences) / len(differences)
    return float(np.mean(means >= abs(differences.mean()) - 1e-12))


def label(agent: str, reward: str) -> str:
    """How a page calls a condition."""
    return agent if reward in ("", "carl") else f"{agent}, reward {reward}"


def tables(files: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A row for each scene and condition, and a row for each verdict."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in sorted(files, key=lambda one: (one["env_id"], one["agent"] in REFERENCES, one["agent"], one["reward"])):
        groups.setdefault((one["env_id"], label(one["agent"], one["reward"])), []).append(one)
    rows = []
    for (env_id, name), runs in groups.items():
        means = {
            side: {key: float(np.mean([run[side][key] for run in runs])) for key in runs[0][side]} for side in SPLITS
        }
        rows.append({"scene": env_id, "name": name, "runs": len(runs), **means})
    columns = {(*key, side): _column(runs, side) for key, runs in groups.items() for side in SPLITS}
    return rows, [verdict for family in families(columns) for verdict in corrected(family)]


def families(columns: dict[tuple[str, str, str], Floats]) -> list[list[dict[str, Any]]]:
    """Verdicts, a list for each question; of driving scores by scene, condition and split.

    Eight runs have 256 flips of signs: a family of six such tests is the largest in which one can be significant, so
    that only ``fast-ppo`` is held against the expert and for its gap.
    """
    from tiltyard.benchmarks.permutation import LEAST, permutation_p

    rivals, experts, gaps = [], [], []
    for (scene, name, side), values in columns.items():
        ppo = columns.get((scene, "fast-ppo", "test"), np.zeros(0))
        if side != "test" or name in REFERENCES or min(len(values), len(ppo)) < LEAST:
            continue
        if name != "fast-ppo":
            by = float(values.mean() - ppo.mean())
            rivals.append(_verdict(scene, f"{name} over fast-ppo", by, permutation_p(values, ppo)))
            continue
        over = values - columns[scene, "expert", "test"].mean()
        gap = columns[scene, name, "train"] - values
        experts.append(_verdict(scene, "fast-ppo over the expert", float(over.mean()), sign_flips(over)))
        gaps.append(_verdict(scene, "fast-ppo on training maps over test maps", float(gap.mean()), sign_flips(gap)))
    return [rivals, experts, gaps]


def _means(runs: list[dict[str, Any]], side: str) -> dict[str, float]:
    return {key: float(np.mean([run[side][key] for run in runs])) for key in runs[0][side]}


def _verdict(scene: str, what: str, by: float, p: float) -> dict[str, Any]:
    return {"scene": scene, "what": what, "by": by, "raw": p}


def corrected(family: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A family with its p-values after Holm's correction, and what they say."""
    from tiltyard.benchmarks.permutation import holm

    for one, p in zip(family, holm([one["raw"] for one in family]), strict=True):
        one["p"], one["said"] = p, "no significant difference" if p > ALPHA else "better" if one["by"] > 0 else "worse"
    return family


def _column(runs: list[dict[str, Any]], split: str) -> Floats:
    return np.array([run[split]["driving_score"] for run in runs])


def report(suite: str, out: Path) -> str:
    """Writes the page of a suite, and returns it.

    Raises:
        FileNotFoundError: nothing has been scored.
    """
    files = [json.loads(path.read_text()) for path in sorted((out / "runs").glob("*.json"))]
    if not files:
        raise FileNotFoundError(f"there are no scores in {out / 'runs'}: run the score command first")
    rows, verdicts = tables(files)
    episodes = ", ".join(map(str, sorted({one["episodes"] for one in files})))
    told = {"suite": suite, "before_mend": suite in BEFORE_MEND, "episodes": episodes, "alpha": ALPHA}
    page = render("driving.md.jinja", rows=rows, verdicts=verdicts, **told)
    (out / "README.md").write_text(page)
    return page


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    scoring = commands.add_parser("score", help="play the agents of a race")
    scoring.add_argument("root", type=Path, help="folder of the race's runs")
    scoring.add_argument("--workers", type=int, default=2, help="runs at a time")
    scoring.add_argument("--episodes", type=int, default=EPISODES, help="of each split, at most 128")
    for one in (scoring, commands.add_parser("report", help="make the page")):
        one.add_argument("--suite", default="driving-v2", help="its name")
        one.add_argument("--out", type=Path, help="folder of scores and of the page: docs/results/SUITE-road")
    given = parser.parse_args()
    out = given.out or RESULTS / f"{given.suite}-road"
    print(shlex.join(["python", *sys.argv]), file=sys.stderr)
    if given.command == "score":
        score(given.root, given.workers, out, given.episodes)
    else:
        print(report(given.suite, out))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
