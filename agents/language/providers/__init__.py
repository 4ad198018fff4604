"""Providers: what an objective reads besides completions and rewards. One file each, one row each in ``catalogue``."""
