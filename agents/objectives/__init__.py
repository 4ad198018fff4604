"""Objectives of language agents: pure functions of tensors, named by the rows of :mod:`.catalogue`."""
