"""Gradient descent for learning from a stream: eligibility traces and a bound on how far one step may go.

Paper: Elsayed, Vasan and Mahmood, Streaming Deep Reinforcement Learning Finally Works, 2024 (arXiv 2410.14606),
algorithm 3.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import torch as th
from torch import Tensor

from ..optimizers import Eager


class ObGD(Eager):
    r"""Overshooting-bounded gradient descent along eligibility traces.

    A parameter's ``grad`` holds the gradient of what is predicted or chosen (v(s), q(s, a), log pi(a|s)), not of a
    loss; the temporal-difference error :math:`\delta` comes with each step.

    .. math::
        z \leftarrow \gamma \lambda z + \nabla, \quad
        M = \alpha \kappa \max(|\delta|, 1) \lVert z \rVert_1, \quad
        w \leftarrow w + \frac{\alpha}{\max(M, 1)} \delta z

    M bounds how many times over a step of size alpha would correct the error it is made from; the 1-norm runs over all
    parameters of the optimiser. With ``kappa=0`` nothing is bounded: plain stochastic gradient descent with traces.

    Args:
        params: to be optimised.
        lr: alpha, the largest step size.
        gamma: discount.
        trace_lambda: lambda; traces decay by ``gamma * trace_lambda`` a step.
        kappa: how much smaller than the bound steps are; the larger, the safer.

    Raises:
        ValueError: a setting outside its range.
    """

    def __init__(
        self,
        params: Iterable[Any],
        *,
        lr: float = 1.0,
        gamma: float = 0.99,
        trace_lambda: float = 0.8,
        kappa: float = 2.0,
    ) -> None:
        if not (lr > 0 and 0 <= gamma <= 1 and 0 <= trace_lambda <= 1 and kappa >= 0):
            raise ValueError(
                "ObGD needs lr > 0, gamma and trace_lambda within [0, 1] and kappa >= 0, "
                f"got lr={lr}, gamma={gamma}, trace_lambda={trace_lambda}, kappa={kappa}"
            )
        super().__init__(params, {"lr": lr, "gamma": gamma, "trace_lambda": trace_lambda, "kappa": kappa})

    @th.no_grad()
    def step(self, delta: float, reset: bool = False) -> float:  # type: ignore[override]
        """Adds the gradients to the traces and moves the parameters along them.

        Args:
            delta: the temporal-difference error.
            reset: forget the traces afterwards, as at an episode's end.

        Returns:
            The bound M of the last group: above 1 the step was shortened by that factor.
        """
        norm = sum(trace.abs().sum().item() for group in self.param_groups for trace in self._traces(group))
        bound = 0.0
        for group in self.param_groups:
            bound = group["lr"] * group["kappa"] * max(abs(delta), 1.0) * norm
            size = delta * group["lr"] / max(bound, 1.0)
            for parameter in group["params"]:
                parameter.add_(self.state[parameter]["trace"], alpha=size)
        if reset:
            self.forget()
        return bound

    def forget(self) -> None:
        """Sets all traces to zero."""
        for state in self.state.values():
            state["trace"].zero_()

    def _traces(self, group: dict[str, Any]) -> Iterator[Tensor]:
        """The traces of a group's parameters, with their gradients added."""
        decay = group["gamma"] * group["trace_lambda"]
        for parameter in group["params"]:
            if parameter not in self.state:
                self.state[parameter]["trace"] = th.zeros_like(parameter)
            trace = self.state[parameter]["trace"].mul_(decay)
            yield trace if parameter.grad is None else trace.add_(parameter.grad)

    # PyTorch wraps an optimiser's step for its profiler unless this says that it has: the wrapper would take as long
    # as the step.
    step.hooked = True  # type: ignore[attr-defined]
