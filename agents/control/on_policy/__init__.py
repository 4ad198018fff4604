"""Proximal policy optimisation over native vectors of many environments: see :mod:`.fast_ppo`."""
