"""Instruments of published analyses: what a reward, a policy or a preference model is worth beside its score.

Each is a file named after its paper, of functions of arrays; whatever was sampled or computed comes from the caller.
"""
