"""Curricula: which problems a language agent trains on. One file a method, one row each in :mod:`.catalogue`."""
