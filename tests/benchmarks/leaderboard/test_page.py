import io
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from tiltyard.benchmarks.charts import PALETTE
from tiltyard.benchmarks.leaderboard import print_leaderboard, write_page
from tiltyard.benchmarks.runs import FinishedRun

MakeRun = Callable[..., FinishedRun]
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Checker(HTMLParser):
    """Notes unbalanced tags, anything that could reach the network, and the text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.problems: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in {"script", "link", "img", "iframe", "object", "embed"}:
            self.problems.append(f"<{tag}>")
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            elif name in {"href", "src", "xlink:href", "srcset", "action"}:
                self.links.add(value or "")
            elif name.startswith("on"):
                self.problems.append(name)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"unbalanced </{tag}>")

    def handle_data(self, data: str) -> None:
        self.text += data


def checked(path: Path) -> Checker:
    checker = Checker()
    checker.feed(path.read_text(encoding="utf-8"))
    checker.close()
    assert checker.problems == []
    assert checker.open == []
    return checker


def test_page_is_well_formed_and_reaches_nothing_outside_itself(smoke_runs: list[FinishedRun], tmp_path: Path) -> None:
    page = write_page(smoke_runs, tmp_path / "site")
    assert page == tmp_path / "site" / "index.html"
    checker = checked(page)
    assert {link.removeprefix("#") for link in checker.links} - {"explore.html"} <= checker.ids
    assert "@import" not in page.read_text()
    assert "url(" not in page.read_text()


def test_page_shows_every_row_with_commands_versions_seeds_commit_and_hardware(
    smoke_runs: list[FinishedRun], tmp_path: Path
) -> None:
    text = checked(write_page(smoke_runs, tmp_path / "board.html")).text
    for run in smoke_runs:
        assert run.run.command in text
    assert text.count("mujoco 3.11.0") == 8  # once for each task and agent
    assert text.count("MuJoCo 3.11.0") == 8
    assert text.count(smoke_runs[0].commit) == 8
    assert text.count(smoke_runs[0].hardware) == 8
    for word in ("Text", "GUI", "Driving", "Robotics", "Countdown-v0", "dsac-t", "0, 1, 2", "Optimality gap"):
        assert word in text


def test_page_draws_bands_profiles_and_curves(smoke_runs: list[FinishedRun], tmp_path: Path) -> None:
    checker = checked(write_page(smoke_runs, tmp_path))
    assert checker.tags.count("svg") == 8  # a profile and a task's curves in each of four domains
    text = (tmp_path / "index.html").read_text()
    assert text.count("opacity:0.16") == 16  # two agents each
    assert len(re.findall(r"stroke-width:1.6[^>]*><title>", text)) == 16
    assert "<title>grpo at 20k: 0." in text  # every evaluation says its number


def test_nothing_is_drawn_outside_the_axes(smoke_runs: list[FinishedRun], tmp_path: Path) -> None:
    charts = re.findall(r"<svg class=.*?</svg>", write_page(smoke_runs, tmp_path).read_text())
    assert len(charts) == 8
    for chart in charts:
        paths = [one.attrib for one in ElementTree.fromstring(chart).iter("path")]
        points = [np.array(re.findall(r"([-\d.]+) ([-\d.]+)", one["d"]), np.float64) for one in paths]
        frame = np.concatenate(
            [at for one, at in zip(paths, points, strict=True) if "stroke-width:0.8" in one["style"]]
        )
        (left, top), (right, bottom) = frame.min(axis=0), frame.max(axis=0)
        drawn = np.concatenate([at for one, at in zip(paths, points, strict=True) if "var(" not in one["style"]])
        assert (drawn >= [left - 0.1, top - 0.1]).all()
        assert (drawn <= [right + 0.1, bottom + 0.1]).all()
        label = max(float(one.attrib["y"]) for one in ElementTree.fromstring(chart).iter("text"))
        assert bottom < label - 8  # the line at 0 is no deeper than the axis


def test_nothing_on_the_page_keeps_its_colour_where_it_is_dark_but_agents(
    smoke_runs: list[FinishedRun], tmp_path: Path
) -> None:
    text = write_page(smoke_runs, tmp_path).read_text()
    style, _, body = text.partition("</style>")
    assert set(re.findall(r"#[0-9a-f]{6}", body)) <= set(PALETTE)
    light, dark = (re.findall(r"--[a-z]+(?=: #)", part) for part in style.split("prefers-color-scheme: dark"))
    assert sorted(light) == sorted(dark)
    assert set(re.findall(r"var\((--[a-z]+)\)", body)) <= set(dark)


def test_a_page_of_many_agents_stays_light(make_run: MakeRun, tmp_path: Path) -> None:
    runs = [
        make_run("tiltyard/Maze-v0", "grpo", seed, 0.02 * i, params={"method": f"method-{i}"}, points=10)
        for i in range(45)
        for seed in range(4)
    ]
    assert write_page(runs, tmp_path).stat().st_size < 500_000


NASTY = "</td><script>alert('x')</script> \"'&lt; [bold] [/y] [link=http://e.f] \n\x1b[2J\u202e"


def nasty_runs(make_run: MakeRun) -> list[FinishedRun]:
    """Runs with markup in every field that holds text, on two tasks, in two ways."""
    words = {"env_kwargs": {NASTY: NASTY}, "dataset": f"a/{NASTY}", "method": NASTY, NASTY: [NASTY]}
    says = {"hardware": NASTY, "commit": NASTY, "versions": {NASTY: NASTY, "mujoco": NASTY}}
    return [
        make_run("tiltyard/Hopper-v5", agent, seed, 0.5, params={**words, "offline_steps": seed + 1}, **says)
        for agent in ("sac", "td3")
        for seed in range(3)
    ] + [make_run("tiltyard/Countdown-v0", "grpo", 0, 0.5, params=words, **says)]


def test_nothing_that_a_run_says_of_itself_is_html(make_run: MakeRun, tmp_path: Path) -> None:
    checker = checked(write_page(nasty_runs(make_run), tmp_path))
    assert checker.text.count("<script>alert('x')</script>") > 20
    assert "&lt;" in checker.text  # what stood there escaped is shown so
    assert checker.ids == {"robotics-offline-to-online", "text-offline-to-online", "reading"}
    assert {link.removeprefix("#") for link in checker.links} - {"explore.html"} <= checker.ids


def test_nothing_that_a_run_says_of_itself_moves_the_terminal(make_run: MakeRun) -> None:
    out = io.StringIO()
    print_leaderboard(nasty_runs(make_run), console=Console(file=out, width=200, force_terminal=True))
    shown = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue())  # colours
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    for word in ("[bold]", "[/y]", "[link=http://e.f]"):
        assert word in shown


def test_same_runs_same_page(smoke_runs: list[FinishedRun], tmp_path: Path) -> None:
    first, second = write_page(smoke_runs, tmp_path / "a"), write_page(smoke_runs[::-1], tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()


def test_one_run_makes_a_page_without_intervals(make_run: MakeRun, tmp_path: Path) -> None:
    checker = checked(write_page([make_run("tiltyard/Hopper-v5", "sac", 0, 0.5)], tmp_path))
    assert "only 1 run: no interval below 3" in checker.text
    assert "no interval" in checker.text
    assert "1 run of 1 agent on 1 task in 1 domain" in checker.text
    assert checker.text.count("No points to draw.") == 1  # of the performance profile, which needs three runs


def test_terminal_shows_intervals_and_flags_without_cutting_numbers(make_run: MakeRun) -> None:
    runs = [make_run("tiltyard/HalfCheetah-v5", "dsac-t", seed, 0.5) for seed in range(3)]
    runs += [
        make_run("tiltyard/HalfCheetah-v5", "sac", 0, 0.2),
        make_run("tiltyard/HalfCheetah-v5", "[bold]td3", 0, 0.1),
    ]
    out = io.StringIO()
    board = print_leaderboard(runs, console=Console(file=out, width=80, color_system=None))
    shown = out.getvalue()
    iqm = board.sections[0].standings[0].metrics["iqm"].interval
    assert iqm is not None
    assert f"{iqm:.3f}" in shown
    assert "sac: only 1 run: no interval below 3." in shown
    assert "[bold]td3" in shown
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_terminal_names_every_task_in_one_line_above_columns_that_are_alike(make_run: MakeRun) -> None:
    tasks = ("tiltyard/HalfCheetah-v5", "tiltyard/InvertedDoublePendulum-v5")
    name = f"sac {'a long name ' * 5}"
    runs = [make_run(task, agent, seed, 0.5) for task in tasks for agent in ("td3", name) for seed in range(3)]
    out = io.StringIO()
    print_leaderboard(runs, console=Console(file=out, width=80, color_system=None))
    shown = [line.rstrip() for line in out.getvalue().partition("Every task")[2].splitlines()]
    assert max(map(len, shown)) <= 80
    places = [shown.index(task.removeprefix("tiltyard/")) for task in tasks]
    heads = [shown[place + 2] for place in places]
    assert heads[0] == heads[1]
    assert heads[0].split() == ["agent", "mean", "return", "success", "steps", "runs"]
    rows = [line for line in shown if line.startswith(" td3 ")]
    assert len(rows) == 2
    assert all(len(row) == len(heads[0]) for row in rows)
    assert all("sac a long name" in "\n".join(shown[place:]) for place in places)


@pytest.mark.browser
@pytest.mark.parametrize("width", [500, 1280])
def test_chromium_draws_the_page(smoke_runs: list[FinishedRun], tmp_path: Path, width: int) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert browser, "this test needs a Chromium"
    page, picture = write_page(smoke_runs, tmp_path), tmp_path / "page.png"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    flags += [f"--screenshot={picture}", f"--window-size={width},2400", page.as_uri()]
    subprocess.run([browser, *flags], check=True, capture_output=True, timeout=120, env=os.environ)
    from PIL import Image

    colours = Image.open(picture).convert("RGB").getcolors(maxcolors=1 << 24)
    assert colours is not None
    assert len(colours) > 100
