import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tiltyard.envs.driving.metrics.log import KINDS, UNITS, EpisodeLog, Event

from .logs import log, struck


def test_a_log_survives_json_with_what_is_lacking() -> None:
    before = log(
        steps=3,
        limit=[10.0, np.nan, 10.0, 10.0],
        ttc=[np.inf, 2.5, np.inf, 0.0],
        follower_accel=[np.nan, -1.0, np.nan, 0.5],
        events=[struck(time=0.2), Event(kind="respawn", time=0.3, value=80.0)],
        ended="collision",
        problem={"map": "town", "seed": 3},
    )
    text = before.to_json()
    json.loads(text, parse_constant=pytest.fail)  # strict JSON: neither NaN nor Infinity
    after = EpisodeLog.from_json(text)
    for name in (*UNITS, "one_lane", "off_route", "life"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
    assert after.ttc[0] == np.inf
    assert np.isnan(after.limit[1])
    assert after.events[0] == before.events[0]
    assert (after.events[1].value, after.ended, dict(after.problem)) == (80.0, "collision", {"map": "town", "seed": 3})
    assert after.to_json() == text


@pytest.mark.parametrize("lacking", ["other", "side", "ego_speed", "other_speed", "one_lane", "against_priority"])
def test_a_collision_without_what_decides_its_fault_is_refused(lacking: str) -> None:
    facts: dict[str, Any] = {
        "other": "vehicle",
        "side": "front",
        "ego_speed": 5.0,
        "other_speed": 0.0,
        "one_lane": True,
        "against_priority": False,
    }
    Event(kind="collision", time=0.0, **facts)
    del facts[lacking]
    with pytest.raises(ValueError, match=f"cannot be said without {lacking}"):
        Event(kind="collision", time=0.0, **facts)


def test_what_is_driven_after_a_respawn_completes_no_route_but_its_harm_stays() -> None:
    # 10 m at 10 m/s, then put 200 m ahead, where it drives another 10 m and hits somebody
    x = np.r_[0.0:11.0, 211.0:222.0]
    both = log(
        x=x, progress=x, life=np.r_[np.zeros(11), np.ones(11)], route_length=400.0, events=[struck(time=2.0, life=1)]
    )
    assert both.driven == 20.0
    assert both.completed == 10.0 / 400.0
    assert len(both.of("collision")) == 1
    assert [one.indices(22) for one in both.lives()] == [(0, 11, 1), (11, 22, 1)]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"x": [0.0]}, "two states at least"),
        ({"speed": [1.0, np.nan, 1.0, 1.0]}, "speed is not finite at state 1"),
        ({"speed": [1.0, 1.0]}, r"speed has shape \(2,\)"),
        ({"ttc": [np.nan] * 4}, "times to collision"),
        ({"life": [0, 1, 0, 0]}, "never goes back"),
        ({"dt": 0.0}, "above 0"),
        ({"route_length": np.inf}, "above 0"),
        ({"ended": "bored"}, "got 'bored'"),
        ({"events": [Event(kind="red_light", time=9.0)]}, "0.3 s long and has a red_light at 9 s"),
    ],
)
def test_a_log_that_makes_no_sense_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        log(**{"steps": 3, **given})


def test_unknown_events_and_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="got 'crash'"):
        Event(kind="crash", time=0.0)
    stored = json.loads(log(steps=3).to_json())
    del stored["yaw_rate"]
    with pytest.raises(ValueError, match="other fields: yaw_rate"):
        EpisodeLog.from_json(json.dumps(stored))
    assert KINDS[0] == ""


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (lambda text: "", "no stored log, as it is no whole JSON"),
        (lambda text: text[:100], "no stored log, as it is no whole JSON"),
        (lambda text: "null", "a stored log is a JSON object, got 'null'"),
        (lambda text: json.dumps({**json.loads(text), "x": 3.0}), "x of a stored log is a list, got 3.0"),
        (lambda text: json.dumps({**json.loads(text), "events": {}}), "events of a stored log is a list"),
        (
            lambda text: json.dumps({**json.loads(text), "events": [3]}),
            "an event of a stored log has the fields .*got 3",
        ),
        (
            lambda text: json.dumps({**json.loads(text), "events": [{"kind": "red_light", "time": 0.1, "where": 2}]}),
            "an event of a stored log has the fields",
        ),
    ],
)
def test_a_broken_file_is_one_sentence(broken: Callable[[str], str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        EpisodeLog.from_json(broken(log(steps=3).to_json()))
