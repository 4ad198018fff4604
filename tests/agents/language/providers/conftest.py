from collections.abc import Callable

import pytest

from tiltyard.agents.language.collect import Collector
from tiltyard.agents.language.context import Context
from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.agents.language.trainer import PolicyGradient


@pytest.fixture
def sampled() -> Callable[..., tuple[Rollouts, Context]]:
    """Groups of completions of a small agent, and the context that its providers would see."""

    def sample(method: str = "grpo", env: str = "tiltyard/ChainSum-v0", policy: str = "chain-sum-base"):
        agent = PolicyGradient(
            policy, env, method=method, group_size=2, prompts_per_batch=4, max_answer_tokens=32, seed=0, device="cpu"
        )
        agent._callback = agent._setup_learn(1)[1]
        context = agent.context()
        return Collector(context, 2).collect([5, 6, 7, 8]), context

    return sample
