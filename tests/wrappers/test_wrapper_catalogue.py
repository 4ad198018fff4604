"""Every wrapper of control environments: what it wraps stays an environment that Gymnasium and any agent takes."""

import inspect
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

import tiltyard.wrappers
from tiltyard.agents import make
from tiltyard.benchmarks import docs
from tiltyard.wrappers.catalogue import PERTURBATIONS, ROWS, load
from tiltyard.wrappers.rewards.encoders import DualEncoder
from tiltyard.wrappers.rewards.frame_features import pixels

Env = gymnasium.Env[Any, Any]
HOPPER = "tiltyard/Hopper-v5"


def judged() -> Env:
    classifier = tiltyard.wrappers.SuccessClassifier(hidden=(8,))
    rng = np.random.default_rng(0)
    classifier.fit(rng.normal(1, 1, (40, 11)), rng.normal(-1, 1, (40, 11)), steps=10)
    return tiltyard.wrappers.ClassifierReward(gymnasium.make(HOPPER), classifier)


def preferred() -> Env:
    model = tiltyard.wrappers.PreferenceModel(members=1, hidden=(8,))
    seen = np.random.default_rng(0).normal(size=(60, 11))
    model.fit(seen, tiltyard.wrappers.NoisyJudge(lambda shown: shown[:, 0]), steps=5)
    return tiltyard.wrappers.PreferenceReward(gymnasium.make(HOPPER), model)


def seen_in_words() -> Env:
    env = gymnasium.make("tiltyard/PointMaze-v0", render_mode="rgb_array", width=32, height=32)
    encoder = DualEncoder(("red", "ball"))
    return tiltyard.wrappers.VLMRM(env, encoder, "red ball", baseline="ball", alpha=0.5)


def seen_to_progress() -> Env:
    env = gymnasium.make("tiltyard/PointMaze-v0", render_mode="rgb_array", width=32, height=32)
    shades = np.repeat(np.arange(0, 240, 20, dtype=np.uint8), 32 * 32 * 3).reshape(12, 32, 32, 3)
    return tiltyard.wrappers.PerceptualReward(env, tiltyard.wrappers.StepRewards([shades], pixels, steps=2))


WRAPPED: dict[str, Callable[[], Env]] = {
    "autonomous-practice": lambda: load("autonomous-practice")(gymnasium.make("tiltyard/ObjectRelocation-v0")),
    "lap-practice": lambda: load("lap-practice")(gymnasium.make("tiltyard/RaceTrack-v0")),
    "potential-shaping": lambda: load("potential-shaping")(gymnasium.make("tiltyard/PointMaze-v0")),
    "shaped-driving": lambda: load("shaped-driving")(gymnasium.make("tiltyard/RaceTrack-v0")),
    "success-classifier": judged,
    "vlm-rl": lambda: load("vlm-rl")(gymnasium.make("tiltyard/RaceTrack-v0")),
    "drivevlm-rl": lambda: load("drivevlm-rl")(gymnasium.make("tiltyard/RaceTrack-v0")),
    "perceptualreward": seen_to_progress,
    "vlm-rm": seen_in_words,
    "offline-rl-vlm-f": preferred,
    "observation-noise": lambda: load("observation-noise")(gymnasium.make(HOPPER), 0.05),
    "action-delay": lambda: load("action-delay")(gymnasium.make(HOPPER), (0, 2)),
    "random-physics": lambda: load("random-physics")(gymnasium.make(HOPPER), mass=(0.8, 1.2)),
}
each = pytest.mark.parametrize("handle", WRAPPED)


def played(env: Env) -> list[Any]:
    rng = np.random.default_rng(0)
    shown: list[Any] = [env.reset(seed=3)]
    for _ in range(40):
        shown.append(env.step(rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)))
        if shown[-1][2] or shown[-1][3]:
            shown.append(env.reset())
    return shown


def test_every_row_that_is_an_environment_is_wrapped_here() -> None:
    assert WRAPPED.keys() | {"practice-pair"} == {row.handle for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.handle)
def test_a_row_is_exported_listed_and_set_by_keywords(row: Any) -> None:
    loaded = load(row.handle)
    assert getattr(tiltyard.wrappers, loaded.__name__) is loaded
    assert row.handle in {listed[0] for listed in docs.wrappers()[2]}
    settings = [p for p in inspect.signature(loaded).parameters.values() if p.default is not p.empty]
    positional = {p.name for p in settings if p.kind is not p.KEYWORD_ONLY}
    assert positional <= {"potential"}


def test_what_is_exported_is_listed_and_imported_by_a_star() -> None:
    names: dict[str, Any] = {}
    exec("from tiltyard.wrappers import *", names)
    listed = dir(tiltyard.wrappers)
    assert {"ObservationNoise", "S3RL", "sb3_env"} <= set(listed) == names.keys() - {"__builtins__"}
    assert listed == sorted(listed)


@each
def test_a_seed_decides_everything(handle: str) -> None:
    assert data_equivalence(played(WRAPPED[handle]()), played(WRAPPED[handle]()))


@each
def test_any_agent_learns_in_it(handle: str) -> None:
    make("sac", WRAPPED[handle](), seed=0, learning_starts=10, buffer_size=100, device="cpu").learn(20)


@each
def test_gymnasium_makes_another_from_its_spec(handle: str) -> None:
    env = WRAPPED[handle]()
    assert env.spec is not None
    assert data_equivalence(gymnasium.make(env.spec).reset(seed=1), env.reset(seed=1))


def test_perturbations_can_be_piled_up() -> None:
    env: Env = gymnasium.make(HOPPER)
    for row in PERTURBATIONS:
        env = load(row.handle)(
            env,
            **{"observation-noise": {"epsilon": 0.01}, "action-delay": {"steps": 1}}.get(
                row.handle, {"mass": (0.9, 1.1)}
            ),
        )
    assert data_equivalence(played(env), played(env))


def test_unknown_handles_name_their_neighbours() -> None:
    with pytest.raises(KeyError, match="did you mean 'action-delay'"):
        load("action_delay")
