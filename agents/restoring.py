"""What a checkpoint says, held against the signatures, networks and optimisers that it is for, before it is used."""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

import numpy as np
import torch as th
from gymnasium.spaces import Dict, Space
from stable_baselines3.common.vec_env import VecEnv
from torch.utils._python_dispatch import TorchDispatchMode

from .encoding import is_number

NOT_SETTINGS = frozenset({"self", "env", "device", "tensorboard_log", "_init_setup_model"})
"""Keywords of an agent that no checkpoint decides: where it learns, computes and writes is the caller's to say."""
_FROM_ENV = frozenset({"observation_space", "action_space", "lr_schedule"})

MOST_LAYERS = 1000
"""Of a network's ``net_arch``; the deepest that are trained have hundreds."""
MOST_BUFFER = 2**37
"""Bytes of a replay buffer: twice what Stable-Baselines3's own for Atari take, a million pairs of four frames."""
ALLOWANCE = 8, 2**24
"""Numbers that building may allocate for each one stored (all agents of the catalogue: 0.4 to 1; more before an
optimiser remembers anything), and besides (64 MB, as for passing an image through a small network)."""
_COUNTS = frozenset({"step", "mu_product", "eta", "mu"})
"""What optimisers keep as one number a parameter; all else they keep has the parameter's shape."""


def check_stored(agent: type[Any], settings: Mapping[str, Any], policy: type[Any] | None) -> None:
    """Holds settings from a checkpoint against ``agent``'s signature, and ``policy_kwargs`` against the policy's.

    Raises:
        ValueError: a name that it does not take, or a value of another type.
    """
    hints = signature_hints(agent)
    of_policy = settings.get("policy_kwargs") or {}
    rest = {name: value for name, value in settings.items() if name != "policy_kwargs"}
    _check(agent, rest, {name: hint for name, hint in hints.items() if name not in NOT_SETTINGS})
    if of_policy:
        if policy is None or "policy_kwargs" not in hints or not isinstance(of_policy, Mapping):
            raise ValueError("it has settings of a policy, but no policy")
        check_policy(policy, of_policy)


def check_policy(policy: type[Any], settings: Mapping[str, Any]) -> None:
    """Holds a policy's settings from a checkpoint against its signature; raises ``ValueError`` as above."""
    _check(policy, settings, {name: hint for name, hint in signature_hints(policy).items() if name not in _FROM_ENV})
    _check_widths(settings.get("net_arch"))


def _check(owner: type[Any], given: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if name not in hints:
            raise ValueError(f"it has {name!r:.50} for {owner.__name__}, which takes no such setting from a file")
        if name != "net_arch" and not fits(value, hints[name]):
            kind = str(getattr(hints[name], "__name__", hints[name]))
            raise ValueError(f"its {name} for {owner.__name__} is {value!r:.100}, which is no {kind:.100}")


def _check_widths(arch: Any) -> None:
    """Widths of layers may be lists in dicts in lists, as Stable-Baselines3 has them."""
    parts = [arch]
    for part in parts:
        if len(parts) > MOST_LAYERS:
            raise ValueError(f"its net_arch has more than {MOST_LAYERS} parts")
        if isinstance(part, Mapping | list | tuple):
            parts += part.values() if isinstance(part, Mapping) else part
        elif part is not None and (type(part) is not int or not 1 <= part < 2**31):
            raise ValueError(f"its net_arch has {part!r:.100}, which is no width of a layer")


def signature_hints(owner: type[Any]) -> dict[str, Any]:
    """Types of the constructor's parameters, with those of the next constructor for its ``**settings``."""
    found: dict[str, Any] = {}
    for kind in owner.__mro__:
        if "__init__" not in vars(kind):
            continue
        hints = get_type_hints(vars(kind)["__init__"], localns={"VecEnv": VecEnv})
        own = inspect.signature(vars(kind)["__init__"]).parameters.values()
        found = {one.name: hints.get(one.name, Any) for one in own if one.kind is not one.VAR_KEYWORD} | found
        if not any(one.kind is one.VAR_KEYWORD for one in own):
            break
    if "action_noise" in found:
        found["action_noise"] |= float  # the agents here take its deviation
    return found


def fits(value: Any, hint: Any) -> bool:
    """Whether ``value``, from a checkpoint, is of the type ``hint``; numbers are finite, or infinite where it says so.

    >>> fits([64, 64], list[int] | None), fits("64", list[int] | None), fits(float("nan"), float)
    (True, False, False)
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in args)
    if hint is Any:
        return not isinstance(value, type | Space)
    if origin is Literal:
        return isinstance(value, str) and value in args
    if hint in (None, NoneType):
        return value is None
    if hint in (int, bool):
        return is_number(value) and float(value).is_integer()  # 1e4 for a number of steps is a habit
    if hint is float:
        return is_number(value) or value in (math.inf, -math.inf)
    if origin is type:
        return isinstance(value, type) and (args[0] is Any or issubclass(value, args[0]))
    if origin is Callable:
        return callable(value) and not isinstance(value, type)  # a schedule: nothing else that is called is decoded
    return _holds(value, origin, args) if origin else isinstance(value, hint)


def _holds(value: Any, origin: Any, args: Sequence[Any]) -> bool:
    """Whether ``value`` is a container of the kind ``origin`` whose parts fit ``args``."""
    if not isinstance(value, origin) or isinstance(value, str):
        return False
    if isinstance(value, Mapping):
        return all(fits(key, args[0]) and fits(part, args[1]) for key, part in value.items())
    if origin is tuple and Ellipsis not in args:
        return len(value) == len(args) and all(map(fits, value, args))
    return all(fits(part, args[0]) for part in value)


def check_counters(agent: type[Any], counters: Mapping[str, Any]) -> None:
    """Raises ``ValueError`` unless ``counters`` are the agent's own, each a number but for what its generators say."""
    for name, value in counters.items():
        if name not in agent.counters:
            raise ValueError(f"it has the counter {name!r:.50}, which is none of a {agent.__name__}")
        if name != "streams" and not is_number(value):
            raise ValueError(f"its counter {name} is {value!r:.100}, which is no number")


def check_buffer(agent: type[Any], settings: Mapping[str, Any], n_envs: int, spaces: Iterable[Space[Any]]) -> None:
    """Raises ``ValueError`` if what an agent would remember of transitions takes more than :data:`MOST_BUFFER`."""
    known = inspect.signature(agent).parameters
    name = "buffer_size" if "buffer_size" in known else "n_steps"
    steps = settings.get(name, known[name].default if name in known else 0)
    steps = max(steps, n_envs) if name == "buffer_size" else steps * n_envs
    if (size := steps * (12 + 2 * sum(map(_bytes, spaces)))) > MOST_BUFFER:
        raise ValueError(
            f"it wants to remember {steps:,} transitions, {size:,} bytes, and {MOST_BUFFER:,} are the most: give "
            f"load() another {name}"
        )


def _bytes(space: Space[Any]) -> int:
    if isinstance(space, Dict):
        return sum(map(_bytes, space.values()))
    return math.prod(space.shape or ()) * (space.dtype.itemsize if space.dtype is not None else 0)


class Allowance(TorchDispatchMode):
    """While it lasts, PyTorch may allocate so many new numbers at most, which is looked at before it does.

    A checkpoint whose settings ask for networks far larger than its weights is refused by it, whatever the setting is
    called.

    Args:
        tensors: of the checkpoint.

    Raises:
        ValueError: at the first tensor that is too much.
    """

    def __init__(self, tensors: Iterable[th.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        times, more = ALLOWANCE
        self.stored = sum(tensor.numel() for tensor in tensors)
        self.left = times * self.stored + more

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Counts what is made from sizes alone; copies of it are not much more."""
        if args and not any(isinstance(part, th.Tensor) for part in args):
            size = args[0] if isinstance(args[0], list | tuple) else args[:2]
            self.left -= math.prod(abs(int(part)) for part in size if isinstance(part, int | float))
        if self.left < 0:
            raise ValueError(f"its settings ask for networks far larger than the {self.stored:,} numbers that it holds")
        return func(*args, **(kwargs or {}))


def last_observations(tensors: Mapping[str, th.Tensor], venv: VecEnv) -> Any:
    """What an agent saw last before it was saved, as its environments gave it; None if it had not begun to learn.

    Raises:
        ValueError: it is not of these environments.
    """
    parts = {name.removeprefix("last/"): tensor.numpy() for name, tensor in tensors.items() if name.startswith("last/")}
    if not parts:
        return None
    space = venv.observation_space
    spaces = dict(space.spaces) if isinstance(space, Dict) else {"": space}
    shapes = {key: (venv.num_envs, *(part.shape or ())) for key, part in spaces.items()}
    if {key: part.shape for key, part in parts.items()} != shapes:
        raise ValueError("it was saved with other environments than these: load it with force_reset=True")
    typed = {key: np.array(part, spaces[key].dtype) for key, part in parts.items()}
    return typed if isinstance(space, Dict) else typed[""]


class OtherNetwork(ValueError, RuntimeError):
    """Parameters that are not of this network; also the ``RuntimeError`` that PyTorch raises for them."""


def check_module(module: th.nn.Module, state: Mapping[str, Any]) -> None:
    """Raises ``ValueError`` for what is no tensor, or of another kind of numbers or shape than the module's own."""
    own = module.state_dict()
    for name, value in state.items():
        if not isinstance(value, th.Tensor):
            raise ValueError(f"its {name!r:.50} is no tensor")
        if name in own and value.is_floating_point() != own[name].is_floating_point():
            raise ValueError(f"its {name} is of the type {value.dtype}, not {own[name].dtype}")
        if name in own and value.shape != own[name].shape:
            shapes = f"{list(value.shape)}, not {list(own[name].shape)}"
            raise OtherNetwork(f"it is of another network than this {type(module).__name__}: its {name} is {shapes}")


def check_names(module: th.nn.Module, state: Mapping[str, Any]) -> None:
    """Raises ``ValueError`` unless ``state`` has the names of the module's own parameters, and no others."""
    own = module.state_dict()
    missing, more = ([name for name in one if name not in other] for one, other in ((own, state), (state, own)))
    if missing or more:
        what = f"it has no {missing[0]}" if missing else f"its {more[0]!s:.100} is none of this one's"
        raise OtherNetwork(f"it is of another network than this {type(module).__name__}: {what}")


def checked_optimizer(optimizer: th.optim.Optimizer, state: Mapping[str, Any]) -> dict[str, Any]:
    """An optimiser's state from a checkpoint, with the optimiser's own settings where the checkpoint has none.

    PyTorch takes whatever it is given, and fused optimisers write past the end of what is too short.

    Raises:
        ValueError: parts of the state are missing, or it is of other parameters, or holds anything but numbers and
            tensors of their shapes.
    """
    if not {"state", "param_groups"} <= state.keys():
        raise OtherNetwork("its optimiser has no state or no param_groups")
    own, groups = optimizer.state_dict()["param_groups"], state["param_groups"]
    if [group["params"] for group in groups] != [group["params"] for group in own]:
        raise ValueError("its optimiser is of other parameters")
    if not all(_is_plain(value) for group in groups for key, value in group.items() if key != "params"):
        raise ValueError("its optimiser's settings are not numbers")
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for index, kept in state["state"].items():
        if not (type(index) is int and 0 <= index < len(parameters)):
            raise ValueError(f"its optimiser remembers {index!r:.50}, which is no parameter of it")
        for name, value in kept.items():
            if not _remembered(name, value, parameters[index]):
                raise ValueError(f"its optimiser's {name!r:.50} of parameter {index} does not fit the parameter")
    if len({tuple(sorted(kept)) for kept in state["state"].values()}) > 1:
        raise ValueError("its optimiser does not remember the same of all parameters")
    return {"state": state["state"], "param_groups": [mine | group for mine, group in zip(own, groups, strict=True)]}


def _is_plain(value: Any) -> bool:
    return value is None or is_number(value) or (isinstance(value, list | tuple) and all(map(is_number, value)))


def _remembered(name: Any, value: Any, parameter: th.Tensor) -> bool:
    if isinstance(value, th.Tensor):
        own = value.shape == parameter.shape or (name in _COUNTS and value.numel() == 1)
        return own and value.is_floating_point()
    return value is None or (name in _COUNTS and is_number(value))


class SpacesAlone(VecEnv):
    """Stands in for the environment while an agent is loaded without one: it has spaces, and cannot be stepped."""

    def __init__(self, num_envs: int, observation_space: Space[Any], action_space: Space[Any]) -> None:
        super().__init__(num_envs, observation_space, action_space)

    def reset(self) -> NoReturn:
        """Says that there is no environment, as all methods do that would act in one."""
        raise RuntimeError("this agent was loaded without an environment: call set_env(env) before learn()")

    def step_async(self, actions: Any) -> NoReturn:
        """As :meth:`reset`."""
        self.reset()

    def step_wait(self) -> NoReturn:
        """As :meth:`reset`."""
        self.reset()

    def close(self) -> None:
        """There is nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """None for each."""
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """There is nothing to set."""

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> NoReturn:
        """As :meth:`reset`."""
        self.reset()

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """False for each."""
        return [False] * self.num_envs
