"""Scores of driving: pure functions of the log of an episode, the same whatever simulated it.

:mod:`.log` is what a simulator fills; :mod:`.scores` names the scores and their versions.
"""
