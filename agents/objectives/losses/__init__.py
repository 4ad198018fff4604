"""Losses: ``(rollouts, advantage, policy_out, **params) -> (per-token loss [B, T], metrics)``, one file a method."""
