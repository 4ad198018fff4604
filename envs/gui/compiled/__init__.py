"""The compiled phone: declarations become bytecode, which one numba machine runs for a batch of phones."""
