"""Filtered behaviour cloning: imitation of the best share of a batch by reward."""

from torch import Tensor

from ..language.rollouts import Rollouts


def advantage(rollouts: Rollouts, *, share: float = 0.1) -> Tensor:
    """A_i = 1 where r_i is above the batch's least reward and at least its (1 - share) quantile, else 0; ``[B]``.

    With rewards of 0 and 1 it is every success that is imitated, however many there are. The authors' code filters all
    episodes of the run so far; here it is those of the batch, which the policy of now has written.

    Args:
        rollouts: reads ``reward``.
        share: of the completions that are imitated, at least, if they earned more than the least.

    Raises:
        ValueError: a share outside (0, 1].

    Paper: ArCHer: Training Language Model Agents via Hierarchical Multi-Turn RL (2024), its baseline "filtered BC";
    ``share`` is ``top_p`` of the authors' ``filteredbc_train_loop``.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is a part of the batch in (0, 1], got {share}")
    reward = rollouts.reward.double()
    return ((reward >= reward.quantile(1 - share)) & (reward > reward.min())).float()
