"""Stable-Baselines3's own algorithms, with checkpoints that hold no code and any environment of ours as input."""

import stable_baselines3 as sb3
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from .base import ControlAgent, OffPolicyAgent


class PPO(ControlAgent, sb3.PPO):
    """Proximal policy optimisation. Paper: Proximal Policy Optimization Algorithms (2017). See ``sb3.PPO``."""

    acts_in = (Box, Discrete, MultiDiscrete, MultiBinary)


class DQN(OffPolicyAgent, sb3.DQN):
    """Deep Q-network. Paper: Human-level control through deep reinforcement learning (2015). See ``sb3.DQN``."""

    acts_in = (Discrete,)
