"""GiGPO: episode-level group advantages plus step-level ones within groups of equal (anchor) states."""

import torch
from torch import Tensor

from ..language.rollouts import Rollouts
from .parts.group_relative import group_relative
from .parts.ops import group_mean, group_std, turn_ends, turn_sums


def advantage(
    rollouts: Rollouts, *, omega: float = 1.0, gamma: float = 0.95, scale: bool = False, epsilon: float = 1e-6
) -> Tensor:
    """A_t = A_E + omega * A_S, constant over a turn's tokens; ``[B, T]``.

    A_E compares the episode's reward within the group. A_S compares a turn's discounted return-to-go, in turns, with
    those of the group's other turns that began in the same anchor state (of the same episode too, if it came back); a
    state met once gives 0, and where no state is met twice what is left is A_E. Language agents take ``info["state"]``
    of the environment for the anchor, or where it has none its last observation, as the authors do, not the history.
    A turn earns the rewards of all its tokens, where they have been spread over them.

    Args:
        rollouts: reads ``state``, ``step_reward``, ``turn``, ``mask``, ``reward`` and ``group``.
        omega: weight of the step advantage.
        gamma: discount a turn.
        scale: divide both by their group's standard deviation (the paper's F = std; F = 1 otherwise).
        epsilon: added to the standard deviations.

    Raises:
        ValueError: ``rollouts.state`` or ``rollouts.step_reward`` is None.

    Departures from the authors' code: its A_E by default takes mean and deviation over all turns of the group, so that
    a long episode's reward counts as often as it has turns; here each episode counts once, as in eq. 3. The paper's KL
    penalty (0.01 in their scripts) is the agent's ``kl_coef``, here 0; their penalty on invalid actions is left out.

    Paper: Group-in-Group Policy Optimization for LLM Agent Training (2025), eqs. 3 to 8; the authors' default is F = 1
    for steps and episodes alike.
    """
    mask, ends = rollouts.mask, turn_ends(rollouts.turn, rollouts.mask)
    earned = turn_sums(rollouts.need("step_reward").double(), rollouts.turn, mask)
    rewards = torch.where(ends, earned, 0.0)
    returns, to_go = torch.zeros_like(rewards), torch.zeros_like(rewards[:, 0])
    for t in reversed(range(mask.shape[1])):  # a turn's return stands on its last token, and holds for all of them
        to_go = torch.where(ends[:, t], rewards[:, t] + gamma * to_go, to_go)
        returns[:, t] = to_go
    rows = ends.nonzero()[:, 0]
    anchors = torch.stack((rollouts.group[rows], rollouts.need("state")[ends]), 1)
    anchor = torch.unique(anchors, dim=0, return_inverse=True)[1]
    step = returns[ends] - group_mean(returns[ends], anchor)
    if scale:
        step = step / (group_std(returns[ends], anchor) + epsilon)
    at_ends = torch.zeros_like(rewards)
    at_ends[ends] = step
    turns = torch.where(ends, torch.arange(mask.shape[1], device=mask.device), mask.shape[1] - 1)
    turns = turns.flip(1).cummin(1).values.flip(1)  # where the turn of each token ends
    step_level = at_ends.gather(1, turns)
    episode = group_relative(rollouts, scale=scale, epsilon=epsilon)[:, None]
    return torch.where(mask, episode + omega * step_level, 0.0).float()
