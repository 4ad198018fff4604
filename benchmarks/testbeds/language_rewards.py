"""Rewards by language goals in a rendered maze, where the distance that they stand for is known.

A small dual encoder is trained on frames of ``tiltyard/PointMaze-v0`` and captions that say how far the ball is from
the goal, and what distracts: the colour of the light and that of a square somewhere in the picture. Its reward for
"ball at goal" is compared with minus the length of the path to the goal, on frames held out. A seed draws the encoder's
first weights, its batches, and which frames are trained and held out; they come from one bank for all seeds.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ...wrappers.rewards.encoders import DualEncoder
from ...wrappers.rewards.vlm_rm import regularised
from ..statistics import Floats

SUBJECT, GOAL = "ball in maze", "ball in maze and ball at goal"
BINS = {0.45: "ball at goal", 1.5: "ball near goal", 3.0: "ball far from goal", np.inf: "ball opposite goal"}
"""What is said of a path up to so many metres."""
LIGHTS = {"white": (1.0, 1.0, 1.0), "red": (1.0, 0.7, 0.7), "green": (0.7, 1.0, 0.7), "blue": (0.7, 0.7, 1.0)}
SQUARES = {"yellow": (230, 220, 40), "magenta": (220, 40, 200), "cyan": (40, 220, 220)}
LEXICON = (*"ball in maze at goal near far from opposite light square".split(), *LIGHTS, *SQUARES)
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
WHOLE, EDGE, SIDE = 106, 21, 64
"""Pixels of a frame, of the wall around the maze that is cut off, and of what is left."""
Frames = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Size:
    """Of an encoder: filters of its three convolutions, and the width of the common space."""

    filters: tuple[int, int, int]
    width: int


class Likeness(NamedTuple):
    """Spearman's correlations with minus the distance on frames held out, one for each of :data:`ALPHAS`."""

    plain: Floats
    distracted: Floats


@dataclass(frozen=True, kw_only=True)
class LanguageRewards:
    """The testbed; conditions are sizes of encoders.

    Attributes:
        bank: frames that are rendered.
        held_out: of them, for each seed.
        steps: of training.
        batch: frames of a step.
    """

    bank: int = 1000
    held_out: int = 300
    steps: int = 1500
    batch: int = 32

    def run(self, condition: Size, rate: float, seed: int) -> Likeness:
        """Trains an encoder at Adam's rate, and correlates; all sizes see the same frames and distractors of a seed."""
        rng = np.random.default_rng([2310, seed])
        frames, distances = rendered(self.bank)
        order = rng.permutation(len(frames))
        tested, trained = order[: self.held_out], order[self.held_out :]
        shown, said = distracted(frames[trained], distances[trained], rng)
        encoder = DualEncoder(LEXICON, filters=condition.filters, width=condition.width, seed=seed, centred=True)
        how: dict[str, Any] = {"steps": self.steps, "batch": self.batch, "learning_rate": rate}
        encoder.fit_statements(shown, said, subject=SUBJECT, rng=rng, **how)
        encoder.eval()
        goal, baseline = encoder.words([GOAL, SUBJECT]).numpy().astype(np.float64)
        other, _ = distracted(frames[tested], distances[tested], np.random.default_rng([2311, seed]))
        shots = (frames[tested], other)
        return Likeness(*(_correlations(encoder, one, goal, baseline, distances[tested]) for one in shots))

    def smallest(self) -> Self:
        """Few frames and steps."""
        return replace(self, bank=60, held_out=30, steps=4, batch=16)


def _correlations(encoder: DualEncoder, frames: Frames, goal: Floats, baseline: Floats, distances: Floats) -> Floats:
    from scipy.stats import spearmanr

    seen = encoder.pictures(frames).numpy().astype(np.float64)
    rewards = [regularised(seen, goal, baseline, alpha) for alpha in ALPHAS]
    return np.array([float(spearmanr(one, -distances).statistic) for one in rewards])


@lru_cache(maxsize=2)
def rendered(count: int) -> tuple[Frames, Floats]:
    """Frames ``[count, 64, 64, 3]`` and paths to the goal, m: the ball anywhere, the goal in one place."""
    import gymnasium

    from ...wrappers.rewards.potentials import published_potential

    env: Any = gymnasium.make("tiltyard/PointMaze-v0", render_mode="rgb_array", width=WHOLE, height=WHOLE, min_path=1)
    potential, rng = published_potential(env), np.random.default_rng(2312)
    maze = env.unwrapped.batched.maze
    goal, reach = maze.centres[0], np.abs(maze.centres).max() + 0.5
    frames: list[Frames] = []
    distances: list[float] = []
    while len(frames) < count:
        start = rng.uniform(-reach, reach, 2)
        if maze.has_room(start):
            observation, _ = env.reset(seed=0, options={"start": start, "goal": goal})
            frames.append(env.render()[EDGE : EDGE + SIDE, EDGE : EDGE + SIDE])
            distances.append(-float(potential(observation)))
    env.close()
    return np.stack(frames), np.array(distances)


def distracted(frames: Frames, distances: Floats, rng: np.random.Generator) -> tuple[Frames, list[list[str]]]:
    """Frames under coloured light with a square somewhere, and what is true of each."""
    shown, said = frames.astype(np.float64), []
    for picture, distance in zip(shown, distances, strict=True):
        light, square = rng.choice(list(LIGHTS)), rng.choice(list(SQUARES))
        picture *= LIGHTS[light]
        row, column, side = rng.integers(0, SIDE - 10, 2).tolist() + [int(rng.integers(5, 10))]
        picture[row : row + side, column : column + side] = SQUARES[square]
        where = next(text for most, text in BINS.items() if distance <= most)
        said.append([where, f"{light} light", f"{square} square"])
    return shown.astype(np.uint8), said


@lru_cache(maxsize=4)
def best_alpha(bed: LanguageRewards, size: Size, rate: float, seeds: tuple[int, ...]) -> int:
    """Number of the alpha above 0 whose correlation with distractors is best on ``seeds``, mean over them."""
    means = np.mean([bed.run(size, rate, seed).distracted for seed in seeds], axis=0)
    return 1 + int(np.argmax(means[1:]))
