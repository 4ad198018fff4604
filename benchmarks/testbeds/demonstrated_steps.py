"""Steps found in rendered demonstrations, and rewards for them, where sub-goals and a hand-made reward are known.

The scripted experts of ``tiltyard/DrawerDoor-v0`` (open the door or the drawer: reach the handle, pull) and of
``tiltyard/ObjectRelocation-v0`` (grasp the block, carry it over the wall, put it down) are seen by a fixed camera. Some
of their episodes are the demonstrations that steps and rewards are learnt from, others are held out. A seed draws the
problems, the features' weights and the baseline's steps. Frames are drawn in software, alike on every machine.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ...envs.robotics.relocation_expert import NEAR
from ...wrappers.rewards.frame_features import ConvolutionalFeatures, pixels
from ...wrappers.rewards.perceptualreward import Features, StepRewards, labels
from ..statistics import Floats

SIDE = 64
"""Pixels of a frame each way."""
GRIPPED = 0.001
"""Metres from each finger to the block at most."""
Task = tuple[str, tuple[tuple[str, Any], ...]]
TASKS: dict[str, Task] = {
    "open door": ("tiltyard/DrawerDoor-v0", (("goals", ("open door",)),)),
    "open drawer": ("tiltyard/DrawerDoor-v0", (("goals", ("open drawer",)),)),
    "relocation": ("tiltyard/ObjectRelocation-v0", ()),
}
Frames = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Method:
    """How steps are found.

    Attributes:
        features: "convolutions" of random weights, or "pixels".
        by_length: whether segments count by their frames.
        shortest: step, as a share of its demonstration.
    """

    features: str = "convolutions"
    by_length: bool = True
    shortest: float = 0.1

    @property
    def params(self) -> dict[str, Any]:
        """That tuning tells of."""
        return {"shortest": self.shortest}


class Demonstration(NamedTuple):
    """One episode: frames, true steps, and minus the metres still to go, each ``[T]``."""

    frames: Frames
    steps: Indices
    hand_made: Floats


class Scores(NamedTuple):
    """Means over tasks, of the demonstrations first, then of those held out.

    Attributes:
        overlap: Jaccard similarity of found and true steps, mean over steps.
        random_overlap: that of steps drawn at random, in order.
        equal_overlap: that of steps of equal length.
        error: of boundaries, as a share of the demonstration.
        rise: Spearman's correlation of reward and time within a demonstration.
        agreement: that of reward and hand-made reward over all frames.
        hand_rise: that of hand-made reward and time.
    """

    overlap: float
    random_overlap: float
    equal_overlap: float
    error: float
    rise: float
    agreement: float
    hand_rise: float


@dataclass(frozen=True, kw_only=True)
class DemonstratedSteps:
    """The testbed; conditions are methods, and a condition's rate is how many features of a step are kept.

    Attributes:
        tasks: of :data:`TASKS`.
        demonstrations: to learn from, of each task and seed.
        held_out: further ones.
        draws: of random steps for each demonstration.
    """

    tasks: tuple[str, ...] = tuple(TASKS)
    demonstrations: int = 8
    held_out: int = 8
    draws: int = 50

    def run(self, condition: Method, rate: float, seed: int) -> Scores:
        """Finds and learns; all conditions of a seed see the same frames."""
        return Scores(
            *np.mean([self.scores(task, condition, round(rate), seed) for task in self.tasks], axis=0).tolist()
        )

    def scores(self, task: str, condition: Method, n_features: int, seed: int) -> Scores:
        """Of one task."""
        played = demonstrations(task, self.demonstrations + self.held_out, seed)
        shown, others = played[: self.demonstrations], played[self.demonstrations :]
        steps = 1 + int(shown[0].steps[-1])
        found = StepRewards(
            [one.frames for one in shown],
            features(condition.features, seed),
            steps=steps,
            n_features=max(n_features, 1),
            min_size=max(2, round(condition.shortest * min(len(one.frames) for one in shown))),
            by_length=condition.by_length,
        )
        rng = np.random.default_rng([1612, seed])
        both = [(labels(at, len(one.steps)), one.steps) for at, one in zip(found.starts, shown, strict=True)]
        rewards, hand_made = [found.score(one.frames) for one in others], [one.hand_made for one in others]
        return Scores(
            overlap=mean(overlap(*one) for one in both),
            random_overlap=mean(random_overlap(true, rng, self.draws) for _, true in both),
            equal_overlap=mean(overlap(np.arange(len(true)) * steps // len(true), true) for _, true in both),
            error=mean(boundary_error(*one) for one in both),
            rise=mean(correlation(one, np.arange(len(one))) for one in rewards),
            agreement=correlation(np.concatenate(rewards), np.concatenate(hand_made)),
            hand_rise=mean(correlation(one, np.arange(len(one))) for one in hand_made),
        )

    def smallest(self) -> Self:
        """One task, few demonstrations."""
        return replace(self, tasks=self.tasks[:1], demonstrations=2, held_out=1, draws=2)


class Remembered:
    """Features that are computed once for each array of frames.

    Args:
        of: the features.
    """

    def __init__(self, of: Features) -> None:
        self.of = of
        self.known: dict[int, tuple[Frames, npt.NDArray[np.float32]]] = {}  # with the frames, whose id stays theirs

    def __call__(self, frames: Frames) -> Floats:
        """See :data:`.perceptualreward.Features`."""
        if id(frames) not in self.known:
            self.known[id(frames)] = frames, self.of(frames).astype(np.float32)
        return self.known[id(frames)][1].astype(np.float64)


@lru_cache(maxsize=64)
def features(kind: str, seed: int) -> Remembered:
    """Those that a :class:`Method` names."""
    return Remembered(ConvolutionalFeatures(seed=seed) if kind == "convolutions" else pixels)


@lru_cache(maxsize=64)
def demonstrations(task: str, count: int, seed: int) -> list[Demonstration]:
    """The first successful episodes of the task's expert in its training problems from a seed on."""
    import gymnasium

    from ...wrappers.rewards.potentials import published_potential

    with drawn_in_software():
        env: Any = gymnasium.make(
            TASKS[task][0], render_mode="rgb_array", width=SIDE, height=SIDE, **dict(TASKS[task][1])
        )
        potential, expert, problem = published_potential(env), env.unwrapped.expert(), 10_000 * seed
        found: list[Demonstration] = []
        while len(found) < count:
            observation, _ = env.reset(seed=problem)
            frames, steps, hand_made, over, success = [env.render()], [0], [float(potential(observation))], False, False
            while not over:
                observation, _, terminated, truncated, info = env.step(
                    expert.predict(observation, deterministic=True)[0]
                )
                frames.append(env.render())
                steps.append(max(steps[-1], reached(env.unwrapped.batched)))
                hand_made.append(float(potential(observation)))
                over, success = terminated or truncated, bool(info["success"])
            if success:
                found.append(Demonstration(np.stack(frames), np.array(steps), np.array(hand_made)))
            problem += 1
        env.close()
    return found


def reached(task: Any) -> int:
    """Sub-goals that hold in a task's state: the handle held; or the block gripped, and then over the other bin."""
    if hasattr(task, "held"):
        return int(task.held()[0])
    gripped = bool((task.gaps()[0] < GRIPPED).all())
    return 2 if float(task.sensed("block")[0, 1]) < -NEAR else int(gripped)


@contextmanager
def drawn_in_software() -> Iterator[None]:
    """Inside, views that open draw in software, whatever OpenGL there is."""
    before = os.environ.get("MUJOCO_GL")
    os.environ["MUJOCO_GL"] = "disable"
    try:
        yield
    finally:
        del os.environ["MUJOCO_GL"]
        if before is not None:
            os.environ["MUJOCO_GL"] = before


def overlap(found: Indices, true: Indices) -> float:
    """The Jaccard similarity of each step's frames, mean over steps; both ``[T]``."""
    each = [((found == k) & (true == k)).sum() / ((found == k) | (true == k)).sum() for k in range(int(true.max()) + 1)]
    return float(np.mean(each))


def random_overlap(true: Indices, rng: np.random.Generator, draws: int) -> float:
    """:func:`overlap` of as many steps at random, in order: the paper's baseline."""
    count = int(true.max())
    drawn = (np.sort(rng.choice(np.arange(1, len(true)), count, replace=False)) for _ in range(draws))
    return float(np.mean([overlap(labels(one.tolist(), len(true)), true) for one in drawn]))


def boundary_error(found: Indices, true: Indices) -> float:
    """How far steps begin from where they truly do, as a share of the demonstration, mean over steps 2, 3, ..."""
    return float(np.abs(np.flatnonzero(np.diff(found)) - np.flatnonzero(np.diff(true))).mean() / len(true))


def mean(values: Iterable[float]) -> float:
    """Of several."""
    return float(np.mean(list(values)))


def correlation(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Spearman's; 0 where the first never changes."""
    from scipy.stats import spearmanr

    return 0.0 if not np.ptp(np.asarray(one)) else float(spearmanr(one, other).statistic)
