"""README.md's code is run, block after block: bash in one folder, each Python block by itself, with smaller numbers.

``SMALLER`` says for each line how it is made small; a line it does not name is run as it stands. What is not run here
is in ``ELSEWHERE``, with the reason and the test that looks after it.
"""

import contextlib
import glob
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import tiltyard.benchmarks
from tiltyard.benchmarks.cli import main

README = Path(__file__).parents[1] / "README.md"
ELSEWHERE = {
    "git clone": "a clone is what these tests run in",
    "make race": "the default race takes minutes: test_make_does_what_the_readme_says; the suite's own tests race it",
    "make test": "it would run this test: test_make_does_what_the_readme_says",
    "tiltyard claim rliable": "half a minute and more: test_the_claim_of_the_readme (slow)",
}
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
    (r"--video phone.gif", "--video phone.gif --episodes 1 --steps 3"),
    (r"(evaluate .*)", r"\1 --episodes 3"),
    (r"race smoke --agents ppo,dqn --seeds 0-4", "race smoke.toml --agents ppo,dqn --seeds 0 --workers 1"),
    (r"(race|report) manipulation-v1", r"\1 arm.toml"),
    (r"(race arm.toml .*)", r"\1 --seeds 0 --workers 1"),
    (r"--policy expert --episodes 20", "--policy expert --episodes 3"),
    (r"--agent serl --steps 4000", f"--agent serl --steps 6 --set learning_starts=2 {QUICK}"),
    (r"--policy medium", "--policy random --episodes 2 --id tiltyard/hopper/medium-v0"),  # it trains for minutes
    (r"--shares 0.95,0.05", "--shares 0.5,0.5 --episodes 2"),
    (r"offline_steps=1e4", f"offline_steps=3 {QUICK}"),
    (r"--steps 2000 --noise", "--steps 2 --episodes 4 --noise"),
    (r"--steps 6000", f"--steps 8 --set n_envs=8 prompts_per_batch=2 group_size=4 {QUICK}"),
)


def blocks(kind):
    text = README.read_text(encoding="utf-8")
    return [match[1] for match in re.finditer(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def commands():
    return [line for block in blocks("bash") for line in block.splitlines() if not line.startswith("#")]


def words(line):
    """The words of a command line, comments gone and patterns filled in."""
    return [name for word in shlex.split(line, comments=True) for name in (sorted(glob.glob(word)) or [word])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An empty folder to work in, with datasets of its own."""
    made = tmp_path_factory.mktemp("readme")
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(made):
        patch.setenv("MINARI_DATASETS_PATH", str(made / "datasets"))
        (made / "smoke.toml").write_text(SMOKE)
        (made / "arm.toml").write_text(ARM)
        yield made


def small(line):
    for pattern, smaller in SMALLER:
        line = re.sub(pattern, smaller, line)
    return line


def smaller_python(block):
    for pattern, smaller in (
        (r"learn\([\d_]+\)", "learn(64)"),
        (r"(backward, )[\d_]+", r"\g<1>64"),
        (r"episodes=\d+", "episodes=3"),
    ):
        block = re.sub(pattern, smaller, block)
    return block


def test_the_commands_run_in_the_readmes_order(folder, capsys):
    for line in commands():
        if any(line.startswith(name) for name in ELSEWHERE):
            continue
        name, *arguments = words(small(line))
        assert name == "tiltyard", f"say in ELSEWHERE what looks after {line!r}"
        assert main(arguments) == 0, f"{line}: {capsys.readouterr().err}"
    for made in ("phone.gif", "site/index.html", "report/README.md", "returns.png", "sums.safetensors"):
        assert (folder / made).is_file()


@pytest.mark.parametrize("block", range(len(blocks("python"))))
def test_each_python_block_runs_by_itself(folder, block):
    exec(compile(smaller_python(blocks("python")[block]), f"README.md, Python block {block}", "exec"), {})


@pytest.mark.parametrize("name", ["race", "test"])
def test_make_does_what_the_readme_says(name):
    done = subprocess.run(["make", "-n", name], cwd=README.parent, capture_output=True, text=True, check=True)
    wanted = {"race": ("tiltyard race smoke", "tiltyard leaderboard"), "test": ("-m pytest",)}[name]
    assert all(words in done.stdout for words in wanted)


@pytest.mark.slow
def test_the_claim_of_the_readme(folder):
    assert main(["claim", "rliable"]) == 0


@pytest.mark.slow
def test_the_demonstrations_of_the_readme_are_enough(folder):
    """What the README says of SERL from 20 demonstrations: every test problem is solved."""
    line = next(line for line in commands() if "--policy expert --episodes 20" in line)
    assert main([*words(line)[1:], "--force"]) == 0
    (block,) = [block for block in blocks("python") if "peginsertion" in block]
    scope: dict = {}
    exec(block, scope)
    found = tiltyard.benchmarks.evaluate(scope["agent"], "tiltyard/PegInsertion-v0", episodes=100)
    assert found.success_rate >= 0.98
