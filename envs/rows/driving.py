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
    Row(
        "tiltyard/Intersection-v0",
        "tiltyard.envs.driving.scenarios.driving:DrivingEnv",
        "tiltyard.envs.driving.scenarios.driving:DrivingVectorEnv",
        domain="driving",
        summary="Cross or turn at a signalled junction among rule-following traffic and pedestrians",
        max_episode_steps=900,
        kwargs={"scene": "intersection"},
        random_score=-0.01,
        expert_score=0.999,
        expert_success=0.99,
        blind_score=0.193,
        blind_success=0.0,
        blind_policy="replay 2",
    ),
    Row(
        "tiltyard/RaceTrack-v0",
        "tiltyard.envs.driving.scenarios.driving:DrivingEnv",
        "tiltyard.envs.driving.scenarios.driving:DrivingVectorEnv",
        domain="driving",
        summary="A lap of a winding closed track, alone, within a time that asks for pace",
        max_episode_steps=1000,
        kwargs={"scene": "racetrack"},
        random_score=-0.074,
        expert_score=0.999,
        expert_success=1.0,
        blind_score=-0.051,
        blind_success=0.0,
        blind_policy="replay 3",
    ),
    Row(
        "tiltyard/Town-v0",
        "tiltyard.envs.driving.scenarios.driving:DrivingEnv",
        "tiltyard.envs.driving.scenarios.driving:DrivingVectorEnv",
        domain="driving",
        summary="A route through a town with signals, signs, roundabouts, pedestrians and rule-following traffic",
        max_episode_steps=2000,
        kwargs={"scene": "town"},
        random_score=-0.049,
        expert_score=0.967,
        expert_success=0.97,
        blind_score=-0.016,
        blind_success=0.0,
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
