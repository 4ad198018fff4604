"""When training has diverged: what an agent computes is infinite or not a number."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any


class Diverged(ValueError):
    """Training that came to values that are not finite, as with a learning rate that is too high."""


@contextmanager
def told(agent: Any) -> Iterator[None]:
    """Says in a sentence that the agent's training diverges in the block, if it does; other errors pass.

    Raises:
        Diverged: in place of the error that it came to, which is its cause.
    """
    try:
        yield
    except (OSError, Diverged):
        raise
    except Exception as error:
        if not has_diverged(agent, error):
            raise
        said = " ".join(str(error).split())
        what = sentence(agent, "what the policy computes is not finite")
        raise Diverged(f"{what} ({type(error).__name__}: {said[:200]})") from error


def sentence(agent: Any, what: str) -> str:
    """That training diverged, after how many steps in the environment if it had any, and what to do."""
    within = f" within {int(agent.num_timesteps):,} steps" if agent.num_timesteps else ""
    return f"training diverged{within}, {what}: lower the learning rate, or limit gradients or rewards"


def has_diverged(agent: Any, error: Exception) -> bool:
    """Whether an error of an agent's training is one of divergence.

    It is where the error says so, where any parameter of the policy is infinite or not a number, and where a
    distribution of PyTorch's refused the parameters that the policy gave it (a standard deviation may overflow while
    its logarithm is finite).
    """
    if isinstance(error, Diverged | FloatingPointError) or _in_a_distribution(error.__traceback__):
        return True
    return not is_finite(agent)


def is_finite(agent: Any) -> bool:
    """Whether no parameter of the agent's policy is infinite or not a number; True where it is no PyTorch module."""
    from torch.nn import Module  # here, so that the command line begins without PyTorch

    policy = getattr(agent, "policy", None)
    return not isinstance(policy, Module) or all(bool(one.isfinite().all()) for one in policy.parameters())


def _in_a_distribution(trace: TracebackType | None) -> bool:
    """Whether an error was raised in PyTorch's distributions."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__", "")).startswith("torch.distributions")
