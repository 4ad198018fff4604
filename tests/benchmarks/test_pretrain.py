import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from tiltyard.agents.language.rows import ROWS
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.models.pretrained import PRETRAINED, read_base
from tiltyard.agents.models.tokenizer import PIECES
from tiltyard.benchmarks.cli import _parsed, main
from tiltyard.benchmarks.evaluation import wilson
from tiltyard.benchmarks.pretrain import Pretrain, measure

ENV = "tiltyard/TreeMDP-v0"
TINY = f"pretrain --env {ENV} --level 1 --policy transformer-100k --steps 3 --batch-size 4 --episodes 8"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("bases") / "deep" / "tree.safetensors"
    assert main([*shlex.split(TINY), "--out", str(out)]) == 0
    return out


def test_the_file_says_what_made_it_and_the_same_command_makes_it_again(made, tmp_path):
    about = read_base(str(made)).about
    assert (about["size"], about["env"], about["level"]) == ("transformer-100k", ENV, "1")
    assert "torch" in json.loads(about["versions"])
    words = shlex.split(about["command"])
    assert words[:2] == ["tiltyard", "pretrain"]
    assert main([*words[1:-1], str(tmp_path / "again.safetensors"), "--episodes", "1"]) == 0
    first, again = (read_base(str(file)).weights for file in (made, tmp_path / "again.safetensors"))
    assert first.keys() == again.keys()
    assert all(torch.equal(value, again[name]) for name, value in first.items())


def test_it_prints_rates_with_intervals_the_loss_and_what_to_do_next(tmp_path, capsys):
    out = tmp_path / "tree.safetensors"
    assert main([*shlex.split(TINY), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    for row in ("one sampled completion", "the greedy completion", "any of 8 sampled (pass@8)"):
        assert re.search(
            rf"{re.escape(row)} +0.000 +0.000 to 0.324", said
        )  # Wilson, 0 of 8: z^2 / (8 + z^2) = 3.84 / 11.84
    assert re.search(r"loss of the last 1 steps: \d\.\d{3}", said)
    assert f"wrote {out}: 0.25 MiB" in said
    line = said.rpartition("now: ")[2].replace("\n", "")
    assert main([*shlex.split(line)[1:], "--steps", "8", "--eval-episodes", "2", "--out", str(tmp_path / "runs"),
                 "--set", "prompts_per_batch=1"]) == 0  # fmt: skip


def test_what_to_do_next_leaves_room_for_the_experts_completions(tmp_path, capsys):
    """GRPO ends completions of chain sums at 48 tokens, which those of twelve numbers do not fit."""
    words = "pretrain --env tiltyard/ChainSum-v0 --policy transformer-100k --steps 1 --batch-size 1 --episodes 1"
    for level, told in (("1", False), ("6", True)):
        options = ["--level", level, "--max-answer-tokens", "200", "--out", str(tmp_path / f"{level}.safetensors")]
        assert main([*shlex.split(words), *options]) == 0
        line = capsys.readouterr().out.rpartition("now: ")[2].replace("\n", " ")
        assert ("--set max_answer_tokens=200" in line) == told
        assert "context_length" not in line


def test_it_goes_on_from_a_base(made, tmp_path):
    out = tmp_path / "more.safetensors"
    words = shlex.split(TINY.replace("transformer-100k", str(made)))
    assert main([*words, "--learning-rate", "1e-9", "--out", str(out)]) == 0
    first, more = (read_base(str(file)) for file in (made, out))
    assert more.size == "transformer-100k"
    before, own = more.about["command"].split(" && ")
    assert before == first.about["command"]
    assert f"--policy {made}" in own
    assert all(torch.allclose(value, first.weights[name], atol=1e-3) for name, value in more.weights.items())


def test_common_words_become_tokens(tmp_path):
    out = tmp_path / "city.safetensors"
    words = shlex.split(TINY.replace("TreeMDP", "GuessMyCity"))
    assert main([*words, "--words", "300", "--episodes", "1", "--out", str(out)]) == 0
    base = read_base(str(out))
    assert {" bergen", " continent", "is", " it", "Cities"} <= set(base.pieces)
    assert base.pieces[: len(PIECES)] == PIECES
    assert "--words 300" in base.about["command"]
    agent = PolicyGradient(str(out), "tiltyard/GuessMyCity-v0")
    assert len(agent.policy.tokenizer.encode("is it bergen?")) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--env tiltyard/TreeMPD-v0", "did you mean 'tiltyard/TreeMDP-v0'"),
        ("--env tiltyard/Hopper-v5", "pretrain takes a text environment; tiltyard/Hopper-v5 is robotics"),
        ("--level 9", "unknown level 9"),
        ("--policy transformer-1k", "unknown policy 'transformer-1k'"),
        ("--policy hf:model", "not of Hugging Face's models"),
        ("--policy none.safetensors", "there is no base checkpoint none.safetensors"),
        ("--words -1", "--words is at least 0, got -1"),
        ("--words 9 --policy maze-base", "--words makes tokens of a new network: maze-base has its own"),
        ("--steps 0", "--steps is at least 1, got 0"),
        ("--noise 1.5", "--noise lies between 0 and 1"),
        ("--set instructions", "--set takes key=value"),
        (
            "--max-answer-tokens 5",
            "demonstrations have up to 6 tokens, more than --max-answer-tokens 5: raise it",
        ),
        (
            "--context-length 28 --max-answer-tokens 16",
            "demonstrations have up to 29 tokens, more than --context-length 28: raise it",
        ),
        (
            "--context-length 28",
            "completions of 128 tokens (max_answer_tokens) leave no room",
        ),
        ("--out tree.zip", "--out is a file that ends in .safetensors, got tree.zip"),
        ("--out there.safetensors", "there.safetensors is there already: give another --out, or --force"),
        ("--out folder.safetensors --force", "folder.safetensors is there already"),
        ("--learning-rate 1e30", "lower the learning rate"),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_written(tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    Path("there.safetensors").write_text("kept")
    Path("folder.safetensors").mkdir()
    given = dict(zip(shlex.split(TINY)[1::2], shlex.split(TINY)[2::2], strict=True)) | {"--out": "new.safetensors"}
    flags = shlex.split(options)
    given |= dict(zip(flags[::2], flags[1::2], strict=False))
    line = ["pretrain", *(word for pair in given.items() for word in pair), *["--force"] * ("--force" in flags)]
    assert main(line) == 2
    (said,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("tiltyard: ")]
    assert message in said
    assert Path("there.safetensors").read_text() == "kept"
    assert sorted(path.name for path in Path().iterdir()) == ["folder.safetensors", "there.safetensors"]


def test_force_overwrites_a_file(tmp_path):
    out = tmp_path / "tree.safetensors"
    out.write_text("old")
    assert main([*shlex.split(TINY), "--out", str(out), "--force"]) == 0
    assert read_base(str(out)).size == "transformer-100k"


def test_measuring_asks_the_same_problems_of_every_base(monkeypatch):
    asked = []
    predict = PolicyGradient.predict
    monkeypatch.setattr(
        PolicyGradient, "predict", lambda *args, **kwargs: asked.append(list(args[1])) or predict(*args, **kwargs)
    )
    found = measure("transformer-100k", ENV, episodes=3, completions=2, max_answer_tokens=6)
    sampled, greedy = asked
    assert sampled[::2] == sampled[1::2] == greedy
    assert len(set(greedy)) == 3
    assert {name: values.shape for name, values in found.items()} == dict.fromkeys(found, (3,))
    assert not np.any(found["one sampled completion"] & ~found["any of 2 sampled (pass@2)"])


def commands_of(name: str) -> list[Pretrain]:
    commands = [_parsed(shlex.split(line)[1:]) for line in PRETRAINED[name].split(" && ")]
    assert all(isinstance(command, Pretrain) for command in commands)
    return commands


@pytest.mark.parametrize("name", PRETRAINED)
def test_a_shipped_base_s_command_means_what_it_says(name):
    commands = commands_of(name)
    assert " && ".join(command.command for command in commands) == PRETRAINED[name]
    assert all(command.policy == str(before.out) for before, command in pairwise(commands))
    about = read_base(name).about
    last = commands[-1]
    assert (about["size"], about["env"], about["level"]) == (commands[0].policy, last.env, str(last.level))


@pytest.mark.parametrize("name", PRETRAINED)
def test_a_shipped_base_succeeds_sometimes(name):
    """Between 5% and 50%, so that methods can differ, as agents use it: with the settings of their rows."""
    command = commands_of(name)[-1]
    row = next(row for row in ROWS if row.name == "grpo")
    settings = row.settings_for(command.env)
    first = next(base for base in PRETRAINED if commands_of(base)[-1].env == command.env)
    assert (settings["policy"], settings["warm_start_steps"]) == (first, 0)  # others of a task are asked for by name
    assert row.env_kwargs_for(command.env).get("level", 1) == command.level
    found = measure(name, command.env, episodes=128, completions=1, max_answer_tokens=settings["max_answer_tokens"])
    low, high = wilson(found["one sampled completion"].tolist())
    assert high > 0.05
    assert low < 0.5
