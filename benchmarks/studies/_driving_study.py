"""What studies of driving share: whole problems played at once, and what is said of their episodes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from tiltyard.benchmarks.evaluation import REPORTED_EVALUATION

STEP = 0.2  # s


class Ride(NamedTuple):
    """One episode.

    Attributes:
        score: its return under the environment's own reward.
        completion: share of the route.
        success: whether it arrived without infraction and offence.
        infraction: what ended it.
        seconds: it took.
        metres: of the route that were driven.
        pushed: steps in which more than 2 m/s2 of braking were imposed on other road users.
        braking: their sum, m/s2 (a step counts for at most 6).
    """

    score: float
    completion: float
    success: bool
    infraction: str
    seconds: float
    metres: float
    pushed: int
    braking: float


def rides(env_id: str, problems: int, policy: Callable[[Any, Any], Any], **keywords: Any) -> list[Ride]:
    """One test episode of each problem, all at once; ``policy(env, observations)`` gives the actions."""
    given: dict[str, Any] = {"split": "test", "autoreset_mode": "Disabled", **keywords}
    env: Any = gymnasium.make_vec(env_id, problems, vectorization_mode="vector_entry_point", **given)
    seen, info = env.reset(seed=[REPORTED_EVALUATION + i for i in range(problems)])
    lengths, batched = info["route_length"], env.unwrapped.batched
    going = np.ones(problems, np.bool_)
    scores, pushed, braking, steps = (np.zeros(problems) for _ in range(4))
    for _ in range(env.unwrapped.max_episode_steps):
        reward, ended = batched.advance(batched.check(policy(env, seen)), going)
        scores += np.where(going, reward, 0.0)
        courtesy = np.where(going, batched.terms["courtesy"], 1.0)
        pushed += courtesy < 1.0
        braking += np.where(courtesy < 1.0, 2.0 + 4.0 * (1.0 - courtesy), 0.0)
        steps += going
        going &= ~ended
        if not going.any():
            break
        seen = batched.observe()
    told = batched.step_info()
    env.close()
    return [
        Ride(
            float(scores[i]),
            float(told["route_completion"][i]),
            bool(told["success"][i]),
            str(told["infraction"][i]),
            float(steps[i] * STEP),
            float(told["route_completion"][i] * lengths[i]),
            int(pushed[i]),
            float(braking[i]),
        )
        for i in range(problems)
    ]


def trained(agent: Any) -> Callable[[Any, Any], Any]:
    """An agent's best action."""
    return lambda env, seen: agent.predict(seen, deterministic=True)[0]


def expert(env: Any, seen: Any) -> Any:
    """The scripted driver."""
    return env.unwrapped.batched.expert_actions()


def summary(found: Sequence[Ride]) -> dict[str, float]:
    """Means over episodes, and what was imposed a km."""
    km = max(sum(one.metres for one in found) / 1000.0, 1e-9)
    return {
        "score": float(np.mean([one.score for one in found])),
        "completion": float(np.mean([one.completion for one in found])),
        "success": float(np.mean([one.success for one in found])),
        "collisions": float(np.mean([one.infraction == "collision" for one in found])),
        "seconds": float(np.mean([one.seconds for one in found])),
        "km": km,
        "pushed a km": sum(one.pushed for one in found) / km,
        "imposed braking a km": sum(one.braking for one in found) * STEP / km,
    }
