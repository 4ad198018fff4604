"""Replay of a vector of environments, of which returns over several steps are drawn."""

import numpy as np
import numpy.typing as npt
import torch as th
from torch import Tensor

from ..on_policy.sources import Step
from ..replay import OWN, Batch, RowReplay, sources


class VectorReplay(RowReplay):
    """A row of the table is a step of all environments; batches are drawn with returns over n steps.

    Returns end with the episode, whether it terminated or was truncated, and at the newest step; after a truncation and
    at the newest step they are bootstrapped from the last observation by as many powers of gamma as steps were summed.
    """

    def put(self, observations: Tensor, actions: npt.NDArray[np.float32], step: Step) -> None:
        """Adds a step of all environments.

        Where an environment spent the step on its reset, the transition that ended its episode is stored again, since
        there is none.

        Args:
            observations: acted on, ``[n_envs, O]``.
            actions: ``[n_envs, A]``, scaled to [-1, 1].
            step: what they did.
        """
        columns, at = self.columns, self.pos
        row = self._table[at]
        row[:, columns.observation], row[:, columns.action] = observations.numpy(), actions
        row[:, columns.reward], row[:, columns.timeout] = step.rewards, step.truncated
        row[:, columns.done] = step.terminated | step.truncated
        row[:, columns.next_observation] = step.observation
        for index, last in step.last.items():
            row[index, columns.next_observation] = last
        if not step.valid.all():
            resets = ~step.valid
            row[resets] = self._table[at - 1, resets]
        self.pos, self.full = (at + 1) % self.buffer_size, self.full or at + 1 == self.buffer_size
        self._ready = self._rows[:0]

    def cut(self) -> None:
        """Ends the episodes under way at the newest step, after which the environments were reset."""
        if self.size():
            newest = self._table[self.pos - 1]
            going = newest[:, self.columns.done] == 0
            newest[going, self.columns.done] = newest[going, self.columns.timeout] = 1.0

    def drawn(self, n: int, gamma: float, n_steps: int, device: th.device | str) -> Batch:
        """``n`` transitions, each drawn from all stored, with returns over up to ``n_steps`` steps."""
        return self.returns_from(th.randint(self.transitions, (n,)), gamma, n_steps, device)

    def returns_from(self, rows: Tensor, gamma: float, n_steps: int, device: th.device | str) -> Batch:
        """The transitions that begin at ``rows`` ``[n]``; row i is that of environment ``i % n_envs``."""
        columns, n = self.columns, len(rows)
        if n_steps == 1:
            return columns.batch(self._rows.index_select(0, rows).to(device), gamma, OWN)
        first = self._rows.index_select(0, rows)
        rewards, discounts = first[:, columns.reward].clone(), th.full((n,), gamma)
        steps, env, newest = rows // self.n_envs, rows % self.n_envs, (self.pos - 1) % self.buffer_size
        last, goes_on = rows, (first[:, columns.done] == 0) & (steps != newest)
        for _ in range(n_steps - 1):
            steps = (steps + 1) % self.buffer_size
            here = steps * self.n_envs + env
            rewards += th.where(goes_on, discounts * self._column(columns.reward, here), 0.0)
            discounts = th.where(goes_on, discounts * gamma, discounts)
            last = th.where(goes_on, here, last)
            goes_on = goes_on & (self._column(columns.done, here) == 0) & (steps != newest)
        end = self._rows.index_select(0, last)
        discounts *= 1 - end[:, columns.done] * (1 - end[:, columns.timeout])
        now = first[:, columns.observation].to(device), first[:, columns.action].to(device), rewards.to(device)
        later = end[:, columns.next_observation].to(device), discounts.to(device)
        return Batch(*now, *later, source=sources(n, OWN, device))

    def _column(self, column: int, rows: Tensor) -> Tensor:
        return self._rows[:, column].index_select(0, rows)
