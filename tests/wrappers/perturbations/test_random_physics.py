import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence

from tiltyard.envs.robotics.physics import SCALES
from tiltyard.wrappers import RandomPhysics
from tiltyard.wrappers.perturbations.random_physics import SCALED

HOPPER = "tiltyard/Hopper-v5"


def played(env: Any, seed: int | None, steps: int = 15) -> list[Any]:
    rng = np.random.default_rng(0)
    shown = [env.reset(seed=seed)[0].tolist()]
    for _ in range(steps):
        shown.append(env.step(rng.uniform(-1, 1, env.action_space.shape).astype(np.float32))[0].tolist())
    return shown


@pytest.mark.parametrize("name", SCALES)
def test_a_drawn_factor_is_the_physics_scale_of_the_environment(name: str) -> None:
    env = RandomPhysics(gymnasium.make(HOPPER), **{name: (1.3, 1.3)})
    for seed in (0, 1):  # factors of one episode are not added to those of the next
        assert played(env, seed) == played(gymnasium.make(HOPPER, physics_scale={name: 1.3}), seed)
    assert played(env, 0) != played(gymnasium.make(HOPPER), 0)


def numbers(model: Any) -> dict[str, Any]:
    parts = {"": model, "opt.": model.opt, "stat.": model.stat}
    return {
        prefix + name: np.array(getattr(part, name))
        for prefix, part in parts.items()
        for name in dir(part)
        if not name.startswith("_") and isinstance(getattr(part, name), np.ndarray | float)
    }


@pytest.mark.parametrize("env_id", [HOPPER, "tiltyard/PegInsertion-v0"])
def test_a_model_comes_back_to_the_last_bit(env_id: str) -> None:
    env = gymnasium.make(env_id)
    model = env.unwrapped.batched.model  # type: ignore[attr-defined]
    before = numbers(model)
    wide = RandomPhysics(env, **dict.fromkeys(SCALES, (0.5, 2.0)))
    wide.reset(seed=0)
    changed = {name for name, value in numbers(model).items() if not np.array_equal(value, before[name])}
    assert changed >= {"body_mass", "geom_friction", "opt.gravity"}
    wide.ranges = dict.fromkeys(SCALES, (1.0, 1.0))
    wide.reset()
    assert data_equivalence(numbers(model), before)
    assert all(hasattr(model, name) for name in SCALED)


def test_factors_are_drawn_evenly_and_repeat_with_the_seed() -> None:
    env = RandomPhysics(gymnasium.make(HOPPER), mass=(0.5, 1.5), friction=(2.0, 3.0))
    drawn = [env.reset(seed=0 if i == 0 else None)[1]["physics_scale"] for i in range(200)]
    masses, frictions = (np.array([one[name] for one in drawn]) for name in ("mass", "friction"))
    assert masses.min() >= 0.5
    assert masses.max() <= 1.5
    assert masses.mean() == pytest.approx(1.0, abs=0.06)
    assert frictions.mean() == pytest.approx(2.5, abs=0.06)
    assert abs(np.corrcoef(masses, frictions)[0, 1]) < 0.2
    assert [env.reset(seed=0 if i == 0 else None)[1]["physics_scale"] for i in range(200)] == drawn


def test_a_factor_does_not_hang_on_what_else_is_randomised() -> None:
    both = RandomPhysics(gymnasium.make(HOPPER), mass=(0.5, 1.5), friction=(2.0, 3.0))
    one = RandomPhysics(gymnasium.make(HOPPER), mass=(0.5, 1.5))
    assert both.reset(seed=4)[1]["physics_scale"]["mass"] == one.reset(seed=4)[1]["physics_scale"]["mass"]


def test_a_heavier_ball_is_pushed_less_far_by_hand() -> None:
    # One push of 100 N for 0.01 s moves m kg to a speed of about 1 / m m/s: twice the mass, half the speed.
    speeds = []
    for factor in (1.0, 2.0):
        env = RandomPhysics(gymnasium.make("tiltyard/PointMaze-v0"), mass=(factor, factor))
        env.reset(seed=0)
        speeds.append(env.step(np.array([1.0, 0.0], np.float32))[0][2])
    assert speeds[0] / speeds[1] == pytest.approx(2.0, rel=0.01)


def test_gymnasiums_own_tasks_are_randomised_too_and_the_contract_kept() -> None:
    env = RandomPhysics(gymnasium.make("Hopper-v5"), gravity=(0.5, 0.5))
    env.reset(seed=0)
    assert env.unwrapped.model.opt.gravity[2] == pytest.approx(-9.81 / 2)  # type: ignore[attr-defined]
    check_env(RandomPhysics(gymnasium.make(HOPPER), mass=(0.8, 1.2)), skip_render_check=True)


def test_single_environments_make_a_vector_whose_environments_differ() -> None:
    env = gymnasium.make_vec(HOPPER, 2, "sync", wrappers=[lambda one: RandomPhysics(one, mass=(0.5, 2.0))])
    _, info = env.reset(seed=0)
    masses = [index.unwrapped.batched.model.body_mass[1] for index in env.unwrapped.envs]  # type: ignore[attr-defined]
    assert masses[0] != masses[1]
    assert info["physics_scale"]["mass"].tolist() == pytest.approx(
        [
            RandomPhysics(gymnasium.make(HOPPER), mass=(0.5, 2.0)).reset(seed=i)[1]["physics_scale"]["mass"]
            for i in (0, 1)
        ]
    )


def test_physics_are_randomised_once() -> None:
    env = RandomPhysics(gymnasium.make(HOPPER), mass=(2.0, 2.0), gravity=(1.0, 2.0))
    with pytest.raises(ValueError, match="in a RandomPhysics of gravity and mass already: name all ranges in one"):
        RandomPhysics(gymnasium.wrappers.TimeLimit(env, 5), friction=(3.0, 3.0))


def test_bad_ranges_and_environments_are_refused() -> None:
    with pytest.raises(ValueError, match="name what to randomise"):
        RandomPhysics(gymnasium.make(HOPPER))
    for bad in ((0.0, 1.0), (2.0, 1.0), (1.0, np.inf), (1.0,), 1.2, "ab"):
        with pytest.raises(ValueError, match="mass must be"):
            RandomPhysics(gymnasium.make(HOPPER), mass=bad)  # type: ignore[arg-type]
    for other in ("Pendulum-v1", "tiltyard/Highway-v0"):
        with pytest.raises(TypeError, match="no physics to randomise"):
            RandomPhysics(gymnasium.make(other), mass=(1.0, 2.0))


@pytest.mark.parametrize("env_id", [HOPPER, "tiltyard/PegInsertion-v0"])
def test_a_copy_has_the_physics_of_its_episode_and_draws_its_own(env_id: str) -> None:
    env, twin = (RandomPhysics(gymnasium.make(env_id), mass=(0.5, 2.0), gravity=(0.5, 2.0)) for _ in range(2))
    played(env, 3), played(twin, 3)
    copied = pickle.loads(pickle.dumps(env)) if env_id == HOPPER else copy.deepcopy(env)
    action = np.full(env.action_space.shape, 0.1, np.float32)
    played(env, 4)  # which scales the original's model, not the copy's
    np.testing.assert_array_equal(copied.step(action)[0], twin.step(action)[0])
    assert played(copied, None) == played(twin, None)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_of_gymnasiums_own_task_is_randomised_as_well(copied: Any) -> None:
    env = RandomPhysics(gymnasium.make("Hopper-v5"), mass=(2.0, 3.0))
    assert played(copied(env), 3) == played(env, 3)
