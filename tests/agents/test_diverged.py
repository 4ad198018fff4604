"""What counts as divergence: parameters that are not finite, a distribution that refuses its own; no other error."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback
from torch.distributions import Normal

from tiltyard.agents import make
from tiltyard.agents.diverged import Diverged, has_diverged


def raised(cause: Callable[[], Any]) -> Exception:
    with pytest.raises((RuntimeError, ValueError)) as caught:
        cause()
    return caught.value


def test_an_error_of_an_agent_with_finite_parameters_is_none_of_divergence() -> None:
    agent = make("sac", "tiltyard/Hopper-v5", seed=0)
    assert not has_diverged(agent, raised(lambda: int("not a number")))
    with torch.no_grad():
        next(agent.policy.parameters()).view(-1)[0] = torch.inf
    assert has_diverged(agent, raised(lambda: int("not a number")))


def test_a_distribution_that_refuses_its_parameters_is_divergence_with_finite_ones_too() -> None:
    agent = make("sac", "tiltyard/Hopper-v5", seed=0)
    assert has_diverged(agent, raised(lambda: Normal(torch.zeros(1), torch.zeros(1), validate_args=True)))
    assert has_diverged(agent, raised(lambda: Normal(torch.tensor(torch.nan), 1.0, validate_args=True)))
    assert not has_diverged(agent, raised(lambda: torch.zeros(2) @ torch.zeros(3)))


@pytest.mark.parametrize("name", ["sac", "fast-ppo", "sb3-ppo"])
def test_an_agent_that_diverges_says_so_and_what_to_do(name: str) -> None:
    settings = {"learning_starts": 100} if name == "sac" else {}
    agent = make(name, "tiltyard/Hopper-v5", seed=0, preset="none", learning_rate=1e30, n_envs=2, **settings)
    with pytest.raises(Diverged, match=r"training diverged within [\d,]+ steps.*: lower the learning rate") as caught:
        agent.learn(5_000)
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_error_of_a_callback_is_no_divergence() -> None:
    class Stops(BaseCallback):
        def _on_step(self) -> bool:
            raise ValueError("the user's own")

    with pytest.raises(ValueError, match=r"^the user's own$"):
        make("sac", "tiltyard/Hopper-v5", seed=0).learn(10, callback=Stops())


def test_errors_that_say_so_are_divergence_whatever_the_agent_is() -> None:
    assert has_diverged(object(), Diverged("learning diverged"))
    assert not has_diverged(object(), ValueError("learning diverged"))


def test_a_language_model_is_looked_at_as_well() -> None:
    agent = make("grpo", "tiltyard/Countdown-v0", seed=0)
    assert not has_diverged(agent, ValueError())
    with torch.no_grad():
        next(agent.policy.parameters()).view(-1)[0] = torch.nan
    assert has_diverged(agent, ValueError())
