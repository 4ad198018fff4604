"""Every curriculum for control: what it wraps stays a Gymnasium environment that any agent and any tool takes."""

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from tiltyard.agents import make
from tiltyard.benchmarks import docs
from tiltyard.benchmarks.claims import papers
from tiltyard.papers import find
from tiltyard.wrappers import ALPGMM, GROOVE, MBTL, S3RL, TaughtEnv, teacher_snapshots
from tiltyard.wrappers.curricula import alp_gmm, groove, mbtl
from tiltyard.wrappers.curricula.catalogue import CONTROL, load_control

Env = gymnasium.Env[Any, Any]


class Baseline:
    """Earns the same at every level."""

    def evaluate(self, level: Any) -> float:
        return 0.5


def maze() -> Env:
    return gymnasium.make("tiltyard/PointMaze-v0", allow_unreachable=True, max_episode_steps=50)


def hopper() -> Env:
    return gymnasium.make("tiltyard/Hopper-v5", max_episode_steps=50)


def sought() -> Env:
    return TaughtEnv(maze(), ALPGMM([-2, -2], [2, 2], seed=0), {"goal": [0, 1]})


def snapped() -> Env:
    return S3RL(hopper(), teacher_snapshots(hopper(), episodes=1), snapshot_steps=60, truncate_steps=7, seed=0)


def transferred() -> Env:
    return TaughtEnv(maze(), MBTL([-2, -2], [2, 2], per_axis=5, episodes=2), {"goal": [0, 1]})


def regretted() -> Env:
    teacher = GROOVE([-2, -2], [2, 2], lambda goal: float(goal[0]), seed=0, least=1)
    return TaughtEnv(maze(), teacher, {"goal": [0, 1]})


WRAPPED: dict[str, Callable[[], Env]] = {"alp-gmm": sought, "groove": regretted, "mbtl": transferred, "s3rl": snapped}
each = pytest.mark.parametrize("handle", [row.handle for row in CONTROL])


def played(env: Env, steps: int, seed: int | None = 3) -> list[Any]:
    rng = np.random.default_rng(0)
    shown: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        shown.append(env.step(rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)))
        if shown[-1][2] or shown[-1][3]:
            shown.append(env.reset())
    return shown


def test_every_row_is_wrapped_here() -> None:
    assert WRAPPED.keys() == {row.handle for row in CONTROL}


@each
def test_a_row_loads_names_its_settings_and_is_listed(handle: str) -> None:
    loaded = load_control(handle)
    settings = [p for p in inspect.signature(loaded).parameters.values() if p.default is not p.empty]
    assert settings
    assert all(setting.kind is setting.KEYWORD_ONLY for setting in settings)
    assert papers.built()[handle] == (f"curriculum `{handle}`",)
    assert find(handle).cited.endswith(")")
    assert handle in {row[0] for row in docs.wrappers()[2]}


@each
def test_a_seed_decides_everything(handle: str) -> None:
    assert data_equivalence(played(WRAPPED[handle](), 200), played(WRAPPED[handle](), 200))


@each
def test_any_agent_learns_in_it(handle: str) -> None:
    make("sac", WRAPPED[handle](), seed=0, learning_starts=10, buffer_size=100, device="cpu").learn(60)


@each
def test_gymnasium_makes_another_from_its_spec(handle: str) -> None:
    env = WRAPPED[handle]()
    assert env.spec is not None
    other = gymnasium.make(env.spec)
    assert data_equivalence(env.reset(seed=1), other.reset(seed=1))


def test_unknown_handles_name_their_neighbours() -> None:
    with pytest.raises(KeyError, match="did you mean 'alp-gmm'"):
        load_control("alpgmm")


def test_what_a_curriculum_knows_can_be_pickled() -> None:
    env = sought()
    assert isinstance(env, TaughtEnv)
    played(env, 100)
    teacher = pickle.loads(pickle.dumps(env.teacher))
    assert np.array_equal(teacher.sample(), env.teacher.sample())


@pytest.mark.parametrize("module", [alp_gmm, groove, mbtl])
def test_the_example_of_a_module_plays_wherever_its_teacher_leads(module: Any) -> None:
    example = "\n".join([line.strip() for line in module.__doc__.splitlines() if line.startswith("    ")][:2])
    scope: dict[str, Any] = {**vars(module), "gymnasium": gymnasium, "TaughtEnv": TaughtEnv, "baseline": Baseline()}
    exec(example, scope)
    for corner in scope["teacher"].low, scope["teacher"].high, [0.0, 0.0]:
        scope["teacher"].sample = lambda params=corner: np.array(params, np.float64)
        assert np.array_equal(scope["env"].reset()[1]["params"], corner)
