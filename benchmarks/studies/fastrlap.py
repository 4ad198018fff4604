"""How fast does an agent lap that practises without resets, beside slow prior laps, the expert and the car's limits?

    python benchmarks/studies/fastrlap.py run --arm prior --seed 0 --out docs/results/fastrlap
    python benchmarks/studies/fastrlap.py report --out docs/results/fastrlap

FastRLAP (Stachowicz et al. 2023): a car "can learn to drive over a variety of racing courses with less than 20 minutes
of online training" from one slow lap, without resets. A run is one agent (row ``fastrlap``, but with half of its
updates) on one track of ``tiltyard/RaceTrack-v0``, which its seed names: ``prior`` has three laps of the expert at 5
m/s, of which half of each batch comes; ``none`` has only its own experience. Both practise 20 minutes in
:class:`~tiltyard.wrappers.laps.LapPractice`, and drive one lap by their best actions at each moment; a lap in which the
car leaves the road has no time.

Beside them stand the expert, the expert at 5 m/s, and the shortest time in which the car's grip, throttle and brakes
let it follow the middle of its lane (:func:`~tiltyard.wrappers.laps.best_time`), which who cuts corners can beat.
"""

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tiltyard.benchmarks.studies._study import Table, once, said, stored, write_page

ENV = "tiltyard/RaceTrack-v0"
ARMS = ("prior", "none")
STEPS, MOMENTS = 6_000, 8
UPDATES = 4  # a step, of the authors' eight
LAPS = 3
OUT = Path("docs/results/fastrlap")
WORDS = (
    "Twenty minutes of practice on tracks of RaceTrack-v0, of which each seed names one. Times are of "
    f"{MOMENTS} laps that an agent drives at as many moments by its best actions, shares of the best of these: below 1 "
    "is faster. Means and 95% intervals over seeds. Settings are the authors', not tuned, with half of their updates; "
    "at which temperature to begin was seen on the tracks of seeds 0 and 1, which are not among these."
)
LONGEST = 1500  # steps of a lap that is driven for its time


def scene() -> Any:
    """What is practised in."""
    from tiltyard.wrappers.laps import LapPractice

    return LapPractice(gymnasium.make(ENV))


def lap_time(env: Any, seed: int, policy: Any) -> float | None:
    """Seconds of one lap from the first metre without recovery; None without such a lap."""
    observation, info = env.reset(seed=seed)
    for _ in range(LONGEST):
        observation, _, terminated, truncated, info = env.step(policy(env, observation))
        if terminated or "lap_time" in info:
            return None if terminated else float(info["lap_time"])
        if truncated:
            observation, info = env.reset()
    return None


def expert(env: Any, observation: Any) -> Any:
    """The scripted driver."""
    return env.unwrapped.batched.expert_actions()[0]


def run(arm: str, seed: int, steps: int) -> dict[str, Any]:
    """Practises and times one agent."""
    from tiltyard.agents import make
    from tiltyard.agents.control.fastrlap import slow_laps
    from tiltyard.wrappers.laps import best_time

    test = scene()
    test.reset(seed=seed)
    marks = {"limits": best_time(test.unwrapped.batched), "expert": lap_time(test, seed, expert)}
    env = scene()
    settings = {"gradient_steps": UPDATES, "policy_delay": UPDATES, "buffer_size": steps + 1000}
    agent: Any = make("fastrlap", env, seed=seed, device="cpu", **settings)
    if arm == "prior":
        laps = slow_laps(env, laps=LAPS, seed=seed)
        marks["slow"] = float(len(laps) / LAPS * 0.2)
        agent.learn_offline(laps, 0)
    agent.env.seed(seed)  # the track; the agent's own randomness has its seed already
    curve = []

    def policy(_: Any, observation: Any) -> Any:
        return agent.predict(observation, deterministic=True)[0]

    for _ in range(MOMENTS):
        agent.learn(steps // MOMENTS, reset_num_timesteps=False)
        reached = {"steps": agent.num_timesteps, "lap": lap_time(test, seed, policy)}
        curve.append({**reached, "laps": env.laps, "recoveries": env.recoveries})
    return {"arm": arm, "seed": seed, "marks": marks, "curve": curve}


def shares(runs: list[dict[str, Any]], mark: str) -> list[float]:
    """Each run's best lap as a share of a mark's time, of the runs that have both."""
    found = []
    for one in runs:
        laps = [point["lap"] for point in one["curve"] if point["lap"] is not None]
        if laps and one["marks"].get(mark):
            found.append(min(laps) / one["marks"][mark])
    return found


def report(out: Path) -> None:
    """The page of all runs in ``out``."""
    runs, rows = stored(out), []
    for arm in ARMS:
        mine = [one for one in runs if one["arm"] == arm]
        if not mine:
            continue
        finished = sum(any(point["lap"] is not None for point in one["curve"]) for one in mine)
        cells = [said(shares(mine, mark)) if shares(mine, mark) else "none" for mark in ("expert", "limits")]
        counts = [said([one["curve"][-1][name] for one in mine], 1) for name in ("laps", "recoveries")]
        late = said([one["curve"][-1]["recoveries"] - one["curve"][MOMENTS // 2 - 1]["recoveries"] for one in mine], 1)
        rows.append([arm, f"{finished} of {len(mine)}", *cells, *counts, late])
    heads = ["prior laps", "a lap without recovery", "best lap / expert's", "best lap / the limits'"]
    heads += ["laps of practice", "recoveries", "of these in the second half"]
    times = [
        [
            f"{one['arm']}, seed {one['seed']}",
            *(f"{one['marks'][mark]:.1f}" if one["marks"].get(mark) else "" for mark in ("slow", "expert", "limits")),
            *("" if point["lap"] is None else f"{point['lap']:.1f}" for point in one["curve"]),
        ]
        for one in runs
    ]
    ends = [f"{int(step):,}" for step in np.linspace(0, runs[0]["settings"]["steps"], MOMENTS + 1)[1:]] if runs else []
    write_page(
        out,
        runs,
        title="Lap times of practice without resets",
        command="python benchmarks/studies/fastrlap.py report",
        words=WORDS,
        tables=[
            Table("By prior laps.", heads, rows),
            Table("Seconds of a lap.", ["run", "slow laps", "expert", "limits", *ends], times),
        ],
        found="The limits are those of the car on the middle of its lane: who uses the whole road can be faster.",
    )


def main() -> None:
    """One step of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--arm", choices=ARMS, default="prior")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    if asked.what == "report":
        report(asked.out)
    else:
        work = once(
            asked.out,
            f"{asked.arm}-{asked.seed}",
            {"steps": asked.steps, "updates": UPDATES},
            lambda: run(asked.arm, asked.seed, asked.steps),
        )
        print(work["marks"], work["curve"][-1])


if __name__ == "__main__":
    main()
