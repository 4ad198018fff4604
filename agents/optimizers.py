"""Adam as torch has it, without torch's compiler, and in one pass over all parameters.

An optimiser of torch imports ``torch._dynamo`` when it is made, stepped or saved, so that the compiler leaves it alone:
1.4 of the 4.5 seconds with which a process that trains began (torch 2.13). Nothing here is compiled.
"""

from collections.abc import Callable, Sequence
from inspect import unwrap
from typing import Any

import torch as th
from torch import Tensor
from torch.optim.optimizer import Optimizer


class Eager(Optimizer):
    """Mixed into an optimiser of torch, before its class: its methods without what is there for ``torch.compile``."""

    add_param_group = unwrap(Optimizer.add_param_group)
    load_state_dict = unwrap(Optimizer.load_state_dict)
    state_dict = unwrap(Optimizer.state_dict)
    zero_grad = unwrap(Optimizer.zero_grad)


class Adam(Eager, th.optim.Adam):
    """``torch.optim.Adam``, not to be compiled; see :class:`Eager`."""

    step = th.no_grad()(unwrap(th.optim.Adam.step))


class AdamW(Eager, th.optim.AdamW):
    """``torch.optim.AdamW``, not to be compiled; see :class:`Eager`."""

    step = th.no_grad()(unwrap(th.optim.AdamW.step))


class FusedAdam(Eager, th.optim.Adam):
    """``torch.optim.Adam`` in one fused pass over all parameters, without the hooks and checks of every step.

    The same numbers and the same ``state_dict`` as ``torch.optim.Adam(fused=True)``. Gradients are dropped after use,
    so there is no ``zero_grad`` to call.
    """

    fused: Callable[..., None] = staticmethod(th._fused_adam_)

    def __init__(self, params: Any, lr: float = 1e-3, **settings: Any) -> None:
        super().__init__(params, lr, fused=True, **settings)
        self._lists: tuple[list[Tensor], ...] | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As in torch; also of a copy."""
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._lists = None

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As in torch."""
        super().load_state_dict(state_dict)
        self._lists = None

    @th.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One step along the gradients of all parameters, each of which must have one."""
        params = self.lists[0]
        self.apply([param.grad for param in params if param.grad is not None])
        for param in params:
            param.grad = None

    @th.no_grad()
    def apply(self, grads: Sequence[Tensor]) -> None:
        """One step along ``grads``, one of each parameter in their order."""
        (group,) = self.param_groups
        params, firsts, seconds, steps = self.lists
        beta1, beta2 = group["betas"]
        steps[0].add_(1)  # of all parameters
        self.fused(
            params,
            list(grads),
            firsts,
            seconds,
            [],
            steps,
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )

    @property
    def lists(self) -> tuple[list[Tensor], ...]:
        """Parameters, and of each the first moment, the second moment and the count of steps (one tensor for all)."""
        return self._lists or self._prepare(self.param_groups[0]["params"])

    def _prepare(self, params: list[Tensor]) -> tuple[list[Tensor], ...]:
        for param in params:
            if not self.state[param]:
                moments = {name: th.zeros_like(param) for name in ("exp_avg", "exp_avg_sq")}
                self.state[param] = {"step": th.zeros((), device=param.device)} | moments
            self.state[param]["step"] = self.state[params[0]]["step"]
        parts = [[self.state[param][name] for param in params] for name in ("exp_avg", "exp_avg_sq", "step")]
        self._lists = (list(params), *parts)
        return self._lists


class FusedAdamW(FusedAdam):
    """``torch.optim.AdamW``, whose weight decay is apart from the gradient, in one pass; see :class:`FusedAdam`."""

    fused = staticmethod(th._fused_adamw_)
