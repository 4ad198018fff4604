from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode

from tiltyard.agents import make
from tiltyard.wrappers import ObservationNoise, VectorObservationNoise, observation_scale, to_sb3

HOPPER = "tiltyard/Hopper-v5"
KINDS = [("linf", "uniform"), ("linf", "gaussian"), ("l2", "uniform"), ("l2", "gaussian")]


class Still(gymnasium.Env[Any, Any]):
    """Observes (1, 2) for ever."""

    def __init__(self, low: float = -np.inf) -> None:
        self.observation_space = Box(low, np.inf, (2,), np.float64)
        self.action_space = Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.array([1.0, 2.0]), {}

    def step(self, action: Any) -> Any:
        return np.array([1.0, 2.0]), 0.0, False, False, {}


def offsets(draws: int = 4000, **settings: Any) -> Any:
    """What is added to (1, 2), ``[draws, 2]``."""
    env = ObservationNoise(Still(), **settings)
    env.reset(seed=0)
    return np.array([env.step(None)[0] for _ in range(draws)]) - (1.0, 2.0)


@pytest.mark.parametrize(("norm", "kind"), KINDS)
def test_no_perturbation_leaves_the_ball(norm: str, kind: str) -> None:
    delta = offsets(epsilon=0.1, norm=norm, kind=kind)
    lengths = np.abs(delta).max(axis=1) if norm == "linf" else np.linalg.norm(delta, axis=1)
    assert lengths.max() <= 0.1 + 1e-12
    assert lengths.max() > 0.099
    assert np.abs(delta.mean(axis=0)).max() < 0.004


def test_uniform_noise_fills_its_ball_evenly() -> None:
    assert offsets(epsilon=0.1).std(axis=0) == pytest.approx([0.1 / 3**0.5] * 2, rel=0.05)
    # In a disc half the area lies within a radius of 0.1 / sqrt 2.
    inner = np.linalg.norm(offsets(epsilon=0.1, norm="l2"), axis=1) < 0.1 / 2**0.5
    assert inner.mean() == pytest.approx(0.5, abs=0.03)


def test_gaussian_noise_is_cut_at_two_deviations() -> None:
    delta = offsets(epsilon=0.2, kind="gaussian")
    assert np.isclose(np.abs(delta), 0.2).mean() == pytest.approx(0.0455, abs=0.01)
    assert (np.abs(delta) < 0.1).mean() == pytest.approx(0.6827, abs=0.02)


def test_an_adversary_is_cut_to_the_ball_by_hand() -> None:
    def attack(seen: Any) -> Any:
        return 3 * seen  # (3, 6)

    assert offsets(1, epsilon=0.5, kind="worst", adversary=attack)[0] == pytest.approx([0.5, 0.5])
    # (3, 6) has length sqrt 45: a twentieth of its direction times 0.5 sqrt 45 / sqrt 45 each.
    expected = np.array([3.0, 6.0]) * 0.5 / 45**0.5
    assert offsets(1, epsilon=0.5, norm="l2", kind="worst", adversary=attack)[0] == pytest.approx(expected)
    # In units of scale (2, 0) the wish is (1.5, none): cut to 0.5, times 2; what has no width stays.
    assert offsets(1, epsilon=0.5, kind="worst", adversary=attack, scale=[2, 0])[0] == pytest.approx([1.0, 0.0])
    # Inside the ball it gets what it wishes.
    assert offsets(1, epsilon=9.0, kind="worst", adversary=attack)[0] == pytest.approx([3.0, 6.0])


def test_what_an_adversary_does_to_its_observation_changes_nothing() -> None:
    def attack(seen: Any) -> Any:
        seen[:] = 99.0
        return np.zeros(2)

    assert offsets(3, epsilon=0.5, kind="worst", adversary=attack).tolist() == [[0, 0]] * 3


def test_observations_stay_inside_their_space() -> None:
    env = ObservationNoise(Still(low=0.95), 0.5)
    env.reset(seed=0)
    seen = np.array([env.step(None)[0] for _ in range(100)])
    assert seen.min() == 0.95
    check_env(ObservationNoise(gymnasium.make(HOPPER), 0.05), skip_render_check=True)


def test_physics_and_rewards_are_those_of_the_true_state() -> None:
    noisy, plain = ObservationNoise(gymnasium.make(HOPPER), 0.1), gymnasium.make(HOPPER)
    noisy.reset(seed=3)
    plain.reset(seed=3)
    for _ in range(10):
        seen, reward, *_ = noisy.step(np.zeros(3, np.float32))
        true, expected, *_ = plain.step(np.zeros(3, np.float32))
        assert reward == expected
        assert 0 < np.abs(seen - true).max() <= 0.1 + 1e-6


def played(env: Any, steps: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    shown = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        observation, _, terminated, truncated, _ = env.step(rng.uniform(-1, 1, 3).astype(np.float32))
        shown.append(observation)
        if terminated or truncated:
            shown.append(env.reset()[0])
    return shown


@pytest.mark.parametrize(("norm", "kind"), KINDS)
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_an_environment_is_what_it_would_be_alone_bit_for_bit(norm: str, kind: str, mode: AutoresetMode) -> None:
    alone = [
        played(ObservationNoise(gymnasium.make(HOPPER, max_episode_steps=15), 0.05, norm=norm, kind=kind), 40, 7 + i)
        for i in range(5)
    ]
    native = gymnasium.make_vec(HOPPER, 5, "vector_entry_point", max_episode_steps=15, autoreset_mode=mode)
    env = VectorObservationNoise(native, 0.05, norm=norm, kind=kind)
    rngs = [np.random.default_rng(7 + i) for i in range(5)]
    shown: list[list[Any]] = [[seen] for seen in env.reset(seed=7)[0]]
    begun = np.zeros(5, bool)
    while min(len(index) for index in shown) < 41:
        actions = [np.zeros(3, np.float32) if begun[i] else rngs[i].uniform(-1, 1, 3) for i in range(5)]
        seen, _, terminated, truncated, info = env.step(np.array(actions, np.float32))
        ended = terminated | truncated
        for index in range(5):
            if mode == AutoresetMode.SAME_STEP and ended[index]:
                shown[index].append(info["final_obs"][index])
            shown[index].append(seen[index])
        begun = ended if mode == AutoresetMode.NEXT_STEP else np.zeros(5, bool)
        if mode == AutoresetMode.DISABLED and ended.any():
            after, _ = env.reset(options={"reset_mask": ended})
            assert np.array_equal(after[~ended], seen[~ended])
            for index in np.flatnonzero(ended):
                shown[index].append(after[index])
    assert any(len(index) > 43 for index in alone)  # episodes did end
    for i in range(5):
        assert data_equivalence(shown[i][:41], alone[i][:41])


def test_noise_repeats_with_its_seed_and_goes_on_without() -> None:
    env = ObservationNoise(gymnasium.make(HOPPER), 0.05)
    first, second = (played(env, 30, 5) for _ in range(2))
    assert data_equivalence(first, second)
    again = ObservationNoise(Still(), 0.05)
    again.reset(seed=5)
    assert not np.array_equal(again.step(None)[0], again.step(None)[0])
    before = again.step(None)[0]
    assert not np.array_equal(again.reset()[0], before)


def test_agents_train_on_noisy_vectors() -> None:
    native = gymnasium.make_vec(HOPPER, 2, "vector_entry_point")
    venv = to_sb3(VectorObservationNoise(native, 0.01))
    make("sac", venv, seed=0, learning_starts=10, buffer_size=200, device="cpu").learn(60)


def test_a_scale_is_the_deviation_along_episodes() -> None:
    assert observation_scale(Still(), steps=10).tolist() == [0.0, 0.0]
    scale = observation_scale(gymnasium.make(HOPPER), steps=200)
    assert scale.shape == (11,)
    assert (scale > 0).all()
    assert np.array_equal(scale, observation_scale(gymnasium.make(HOPPER), steps=200))
    with pytest.raises(ValueError, match="1 step or more"):
        observation_scale(Still(), steps=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": -0.1}, "epsilon must be finite"),
        ({"epsilon": np.nan}, "epsilon must be finite"),
        ({"norm": "linff"}, "did you mean 'linf'"),
        ({"kind": "unifrom"}, "did you mean 'uniform'"),
        ({"kind": "worst"}, "go together"),
        ({"adversary": lambda seen: seen}, "go together"),
        ({"scale": -1.0}, "scale must be finite"),
        ({"scale": [1, 2, 3]}, r"one for each number observed in the shape \(2,\), got \[1, 2, 3\]"),
        ({"scale": "std"}, "one for each number observed in the shape .*, got 'std'"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ObservationNoise(Still(), **({"epsilon": 0.1} | settings))


def test_bad_perturbations_and_spaces_are_refused() -> None:
    for attack in (lambda seen: np.full(2, np.nan), lambda seen: np.zeros(3)):
        with pytest.raises(ValueError, match="finite perturbation of shape"):
            ObservationNoise(Still(), 0.1, kind="worst", adversary=attack).reset()
    for epsilon in ("0.1", None, True):
        with pytest.raises(TypeError, match=f"epsilon must be a number, got {epsilon!r}"):
            ObservationNoise(Still(), epsilon)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="adversary is a function"):
        ObservationNoise(Still(), 0.1, kind="worst", adversary=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="flatten them first"):
        ObservationNoise(gymnasium.make("tiltyard/PointMaze-v0", goal_conditioned=True), 0.1)


def test_gymnasium_makes_another_from_its_spec() -> None:
    env = ObservationNoise(gymnasium.make(HOPPER), 0.05, scale=2.0)
    assert env.spec is not None
    assert np.array_equal(gymnasium.make(env.spec).reset(seed=1)[0], env.reset(seed=1)[0])


def test_a_masked_reset_of_gymnasiums_own_vectors_draws_for_what_it_resets_alone() -> None:
    makers = [lambda limit=limit: gymnasium.wrappers.TimeLimit(Still(), limit) for limit in (2, 9)]
    vector = gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=AutoresetMode.DISABLED)
    env, alone = VectorObservationNoise(vector, 0.1), ObservationNoise(Still(), 0.1)
    env.reset(seed=4)
    alone.reset(seed=5)
    for _ in range(2):
        *_, ended, _ = env.step(np.zeros((2, 1), np.float32))
        seen = alone.step(None)[0]
    after, _ = env.reset(options={"reset_mask": ended})
    assert np.array_equal(after[1], seen)
    assert np.array_equal(env.step(np.zeros((2, 1), np.float32))[0][1], alone.step(None)[0])


def test_seeds_may_be_an_array_where_the_vector_takes_one() -> None:
    env = VectorObservationNoise(gymnasium.make_vec(HOPPER, 2, "vector_entry_point"), 0.05)
    assert np.array_equal(env.reset(seed=np.array([3, 8]))[0], env.reset(seed=[3, 8])[0])
