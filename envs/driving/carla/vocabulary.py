"""The words that this back end shares with our own towns: entries of the observation, terms of the reward, infractions.

A policy that was trained there reads the same vector here. ``OWN``, ``WAYPOINT`` at each of ``AHEAD``, ``RULES`` and
``NEIGHBOUR`` for each of ``NEIGHBOURS`` name the entries, in this order.
"""

from ..town.episode import INFRACTIONS, OFFENCES, TERMS
from ..town.observe import AHEAD, NEIGHBOUR, NEIGHBOURS, OWN, RULES, SIGHT, SIZE, WAYPOINT

__all__ = [
    "AHEAD",
    "INFRACTIONS",
    "NEIGHBOUR",
    "NEIGHBOURS",
    "OFFENCES",
    "OWN",
    "RULES",
    "SIGHT",
    "SIZE",
    "TERMS",
    "WAYPOINT",
]
