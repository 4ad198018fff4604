"""Samplers: who produces the rollouts. One file a paper, one row each in ``catalogue``; ``groups`` is the default."""
