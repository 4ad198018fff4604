"""S5 layers: linear state-space models as the memory of a policy, whose states are reset where episodes begin.

A layer maps inputs ``u_1..u_L`` of width H to outputs of the same width through a complex state ``x`` of P numbers::

    x_k = a_k * x_{k-1} + B' u_k,   y_k = 2 Re(C x_k) + D * u_k,   a_k = 0 where an episode begins, else exp(Lambda dt)

with ``B' = (exp(Lambda dt) - 1) / Lambda B`` (zero-order hold), so that a sequence with resets inside is still one
linear recurrence and can be computed by an associative scan: two steps ``(a, b)`` and ``(a', b')`` in a row are one,
``(a' a, a' b + b')``, whatever begins between them.

Papers: Smith, Warrington and Linderman, Simplified State Space Layers for Sequence Modeling (2022), eq. 2 to 6 and
appendix B (HiPPO-N initialisation, steps between 0.001 and 0.1, one of each pair of conjugate states kept; here real
parts of eigenvalues are -exp of a parameter, so that no state can grow without bound); Lu et al.,
Structured State Space Models for In-Context Reinforcement Learning (2023), section 3.2 for the reset, which there is a
flag that the scan carries along. A factor of 0 in place of the flag gives the same states.
"""

import math
from typing import Any

import torch as th
from torch import Tensor, nn
from torch.nn import functional

SLOWEST, FASTEST = 0.001, 0.1  # steps dt to begin with, uniform in their logarithm


def hippo(n: int) -> tuple[Tensor, Tensor]:
    """Eigenvalues ``[n]`` and eigenvectors ``[n, n]``, complex, of the normal part of the HiPPO-LegS matrix.

    The matrix is ``A = -(sqrt(2i + 1) sqrt(2j + 1) below the diagonal, i + 1 on it)``, and its normal part
    ``A + p p^T`` with ``p_i = sqrt(i + 1/2)``, which is -1/2 plus an antisymmetric matrix (Gu et al., On the
    Parameterization and Initialization of Diagonal State Space Models (2022), eq. 5 and 6). The eigenvalues come in
    conjugate pairs, those with negative imaginary parts first.
    """
    i = th.arange(n, dtype=th.float64)
    roots, p = (2.0 * i + 1.0).sqrt(), (i + 0.5).sqrt()
    a = -(th.tril(roots[:, None] * roots[None, :]) - th.diag(i))
    antisymmetric = a + p[:, None] * p[None, :] + 0.5 * th.eye(n, dtype=th.float64)
    turns, vectors = th.linalg.eigh(antisymmetric.to(th.complex128) * -1j)
    return th.complex(th.full_like(turns, -0.5), turns), vectors


def doubled(factors: Tensor, inputs: Tensor) -> Tensor:
    """:func:`scanned` by an associative scan: log2(L) passes over all steps at once."""
    a, x, reach = factors, inputs, 1
    while reach < len(x):
        x = th.cat((x[:reach], x[reach:] + a[reach:] * x[:-reach]))
        a = th.cat((a[:reach], a[reach:] * a[:-reach]))
        reach *= 2
    return x


def stepped(factors: Tensor, inputs: Tensor) -> Tensor:
    """:func:`scanned` step by step: L passes over one step each, the least arithmetic."""
    x = inputs.clone()
    for k in range(1, len(x)):
        x[k].addcmul_(factors[k], x[k - 1])
    return x


def scanned(factors: Tensor, inputs: Tensor) -> Tensor:
    """States ``x_k = factors_k * x_{k-1} + inputs_k`` from ``x_0 = 0``, all ``[L, ...]``; no gradients.

    One processor core is done sooner step by step; devices that compute many steps at once, by the associative scan.
    """
    return stepped(factors, inputs) if inputs.device.type == "cpu" else doubled(factors, inputs)


class Recurrence(th.autograd.Function):
    """:func:`scanned` with its gradient, which is the same recurrence backwards in time: no step's state is kept twice.

    For ``g_k`` the gradient by ``x_k`` alone, that by ``inputs_k`` is ``h_k = g_k + conj(factors_{k+1}) h_{k+1}``, and
    that by ``factors_k`` is ``h_k conj(x_{k-1})``.
    """

    @staticmethod
    def forward(ctx: Any, factors: Tensor, inputs: Tensor) -> Tensor:
        """``[L, ...]`` of both."""
        states = scanned(factors, inputs)
        ctx.save_for_backward(factors, states)
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        """By the factors and by the inputs."""
        factors, states = ctx.saved_tensors
        later = th.cat((factors[1:].conj(), th.zeros_like(factors[:1])))
        by_inputs = scanned(later.flip(0), grads[0].flip(0)).flip(0)
        before = th.cat((th.zeros_like(states[:1]), states[:-1]))
        return by_inputs * before.conj(), by_inputs


class S5Layer(nn.Module):
    """One layer with its gate, added to its input: ``u + GLU(gelu(y))``, as in the second paper's experiments.

    Departure: the layers there are normalised as well (before the state space and after it), and 4 of width 256.

    Args:
        width: H, of inputs and outputs.
        states: 2P, even: half of them are kept, as each stands for a conjugate pair.
    """

    def __init__(self, width: int, states: int) -> None:
        super().__init__()
        if states < 2 or states % 2:
            raise ValueError(f"the states of an S5 layer are an even number of at least 2, got {states}")
        values, vectors = hippo(states)
        half = states // 2
        values, vectors = values[:half], vectors[:, :half]
        b = th.randn(states, width, dtype=th.float64) / math.sqrt(width)
        c = th.view_as_complex(th.randn(width, states, 2, dtype=th.float64)) / math.sqrt(states)
        steps = th.rand(half) * math.log(FASTEST / SLOWEST) + math.log(SLOWEST)
        self.decay = nn.Parameter(th.log(-values.real).float())  # of which the real part is -exp: states stay bounded
        self.turn = nn.Parameter(values.imag.float())
        self.b = nn.Parameter(th.view_as_real(vectors.conj().T @ b.to(th.complex128)).float())
        self.c = nn.Parameter(th.view_as_real(c @ vectors).float())
        self.d = nn.Parameter(th.randn(width))
        self.log_step = nn.Parameter(steps)
        self.gate = nn.Linear(width, 2 * width)

    def discretized(self) -> tuple[Tensor, Tensor]:
        """``exp(Lambda dt)`` ``[P]`` and ``B'`` ``[P, H]``, complex."""
        values = th.complex(-self.decay.exp(), self.turn)
        kept = th.exp(values * self.log_step.exp())
        return kept, ((kept - 1.0) / values)[:, None] * th.view_as_complex(self.b)

    def forward(self, inputs: Tensor, state: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs ``[L, N, H]`` and the state after the last step.

        Args:
            inputs: ``[L, N, H]``.
            state: ``[N, P]``, complex, before the first step.
            starts: ``[L, N]``, whether an episode begins with a step.
        """
        kept, b = self.discretized()
        factors = kept * (~starts).to(inputs.dtype)[..., None]
        driven = th.complex(inputs @ b.real.T, inputs @ b.imag.T)
        driven = th.cat((driven[:1] + factors[:1] * state, driven[1:]))
        states: Tensor = Recurrence.apply(factors, driven)  # type: ignore[no-untyped-call]
        c = th.view_as_complex(self.c)
        seen = 2.0 * (states.real @ c.real.T - states.imag @ c.imag.T) + self.d * inputs
        return inputs + functional.glu(self.gate(functional.gelu(seen))), states[-1]
