"""The leaderboard's site: what it is given, and what a real Chromium makes of it, at two widths and by keyboard."""

import csv
import io
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims.record import stored
from tiltyard.benchmarks.index import RESULTS
from tiltyard.benchmarks.leaderboard import leaderboard, write_page
from tiltyard.benchmarks.leaderboard.explore import FILES, PAGE, ranked, site_data, write_site
from tiltyard.benchmarks.leaderboard.paper_list import BESIDE, BUILT, OPEN, PAPERS, paper_rows
from tiltyard.benchmarks.leaderboard.videos import collected
from tiltyard.benchmarks.pages import TEMPLATES
from tiltyard.benchmarks.runs import FinishedRun
from tiltyard.benchmarks.statistics import probability_of_improvement, score_matrix
from tiltyard.papers import papers

MakeRun = Callable[..., FinishedRun]
HOPPER = "tiltyard/Hopper-v5"


@pytest.fixture
def runs(make_run: MakeRun) -> list[FinishedRun]:
    levels = {"sac": 0.8, "dsac-t": 0.79, "ppo": 0.3, "td3": 0.1}
    found = [make_run(HOPPER, agent, seed, level) for agent, level in levels.items() for seed in range(6)]
    return [*found, *(make_run("tiltyard/Highway-v0", "dqn", seed, 0.5) for seed in range(6))]


def site(runs: list[FinishedRun], folder: Path) -> None:
    """The site alone, without the page of pictures beside it."""
    board = leaderboard(runs, rng=np.random.default_rng(0), resamples=20)
    published = leaderboard(runs, rng=np.random.default_rng(0), scale="published", resamples=20)
    write_site([board, published], folder, dict.fromkeys((run.run.agent for run in runs), "#2f6f9f"))


@pytest.fixture
def site_folder(make_run: MakeRun, tmp_path: Path) -> Path:
    """A site of one run: its page of papers is that of any other."""
    site([make_run(HOPPER, "sac", 0, 0.5)], tmp_path)
    return tmp_path


def test_agents_that_do_not_differ_significantly_share_a_rank() -> None:
    rng = np.random.default_rng(0)
    levels = {"a": 0.9, "b": 0.89, "c": 0.5, "d": 0.1}
    scores = {agent: level + 0.02 * rng.standard_normal((8, 2)) for agent, level in levels.items()}
    assert ranked(scores) == {"a": "1 to 2", "b": "1 to 2", "c": "3", "d": "4"}
    few = {agent: values[:3] for agent, values in scores.items()}
    assert set(ranked(few).values()) == {"1 to 4"}  # below four runs no difference is significant
    assert ranked({}) == {}


def test_the_site_shows_the_boards_numbers(runs: list[FinishedRun]) -> None:
    board = leaderboard(runs, rng=np.random.default_rng(0), resamples=50, verified={run.run.name for run in runs[:6]})
    colours = dict.fromkeys((row.run.agent for row in runs), "#123456")
    data = json.loads(json.dumps(site_data([board], colours), allow_nan=False))
    (scale,) = data["scales"]
    assert scale["words"] == "0 is a random policy, 1 the scripted expert"
    section = next(one for one in scale["sections"] if one["title"] == "Robotics")
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
    assert list(curves["axes"]) == ["samples", "wall-clock"]  # these runs did not record processor time
    for axis in curves["axes"].values():
        assert len(axis["series"]) == 4
        assert all(len(line[name]) == len(axis["at"]) for line in axis["series"] for name in ("mean", "low", "high"))
    sac = next(line for line in curves["axes"]["samples"]["series"] if line["agent"] == "sac")
    result = next(one for one in board.results if one.agent == "sac")
    assert [x for x in sac["mean"] if x is not None] == pytest.approx(result.curve)


def test_agents_without_a_rank_have_their_dots_too(runs: list[FinishedRun], make_run: MakeRun) -> None:
    runs = [
        *runs,
        *(make_run("tiltyard/Ant-v5", agent, i, 0.4) for agent in ("sac", "dsac-t", "ppo") for i in range(6)),
    ]
    board = leaderboard(runs, rng=np.random.default_rng(0), resamples=20)
    data = site_data([board], dict.fromkeys((row.run.agent for row in runs), "#123456"))
    rows = {row["agent"]: row for row in data["scales"][0]["sections"][-1]["rows"]}
    unranked = [agent for agent, row in rows.items() if not row["rank"]]
    assert unranked == ["td3"]
    assert all(len(row["seeds"]) == row["runs"] == 6 for row in rows.values())


def test_rows_lead_to_paper_source_runs_commands_and_videos(runs: list[FinishedRun], tmp_path: Path) -> None:
    shown = replace(runs[0], folder=tmp_path / runs[0].run.name)
    shown.folder.mkdir()
    (shown.folder / "episode.mp4").write_bytes(b"a video")
    (shown.folder / "other.gif").symlink_to("/dev/zero")
    board = leaderboard([shown, *runs[1:]], rng=np.random.default_rng(0), resamples=20)
    videos = collected(board.runs, tmp_path / "site")
    assert videos == {shown.run.name: f"videos/{shown.run.name}.mp4"}
    assert (tmp_path / "site" / "videos" / f"{shown.run.name}.mp4").read_bytes() == b"a video"
    data = site_data([board], dict.fromkeys((row.run.agent for row in runs), "#123456"), videos)
    source = data["sources"]["dsac-t"]
    assert source["files"][0] == "agents/control/dsac_t.py"
    assert source["paper"]["link"].startswith("https://")
    one, other = data["runs"][shown.run.name], data["runs"][runs[1].run.name]
    assert (one["command"], one["video"]) == (shown.run.command, videos[shown.run.name])
    assert other["video"] is None
    assert other["play"] == f"tiltyard play --agent runs/{runs[1].run.name} --video {runs[1].run.name}.mp4"
    assert str(tmp_path) not in json.dumps(data)


def test_every_paper_stands_on_the_page_with_state_file_and_verdict() -> None:
    rows = {row["handle"]: row for row in paper_rows()}
    assert rows.keys() == {paper.handle for paper in papers()}
    assert rows["arsq"]["state"] == BUILT
    assert rows["archer"]["files"][0] == "agents/language/archer.py"
    verdicts = stored(RESULTS / "claims")
    assert {handle: row["verdict"] for handle, row in rows.items() if row["verdict"]} == {
        handle: verdict.standing for handle, verdict in verdicts.items()
    }
    assert rows["arsq"]["command"] == "tiltyard claim arsq"
    assert {row["state"] for row in rows.values()} == {BUILT, BESIDE, OPEN}


def test_the_site_names_nothing_outside_itself(runs: list[FinishedRun], tmp_path: Path) -> None:
    site(runs, tmp_path)
    for page in (PAGE, PAPERS):
        text = (tmp_path / page).read_text().partition('<script type="application/json"')
        for name in re.findall(r'(?:src|href)="([^"#]+)"', text[0] + text[2].partition("</script>")[2]):
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
    choose(page, "section", "Robotics")
    until(page, "document.querySelectorAll('#table .tabulator-row').length === 4")
    first = agents_of(page)
    assert set(first[:2]) == {"sac", "dsac-t"}
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelectorAll('#odds td').length") == 4 * 4 + 1
    assert page.evaluate("document.querySelectorAll('#curves canvas').length") == 1
    assert len(page.evaluate("[...document.querySelectorAll('#table abbr.tie')]")) == 2
    before = page.evaluate("document.querySelector('#curves figcaption').textContent")
    choose(page, "axis", "wall-clock")
    assert page.evaluate("document.querySelector('#curves figcaption').textContent") != before
    assert "read off evenly" in page.evaluate("document.getElementById('axisnote').textContent")
    iqm = page.evaluate("section.rows[0].iqm")
    choose(page, "scale", "1")
    until(page, "document.querySelectorAll('#table .tabulator-row').length === 4")
    assert page.evaluate("document.getElementById('section').value") == "Robotics"
    assert page.evaluate("section.rows[0].iqm") != iqm
    assert "1 D4RL's expert" in page.evaluate("document.getElementById('about').textContent")
    choose(page, "scale", "0")
    until(page, "document.querySelectorAll('#table .tabulator-row').length === 4")
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
    choose(page, "section", "Driving")
    page.evaluate("document.getElementById('search').value = ''")
    leads_to_runs(page, runs[-6:])
    page.close()


def choose(page: Any, name: str, value: str) -> None:
    """Another option of a list, as a reader chooses it."""
    page.evaluate(
        f"(() => {{ const one = document.getElementById('{name}'); one.value = '{value}';"
        " one.dispatchEvent(new Event('change')) })()"
    )


def leads_to_runs(page: Any, runs: list[FinishedRun]) -> None:
    """The row's link opens the agent's runs; commands stand there, and in what is downloaded."""
    page.evaluate("opened('dqn')")
    until(page, "document.querySelectorAll('#results li').length === 6")
    commands = page.evaluate("[...document.querySelectorAll('#results pre')].map(one => one.textContent)")
    assert commands == [run.run.command for run in runs]
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    rows = list(csv.DictReader(io.StringIO(page.evaluate("commaSeparated(runsAsRows())"))))
    assert [row["command"] for row in rows] == commands
    assert [float(row["normalised"]) for row in rows] == pytest.approx([run.normalised for run in runs])
    assert page.evaluate("commaSeparated([['=1+1', -2]])") == '"\'=1+1","-2"\r\n'


@pytest.mark.web
@pytest.mark.parametrize("width", [1280, 390])
def test_chromium_shows_sorts_and_searches_papers(browser: Any, site_folder: Path, width: int) -> None:
    page = browser.page((site_folder / PAPERS).as_uri() + "#arsq", width, 900)
    until(page, "document.querySelectorAll('#table .tabulator-row').length")
    assert "arsq" in page.evaluate("document.querySelector('#table .tabulator-row').innerText")
    shown = "document.querySelectorAll('#table .tabulator-row')"
    assert page.evaluate(f"{shown}.length") == 1  # whom a link of the leaderboard asks for
    page.evaluate("document.getElementById('search').value = ''")
    choose(page, "verdict", "supported")
    supported = [one.handle for one in stored(RESULTS / "claims").values() if one.standing == "supported"]
    handles = "Tabulator.findTable('#table')[0].getRows('active').map(one => one.getData().handle)"  # also those below
    until(page, f"{handles}.length === {len(supported)}")
    assert f"{len(supported)} of {len(papers())} papers" in page.evaluate(
        "document.getElementById('about').textContent"
    )
    head = "document.querySelector('#table .tabulator-col[tabulator-field=handle]')"
    page.evaluate(f"{head}.focus()")
    page.key("Enter")
    until(page, f"JSON.stringify({handles}) === JSON.stringify({json.dumps(sorted(supported))})")
    seen = f"[...{shown}].map(one => one.querySelector('[tabulator-field=handle]').innerText.trim())"
    assert page.evaluate(seen)[:10] == sorted(supported)[:10]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate("document.body.focus(); document.activeElement.blur()")
    page.key("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.close()


def test_odds_of_fewer_than_three_runs_are_not_shown(runs: list[FinishedRun]) -> None:
    few = [run for run in runs if run.run.seed == 0]
    board = leaderboard(few, rng=np.random.default_rng(0), resamples=20)
    data = site_data([board], dict.fromkeys((row.run.agent for row in runs), "#123456"))
    section = next(one for one in data["scales"][0]["sections"] if one["title"] == "Robotics")
    assert len(section["agents"]) == 4
    assert {odds for row in section["odds"] for odds in row} == {None}
