"""The README's pictures.

``python -m tiltyard.benchmarks.picture runs/smoke docs/picture.png`` draws one expert frame a domain above the
leaderboard of finished runs; ``python -m tiltyard.benchmarks.picture robotics docs/robotics.png`` a frame of each
environment of a domain.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import numpy.typing as npt

from ..envs.catalogue import ROWS
from .charts import Estimate, canvas, colour, intervals
from .leaderboard import Section, leaderboard
from .loading import load_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCENES = {
    "text": ("tiltyard/Countdown-v0", 1),
    "gui": ("tiltyard/Phone-v0", 3),
    "driving": ("tiltyard/Highway-v0", 60),
    "robotics": ("tiltyard/HalfCheetah-v5", 120),
}


def frame(env_id: str, steps: int, seed: int = 4) -> npt.NDArray[np.uint8]:
    """What one environment looks like ``[H, W, 3]`` after its expert has acted for ``steps`` steps."""
    env = gymnasium.make(env_id, render_mode="rgb_array", split="test")
    env.reset(seed=seed)
    expert: Any = env.unwrapped
    for _ in range(steps):
        *_, terminated, truncated, _ = env.step(expert.expert().predict(None)[0])
        if terminated or truncated:
            break
    picture: npt.NDArray[np.uint8] = np.asarray(env.render())
    env.close()
    return picture


def _standings(axes: "Axes", section: Section) -> None:
    rows = []
    for place, standing in enumerate(section.standings):
        iqm = standing.metrics["iqm"]
        rows.append(Estimate(standing.agent.partition(",")[0], iqm.value, iqm.interval, colour(place)))
    intervals(axes, rows, size=10)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(min(-0.05, *(row.value - 0.05 for row in rows)), 1.05)
    axes.set_xlabel("IQM, 0 = random, 1 = expert")


def _show(axes: "Axes", env_id: str, picture: npt.NDArray[np.uint8], size: int) -> None:
    axes.imshow(picture, interpolation="lanczos")
    axes.set_title(env_id.removeprefix("tiltyard/"), fontsize=size, family="monospace")
    axes.axis("off")


def draw(runs: Path, out: Path) -> None:
    """Writes the picture of the finished runs below ``runs`` to ``out`` (PNG)."""
    sections = {
        section.name: section for section in leaderboard(load_runs(runs), rng=np.random.default_rng(0)).sections
    }
    pictures = [frame(env_id, steps) for env_id, steps in SCENES.values()]
    shapes = [picture.shape[1] / picture.shape[0] for picture in pictures]
    out.parent.mkdir(parents=True, exist_ok=True)
    with canvas(12.8, 5.4) as figure:
        halves: Any = figure.subfigures(2, 1, height_ratios=(2.2, 1))
        above, below = halves
        top = above.subplots(1, len(SCENES), gridspec_kw={"width_ratios": [min(shape, 2.4) for shape in shapes]})
        bottom = below.subplots(1, len(SCENES))
        for column, (domain, (env_id, _)) in enumerate(SCENES.items()):
            _show(top[column], env_id, pictures[column], 11)
            bottom[column].set_title(domain)
            if domain in sections:
                _standings(bottom[column], sections[domain])
            else:
                bottom[column].axis("off")
        figure.savefig(out, dpi=110)


def gallery(domain: str, out: Path, *, steps: int = 40, columns: int = 7) -> None:
    """Writes what each environment of ``domain`` looks like after ``steps`` steps of its expert to ``out`` (PNG)."""
    ids = [row.id for row in ROWS if row.domain == domain]
    rows = -(-len(ids) // columns)
    out.parent.mkdir(parents=True, exist_ok=True)
    with canvas(2.0 * columns, 2.25 * rows) as figure:
        every: Any = figure.subplots(rows, columns, squeeze=False)
        for axes, env_id in zip(every.flat, ids, strict=False):
            _show(axes, env_id, frame(env_id, steps), 8)
        for axes in every.flat[len(ids) :]:  # the last row may have room left
            axes.axis("off")
        figure.savefig(out, dpi=90)


def main(arguments: Sequence[str]) -> int:
    """``python -m tiltyard.benchmarks.picture RUNS|DOMAIN OUT.png``."""
    if len(arguments) != 2:
        print("usage: python -m tiltyard.benchmarks.picture RUNS|DOMAIN OUT.png", file=sys.stderr)
        return 2
    what, out = arguments[0], Path(arguments[1])
    if what in SCENES:
        gallery(what, out)
    else:
        draw(Path(what), out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
