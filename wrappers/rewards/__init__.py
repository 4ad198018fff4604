"""Rewards: what a language agent is paid beyond the environment's own terms. One file a method, one row each."""
