"""The encoder of a phone's pixels: sees places and words, and learns with SB3's policies where to tap."""

import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Dict
from stable_baselines3 import PPO

from tiltyard.agents.models.screens import ScreenExtractor
from tiltyard.wrappers import sb3_env

SPACE = Dict(screen=Box(0, 255, (3, 48, 28), np.uint8), goal=Box(-1, 1, (16,), np.float32))


def batch(n: int, seed: int = 0) -> tuple[dict[str, th.Tensor], th.Tensor]:
    """Dark screens with a red and a green square of which the goal names one, and the row (of 4) of that square."""
    rng = np.random.default_rng(seed)
    screen, goal = th.zeros(n, 3, 48, 28), th.zeros(n, 16)
    rows = np.stack([rng.permutation(4)[:2] for _ in range(n)])
    asked = rng.integers(2, size=n)
    for i in range(n):
        for colour in (0, 1):
            top = 12 * rows[i, colour] + 3
            screen[i, colour, top : top + 6, 10:18] = 1.0
        goal[i, asked[i]] = 1.0
    return {"screen": screen, "goal": goal}, th.as_tensor(rows[np.arange(n), asked])


def test_features_have_the_size_asked_for_and_every_weight_has_a_gradient() -> None:
    extractor = ScreenExtractor(SPACE, features_dim=32)
    features = extractor(batch(5)[0])
    assert features.shape == (5, 32)
    features.sum().backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in extractor.parameters())


def test_it_learns_which_of_two_places_the_goal_asks_for() -> None:
    th.manual_seed(0)
    extractor, head = ScreenExtractor(SPACE, features_dim=32, channels=16), th.nn.Linear(32, 4)
    optimizer = th.optim.Adam([*extractor.parameters(), *head.parameters()], 2e-3)
    for step in range(120):
        observations, rows = batch(24, seed=step)
        loss = th.nn.functional.cross_entropy(head(extractor(observations)), rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    observations, rows = batch(200, seed=10_000)
    with th.no_grad():
        right = (head(extractor(observations)).argmax(1) == rows).float().mean()
    assert right > 0.9, "blind to the goal's words half would be right, blind to the screen a quarter"


def test_sb3_trains_on_a_phones_pixels_with_it() -> None:
    env = sb3_env("tiltyard/Phone-v1", 2, seed=0, observation="pixels", level=1)
    kwargs = {"features_extractor_class": ScreenExtractor, "features_extractor_kwargs": {"features_dim": 16}}
    agent = PPO("MultiInputPolicy", env, n_steps=4, batch_size=8, n_epochs=1, policy_kwargs=kwargs, seed=0)
    before = agent.policy.features_extractor.first.weight.detach().clone()
    agent.learn(8)
    assert not th.equal(before, agent.policy.features_extractor.first.weight)


def test_other_observations_are_refused() -> None:
    with pytest.raises(ValueError, match="screen and goal"):
        ScreenExtractor(Dict(screen=SPACE["screen"]))
