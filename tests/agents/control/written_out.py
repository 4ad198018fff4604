"""Every agent whose update's gradients are written out, in float64, on batches of one small dataset."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.utils import set_random_seed

from tiltyard.agents.control.actor_critic import ActorCritic
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.explicit import is_explicit
from tiltyard.agents.control.replay import Batch
from tiltyard.agents.control.rows import ROWS

OBSERVATIONS, ACTIONS = Box(-9, 9, (3,)), Box(-1, 1, (2,))
NET: dict[str, Any] = {"net_arch": [24, 16]}
SETTINGS: dict[str, Any] = {"seed": 0, "device": "cpu", "_init_setup_model": False}


def agents() -> dict[str, type[ActorCritic]]:
    """The classes of all rows, by their own names."""
    found: dict[str, type[ActorCritic]] = {}
    for row in ROWS:
        module, _, name = row.entry_point.partition(":")
        made = getattr(import_module(module), name)
        if isinstance(made, type) and issubclass(made, ActorCritic) and is_explicit(made.update):
            found[name] = made
    return found


AGENTS = agents()
RANGE = {"v_min": -30.0, "v_max": 30.0}
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "fixed temperature, tanh": ("SAC", {"ent_coef": 0.1, "policy_kwargs": {"activation_fn": th.nn.Tanh}}),
    "delayed actor": ("SAC", {"policy_delay": 2}),
    "RLPD": (
        "SAC",
        {
            **{"critic_subset": 2, "backup_entropy": False, "actor_objective": "mean"},
            "policy_kwargs": {"n_critics": 4, "critic_layer_norm": True, "actor_layer_norm": True},
        },
    ),
    "normalised, the least critic": ("SAC", {"policy_kwargs": {"critic_layer_norm": True}}),
    "Gaussian head": ("SAC", {"policy_kwargs": {"critic_head": "gaussian"}}),
    "two-hot": ("SAC", {"policy_kwargs": {"critic_head": "two-hot", "critic_head_kwargs": RANGE}}),
    "HL-Gauss": ("SAC", {"policy_kwargs": {"critic_head": "hl-gauss", "critic_head_kwargs": RANGE}}),
    "no hidden layer": ("TD3", {"policy_kwargs": {"net_arch": []}}),
    "learned line of deviations": ("IQL", {"policy_kwargs": {"actor": "squashed-gaussian", "log_std_offset": -1.0}}),
    "exponential weights": ("AWAC", {"weighting": "exp", "policy_kwargs": {"actor": "squashed-gaussian"}}),
    "values as histograms": ("IQL", {"policy_kwargs": {"critic_head": "hl-gauss", "critic_head_kwargs": RANGE}}),
    "learned weight, best of many": (
        "CQL",
        {"target_action_gap": 1.0, "max_target_backup": True, "backup_entropy": True, "temperature": 0.7},
    ),
    "total variation": ("FDVL", {"divergence": "total-variation", "huber": 0.5}),
    "XQL": ("FDVL", {"divergence": "kl", "max_clip": 0.1}),
}
KINDS = {name: (name, {}) for name in AGENTS} | OTHERS


def data(n: int = 200) -> Transitions:
    """Random steps of five episodes, the last of which a time limit cut off."""
    rng = np.random.default_rng(5)
    observations, following = (rng.normal(size=(n, 3)).astype(np.float32) for _ in range(2))
    actions, rewards = rng.uniform(-1, 1, (n, 2)).astype(np.float32), rng.normal(size=n).astype(np.float32)
    ends, episodes = np.arange(n) % 40 == 39, np.arange(n) // 40
    terminations = (ends & (episodes < 4)).astype(np.float32)
    returns = np.array([rewards[episodes == one].sum() for one in range(5)], float)
    return Transitions(observations, actions, rewards, following, terminations, ends, episodes, returns)


def made(kind: str, **more: Any) -> Any:
    """An agent in float64 whose networks are not as they began, and which has the data."""
    name, settings = KINDS[kind]
    settings = {**settings, **SETTINGS, "policy_kwargs": {**NET, **settings.get("policy_kwargs", {})}, **more}
    agent: Any = AGENTS[name]("MlpPolicy", None, **settings)
    agent.observation_space, agent.action_space, agent.n_envs = OBSERVATIONS, ACTIONS, 1
    agent._setup_model()
    agent.learn_offline(data(), 0)
    agent.policy.double()
    own = [getattr(agent, name) for name in agent.saved_tensors]
    for tensor in [*own, agent._temperature.log] if hasattr(agent, "_temperature") else own:
        if tensor is not None:  # a fixed temperature is not saved
            tensor.data = tensor.data.double()
    agent._pair_targets()
    th.manual_seed(1)
    with th.no_grad():
        for parameter in agent.policy.parameters():
            parameter += 0.1 * th.randn(parameter.shape)
    return agent


def batches(agent: Any, n: int) -> Iterator[Batch]:
    """``n`` batches in float64, each with its own seed for what the update draws."""
    for seed in range(n):
        batch = agent.sample(32)
        whole = [None if part is None else part.double() if part.is_floating_point() else part for part in batch]
        set_random_seed(seed)
        yield Batch(*whole)
        agent._n_updates += 1
