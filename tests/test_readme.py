"""The code of README.md and of the site's pages is run, page after page, each in an empty folder and in its order.

``SMALLER`` says for each line how it is made small; a line it does not name is run as it stands. What is not run here
is in ``ELSEWHERE``, with the reason and the test that looks after it. A block that follows a file's name on a line of
its own is written to that file.
"""

import glob
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import tiltyard.benchmarks
from tiltyard.benchmarks.cli import main

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "docs/index.md", ROOT / "docs/environments.md", ROOT / "docs/methods.md"]
PAGES += sorted((ROOT / "docs" / "tutorials").glob("*.md"))
ELSEWHERE = {
    "git clone": "a clone is what these tests run in",
    "make race": "the default race takes minutes: test_make_does_what_the_readme_says; the suite's own tests race it",
    "make test": "it would run this test: test_make_does_what_the_readme_says",
    "tiltyard claim rliable": "half a minute and more: test_the_claim_of_the_first_tutorial (slow)",
}
MADE = {
    "README.md": (),
    "first-race.md": ("site/index.html", "report/README.md"),
    "control.md": ("phone.gif", "hopper.zip"),
    "offline.md": ("returns.png",),
    "language.md": ("sums.safetensors", "game.gif"),
    "own-agent.md": ("site/index.html",),
}
"""Files that a page's code leaves."""
SUITE = """
seeds = [0, 1, 2]
[[tasks]]
env_id = "{env_id}"
eval_episodes = 4
eval_points = 2
{more}
"""
SMOKE = SUITE.format(
    env_id="tiltyard/Highway-v0",
    more="\n".join(f'[[tasks.entries]]\nagent = "{agent}"\nbudget = 64' for agent in ("ppo", "dqn")),
)
ARM = SUITE.format(
    env_id="tiltyard/PegInsertion-v0",
    more="""
dataset = "tiltyard/peginsertion/demonstrations-v0"
entries = [{agent = "bc", budget = 0, params = {offline_steps = 5}}]
[[comparisons]]
title = "Peg"
tasks = ["tiltyard/PegInsertion-v0 from demonstrations-v0"]
reference = "bc"
[datasets."tiltyard/peginsertion/demonstrations-v0"]
env_id = "tiltyard/PegInsertion-v0"
policy = "expert"
settings = {episodes = 2}
""",
)
QUICK = "--eval-episodes 3 --eval-points 1"
SMALLER = (
    (r"--steps 2e4 --out runs/mine", f"--steps 6e1 --out runs/mine --set learning_starts=8 {QUICK}"),
    (r"--steps 20000 --set n_steps=256", f"--steps 64 --set n_steps=8 {QUICK}"),
    (r"--video (phone|game|hopper).gif", r"--video \1.gif --episodes 1 --steps 3"),
    (r"(evaluate .*)", r"\1 --episodes 3"),
    (r"race smoke --agents ppo,dqn --seeds 0-4", "race smoke.toml --agents ppo --seeds 0 --workers 1"),
    (r"(race|report) manipulation-v2", r"\1 arm.toml"),
    (r"(race arm.toml .*)", r"\1 --seeds 0 --workers 1"),
    (r"(race my_suite.toml .*)", r"\1 --agents my_agents:CuriousPPO --seeds 0 --workers 1"),
    (r"--policy expert --episodes 20", "--policy expert --episodes 3"),
    (r"--agent serl --steps 4000", f"--agent serl --steps 6 --set learning_starts=2 {QUICK}"),
    (r"--policy medium", "--policy random --episodes 2 --id tiltyard/hopper/medium-v0"),  # it trains for minutes
    (r"--shares 0.95,0.05", "--shares 0.5,0.5 --episodes 2"),
    (r"offline_steps=1e[45]", f"offline_steps=3 {QUICK}"),
    (r"--steps 5e4", "--steps 60"),
    (r"--steps 2000 --noise", "--steps 2 --episodes 4 --noise"),
    (r"--steps 6000", f"--steps 8 --set n_envs=8 prompts_per_batch=2 group_size=4 {QUICK}"),
    (r"budget = [\d_]+", "budget = 64"),
    (r"eval_episodes = \d+", "eval_episodes = 3"),
    (r"eval_points = \d+", "eval_points = 1"),
    (r"params = \{ n_envs = 8 \}", "params = { n_steps = 8 }"),
    (r"(?<=learn\()[\d_]+(?=\))", "64"),
    (r"(?<=backward, )[\d_]+", "64"),
    (r"(?<=episodes=)\d+", "3"),
)


def blocks(page):
    """File name or "", language and text of each block of a page."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"(?:^`([\w.]+)`\n\n)?^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(page):
    return [line for _, kind, text in blocks(page) if kind == "bash" for line in text.splitlines()]


def words(line):
    """The words of a command line, comments gone and patterns filled in."""
    return [name for word in shlex.split(line, comments=True) for name in (sorted(glob.glob(word)) or [word])]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with datasets of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    (tmp_path / "smoke.toml").write_text(SMOKE)
    (tmp_path / "arm.toml").write_text(ARM)
    return tmp_path


def small(text):
    for pattern, smaller in SMALLER:
        text = re.sub(pattern, smaller, text)
    return text


def run_commands(text):
    for line in text.splitlines():
        if any(line.startswith(name) for name in ELSEWHERE):
            continue
        name, *arguments = words(small(line))
        assert name == "tiltyard", f"say in ELSEWHERE what looks after {line!r}"
        assert main(arguments) == 0, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_code_of_a_page_runs_in_its_order(page, folder):
    scope: dict = {}
    for file, kind, text in blocks(page):
        if file:
            (folder / file).write_text(small(text))
        elif kind == "bash":
            run_commands(text)
        elif kind == "python":
            exec(compile(small(text), f"{page.name}:\n{text}", "exec"), scope)
    assert [made for made in MADE.get(page.name, ()) if not (folder / made).is_file()] == []


@pytest.mark.parametrize("name", ["race", "test"])
def test_make_does_what_the_readme_says(name):
    done = subprocess.run(["make", "-n", name], cwd=ROOT, capture_output=True, text=True, check=True)
    wanted = {"race": ("tiltyard race smoke", "tiltyard leaderboard"), "test": ("-m pytest",)}[name]
    assert all(words in done.stdout for words in wanted)


def broken_tables(text):
    """Rows of tables that stand without a head, which renderers show as plain text."""
    lines, rows, code = text.split("\n"), [], False
    for number, line in enumerate(lines):
        code ^= line.startswith("```")
        begins = line.startswith("|") and not (number and lines[number - 1].startswith("|"))
        if begins and not code and not re.fullmatch(r"\|[\s:|-]+", "".join(lines[number + 1 : number + 2])):
            rows.append(line)
    return rows


@pytest.mark.parametrize("page", sorted([README, *ROOT.glob("docs/**/*.md")]), ids=lambda page: str(page.name))
def test_the_tables_of_a_README_or_page_have_their_heads(page):
    assert broken_tables("| a |\n| --- |\n| b |\n\n| c |") == ["| c |"]
    assert broken_tables(page.read_text(encoding="utf-8")) == []


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


def test_the_readmes_links_resolve_in_the_repository():
    links = re.findall(r"\]\(([^)#]+)", README.read_text(encoding="utf-8"))
    assert [link for link in links if not link.startswith("https://") and not (ROOT / link).is_file()] == []


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "results.md"], ids=lambda page: page.name)
def test_headline_results_stand_on_the_pages_that_they_link(page):
    rows = re.findall(r"^\|.*\| (.*) \| \[[\w-]+\]\(([\w/-]*results/.*)\) \|$", page.read_text(), re.MULTILINE)
    assert len(rows) >= 8
    for answer, link in rows:
        text = bare((page.parent / link).read_text(encoding="utf-8"))
        numbers = [bare(found) for found in re.findall(r"\d[\d.]*%?(?: \[.*?\]| \(.*?\))?", answer)]
        missing = [number for number in numbers if not re.search(rf"(?<![\d.]){re.escape(number)}(?![\d%])", text)]
        assert missing == [], f"{link} does not say {missing}"


def bare(text):
    """``text`` without what sets an interval apart from its estimate: cells, brackets and commas."""
    return " ".join(re.sub(r"[|()\[\],]", " ", text).split())


@pytest.mark.slow
def test_the_claim_of_the_first_tutorial(folder):
    assert main(["claim", "rliable"]) == 0


@pytest.mark.slow
def test_the_demonstrations_of_the_offline_tutorial_are_enough(folder):
    """What the page says of SERL from 20 demonstrations: every test problem is solved."""
    page = ROOT / "docs" / "tutorials" / "offline.md"
    line = next(line for line in commands(page) if "--policy expert --episodes 20" in line)
    assert main(words(line)[1:]) == 0
    (block,) = [text for _, kind, text in blocks(page) if kind == "python" and "peginsertion" in text]
    scope: dict = {}
    exec(block, scope)
    found = tiltyard.benchmarks.evaluate(scope["agent"], "tiltyard/PegInsertion-v0", episodes=100)
    assert found.success_rate >= 0.98
