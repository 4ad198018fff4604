import importlib
import json
import math
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from tiltyard import __version__
from tiltyard.benchmarks import Run, docs, load_runs
from tiltyard.benchmarks.claims.harness import claims
from tiltyard.benchmarks.cli import COMMANDS, main
from tiltyard.benchmarks.commands import parse_seeds, parse_settings
from tiltyard.benchmarks.list_command import LISTS, List
from tiltyard.benchmarks.options import evaluation_size, parse_whole
from tiltyard.benchmarks.runs import read_run

TRAIN = (
    "train --env tiltyard/Hopper-v5 --agent sac --seed 3 --steps 150 --eval-episodes 4 --eval-points 3 "
    "--set learning_starts=60 --set 'policy_kwargs={\"net_arch\": [16]}' --set buffer_size=1000"
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    assert main([*shlex.split(TRAIN), "--out", str(root)]) == 0
    return load_runs(root)[0]


def test_train_fills_a_run_folder_whose_command_is_the_one_typed(trained):
    assert shlex.split(trained.run.command) == ["tiltyard", *shlex.split(TRAIN)]
    params = {"learning_starts": 60, "policy_kwargs": {"net_arch": [16]}, "buffer_size": 1000}
    assert trained.run == Run("tiltyard/Hopper-v5", "sac", 3, 150, params, eval_episodes=4, eval_points=3)


def test_evaluate_takes_a_run_a_checkpoint_or_a_policys_name(trained, capsys):
    assert main(["evaluate", str(trained.folder), "--episodes", "4"]) == 0
    mean = re.search(r"return +(-?[\d.]+)", capsys.readouterr().out)
    assert float(mean[1]) == pytest.approx(sum(trained.scores) / 4, abs=1e-3)
    checkpoint = str(trained.folder / "checkpoint.zip")
    assert main(["evaluate", checkpoint, "--env", "tiltyard/Hopper-v5", "--episodes", "4"]) == 0
    assert mean[0] in capsys.readouterr().out
    assert main(["evaluate", "expert", "--env", "tiltyard/Countdown-v0", "--episodes", "10"]) == 0
    assert "0.722 to 1.000" in capsys.readouterr().out  # Wilson: 10 of 10


def test_play_writes_the_video_of_a_run(trained, tmp_path, capsys):
    video = tmp_path / "a.gif"
    assert main(["play", "--agent", str(trained.folder), "--video", str(video), "--steps", "5"]) == 0
    assert video.stat().st_size > 1000
    assert "episode 0: return" in capsys.readouterr().out


def test_leaderboard_leaves_out_tuning_runs_and_other_versions_and_says_so(trained, tmp_path, capsys):
    root = tmp_path / "runs"
    for seed in (0, 1, 2, 3, 10_000):
        run = replace(trained.run, seed=seed)
        folder = shutil.copytree(trained.folder, run.folder(root))
        record = json.loads((folder / "run.json").read_text())
        record["run"]["seed"] = seed
        record["versions"]["mujoco"] = "3.1.0" if seed == 3 else record["versions"]["mujoco"]
        (folder / "run.json").write_text(json.dumps(record))
    assert main(["leaderboard", str(root), "--out", str(tmp_path / "site")]) == 0
    said = capsys.readouterr()
    assert "left out, of other versions" in said.err
    assert replace(trained.run, seed=3).name in said.err
    assert "left out: 1 tuning runs" in said.err
    assert (tmp_path / "site" / "index.html").is_file()


def test_list_has_a_line_a_row_with_tabs_where_it_is_piped(capsys):
    assert main(["list"]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    listed = [[name, *row] for name, content in LISTS.items() for row in content()[2]]
    assert lines == listed
    assert main(["list", "suites"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["\t".join(row) for row in LISTS["suites"]()[2]]
    assert main(["list", "claims"]) == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == list(claims())
    assert main(["list", "datasets"]) == 0
    assert "tiltyard/hopper/medium-v0\t" in capsys.readouterr().out


def test_a_claim_tells_of_its_runs_while_it_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module("tiltyard.benchmarks.claims.spo")
    monkeypatch.setattr(module, "measure", module.CLAIM.smallest().measure)
    for _ in range(2):  # the second time as the first: the log is left as it was
        assert main(["claim", "spo"]) == 0
        said = capsys.readouterr()
        runs = re.findall(r"^\S.*, seed 0: \d+\.\d s$", said.err, re.MULTILINE)
        assert len(runs) == len(set(runs)) == len(module.CLAIM.conditions)
        assert said.out.startswith("spo: ")


@pytest.mark.parametrize("width", [80, 100, 400])
def test_list_fits_a_terminal(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for name, content in LISTS.items():
        assert List(name).run() == 0
        title, heads, *lines = capsys.readouterr().out.splitlines()
        assert title == content()[0]
        assert max(map(len, [heads, *lines])) <= width
        assert [line.split()[0] for line in lines] == [row[0].split()[0] for row in content()[2]]


def test_list_prints_json(capsys):
    assert main(["list", "envs", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"id", "domain", "blind / expert success"} < listed[0].keys()
    assert main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out).keys() == LISTS.keys()


@pytest.mark.parametrize(
    ("text", "number"),
    [("20000", 20_000), ("20_000", 20_000), ("2e4", 20_000), ("1E6", 10**6), ("1.5e3", 1500), ("0", 0), ("-5", -5)],
)
def test_whole_numbers_are_written_as_people_do(text, number):
    assert parse_whole(text) == number
    assert type(parse_whole(text)) is int


@pytest.mark.parametrize("text", ["1e4.5", "1.5", "ten", "", "nan", "inf", "1e999999999", "1e-3"])
def test_what_is_no_whole_number_is_refused(text):
    with pytest.raises(ValueError, match=f"a whole number such as 20000, 20_000 or 2e4 is wanted, got '{text}'"):
        parse_whole(text)


def test_evaluations_grow_with_the_run_up_to_a_hundred_episodes_ten_times():
    def size(steps, env="tiltyard/HalfCheetah-v5", **given):
        return evaluation_size(env, steps, given.get("episodes"), given.get("points"))

    sizes = [size(steps) for steps in (100, 2_000, 10_000, 20_000, 10**5, 10**7)]
    assert sizes == [(10, 1), (20, 1), (33, 3), (50, 4), (100, 10), (100, 10)]
    for steps in (1_500, 3_000, 7_000, 19_000, 70_000):
        episodes, points = size(steps)
        assert episodes * points * 1000 <= 10 * steps
    assert size(2_000, "tiltyard/Phone-v0") == (20, 2)
    assert size(100, "tiltyard/ChainSum-v0") == (25, 2)
    assert size(6_000, "tiltyard/ChainSum-v0") == (100, 10)
    assert size(100, episodes=7, points=3) == (7, 3)
    assert size(100, points=6) == (100, 6)  # as commands have it that were published


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--steps -5", "a run's budget must be an integer of at least 1, got -5"),
        ("--steps 0 --set offline_steps=-4 --set dataset=none", "offline_steps"),
        ("--eval-episodes 0", "a run's eval_episodes must be an integer of at least 1, got 0"),
        ("--eval-points 0", "a run's eval_points must be an integer of at least 1, got 0"),
        ("--steps 50 --eval-points 51", "--eval-points 51 asks for more evaluations than the run has steps, 50"),
    ],
)
def test_numbers_that_fit_no_run_are_refused(options, message, capsys, tmp_path):
    line = f"train --env tiltyard/PointMaze-v0 --agent sac --out {tmp_path} {options}"
    assert main(line.split()) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_runs_command_is_the_run_whatever_the_defaults(monkeypatch):
    taken = []
    monkeypatch.setattr(Run, "execute", lambda run, *_, **__: taken.append(run) or sys.exit(0))
    for given in ({}, {"eval_episodes": 7}, {"eval_points": 3}):
        run = Run("tiltyard/PointMaze-v0", "sac", 0, 50, {"n_envs": 2, "buffer_size": 1000}, **given)
        assert main(shlex.split(run.command)[1:]) == 0
        assert taken.pop() == run


def test_options_of_their_own_are_settings_of_the_run(tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr(Run, "execute", lambda run, *_, **__: taken.append(run) or sys.exit(0))
    line = f"train --env tiltyard/PointMaze-v0 --agent sac --steps 1e2 --out {tmp_path} --n-envs 2 --device cpu"
    assert main(line.split()) == 0
    assert taken[0].budget == 100
    assert taken[0].params == {"n_envs": 2, "device": "cpu"}
    assert main([*line.split(), "--set", "buffer_size=1e5"]) == 0
    assert taken[1].params["buffer_size"] == 100_000
    assert type(taken[1].params["buffer_size"]) is int


def test_the_module_is_the_script():
    done = subprocess.run([sys.executable, "-m", "tiltyard", "-V"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tiltyard {__version__}\n"


def test_the_version_is_told_and_listed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tiltyard 0.")
    assert main(["--help"]) == 0
    assert "tiltyard --version" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tarin", "unknown command 'tarin'; did you mean 'train'"),
        (
            "train --env tiltyard/Hopper-v5 --agent sac --sed 3",
            "unknown option of train '--sed'; did you mean '--seed'",
        ),
        ("train --env tiltyard/Hopper-v5", "Missing from tiltyard train: --agent"),
        ("train --env tiltyard/Hopper-v5 --agent sac --seed x", "--seed is a whole number, got 'x'"),
        ("leaderboard runs --scale d4rl", "--scale is one of expert, published, best, got 'd4rl'"),
        ("train --env tiltyard/Hopper-v5 --agent sac --steps", "--steps of train needs a value; see tiltyard train"),
        ("train --env --agent sac", "--env of train needs a value"),
        ("train tiltyard/Hopper-v5", "tiltyard train has no use for 'tiltyard/Hopper-v5'"),
        ("evaluate", "Missing from tiltyard evaluate: AGENT; see tiltyard evaluate --help"),
        ("pretrain --env tiltyard/Maze-v0 --out a --noise much", "--noise is a number, got 'much'"),
        ("race smoke smoke", "tiltyard race has no use for 'smoke'"),
        ("train --env tiltyard/Hoper-v5 --agent sac", "did you mean 'tiltyard/Hopper-v5'"),
        ("train --env tiltyard/Hopper-v5 --agent sacc", "unknown agent 'sacc'; did you mean 'sac'"),
        ("train --env tiltyard/Hopper-v5 --agent grpo", "agent 'grpo' trains in text environments"),
        ("train --env tiltyard/Hopper-v5 --agent gspo", "agent 'gspo' trains in text environments"),
        ("train --env tiltyard/ChainSum-v0 --agent gspoo", "unknown agent 'gspoo'; did you mean 'gspo'"),
        ("train --env tiltyard/ChainSum-v0 --agent control:ppo", "agent 'ppo' trains in gui, driving, robotics"),
        (
            "train --env tiltyard/ChainSum-v0 --agent gspo --set method=dapo",
            "agent 'gspo' is the method 'gspo': use agent 'grpo' for 'dapo'",
        ),
        ("train --env tiltyard/Hopper-v5 --agent sac --set gama=1", "unknown keyword 'gama'; did you mean 'gamma'"),
        ("train --env tiltyard/Hopper-v5 --agent sac --set gamma", "--set takes key=value"),
        ("train --env tiltyard/Hopper-v5 --agent sac --steps 0", "budget must be an integer of at least 1"),
        (
            "train --env tiltyard/Countdown-v0 --agent grpo --set method=grop",
            "unknown method 'grop'; did you mean 'grpo'",
        ),
        (
            "train --env tiltyard/Hopper-v5 --agent sac --set gamma=abc",
            "SAC: gamma must be a number from 0 to 1, got 'abc'",
        ),
        ("train --env tiltyard/Hopper-v5 --agent sac --set gamma=1.5", "gamma must be a number from 0 to 1, got 1.5"),
        (
            "train --env tiltyard/Hopper-v5 --agent sac --set batch_size=-1",
            "batch_size must be a whole number of at least",
        ),
        ("train --env tiltyard/Hopper-v5 --agent sac --device cuda:77", "device 'cuda:77' is not there"),
        ("train --env tiltyard/Hopper-v5 --agent sac --n-envs 0", "n_envs must be a whole number of at least 1"),
        (
            "train --env tiltyard/Hopper-v5 --agent sac --n-envs 2 --set n_envs=2",
            "give --n-envs or --set n_envs, not both",
        ),
        (
            "train --env tiltyard/Hopper-v5 --agent sac --steps 1e4.5",
            "a whole number such as 20000, 20_000 or 2e4 is wanted",
        ),
        (
            "train --env tiltyard/Hopper-v5 --agent sac --steps 1.5",
            "a whole number such as 20000, 20_000 or 2e4 is wanted",
        ),
        (
            "evaluate expert --env tiltyard/Hopper-v5 --episodes 1.5",
            "a whole number such as 20000, 20_000 or 2e4 is wanted",
        ),
        ("train --env tiltyard/Hopper-v5 --agent sac --set policy=Foo", "unknown policy 'Foo'"),
        (
            "train --env tiltyard/Hopper-v5 --agent sac --set 'policy_kwargs={\"net_arc\": [8]}'",
            "unknown keyword 'net_arc'; did you mean 'net_arch'",
        ),
        (
            "train --env tiltyard/Hopper-v5 --agent bc --steps 0 --set dataset=nope/x-v0 offline_steps=5",
            "no local dataset",
        ),
        (
            "train --env tiltyard/Hopper-v5 --agent bc --steps 0 --set dataset=a-v0 offline_steps=x",
            "offline_steps is a",
        ),
        ("play --env tiltyard/Hoper-v5", "did you mean 'tiltyard/Hopper-v5'"),
        ("pretrain --env tiltyard/Hoper-v5 --out a.safetensors", "did you mean 'tiltyard/Hopper-v5'"),
        ("dataset make --env tiltyard/Hoper-v5", "did you mean 'tiltyard/Hopper-v5'"),
        ("dataset make --env tiltyard/Hopper-v5 --policy expart", "unknown policy 'expart'; did you mean 'expert'"),
        ("dataset make --env tiltyard/Hopper-v5 --agent sacc", "unknown agent 'sacc'; did you mean 'sac'"),
        ("dataset make --env tiltyard/Hopper-v5 --set gamma=abc", "SAC: gamma must be a number from 0 to 1, got 'abc'"),
        ("dataset show tiltyard/nope/x-v0", "there is no local dataset tiltyard/nope/x-v0"),
        ("report smok", "unknown suite 'smok'; did you mean 'smoke'"),
        ("--versoin", "did you mean '--version'"),
        ("list envz", "unknown list 'envz'; did you mean 'envs'"),
        ("race smok", "unknown suite 'smok'; did you mean 'smoke'"),
        ("race smoke --agents ppoo", "unknown agent 'ppoo'; did you mean 'ppo'"),
        ("race smoke --seeds 3-1", "--seeds takes numbers and ranges such as 0-9"),
        ("race smoke --seeds 10000", "seed 10000 is for tuning"),
        ("race smoke --engine locl", "unknown engine 'locl'; did you mean 'local'"),
        ("evaluate nowhere", "there is no run folder or checkpoint file nowhere"),
        ("evaluate .", "holds no finished run"),
        ("evaluate expert", "which environment? give --env ID"),
        ("evaluate expert --env tiltyard/Hopper-v5 --episodes 0", "at least 1 episode"),
        ("play --env tiltyard/Hopper-v5 --video a.avi", "unknown video format '.avi'"),
        ("leaderboard nowhere", "there is no folder nowhere"),
        ("leaderboard .", "holds no finished run to show: give the folder of a race, or make one with tiltyard race"),
        ("report gui-v1 --runs .", "or make one with tiltyard race gui-v1 --out ."),
        ("verify nowhere", "there is no folder nowhere"),
        ("verify . --record nodir/x.json", "there is no folder nodir for --record to write to: make it first"),
        ("verify . --record .", "--record writes a file, and . is a folder"),
        ("play --env CartPole-v1 --agent random --seed -1", "a seed is 0 or more, got seed=-1"),
        ("claim rlible", "did you mean 'rliable'"),
        ("claim rliable --rejudge --seeds 100-102", "--rejudge runs no seeds: leave --seeds out"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(tmp_path, monkeypatch, capsys, line, message):
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(line)) == 2
    (said,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith(" ")]
    assert said.startswith("tiltyard: ")
    assert message in said


@pytest.mark.parametrize("command", ["--version", "show ppo"])  # one that fits a buffer, and one that does not
def test_who_reads_the_output_may_have_enough_of_it(command):
    python = f"env -u PYTHONUNBUFFERED {shlex.quote(sys.executable)}"
    line = f"{python} -m tiltyard.benchmarks.cli {command} | true; echo ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert (found.stdout, found.stderr) == ("141\n", "")


def test_another_broken_pipe_is_no_readers(monkeypatch, capsys):
    def broken(self):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(List, "run", broken)
    assert main(["list"]) == 2
    assert "Broken pipe" in capsys.readouterr().err


def test_a_fault_of_ours_is_shown_whole(monkeypatch):
    def fault(_):
        return {}["no such key"]

    monkeypatch.setattr(COMMANDS["list"], "run", fault)
    with pytest.raises(KeyError):
        main(["list"])


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("0-3", [0, 1, 2, 3]),
        ("5", [5]),
        ("0,2,5-7", [0, 2, 5, 6, 7]),
        (" 1 , 2 ", [1, 2]),
        ("3,1-4,3", [3, 1, 2, 4]),
        (None, None),
    ],
)
def test_seeds_are_numbers_and_ranges(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "1;2", "0-99999999"])
def test_other_seeds_are_refused(text):
    with pytest.raises(ValueError, match="--seeds takes"):
        parse_seeds(text)


def test_settings_are_json_or_strings():
    pairs = ["a=1", "b=0.5", "c=true", "d=None", "e=adam", "f=[1,2]", "g=a=b", "h=1e-3", 'i="1"']
    assert parse_settings(pairs) == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": None,
        "e": "adam",
        "f": [1, 2],
        "g": "a=b",
        "h": 0.001,
        "i": "1",
    }
    assert parse_settings(["a=1e6", "b=1e30", "c=9e17", "d=1e999"]) == {
        "a": 10**6,
        "b": 1e30,
        "c": 9 * 10**17,
        "d": math.inf,
    }
    with pytest.raises(ValueError, match="--set a is given twice"):
        parse_settings(["a=1", "a=2"])


def test_several_settings_may_follow_one_set(trained, tmp_path, capsys):
    words = shlex.split(TRAIN.replace(" --set buffer", " buffer"))
    shutil.copytree(trained.folder, tmp_path / trained.folder.name)
    assert main([*words, "--out", str(tmp_path)]) == 0  # the same run: it is only read
    assert trained.folder.name in capsys.readouterr().out
    assert asdict(read_run(tmp_path / trained.folder.name).run) == asdict(trained.run)


def test_help_starts_fast_and_light():
    code = (
        "import sys; from tiltyard.benchmarks.cli import main\n"
        "assert main(['--help']) == 0 and main(['train', '--help']) == 0 and main(['list']) == 0\n"
        "heavy = {'torch', 'mujoco', 'numba', 'reasoning_gym', 'stable_baselines3'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in COMMANDS:
        assert name in done.stdout


def test_tables_render():
    assert docs.markdown(("name", "n#"), [("a", "1|2")]) == "| name | n |\n| --- | --: |\n| `a` | 1\\|2 |"
