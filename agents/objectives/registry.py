"""From a handle to functions: resolves a row's three strings and gives each function the parameters it takes."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any

from torch import Size, Tensor

from ... import unknown
from ..language.rollouts import PolicyOut, Rollouts
from ..schedules import at, is_schedule
from ..settings import RANGES, Range, check_setting
from .catalogue import find
from .parts.ops import masked_sum

_RANGES = {name: RANGES[name] for name in ("clip_low", "clip_high", "kl_coef", "gae_lambda", "epsilon")}
"""Of parameters that mean here what they mean in agents; DisCO's tau is no rate of averaging."""
_RANGES |= dict.fromkeys(("tau_positive", "tau_negative"), Range(0, above=True))


@dataclass(frozen=True)
class Objective:
    """A method's three functions with their parameters bound."""

    handle: str
    advantage: Callable[[Rollouts], Tensor]
    loss: Callable[[Rollouts, Tensor, PolicyOut], tuple[Tensor, dict[str, Tensor]]]
    aggregate: Callable[[Tensor], Tensor]
    params: dict[str, Any]
    silent_at_zero: bool
    """Completions of advantage 0 have no gradient."""
    needs: frozenset[str]
    """What it reads besides completions and rewards; names of providers."""
    components: Mapping[str, Any] = field(default_factory=dict)
    """The paper's other components, by keyword of the trainer."""

    given: Mapping[str, Any] = field(default_factory=dict)
    """The parameters as they were given: schedules, where ``params`` has their values now."""

    def __call__(self, rollouts: Rollouts, policy_out: PolicyOut) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a whole batch, one number to descend, and the loss's metrics."""
        per_token, metrics = self.loss(rollouts, self.advantage(rollouts), policy_out)
        return masked_sum(per_token * self.aggregate(rollouts.mask), rollouts.mask), metrics

    def at(self, progress: float) -> "Objective":
        """The same at ``progress`` (0 to 1), where parameters are schedules (:mod:`tiltyard.agents.schedules`)."""
        if not any(map(is_schedule, self.given.values())):
            return self
        params = {name: at(value, progress) for name, value in self.given.items()}
        advantage, loss, aggregate = _bound(self.handle, params)
        return replace(self, advantage=advantage, loss=loss, aggregate=aggregate, params=params)


def load(handle: str, **params: Any) -> Objective:
    """The objective called ``handle``, the row's parameters changed by ``params``; schedules are at their start.

    Raises:
        KeyError: no such method.
        TypeError: a parameter that none of the method's functions takes, or a value of another kind than they take.
        ValueError: a number that is not finite or out of range, or a schedule that is none.
    """
    row = find(handle)
    given = {**row.params, **params}
    for progress in (1.0, 0.0):  # the two ends of a schedule
        params = {name: at(value, progress) for name, value in given.items()}
        _check(handle, params)
    advantage, loss, aggregate = _bound(handle, params)
    silent = row.silent_at_zero and not given.get("kl_coef")
    penalised = given.get("kl_coef") or given.get("reward_kl_coef")
    needs = frozenset(row.needs) | ({"logp_ref"} if penalised else set())
    return Objective(handle, advantage, loss, aggregate, params, silent, needs, row.components, given)


def _bound(handle: str, params: Mapping[str, Any]) -> tuple[Callable[..., Any], ...]:
    """Advantage, loss and aggregate, each with those of ``params`` that it takes, their shapes checked."""
    functions = [_resolve(entry) for entry in find(handle).functions]
    takes = [_keywords(function) for function in functions]
    valid = parameters(handle)
    for name in params:
        if name not in valid:
            raise TypeError(f"method {handle!r}: {unknown('parameter', name, valid)}")
    wrappers: tuple[Callable[..., Any], ...] = (_advantage, _loss, _aggregate)
    return tuple(
        partial(checked, function, f"method {handle!r}", **{name: params[name] for name in names if name in params})
        for checked, function, names in zip(wrappers, functions, takes, strict=True)
    )


def _advantage(function: Callable[..., Tensor], of: str, rollouts: Rollouts, /, **params: Any) -> Tensor:
    found = function(rollouts, **params)
    whole = rollouts.mask.shape
    _check_shape(found, (whole[:1], whole), f"{of}: its advantage")
    return found


def _loss(
    function: Callable[..., tuple[Tensor, dict[str, Tensor]]],
    of: str,
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    /,
    **params: Any,
) -> tuple[Tensor, dict[str, Tensor]]:
    per_token, metrics = function(rollouts, advantage, policy_out, **params)
    _check_shape(per_token, (rollouts.mask.shape,), f"{of}: its loss")
    return per_token, metrics


def _aggregate(function: Callable[..., Tensor], of: str, mask: Tensor, /, **params: Any) -> Tensor:
    weights = function(mask, **params)
    _check_shape(weights, (mask.shape,), f"{of}: its aggregate")
    return weights


def _check_shape(found: Tensor, allowed: tuple[Size, ...], what: str) -> None:
    """Refuses another shape, which would be spread over completions or tokens and train on other numbers."""
    if not isinstance(found, Tensor) or found.shape not in allowed:
        shown = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
        letters = " or ".join(("[B]", "[B, T]")[-len(allowed) :])
        raise ValueError(f"{what} is {shown}, not {letters} = {' or '.join(str(list(size)) for size in allowed)}")


def _check(handle: str, params: Mapping[str, Any]) -> None:
    """Refuses a value that a function of the method could not mean by its annotation; unknown names are left."""
    for entry in find(handle).functions:
        for name, parameter in inspect.signature(_resolve(entry)).parameters.items():
            if name in params:
                kind = parameter.annotation
                ranges = {name: Range(1)} if kind is int else _RANGES  # whole numbers are counts and lengths
                check_setting(name, params[name], kind, of=f"method {handle!r}", ranges=ranges)


def parameters(handle: str) -> set[str]:
    """The parameters that the method's functions take; ``KeyError`` if there is no such method."""
    return {name for entry in find(handle).functions for name in _keywords(_resolve(entry))}


def _keywords(function: Callable[..., Any]) -> list[str]:
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]


def _resolve(entry: str) -> Callable[..., Any]:
    module, _, name = entry.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
