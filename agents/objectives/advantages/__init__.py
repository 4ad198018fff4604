"""Advantages: ``(rollouts, **params) -> [B] or [B, T]``, one file a method."""
