"""What the real language trainer holds and takes, for methods whose claim is about costs."""

import time
from collections.abc import Sequence

import numpy as np

from ...agents.language.trainer import PolicyGradient

BASE, TASK = "countdown-warm", "tiltyard/Countdown-v0"


def costs(methods: Sequence[str], *, iterations: int = 4, problems: int = 32) -> dict[str, dict[str, float]]:
    """What the trainer holds for what it trains, and its processor time an iteration; ratios are first over second."""
    first, second = methods
    agents = {method: _trainer(method, problems) for method in methods}
    held = {name: 4 * _trained(agent) for name, agent in agents.items()}
    seconds: dict[str, list[float]] = {name: [] for name in agents}
    for _ in range(iterations):
        for name, agent in agents.items():
            start = time.process_time()
            agent.iterate()
            seconds[name].append(time.process_time() - start)
    return {
        "numbers held for training": {**held, "ratio": held[first] / held[second]},
        "seconds an iteration": {
            **{name: float(np.median(of)) for name, of in seconds.items()},
            "ratio": float(np.median(np.array(seconds[first]) / np.array(seconds[second]))),
        },
    }


def _trainer(method: str, problems: int) -> PolicyGradient:
    agent = PolicyGradient(
        BASE, TASK, method=method, group_size=1, prompts_per_batch=problems, warm_start_steps=0, seed=0
    )
    return agent.learn(1)


def _trained(agent: PolicyGradient) -> int:
    networks = [agent.policy.network, *([agent.networks.critic] if hasattr(agent.networks, "critic") else [])]
    return sum(weights.numel() for network in networks for weights in network.parameters())
