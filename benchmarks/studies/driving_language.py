"""What language goals teach: VLM-RL's and DriveVLM-RL's rewards beside simpler ones.

    python benchmarks/studies/driving_language.py premise --out docs/results/driving-language
    python benchmarks/studies/driving_language.py run --arm vlm-rl --seed 0 --out docs/results/driving-language
    python benchmarks/studies/driving_language.py report --out docs/results/driving-language

``premise`` asks whether the rewards tell good driving from poor: what each pays a step to the expert, to one who lets
go of the wheel now and then, to one who stands, and how often a step of the expert is paid more than one of the others
(the area under the ROC curve). A run is one SAC in ``tiltyard/Intersection-v0`` under ``own`` (the scene's reward),
``vlm-rl``, ``wanted`` (as VLM-RL, but with the goal that is wanted alone), ``drivevlm-rl``, or ``unpunished``
(``drivevlm-rl`` without a penalty for infractions); all are judged by the same held-out problems. The encoder is the
small one that is shipped, not CLIP.
"""

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tiltyard.benchmarks.studies._driving_study import rides, summary, trained
from tiltyard.benchmarks.studies._study import Table, once, said, stored, write_page

ENV = "tiltyard/Intersection-v0"
ARMS = ("own", "vlm-rl", "wanted", "drivevlm-rl", "unpunished")
ENVS, STEPS, PROBLEMS = 16, 200_000, 100
OUT = Path("docs/results/driving-language")


def scene(arm: str, envs: int, **keywords: Any) -> Any:
    """What a run trains in."""
    from tiltyard.wrappers.driving import VectorJudged
    from tiltyard.wrappers.rewards.drivevlm_rl import VectorDriveVLMRL
    from tiltyard.wrappers.rewards.driving_encoder import load
    from tiltyard.wrappers.rewards.vlm_rl import Contrast, LanguageGoals, VectorVLMRL

    env = gymnasium.make_vec(ENV, envs, vectorization_mode="vector_entry_point", **keywords)
    if arm == "own":
        return env
    if arm == "vlm-rl":
        return VectorVLMRL(env)
    if arm == "wanted":
        encoder, told = load()
        low, high = told["span"]  # of two goals: one of them moves by half of it
        goal = Contrast(encoder, weights=(1.0, 0.0), span=(0.5 * low, 0.5 * high))
        alone = VectorJudged(env, LanguageGoals(goal))
        alone.needs_frames = True
        return alone
    return VectorDriveVLMRL(env, late=True, penalty=0.0 if arm == "unpunished" else -10.0)


def run(arm: str, seed: int, steps: int, problems: int) -> dict[str, Any]:
    """Trains and scores one agent."""
    from tiltyard.agents import make
    from tiltyard.wrappers.rewards.drivevlm_rl import LateRewards

    env = scene(arm, ENVS)
    late = LateRewards(env) if "pathways" in vars(env) else None
    agent: Any = make(
        "sac", env, seed=seed, device="cpu", buffer_size=steps + 1000, learning_starts=2000, gradient_steps=4
    )
    agent.learn(steps, callback=late)
    asked = {} if late is None else {"asked": env.pathways.queue.asked / env.pathways.frames, "late": late.written}
    return {"arm": arm, "seed": seed, "found": summary(rides(ENV, problems, trained(agent))), **asked}


def premise(envs: int, steps: int) -> dict[str, Any]:
    """Means of each reward's score and reward a step under scripted drivers, and areas under the ROC curve."""
    paid: dict[str, Any] = {}
    for arm in ("vlm-rl", "wanted", "drivevlm-rl"):
        rewards: dict[str, Any] = {}
        for driver in ("expert", "careless", "stands"):
            rng = np.random.default_rng(1)
            env = scene(arm, envs, split="test")
            env.reset(seed=7)
            loose, seen = np.zeros(envs, np.bool_), []
            for _ in range(steps):
                actions = env.unwrapped.batched.expert_actions()
                loose = (loose | (rng.random(envs) < 0.05)) & (rng.random(envs) >= 0.1)
                if driver == "careless":
                    actions[loose] = (0.7, 0.05)
                elif driver == "stands":
                    actions[:] = (-1.0, 0.0)
                _, reward, *_ = env.step(actions)
                seen.append(reward)
            rewards[driver] = np.concatenate(seen)
            env.close()
        good = rewards["expert"]
        paid[arm] = {f"{driver}, a step": float(mine.mean()) for driver, mine in rewards.items()}
        for driver in ("careless", "stands"):
            poor = rewards[driver]
            above = (good[:, None] > poor[None, :]).mean() + 0.5 * (good[:, None] == poor[None, :]).mean()
            paid[arm][f"area against {driver}"] = float(above)
    return {"premise": paid}


def report(out: Path) -> None:
    """The page of all runs in ``out``."""
    everything = stored(out)
    rows = []
    for arm in ARMS:
        mine = [one["found"] for one in everything if one.get("arm") == arm]
        if mine:
            cells = [said([one[name] for one in mine]) for name in ("completion", "success", "collisions")]
            rows.append([arm, *cells, str(len(mine))])
    tables = [Table("By reward.", ["reward", "route completion", "success", "collisions", "seeds"], rows)]
    for one in everything:
        if "premise" in one:
            heads = list(next(iter(one["premise"].values())))
            lines = [[arm, *(f"{found[head]:.2f}" for head in heads)] for arm, found in one["premise"].items()]
            tables.append(Table("What scripted drivers are paid.", ["reward", *heads], lines))
    asked = [one["asked"] for one in everything if "asked" in one]
    share = f"The slow judge was asked about {np.mean(asked):.1%} of the frames." if asked else ""
    write_page(
        out,
        everything,
        title="Language goals as rewards of driving",
        command="python benchmarks/studies/driving_language.py report",
        words=f"SAC in {ENV}; means and 95% intervals over seeds on held-out problems.",
        tables=tables,
        found=share,
    )


def main() -> None:
    """One step of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["premise", "run", "report"])
    parser.add_argument("--arm", choices=ARMS, default="vlm-rl")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--problems", type=int, default=PROBLEMS)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    settings = {"steps": asked.steps, "problems": asked.problems}
    if asked.what == "report":
        report(asked.out)
    elif asked.what == "premise":
        work = once(asked.out, "premise", settings, lambda: premise(16, min(asked.steps, 200)))
        print(work["premise"])
    else:
        arguments = (asked.arm, asked.seed, asked.steps, asked.problems)
        print(once(asked.out, f"{asked.arm}-{asked.seed}", settings, lambda: run(*arguments))["found"])


if __name__ == "__main__":
    main()
