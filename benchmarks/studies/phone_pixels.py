"""Behaviour cloning from a phone's pixels: python benchmarks/studies/phone_pixels.py [--seeds 5].

    python benchmarks/studies/phone_pixels.py --tune --out docs/results/phone-pixels    # learning rates, first
    python benchmarks/studies/phone_pixels.py --out docs/results/phone-pixels

The network of :class:`~tiltyard.agents.models.screens.ScreenExtractor` under SB3's ``MultiInputPolicy`` imitates the
scripted expert on ``tiltyard/Phone-v1``: what it sees is the screen of 192 x 108 pixels and the goal's hashed words,
what it does is one of 24 x 12 taps, typing a string of the goal, or a plain verb (``tiltyard.wrappers.pixels``).

* ``pixels``: as described;
* ``goal alone``: the same network and data with every screen black, at training and test, so that what the pixels add
  is the difference.

Both are tested on training problems and on four held-out axes, likeliest actions, the same problems for all. The
expert whose taps go to the middles of cells is the ceiling, a random index the floor. A file a seed and condition,
which is not made again; the page is written from all of them.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.policies import MultiInputActorCriticPolicy

from tiltyard.agents.models.screens import ScreenExtractor
from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.provenance import commit, hardware, versions
from tiltyard.benchmarks.statistics import MIN_RUNS
from tiltyard.benchmarks.verdicts import student_interval
from tiltyard.wrappers.pixels import Pixels

ENV, LEVEL = "tiltyard/Phone-v1", 1
APPS = ("settings", "clock", "music", "notes", "maps")
"""Those of the suite gui-v1."""
FOLDER = Path("docs/results/phone-pixels")
CONDITIONS = ("pixels", "goal alone")
TESTS: dict[str, dict[str, Any]] = {
    "train": {"split": "train"},
    **{axis: {"split": "test", "held_out": axis} for axis in ("params", "wording", "theme", "template")},
}
RATES = (3e-4, 1e-3, 3e-3)
TRAINING, REPORTED, TUNING = 0, 1, 2  # purposes of seeds
TUNING_SEED, BATCH, STEPS, PHONES = 1000, 64, 40, 50
Arrays = dict[str, npt.NDArray[Any]]


def seeds_of(purpose: int, seed: int, n: int) -> list[int]:
    """Seeds of ``n`` problems."""
    return [int(one) for one in np.random.default_rng([seed, purpose]).integers(2**31, size=n)]


class Phones:
    """A vector of phones seen by pixels, with the adapter that SB3 gets and the scripted expert.

    Args:
        n: of phones.
        **keywords: of the environment: the split and its axis.
    """

    def __init__(self, n: int, **keywords: Any) -> None:
        self.env: Any = gymnasium.make_vec(
            ENV,
            n,
            "vector_entry_point",
            autoreset_mode=AutoresetMode.SAME_STEP,
            level=LEVEL,
            apps=list(APPS),
            observation="screen",
            max_episode_steps=STEPS,
            **keywords,
        )
        self.adapter = Pixels(self.env.single_observation_space, self.env.single_action_space)
        phone: Any = self.env.unwrapped
        self.expert = phone.expert()

    def each(self, seen: dict[str, Any]) -> list[dict[str, Any]]:
        """Observations by phone."""
        return [{name: part[i] for name, part in seen.items()} for i in range(self.env.num_envs)]

    def encoded(self, seen: dict[str, Any]) -> Arrays:
        """``screen [n, 3, H, W]`` and ``goal [n, bits]``, as SB3 gets them."""
        parts = [self.adapter.encode(one) for one in self.each(seen)]
        screens = np.stack([part["screen"] for part in parts]).transpose(0, 3, 1, 2)
        return {"screen": screens, "goal": np.stack([part["goal"] for part in parts])}

    def indices(self, seen: dict[str, Any]) -> list[int | None]:
        """What the expert does, as the adapter's index; None where no index says it."""
        actions = self.expert.predict(seen)[0]
        return [self.adapter.index(a, one) for a, one in zip(actions, self.each(seen), strict=True)]


def demonstrations(seeds: Sequence[int]) -> Arrays:
    """Steps of the expert on these training problems: ``screen``, ``goal`` and ``action [steps]``."""
    found: dict[str, list[npt.NDArray[Any]]] = {"screen": [], "goal": [], "action": []}
    for at in range(0, len(seeds), PHONES):
        some = seeds[at : at + PHONES]
        phones = Phones(len(some), split="train")
        seen, _ = phones.env.reset(seed=list(some))
        going = np.ones(len(some), np.bool_)
        while going.any():
            shown, actions, indices = phones.encoded(seen), phones.expert.predict(seen)[0], phones.indices(seen)
            said = np.array([going[i] and index is not None for i, index in enumerate(indices)])
            found["screen"].append(shown["screen"][said])
            found["goal"].append(shown["goal"][said])
            found["action"].append(np.array([index for index, use in zip(indices, said, strict=True) if use], np.int64))
            seen, _, terminated, truncated, _ = phones.env.step(list(actions))
            going &= ~(terminated | truncated)
        phones.env.close()
    return {name: np.concatenate(parts) for name, parts in found.items()}


def policy_of(seed: int, rate: float) -> MultiInputActorCriticPolicy:
    """A new network."""
    th.set_num_threads(1)
    th.manual_seed(seed)
    phones = Phones(1, split="train")
    observation, action = phones.adapter.observation_space, phones.adapter.action_space
    phones.env.close()
    channels_first = gymnasium.spaces.Dict(
        screen=gymnasium.spaces.Box(0, 255, (3, 192, 108), np.uint8),
        goal=observation["goal"],  # type: ignore[index]
    )
    made = MultiInputActorCriticPolicy(channels_first, action, lambda _: rate, features_extractor_class=ScreenExtractor)
    made.features_extractor.to(memory_format=th.channels_last)  # type: ignore[call-overload]
    return made


def cloned(condition: str, seed: int, rate: float, data: Arrays, updates: int) -> MultiInputActorCriticPolicy:
    """A network after ``updates`` of 64 steps by cross-entropy, drawn with replacement."""
    policy, rng = policy_of(seed, rate), np.random.default_rng(seed)
    policy.set_training_mode(True)
    for _ in range(updates):
        drawn = rng.integers(len(data["action"]), size=BATCH)
        with mixed():
            _, said, _ = policy.evaluate_actions(shown(condition, data, drawn), th.as_tensor(data["action"][drawn]))
        policy.optimizer.zero_grad()
        (-said.mean()).backward()  # type: ignore[no-untyped-call]
        policy.optimizer.step()
    policy.set_training_mode(False)
    return policy


def mixed() -> th.autocast:
    """bfloat16 in the convolutions, which is several times faster on a processor that has it."""
    return th.autocast("cpu", th.bfloat16)


def shown(condition: str, data: Arrays, rows: Any) -> dict[str, th.Tensor]:
    """Tensors of these rows; black screens for the goal alone."""
    made = {name: th.as_tensor(data[name][rows]) for name in ("screen", "goal")}
    made["screen"] = made["screen"].contiguous(memory_format=th.channels_last)
    if condition == "goal alone":
        made["screen"] = th.zeros_like(made["screen"])
    return made


def success(act: Any, seeds: Sequence[int], **keywords: Any) -> float:
    """Share of these problems solved; ``act`` takes the phones and what they show, and returns indices."""
    phones = Phones(len(seeds), **keywords)
    seen, _ = phones.env.reset(seed=list(seeds))
    won, going = np.zeros(len(seeds), np.bool_), np.ones(len(seeds), np.bool_)
    while going.any():
        actions = [
            phones.adapter.decode(index, one) if index is not None else "wait"
            for index, one in zip(act(phones, seen), phones.each(seen), strict=True)
        ]
        seen, _, terminated, truncated, info = phones.env.step(actions)
        ended = going & (terminated | truncated)
        won[ended] = np.asarray(info["final_info"]["success"])[ended] if ended.any() else False
        going &= ~ended
    phones.env.close()
    return float(won.mean())


def acting(policy: MultiInputActorCriticPolicy, condition: str) -> Any:
    """Likeliest actions of a policy."""

    def act(phones: Phones, seen: dict[str, Any]) -> list[int]:
        with th.no_grad(), mixed():
            made = policy(shown(condition, phones.encoded(seen), slice(None)), deterministic=True)[0]
        return [int(one) for one in made]

    return act


def tune(given: argparse.Namespace) -> None:
    """Writes ``tuning.json``: success on training problems of their own, each condition at each rate."""
    started = time.process_time()
    data = demonstrations(seeds_of(TRAINING, TUNING_SEED, given.demonstrations))
    problems = seeds_of(TUNING, 0, given.problems)
    found: dict[str, dict[str, float]] = {}
    for condition in CONDITIONS:
        for rate in given.rates:
            policy = cloned(condition, TUNING_SEED, rate, data, given.updates)
            found.setdefault(condition, {})[f"{rate:g}"] = success(acting(policy, condition), problems, split="train")
            print(condition, f"{rate:g}", found[condition][f"{rate:g}"], flush=True)
    chosen = {name: float(max(rates, key=lambda r: rates[r])) for name, rates in found.items()}
    record = {"success": found, "chosen": chosen, "cpu_seconds": round(time.process_time() - started)}
    write(given.out / "tuning.json", record | {"commit": commit(), "hardware": hardware()})


def run(condition: str, seed: int, rate: float, given: argparse.Namespace) -> dict[str, Any]:
    """One seed of one condition: success on each test."""
    started = time.process_time()
    data = demonstrations(seeds_of(TRAINING, seed, given.demonstrations))
    policy = cloned(condition, seed, rate, data, given.updates)
    problems = seeds_of(REPORTED, 0, given.problems)
    scores = {name: success(acting(policy, condition), problems, **keywords) for name, keywords in TESTS.items()}
    return {
        **{"condition": condition, "seed": seed, "learning_rate": rate, "steps": len(data["action"])},
        **{"success": scores, "cpu_seconds": round(time.process_time() - started)},
        **{"commit": commit(), "hardware": hardware(), "versions": versions()},
    }


def references(given: argparse.Namespace) -> dict[str, Any]:
    """The expert by cells and random indices on the same problems."""
    problems, rng = seeds_of(REPORTED, 0, given.problems), np.random.default_rng(0)
    actors = {
        "expert, taps in cells": lambda phones, seen: phones.indices(seen),
        "random": lambda phones, seen: rng.integers(phones.adapter.action_space.n, size=phones.env.num_envs).tolist(),
    }
    return {
        name: {test: success(act, problems, **keywords) for test, keywords in TESTS.items()}
        for name, act in actors.items()
    }


def write(path: Path, record: dict[str, Any]) -> None:
    """JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1) + "\n")
    part.replace(path)


def report(given: argparse.Namespace) -> str:
    """Writes the page of all runs in the folder."""
    runs = [json.loads(path.read_text()) for path in sorted(given.out.glob("run-*.json"))]

    def interval(values: Sequence[float]) -> list[float]:
        if len(values) < MIN_RUNS:
            return [float(np.mean(values))]
        made = student_interval(values)
        return [made.estimate, made.low, made.high]

    by: dict[str, dict[int, dict[str, float]]] = {}
    for one in runs:
        by.setdefault(one["condition"], {})[one["seed"]] = one["success"]
    table = {name: {t: interval([seed[t] for seed in kept.values()]) for t in TESTS} for name, kept in by.items()}
    both = sorted(set(by["pixels"]) & set(by["goal alone"]))
    gain = {t: interval([by["pixels"][s][t] - by["goal alone"][s][t] for s in both]) for t in TESTS}
    read = {name: json.loads((given.out / f"{name}.json").read_text()) for name in ("references", "tuning")}
    page = render(
        "phone_pixels.md.jinja",
        **{"table": table, "gain": gain, "asked": vars(given), "runs": runs, "seeds": len(both)},
        **{"tests": list(TESTS), "cpu_seconds": sum(one["cpu_seconds"] for one in runs), **read},
    )
    (given.out / "README.md").write_text(page)
    return page


def parser() -> argparse.ArgumentParser:
    """Options."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--tune", action="store_true", help="choose a learning rate for each condition first")
    made.add_argument("--rates", type=float, nargs="+", default=list(RATES), help="that --tune tries")
    made.add_argument("--seeds", type=int, default=5)
    made.add_argument("--demonstrations", type=int, default=600, help="episodes of the expert, a seed")
    made.add_argument("--updates", type=int, default=800, help="of 64 steps")
    made.add_argument("--problems", type=int, default=100, help="of each test")
    made.add_argument("--out", type=Path, default=FOLDER)
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Tunes, or runs what is not there yet and writes the page."""
    given = parser().parse_args(arguments)
    th.set_num_threads(1)
    if given.tune:
        tune(given)
        return
    tuning = given.out / "tuning.json"
    if not tuning.exists():
        raise SystemExit(f"{tuning} is missing: run the same command with --tune first")
    rates = json.loads(tuning.read_text())["chosen"]
    for seed in range(given.seeds):
        for condition in CONDITIONS:
            path = given.out / f"run-{condition.replace(' ', '-')}-{seed}.json"
            if not path.exists():
                write(path, run(condition, seed, rates[condition], given))
                print(path.name, json.loads(path.read_text())["success"], flush=True)
    if not (given.out / "references.json").exists():
        write(given.out / "references.json", references(given))
    print(report(given))


if __name__ == "__main__":
    main()
