import numpy as np
import pytest

from tiltyard.envs.driving.town import episode as names
from tiltyard.envs.driving.town.episode import EPISODE, INFRACTIONS, OFFENCES, OUTCOMES, WEIGHTS
from tiltyard.envs.driving.town.reward import courtesy_factor, judge, weighted
from tiltyard.envs.driving.town.state import AGENT, NONE

CALM = {"left": 90.0, "limit": 10.0, "leader_v": 10.0, "over": -0.5, "alone": True, "imposed": 0.0, "pushed_in": False}


@pytest.fixture
def pair():
    """An episode of 100 m at its beginning, and its agent at 10 m/s on a free lane."""
    episode, agent = np.zeros(1, EPISODE)[0], np.zeros(1, AGENT)[0]
    episode["length"] = episode["left"] = 100.0
    episode["budget"], episode["patience"], episode["last_v"] = 60.0, 30.0, 10.0
    agent["v"], agent["gap"], agent["lane"] = 10.0, 1e9, 3
    return episode, agent


def judged(pair, weights=None, **changes):
    episode, agent = pair
    outcome = np.zeros(len(OUTCOMES))
    judge(episode, agent, np.ones(WEIGHTS) if weights is None else weights, *(CALM | changes).values(), outcome)
    return {name: episode[name] for name in EPISODE.names} | dict(zip(OUTCOMES, outcome, strict=True))


def test_ten_metres_of_a_hundred_are_worth_a_tenth(pair):
    episode = judged(pair)
    assert episode["reward"] == pytest.approx(0.1)
    assert (episode["infraction"], episode["offence"], episode["success"]) == (0, 0, 0)


def test_the_end_of_a_flawless_route_is_success(pair):
    assert judged(pair, left=0.0)["success"] == 1


def test_courtesy_fades_from_2_to_6_metres_a_second_squared():
    assert [courtesy_factor(a) for a in (1.0, 2.0, 4.0, 6.0, 9.0)] == [1.0, 1.0, 0.5, 0.0, 0.0]


def test_a_weight_of_a_half_halves_what_a_factor_takes_away(pair):
    assert weighted(0.5, 0.5) == 0.75
    half = np.ones(WEIGHTS)
    half[5] = 0.5
    assert judged(pair, half, imposed=4.0)["reward"] == pytest.approx(0.1 * 0.75)


@pytest.mark.parametrize(
    ("changes", "offence"),
    [
        ({"imposed": 4.5}, "imposed_braking"),
        ({"pushed_in": True}, "right_of_way"),
        ({"over": 0.3}, "outside_lanes"),
        ({"limit": 8.0}, "speeding"),
    ],
)
def test_an_offence_costs_success_and_ends_nothing(pair, changes, offence):
    episode = judged(pair, **changes)
    assert OFFENCES[episode["offence"]] == offence
    assert episode["infraction"] == 0
    assert judged(pair, left=0.0)["success"] == 0


def test_a_marking_may_be_crossed_for_three_seconds(pair):
    factors = [float(judged(pair, over=0.3, alone=False)["lane"]) for _ in range(18)]  # of 0.2 s
    assert factors[:14] == [1.0] * 14
    assert factors[15:] == [0.5] * 3
    assert OFFENCES[pair[0]["offence"]] == "straddling"


@pytest.mark.parametrize(
    ("field", "value", "infraction"),
    [
        ("faults", 1, "collision"),
        ("collisions", 1, "struck"),
        ("reds", 1, "red_light"),
        ("stops", 1, "stop_sign"),
        ("lane", NONE, "off_road"),
        ("turn", 2.0, "wrong_way"),
        ("still", 31.0, "blocked"),
    ],
)
def test_an_infraction_ends_the_episode_and_costs_a_penalty_if_it_is_ones_own(pair, field, value, infraction):
    pair[1][field] = value
    if field == "faults":
        pair[1]["collisions"] = 1
    episode = judged(pair)
    assert INFRACTIONS[episode["infraction"]] == infraction
    assert episode["penalty"] == (0.0 if infraction == "struck" else -0.1)


@pytest.mark.parametrize(("left", "infraction"), [(-1.0, "off_route"), (181.0, "off_route"), (179.0, "")])
def test_a_lost_route_ends_the_episode(pair, left, infraction):
    assert INFRACTIONS[judged(pair, left=left)["infraction"]] == infraction


def test_driving_back_and_forth_earns_nothing_twice(pair):
    rewards = [float(judged(pair, left=left)["reward"]) for left in (90.0, 95.0, 90.0, 80.0)]
    assert rewards == pytest.approx([0.1, 0.0, 0.0, 0.1])


def test_time_runs_out(pair):
    pair[0]["clock"] = 59.9
    assert INFRACTIONS[judged(pair)["infraction"]] == "late"
    pair[0]["clock"], pair[0]["infraction"] = 59.9, 0
    assert INFRACTIONS[judged(pair, left=0.0)["infraction"]] == ""  # but who arrives in that moment has arrived


def test_names_fit_their_numbers():
    for words in (INFRACTIONS, OFFENCES):
        assert [getattr(names, word.upper()) for word in words[1:]] == list(range(1, len(words)))
