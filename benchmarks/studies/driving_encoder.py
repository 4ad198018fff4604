"""Trains the shipped encoder of driving pictures and words, and says how well it finds the one by the other.

    python benchmarks/studies/driving_encoder.py train --out wrappers/rewards/driving-encoder.safetensors
    python benchmarks/studies/driving_encoder.py report --out docs/results/driving-encoder

``train`` drives through training maps with the expert, now and then at random so that accidents happen, keeps rasters
with what is true of them, and trains :class:`~tiltyard.wrappers.rewards.driving_encoder.DualEncoder` on captions that
the simulator writes. ``report`` measures on maps of the test split what the file holds:

* retrieval: for each picture, all distinct whole captions of the held-out scenes are ranked; how often its own is
  first, and among the first five;
* each attribute: its sentences alone are ranked; how often the true one is first, beside how often the most frequent
  one is true;
* the goals of VLM-RL: how often an accident has more contrast than a scene without one (area under the ROC curve).
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from tiltyard.benchmarks.pages import plain
from tiltyard.benchmarks.studies._study import Table, once, write_page
from tiltyard.benchmarks.threads import one_thread
from tiltyard.envs.driving.scenarios.driving import Driving
from tiltyard.wrappers.rewards import driving_encoder
from tiltyard.wrappers.rewards.driving_captions import ATTRIBUTES, GOALS, caption, describe

SCENES = ("intersection", "roundabout", "town")
WORLDS, EVERY = 32, 5  # sub-environments of a scene, and steps between two pictures of one
RANDOM_BEGINS, RANDOM_ENDS = 0.04, 0.08  # probabilities a step that an expert lets go of the wheel, and takes it again
FRAMES, STEPS, HELD_OUT = 5000, 600, 1500


def drive(split: str, frames: int, seed: int) -> tuple[Any, Any]:
    """Rasters ``[n, 64, 64, 8]`` and what is true of them ``[n, 6]``, in equal parts from all scenes."""
    rng = np.random.default_rng([seed, split == "test"])
    pictures: list[Any] = []
    values: list[Any] = []
    for scene in SCENES:
        batched = Driving(WORLDS, scene=scene, split=split, observation="bev")  # type: ignore[arg-type]
        everyone, episodes = np.arange(WORLDS), np.zeros(WORLDS, np.int64)
        batched.begin(everyone, seed + everyone, episodes)
        loose, wheel, kept, step = np.zeros(WORLDS, np.bool_), np.zeros((WORLDS, 2), np.float32), 0, 0
        while kept < frames // len(SCENES):
            begins = ~loose & (rng.random(WORLDS) < RANDOM_BEGINS)
            wheel[begins] = rng.uniform((-0.2, -0.15), (1.0, 0.15), (int(begins.sum()), 2))
            loose = (loose | begins) & (rng.random(WORLDS) >= RANDOM_ENDS)
            actions = np.where(loose[:, None], wheel, batched.expert_actions())
            _, ended = batched.advance(batched.check(actions), np.ones(WORLDS, np.bool_))
            step += 1
            infractions = np.where(ended, batched.step_info()["infraction"], "")
            due = (everyone + step) % EVERY == 0
            due |= np.isin(infractions, ("collision", "struck"))
            if due.any():
                truths = describe(batched.view("vector"), infractions)
                pictures.append(batched.observe()[due])
                values.append(truths[due])
                kept += int(due.sum())
            if ended.any():
                episodes[ended] += 1
                batched.begin(everyone[ended], seed + everyone[ended], episodes[ended])
        batched.close()
    return np.concatenate(pictures), np.concatenate(values)


def train(out: Path, frames: int, steps: int, seed: int) -> dict[str, Any]:
    """Trains and writes the encoder; the range of its contrasts is from scenes without to scenes with an accident."""
    began = time.process_time()
    with one_thread():
        pictures, values = drive("train", frames, seed)
        encoder = driving_encoder.DualEncoder(seed=seed)
        losses = encoder.fit(pictures, values, steps=steps, rng=np.random.default_rng(seed))
        encoder.eval()
        some = np.random.default_rng(seed).permutation(len(pictures))[:3000]
        found = contrasts(encoder, pictures[some])
        accident = values[some, 0] == 1
    span = [float(np.median(found[~accident])), float(np.median(found[accident]))]
    told = {
        "span": span,
        "frames": len(pictures),
        "accidents": int(values[:, 0].sum()),
        "steps": steps,
        "seed": seed,
        "loss": [round(float(np.mean(losses[:50])), 4), round(float(np.mean(losses[-50:])), 4)],
        "cpu_seconds": round(time.process_time() - began, 1),
    }
    encoder.save(out, told)
    return told


def contrasts(encoder: Any, pictures: Any) -> Any:
    """How much nearer pictures are to the goal that is not wanted, ``[n]``."""
    wanted, unwanted = encoder.words(list(GOALS)).numpy()
    return vectors(encoder, pictures) @ (unwanted - wanted)


def vectors(encoder: Any, pictures: Any) -> Any:
    """Unit vectors of many pictures ``[n, d]``."""
    return np.concatenate([encoder.pictures(pictures[i : i + 500]).numpy() for i in range(0, len(pictures), 500)])


def measure(encoder: Any, pictures: Any, values: Any) -> dict[str, Any]:
    """See the module."""
    seen = vectors(encoder, pictures)
    distinct, own = np.unique(values, axis=0, return_inverse=True)
    whole = encoder.words([caption(row, [True] * len(ATTRIBUTES)) for row in distinct]).numpy()
    likeness = seen @ whole.T
    rank = (likeness > likeness[np.arange(len(own)), own.ravel()][:, None]).sum(axis=1)
    single = {}
    for number, attribute in enumerate(ATTRIBUTES):
        best = (seen @ encoder.words(list(attribute.sentences)).numpy().T).argmax(axis=1)
        usual = np.bincount(values[:, number]).max() / len(values)
        balanced = [float((best == one)[values[:, number] == one].mean()) for one in np.unique(values[:, number])]
        right = float((best == values[:, number]).mean())
        single[attribute.name] = {"right": right, "most frequent": float(usual), "balanced": float(np.mean(balanced))}
    found, accident = contrasts(encoder, pictures), values[:, 0] == 1
    area = float((found[accident][:, None] > found[~accident][None, :]).mean()) if accident.any() else float("nan")
    return {
        "pictures": len(pictures),
        "captions": len(distinct),
        "first": float((rank == 0).mean()),
        "among five": float((rank < 5).mean()),
        "attributes": single,
        "accidents": int(accident.sum()),
        "area": area,
    }


def report(out: Path, weights: Path, frames: int, seed: int) -> None:
    """Measures and writes the page."""
    encoder, told = driving_encoder.load(weights)

    def work() -> dict[str, Any]:
        return {"found": measure(encoder, *drive("test", frames, seed)), "training": told}

    run = once(out, "held-out", {"frames": frames, "seed": seed, "training": told}, work)
    found = run["found"]
    rows = [
        [plain(name), *(f"{one[what]:.1%}" for what in ("right", "balanced", "most frequent"))]
        for name, one in found["attributes"].items()
    ]
    heads = ["attribute", "right", "mean over its values", "most frequent value"]
    first, five, many = found["first"], found["among five"], found["captions"]
    write_page(
        out,
        [run],
        title="Pictures and words of driving",
        command="python benchmarks/studies/driving_encoder.py report",
        words=f"{found['pictures']} rasters of maps of the test split, {found['accidents']} of them of accidents. "
        f"Trained in {told['cpu_seconds']:.0f} core seconds on {told['frames']} rasters.",
        tables=[Table("One attribute at a time, by its sentences.", heads, rows)],
        found=f"Of {many} whole captions the own is first for {first:.1%} of the pictures and among the first five for "
        f"{five:.1%} (by chance {1 / many:.1%} and {5 / many:.1%}). An accident has more contrast of VLM-RL's goals "
        f"than a scene without one in {found['area']:.1%} of the pairs.",
    )


def main() -> None:
    """One step of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "report"])
    parser.add_argument("--out", type=Path, required=True, help="file of the weights, or folder of the page")
    parser.add_argument("--weights", type=Path, default=driving_encoder.WEIGHTS)
    parser.add_argument("--frames", type=int, default=None)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.what == "train":
        print(json.dumps(train(asked.out, asked.frames or FRAMES, asked.steps, asked.seed)))
    else:
        report(asked.out, asked.weights, asked.frames or HELD_OUT, asked.seed)


if __name__ == "__main__":
    main()
