"""Environments of four domains, reached with ``gymnasium.make("tiltyard/...")``; see :mod:`tiltyard.envs.catalogue`."""

from .catalogue import register_all
from .errors import InvalidAction

__all__ = ["InvalidAction"]

register_all()  # `import tiltyard` comes here: strings alone
