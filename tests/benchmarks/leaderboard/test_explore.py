"""The leaderboard's site: what it is given, and what a real Chromium makes of it, at two widths and by keyboard."""

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.leaderboard import leaderboard, write_page
from tiltyard.benchmarks.leaderboard.explore import FILES, PAGE, ranked, site_data, write_site
from tiltyard.benchmarks.pages import TEMPLATES
from tiltyard.benchmarks.runs import FinishedRun
from tiltyard.benchmarks.statistics import probability_of_improvement, score_matrix

MakeRun = Callable[..., FinishedRun]
HOPPER = "tiltyard/Hopper-v5"


@pytest.fixture
def runs(make_run: MakeRun) -> list[FinishedRun]:
    levels = {"sac": 0.8, "dsac-t": 0.79, "ppo": 0.3, "td3": 0.1}
    found = [make_run(HOPPER, agent, seed, level) for agent, level in levels.items() for seed in range(6)]
    return [*found, *(make_run("tiltyard/Highway-v0", "dqn", seed, 0.5) for seed in range(6))]


def site(runs: list[FinishedRun], folder: Path) -> None:
    """The site alone, without the page of pictures beside it."""
    board = leaderboard(runs, rng=np.random.default_rng(0))
    write_site(board, folder, dict.fromkeys((run.run.agent for run in runs), "#2f6f9f"))


def test_agents_that_cannot_be_told_apart_share_a_rank() -> None:
    rng = np.random.default_rng(0)
    levels = {"a": 0.9, "b": 0.89, "c": 0.5, "d": 0.1}
    scores = {agent: level + 0.02 * rng.standard_normal((8, 2)) for agent, level in levels.items()}
    assert ranked(scores) == {"a": "1 to 2", "b": "1 to 2", "c": "3", "d": "4"}
    few = {agent: values[:3] for agent, values in scores.items()}
    assert set(ranked(few).values()) == {"1 to 4"}  # below four runs no difference is significant
    assert ranked({}) == {}


def test_the_site_shows_the_boards_numbers(runs: list[FinishedRun]) -> None:
    board = leaderboard(runs, rng=np.random.default_rng(0), verified={run.run.name for run in runs[:6]})
    data = json.loads(json.dumps(site_data(board, dict.fromkeys((row.run.agent for row in runs), "#123456"))))
    section = next(one for one in data["sections"] if one["title"] == "Robotics")
    standings = next(one for one in board.sections if one.name == "robotics").standings
    assert [row["iqm"] for row in section["rows"]] == [one.metrics["iqm"].value for one in standings]
    assert {row["agent"]: row["rank"] for row in section["rows"]} == {
        "sac": "1 to 2",
        "dsac-t": "1 to 2",
        "ppo": "3",
        "td3": "4",
    }
    assert [row["agent"] for row in section["rows"] if row["verified"]] == ["sac"]
    mine = {agent: [run.normalised for run in runs if run.run.agent == agent] for agent in section["agents"]}
    assert [row["seeds"] for row in section["rows"]] == [pytest.approx(mine[row["agent"]]) for row in section["rows"]]
    i, j = section["agents"].index("ppo"), section["agents"].index("td3")
    expected = probability_of_improvement(score_matrix({"x": mine["ppo"]}), score_matrix({"x": mine["td3"]}))
    assert section["odds"][i][j] == pytest.approx(expected)
    assert section["odds"][i][i] is None
    (curves,) = section["curves"]
    assert len(curves["series"]) == 4
    assert all(len(line["mean"]) == len(curves["steps"]) for line in curves["series"])


def test_the_site_names_nothing_outside_itself(runs: list[FinishedRun], tmp_path: Path) -> None:
    site(runs, tmp_path)
    page = (tmp_path / PAGE).read_text()
    for name in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert name == "index.html" or (tmp_path / name).is_file(), name
    assert not [
        name for name in FILES if re.search(r"https?://(?!www\.w3\.org/2000/svg)", (TEMPLATES / name).read_text())
    ]
    for library in ("tabulator", "uplot"):
        assert "Permission is hereby granted" in (tmp_path / "vendor" / f"{library}.LICENSE").read_text()


def test_a_name_cannot_end_the_data(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(HOPPER, "sac", 0, 0.5)
    write_page([replace(run, run=replace(run.run, agent="</script><b>x"))], tmp_path)
    assert "<b>x" not in (tmp_path / PAGE).read_text()
    assert 'href="explore.html"' in (tmp_path / "index.html").read_text()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from tiltyard.envs.gui.web.browser import Browser

    with Browser.launch() as found:
        yield found


def agents_of(page: Any) -> list[str]:
    """Names in the table's rows, from above."""
    cells = '#table .tabulator-row .tabulator-cell[tabulator-field="agent"]'
    found: list[str] = page.evaluate(f"[...document.querySelectorAll('{cells}')].map(one => one.innerText.trim())")
    return found


def until(page: Any, wanted: str) -> Any:
    """What a script gives as soon as that is true, within ten seconds."""
    deadline = time.monotonic() + 10
    while not (value := page.evaluate(wanted)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert value, wanted
    return value


@pytest.mark.web
@pytest.mark.parametrize("width", [1280, 390])
def test_chromium_shows_sorts_searches_and_fits(
    browser: Any, runs: list[FinishedRun], tmp_path: Path, width: int
) -> None:
    site(runs, tmp_path)
    page = browser.page((tmp_path / PAGE).as_uri(), width, 900)
    until(page, "document.querySelectorAll('#table .tabulator-row').length")
    titles = page.evaluate("[...document.querySelectorAll('#section option')].map(one => one.textContent)")
    assert titles == ["Driving", "Robotics"]
    page.evaluate(
        "(() => { const one = document.getElementById('section'); one.value = 1;"
        " one.dispatchEvent(new Event('change')) })()"
    )
    until(page, "document.querySelectorAll('#table .tabulator-row').length === 4")
    first = agents_of(page)
    assert set(first[:2]) == {"sac", "dsac-t"}
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelectorAll('#odds td').length") == 4 * 4 + 1
    assert page.evaluate("document.querySelectorAll('#curves canvas').length") == 1
    head = "document.querySelector('#table .tabulator-col[tabulator-field=\"iqm\"]')"
    page.evaluate(f"{head}.focus()")
    page.key("Enter")
    until(page, "true")
    assert agents_of(page) == list(reversed(first))
    page.evaluate("document.getElementById('search').focus()")
    page.type("PPO")
    until(page, "document.querySelectorAll('#table .tabulator-row').length === 1")
    assert agents_of(page) == ["ppo"]
    assert "1 of 4 agents" in page.evaluate("document.getElementById('about').textContent")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.evaluate("document.getElementById('theme').click()")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.close()
