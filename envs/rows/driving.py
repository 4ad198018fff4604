"""Roads, a row an id; see :mod:`tiltyard.envs.catalogue`."""

from ..row import Row

ROWS: tuple[Row, ...] = (
    Row(
        "tiltyard/Highway-v0",
        "tiltyard.envs.driving.scenarios.highway:HighwayEnv",
        "tiltyard.envs.driving.scenarios.highway:HighwayVectorEnv",
        domain="driving",
        summary="A multi-lane road among IDM and MOBIL traffic, rewarded by route completion",
        max_episode_steps=400,
        random_score=-0.084,
        expert_score=0.971,
        expert_success=0.98,
        blind_score=0.196,
        blind_success=0.09,
        blind_policy="replay 4",
    ),
)

LIVE: tuple[Row, ...] = (
    Row(
        "tiltyard/Carla-v0",
        "tiltyard.envs.driving.carla.env:CarlaEnv",
        None,
        domain="driving",
        summary="A CARLA server with the observations, actions, rewards and scores of our own towns",
        max_episode_steps=4000,
        tier="live",
    ),
)
"""What a simulator of its own stands behind."""
