"""What an environment raises, and what is said of one whose constructor raises."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gymnasium.error import DependencyNotInstalled

OURS = "tiltyard/"
"""Prefix of our environments' ids: their rewards are known, their constructors refuse keywords in a sentence."""


class InvalidAction(ValueError):
    """An action outside the action space; the message says what was got and what is allowed, the state is untouched."""


class CannotBeMade(ValueError):
    """Another package's environment raised an error as it was made, which is the cause of this one."""


@contextmanager
def made_by_others(env_id: str, keywords: Mapping[str, Any]) -> Iterator[None]:
    """Names the environment that is made in the block, its keywords and the error, where it is another package's.

    Args:
        env_id: as ``gymnasium.make`` takes it.
        keywords: that it is made with.

    Raises:
        CannotBeMade: its constructor raised an error.
        DependencyNotInstalled: as it was raised, since it says what to install.
    """
    try:
        yield
    except DependencyNotInstalled:
        raise
    except Exception as error:
        if env_id.startswith(OURS):
            raise
        given = ", ".join(f"{name}={value!r:.100}" for name, value in sorted(keywords.items()))
        text = " ".join(str(error.args[0] if isinstance(error, KeyError) and error.args else error).split())
        named = f"environment {env_id}" + bool(given) * f" with {given}"
        raise CannotBeMade(f"{named} cannot be made: {type(error).__name__}: {text}") from error
