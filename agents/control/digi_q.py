"""Digi-Q: a TD-learned Q-function of a device-control agent, and imitation of the best of N actions by it.

Paper: Bai, Zhou, Li, Levine, Kumar, Digi-Q: Learning Q-Value Functions for Training Device-Control Agents (2025).
Formulas and numbers are those of the authors' code (github.com/DigiRL-agent/digiq: digiq/algorithms/digiq/trainer.py,
scripts/config/main/train_and_eval.yaml), which is cited as "the code".
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass

import numpy as np
import numpy.typing as npt
import torch as th
from stable_baselines3.common.utils import polyak_update, update_learning_rate
from torch import Tensor, nn

from ...envs.gui.elements import DRAG, LONGEST_SPAN, NUMERIC_VERBS, OPEN, SIZES
from ..models.elements import ELEMENT_VERBS, SPAN_VERBS, ElementsNetwork, Encoded, Shape
from ..optimizers import Adam
from .settings import takes
from .trajectories import Pool
from .trajectory_agent import TrajectoryAgent, TrajectorySettings

PARTS = 5
"""Hidden states that say an action: verb, element, second element or app, first goal word, last one."""


def td_target(reward: Tensor, ends: Tensor, after: Tensor, gamma: float) -> Tensor:
    r""":math:`r + \gamma (1 - d) \bar V(s')` of each head ``[2, B]``.

    Args:
        reward: ``[B]``.
        ends: whether nothing follows ``[B]``.
        after: the target network's V of what was seen afterwards ``[2, B]``.
        gamma: discount.
    """
    return reward + gamma * th.where(ends, 0.0, after)


def best_of_n(advantages: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Which of N actions has the highest Q - V ``[B]``, and whether that is above the threshold ``[B]``.

    Args:
        advantages: ``[B, N]``.
        threshold: below which no action is worth imitating.
    """
    best, which = advantages.max(1)
    return which, best > threshold


class ActionFeatures(nn.Module):
    """An action's parts as hidden states ``[B, N, 5 D]``: zeros where its verb uses none.

    The verb and the app to open have embeddings; elements and goal words are the states that the network has for them
    on this screen, so that a Q-function sees what an action points at.
    """

    points: Tensor
    speaks: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.verb, self.app = nn.Embedding(len(NUMERIC_VERBS), width), nn.Embedding(SIZES[2], width)
        for part in (self.verb, self.app):
            nn.init.normal_(part.weight, std=0.3)
        for name, verbs in (("points", ELEMENT_VERBS), ("speaks", SPAN_VERBS)):
            self.register_buffer(name, th.tensor(verbs), persistent=False)

    def forward(self, seen: Encoded, actions: Tensor) -> Tensor:
        """Of actions ``[B, N, 5]`` on encoded observations ``[B]``."""
        verb, first, second, start, length = actions.long().unbind(2)
        points, speaks = th.isin(verb, self.points), th.isin(verb, self.speaks)
        last = start + length.clamp_max(LONGEST_SPAN - 1)
        follows = _at(seen.elements, second) * (verb == DRAG)[..., None] + self.app(second) * (verb == OPEN)[..., None]
        parts = (
            self.verb(verb),
            _at(seen.elements, first) * points[..., None],
            follows,
            _at(seen.goal, start) * speaks[..., None],
            _at(seen.goal, last) * speaks[..., None],
        )
        return th.cat(parts, -1)


def _at(states: Tensor, places: Tensor) -> Tensor:
    """``states [B, n, D]`` at ``places [B, N]``, the last for those beyond; ``[B, N, D]``."""
    places = places.clamp_max(states.shape[1] - 1)[..., None].expand(-1, -1, states.shape[2])
    return states.gather(1, places)


class QVCritic(nn.Module):
    """Q(s, a) and V(s), two heads each, on one network."""

    optimizer: th.optim.Optimizer

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.network, self.features = ElementsNetwork(shape), ActionFeatures(shape.width)
        self.q_heads = nn.ModuleList(_head((1 + PARTS) * shape.width, shape.width) for _ in range(2))
        self.v_heads = nn.ModuleList(_head(shape.width, shape.width) for _ in range(2))

    def encoded(self, observations: dict[str, Tensor]) -> Encoded:
        """Hidden states of observations."""
        found: Encoded = self.network(observations["elements"], observations["goal"])
        return found

    def q(self, seen: Encoded, actions: Tensor) -> Tensor:
        """Both heads' Q ``[2, B, N]`` of actions ``[B, N, 5]``."""
        state = seen.summary[:, None].expand(-1, actions.shape[1], -1)
        x = th.cat([state, self.features(seen, actions)], -1)
        return th.stack([head(x)[..., 0] for head in self.q_heads])

    def v(self, seen: Encoded) -> Tensor:
        """Both heads' V ``[2, B]``."""
        return th.stack([head(seen.summary)[:, 0] for head in self.v_heads])

    def advantages(self, seen: Encoded, actions: Tensor) -> Tensor:
        """``max_i Q_i(s, a) - max_i V_i(s)`` of actions ``[B, N, 5]``, as in the code; ``[B, N]``."""
        return self.q(seen, actions).amax(0) - self.v(seen).amax(0)[:, None]


def _head(inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


@dataclass(frozen=True)
class DigiQSettings(TrajectorySettings):
    """Those of Digi-Q, beside what agents of whole episodes take.

    Args:
        critic_learning_rate: of the critic.
        value_updates: of the critic after each ``rollouts`` episodes.
        n_actions: N, of which the best is imitated: the one that was taken, and N - 1 drawn from the policy.
        gamma: discount.
        tau: step of the target network at each of the critic's updates.
        horizon: H, the most steps of an episode: an action is imitated if its advantage is above 1 / H.
        policy_backup: whether V learns the Q of an action that the policy draws; else of the one that was taken.
        critic_width: of the critic's hidden states.
    """

    _: KW_ONLY
    critic_learning_rate: float = 1e-3
    value_updates: int = 40
    n_actions: int = 16
    gamma: float = 0.95
    tau: float = 0.1
    horizon: int = 50
    policy_backup: bool = False
    critic_width: int = 64


class DigiQ(TrajectoryAgent):
    r"""Imitates the best of N actions, by a Q-function that TD learns.

    .. math::

        L_Q = E[(Q(s, a) - r - \gamma \bar V(s'))^2] \qquad L_V = E[(V(s) - \bar Q(s, a))^2]

    with the means over two heads' own targets, :math:`\bar Q` and :math:`\bar V` of a network that follows by ``tau``,
    and the outcome as the reward of an episode's last step. Then, of N actions at each state,

    .. math:: -E[1\{A(s, a^*) > 1/H\} \log \pi(a^*|s)], \quad a^* = \arg\max_i A(s, a_i), \quad A = Q - V.

    Offline the critic is learnt first, with as many updates as the actor. Begin with :meth:`clone`, since a policy that
    draws nothing good has nothing to choose from, and one that draws what no data hold is told nothing true of it: Q of
    such actions is arbitrary, and the highest of N arbitrary numbers is above V.

    N = 16 with the action that was taken among them, gamma 0.95, tau 0.1, the higher of two heads, squared errors and
    a V of the action taken are the code's settings; so is the threshold, 0.05 for 20 steps and 0.1 for 10, that is
    1 / H. Departures: the paper fine-tunes a vision-language model to tell whether an action changes the screen and
    freezes it, and Q reads its hidden state of screenshot and action; here a small :class:`ElementsNetwork` with the
    action's parts encoded is trained from nothing, by the TD errors alone, so that learning rates differ and there is
    no such first stage. The paper is offline alone; :meth:`learn` goes on with own episodes as DigiRL does. Candidates
    come from the present policy at each update, in the code from its beginning. Episodes that a time limit cut off go
    on in the critic, unless they were judged successes.
    """

    critic_names = ("critic",)
    settings: DigiQSettings
    critic: QVCritic
    target: QVCritic

    @takes(DigiQSettings)
    def __init__(self, settings: DigiQSettings) -> None:
        self.construct(settings)

    def build_critics(self) -> None:
        """The critic with Adam, and the network that follows it."""
        self.critic = QVCritic(Shape(width=self.settings.critic_width, layers=1)).to(self.device)
        self.target = deepcopy(self.critic).requires_grad_(False)
        self.critic.optimizer = Adam(self.critic.parameters(), self.settings.critic_learning_rate)

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        return [*names, "target"], variables

    def improve(self, pool: Pool, updates: int, *, offline: bool) -> dict[str, float]:
        """See the class."""
        told = self.fit_critic(pool, updates if offline else self.settings.value_updates)
        return told | self.extract(pool, updates)

    def fit_critic(self, pool: Pool, updates: int) -> dict[str, float]:
        """TD updates of Q and V on steps drawn evenly; mean losses."""
        losses = []
        for _ in range(updates):
            steps = self.rng.integers(len(pool), size=self.settings.batch_size)
            q_loss, v_loss = self.td_losses(pool, steps)
            self.minimise(self.critic, q_loss + v_loss)
            polyak_update(self.critic.parameters(), self.target.parameters(), self.settings.tau)
            losses.append((float(q_loss.detach()), float(v_loss.detach())))
        means = np.mean(losses, 0) if losses else (float("nan"), float("nan"))
        return {"q_loss": float(means[0]), "v_loss": float(means[1])}

    def td_losses(self, pool: Pool, steps: npt.NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Squared TD errors of Q and of V, summed over heads."""
        before, after = (pool.observations(steps, self.device, after=later) for later in (False, True))
        seen, taken = self.critic.encoded(before), pool.taken(steps, self.device)[:, None]
        reward, ends = self._rewards(pool, steps)
        with th.no_grad():
            wanted_q = td_target(reward, ends, self.target.v(self.target.encoded(after)), self.settings.gamma)
            backed_up = self.policy.distribution(before).actions()[:, None] if self.settings.policy_backup else taken
            wanted_v = self.target.q(self.target.encoded(before), backed_up)[..., 0]
        q, v = self.critic.q(seen, taken)[..., 0], self.critic.v(seen)
        return (q - wanted_q).square().mean(1).sum(), (v - wanted_v).square().mean(1).sum()

    def _rewards(self, pool: Pool, steps: npt.NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """The outcome at each episode's last step and 0 before; and whether nothing follows."""
        reward = np.where(pool.left[steps] == 0, pool.outcome[pool.episode[steps]], 0.0)
        ends = pool.terminal[steps] | (reward > 0)
        return th.as_tensor(reward, dtype=th.float32, device=self.device), th.as_tensor(ends, device=self.device)

    def extract(self, pool: Pool, updates: int) -> dict[str, float]:
        """Updates of the actor towards the best of N actions; what to log.

        The loss is the mean over all states drawn, those where nothing is imitated included, as in the code.
        """
        self.policy.set_training_mode(True)
        update_learning_rate(self.policy.optimizer, self.lr_schedule(self._current_progress_remaining))
        losses, shares = [], []
        for _ in range(updates):
            steps = self.rng.integers(len(pool), size=self.settings.batch_size)
            observations = pool.observations(steps, self.device)
            distribution = self.policy.distribution(observations)
            best, worth = self.candidates(observations, distribution.actions, pool.taken(steps, self.device))
            shares.append(float(worth.float().mean()))
            loss = -(distribution.log_prob(best) * worth).mean()
            losses.append(self.minimise(self.policy, loss))
        self._n_updates += updates
        return {"actor_loss": float(np.mean(losses)), "steps_kept": float(np.mean(shares))}

    @th.no_grad()
    def candidates(
        self, observations: dict[str, Tensor], draw: Callable[[], Tensor], taken: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The best of N actions ``[B, 5]``, and whether it is worth imitating ``[B]``.

        Args:
            observations: of B states.
            draw: the policy's actions ``[B, 5]``, new ones each time.
            taken: what was done there ``[B, 5]``.
        """
        drawn = [draw() for _ in range(self.settings.n_actions - 1)]
        actions = th.stack([taken, *drawn], 1)
        which, worth = best_of_n(
            self.critic.advantages(self.critic.encoded(observations), actions), 1 / self.settings.horizon
        )
        return actions[th.arange(len(actions), device=actions.device), which], worth
