"""Names of methods and components are refused where they are read, before anything trains."""

import inspect
import re
from typing import Any

import pytest

from tiltyard.agents import PolicyGradient
from tiltyard.agents.language.choices import OF_ROWS, check_names
from tiltyard.agents.objectives.row import Row
from tiltyard.benchmarks import Run
from tiltyard.wrappers.rewards.laser import LASER


def test_what_the_row_of_a_method_may_set_are_keywords_of_the_trainer() -> None:
    assert inspect.signature(PolicyGradient).parameters.keys() >= set(OF_ROWS)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"handle": ""}, "a method is named by a word, such as grpo"),
        ({"advantage": "mine.advantage"}, "written \"module:function\", got 'mine.advantage'"),
        ({"loss": None}, 'written "module:function", got None'),
        ({"params": ["clip_low"]}, "params are keywords by name, got ['clip_low']"),
        ({"components": {"curiculum": "spo"}}, "unknown component 'curiculum'; did you mean 'curriculum'"),
        ({"components": {"curriculum": "spoo"}}, "unknown curriculum 'spoo'; did you mean 'spo'"),
        ({"components": {"rewards": ["laser", "outcom"]}}, "unknown reward 'outcom'; did you mean 'outcome'"),
        ({"components": {"correction": "ratios"}}, "unknown correction 'ratios'; did you mean 'ratio'"),
        ({"needs": ("trackr",)}, "unknown need 'trackr'; did you mean 'tracker'"),
        ({"needs": "values"}, "needs are a tuple, such as (\"values\",), got 'values'"),
        ({"uniform_groups": "learn"}, "unknown kind of uniform_groups 'learn'; did you mean 'learns'"),
    ],
)
def test_a_row_of_a_method_that_names_what_there_is_not_is_refused(given: dict[str, Any], says: str) -> None:
    Row("mine", components={"curriculum": "spo"}, needs=("tracker",))
    with pytest.raises(ValueError, match=re.escape(says)):
        Row(**({"handle": "mine"} | given))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"method": "gropo"}, "unknown method 'gropo'; did you mean 'grpo'"),
        ({"sampler": "debat"}, "unknown sampler 'debat'; did you mean 'debate'"),
        ({"guidance": {"name": "gphro"}}, "unknown guidance 'gphro'; did you mean 'ghpo'"),
        ({"rewards": {"nme": "laser"}}, "a reward is a name or {\"name\": ..., parameters}, got {'nme'"),
        ({"data": [{"name": "stored", "method": "sinpo"}]}, "unknown method 'sinpo'; did you mean 'simpo'"),
    ],
)
def test_settings_that_name_what_there_is_not_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"agent 'mine': {says}")):
        check_names(settings, "agent 'mine'")


def test_objects_and_nothing_are_left_to_the_trainer() -> None:
    check_names({"rewards": [LASER(), "outcome"], "curriculum": None, "method": None, "sampler": object()}, "mine")


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"rewards": "lazer"}, "grpo: unknown reward 'lazer'; did you mean 'laser'"),
        ({"rewards": {"name": "laser", "tagret": 3}}, "reward 'laser': unknown parameter 'tagret'; did you mean"),
        ({"data": {"name": "stored", "path": "x", "weigth": 3}}, "unknown parameter 'weigth'; did you mean 'weight'"),
        ({"method_kwargs": {"scael": False}}, "method 'grpo': unknown parameter 'scael'; did you mean 'scale'"),
        ({"method": "gspo", "method_kwargs": {"scael": 1}}, "method 'gspo': unknown parameter 'scael'"),
        ({"method": "rloo", "clip_low": 0.1}, "method 'rloo': unknown parameter 'clip_low'"),
    ],
)
def test_a_run_is_refused_before_a_race_begins(params: dict[str, Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(says)):
        Run("tiltyard/ChainSum-v0", "grpo", 0, 16, params).check()


def test_runs_of_other_methods_and_of_data_alone_begin() -> None:
    for params in (
        {"method": "gspo", "clip_low": 0.1, "rewards": ["outcome", {"name": "laser", "target": 9}]},
        {"method": None, "data": {"name": "stored", "path": "x", "method": "simpo"}},
    ):
        Run("tiltyard/ChainSum-v0", "grpo", 0, 16, params).check()
