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
from .leaderboard import Section, leaderboard
from .runs import load_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCENES = {
    "text": ("tiltyard/Countdown-v0", 1),
    "gui": ("tiltyard/Phone-v0", 3),
    "driving": ("tiltyard/Highway-v0", 60),
    "robotics": ("tiltyard/HalfCheetah-v5", 120),
}
INK, GRID = "#1c2430", "#d7dce3"
COLOURS = ("#2f6fdb", "#e0752d")


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
    for place, standing in enumerate(reversed(section.standings)):
        iqm = standing.metrics["iqm"]
        colour = COLOURS[place % len(COLOURS)]
        if iqm.interval is not None:
            axes.plot([iqm.interval.low, iqm.interval.high], [place, place], color=colour, lw=5, alpha=0.35)
        axes.plot(iqm.value, place, "o", color=colour, ms=7)
    axes.set_yticks(range(len(section.standings)), [s.agent.partition(",")[0] for s in reversed(section.standings)])
    axes.set_ylim(-0.7, len(section.standings) - 0.3)
    axes.set_xlim(min(-0.05, *(s.metrics["iqm"].value - 0.05 for s in section.standings)), 1.05)
    axes.grid(axis="x", color=GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
    axes.set_xlabel("IQM, 0 = random, 1 = expert", fontsize=8)


def draw(runs: Path, out: Path) -> None:
    """Writes the picture of the finished runs below ``runs`` to ``out`` (PNG)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sections = {
        section.name: section for section in leaderboard(load_runs(runs), rng=np.random.default_rng(0)).sections
    }
    figure = Figure(figsize=(12.8, 5.4), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    halves: Any = figure.subfigures(2, 1, height_ratios=(2.2, 1))
    above, below = halves
    pictures = [frame(env_id, steps) for env_id, steps in SCENES.values()]
    shapes = [picture.shape[1] / picture.shape[0] for picture in pictures]
    top = above.subplots(1, len(SCENES), gridspec_kw={"width_ratios": [min(shape, 2.4) for shape in shapes]})
    bottom = below.subplots(1, len(SCENES))
    for column, (domain, (env_id, _)) in enumerate(SCENES.items()):
        top[column].imshow(pictures[column], interpolation="lanczos")
        top[column].set_title(env_id.removeprefix("tiltyard/"), fontsize=11, color=INK, family="monospace")
        top[column].axis("off")
        bottom[column].set_title(domain, fontsize=10, color=INK)
        if domain in sections:
            _standings(bottom[column], sections[domain])
        else:
            bottom[column].axis("off")
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)


def gallery(domain: str, out: Path, *, steps: int = 40, columns: int = 7) -> None:
    """Writes what each environment of ``domain`` looks like after ``steps`` steps of its expert to ``out`` (PNG)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    ids = [row.id for row in ROWS if row.domain == domain]
    rows = -(-len(ids) // columns)
    figure = Figure(figsize=(2.0 * columns, 2.25 * rows), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    every: Any = figure.subplots(rows, columns, squeeze=False)
    for axes in every.flat:
        axes.axis("off")
    for axes, env_id in zip(every.flat, ids, strict=False):  # the last row may have room left
        axes.imshow(frame(env_id, steps), interpolation="lanczos")
        axes.set_title(env_id.removeprefix("tiltyard/"), fontsize=8, color=INK, family="monospace")
    out.parent.mkdir(parents=True, exist_ok=True)
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
