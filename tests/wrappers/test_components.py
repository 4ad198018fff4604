import numpy as np
import pytest

from tiltyard.wrappers.components import Curriculum, Guidance, Problem, Prompt, Reward
from tiltyard.wrappers.curricula.catalogue import ROWS as CURRICULA
from tiltyard.wrappers.curricula.catalogue import load as load_curriculum
from tiltyard.wrappers.guidance.catalogue import ROWS as GUIDANCE
from tiltyard.wrappers.guidance.catalogue import load as load_guidance
from tiltyard.wrappers.rewards.catalogue import ROWS as REWARDS
from tiltyard.wrappers.rewards.catalogue import load as load_reward

ROOMS = [(CURRICULA, load_curriculum, Curriculum), (GUIDANCE, load_guidance, Guidance), (REWARDS, load_reward, Reward)]


@pytest.mark.parametrize(("rows", "load", "seam"), ROOMS)
def test_every_row_loads_and_nothing_means_the_default(rows, load, seam):
    assert rows
    for row in rows:
        assert isinstance(load(row.handle), seam)
        assert type(load(row.handle)) is not seam
    assert type(load(None)) is seam


@pytest.mark.parametrize(("rows", "load", "seam"), ROOMS)
def test_unknown_names_and_parameters_name_their_neighbours(rows, load, seam):
    handle = rows[0].handle
    with pytest.raises(KeyError, match=f"did you mean '{handle}'"):
        load(handle + "x")
    with pytest.raises(TypeError, match="unknown parameter 'nonsense'"):
        load({"name": handle, "nonsense": 1})
    with pytest.raises(TypeError, match="is a name"):
        load(3)


def test_parameters_and_objects_are_taken_as_given():
    assert load_reward({"name": "laser", "target": 7}).target == 7
    mine = Reward()
    assert load_reward(mine) is mine


def test_the_default_curriculum_repeats_with_its_generator():
    draws = [Curriculum().sample(5, np.random.default_rng(3)) for _ in range(2)]
    assert draws[0] == draws[1]
    assert all(0 <= seed < 2**31 for seed in draws[0])


def test_the_default_guidance_says_nothing():
    assert Guidance().prompts([Problem(1, "q", lambda: "s")], [[]]) == [Prompt("q", "")]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"name": "laser", "target": "x"}, "reward 'laser': target must be a whole number, got 'x'"),
        ({"name": "laser", "bonus": float("nan")}, "reward 'laser': bonus must be a number that is finite, got nan"),
        ({"name": "laser", "target": 2.5}, "reward 'laser': target must be a whole number, got 2.5"),
    ],
)
def test_a_parameter_of_another_kind_is_refused(choice, message):
    with pytest.raises((TypeError, ValueError), match=message):
        load_reward(choice)
