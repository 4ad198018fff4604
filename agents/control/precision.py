"""Whether this machine gains from matrix products in half precision."""

import warnings

import torch as th


def warn_if_slow(precision: str, device: th.device) -> None:
    """Warns where ``matmul_precision="bf16"`` is slower than fp32.

    Processors without AVX-512 emulate each bf16 product: on an AMD EPYC of the third generation, which has AVX2 alone,
    one of 256 x 256 x 256 takes 50 times as long as in fp32.
    """
    if precision == "bf16" and device.type == "cpu" and th.backends.cpu.get_cpu_capability() == "AVX2":
        warnings.warn(
            'this processor emulates bf16 products, which is far slower than fp32: leave matmul_precision="fp32"',
            stacklevel=2,
        )
