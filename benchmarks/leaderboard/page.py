"""The leaderboard as one HTML file: no script, no network, every number beside its interval and its command.

Curves and profiles are drawn by Matplotlib (:mod:`.figures`). The bars of the interquartile means are not: they stand
in the rows of a table whose names wrap and whose numbers keep their size down to the width of a phone. Drawn as one
picture, its text shrinks there to a third, or else a long name leaves the axis a quarter of the width.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...envs.catalogue import find
from ..charts import PALETTE, number, ticks
from ..overshoot import length_of
from ..pages import render as filled
from ..runs import FinishedRun
from ..saturated import finer
from .board import OVERALL, Board, Metric, Result, Section, leaderboard
from .explore import write_site
from .figures import Colours, curves_svg, profile_svg
from .groups import env_of, identity, short, summary_of
from .scales import Scale, ScaleName, on_published
from .videos import collected, recorded


def write_page(
    runs: Iterable[FinishedRun],
    out: str | Path,
    *,
    rng: np.random.Generator | None = None,
    verified: Collection[str] = (),
    scale: ScaleName = "expert",
    scales: Sequence[ScaleName] = (),
    record: bool = False,
    trust: bool = False,
) -> Path:
    """Writes the page and returns its path.

    Args:
        runs: finished runs.
        out: an ``.html`` file, or a folder that gets an ``index.html`` and, beside it, the same as a site to sort and
            filter (:mod:`.explore`); made where missing.
        rng: decides the bootstrap; by default the same one each time, so that the same runs make the same page.
        verified: names of runs that were verified; their rows get a mark.
        scale: what scores on the page are normalised by (:mod:`.scales`).
        scales: on which others the site shows them; those that no run has a place on are left out.
        record: play an episode of each agent on each task into the site, if a checkpoint is there (:mod:`.videos`);
            videos that lie in run folders are shown in any case.
        trust: for ``record``, import what runs name as module:Class or module:id, which runs its code.

    Raises:
        ValueError: no finished run.
    """
    runs, rng = list(runs), rng or np.random.default_rng(0)
    board = leaderboard(runs, rng=rng, verified=verified, scale=scale)
    path = Path(out) if Path(out).suffix == ".html" else Path(out) / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    site = path.name == "index.html"
    path.write_text(render(board, site=site), encoding="utf-8")
    if site:
        others = [one for one in scales if one != scale and (one != "published" or on_published(runs))]
        boards = [board, *(leaderboard(runs, rng=rng, verified=verified, scale=one) for one in others)]
        videos = collected(board.runs, path.parent)
        write_site(boards, path.parent, _colours(board), videos)
        if record:  # the site is whole before the first episode, whatever becomes of that
            videos |= recorded(board, path.parent, trust=trust)
            write_site(boards, path.parent, _colours(board), videos)
    return path


def render(board: Board, *, site: bool = False) -> str:
    """The page of ``board``; with a link to its site (:mod:`.explore`) where there is one."""
    colours = _colours(board)
    return filled(
        "leaderboard.html",
        site=site,
        board=board,
        colours=colours,
        counts=_counts(board),
        level=f"{board.level:.0%}",
        results_of=lambda section: _results(section, board),
        figures_of=lambda section, results: _figures(section, results, colours, board.scale),
        anchor=_anchor,
        duration=_duration,
        length=length_of,
        figures=_shown,
        forest_scale=_Scale,
        number=number,
        proofs=_proofs,
        seeds=_seeds,
        short=short,
        summary_of=summary_of,
    )


def _colours(board: Board) -> Colours:
    """One colour an agent on the whole page, no colour twice in a section as long as the palette lasts."""
    colours: dict[str, str] = {}
    for section in board.sections:
        agents = [standing.agent for standing in section.standings]
        for agent in sorted(set(agents) - set(colours)):
            here = Counter(colours[other] for other in agents if other in colours)
            everywhere = Counter(colours.values())
            colours[agent] = min((here[one], everywhere[one], i, one) for i, one in enumerate(PALETTE))[-1]
    return colours


def _counts(board: Board) -> dict[str, int]:
    runs = board.runs
    return {
        "run": len(runs),
        "agent": len({(one.kind, one.handle) for one in (identity(run.run) for run in runs)}),
        "task": len({run.run.task for run in runs}),
        "domain": len({find(run.run.env_id).domain for run in runs}),
    }


def _results(section: Section, board: Board) -> list[Result]:
    """The section's tables by task; the overall section shows none, for every task stands in its own section."""
    return [] if section.name == OVERALL else [result for result in board.results if result.task in section.tasks]


class _Scale:
    """The axis of a section's interval bars."""

    def __init__(self, section: Section, most_ticks: int) -> None:
        metrics = [standing.metrics["iqm"] for standing in section.standings]
        ends = [x for one in metrics for x in ([one.interval.low, one.interval.high] if one.interval else [one.value])]
        self._low, self._high = min(0.0, *ends), max(1.0, *ends)
        self.ticks = ticks(self._low, self._high, most_ticks)

    def at(self, value: float) -> str:
        """Where a value lies, as CSS has it."""
        return f"{100 * (value - self._low) / (self._high - self._low):.2f}%"


class _Figure(NamedTuple):
    title: str
    caption: str
    agents: list[str]
    chart: str


def _figures(section: Section, results: Sequence[Result], colours: Colours, by: Scale) -> list[_Figure]:
    """The section's performance profile, and learning curves of the tasks that have results."""
    drawn = [_profile(section, colours)]
    if results:
        drawn += [_curve(task, [one for one in results if one.task == task], colours, by) for task in section.tasks]
    return drawn


def _profile(section: Section, colours: Colours) -> _Figure:
    labels = ("return τ" if section.raw else "normalised score τ", "share of runs above τ")
    chart = profile_svg(section, colours, f"Performance profile, {section.title}", labels)
    agents = [standing.agent for standing in section.standings if standing.profile]
    return _Figure("Performance profile", "share of all runs × tasks that score above τ", agents, chart)


def _curve(task: str, results: Sequence[Result], colours: Colours, by: Scale) -> _Figure:
    scored = env_of(task).scored
    offline = all(result.runs[0].run.track == "offline" for result in results)
    labels = ("updates" if offline else "environment steps", "normalised return" if scored else "return")
    chart = curves_svg(results, colours, f"Learning curves, {task}", labels)
    caption = "held-out problems, mean over runs" + f"; 0 random, 1 {by.one}" * scored
    return _Figure(f"Learning curves, {short(task)}", caption, [result.agent for result in results], chart)


class _Proofs(NamedTuple):
    physics: str
    listed: dict[str, str]


def _proofs(result: Result) -> _Proofs:
    """Versions, commit and hardware of one row."""
    runs = result.runs
    versions = dict(pair for run in runs for pair in run.versions.items())
    listed = {
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "commit": _shared(run.commit or "an installed wheel" for run in runs),
        "hardware": _shared(run.hardware for run in runs),
        "episodes": _shared(f"{len(run.scores)} held-out episodes a run" for run in runs),
    }
    return _Proofs(f"MuJoCo {versions['mujoco']}, " if "mujoco" in versions else "", listed)


def _shown(metric: Metric, spec: str) -> tuple[str, str]:
    """A number, and what stands small beside it: its interval, or why it has none."""
    if np.isnan(metric.value):
        return "-", ""
    if metric.interval is None:
        return f"{metric.value:{spec}}", metric.why or "no interval"
    low, high = metric.interval.low, metric.interval.high
    if spec == ".2f" and high - low < 0.02:  # so that a narrow interval does not read as none
        spec = ".3f"
    spec = finer(spec, low, high)
    return f"{metric.value:{spec}}", f"{low:{spec}} to {high:{spec}}"


def _shared(values: Iterable[str]) -> str:
    """The value all runs share, or each with its count."""
    counts = Counter(values)
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(f"{value} ({n} run{'s' if n > 1 else ''})" for value, n in counts.items())


def _seeds(result: Result) -> str:
    """``0 to 9`` where they follow each other, else each."""
    seeds = [run.run.seed for run in result.runs]
    if len(seeds) > 3 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _duration(result: Result) -> str:
    seconds = float(np.median([run.wall_seconds for run in result.runs]))
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _anchor(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name)
