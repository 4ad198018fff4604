"""What updates of control agents spend their time on, made fast: passes through ensembles of perceptrons.

An ensemble is one module whose layers are stacked, so that each layer of all members is one batched product. Its
backward pass is written by hand: one node in autograd's graph, an output of width one as a dot product (a sixth of the
time of a matrix product), and for the least of several critics only the critic that was the least. What is left is
mostly the matrix products themselves; ``benchmarks/speed/control.py`` measures how near.
"""

import ctypes
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch as th
from torch import Tensor, nn

from ... import unknown

Precision = Literal["fp32", "bf16"]
PRECISIONS: dict[str, th.dtype | None] = {"fp32": None, "bf16": th.bfloat16}
_aten = th.ops.aten


def keep_freed_memory() -> None:
    """Lets the C library keep what tensors free, where it is glibc: the next update needs the same sizes again.

    Otherwise megabytes go back to the system every update, and come back zeroed page by page: a third of the time of a
    critic's backward pass. It holds for the whole process: agents that learn with these updates call it.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "gnu_get_libc_version"):
        top_pad, trim_threshold, mmap_threshold = -2, -1, -3  # their numbers in malloc.h
        library.mallopt(mmap_threshold, 32 * 2**20)
        library.mallopt(trim_threshold, 2**30)
        library.mallopt(top_pad, 64 * 2**20)


@dataclass(frozen=True)
class Activation:
    """An element-wise function: ``forward(z)`` may overwrite z; ``backward(g, kept)`` g, and gets z or the output."""

    forward: Callable[[Tensor], Tensor]
    backward: Callable[[Tensor, Tensor], Tensor]
    keeps_output: bool


def _relu_backward(g: Tensor, out: Tensor) -> Tensor:
    if th.compiler.is_compiling():  # which finds the memory by itself
        found: Tensor = _aten.threshold_backward(g, out, 0)
    else:
        found = _aten.threshold_backward.grad_input(g, out, 0, grad_input=g)
    return found


ACTIVATIONS: dict[type[nn.Module], Activation] = {
    nn.ReLU: Activation(Tensor.relu_, _relu_backward, True),
    nn.Tanh: Activation(Tensor.tanh_, lambda g, out: _aten.tanh_backward(g, out), True),
    nn.GELU: Activation(nn.functional.gelu, lambda g, z: _aten.gelu_backward(g, z), False),
    nn.SiLU: Activation(nn.functional.silu, lambda g, z: _aten.silu_backward(g, z), False),
    nn.ELU: Activation(nn.functional.elu, lambda g, z: _aten.elu_backward(g, 1.0, 1.0, 1.0, False, z), False),
}


def any_activation(kind: type[nn.Module]) -> Activation:
    """The activation of a module class: one of :data:`ACTIVATIONS`, or any other by way of autograd, more slowly.

    Raises:
        ValueError: a module that learns something itself.
    """
    if kind in ACTIVATIONS:
        return ACTIVATIONS[kind]
    module = kind()
    if any(True for _ in module.parameters()):
        raise ValueError(f"activation_fn {kind.__name__} has parameters of its own, which nothing would train")

    def backward(g: Tensor, z: Tensor) -> Tensor:
        with th.enable_grad():
            z = z.detach().requires_grad_()
            (found,) = th.autograd.grad(module(z.clone()), z, g)
        return found

    return Activation(lambda z: module(z.clone()), backward, False)


@dataclass(frozen=True)
class Plan:
    """How an ensemble computes: activation, whether layers are normalised before it, and a type for the products.

    Without a type of its own (``low`` None) everything is of the parameters' type.
    """

    activation: Activation
    layer_norm: bool
    low: th.dtype | None

    def lowered(self, x: Tensor) -> Tensor:
        """``x`` in the type of the products."""
        return x if self.low is None else x.to(self.low)


class Mlp(nn.Module):
    """``n`` perceptrons of equal shape side by side.

    Begins as ``torch.nn.Linear`` does, or orthogonally. Layers are normalised (if at all) between product and
    activation, as RLPD does.

    Args:
        n: members.
        n_in: width of the input.
        widths: of the hidden layers.
        n_out: width of the output.
        activation: between the layers; those of :data:`ACTIVATIONS` are fast.
        layer_norm: normalise every hidden layer, with a learned scale and shift a member.
        orthogonal: gain of the last layer, for orthogonal weights (of gain sqrt(2) in hidden layers) and biases of 0.

    Raises:
        ValueError: an activation with parameters.
    """

    def __init__(
        self,
        n: int,
        n_in: int,
        widths: Sequence[int],
        n_out: int,
        *,
        activation: type[nn.Module] = nn.ReLU,
        layer_norm: bool = False,
        orthogonal: float | None = None,
    ) -> None:
        super().__init__()
        self.plan = Plan(any_activation(activation), layer_norm, None)
        self.n, self.n_in, self.n_out = n, n_in, n_out
        sizes = [n_in, *widths, n_out]
        tensors: list[Tensor] = []
        for layer, (fan_in, width) in enumerate(zip(sizes[:-1], sizes[1:], strict=True)):
            gain = orthogonal if layer == len(widths) else math.sqrt(2)
            tensors += _beginning(n, fan_in, width, None if orthogonal is None else gain)
            if layer_norm and layer < len(widths):
                tensors += [th.ones(n, 1, width), th.zeros(n, 1, width)]
        self.weights = nn.ParameterList(nn.Parameter(tensor) for tensor in tensors)
        self._params = tuple(self.weights)

    def _apply(self, fn: Any, recurse: bool = True) -> "Mlp":
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._params = tuple(self.weights)
        return self

    @property
    def params(self) -> tuple[Tensor, ...]:
        """Weights and biases of each layer, and scales and shifts where it is normalised."""
        return self._params

    def set_precision(self, precision: str) -> None:
        """Precision of the hidden layers' products: "fp32" or "bf16"; weights and outputs stay fp32.

        Raises:
            ValueError: another one.
        """
        if precision not in PRECISIONS:
            raise ValueError(unknown("matmul_precision", precision, PRECISIONS))
        self.plan = Plan(self.plan.activation, self.plan.layer_norm, PRECISIONS[precision])

    def forward(self, x: Tensor) -> Tensor:
        """``[B, n_in]`` (the same for all) or ``[n, B, n_in]`` to ``[n, B, n_out]``."""
        return self._apply_to(x, self._params)

    def frozen(self, x: Tensor, members: int | None = None) -> Tensor:
        """The first ``members`` (all if None) on ``[B, n_in]``, as in :meth:`forward`; only ``x`` gets a gradient."""
        return self._apply_to(x, [param.detach()[:members] for param in self._params])

    def passed(self, x: Tensor, members: slice | Tensor | None = None) -> "Passed":
        """:meth:`forward` of some ``members`` (a slice or indices; all if None), kept for the backward pass."""
        params = self._params if members is None else [param[members] for param in self._params]
        return Passed(*forward(x.expand(len(params[0]), *x.shape[-2:]), self.plan, params), self.plan)

    def _apply_to(self, x: Tensor, params: Sequence[Tensor]) -> Tensor:
        x = x.expand(len(params[0]), *x.shape[-2:])
        if not th.is_grad_enabled():
            return forward(x, self.plan, params)[0]
        out: Tensor = _Pass.apply(x, self.plan, *params)  # type: ignore[no-untyped-call]
        return out


def _beginning(n: int, fan_in: int, width: int, gain: float | None) -> list[Tensor]:
    """Weights ``[n, fan_in, width]`` and biases ``[n, 1, width]``: orthogonal of a gain, or torch's own if None."""
    weights, biases = th.empty(n, fan_in, width), th.zeros(n, 1, width)
    if gain is None:
        bound = 1 / math.sqrt(fan_in)
        return [weights.uniform_(-bound, bound), biases.uniform_(-bound, bound)]
    for member in weights:
        nn.init.orthogonal_(member, gain)
    return [weights, biases]


def forward(x: Tensor, plan: Plan, params: Sequence[Tensor]) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
    """The output ``[n, B, n_out]``, and a layer what its backward pass needs: input, weight, and the activation's."""
    step = 4 if plan.layer_norm else 2
    kept: list[tuple[Tensor, ...]] = []
    h, lowered = plan.lowered(x), plan.lowered
    for i in range(0, len(params) - 2, step):
        weight = lowered(params[i])
        bias = lowered(params[i + 1])
        # A compiler joins the sum with what follows.
        z = th.bmm(h, weight) + bias if th.compiler.is_compiling() else th.baddbmm(bias, h, weight)
        norm: tuple[Tensor, ...] = ()
        if plan.layer_norm:
            unit, mean, rstd = th.native_layer_norm(z, z.shape[-1:], None, None, 1e-6)
            norm = (z, unit, mean, rstd, params[i + 2])
            z = lowered(th.addcmul(params[i + 3], unit, params[i + 2]))
        out = plan.activation.forward(z)
        kept.append((h, weight, out if plan.activation.keeps_output else z, *norm))
        h = out
    weight, bias = params[-2], params[-1]
    h = h.to(weight.dtype)
    kept.append((h, weight))
    if weight.shape[-1] == 1:
        return th.add((h * weight.transpose(1, 2)).sum(-1, keepdim=True), bias), kept
    return th.baddbmm(bias, h, weight), kept


@th.no_grad()
def backward(
    g: Tensor, plan: Plan, kept: Sequence[tuple[Tensor, ...]], *, weights: bool, inputs: bool
) -> tuple[Tensor | None, list[Tensor]]:
    """Gradients of the input (if asked for) and of the parameters in their order (if asked for)."""
    grads: list[Tensor] = []
    h, weight = kept[-1]
    narrow = weight.shape[-1] == 1
    if weights:
        product = th.bmm(g.transpose(1, 2), h).transpose(1, 2) if narrow else th.bmm(h.transpose(1, 2), g)
        grads += [g.sum(1, keepdim=True), product]
    g = g * weight.transpose(1, 2) if narrow else th.bmm(g, weight.transpose(1, 2))
    full, g = g.dtype, plan.lowered(g)
    for i in reversed(range(len(kept) - 1)):
        h, weight, active, *norm = kept[i]
        g = plan.activation.backward(g, active)
        if norm:
            z, unit, mean, rstd, scale = norm
            if weights:
                grads += [g.to(full).sum(1, keepdim=True), (g * unit).to(full).sum(1, keepdim=True)]
            g = plan.lowered(g * scale)
            g = _aten.native_layer_norm_backward(g, z, z.shape[-1:], mean, rstd, None, None, [True, False, False])[0]
        if weights:
            grads += [g.to(full).sum(1, keepdim=True), th.bmm(h.transpose(1, 2), g).to(full)]
        if i or inputs:
            g = th.bmm(g, weight.transpose(1, 2))
    return (g.to(full) if inputs else None), grads[::-1]


class _Pass(th.autograd.Function):
    """One node for a whole ensemble."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, plan: Plan, *params: Tensor) -> Tensor:
        out, ctx.kept = forward(x, plan, params)
        ctx.plan = plan
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:  # type: ignore[override]
        inputs, _, *wanted = ctx.needs_input_grad
        gx, grads = backward(g, ctx.plan, ctx.kept, weights=any(wanted), inputs=inputs)
        return (gx, None, *(grads or (None,) * len(wanted)))


class Passed(NamedTuple):
    """A pass through an ensemble, and what its backward pass needs."""

    out: Tensor  # [n, B, n_out]
    kept: list[tuple[Tensor, ...]]  # a layer, see :func:`forward`
    plan: Plan

    def rows(self, first: int, last: int) -> "Passed":
        """Some samples alone."""
        return Passed(self.out[:, first:last], [_rows(layer, first, last) for layer in self.kept], self.plan)

    def gradients(self, g: Tensor) -> list[Tensor]:
        """Of the parameters, given those of the outputs ``[n, B, n_out]``."""
        return backward(g, self.plan, self.kept, weights=True, inputs=False)[1]

    def by_inputs(self, g: Tensor, last: int) -> Tensor:
        """Of the ``last`` columns of inputs that all members share, ``[B, last]``."""
        (h, weight, *rest), *others = self.kept
        kept = [(h, weight[:, -last:], *rest), *others]
        found, _ = backward(g, self.plan, kept, weights=False, inputs=True)
        assert found is not None
        return found.sum(0)

    def by_inputs_of(self, member: Tensor, g: Tensor, last: int) -> Tensor:
        """:meth:`by_inputs` where of each sample one ``member`` ``[B]`` counts: the others are left out."""
        if th.compiler.is_compiling():  # whose shapes are fixed
            chosen = member == th.arange(len(g), device=g.device)[:, None]
            return self.by_inputs(g * chosen.unsqueeze(-1), last)
        gx = g.new_empty(len(member), last)
        for one in range(len(g)):
            rows = (member == one).nonzero().squeeze(-1)
            if len(rows):
                layers = [_of_member(layer, one, rows) for layer in self.kept]
                gx[rows] = Passed(self.out, layers, self.plan).by_inputs(g[one : one + 1, rows], last)
        return gx


def _of_member(layer: tuple[Tensor, ...], member: int, rows: Tensor) -> tuple[Tensor, ...]:
    """What one layer kept, for some samples of one member; its input, which no gradient of inputs needs, for all."""
    h, weight, *rest = layer
    scale = rest[-1:] if len(rest) > 1 else []
    others = [tensor[member].index_select(0, rows)[None] for tensor in rest[: len(rest) - len(scale)]]
    return (h, weight[member : member + 1], *others, *(tensor[member : member + 1] for tensor in scale))


def _rows(layer: tuple[Tensor, ...], first: int, last: int) -> tuple[Tensor, ...]:
    """What a layer kept, for some samples; weights and scales (second, and last of a normalised layer) have none."""
    h, weight, *rest = layer
    return (h[:, first:last], weight, *(part[:, first:last] for part in rest[:5]), *rest[5:])


def minimise(optimizer: th.optim.Optimizer, loss: Tensor) -> Tensor:
    """One step down ``loss`` by autograd; returns it without gradient."""
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.detach()


def polyak(targets: Sequence[Tensor], sources: Sequence[Tensor], tau: float) -> None:
    """Moves every target a share ``tau`` of the way to its source, all at once: theta' += tau (theta - theta')."""
    with th.no_grad():
        th._foreach_lerp_(list(targets), list(sources), tau)
