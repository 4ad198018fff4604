"""Self-play against training among scripted traffic: kilometres per own incident, in three kinds of traffic.

    python benchmarks/studies/self_play.py train CONDITION SEED   # a process each, about 8 minutes of a fast core
    python benchmarks/studies/self_play.py test CONDITION SEED    # after all of ``train``; about 2 minutes
    python benchmarks/studies/self_play.py report                 # docs/results/self-play/

Both conditions train the same network by the same PPO (fast-ppo) for the same number of agent-steps, in the same
training towns, on the same observations and rewards of ``tiltyard/TownSelfPlay-v0`` with drawn reward weights:

* ``self-play``: 32 agents a town, all driven by the policy that learns, no scripted vehicles;
* ``idm``: one agent a town among 16 to 40 rule-following IDM drivers.

Pedestrians are the same. Towns are drawn anew 16 times in a training. Neither condition was tuned by itself: both have
the settings below, which were chosen before the first full run.

Tests (the best action, all reward weights 1, problems of seeds that no run trained on): ``idm``, training towns with
IDM traffic; ``held-out``, the 20 test towns with IDM traffic; ``checkpoints``, training towns with 32 agents, of which
4 are tested and 28 act by checkpoints of self-play after a quarter, half, three quarters and all of a training by
*another* seed. An incident is the end of an episode by the agent's own fault: a collision that it is to blame for, a
red light, a stop sign, off the road, wrong way, off the route. To stand or to be late is none, and is counted beside.

A finished run or test is not done again. A process that is killed begins its run anew.
"""

import argparse
import json
import shlex
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ENV = "tiltyard/TownSelfPlay-v0"
CONDITIONS: dict[str, dict[str, Any]] = {"self-play": {"agents": 32, "density": 0.0}, "idm": {"agents": 1}}
TESTS = ("idm", "held-out", "checkpoints")
STEPS, NUM_ENVS, DRAWS, CHECKPOINTS = 1_500_000, 256, 16, 4
SETTINGS: dict[str, Any] = {
    "n_steps": 32,
    "batch_size": 2048,
    "n_epochs": 4,
    "learning_rate": 5e-4,
    "gamma": 0.99,
    "gae_lambda": 0.95,
    "ent_coef": 0.005,
    "policy_kwargs": {"net_arch": [128, 128]},
}
AGENTS, TESTED, WORLDS = 32, 4, 16
SLOTS, TEST_STEPS, TEST_SEED = 64, 1000, 2_000_000
STEP_SECONDS = 0.2
OWN = ("collision", "red_light", "stop_sign", "off_road", "wrong_way", "off_route")
ENDS = ("success", *OWN, "struck", "blocked", "late", "offence")
OUT = Path(__file__).parents[2] / "docs" / "results" / "self-play"
RUNS = Path("runs") / "self-play"
Act = Callable[[npt.NDArray[np.float32]], npt.NDArray[Any]]


def vector(num_envs: int, **kwargs: Any) -> Any:
    """Slots of the town, acting by manoeuvres."""
    import gymnasium

    import tiltyard  # noqa: F401 (registers it)

    return gymnasium.make_vec(ENV, num_envs, "vector_entry_point", action="discrete", **kwargs)


def train(condition: str, seed: int, folder: Path, steps: int) -> None:
    """Trains one policy; leaves :data:`CHECKPOINTS` of it, the last one complete."""
    import torch

    from tiltyard.agents import make

    torch.set_num_threads(1)
    if (folder / f"checkpoint-{CHECKPOINTS}.zip").exists():
        return
    start = time.process_time()
    agent: Any = make(
        "fast-ppo", vector(NUM_ENVS, **CONDITIONS[condition]), seed=1000 * seed, device="cpu", preset=None, **SETTINGS
    )
    curve = []
    for draw in range(1, DRAWS + 1):
        agent.set_env(agent.env)  # so that the towns are drawn anew
        agent.learn(max(steps * draw // DRAWS - agent.num_timesteps, 1), reset_num_timesteps=draw == 1)
        ended = list(agent.ep_success_buffer)
        curve.append([agent.num_timesteps, float(np.mean(ended)) if ended else None])
        print(f"{condition} seed {seed}: {curve[-1]}, {time.process_time() - start:.0f} s", flush=True)
        if draw % (DRAWS // CHECKPOINTS) == 0:
            agent.save(folder / f"checkpoint-{draw * CHECKPOINTS // DRAWS}.zip")
    write(
        folder / "train.json",
        {
            "condition": condition,
            "seed": seed,
            "agent_steps": agent.num_timesteps,
            "curve": curve,
            "cpu_seconds": round(time.process_time() - start, 1),
            **where(),
        },
    )


def where() -> dict[str, Any]:
    """What a run was made with."""
    from tiltyard.benchmarks.provenance import commit, hardware, versions

    return {"commit": commit(), "hardware": hardware(), "versions": versions()}


def write(path: Path, record: dict[str, Any]) -> None:
    """A JSON file that appears whole or not at all."""
    from tiltyard.benchmarks.folders import write_whole

    write_whole(path, json.dumps(record, indent=1) + "\n")


def greedy(path: Path) -> Act:
    """A checkpoint's best actions."""
    return _acting(path, deterministic=True)


def _acting(path: Path, *, deterministic: bool) -> Act:
    from tiltyard.agents import FastPPO

    agent = FastPPO.load(path, device="cpu")
    return lambda observations: agent.predict(observations, deterministic=deterministic)[0]


def drive(env: Any, act: Act, tested: npt.NDArray[np.int64], steps: int) -> dict[str, Any]:
    """What the slots ``tested`` do in so many steps: kilometres, ended episodes and how they ended."""
    batched = env.unwrapped.batched
    observations, _ = env.reset(seed=TEST_SEED)
    ends: Counter[str] = Counter()
    metres = 0.0
    for _ in range(steps):
        episodes = batched.episodes[tested]
        metres += STEP_SECONDS * float(batched.agents["v"][episodes["world"], episodes["agent"]].sum())
        observations, _, terminated, truncated, info = env.step(act(observations))
        for slot in tested[(terminated | truncated)[tested]].tolist():
            final = info["final_info"]
            ends["success" if final["success"][slot] else str(final["infraction"][slot]) or "offence"] += 1
    env.close()
    return {
        "km": metres / 1000.0,
        "hours": len(tested) * steps * STEP_SECONDS / 3600.0,
        "incidents": sum(ends[name] for name in OWN),
        "episodes": sum(ends.values()),
        "ends": dict(sorted(ends.items())),
    }


def among_checkpoints(policy: Act, others: Sequence[Act]) -> Act:
    """Actions of :data:`TESTED` slots of each world by ``policy``, of the rest by one of the ``others`` a world."""

    def act(observations: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        actions = policy(observations)
        by_world, worlds = actions.reshape(-1, AGENTS), observations.reshape(-1, AGENTS, observations.shape[1])
        for number, other in enumerate(others):
            chosen = worlds[number :: len(others), TESTED:]
            by_world[number :: len(others), TESTED:] = other(chosen.reshape(-1, chosen.shape[-1])).reshape(
                chosen.shape[:2]
            )
        return by_world.reshape(-1)

    return act


def test(condition: str, seed: int, seeds: Sequence[int], runs: Path, steps: int) -> None:
    """All of :data:`TESTS` of one trained policy."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    folder = runs / f"{condition}-{seed}"
    if (folder / "test.json").exists():
        return
    policy = greedy(folder / f"checkpoint-{CHECKPOINTS}.zip")
    rival = seeds[(list(seeds).index(seed) + 1) % len(seeds)]
    past = [runs / f"self-play-{rival}" / f"checkpoint-{number}.zip" for number in range(1, CHECKPOINTS + 1)]
    others = [_acting(path, deterministic=False) for path in past]
    alone, common = np.arange(SLOTS), np.arange(WORLDS * AGENTS)
    full = {"reward_weights": "full"}
    result = {
        "idm": drive(vector(SLOTS, **full), policy, alone, steps),
        "held-out": drive(vector(SLOTS, split="test", **full), policy, alone, steps),
        "checkpoints": drive(
            vector(len(common), agents=AGENTS, density=0.0, **full),
            among_checkpoints(policy, others),
            common[common % AGENTS < TESTED],
            steps,
        ),
    }
    print(json.dumps(result))
    write(folder / "test.json", {"condition": condition, "seed": seed, "rival": rival, "tests": result, **where()})


def log_rate(outcome: dict[str, Any]) -> float:
    """Log of kilometres per incident, half an incident added, so that none is not infinity."""
    return float(np.log(outcome["km"] / (outcome["incidents"] + 0.5)))


def interval(logs: Sequence[float]) -> list[float]:
    """Geometric mean over seeds and its 95% t interval."""
    from scipy.stats import t

    values = np.asarray(logs)
    if len(values) < 2:
        return [float(np.exp(values.mean())), 0.0, float("inf")]
    reach = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return [float(np.exp(values.mean() + side * reach)) for side in (0.0, -1.0, 1.0)]


def share_of_success(found: Sequence[dict[str, Any]], kind: str) -> float:
    """The share of a test's episodes, of all seeds, that end at the goal."""
    outcomes = [one["tests"][kind] for one in found]
    return float(
        sum(one["ends"].get("success", 0) for one in outcomes) / max(sum(one["episodes"] for one in outcomes), 1)
    )


def report(runs: Path, out: Path, command: str) -> None:
    """Writes the page and the data that it is made from, of the tests that there are."""
    from tiltyard.benchmarks.pages import bracketed, render
    from tiltyard.benchmarks.permutation import LEAST, holm, permutation_p

    records = [json.loads(path.read_text()) for path in sorted(runs.glob("*/test.json"))]
    trained = [json.loads(path.read_text()) for path in sorted(runs.glob("*/train.json"))]
    found = {name: [one for one in records if one["condition"] == name] for name in CONDITIONS}
    if not all(found.values()):
        raise SystemExit(f"{runs} holds no tests of both conditions: run train and test first")
    logs = {
        name: {kind: [log_rate(one["tests"][kind]) for one in ones] for kind in TESTS} for name, ones in found.items()
    }
    mine, theirs = logs["self-play"], logs["idm"]
    enough = min(map(len, found.values())) >= LEAST
    p_values = holm([permutation_p(mine[kind], theirs[kind]) for kind in TESTS]) if enough else []
    p = dict(zip(TESTS, p_values, strict=False))

    def row(name: str, kind: str) -> list[str]:
        outcomes = [one["tests"][kind] for one in found[name]]
        episodes = sum(one["episodes"] for one in outcomes)
        share = {key: sum(one["ends"].get(key, 0) for one in outcomes) / max(episodes, 1) for key in ENDS}
        km, hours = (sum(one[key] for one in outcomes) for key in ("km", "hours"))
        counts = f"{sum(one['incidents'] for one in outcomes)} in {km:,.0f} km"
        return [kind, name, bracketed(interval(logs[name][kind]), ".2f"), counts, f"{km / hours:.0f}"] + [
            f"{100 * share[key]:.0f}%" for key in ENDS
        ]

    out.mkdir(parents=True, exist_ok=True)
    data = {"command": command, "settings": SETTINGS, "holm_p": p, "train": trained, "test": records}
    (out / "results.json").write_text(json.dumps(data, indent=1) + "\n")
    page = render(
        "self_play.md.jinja",
        command=command,
        rows=[row(name, kind) for kind in TESTS for name in CONDITIONS],
        ends=ENDS,
        p=p,
        arrived=max(share_of_success(found[name], kind) for kind in TESTS for name in CONDITIONS),
        steps=[one["agent_steps"] for one in trained],
        minutes=sum(one["cpu_seconds"] for one in trained) / 60,
        settings=SETTINGS,
        made=records[0],
        counts={name: len(ones) for name, ones in found.items()},
    )
    (out / "README.md").write_text(page)
    print(page)


def main() -> None:
    """One step of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("train", "test", "report"))
    parser.add_argument("condition", nargs="?", choices=tuple(CONDITIONS))
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], help="all seeds of the study")
    parser.add_argument("--steps", type=int, default=STEPS, help="agent-steps of a training")
    parser.add_argument("--test-steps", type=int, default=TEST_STEPS)
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    if args.step == "report":
        return report(args.runs, args.out, shlex.join(["python", "benchmarks/studies/self_play.py", "report"]))
    if args.condition is None or args.seed not in args.seeds:
        parser.error("train and test need a condition and a seed of --seeds")
    if args.step == "train":
        train(args.condition, args.seed, args.runs / f"{args.condition}-{args.seed}", args.steps)
    else:
        test(args.condition, args.seed, args.seeds, args.runs, args.test_steps)


if __name__ == "__main__":
    main()
