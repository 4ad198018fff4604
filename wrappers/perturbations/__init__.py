"""Perturbations: what robots meet that simulators leave out. Each is seeded by ``reset`` and repeats bit for bit."""
