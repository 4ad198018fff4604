"""Curricula: which problems an agent trains on. One file a method, one row each in :mod:`.catalogue`."""
