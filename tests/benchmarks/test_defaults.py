"""An interface that an environment has anyway makes no other environment."""

import sys

from tiltyard.benchmarks.defaults import defaults_of, is_default
from tiltyard.benchmarks.runs import Run


def test_defaults_are_those_of_the_constructor_and_of_the_row() -> None:
    assert defaults_of("tiltyard/Merge-v0")["action"] == "box"
    assert defaults_of("tiltyard/Merge-v0")["scene"] == "merge"  # the row's
    assert is_default("tiltyard/Merge-v0", "action", "box")
    assert not is_default("tiltyard/Merge-v0", "action", "discrete")
    assert not is_default("tiltyard/Merge-v0", "maps", 10)  # which is no interface


def test_of_other_packages_nothing_is_imported() -> None:
    assert defaults_of("xml.dom.pulldom:Thing-v0") == {}
    assert "xml.dom.pulldom" not in sys.modules


def test_where_a_run_acts_names_what_is_not_so_anyway() -> None:
    def run(**env_kwargs: object) -> Run:
        return Run("tiltyard/Merge-v0", "fast-ppo", 0, 64, {"env_kwargs": env_kwargs})

    assert run(action="box", training_reward="sum").where == "tiltyard/Merge-v0"
    assert run(action="discrete").where == "tiltyard/Merge-v0 with action=discrete"
    assert run(action="box").task == "tiltyard/Merge-v0 with action=box"  # an agent may have other keywords by itself
