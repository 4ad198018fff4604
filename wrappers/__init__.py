"""Wrappers: adapters to Stable-Baselines3 (:mod:`.spaces`), rewards, curricula and guidance."""
