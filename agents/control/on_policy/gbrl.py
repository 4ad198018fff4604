"""PPO whose actor and critic are gradient-boosted trees, with Stable-Baselines3's API."""

from collections.abc import Iterable
from typing import Any, ClassVar

import torch as th
from gymnasium.spaces import Box, Dict, Space
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import CombinedExtractor, FlattenExtractor
from stable_baselines3.common.type_aliases import GymEnv, PyTorchObs, Schedule
from stable_baselines3.common.utils import FloatSchedule
from torch import Tensor, nn

from ...optimizers import Adam
from .acting import Acting, StepActing
from .fast_ppo import FastPPO
from .policies import NormalizedPolicy
from .rollout import Samples
from .trees import Trees
from .update import Gradients, Losses, Settings, losses_of

RATE_OF_LOGITS, RATE_OF_MEANS = 0.05, 0.003


class Boosting(Adam):
    """Adds a tree a step, along gradients of outputs that it was given; log standard deviations take steps of Adam.

    Args:
        trees: that grow.
        parameters: of the policy, of which those with gradients are Adam's.
        lr: of Adam.

    Attributes:
        rates: ``[n_outputs]``, by which a tree's values are multiplied.
        asked: features ``[B, F]`` and gradients ``[B, n_outputs]`` of the next tree.
    """

    def __init__(self, trees: Trees, parameters: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__(parameters, lr=lr, eps=1e-5)
        self.trees, self.rates = trees, th.zeros(len(trees.bias))
        self.asked: tuple[Tensor, Tensor] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """For copies of a policy, whose trees are then the copied policy's own; torch keeps Adam's part alone."""
        own = {"trees": self.trees, "rates": self.rates, "asked": self.asked}
        return super().__getstate__() | own  # type: ignore[no-any-return]

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """See the class."""
        super().step()
        if self.asked is not None:
            features, gradients = self.asked
            self.trees.grow(features, -self.rates * gradients)
            self.asked = None


class TreePolicy(NormalizedPolicy):
    """Means or logits and the value, of one ensemble of trees: actor and critic share questions, not answers.

    Observations are read as they are: a tree asks whether a number is above a threshold, for which no scale matters.
    Choices (``Discrete``, ``MultiDiscrete``) are told as zeros and ones, so that a question is "is it this one?".

    Args:
        observation_space: of one environment, without images.
        action_space: of one environment; Box, Discrete, MultiDiscrete or MultiBinary.
        lr_schedule: of the agent, which sets the trees' rates itself.
        max_depth: questions of a tree.
        n_bins: candidates of a feature at each question.
        max_trees: room for trees, a step of learning each.
        log_std_learning_rate: of the log standard deviations of actions in a Box.
        log_std_init: what they begin with.
        **kwargs: of SB3's ``ActorCriticPolicy``.

    Raises:
        TypeError: images, or an action space that is none of these.
        ValueError: sizes that trees cannot have.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        max_depth: int = 4,
        n_bins: int = 250,
        max_trees: int = 10_000,
        log_std_learning_rate: float = 3e-4,
        log_std_init: float = -2.0,
        **kwargs: Any,
    ) -> None:
        spaces = observation_space.spaces if isinstance(observation_space, Dict) else {"": observation_space}
        if any(is_image_space(part) for part in spaces.values()):
            raise TypeError(
                f"trees ask about single numbers, which pixels say little by: {observation_space} has images"
            )
        extractor = CombinedExtractor if isinstance(observation_space, Dict) else FlattenExtractor
        kwargs |= {"norm_obs": False, "net_arch": [], "features_extractor_class": extractor}
        super().__init__(observation_space, action_space, lr_schedule, log_std_init=log_std_init, **kwargs)
        self.action_net = self.value_net = nn.Identity()  # type: ignore[assignment]  # trees are in their place
        self.trees = Trees(self.n_outputs + 1, max_depth=max_depth, n_bins=n_bins, max_trees=max_trees)
        self.optimizer: Boosting = Boosting(self.trees, self.parameters(), log_std_learning_rate)

    def both(self, observations: PyTorchObs) -> tuple[Tensor, Tensor]:
        """Features ``[B, F]``, and means or logits (of what is allowed and what is not) and values ``[B, K + 1]``."""
        features = self.extract_features(observations)
        assert isinstance(features, Tensor)
        return features, self.trees(features)

    def outputs(self, observations: PyTorchObs) -> tuple[Tensor, Tensor]:
        """Means or logits ``[B, K]`` and values ``[B]``."""
        return self.parted(self.both(observations)[1], observations)

    def parted(self, found: Tensor, observations: PyTorchObs) -> tuple[Tensor, Tensor]:
        """What :meth:`both` has found as :meth:`outputs` gives it."""
        return self._allowed(found[:, :-1], observations), found[:, -1]

    def actor_outputs(self, observations: PyTorchObs) -> Tensor:
        """Means or logits ``[B, K]`` alone."""
        return self.outputs(observations)[0]

    def critic_values(self, observations: PyTorchObs) -> Tensor:
        """Values ``[B]`` alone."""
        return self.outputs(observations)[1]


class GBRL(FastPPO):
    r"""Proximal policy optimisation with gradient-boosted trees in place of networks.

    Each minibatch adds a tree to one ensemble :math:`F`, which gives means or logits and the value. With
    :math:`g` the gradient of PPO's loss by the outputs at a sample (times the minibatch's size), and :math:`l(s)` the
    leaf of a state,

    .. math::
        F(s) \leftarrow F(s) - \eta \, \mathrm{mean}_{s' \in l(s)} \, g(s')

    with an :math:`\eta` of the actor and one of the critic. Trees are oblivious, with quantiles as candidates and the
    cosine score; see :mod:`.trees`. What an agent has learnt grows with the minibatches that it has seen, and so does
    the time of a prediction.

    Paper: Fuhrer et al., Gradient Boosting Reinforcement Learning (2024), eq. 4 and 5 and sec. 4.1. Rates and the
    shared ensemble are of the order of the authors' settings, which they tuned for each task. ``vf_coef`` scales the
    critic's gradient too. Departure: splits are scored by steps, that is by gradients times their rates, where theirs
    are scored by the gradients, so that the actor counts for less beside the critic with means (0.003 to 0.02) than
    there, and for more with logits (0.05 to 0.02).

    Args:
        policy: "MlpPolicy", "MultiInputPolicy" or "TreePolicy", all the same, or a class of such; ``policy_kwargs`` are
            ``max_depth``, ``n_bins``, ``max_trees``, ``log_std_init`` and ``log_std_learning_rate``.
        env: to learn in.
        learning_rate: eta of the actor, or a function of the remaining progress; if None 0.05 of logits and 0.003 of
            means, by which the gradient is larger by one over the actions' variance.
        value_learning_rate: eta of the critic, or such a function.
        batch_size: of a minibatch, which makes a tree.
        n_steps: this and all others are :class:`~.fast_ppo.FastPPO`'s; ``max_grad_norm`` is of the log standard
            deviations alone.

    Raises:
        TypeError: observations with images.
        ValueError: at ``learn``, steps that would make more trees than there is room for.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = dict.fromkeys(
        ("MlpPolicy", "MultiInputPolicy", "TreePolicy"), TreePolicy
    )
    policy: TreePolicy

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        *,
        learning_rate: float | Schedule | None = None,
        value_learning_rate: float | Schedule = 0.02,
        n_steps: int = 64,
        batch_size: int = 512,
        n_epochs: int = 4,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        clip_range: float | Schedule = 0.2,
        clip_range_vf: float | Schedule | None = None,
        normalize_advantage: bool = True,
        ent_coef: float = 0.0,
        vf_coef: float = 0.5,
        max_grad_norm: float = 0.5,
        norm_reward: bool = True,
        clip_reward: float = 10.0,
        target_kl: float | None = None,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        self.value_learning_rate = value_learning_rate
        super().__init__(
            policy,
            env,
            learning_rate,  # type: ignore[arg-type]
            n_steps=n_steps,
            batch_size=batch_size,
            n_epochs=n_epochs,
            gamma=gamma,
            gae_lambda=gae_lambda,
            clip_range=clip_range,
            clip_range_vf=clip_range_vf,
            normalize_advantage=normalize_advantage,
            ent_coef=ent_coef,
            vf_coef=vf_coef,
            max_grad_norm=max_grad_norm,
            norm_obs=False,
            norm_reward=norm_reward,
            clip_reward=clip_reward,
            target_kl=target_kl,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            policy_kwargs=policy_kwargs,
            verbose=verbose,
            seed=seed,
            device="cpu" if device == "auto" else device,
            _init_setup_model=_init_setup_model,
        )

    def _setup_model(self) -> None:
        if self.learning_rate is None:
            self.learning_rate = RATE_OF_MEANS if isinstance(self.action_space, Box) else RATE_OF_LOGITS
        super()._setup_model()
        if self.device.type != "cpu":
            raise ValueError(f"trees grow on the CPU: give device='cpu' in place of {str(self.device)!r}")
        self.value_learning_rate = FloatSchedule(self.value_learning_rate)

    def _acting_by(self, policy: ActorCriticPolicy) -> Acting:
        return StepActing(policy)

    def _setup_learn(self, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        found = super()._setup_learn(*args, **kwargs)
        samples = self.n_steps * self.n_envs
        rollouts = -(-max(found[0] - self.num_timesteps, 0) // samples)
        wanted, room = rollouts * self.n_epochs * -(-samples // self.batch_size), self.policy.trees.room
        if wanted > room:
            raise ValueError(
                f"{wanted:,} minibatches make as many trees, and there is room for {room:,}: make the agent with a "
                "larger policy_kwargs['max_trees'], or with larger or fewer minibatches"
            )
        return found

    def _update_learning_rate(self, optimizers: Any) -> None:
        """Sets the rates of the next trees."""
        rates: tuple[Any, Any] = (self.lr_schedule, self.value_learning_rate)
        actor, critic = (float(rate(self._current_progress_remaining)) for rate in rates)
        self.logger.record("train/learning_rate", actor)
        self.policy.optimizer.rates[:-1], self.policy.optimizer.rates[-1] = actor, critic

    def _gradients(self) -> Gradients:
        policy, optimizer = self.policy, self.policy.optimizer

        def gradients(batch: Samples, settings: Settings) -> Losses:
            seen: Any = batch.observations
            features, found = policy.both(seen)
            found.requires_grad_()
            outputs, values = policy.parted(found, seen)
            logp, entropy = policy.distribution.log_prob(outputs, policy.noise_scale, batch.actions)
            losses = losses_of(batch, values, logp, entropy, settings)
            optimizer.zero_grad(set_to_none=True)
            losses.total.backward()  # type: ignore[no-untyped-call]
            assert found.grad is not None
            optimizer.asked = features, found.grad * len(batch)
            return losses

        return gradients
