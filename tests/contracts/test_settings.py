"""Every keyword of every agent is checked before anything is trained: its kind, its range, and its default.

A new keyword with a number for a value needs a row in ``agents/settings.py``'s table of ranges.
"""

import inspect
import math
import re
from typing import Any, Literal

import pytest

import tiltyard.agents
from tiltyard.agents.catalogue import ROWS
from tiltyard.agents.schedules import of_remaining
from tiltyard.agents.settings import RANGES, WORDS, check_setting, check_settings, numbers_of
from tiltyard.benchmarks import Run
from tiltyard.benchmarks.suites import SUITES
from tiltyard.envs.catalogue import ROWS as ENVIRONMENTS

CLASSES = {row.class_name: row.load() for row in ROWS}
KEYWORDS = [
    pytest.param(loaded, parameter, id=f"{name}-{parameter.name}")
    for name, loaded in CLASSES.items()
    for parameter in inspect.signature(loaded).parameters.values()
    if parameter.name not in ("policy", "env", "_init_setup_model")
]
NUMBERS = [case for case in KEYWORDS if numbers_of(case.values[1].annotation)]


def refused(loaded: type[Any], name: str, value: Any) -> bool:
    try:
        check_settings(loaded, {name: value})
    except (TypeError, ValueError) as error:
        return re.fullmatch(rf"{loaded.__name__}: {name} must be .+, got .+", str(error), re.DOTALL) is not None
    return False


@pytest.mark.parametrize(("loaded", "parameter"), KEYWORDS)
def test_a_keyword_accepts_its_default_and_refuses_another_kind(loaded: type[Any], parameter: Any) -> None:
    if parameter.default is not inspect.Parameter.empty:
        check_settings(loaded, {parameter.name: parameter.default})
    if parameter.name == "device":
        with pytest.raises(ValueError, match="device must be auto, cpu or cuda"):
            check_settings(loaded, {"device": "cpuu"})
    else:
        assert refused(loaded, parameter.name, object()) or parameter.name in (
            "curriculum",
            "guidance",
            "rewards",
            "evaluator",
        )


@pytest.mark.parametrize(("loaded", "parameter"), NUMBERS)
def test_a_number_has_a_range_and_refuses_words_and_nonsense(loaded: type[Any], parameter: Any) -> None:
    name, span = parameter.name, RANGES[parameter.name]
    nonsense: list[Any] = ["abc", True, [1, 2, 3], math.nan, -math.inf]
    nonsense += [span.low if span.above else span.low - 1] * math.isfinite(span.low)
    nonsense += [span.high if span.below else span.high + 1] * math.isfinite(span.high)
    nonsense += [] if float in numbers_of(parameter.annotation) else [1.5, 2.0]
    nonsense += [] if span.infinite else [math.inf]
    assert [value for value in nonsense if not refused(loaded, name, value)] == []


def test_the_table_holds_no_name_that_no_agent_has() -> None:
    used = {case.values[1].name for case in KEYWORDS} | {"n_envs", "n_critics", "n_quantiles", "feature_dim"}
    assert RANGES.keys() - used == set()
    assert WORDS.keys() - used == set()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_settings_of_rows_and_suites_are_accepted(row: Any) -> None:
    for env in ENVIRONMENTS:
        if env.domain in row.domains:
            check_settings(row.load(), row.settings_for(env.id))
    for suite in SUITES:
        for task in suite.tasks:
            for entry in task.entries:
                if entry.agent == row.name:
                    given = task.params(entry)
                    check_settings(row.load(), given if row.speaks else of_remaining(given))


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"gamma": "abc"}, TypeError, "SAC: gamma must be a number from 0 to 1, got 'abc'"),
        ({"gamma": 1.5}, ValueError, "SAC: gamma must be a number from 0 to 1, got 1.5"),
        ({"batch_size": -1}, ValueError, "SAC: batch_size must be a whole number of at least 1, got -1"),
        ({"tau": -0.1}, ValueError, "SAC: tau must be a number from 0 to 1, got -0.1"),
        ({"learning_rate": "1e-3"}, TypeError, "learning_rate must be a number of at least 0 or a schedule"),
        ({"ent_coef": "auot"}, ValueError, 'ent_coef must be a number of at least 0 or "auto" or "auto_0.1", got'),
        ({"ent_coef": "auto_0"}, ValueError, 'ent_coef must be a number of at least 0 or "auto" or "auto_0.1", got'),
        ({"train_freq": [1, "epoch"]}, ValueError, r'at least 1 or a pair such as \[1, "episode"\], got'),
        ({"backup_entropy": 1}, TypeError, "backup_entropy must be true or false, got 1"),
        ({"policy_kwargs": 3}, TypeError, "policy_kwargs must be a dict or None, got 3"),
        ({"policy_kwargs": {"net_arc": [8]}}, TypeError, "unknown keyword 'net_arc'; did you mean 'net_arch'"),
        ({"policy_kwargs": {"net_arch": "x"}}, TypeError, "net_arch must be a list of whole numbers of at least 1 or"),
        ({"policy_kwargs": {"net_arch": [0]}}, ValueError, "net_arch must be a list of whole numbers of at least 1 or"),
        ({"policy_kwargs": {"n_critics": 0}}, ValueError, "n_critics must be a whole number of at least 1, got 0"),
        ({"policy": "MplPolicy"}, ValueError, "unknown policy 'MplPolicy'; did you mean 'MlpPolicy'"),
        ({"device": "cuda:99"}, ValueError, r"device 'cuda:99' is not there \(torch finds \d+ of cuda\): use cpu or"),
        ({"n_envs": 0}, ValueError, "sac: n_envs must be a whole number of at least 1 or None, got 0"),
        ({"env_kwargs": 1}, TypeError, "sac: env_kwargs must be a dict, got 1"),
    ],
)
def test_a_sentence_says_what_is_allowed(settings: dict[str, Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        tiltyard.agents.make("sac", "tiltyard/PointMaze-v0", **settings)


@pytest.mark.parametrize("value", ["auto", "auto_0.1", "auto_1", "auto_1e-3", 0, 0.5])
def test_temperatures_of_sb3s_kind_are_accepted(value: Any) -> None:
    check_settings(CLASSES["SAC"], {"ent_coef": value})


def test_a_keyword_without_a_row_is_still_checked_for_its_kind() -> None:
    check_setting("new", 3, int | None, of="Mine")
    with pytest.raises(ValueError, match="Mine: new must be a number that is finite, got nan"):
        check_setting("new", math.nan, float, of="Mine")
    with pytest.raises(TypeError, match="Mine: new must be a whole number or None, got 'x'"):
        check_setting("new", "x", int | None, of="Mine")


@pytest.mark.parametrize("params", [{"gamma": "abc"}, {"batch_size": -1}, {"n_envs": 0}, {"env_kwargs": 3}])
def test_a_run_is_refused_before_anything_starts(params: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=f"{next(iter(params))} must be"):
        Run("tiltyard/PointMaze-v0", "sac", 0, 10, params).check()


def test_a_choice_of_words_is_one_of_them() -> None:
    check_setting("order", "first", Literal["first", "last"] | None, of="Mine")
    for wrong in ("middle", 1, ["first"]):
        with pytest.raises(TypeError, match='Mine: order must be "first" or "last" or None, got '):
            check_setting("order", wrong, Literal["first", "last"] | None, of="Mine")


def test_of_other_packages_classes_only_sb3s_words_have_ranges() -> None:
    class Theirs:
        def __init__(self, gamma: float, beta: float, kind: "Unknown | None" = None) -> None:  # noqa: F821
            pass

    check_settings(Theirs, {"gamma": 0.5, "beta": -3.0, "kind": object()})
    with pytest.raises(ValueError, match="Theirs: gamma must be a number from 0 to 1, got 2"):
        check_settings(Theirs, {"gamma": 2})
    with pytest.raises(TypeError, match="Theirs: beta must be a number that is finite, got 'x'"):
        check_settings(Theirs, {"beta": "x"})


@pytest.mark.parametrize("steps", [-5, 1.5, math.nan, math.inf, "100", True, None])
@pytest.mark.parametrize("name", ["sac", "ppo", "stream-x"])
def test_learn_refuses_what_is_no_number_of_steps(name: str, steps: Any) -> None:
    agent = tiltyard.agents.make(name, "tiltyard/PointMaze-v0")
    with pytest.raises((TypeError, ValueError), match="total_timesteps must be a whole number of at least 0, got"):
        agent.learn(steps)
    assert agent.num_timesteps == 0
    assert agent.learn(0).num_timesteps == 0


def test_a_language_agent_refuses_them_too() -> None:
    agent = tiltyard.agents.make("grpo", "tiltyard/ChainSum-v0", n_envs=2)
    with pytest.raises(ValueError, match="total_timesteps must be a whole number of at least 0, got -5"):
        agent.learn(-5)
