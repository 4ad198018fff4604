r"""Conservative Q-learning on histories, whose latents a bisimulation loss makes alike where the future is alike.

    agent = make("history-bisim", env, bisimulation_weight=0.5)
    agent.learn_offline(logged, 20_000)
    actions, state = agent.predict(seen, state, episode_start)

Paper: Hong, Dragan and Levine, Offline RL with Observation Histories: Analyzing and Improving Sample Complexity (2023).
Its abstract was read, its equations were not: the loss is that of Zhang et al., Learning Invariant Representations for
Reinforcement Learning without Reconstruction (2021), there of states. "Their code" is
github.com/facebookresearch/deep_bisim4control, ``agent/bisim_agent.py``.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import torch as th
from gymnasium.spaces import Discrete
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from .base import check_step
from .cql import conservative_gap
from .data_first import DataFirst
from .datasets import Transitions
from .history_policy import Gaussian, HistoryPolicy, State
from .history_store import Histories, HistoryStore, check_histories
from .settings import sb3_keywords, takes
from .updates import minimise, polyak
from .vector_rewards import VectorTransitions, is_flat

if TYPE_CHECKING:
    from minari import MinariDataset

Self = TypeVar("Self", bound="HistoryBisim")
Metrics = dict[str, Tensor]


def distance(one: Gaussian, other: Gaussian) -> Tensor:
    r"""The 2-Wasserstein distance of diagonal Gaussians ``[N]``.

    :math:`\sqrt{\|\mu_1 - \mu_2\|_2^2 + \|\sigma_1 - \sigma_2\|_2^2}`.
    """
    return ((one.mean - other.mean).square() + (one.std - other.std).square()).sum(dim=1).sqrt()


def alike(actions: Tensor) -> tuple[Tensor, Tensor]:
    """Random pairs of rows with the same action: their places in ``actions`` ``[N]``, twice ``[P]``."""
    order = (actions + th.rand(len(actions), device=actions.device)).argsort()
    same = actions[order[:-1]] == actions[order[1:]]
    return order[:-1][same], order[1:][same]


def bisimulation_loss(
    latents: Tensor, rewards: Tensor, following: Gaussian, pairs: tuple[Tensor, Tensor], gamma: float
) -> Tensor:
    r"""Mean over pairs of :math:`(\|z_i - z_j\|_1 - |r_i - r_j| - \gamma W_2(P_i, P_j))^2`; 0 where there are none.

    Zhang et al. (2021), equation 4. Gradients enter the latents alone.

    Args:
        latents: ``[N, D]``.
        rewards: ``[N]``.
        following: the next latents as the model predicts them.
        pairs: places i and j, ``[P]`` each.
        gamma: discount.
    """
    first, second = pairs
    if not len(first):
        return latents.sum() * 0
    with th.no_grad():
        one, other = (Gaussian(*(part[some] for part in following)) for some in pairs)
        wanted = (rewards[first] - rewards[second]).abs() + gamma * distance(one, other)
    return ((latents[first] - latents[second]).abs().sum(dim=1) - wanted).square().mean()


@dataclass(frozen=True)
class HistoryBisimSettings:
    """Those of offline learning on histories.

    Args:
        policy: "MlpPolicy".
        env: any environment with flat Box observations and Discrete actions, or its id.
        learning_rate: of all networks.
        bisimulation_weight: of the bisimulation loss; at 0 this is conservative Q-learning on histories.
        min_q_weight: of the conservative term.
        gamma: discount.
        context_length: steps that a history of an update goes back, at most; longer episodes are cut there.
        batch_size: histories an update.
        tau: step of the target network.
        buffer_size: transitions of its own episodes that are kept.
        gradient_steps: updates a step of all environments (-1: as many as environments).
        exploration_final_eps: how often an action of :meth:`~HistoryBisim.learn` is random.
        max_grad_norm: at which gradients are clipped.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: of :class:`~.history_policy.HistoryPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: where tensors live.
    """

    policy: str | type[Any]
    env: Any
    _: KW_ONLY
    learning_rate: float | Schedule = 3e-4
    bisimulation_weight: float = 0.5
    min_q_weight: float = 1.0
    gamma: float = 0.99
    context_length: int = 64
    batch_size: int = 32
    tau: float = 0.005
    buffer_size: int = 100_000
    gradient_steps: int = 1
    exploration_final_eps: float = 0.05
    max_grad_norm: float = 10.0
    stats_window_size: int = 100
    tensorboard_log: str | None = None
    policy_kwargs: dict[str, Any] | None = None
    verbose: int = 0
    seed: int | None = None
    device: th.device | str = "auto"
    _init_setup_model: bool = True


class HistoryBisim(DataFirst):
    r"""Offline Q-learning on latents of histories, with a bisimulation loss.

    A GRU turns observations and the actions between them into latents :math:`z_t = \phi(o_0, a_0, ..., o_t)`. Values
    of all actions at them learn by double Q-learning, and conservatively (Kumar et al. 2020, equation 4):

    .. math::
        E[(Q(z, a) - y)^2] + \alpha E[\log \sum_{a'} e^{Q(z, a')} - Q(z, a)] +
        \lambda E[(\|z_i - z_j\|_1 - |r_i - r_j| - \gamma W_2(P(z_i, a_i), P(z_j, a_j)))^2]

    Two histories never are equal, and values of one say nothing of the other, so that trajectories that pass through
    the same state are not stitched. The last term draws latents together where rewards and what follows are alike. P
    is a Gaussian model of the next latent, by maximum likelihood; after a termination that latent is 0.
    ``train/bisimulation_loss`` and :meth:`bisimulation_of` tell the term's value, with ``bisimulation_weight=0`` too.

    Pairs are of steps with the same action, so that what the data's policies preferred, of which a history tells,
    does not keep latents apart; Zhang et al. compare the actions that their one policy took. Other departures from
    their code: distances are norms of whole latents, as in their paper, where the code takes differences of each number
    and squares those; the model's loss sends no gradient into the latents, so that the bisimulation loss is all that
    its weight turns off; there is no model of rewards.

    :meth:`learn` goes on with episodes of its own beside the data, each when it has ended.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": HistoryPolicy}
    refuses_vec_normalize: ClassVar[bool] = True
    acts_in = (Discrete,)
    policy: HistoryPolicy

    @takes(HistoryBisimSettings)
    def __init__(self, settings: HistoryBisimSettings) -> None:
        self.settings = replace(settings, env=None)
        self.batch_size, self.gamma = settings.batch_size, settings.gamma
        self.demonstrations: HistoryStore | None = None
        super().__init__(**sb3_keywords(BaseAlgorithm, settings, supported_action_spaces=(Discrete,)))
        if settings._init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        if not is_flat(self.observation_space, self.action_space):
            raise TypeError(
                "history-bisim learns from flat Box observations and Discrete actions from 0 on, not from "
                f"{self.observation_space} and {self.action_space}: flatten or wrap them"
            )
        super()._setup_model()
        self._setup_lr_schedule()
        self.set_random_seed(self.seed)
        policy = self.policy_class(self.observation_space, self.action_space, self.lr_schedule, **self.policy_kwargs)
        self.policy = policy.to(self.device)  # type: ignore[assignment]
        length = self.settings.context_length
        self.kept = HistoryStore(max(1, self.settings.buffer_size // length), length, self.observation_space.shape[0])  # type: ignore[index]
        self._running: list[list[tuple[Any, int, float]]] = []
        self._state: State | None = None

    # -- updates ---------------------------------------------------------------------------------------------------

    def sample(self, batch_size: int) -> Histories:
        """Histories from the dataset and its own episodes, each as likely as any other."""
        assert self.demonstrations is not None
        whole = len(self.demonstrations)
        drawn = th.randint(whole + len(self.kept), (batch_size,))
        given, own = drawn[drawn < whole], drawn[drawn >= whole] - whole
        return self.demonstrations.at(given).beside(self.kept.at(own)) if len(own) else self.demonstrations.at(given)

    def update(self, batch: Histories) -> Metrics:
        """One update of everything; see the class."""
        asked, policy = self.settings, self.policy
        latents, _ = policy.online.encode(batch.observations, batch.before(policy.n_actions))
        values = policy.online.values(latents)
        errors, gaps = self._value_losses(batch, values)
        losses = {"td_loss": errors, "conservative_loss": gaps, **self._latent_losses(batch, latents)}
        total = errors + asked.min_q_weight * gaps
        if asked.bisimulation_weight:
            total = total + asked.bisimulation_weight * losses["bisimulation_loss"]
        policy.optimizer.zero_grad()
        total.backward()  # type: ignore[no-untyped-call]
        th.nn.utils.clip_grad_norm_(policy.online.parameters(), asked.max_grad_norm)
        policy.optimizer.step()
        minimise(policy.model_optimizer, losses["model_loss"])
        polyak(list(policy.target.parameters()), list(policy.online.parameters()), asked.tau)
        return {name: loss.detach() for name, loss in losses.items()}

    def _value_losses(self, batch: Histories, values: Tensor) -> tuple[Tensor, Tensor]:
        """The squared TD error and the conservative gap, means over steps; ``values`` are ``[B, L + 1, n]``."""
        policy = self.policy
        with th.no_grad():
            behind, _ = policy.target.encode(batch.observations, batch.before(policy.n_actions))
            best = values[:, 1:].argmax(dim=2, keepdim=True)
            following = policy.target.values(behind[:, 1:]).gather(2, best)[..., 0]
            targets = (batch.rewards + self.gamma * batch.going_on * following)[batch.valid]
        some = values[:, :-1][batch.valid]
        chosen = some.gather(1, batch.actions[batch.valid][:, None])[:, 0]
        gaps = conservative_gap(some[None], some.new_zeros(()), chosen[None])
        return (chosen - targets).square().mean(), gaps.mean()

    def _latent_losses(self, batch: Histories, latents: Tensor) -> Metrics:
        """Of the model, minus the mean log-likelihood of a number of the latents, and of the bisimulation."""
        now, actions, rewards = latents[:, :-1][batch.valid], batch.actions[batch.valid], batch.rewards[batch.valid]
        following = (latents[:, 1:] * batch.going_on[..., None])[batch.valid].detach()
        found = self.policy.model(now.detach(), actions)
        model = th.distributions.Normal(found.mean, found.std, validate_args=False)
        unlikely = -model.log_prob(following).mean()  # type: ignore[no-untyped-call]
        unlike = bisimulation_loss(now, rewards, found, alike(actions), self.gamma)
        return {"model_loss": unlikely, "bisimulation_loss": unlike}

    @th.no_grad()
    def bisimulation_of(self, dataset: Transitions) -> float:
        """The bisimulation loss on all of a dataset's histories, with pairs drawn anew.

        Raises:
            ValueError: it does not fit this agent.
        """
        check_histories(dataset, self.observation_space, self.action_space)
        batch = HistoryStore.of(dataset, self.settings.context_length).all().to(self.device)
        latents, _ = self.policy.online.encode(batch.observations, batch.before(self.policy.n_actions))
        return float(self._latent_losses(batch, latents)["bisimulation_loss"])

    # -- learning --------------------------------------------------------------------------------------------------

    def _demonstrations(self, dataset: "MinariDataset | str | Transitions") -> HistoryStore:
        spaces = self.observation_space, self.action_space
        if not isinstance(dataset, Transitions):
            dataset = VectorTransitions.from_minari(dataset, *spaces)
        check_histories(dataset, *spaces)
        return HistoryStore.of(dataset, self.settings.context_length)

    def step_on(self, callback: BaseCallback) -> bool:
        """One step of all environments; False if the callback says stop."""
        assert self.env is not None
        seen: Any = self._last_obs
        actions, (memory, _) = self.policy.predict(seen, self._state, self._last_episode_starts)
        wander = np.random.random(len(actions)) < self.settings.exploration_final_eps
        actions = np.where(wander, np.random.randint(self.policy.n_actions, size=len(actions)), actions)
        self._state = (memory, actions)
        new, rewards, dones, infos = self.env.step(actions)
        check_step(new, rewards)
        self.num_timesteps += self.n_envs
        callback.update_locals(locals())
        if not callback.on_step():
            return False
        self._update_info_buffer(infos, dones)
        for running, *step in zip(self._running, seen, actions, rewards, strict=True):
            running.append((step[0], int(step[1]), float(step[2])))
        for i in np.flatnonzero(dones):
            shown, taken, gained = zip(*self._running[i], strict=True)
            cut = infos[i].get("TimeLimit.truncated", False)
            self.kept.add([*shown, infos[i]["terminal_observation"]], taken, gained, not cut)
            self._running[i] = []
        self._last_obs, self._last_episode_starts = new, dones  # type: ignore[assignment]
        return True

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", "policy.optimizer", "policy.model_optimizer"], []

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "kept", "_running", "_state"]
