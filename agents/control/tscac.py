r"""TSCAC: first a policy for each sparse auxiliary reward, then one for the main reward that stays near all of these.

    agent = make("tscac", env, auxiliary=["like", "follow"], multiplier=0.3)
    agent.learn_offline(logged, 20_000)

Paper: Cai et al., Two-Stage Constrained Actor-Critic for Short Video Recommendation (2023). "The authors' code" is
github.com/AIDefender/TSCAC.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import torch as th
from gymnasium.spaces import Discrete
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from .base import OffPolicyAgent
from .offline import LearnsFromData, from_data, logged_updates
from .settings import sb3_keywords, takes
from .tscac_losses import imitation_weights, stage_one_loss, stage_two_loss, taken
from .tscac_policy import TSCACPolicy
from .updates import Mlp, polyak
from .vector_rewards import VectorBatch, VectorReplay, VectorTransitions, is_flat

if TYPE_CHECKING:
    from minari import MinariDataset

Self = TypeVar("Self", bound="TSCAC")
Metrics = dict[str, Tensor]


@dataclass(frozen=True)
class TSCACSettings:
    """Those of TSCAC.

    Args:
        policy: "MlpPolicy".
        env: any environment with flat Box observations and Discrete actions whose ``info["reward_terms"]`` has the
            auxiliary signals, or its id; its reward is the main one.
        learning_rate: of all networks.
        auxiliary: names of the signals in ``info["reward_terms"]``.
        multiplier: lambda of every signal; small follows the main reward, large the auxiliary policies.
        multipliers: lambda of some signals, by name, in place of ``multiplier``.
        gammas: discount of some signals, by name, in place of ``gamma``.
        stage_one: share of the training, as SB3's progress counts it, in which the auxiliary policies learn; in the
            rest they stand still and the main policy learns.
        weight_limit: of ratios in the first stage and of weights in the second.
        ent_coef: weight of the auxiliary policies' entropy.
        gamma: discount.
        buffer_size: transitions kept.
        learning_starts: environment steps before the first update.
        batch_size: transitions an update.
        tau: step of the target critics.
        train_freq: environment steps between calls of ``train``, or ``(n, "episode")``.
        gradient_steps: updates a call (-1: as many as steps taken).
        offline_ratio: share of each online batch that is drawn from the dataset, if one was given; None draws from both
            as if they were one buffer.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: of :class:`~.tscac_policy.TSCACPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: where tensors live.
    """

    policy: str | type[Any]
    env: Any
    _: KW_ONLY
    learning_rate: float | Schedule = 3e-4
    auxiliary: Sequence[str] = ()
    multiplier: float = 1.0
    multipliers: Mapping[str, float] | None = None
    gammas: Mapping[str, float] | None = None
    stage_one: float = 0.5
    weight_limit: float = 10.0
    ent_coef: float = 0.01
    gamma: float = 0.99
    buffer_size: int = 1_000_000
    learning_starts: int = 100
    batch_size: int = 256
    tau: float = 0.005
    train_freq: int | tuple[int, str] = 1
    gradient_steps: int = 1
    offline_ratio: float | None = None
    stats_window_size: int = 100
    tensorboard_log: str | None = None
    policy_kwargs: dict[str, Any] | None = None
    verbose: int = 0
    seed: int | None = None
    device: th.device | str = "auto"
    _init_setup_model: bool = True

    def __post_init__(self) -> None:
        names = self.auxiliary
        if isinstance(names, str) or not names or len(set(names)) < len(names):
            raise ValueError(
                "auxiliary must list the names, each once, of one or several signals in the environment's "
                f'info["reward_terms"], such as ["like", "follow"], got {names!r}'
            )
        for what, given, most in (("multipliers", self.multipliers, math.inf), ("gammas", self.gammas, 1.0)):
            for name, value in (given or {}).items():
                if name not in names:
                    raise ValueError(f"{what} has {name!r}, which is not among auxiliary ({', '.join(names)})")
                if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
                    allowed = "of at least 0" if most == math.inf else "from 0 to 1"
                    raise ValueError(f"{what} must be numbers {allowed}, got {value!r} for {name}")
        if not 0 < sum(self.of_each("multiplier")) < math.inf:
            raise ValueError("multipliers must be finite and not all be 0: without any, use an agent of one reward")

    def of_each(self, name: str) -> list[float]:
        """The "multiplier" or the "gamma" of every signal."""
        given = getattr(self, f"{name}s") or {}
        return [float(given.get(one, getattr(self, name))) for one in self.auxiliary]


class TSCAC(LearnsFromData, OffPolicyAgent):
    r"""Two-stage constrained actor-critic, off policy, for discrete actions.

    In the first stage every auxiliary signal i has a critic with a discount of its own and a policy
    :math:`\pi_i`, which follows

    .. math::
        -E_b[\min(\pi_i / \pi_b, c) A_i \log \pi_i(a|s)] - \eta H(\pi_i), \quad
        A_i = Q_i(s, a) - E_{a' \sim \pi_i} Q_i(s, a')

    and in the second these stand still, while a critic of the main reward and the main policy learn: the policy by
    weighted log-likelihood towards :func:`~.tscac_losses.closed_form`, the best one of all that have limited
    divergences from the auxiliary ones (equations 5 to 8):

    .. math::
        -E_b\left[\prod_i (\pi_i / \pi_b)^{\lambda_i / \Lambda} e^{A / \Lambda} \log \pi(a|s)\right], \quad
        \Lambda = \sum_i \lambda_i

    where :math:`\pi_b` took the actions; it is learnt from them by maximum likelihood. With :math:`\Lambda \to 0` the
    main advantage alone counts, with :math:`\Lambda \to \infty` the weighted geometric mean of the auxiliary policies.

    Transitions come from a dataset (:meth:`learn_offline`), from the environment (:meth:`learn`), or from both. Each
    call has both stages (but a :meth:`learn` that goes on counting steps goes on with the second). In the first stage
    of :meth:`learn` each action is drawn from an auxiliary policy that is drawn for it.

    Departures from the paper: critics are of actions, Q(s, a), and learn the expectation over the policy's next action,
    where the paper's V(s) need the ratio of policies in their targets too; auxiliary policies have an entropy term,
    since one without any chance for an action rules it out for the main policy; the main critic begins with the second
    stage. The authors' code departs further: it has one auxiliary policy for a weighted sum of all signals, and its
    second stage is DDPG on continuous actions with a squared distance to that policy, and a ratio of Gaussians.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": TSCACPolicy}
    refuses_vec_normalize: ClassVar[bool] = True
    acts_in = (Discrete,)
    policy: TSCACPolicy
    replay_buffer: VectorReplay | None

    @takes(TSCACSettings)
    def __init__(self, settings: TSCACSettings) -> None:
        self.settings = replace(settings, env=None)
        self.auxiliary, self.offline_ratio = tuple(settings.auxiliary), settings.offline_ratio
        self.stage_one, self.weight_limit, self.ent_coef = settings.stage_one, settings.weight_limit, settings.ent_coef
        self.demonstrations: VectorBatch | None = None
        super().__init__(
            **sb3_keywords(
                OffPolicyAlgorithm,
                settings,
                replay_buffer_class=VectorReplay,
                replay_buffer_kwargs={"names": self.auxiliary},
                policy_kwargs={**(settings.policy_kwargs or {}), "n_signals": len(self.auxiliary)},
                sde_support=False,
                supported_action_spaces=(Discrete,),
            )
        )
        if settings._init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        if not is_flat(self.observation_space, self.action_space):
            raise TypeError(
                "TSCAC learns from flat Box observations and Discrete actions from 0 on, not from "
                f"{self.observation_space} and {self.action_space}: flatten or wrap them"
            )
        super()._setup_model()
        self.gammas = th.tensor(self.settings.of_each("gamma"), device=self.device)
        self.multipliers = th.tensor(self.settings.of_each("multiplier"), device=self.device)

    @property
    def is_in_stage_one(self) -> bool:
        """Whether the auxiliary policies learn now."""
        return self._current_progress_remaining > 1 - self.stage_one

    def train(self, gradient_steps: int, batch_size: int = 256) -> None:
        """Does ``gradient_steps`` updates of the present stage.

        Raises:
            ValueError: there is no transition yet to learn from.
        """
        if self.demonstrations is None and not self._stored:
            raise ValueError("TSCAC has no transitions to learn from: call learn_offline(dataset, n) or learn(n)")
        logged_updates(self, gradient_steps, batch_size)

    def update(self, batch: VectorBatch) -> Metrics:
        """One update of the present stage; see the class."""
        of_all = self.policy.behaviour(batch.observations).log_softmax(dim=2)
        logp = taken(of_all, batch.actions)[0]
        losses, stage = {"behaviour": -logp.mean()}, self._first if self.is_in_stage_one else self._second
        losses |= stage(batch, logp.detach())
        optimizers = [getattr(self.policy, f"{name}_optimizer") for name in losses]
        th.autograd.backward(list(losses.values()))  # of networks that have nothing in common
        for optimizer in optimizers:
            optimizer.step()
        return {f"{name}_loss": loss.detach() for name, loss in losses.items()}

    def _first(self, batch: VectorBatch, log_behaviour: Tensor) -> Metrics:
        policy = self.policy
        self._follow(policy.auxiliary_target, policy.auxiliary_critic)
        logp_all, advantages, loss = self._judged(
            policy.auxiliary, policy.auxiliary_critic, policy.auxiliary_target, batch, batch.terms.T, self.gammas
        )
        limit, ent_coef = self.weight_limit, self.ent_coef
        acted = stage_one_loss(logp_all, batch.actions, log_behaviour, advantages, limit, ent_coef)
        return {"auxiliary_critic": loss, "auxiliary": acted}

    def _second(self, batch: VectorBatch, log_behaviour: Tensor) -> Metrics:
        policy = self.policy
        self._follow(policy.target, policy.critic)
        gamma = th.full((1,), self.gamma, device=self.device)
        logp_all, advantages, loss = self._judged(
            policy.actor, policy.critic, policy.target, batch, batch.rewards[None], gamma
        )
        with th.no_grad():
            near = taken(policy.auxiliary(batch.observations).log_softmax(dim=2), batch.actions)
        weights = imitation_weights(near, log_behaviour, advantages[0], self.multipliers, self.weight_limit)
        return {"critic": loss, "actor": stage_two_loss(taken(logp_all, batch.actions)[0], weights)}

    def _judged(
        self, actors: Mlp, critics: Mlp, targets: Mlp, batch: VectorBatch, rewards: Tensor, gammas: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Of n policies: log-probabilities ``[n, B, a]``, advantages ``[n, B]``, and the critics' loss.

        Args:
            actors: n policies.
            critics: of each.
            targets: that follow the critics.
            batch: of transitions.
            rewards: of each policy, ``[n, B]``.
            gammas: of each policy, ``[n]``.
        """
        logp_all = actors(batch.observations).log_softmax(dim=2)
        values = critics(batch.observations)
        with th.no_grad():
            following = actors(batch.next_observations).softmax(dim=2) * targets(batch.next_observations)
            y = rewards + gammas[:, None] * batch.going_on * following.sum(dim=2)
            usual = (logp_all.exp() * values).sum(dim=2)
        found = taken(values, batch.actions)
        return logp_all, found.detach() - usual, (found - y).square().mean(dim=1).sum()

    def _follow(self, targets: Mlp, critics: Mlp) -> None:
        polyak(list(targets.parameters()), list(critics.parameters()), self.tau)

    def _sample_action(self, learning_starts: int, *args: Any, **kwargs: Any) -> Any:
        """As in SB3; in the first stage by the auxiliary policies."""
        taught = self.demonstrations is not None and self._n_updates > 0
        if self.is_in_stage_one and (taught or self.num_timesteps >= learning_starts):
            seen, _ = self.policy.obs_to_tensor(self._last_obs)  # type: ignore[arg-type]
            actions = self.policy.auxiliary_actions(seen).cpu().numpy()  # type: ignore[arg-type]
            return actions, actions
        return super()._sample_action(0 if taught else learning_starts, *args, **kwargs)

    @property
    def _stored(self) -> int:
        return 0 if self.replay_buffer is None else self.replay_buffer.transitions

    def sample(self, batch_size: int) -> VectorBatch:
        """A batch from the dataset, the replay buffer, or both in the shares that ``offline_ratio`` says."""
        data = self.demonstrations
        count = from_data(batch_size, 0 if data is None else len(data.rewards), self._stored, self.offline_ratio)
        parts = []
        if count and data is not None:
            parts.append(data.at(th.randint(len(data.rewards), (count,))))
        if count < batch_size and self.replay_buffer is not None:
            parts.append(self.replay_buffer.draw(batch_size - count))
        return parts[0] if len(parts) == 1 else parts[0].beside(parts[1])

    def _demonstrations(self, dataset: "MinariDataset | str | VectorTransitions") -> VectorBatch:
        spaces = self.observation_space, self.action_space
        if isinstance(dataset, VectorTransitions):
            dataset.check(*spaces)
        else:
            dataset = VectorTransitions.from_minari(dataset, *spaces, self.auxiliary)
        return dataset.batch(self.auxiliary)

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", *(f"policy.{name}_optimizer" for name in self.policy.LEARNING)], []
