"""The leaderboard as one HTML file: no script, no network, every number beside its interval and its command."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np

from ...envs.catalogue import find
from ..runs import FinishedRun
from .board import OVERALL, Board, Metric, Result, Section, Standing, leaderboard
from .charts import Series, line_chart, number, ticks
from .groups import env_of, identity, short

PALETTE = ("#b6402a", "#22609f", "#2f7d5b", "#a8760f", "#6a4c9c", "#12808a", "#a23c72", "#5f5a52")
Colours = Mapping[str, str]


def write_page(runs: Iterable[FinishedRun], out: str | Path, *, rng: np.random.Generator | None = None) -> Path:
    """Writes the page and returns its path.

    Args:
        runs: finished runs.
        out: an ``.html`` file, or a folder that gets an ``index.html``; made where missing.
        rng: decides the bootstrap; by default the same one each time, so that the same runs make the same page.

    Raises:
        ValueError: no finished run.
    """
    board = leaderboard(runs, rng=rng or np.random.default_rng(0))
    path = Path(out) if Path(out).suffix == ".html" else Path(out) / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(board), encoding="utf-8")
    return path


def render(board: Board) -> str:
    """The page of ``board``."""
    colours = _colours(board)
    css = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    sections = "\n".join(_section(section, board, colours) for section in board.sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tiltyard leaderboard</title>
<style>
{css}</style>
</head>
<body>
{_header(board)}
<main>
{_glance(board, colours)}
{sections}
{_how_to_read(board)}
</main>
<footer>Made by <code>tiltyard leaderboard</code>. The same runs make the same page.</footer>
</body>
</html>
"""


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


def _header(board: Board) -> str:
    runs = board.runs
    counts = [
        (len(runs), "run"),
        (len({(one.kind, one.handle) for one in (identity(run.run) for run in runs)}), "agent"),
        (len({run.run.task for run in runs}), "task"),
        (len({find(run.run.env_id).domain for run in runs}), "domain"),
    ]
    said = [f"{count} {word}{'s' if count != 1 else ''}" for count, word in counts]
    links = [f'<a href="#{_anchor(section.name)}">{escape(section.title)}</a>' for section in board.sections]
    notes = "".join(f"<li>{escape(note)}.</li>" for note in board.notes)
    return f"""<header>
<div class="mark">Tiltyard</div>
<h1>Leaderboard</h1>
<p class="lead">{said[0]} of {said[1]} on {said[2]} in {said[3]}. Scores are normalised: 0 is a policy that acts at
random, 1 the scripted expert. Bars and bands are {board.level:.0%} intervals over independent runs.</p>
<nav>{"".join(links)}<a href="#reading">How to read this</a></nav>
{f'<ul class="notes">{notes}</ul>' if notes else ""}
</header>"""


def _glance(board: Board, colours: Colours) -> str:
    """Every domain's intervals in one figure, where there is more than one domain."""
    if len(board.sections) < 2:
        return ""
    forests = "".join(
        f'<div><h3><a href="#{_anchor(one.name)}">{escape(one.title)}</a></h3>{_forest(one, colours, 2)}</div>'
        for one in board.sections
    )
    return f"""<section class="first">
<h2>At a glance</h2>
<p class="quiet">Interquartile mean of normalised scores. Agents are compared within a domain, and overall once they ran
every task of every domain.</p>
<div class="glance card">{forests}</div>
</section>"""


def _section(section: Section, board: Board, colours: Colours) -> str:
    results = [result for result in board.results if result.task in section.tasks]
    figures = [_profile(section, colours)]
    tasks = ""
    if section.name != OVERALL:
        figures += [
            _curve(task, [result for result in results if result.task == task], colours) for task in section.tasks
        ]
        tasks = _tasks(results, colours)
    listed = "; ".join(f"{escape(short(task))} ({escape(env_of(task).summary)})" for task in section.tasks)
    return f"""<section id="{_anchor(section.name)}">
<h2>{escape(section.title)}</h2>
<p class="quiet">{listed}</p>
<div class="card">
<h3>Interquartile mean of {"returns" if section.raw else "normalised scores"}</h3>
{_forest(section, colours, 5)}
{_standings(section)}
</div>
<div class="grid">
{"".join(figures)}
</div>
{tasks}
</section>"""


def _forest(section: Section, colours: Colours, most_ticks: int) -> str:
    """Dots with interval bars on one scale, in HTML so that it reflows on a phone."""
    metrics = [standing.metrics["iqm"] for standing in section.standings]
    ends = [x for one in metrics for x in ([one.interval.low, one.interval.high] if one.interval else [one.value])]
    low, high = min(0.0, *ends), max(1.0, *ends)

    def at(value: float) -> str:
        return f"{100 * (value - low) / (high - low):.2f}%"

    lines = "".join(
        f'<i class="{"zero" if x in (0, 1) else ""}" style="left:{at(x)}"></i>' for x in ticks(low, high, most_ticks)
    )
    rows = []
    for standing, metric in zip(section.standings, metrics, strict=True):
        colour, bar = colours[standing.agent], ""
        if metric.interval:
            span = f"left:{at(metric.interval.low)};right:calc(100% - {at(metric.interval.high)})"
            bar = f'<span class="bar" style="{span};background:{colour}"></span>'
        rows.append(
            f'<div class="row"><div class="agent">{_name(standing.agent, colours)}</div><div class="track">{lines}{bar}'
            f'<span class="dot" style="left:{at(metric.value)};background:{colour}"></span></div>'
            f'<div class="value">{_number(metric)}</div></div>'
        )
    labels = "".join(
        f'<span style="left:{at(x)}">{number(x) if section.raw else _reference(x)}</span>'
        for x in ticks(low, high, most_ticks)
    )
    return f'<div class="forest">{"".join(rows)}<div class="axis">{labels}</div></div>'


def _reference(value: float) -> str:
    return {0.0: "0 random", 1.0: "1 expert"}.get(value, number(value))


def _standings(section: Section) -> str:
    head = _head("agent", "mean", "median", "optimality gap", "beats the next row", "runs", "", words=(0, 6))
    rows = "".join(_standing(standing) for standing in section.standings)
    return f'<div class="scroll"><table>{head}<tbody>{rows}</tbody></table></div>'


def _standing(standing: Standing) -> str:
    numbers = [_number(standing.metrics[name]) for name in ("mean", "median", "optimality_gap")]
    cells = "".join(
        f'<td class="n">{cell}</td>' for cell in (*numbers, _beats(standing.beats_next), str(standing.runs))
    )
    rank = f"{standing.rank}. " if standing.rank else ""
    remarks = escape("; ".join(standing.flags))
    return f'<tr><td class="who">{rank}{escape(standing.agent)}</td>{cells}<td class="words">{remarks}</td></tr>'


def _beats(metric: Metric | None) -> str:
    if metric is None:
        return ""
    if metric.interval is None and metric.value in (0.0, 1.0):
        return f"{metric.value:.0%} <small>of all pairs of runs</small>"
    return _number(metric, ".0%")


def _profile(section: Section, colours: Colours) -> str:
    series = [
        Series(standing.agent, colours[standing.agent], section.thresholds, standing.profile.estimate, standing.profile)
        for standing in section.standings
        if standing.profile
    ]
    chart = line_chart(
        series,
        title=f"Performance profile, {section.title}",
        x_label="return τ" if section.raw else "normalised score τ",
        y_label="share of runs above τ",
        y_range=(0.0, 1.0),
    )
    return _figure("Performance profile", "share of all runs × tasks that score above τ", series, chart)


def _steps(results: Sequence[Result]) -> str:
    offline = all(result.runs[0].run.track == "offline" for result in results)
    return "updates" if offline else "environment steps"


def _curve(task: str, results: Sequence[Result], colours: Colours) -> str:
    series = [
        Series(result.agent, colours[result.agent], result.steps, result.curve, result.curve_band) for result in results
    ]
    scored = env_of(task).scored
    label = "normalised return" if scored else "return"
    chart = line_chart(series, title=f"Learning curves, {task}", x_label=_steps(results), y_label=label)
    caption = "held-out problems, mean over runs" + "; 0 random, 1 expert" * scored
    return _figure(f"Learning curves, {short(task)}", caption, series, chart)


def _figure(title: str, caption: str, series: Sequence[Series], chart: str) -> str:
    key = "".join(
        f'<span><b class="swatch" style="background:{one.colour}"></b>{escape(one.name)}</span>' for one in series
    )
    return f"""<figure class="card"><h3>{escape(title)}</h3>
<figcaption>{escape(caption)}<div class="key">{key}</div></figcaption>
{chart}</figure>
"""


def _tasks(results: Sequence[Result], colours: Colours) -> str:
    head = _head("task", "agent", "mean return", "success", "steps", "seeds", "a run took", words=(0, 1))
    rows = "".join(_result(result, colours) + _proof(result) for result in results)
    return f'<div class="scroll"><table>{head}<tbody>{rows}</tbody></table></div>'


def _result(result: Result, colours: Colours) -> str:
    runs = result.runs
    cells = [
        _number(result.score, ",.2f"),
        _number(result.success, ".0%"),
        runs[0].run.length.removesuffix(" steps"),
        _seeds([run.run.seed for run in runs]),
        _duration(float(np.median([run.wall_seconds for run in runs]))),
    ]
    tail = "".join(f'<td class="n">{cell}</td>' for cell in cells)
    name = _name(result.agent, colours)
    return f'<tr class="runs"><td>{escape(short(result.task))}</td><td class="who">{name}</td>{tail}</tr>'


def _proof(result: Result) -> str:
    """Commands, versions, commit and hardware of one row, folded away."""
    runs = result.runs
    commands = "\n".join(escape(run.run.command) for run in runs)
    versions = dict(pair for run in runs for pair in run.versions.items())
    facts = {
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "commit": _shared(run.commit or "an installed wheel" for run in runs),
        "hardware": _shared(run.hardware for run in runs),
        "episodes": _shared(f"{len(run.scores)} held-out episodes a run" for run in runs),
    }
    listed = "".join(f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    flags = "".join(f'<p class="quiet">{escape(flag)}.</p>' for flag in result.flags)
    physics = f"MuJoCo {versions['mujoco']}, " if "mujoco" in versions else ""
    summary = f"{len(runs)} command{'s' if len(runs) != 1 else ''}, {escape(physics)}seeds, commit, hardware"
    return f"""<tr class="proof"><td colspan="7">{flags}<details><summary>{summary}</summary>
<pre>{commands}</pre><dl>{listed}</dl></details></td></tr>
"""


def _how_to_read(board: Board) -> str:
    return f"""<section id="reading">
<h2>How to read this</h2>
<p><b>Interquartile mean</b>: the mean of the middle half of all runs × tasks; one lucky run or one easy task hardly
moves it. <b>Median</b>: over tasks, of the mean over runs. <b>Optimality gap</b>: how far below the expert the scores
lie on average (smaller is better). <b>Beats the next row</b>: the probability that a run of this agent outscores a run
of the agent below, on a task of the section, ties counting half.</p>
<p><b>Intervals</b> are {board.level:.0%} percentile intervals of the stratified bootstrap: runs are resampled within
each task. They speak of repeating these experiments with new seeds on the same tasks, and with three to five runs they
are too narrow. No interval is given for fewer than three runs. Intervals that overlap do not show that two
agents are equal.</p>
<p class="quiet">Method: Agarwal, Schwarzer, Castro, Courville and Bellemare, Deep Reinforcement Learning at the Edge
of the Statistical Precipice (2021).</p>
</section>"""


def _head(*names: str, words: tuple[int, ...]) -> str:
    cells = "".join(f"<th{'' if i in words else ' class=n'}>{escape(name)}</th>" for i, name in enumerate(names))
    return f"<thead><tr>{cells}</tr></thead>"


def _name(agent: str, colours: Colours) -> str:
    return f'<b class="swatch" style="background:{colours[agent]}"></b>{escape(agent)}'


def _number(metric: Metric, spec: str = ".2f") -> str:
    if np.isnan(metric.value):
        return "-"
    if metric.interval is None:
        return f"{metric.value:{spec}} <small>no interval</small>"
    low, high = metric.interval.low, metric.interval.high
    if spec == ".2f" and high - low < 0.02:  # so that a narrow interval does not read as none
        spec = ".3f"
    return f"{metric.value:{spec}} <small>{low:{spec}} to {high:{spec}}</small>"


def _shared(values: Iterable[str]) -> str:
    """The value all runs share, or each with its count."""
    counts = Counter(values)
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(f"{value} ({n} run{'s' if n > 1 else ''})" for value, n in counts.items())


def _seeds(seeds: Sequence[int]) -> str:
    """``0 to 9`` where they follow each other, else each."""
    if len(seeds) > 3 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _anchor(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name)
