"""``tiltyard/Carla-v0``: a CARLA server behind the observations, actions, rewards and scores of our own driving."""
