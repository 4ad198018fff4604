"""Off-policy control over native vectors of many environments: see :mod:`.agent`."""
