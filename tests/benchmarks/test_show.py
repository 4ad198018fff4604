"""``tiltyard show NAME``: all that ``tiltyard list`` names, environments with keywords and suites with tasks."""

import gymnasium
import pytest

from tiltyard.agents.catalogue import ROWS as AGENTS
from tiltyard.benchmarks.cli import main
from tiltyard.benchmarks.list_command import LISTS
from tiltyard.benchmarks.show import SCORES, describe
from tiltyard.benchmarks.suites import SUITES
from tiltyard.envs.catalogue import INSTALLED, ROWS

LISTED = sorted(
    {row[0] for name in ("envs", "agents", "methods", "wrappers", "components") for row in LISTS[name]()[2]}
)


@pytest.mark.parametrize("name", LISTED)
def test_whatever_is_listed_is_shown(name: str) -> None:
    first, *others = describe(name).splitlines()
    assert first.startswith(f"{name}: ")
    assert any(line.startswith("  what ") or line.startswith("  use ") for line in others)


def test_a_dataset_is_shown_with_who_makes_it() -> None:
    rows = {row[0]: row for row in LISTS["datasets"]()[2]}
    name = "tiltyard/d5rl/point-maze-play-v0"
    assert {name, "tiltyard/hopper/medium-v0"} <= rows.keys()
    for each in (name, "tiltyard/hopper/medium-v0"):
        first, use = describe(each).splitlines()
        assert first == f"{each}: {', '.join(rows[each][1:])}"
        assert use == f"  use       tiltyard dataset show {each}"
    if rows[name][1] == "to be made":
        assert rows[name][2].startswith(f"by tiltyard dataset catalogue --make {name}: play in ")


@pytest.mark.parametrize("row", [*ROWS, *INSTALLED], ids=lambda row: row.id)
def test_an_environment_shows_what_it_takes_with_or_without_the_prefix(row) -> None:
    shown = describe(row.id)
    assert shown == describe(row.id.removeprefix("tiltyard/"))
    assert f'use       gymnasium.make("{row.id}")' in shown
    assert ("  observed " in shown) == ("  actions " in shown) == (row.tier == "simulated")
    assert "charset" not in shown
    for name, value in row.kwargs.items():
        assert f"{name}={value!r}" in shown


def test_the_keywords_shown_are_those_that_make_takes() -> None:
    (line,) = [line for line in describe("Hopper-v5").splitlines() if line.startswith("  keywords ")]
    assert "reset_noise_scale=0.005" in line
    assert "xml_file" not in line
    with pytest.raises(TypeError, match=r"\(valid: .*\)") as refused:
        gymnasium.make("tiltyard/Countdown-v0", no_such=1)
    taken = str(refused.value).partition("(valid: ")[2].partition(")")[0].split(", ")
    (line,) = [line for line in describe("Countdown-v0").splitlines() if line.startswith("  keywords ")]
    assert sorted(part.partition("=")[0] for part in line.removeprefix("  keywords ").strip().split(", ")) == taken


def test_an_agent_shows_the_keywords_with_which_it_makes_environments() -> None:
    assert "makes     driving with action='discrete'" in describe("fast-ppo")
    assert "  makes " not in describe("fast-sac")


@pytest.mark.parametrize("row", AGENTS, ids=lambda row: f"{row.kind}:{row.name}")
def test_an_agent_shows_its_settings_with_their_defaults(row) -> None:
    shown = describe(row.name)
    assert shown.count("\n  settings ") >= 1
    for name, value in row.settings.get("*", {}).items():
        assert f"{name}={value!r}" in shown


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_a_suite_shows_tasks_seeds_and_command(suite) -> None:
    shown = describe(suite.name)
    assert shown.startswith(f"{suite.name}: {suite.summary}")
    assert all(task.env_id in shown for task in suite.tasks)
    assert SCORES[suite.score] in shown
    assert f"tiltyard race {suite.name} --out" in shown


def test_an_unknown_name_is_told_the_nearest_of_all_that_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for name, nearest in (("Hoper-v5", "Hopper-v5"), ("tiltyard/Hoper-v5", "tiltyard/Hopper-v5"), ("smoky", "smoke")):
        assert main(["show", name]) == 2
        assert f"did you mean {nearest!r}" in capsys.readouterr().err
