"""Does a larger mini-batch hurt PPO under a shaped sum of rewards, and not under CaRL's?

    python benchmarks/studies/minibatch.py premise --out docs/results/minibatch
    python benchmarks/studies/minibatch.py run --reward carl --minibatch 256 --seed 0 --out docs/results/minibatch
    python benchmarks/studies/minibatch.py report --out docs/results/minibatch

CaRL (Jaeger et al. 2025, abstract): "PPO fails to optimize a popular version of these rewards when the mini-batch size
is increased", while it "scales well with higher mini-batch sizes when trained with our simple reward, even improving
performance". The popular version is Roach's sum (:mod:`tiltyard.wrappers.rewards.shaped_driving`).

A run is one PPO in ``tiltyard/Intersection-v0`` with one reward, mini-batch size and seed; it is one process, and a
run whose file is there is not done again. All runs take the same samples in the same rollouts; what differs is how many
samples a gradient step sees, and so how many steps there are. Settings are those of CaRL's code: 3 epochs, clipping at
0.1, gamma 0.99, lambda 0.95, entropy 0.01, a learning rate of 2.5e-4 that falls to 0. It grows here with the square
root of the mini-batch (Malladi et al. 2022, for Adam): at 2.5e-4, a pilot's 366 steps of 16,384 samples learnt nothing
under CaRL's reward, which says something about the number of steps alone. CaRL's network and sizes are others: it sees
pictures, and grows from 256 samples a mini-batch to its full size on 8 GPUs. Both rewards are judged by the same
held-out problems and the same numbers, none of which is the shaped sum.

``premise`` asks first whether the mechanism can act: what each reward pays to drivers that differ in how much they
drive. Where the shaped sum pays those that stand more than those that arrive, standing is a maximum of it.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tiltyard.benchmarks.studies._driving_study import expert, rides, summary, trained
from tiltyard.benchmarks.studies._study import Table, once, said, stored, write_page
from tiltyard.benchmarks.verdicts import Part, Sample, judge, overall

ENV = "tiltyard/Intersection-v0"
REWARDS = ("carl", "shaped")
SIZES = (256, 1024, 4096)
ENVS, ROLLOUT = 128, 128  # 16,384 samples a rollout: four of the largest mini-batches
STEPS = 1_000_000
PROBLEMS = 200
QUARTERS = 4  # of a run, after each of which it is scored
GAMMA = 0.99
OUT = Path("docs/results/minibatch")


def scene(reward: str, envs: int, **keywords: Any) -> Any:
    """What a run trains in."""
    from tiltyard.wrappers.rewards.shaped_driving import VectorShapedDriving

    env = gymnasium.make_vec(ENV, envs, vectorization_mode="vector_entry_point", **keywords)
    return VectorShapedDriving(env) if reward == "shaped" else env


def run(reward: str, size: int, seed: int, steps: int, problems: int) -> dict[str, Any]:
    """Trains and scores one agent."""
    from tiltyard.agents import make

    agent: Any = make(
        "fast-ppo",
        scene(reward, ENVS),
        seed=seed,
        device="cpu",
        n_steps=ROLLOUT,
        batch_size=size,
        n_epochs=3,
        clip_range=0.1,
        ent_coef=0.01,
        gamma=GAMMA,
        gae_lambda=0.95,
        learning_rate=lambda left: 2.5e-4 * math.sqrt(size / SIZES[0]) * left,
        policy_kwargs={"net_arch": [128, 128]},
    )
    curve: list[dict[str, float]] = []

    def on_step(scope: dict[str, Any], _: dict[str, Any]) -> bool:
        if agent.num_timesteps >= (len(curve) + 1) * steps // QUARTERS and len(curve) < QUARTERS - 1:
            curve.append(summary(rides(ENV, max(problems // 4, 1), trained(agent))))
        return True

    agent.learn(steps, callback=on_step)
    curve.append(summary(rides(ENV, problems, trained(agent))))
    return {"reward": reward, "minibatch": size, "seed": seed, "updates": agent._n_updates, "curve": curve}


DRIVERS: dict[str, Callable[[Any, Any], Any]] = {
    "expert": expert,
    "stands": lambda env, seen: np.tile(np.array([-1.0, 0.0], np.float32), (len(seen), 1)),
    "expert at walking pace": lambda env, seen: slowly(env, seen, 2.0),
    "expert, but stands at the first line": lambda env, seen: waits(env, seen),
}


def slowly(env: Any, seen: Any, speed: float) -> Any:
    """The expert, but never faster than ``speed`` m/s."""
    actions = expert(env, seen)
    fast = 20.0 * np.asarray(seen)[:, 0] > speed
    actions[:, 0] = np.where(fast, np.minimum(actions[:, 0], 0.0), actions[:, 0])
    return actions


def waits(env: Any, seen: Any) -> Any:
    """The expert up to the first stop line with a signal, and there it stays."""
    actions = expert(env, seen)
    rules = np.asarray(seen)[:, 61:]
    near = (rules[:, 0] * 80.0 < 12.0) & (rules[:, 1] > 0.5)
    actions[:, 0] = np.where(near, -0.5, actions[:, 0])
    return actions


def premise(problems: int) -> dict[str, Any]:
    """What either reward pays to scripted drivers: the mean discounted return from the beginning, and a step."""
    paid: dict[str, Any] = {}
    for name, driver in DRIVERS.items():
        env = scene("shaped", problems, split="test", autoreset_mode="SameStep")
        seen, _ = env.reset(seed=5)
        going, weight = np.ones(problems, np.bool_), 1.0
        sums = {reward: np.zeros(problems) for reward in REWARDS}
        whole, steps = np.zeros(problems), np.zeros(problems)
        for _ in range(900):
            seen, shaped, terminated, truncated, info = env.step(driver(env, seen))
            sums["shaped"] += np.where(going, weight * shaped, 0.0)
            sums["carl"] += np.where(going, weight * info["true_reward"], 0.0)
            whole += np.where(going, shaped, 0.0)
            steps += going
            going &= ~(terminated | truncated)
            weight *= GAMMA
            if not going.any():
                break
        env.close()
        paid[name] = {
            **{f"{reward}, discounted": float(sums[reward].mean()) for reward in REWARDS},
            "shaped, whole episode": float(whole.mean()),
            "steps": float(steps.mean()),
        }
    return {"premise": paid}


def report(out: Path) -> None:
    """The page of all runs in ``out``."""
    everything = stored(out)
    runs = [one for one in everything if "curve" in one]
    paid = [one["premise"] for one in everything if "premise" in one]
    cells = {
        (reward, size): sorted(
            (one for one in runs if (one["reward"], one["minibatch"]) == (reward, size)), key=lambda one: one["seed"]
        )
        for reward in REWARDS
        for size in SIZES
    }
    rows = [
        [reward, str(size), *(said([one["curve"][-1][what] for one in mine]) for what in ("score", "completion"))]
        + [said([one["curve"][-1]["success"] for one in mine]), str(len(mine))]
        for (reward, size), mine in cells.items()
        if mine
    ]
    tables = [Table("Means and 95% intervals over seeds.", ["reward", "mini-batch", *HEADS, "seeds"], rows)]
    if paid:
        names = list(next(iter(paid[0].values())))
        driven = [[name, *(f"{paid[0][name][what]:.2f}" for what in names)] for name in paid[0]]
        tables.append(Table("What scripted drivers are paid.", ["driver", *names], driven))
    write_page(
        out,
        everything,
        title="Mini-batches and rewards",
        command="python benchmarks/studies/minibatch.py report",
        words=f"fast-ppo in {ENV}, {STEPS:,} samples a run unless told otherwise, {PROBLEMS} held-out problems. The "
        f"learning rate is 2.5e-4 at mini-batches of {SIZES[0]} and grows with the square root of their size; neither "
        "condition was tuned. The folder `pilot` holds three runs at a constant rate before: with 16,384 samples a "
        "mini-batch nothing was learnt.",
        tables=tables,
        found=verdict(cells),
    )


HEADS = ("score", "route completion", "success")


def falls(cells: dict[tuple[str, int], list[dict[str, Any]]], reward: str) -> dict[int, float]:
    """By how much the score falls from the smallest to the largest mini-batch, by seed."""
    small, large = (
        {one["seed"]: one["curve"][-1]["score"] for one in cells[reward, size]} for size in (SIZES[0], SIZES[-1])
    )
    return {seed: small[seed] - large[seed] for seed in sorted(small.keys() & large.keys())}


def verdict(cells: dict[tuple[str, int], list[dict[str, Any]]]) -> str:
    """The claim has two parts, each judged by itself: the shaped sum falls, and by more than CaRL's reward."""
    shaped, carl = falls(cells, "shaped"), falls(cells, "carl")
    seeds = sorted(shaped.keys() & carl.keys())
    if len(seeds) < 3:
        return "Too few seeds for a verdict."
    effects = {
        "the score under the shaped sum falls by": [shaped[seed] for seed in seeds],
        "which is more than under CaRL's reward by": [shaped[seed] - carl[seed] for seed in seeds],
    }
    judged = judge({name: Part(Sample.of(values), tuple(values)) for name, values in effects.items()})
    told = ", ".join(f"{name} {one.interval:.2f} ({one.judgement})" for name, one in judged.items())
    return f"From the smallest to the largest mini-batch {told}. Verdict: {overall(judged)}."


def main() -> None:
    """One step of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["premise", "run", "report"])
    parser.add_argument("--reward", choices=REWARDS, default="carl")
    parser.add_argument("--minibatch", type=int, choices=SIZES, default=SIZES[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--problems", type=int, default=PROBLEMS)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    if asked.what == "report":
        report(asked.out)
    elif asked.what == "premise":
        print(once(asked.out, "premise", {"problems": asked.problems}, lambda: premise(asked.problems))["premise"])
    else:
        name = f"{asked.reward}-{asked.minibatch}-{asked.seed}"
        settings = {"steps": asked.steps, "problems": asked.problems}
        arguments = (asked.reward, asked.minibatch, asked.seed, asked.steps, asked.problems)
        print(once(asked.out, name, settings, lambda: run(*arguments))["curve"][-1])


if __name__ == "__main__":
    main()
