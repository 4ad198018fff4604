"""FastRLAP's prior laps: slow driving of a course, which the row ``fastrlap`` (RLPD) draws half of each batch from.

Paper: Stachowicz et al., FastRLAP: A System for Learning High-Speed Driving via Deep RL and Autonomous Practicing
(2023). Where it practises is :class:`tiltyard.wrappers.laps.LapPractice`.

    env = LapPractice(gymnasium.make("tiltyard/RaceTrack-v0"))
    agent = agents.make("fastrlap", env, seed=0)
    agent.learn_offline(slow_laps(env, laps=1, seed=0), 0).learn(20_000)
"""

from typing import Any

import numpy as np

from .datasets import Transitions

SLOW = 5.0  # m/s


def slow_laps(env: Any, *, laps: int, seed: int, speed: float = SLOW) -> Transitions:
    """Laps of the scripted expert that never goes faster than ``speed`` m/s, on the track of ``seed``.

    The authors have one demonstrated lap at low speed, from which the course's checkpoints come, and a large data set
    of other robots, with which a visual encoder is trained first by offline RL; observations here are numbers, and
    there is nothing to be trained first.

    Args:
        env: a :class:`tiltyard.wrappers.laps.LapPractice`.
        laps: how many, at least 1.
        seed: of the track.
        speed: m/s.
    """
    if laps < 1 or not speed > 0.0:
        raise ValueError(f"prior laps are at least 1, at a speed above 0, got {laps} and {speed!r}")
    rows: dict[str, list[Any]] = {
        name: [] for name in ("observations", "actions", "rewards", "next", "terminated", "ended")
    }
    observation, info = env.reset(seed=seed)
    batched = env.unwrapped.batched
    while info["laps"] < laps:
        action = np.asarray(batched.expert_actions()[0], np.float32)
        if float(batched.agents[0, 0]["v"]) > speed:
            action[0] = min(action[0], 0.0)
        after, reward, terminated, truncated, info = env.step(action)
        for name, value in zip(
            rows, (observation, action, reward, after, terminated, terminated or truncated), strict=True
        ):
            rows[name].append(value)
        observation = after
        if (terminated or truncated) and info["laps"] < laps:
            observation, info = env.reset()
    ended = np.array(rows["ended"], np.bool_)
    rewards = np.array(rows["rewards"], np.float32)
    episode = np.concatenate([[0], np.cumsum(ended)[:-1]]).astype(np.int64)
    returns = np.bincount(episode, weights=rewards)
    return Transitions(
        np.array(rows["observations"], np.float32),
        np.array(rows["actions"], np.float32),
        rewards,
        np.array(rows["next"], np.float32),
        np.array(rows["terminated"], np.float32),
        ended,
        episode,
        returns.astype(np.float64),
    )
