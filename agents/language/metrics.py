"""Numbers that practitioners watch, of a batch of completions as they were sampled."""

import torch

from ..models.tokenizer import END
from ..objectives.parts.ops import group_max, masked_mean, turn_ends
from .rollouts import Rollouts


def completion_metrics(rollouts: Rollouts) -> dict[str, float]:
    """What a batch of completions says of the policy that wrote them, by the names under which it is logged.

    ===================  ==========================================================================
    ``reward``           mean, after shaping
    ``completion_tokens``    mean tokens that the policy wrote in an episode
    ``truncated``        share of episodes in which the limit of tokens ended a turn, not the policy
    ``entropy``          nats, mean over these tokens
    ``pass@1``           share of completions that are correct
    ``pass@<k>``         share of problems with a correct completion among their k, where each has k > 1
    ``uniform_groups``   share of problems whose k completions all earned the same, likewise
    ===================  ==========================================================================
    """
    success = rollouts.info["success"].double()
    found = {
        "reward": rollouts.reward.double().mean(),
        "completion_tokens": rollouts.length.double().mean(),
        "truncated": _truncated(rollouts).double().mean(),
        "entropy": masked_mean(rollouts.entropy, rollouts.mask),
        "pass@1": success.mean(),
    }
    _, sizes = torch.unique(rollouts.group, return_counts=True)
    if len(sizes) < len(rollouts):
        share = 1 / sizes[torch.unique(rollouts.group, return_inverse=True)[1]] / len(sizes)  # of a row in its problem
        best, worst = (sign * group_max(sign * rollouts.reward, rollouts.group) for sign in (1, -1))
        found["uniform_groups"] = (share * (best == worst)).sum()
        if (sizes == sizes[0]).all():
            found[f"pass@{int(sizes[0])}"] = (share * group_max(success, rollouts.group)).sum()
    return {name: float(value) for name, value in found.items()}


def _truncated(rollouts: Rollouts) -> torch.Tensor:
    """Whether a turn of each episode ends without the mark that ends it, ``[B]``."""
    return (turn_ends(rollouts.turn, rollouts.mask) & (rollouts.tokens != END)).any(1)
