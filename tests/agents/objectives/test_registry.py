import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tiltyard.agents.objectives import registry
from tiltyard.agents.objectives.catalogue import ROWS, Row
from tiltyard.agents.objectives.registry import load


def test_parameters_reach_the_function_that_takes_them():
    objective = load("dr-grpo", clip_high=0.5, length=10)
    assert objective.advantage.keywords == {"scale": False}
    assert objective.loss.keywords == {"clip_high": 0.5}
    assert objective.aggregate(torch.ones(1, 5, dtype=torch.bool)).tolist() == [pytest.approx([0.1] * 5)]


def test_an_unknown_method_names_its_neighbours():
    with pytest.raises(KeyError, match="did you mean 'grpo'"):
        load("grpoo")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.handle)
def test_an_unknown_parameter_is_refused_at_once(row):
    with pytest.raises(TypeError, match="unknown parameter 'clip_hi'"):
        load(row.handle, clip_hi=0.3)


def test_a_parameter_of_another_method_is_refused():
    with pytest.raises(TypeError, match="clip_low"):
        load("rloo", clip_low=0.1)


def test_a_kl_penalty_lets_no_completion_be_skipped():
    assert load("grpo", kl_coef=0.0).silent_at_zero
    assert not load("grpo", kl_coef=0.1).silent_at_zero


@pytest.mark.parametrize(
    ("handle", "params", "message"),
    [
        ("ngrpo", {"max_reward": "much"}, "max_reward must be a number that is finite, got 'much'"),
        ("ngrpo", {"max_reward": float("nan")}, "max_reward must be a number that is finite, got nan"),
        ("grpo", {"scale": "no"}, "scale must be true or false, got 'no'"),
        ("grpo", {"kl_coef": -0.1}, "kl_coef must be a number of at least 0, got -0.1"),
        ("riskpo", {"bundle_size": 2.5}, "bundle_size must be a whole number of at least 1, got 2.5"),
        ("riskpo", {"bundle_size": 0}, "bundle_size must be a whole number of at least 1, got 0"),
        ("rec-red", {"clip": "both"}, "clip must be \"none\" or .*, got 'both'"),
        ("canon", {"metric": "size"}, "metric must be .*, got 'size'"),
        ("grpo", {"kl_coef": lambda progress: progress - 0.5}, "kl_coef must be a number of at least 0, got -0.5"),
        ("grpo", {"kl_coef": {"schedule": "linear", "start": 0.0, "end": "much"}}, "a schedule has numbers start, end"),
        ("grpo", {"kl_coef": {"schedule": "linear", "start": 0.0, "end": float("inf")}}, "kl_coef must be a number"),
    ],
)
def test_a_value_that_a_parameter_cannot_have_is_refused_at_once(handle, params, message):
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        load(handle, **params)
    assert "\n" not in str(caught.value)


def test_values_of_the_papers_own_kinds_pass():
    assert load("disco", tau=10.0).params["tau"] == 10.0  # a temperature, where an agent's tau is a rate
    falling = load("grpo", kl_coef={"schedule": "linear", "start": 0.04, "end": 0.0})
    assert falling.params["kl_coef"] == 0.04
    assert falling.at(0.5).params["kl_coef"] == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("says", "given"),
    [
        ("advantage is [3, 1], not [B] or [B, T] = [3] or [3, 3]", {"advantage": lambda r: r.reward[:, None]}),
        ("advantage is [], not [B] or [B, T]", {"advantage": lambda r: r.reward.mean()}),
        ("advantage is list, not [B] or [B, T]", {"advantage": lambda r: r.reward.tolist()}),
        ("loss is [3], not [B, T] = [3, 3]", {"loss": lambda r, advantage, out: (out.logp.mean(1), {})}),
        ("aggregate is [3], not [B, T] = [3, 3]", {"aggregate": lambda mask: mask.float().mean(1)}),
    ],
)
def test_a_part_of_another_shape_is_refused_though_as_many_tokens_as_completions_hide_it(
    says, given, completions, monkeypatch
):
    rollouts, out = completions([1.0, 0.0, 0.0], [[-1.0] * 2] * 3)
    module = ModuleType("mine")
    vars(module).update(given)
    monkeypatch.setitem(sys.modules, "mine", module)
    row = Row("mine", **{part: f"mine:{part}" for part in given})
    monkeypatch.setattr(registry, "find", lambda handle: row)
    with pytest.raises(ValueError, match=re.escape(f"method 'mine': its {says}")):
        registry.load("mine")(rollouts, out)


PAGE = Path(__file__).resolve().parents[3] / "docs" / "adding" / "method.md"


def test_the_method_of_the_page_passes_the_test_of_the_page(completions, monkeypatch):
    source, row, test = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[:3]
    module = ModuleType("tiltyard.agents.objectives.sign_grpo")
    module.__package__ = "tiltyard.agents.objectives"
    exec(compile(source, PAGE.name, "exec"), vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    written = {}
    exec(compile(test, PAGE.name, "exec"), written)
    written["test_signs_by_hand"](completions=completions)  # the fixture of that name
    alone, _ = completions([1.0, 0.0], [[-1.0]] * 2, group=[0, 1])
    assert not module.advantage(alone).any()
    made = eval(row, {"Row": Row})
    assert (made.handle, made.smallest_group) == ("sign-grpo", 2)  # the contract asks it of what learns nothing of one
