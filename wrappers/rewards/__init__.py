"""Rewards: what agents are paid beyond, or instead of, the environment's own terms. One file a method."""
