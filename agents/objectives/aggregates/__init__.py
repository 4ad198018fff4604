"""Aggregates that only one method uses: ``(mask, **params) -> weights [B, T]``; the common ones are in ``ops``."""
