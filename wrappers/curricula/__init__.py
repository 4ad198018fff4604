"""Curricula."""
