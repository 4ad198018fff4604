"""Behaviour cloning: does what the data did, good or bad; the baseline of all learning from data."""

from typing import ClassVar

from torch import Tensor

from .actor_critic import ActorCritic, Metrics
from .replay import Batch
from .updates import minimise


class BC(ActorCritic):
    r"""A deterministic actor that minimises the squared error to the dataset's actions, :math:`E|\pi(s) - a|^2`.

    That is maximum likelihood with a Gaussian of fixed width. It acts deterministically, and has no critics. What it
    meets in :meth:`learn` it does not imitate (that would be itself): it goes on with the dataset.

    The settings (Adam at 3e-4, batches of 256, two layers of 256) are those of CORL's figures for D4RL, but for
    observations, which CORL standardises.
    """

    policy_defaults: ClassVar[dict[str, object]] = {"actor": "deterministic", "n_critics": 0}
    needs_data: ClassVar[bool] = True

    def sample(self, batch_size: int) -> Batch:
        """A batch of the dataset."""
        return super().sample(batch_size) if self.demonstrations is None else self.demonstrated(batch_size)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        return {"actor_loss": minimise(self.actor.optimizer, self.actor_loss(batch))}

    def actor_loss(self, batch: Batch) -> Tensor:
        """The mean over batch and action dimensions of the squared error."""
        loss: Tensor = (self.actor(batch.observations) - batch.actions).square().mean()
        return loss
