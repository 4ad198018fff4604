"""Whether rule-following traffic keeps the rules: collisions, red lights, stop signs and standstills on seven maps.

    python benchmarks/studies/traffic.py --steps 10000000

Worlds of 24 drivers (with pedestrians if asked for) run on every map of the catalogue, drawn from another seed each
round, until that many vehicle-steps (of 0.1 s) are done. A table a map shows vehicle-steps, events, mean speed and the
longest standstill. ``--careless`` shows that the counters count: a share of drivers then ignores the rules.
"""

import argparse
from collections import Counter

import numpy as np

from tiltyard.envs.driving.maps.catalogue import NAMES, make
from tiltyard.envs.driving.town.atlas import atlas
from tiltyard.envs.driving.town.state import (
    ARRIVAL,
    BRAKING,
    COLLISION,
    DRIVER,
    EVENTS,
    RED_LIGHT,
    RIGHT_OF_WAY,
    STANDSTILL,
    STOP_SIGN,
    allocate,
)
from tiltyard.envs.driving.town.step import begin_worlds, step_worlds

COLUMNS = {
    "collisions": COLLISION,
    "red lights": RED_LIGHT,
    "stop signs": STOP_SIGN,
    "right of way": RIGHT_OF_WAY,
    "standstills": STANDSTILL,
    "hard braking": BRAKING,
    "trips": ARRIVAL,
}
WORLDS, MINUTES = 4, 10


def one_round(name: str, seed: int, drivers: int, walkers: int, careless: float) -> tuple[Counter[str], float, float]:
    """WORLDS worlds for MINUTES; returns counts, the sum of speeds and the longest stand in s."""
    graph = make(name, seed)
    maps = atlas([graph])
    batch = allocate(WORLDS, drivers + walkers, crossings=len(graph.columns.crossing))
    keys = np.random.default_rng([7, seed]).integers(0, 2**63, WORLDS).astype(np.uint64)
    mix = np.array([drivers, walkers, 0.0, careless])
    begin_worlds(batch, maps, np.arange(WORLDS), keys, np.zeros(WORLDS, np.int32), mix)
    counts: Counter[str] = Counter()
    speeds = longest = 0.0
    active = np.ones(WORLDS, np.bool_)
    for _ in range(MINUTES * 60):
        step_worlds(batch, maps, active, 10, 0, WORLDS)
        driving = batch.agents["controller"] == DRIVER
        counts["vehicle-steps"] += 10 * int(driving.sum())
        speeds += 10.0 * float(batch.agents["v"][driving].sum())
        longest = max(longest, float(batch.agents["still"][driving].max(initial=0.0)))
        for world in range(WORLDS):
            found = int(batch.worlds["events"][world])
            counts["lost events"] += max(0, found - EVENTS)
            kinds = batch.events["kind"][world, : min(found, EVENTS)].tolist()
            counts.update(column for column, kind in COLUMNS.items() for one in kinds if one == kind)
        batch.worlds["events"] = 0
    return counts, speeds, longest


def main() -> None:
    """Runs and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000, help="vehicle-steps, over all maps")
    parser.add_argument("--drivers", type=int, default=24)
    parser.add_argument("--walkers", type=int, default=0)
    parser.add_argument("--careless", type=float, default=0.0, help="share of drivers who ignore rules now and then")
    arguments = parser.parse_args()
    totals = {name: Counter[str]() for name in NAMES}
    speeds = dict.fromkeys(NAMES, 0.0)
    longest = dict.fromkeys(NAMES, 0.0)
    seed = 0
    while sum(total["vehicle-steps"] for total in totals.values()) < arguments.steps:
        for name in NAMES:
            counts, speed, still = one_round(name, seed, arguments.drivers, arguments.walkers, arguments.careless)
            totals[name] += counts
            speeds[name] += speed
            longest[name] = max(longest[name], still)
        seed += 1
    print(f"{'map':18}{'vehicle-steps':>14}" + "".join(f"{one:>14}" for one in COLUMNS) + f"{'m/s':>8}{'stood s':>9}")
    for name, total in totals.items():
        row = "".join(f"{total[one]:14,}" for one in COLUMNS)
        steps = max(total["vehicle-steps"], 1)
        print(f"{name:18}{steps:14,}{row}{speeds[name] / steps:8.2f}{longest[name]:9.1f}")
    everything = sum(total["vehicle-steps"] for total in totals.values())
    lost = sum(total["lost events"] for total in totals.values())
    print(f"{everything:,} vehicle-steps, maps of {seed} seeds; {lost} events lost")


if __name__ == "__main__":
    main()
