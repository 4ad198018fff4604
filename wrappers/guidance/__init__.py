"""Guidance: what a language agent is told beyond the question. One file a method, one row each in :mod:`.catalogue`."""
