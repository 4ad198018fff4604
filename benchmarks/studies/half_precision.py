"""Whether SAC learns as well with matrix products in half precision: two one-sided tests.

    python benchmarks/studies/half_precision.py run PRECISION SEED   # a process each
    python benchmarks/studies/half_precision.py report               # docs/results/half-precision/

Both have the settings of SAC in ``control-v2-halfcheetah`` (two layers of 256, batches of 256, one update a step, 5,000
learning starts, compiled); what differs is ``matmul_precision``, "fp32" or "bf16": the products of hidden layers alone,
as weights, sums and outputs are in single precision in both. 40,000 steps end where the learning curve is steepest, at
a third of the scripted expert's returns, so that slower learning shows: five runs of ``control-v2-halfcheetah`` gained
0.18 of these in 10,000 steps there, and differed with a standard deviation of 0.04.

A run's score is the mean of five checkpoints, after 80%, 85%, 90%, 95% and all of the steps: the normalised return of
the best actions, each time in 16 held-out episodes. The two are called equivalent where the 90% Welch interval of the
difference of means lies within +-0.05: two one-sided t tests at 5% (Schuirmann 1987). The 20 seeds, the task and this
margin were fixed before any run. A processor needs AVX-512 for half precision to be of use. A finished run is not done
again.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from tiltyard.agents.control.updates import Precision
from tiltyard.benchmarks.studies._study import Table, once, said, stored, write_page
from tiltyard.benchmarks.studies.ppo_equivalence import CHECKPOINTS, EPISODES, MARGIN, Checked, score, verdict, welch
from tiltyard.benchmarks.suites import CONTROL_V2_CHEETAH

TASK = "tiltyard/HalfCheetah-v5"
STEPS, SEEDS = 40_000, 20
SETTINGS: dict[str, Any] = {
    name: value
    for entry in CONTROL_V2_CHEETAH.tasks[0].entries
    if entry.agent == "sac"
    for name, value in entry.params.items()
    if name not in ("preset", "compiled")
}
REFERENCE, HALF = get_args(Precision)
OUT = Path("docs/results/half-precision")


def run(precision: str, seed: int, steps: int, *, compiled: bool = True, **settings: Any) -> dict[str, Any]:
    """Trains one agent, and scores it at each checkpoint.

    Args:
        precision: "fp32" or "bf16".
        seed: of the agent and of its environment.
        steps: of training.
        compiled: whether the update is.
        settings: instead of :data:`SETTINGS`.
    """
    from tiltyard.agents import make
    from tiltyard.wrappers.spaces import sb3_env

    venv: Any = sb3_env(TASK, 1, seed=seed)
    given = {**SETTINGS, "compiled": compiled, **settings}
    agent: Any = make("sac", venv, seed=seed, device="cpu", preset=None, matmul_precision=precision, **given)
    checked = Checked([int(steps * part) for part in CHECKPOINTS], lambda: score(agent, None, TASK, EPISODES))
    began = time.process_time()
    agent.learn(steps, callback=checked)
    spent = time.process_time() - began - checked.aside
    checked.check()
    return {"seed": seed, "precision": precision, "scores": checked.scores, "seconds": round(spent, 1)}


def report(runs: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Writes the page of ``runs`` into ``out``.

    Raises:
        ValueError: fewer than four runs with either precision.
    """
    found = {name: [one for one in runs if one["precision"] == name] for name in (REFERENCE, HALF)}
    scores = {name: [float(np.mean(one["scores"])) for one in mine] for name, mine in found.items()}
    if min(map(len, scores.values())) < 4:
        raise ValueError(f"{out} holds fewer than four runs with {REFERENCE} or {HALF}: there is no interval yet")
    rows = [
        [
            f"`{name}`",
            said(scores[name], 3),
            f"{np.std(scores[name], ddof=1):.3f}",
            str(len(scores[name])),
            f"{np.mean([one['settings']['steps'] / one['seconds'] for one in found[name]]):,.0f}",
        ]
        for name in found
    ]
    estimate, low, high = welch(scores[HALF], scores[REFERENCE])
    judged = verdict(low, high)
    write_page(
        out,
        runs,
        title="SAC with matrix products in half precision",
        command="python benchmarks/studies/half_precision.py run PRECISION SEED",
        words=(
            f'Does SAC learn as well with `matmul_precision="{HALF}"`? {STEPS:,} steps of HalfCheetah, compiled, the '
            "settings of `control-v2-halfcheetah`. A score is the mean over five checkpoints "
            f"({', '.join(f'{part:.0%}' for part in (*CHECKPOINTS, 1.0))} of the steps) of the normalised return of "
            f"the best actions, each time in {EPISODES} held-out episodes. Intervals of means are 95% Student's t. "
            "Rates are steps a second of processor time on one thread, evaluations left out; two runs shared the "
            f"machine. Task, the {SEEDS} seeds and the margin were fixed before any run. After all runs, the page is "
            "written by `python benchmarks/studies/half_precision.py report`."
        ),
        tables=[
            Table("Scores", ["products", "score", "standard deviation of runs", "seeds", "steps/s"], rows),
            Table(
                f"Difference of means from `{REFERENCE}`, with its 90% Welch interval; within +-{MARGIN} the two are "
                "called equivalent (two one-sided t tests at 5%)",
                ["products", "difference", "verdict"],
                [[f"`{HALF}`", f"{estimate:+.3f} [{low:+.3f}, {high:+.3f}]", judged]],
            ),
        ],
        found=(
            "One task and one agent at the steepest part of its learning curve: what half precision does late in "
            "training, or to other agents, it does not say. Single precision is the default, and half precision is "
            "recommended only where the verdict is that they are equivalent."
        ),
    )


def main() -> None:
    """One step of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("run", "report"))
    parser.add_argument("precision", nargs="?", choices=(REFERENCE, HALF))
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    if args.step == "report":
        return report(stored(args.out), args.out)
    if args.seed is None:
        parser.error("run needs a precision and a seed")
    settings = {"task": TASK, "steps": STEPS, "episodes": EPISODES, "agent": SETTINGS}
    name = f"{args.precision}-s{args.seed}"
    found = once(args.out, name, settings, lambda: run(args.precision, args.seed, STEPS))
    print(f"{name}: {np.mean(found['scores']):.3f}, {found['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
