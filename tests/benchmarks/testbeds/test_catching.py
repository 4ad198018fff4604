"""The ball, what is seen of it, and what the claim about SPR makes of the shares that are caught."""

from dataclasses import replace

import numpy as np
import pytest
import torch as th

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.spr import AUGMENTED, CLAIM, OURS, PLAIN, SLOW, details, parts
from tiltyard.benchmarks.testbeds.catching import BALL, PADDLE, Catching, CatchingGame, Caught, Learner, alike, played


def ball_of(frame: np.ndarray) -> tuple[int, int]:
    (row,), (column,) = (where.tolist() for where in np.nonzero(frame == BALL))
    return row, column


def follow(env: Catching, seen: np.ndarray) -> int:
    paddle = np.flatnonzero(seen[1, -1] == PADDLE).mean() if (seen[1, -1] == PADDLE).any() else env.place
    return int(np.sign(ball_of(seen[1])[1] - round(paddle))) + 1


def test_a_ball_falls_a_row_a_step_and_whoever_follows_it_catches_more_than_whoever_stays() -> None:
    env, caught = Catching(), {"follow": 0, "stay": 0}
    for name in caught:
        for seed in range(100):
            seen, _ = env.reset(seed=seed)
            for step in range(1, env.size):
                row, column = ball_of(seen[1])
                seen, reward, ended, cut, info = env.step(np.int64(follow(env, seen) if name == "follow" else 1))
                assert ball_of(seen[1])[0] == row + 1
                assert abs(ball_of(seen[1])[1] - column) <= 1
                assert ball_of(seen[0]) == (row, column)
                assert (ended, cut) == (step == env.size - 1, False)
                assert reward == (0 if not ended else 2 * info["is_success"] - 1)
            caught[name] += info["is_success"]
    assert caught["follow"] > 95
    assert 15 < caught["stay"] < 50


def test_a_ball_bounces_off_the_sides() -> None:
    env = Catching(dots=0)
    env.reset(seed=0)
    env.column, env.heading, env.row = env.size - 1, 1, 0
    seen, *_ = env.step(np.int64(1))
    assert ball_of(seen[1]) == (1, env.size - 2)
    assert env.heading == -1


@pytest.mark.parametrize(("away", "reward"), [(0, 1), (1, 1), (-1, 1), (2, -1), (-2, -1)])
def test_a_ball_is_caught_by_three_pixels(away: int, reward: int) -> None:
    env = Catching()
    env.reset(seed=0)
    env.row, env.column, env.heading, env.place = env.size - 2, 5, 0, 5 + away
    assert env.step(np.int64(1))[1:4] == (reward, True, False)


def test_a_paddle_stays_in_the_picture_and_seeds_decide() -> None:
    env = Catching()
    first, again = env.reset(seed=3)[0], env.reset(seed=3)[0]
    assert (first == again).all()
    for _ in range(env.size - 1):
        seen, *_ = env.step(np.int64(0))
    assert (seen[1, -1] == PADDLE)[0] or seen[1, -1, 0] == BALL
    assert env.place == 1


def test_an_agent_plays_the_same_balls_each_time() -> None:
    from stable_baselines3.common.env_util import make_vec_env

    class Follower:
        def predict(self, seen: np.ndarray, deterministic: bool) -> tuple[np.ndarray, None]:
            return np.array([follow(env, one) for env, one in zip(games, seen, strict=True)]), None

    vec = make_vec_env(Catching, 20, seed=0)
    games = [env.unwrapped for env in vec.envs]  # type: ignore[attr-defined]
    assert played(Follower(), vec) == played(Follower(), vec) > 0.9

    class Stayer:
        def predict(self, seen: np.ndarray, deterministic: bool) -> tuple[np.ndarray, None]:
            return np.ones(len(seen), np.int64), None

    assert len({played(Stayer(), vec) for _ in range(4)}) == 1


def test_a_run_is_of_its_seed_and_looks_after_every_part() -> None:
    bed = replace(CatchingGame(), steps=240, parts=3, balls=8)
    first, again, other = (bed.run(Learner(), 1e-3, seed) for seed in (0, 0, 1))
    assert first.shares.shape == (3,)
    assert first.alike == again.alike != other.alike
    assert (first.shares == again.shares).all()
    assert bed.run(Learner(), 1e-2, 0).alike != first.alike
    assert bed.run(Learner({"spr_weight": 0.0}), 1e-3, 0).alike != first.alike


def test_latents_that_are_equal_have_collapsed() -> None:
    class Net:
        def encode(self, seen: th.Tensor) -> th.Tensor:
            return seen

        def project(self, latents: th.Tensor) -> th.Tensor:
            return latents

    agent = type("Agent", (), {"policy": type("Policy", (), {"q_net": Net()})})
    assert alike(agent, np.ones((4, 3), np.float32)) == pytest.approx(1.0)
    assert alike(agent, np.eye(3, dtype=np.float32)) == pytest.approx(0.0)


def test_spr_is_compared_with_both_baselines() -> None:
    shares = {OURS: 0.8, AUGMENTED: 0.6, PLAIN: 0.5, SLOW: 0.7}
    outcomes = {
        name: Outcome(CLAIM.conditions[name], 1e-3, [Caught(np.array([0.0, 2 * share]), 0.1)] * 4)
        for name, share in shares.items()
    }
    found = Found(CLAIM, CLAIM.testbed, outcomes, {})
    means = {name: (one.sample.mean, one.decides) for name, one in parts(found).items()}
    assert means[f"over {AUGMENTED}"] == (pytest.approx(0.2), True)
    assert means[f"over {PLAIN}"] == (pytest.approx(0.3), True)
    assert means[f"over {SLOW}"] == (pytest.approx(0.1), False)
    told = details(found)
    assert not CLAIM.premise.missing(told)
    assert CLAIM.premise.missing(
        {**told, "share caught at the end": {**told["share caught at the end"], AUGMENTED: 0.4}}
    )


def test_conditions_leave_out_what_they_say() -> None:
    off = {name: dict(condition.settings) for name, condition in CLAIM.conditions.items()}
    assert off[OURS] == {}
    assert off[AUGMENTED] == {"spr_weight": 0.0}
    assert off[PLAIN] == {"spr_weight": 0.0, **off[SLOW]} == {"spr_weight": 0.0, "shift": 0, "intensity": 0.0}
