"""Screens to be operated, a row an id; see :mod:`tiltyard.envs.catalogue`."""

from ..row import Row

ROWS: tuple[Row, ...] = (
    Row(
        "tiltyard/Phone-v0",
        "tiltyard.envs.gui.phone:PhoneEnv",
        "tiltyard.envs.gui.phone:PhoneVectorEnv",
        domain="gui",
        summary="A simulated phone with real apps, goals in words, pixels and an accessibility tree",
        max_episode_steps=50,
        random_score=0.0,
        expert_score=1.0,
        expert_success=1.0,
        blind_score=0.043,
        blind_success=0.043,
        blind_policy="tap 0.2 0.5, then done",
        untrained={"word matcher": 0.42},
    ),
    Row(
        "tiltyard/Phone-v1",
        "tiltyard.envs.gui.compiled.env:PhoneV1Env",
        "tiltyard.envs.gui.compiled.env:PhoneV1VectorEnv",
        domain="gui",
        summary="A simulated phone with more apps and gestures, questions, infeasible tasks, and six held-out splits",
        max_episode_steps=60,
        random_score=0.0,
        expert_score=1.0,
        expert_success=1.0,
        blind_score=0.04,
        blind_success=0.04,
        blind_policy="infeasible",
        untrained={"word matcher": 0.16},
    ),
)

LIVE: tuple[Row, ...] = (
    Row(
        "tiltyard/Android-v0",
        "tiltyard.envs.gui.android.env:AndroidEnv",
        None,
        domain="gui",
        summary="A device behind adb: a phone, an emulator, or a fake one with the tasks of our phones",
        max_episode_steps=60,
        tier="live",
    ),
    Row(
        "tiltyard/WebPhone-v0",
        "tiltyard.envs.gui.web.env:WebPhoneEnv",
        "tiltyard.envs.gui.web.env:WebPhoneVectorEnv",
        domain="gui",
        summary="Phone-v1 in a real Chromium, from the same declarations; laid out the same, or by CSS",
        max_episode_steps=60,
        tier="live",
    ),
)
"""What a device or a browser stands behind."""
