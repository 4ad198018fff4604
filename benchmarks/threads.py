"""How many threads what is measured may compute with."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch on one thread: sums over more round differently, and the same command must give the same numbers."""
    import torch  # late: what reads verdicts needs none of it

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
