"""What benchmarks.evaluate says to what it cannot evaluate."""

from typing import Any

import gymnasium
import pytest

from tiltyard import benchmarks


@pytest.mark.parametrize(
    ("agent", "env", "episodes", "error", "says"),
    [
        ("random", gymnasium.make("CartPole-v1"), 2, TypeError, "an environment is named by its id here"),
        (None, "CartPole-v1", 2, TypeError, 'has SB3\'s predict, or is "expert" or "random", got None'),
        ("random", "CartPole-v1", 2.5, ValueError, "a whole number of at least 1 episode, got 2.5"),
        ("random", "CartPole-v1", True, ValueError, "a whole number of at least 1 episode, got True"),
        ("random", "CartPole-v1", 0, ValueError, "a whole number of at least 1 episode, got 0"),
    ],
)
def test_arguments_are_looked_at_first(agent: Any, env: Any, episodes: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        benchmarks.evaluate(agent, env, episodes=episodes)
