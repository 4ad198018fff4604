"""Stable-Baselines3's own algorithms, with checkpoints that hold no code and any environment of ours as input.

Those that Tiltyard has itself (SAC, TD3, TQC) stay here under another name, as the baselines of ours.
"""

from typing import Any, ClassVar

import sb3_contrib
import stable_baselines3 as sb3
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from ..policy_files import safe_aliases
from ..settings import OutOfRange
from .base import ControlAgent, OffPolicyAgent, check_step, last_of
from .elements_policy import ElementsPolicy


class _Checked(VecEnvWrapper):
    """The same environments, whose steps are looked at."""

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        observations, rewards, dones, infos = self.venv.step_wait()
        check_step(observations, rewards, last_of(dones, infos))
        return observations, rewards, dones, infos


class PPO(ControlAgent, sb3.PPO):
    """Proximal policy optimisation. Paper: Proximal Policy Optimization Algorithms (2017). See ``sb3.PPO``."""

    acts_in = (Box, Discrete, MultiDiscrete, MultiBinary)
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = safe_aliases(
        {**sb3.PPO.policy_aliases, "ElementsPolicy": ElementsPolicy}
    )

    def collect_rollouts(self, env: VecEnv, *args: Any, **kwargs: Any) -> bool:
        """As in SB3, but a step that no network could learn from stops the training."""
        return super().collect_rollouts(_Checked(env), *args, **kwargs)


class SB3SAC(OffPolicyAgent, sb3.SAC):
    """Soft actor-critic. Paper: Soft Actor-Critic Algorithms and Applications (2018). See ``sb3.SAC``."""

    acts_in = (Box,)
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = safe_aliases(sb3.SAC.policy_aliases)


class SB3TD3(OffPolicyAgent, sb3.TD3):
    """Twin delayed DDPG. Paper: Addressing Function Approximation Error (2018). See ``sb3.TD3``."""

    acts_in = (Box,)
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = safe_aliases(sb3.TD3.policy_aliases)


class SB3TQC(OffPolicyAgent, sb3_contrib.TQC):
    """Truncated quantile critics. Paper: Controlling Overestimation Bias (2020). See ``sb3_contrib.TQC``."""

    acts_in = (Box,)
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = safe_aliases(sb3_contrib.TQC.policy_aliases)


class CrossQ(OffPolicyAgent, sb3_contrib.CrossQ):
    """SAC without target networks, with batch-normalised critics. Paper: CrossQ (2024). See ``sb3_contrib.CrossQ``.

    The actor is updated with every ``policy_delay``-th update of the critics.
    """

    acts_in = (Box,)
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = safe_aliases(sb3_contrib.CrossQ.policy_aliases)

    def _setup_model(self) -> None:
        if self.batch_size < 2:  # one has no deviation
            raise OutOfRange(f"CrossQ normalises by each batch: batch_size must be at least 2, got {self.batch_size}")
        super()._setup_model()


class DQN(OffPolicyAgent, sb3.DQN):
    """Deep Q-network. Paper: Human-level control through deep reinforcement learning (2015). See ``sb3.DQN``."""

    acts_in = (Discrete,)
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = safe_aliases(sb3.DQN.policy_aliases)
