"""Search spaces: one table, inside the ranges of settings, with values on the scale they name."""

import math

import pytest

from tiltyard.agents import PPO, SAC, PolicyGradient
from tiltyard.agents.catalogue import ROWS
from tiltyard.agents.settings import RANGES, check_settings, whole_signature
from tiltyard.agents.spaces import SPACES, Dimension, space_of


@pytest.mark.parametrize("name", SPACES)
def test_a_space_lies_within_the_range_of_its_setting(name: str) -> None:
    assert SPACES[name].low in RANGES[name]
    assert SPACES[name].high in RANGES[name]


def test_every_agent_takes_both_ends_of_its_own_space() -> None:
    spaces = {row.name: space_of(row.load()) for row in ROWS}
    for row in ROWS:
        for name, dimension in spaces[row.name].items():
            check_settings(row.load(), {name: dimension.low})
            check_settings(row.load(), {name: dimension.high})
    taken = {name for row in ROWS for name in whole_signature(row.load()).parameters}
    assert set(SPACES) <= taken, "a space that no agent has"


def test_values_by_hand() -> None:
    rate = Dimension(1e-5, 1e-1, log=True)
    assert [rate.value(share) for share in (0, 0.25, 0.5, 1)] == [1e-5, 1e-4, 1e-3, 1e-1]
    assert rate.share(1e-3) == pytest.approx(0.5)
    assert Dimension(0.0, 3.0).value(0.41152) == 1.235  # four digits
    assert [Dimension(2, 5, whole=True).value(share) for share in (0, 0.5, 1)] == [2, 4, 5]
    sizes = SPACES["batch_size"]
    assert [sizes.value(share) for share in (0.0, 0.2, 0.999, 1.0)] == [16, 32, 512, 512]
    assert rate.clipped(7.0) == 1e-1
    assert sizes.clipped(100) == 128


def test_a_value_near_an_end_is_said_to_be_there() -> None:
    rate = Dimension(1e-5, 1e-1, log=True)
    assert [rate.is_end(value) for value in (1e-5, 1.5e-5, 2e-5, 1e-3, 6e-2, 7e-2)] == [True] * 2 + [False] * 3 + [True]


def test_an_agents_space_holds_its_own_settings() -> None:
    assert {"learning_rate", "clip_range", "gae_lambda"} <= space_of(PPO).keys()
    assert "clip_range" not in space_of(SAC)
    assert "ent_coef" not in space_of(SAC), "its default is a word, which a search would take away"
    assert "learning_rate" in space_of(PolicyGradient)
    assert "kl_coef" not in space_of(PolicyGradient), "it is the method's own unless it is named"
    assert "kl_coef" in space_of(PolicyGradient, ["kl_coef"])


def test_a_space_of_named_settings_may_bring_its_ends() -> None:
    assert space_of(SAC, ["tau", "learning_rate=1e-4:1e-3"]) == {
        "tau": SPACES["tau"],
        "learning_rate": Dimension(1e-4, 1e-3, log=True),
    }
    assert space_of(SAC, ["batch_size=8:32"]) == {"batch_size": Dimension(8, 32, whole=True)}


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("learning_rat", KeyError, "did you mean 'learning_rate'"),
        ("clip_range", TypeError, "SAC has no setting clip_range"),
        ("learning_rate=1e-3", ValueError, "LOW:HIGH"),
        ("learning_rate=1e-3:1e-4", ValueError, "to a larger one"),
        ("learning_rate=0:1e-4", ValueError, "begins above 0"),
        ("gamma=0.5:1.5", ValueError, "gamma must be"),
        ("batch_size=8:many", ValueError, "two numbers"),
    ],
)
def test_what_is_no_space_is_a_sentence(name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        space_of(SAC, [name])


def test_a_space_spans_something() -> None:
    with pytest.raises(ValueError, match="to a larger one"):
        Dimension(1.0, math.inf)
