"""What studies of driving share: a run a file, whole problems played at once, and a page of what lies in a folder."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from scipy.stats import t as student

from tiltyard.benchmarks.evaluation import REPORTED_EVALUATION
from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.provenance import commit, hardware, versions
from tiltyard.benchmarks.saturated import no_width, none
from tiltyard.benchmarks.threads import one_thread

STEP = 0.2  # s


class Table(NamedTuple):
    """A table of a page."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def once(out: Path, name: str, settings: Mapping[str, Any], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What ``work`` returns, from ``out/name.json`` if it lies there; else it is done and written, whole or not at all.

    Raises:
        ValueError: there is a run of this name with other settings.
    """
    file = out / f"{name}.json"
    told = json.loads(json.dumps(dict(settings)))
    if file.exists():
        stored: dict[str, Any] = json.loads(file.read_text())
        if stored["settings"] != told:
            raise ValueError(f"{file} was made with other settings: give another --out, or delete it")
        return stored
    out.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    with one_thread():
        result = work()
    spent = round(time.process_time() - began, 1)
    where = {"commit": commit(), "hardware": hardware(), "versions": versions()}
    whole = {"name": name, "settings": told, **result, "cpu_seconds": spent, **where}
    partial = file.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(whole, indent=1) + "\n")
    partial.replace(file)
    return whole


def stored(out: Path) -> list[dict[str, Any]]:
    """All runs in a folder, by name."""
    return [json.loads(file.read_text()) for file in sorted(out.glob("*.json"))]


class Ride(NamedTuple):
    """One episode.

    Attributes:
        score: its return under the environment's own reward.
        completion: share of the route.
        success: whether it arrived without infraction and offence.
        infraction: what ended it.
        seconds: it took.
        metres: of the route that were driven.
        pushed: steps in which more than 2 m/s2 of braking were imposed on other road users.
        braking: their sum, m/s2 (a step counts for at most 6).
    """

    score: float
    completion: float
    success: bool
    infraction: str
    seconds: float
    metres: float
    pushed: int
    braking: float


def rides(env_id: str, problems: int, policy: Callable[[Any, Any], Any], **keywords: Any) -> list[Ride]:
    """One test episode of each problem, all at once; ``policy(env, observations)`` gives the actions."""
    given: dict[str, Any] = {"split": "test", "autoreset_mode": "Disabled", **keywords}
    env: Any = gymnasium.make_vec(env_id, problems, vectorization_mode="vector_entry_point", **given)
    seen, info = env.reset(seed=[REPORTED_EVALUATION + i for i in range(problems)])
    lengths, batched = info["route_length"], env.unwrapped.batched
    going = np.ones(problems, np.bool_)
    scores, pushed, braking, steps = (np.zeros(problems) for _ in range(4))
    for _ in range(env.unwrapped.max_episode_steps):
        reward, ended = batched.advance(batched.check(policy(env, seen)), going)
        scores += np.where(going, reward, 0.0)
        courtesy = np.where(going, batched.terms["courtesy"], 1.0)
        pushed += courtesy < 1.0
        braking += np.where(courtesy < 1.0, 2.0 + 4.0 * (1.0 - courtesy), 0.0)
        steps += going
        going &= ~ended
        if not going.any():
            break
        seen = batched.observe()
    told = batched.step_info()
    env.close()
    return [
        Ride(
            float(scores[i]),
            float(told["route_completion"][i]),
            bool(told["success"][i]),
            str(told["infraction"][i]),
            float(steps[i] * STEP),
            float(told["route_completion"][i] * lengths[i]),
            int(pushed[i]),
            float(braking[i]),
        )
        for i in range(problems)
    ]


def trained(agent: Any) -> Callable[[Any, Any], Any]:
    """An agent's best action."""
    return lambda env, seen: agent.predict(seen, deterministic=True)[0]


def expert(env: Any, seen: Any) -> Any:
    """The scripted driver."""
    return env.unwrapped.batched.expert_actions()


def summary(found: Sequence[Ride]) -> dict[str, float]:
    """Means over episodes, and what was imposed a km."""
    km = max(sum(one.metres for one in found) / 1000.0, 1e-9)
    return {
        "score": float(np.mean([one.score for one in found])),
        "completion": float(np.mean([one.completion for one in found])),
        "success": float(np.mean([one.success for one in found])),
        "collisions": float(np.mean([one.infraction == "collision" for one in found])),
        "seconds": float(np.mean([one.seconds for one in found])),
        "km": km,
        "pushed a km": sum(one.pushed for one in found) / km,
        "imposed braking a km": sum(one.braking for one in found) * STEP / km,
    }


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and 95% Student interval; NaN bounds for one value."""
    found = np.asarray(values, np.float64)
    if len(found) < 2:
        return float(found.mean()), float("nan"), float("nan")
    half = float(student.ppf(0.975, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found)))
    return float(found.mean()), float(found.mean()) - half, float(found.mean()) + half


def said(values: Sequence[float], digits: int = 2) -> str:
    """Mean and interval in words; of one value that it is one."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f} (one run)"
    mean, low, high = interval(values)
    if len(values) > 1 and no_width(low, high):
        return f"{mean:.{digits}f} ({none(len(values))})"
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def write_page(
    out: Path, runs: Sequence[Mapping[str, Any]], *, title: str, command: str, words: str, tables: Any, found: str
) -> None:
    """Writes ``out/README.md``.

    Raises:
        ValueError: there is no run.
    """
    if not runs:
        raise ValueError(f"{out} holds no run yet")
    commits = sorted({str(run["commit"]) for run in runs})
    minutes = sum(float(run["cpu_seconds"]) for run in runs) / 60.0
    made = f"{len(runs)} runs, commit {', '.join(commits)}, {runs[0]['hardware']}; {minutes:.0f} core minutes."
    page = render(
        "driving_study.md.jinja", title=title, command=command, made=made, words=words, tables=tables, found=found
    )
    (out / "README.md").write_text(page, encoding="utf-8")
