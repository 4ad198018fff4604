"""Rows of the objectives' catalogue, by where they come from; see :mod:`tiltyard.agents.objectives.catalogue`."""
