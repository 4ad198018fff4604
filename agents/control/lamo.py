r"""Decision Transformer, and LaMo: the same on a pretrained language model that is updated by LoRA alone.

    agent = make("lamo", env).learn_offline(dataset, 20_000)
    agent = make("decision-transformer", env).learn_offline(dataset, 20_000)
    actions, state = agent.predict(seen, state, episode_start)

Papers: Chen et al., Decision Transformer: Reinforcement Learning via Sequence Modeling (2021); Shi et al., Unleashing
the Power of Pre-trained Language Models for Offline Reinforcement Learning (2024), called LaMo. "The authors' code" is
github.com/srzer/LaMo-2023, ``experiment-d4rl``.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from ..models.english import english_batch, held_out_loss, language_loss
from .base import check_step
from .data_first import DataFirst
from .datasets import Transitions
from .decision_policy import DecisionPolicy, State
from .replay import fits
from .settings import sb3_keywords, takes

if TYPE_CHECKING:
    from minari import MinariDataset

Self = TypeVar("Self", bound="DecisionTransformer")
Metrics = dict[str, Tensor]
Array = npt.NDArray[Any]


class Windows(NamedTuple):
    """B stretches of up to K steps; what lies beyond the end of an episode is 0."""

    wanted: Tensor  # [B, K] returns to go, in units of the policy's scale
    seen: Tensor  # [B, K, obs]
    actions: Tensor  # [B, K, A], in [-1, 1]
    valid: Tensor  # [B, K] bool

    def to(self, device: th.device | str) -> "Windows":
        """On a device."""
        return Windows(*(part.to(device) for part in self))


class Episode(NamedTuple):
    """An episode of T steps: observations ``[T, obs]``, actions in [-1, 1] ``[T, A]`` and returns to go ``[T]``."""

    seen: Array
    actions: Array
    returns: Array


@dataclass(frozen=True)
class DecisionTransformerSettings:
    """Those of Decision Transformer and LaMo.

    Args:
        policy: "MlpPolicy".
        env: any environment with flat Box observations and bounded flat Box actions, or its id.
        learning_rate: of everything that learns.
        context_length: steps that are read, K.
        language_model: of the backbone: "english", the one that is shipped, the file of another one of its size, or
            None for random weights.
        lora_rank: of the updates of queries, keys and values, beside which the backbone stays as it is; 0: it learns.
        mlp_embedding: perceptrons in place of linear maps to embed tokens and to read actions off.
        language_weight: of the loss on text, lambda; at 0 no text is read.
        target_return: what is asked for; the best of the data's episodes if None.
        batch_size: windows an update, and stretches of text.
        gradient_steps: updates a step of all environments in ``learn`` (-1: as many as environments).
        buffer_size: episodes of its own that are kept.
        max_grad_norm: at which gradients are clipped.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: of :class:`~.decision_policy.DecisionPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: where tensors live.
    """

    policy: str | type[Any]
    env: Any
    _: KW_ONLY
    learning_rate: float | Schedule = 1e-4
    context_length: int = 20
    language_model: str | None = None
    lora_rank: int = 0
    mlp_embedding: bool = False
    language_weight: float = 0.0
    target_return: float | None = None
    batch_size: int = 64
    gradient_steps: int = 1
    buffer_size: int = 1000
    max_grad_norm: float = 0.25
    stats_window_size: int = 100
    tensorboard_log: str | None = None
    policy_kwargs: dict[str, Any] | None = None
    verbose: int = 0
    seed: int | None = None
    device: th.device | str = "auto"
    _init_setup_model: bool = True


class DecisionTransformer(DataFirst):
    r"""Imitation of actions given the return to go, by a transformer over (return, observation, action) tokens.

    .. math:: L = E\|a_t - \pi(\hat R_{t-K+1}, s_{t-K+1}, a_{t-K+1}, ..., \hat R_t, s_t)\|^2 +
        \lambda L_{\text{language}}

    LaMo's backbone is a pretrained language model that stays as it is but for low-rank updates of its queries, keys and
    values; tokens are embedded by perceptrons, and with :math:`\lambda > 0` it goes on to predict text, so that it
    does not forget it. The row "lamo" has these, "decision-transformer" random weights that all learn, linear
    embeddings and no text.

    Departures from the authors' code: actions are bounded by a tanh also with perceptrons; one hidden layer in
    place of residual blocks; low-rank updates of rank 8 that queries, keys and values share the first factor of,
    not scaled (there rank 16, doubled); positions are the backbone's (rotary), with no embedding of the time of an
    episode; no dropout, warm-up and weight decay; stretches of text have 64 characters; the language model is small
    and of characters (:mod:`~tiltyard.agents.models.english`) in place of GPT-2, and so is the text in place of
    WikiText. ``predict`` is not told rewards, so that it asks for the same return throughout an episode, which is
    right where rewards come at its end; see :meth:`~.decision_policy.DecisionPolicy.paid`.

    :meth:`learn` goes on with episodes of its own beside the data, with the returns that they had (Zheng et al., Online
    Decision Transformer, 2022), but without that paper's entropy.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": DecisionPolicy}
    refuses_vec_normalize: ClassVar[bool] = True
    acts_in = (Box,)
    policy: DecisionPolicy

    @takes(DecisionTransformerSettings)
    def __init__(self, settings: DecisionTransformerSettings) -> None:
        self.settings = replace(settings, env=None)
        self.batch_size = settings.batch_size
        self.demonstrations: list[Episode] | None = None
        self.own: list[Episode] = []
        super().__init__(**sb3_keywords(BaseAlgorithm, settings, supported_action_spaces=(Box,)))
        if settings._init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        if not fits(self.observation_space, self.action_space):
            raise TypeError(
                "decision-transformer learns from flat Box observations and actions, not from "
                f"{self.observation_space} and {self.action_space}: flatten or wrap them"
            )
        super()._setup_model()
        self._setup_lr_schedule()
        self.set_random_seed(self.seed)
        own = ("context_length", "language_model", "lora_rank", "mlp_embedding")
        given = {name: getattr(self.settings, name) for name in own} | self.policy_kwargs
        policy = self.policy_class(self.observation_space, self.action_space, self.lr_schedule, **given)
        self.policy = policy.to(self.device)  # type: ignore[assignment]
        self._running: list[list[tuple[Any, Any, float]]] = []
        self._state: State | None = None

    # -- updates ---------------------------------------------------------------------------------------------------

    def sample(self, batch_size: int) -> Windows:
        """Windows of the dataset and of its own episodes: each step is the first of one as often as any other."""
        assert self.demonstrations is not None
        episodes, k = [*self.demonstrations, *self.own], self.settings.context_length
        lengths = th.tensor([len(one.returns) for one in episodes])
        rows = th.multinomial(lengths.double(), batch_size, replacement=True)
        firsts = (th.rand(batch_size) * lengths[rows]).long().tolist()
        cut = [
            Episode(*(part[i : i + k] for part in episodes[row])) for row, i in zip(rows.tolist(), firsts, strict=True)
        ]
        seen, actions, returns = (
            th.nn.utils.rnn.pad_sequence([th.as_tensor(part) for part in parts], batch_first=True)
            for parts in zip(*cut, strict=True)
        )
        steps = th.tensor([len(one.returns) for one in cut])
        valid = th.arange(returns.shape[1]) < steps[:, None]
        return Windows(returns / self.policy.return_scale.cpu(), seen, actions, valid)

    def update(self, batch: Windows) -> Metrics:
        """One update of everything; see the class."""
        policy, weight = self.policy, self.settings.language_weight
        acted = policy.actions(batch.wanted, batch.seen, batch.actions)
        loss = (acted - batch.actions)[batch.valid].square().mean()
        metrics = {"action_loss": loss.detach()}
        if weight:
            text = language_loss(policy.backbone, english_batch(len(batch.wanted), 64).to(self.device))
            metrics["language_loss"] = text.detach()
            loss = loss + weight * text
        policy.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        learning = policy.optimizer.param_groups[0]["params"]
        unused = [param for param in learning if param.grad is None]  # the vocabulary, where no text is read
        for param in unused:
            param.grad = th.zeros_like(param)
        th.nn.utils.clip_grad_norm_(learning, self.settings.max_grad_norm)
        policy.optimizer.step()
        return metrics

    def perplexity(self) -> float:
        """Of the backbone, a character of held-out text: e to the power of the mean loss in nats."""
        return float(np.exp(held_out_loss(self.policy.backbone.cpu())))

    # -- learning --------------------------------------------------------------------------------------------------

    def _demonstrations(self, dataset: "MinariDataset | str | Transitions") -> list[Episode]:
        spaces = self.observation_space, self.action_space
        if not isinstance(dataset, Transitions):
            dataset = Transitions.from_minari(dataset, *spaces)
        dataset.check(*spaces)
        episodes = self.episodes_of(dataset)
        returns = [float(one.returns[0]) for one in episodes]
        wanted = self.settings.target_return
        scale = max(map(abs, returns)) or 1.0
        seen = th.as_tensor(dataset.observations)
        deviations = seen.std(dim=0, correction=0)
        self.policy.seen_mean.copy_(seen.mean(dim=0))
        self.policy.seen_std.copy_(th.where(deviations > 1e-6, deviations, 1.0))
        self.policy.return_scale.fill_(scale)
        self.policy.target_return.fill_((max(returns) if wanted is None else wanted) / scale)
        return episodes

    def episodes_of(self, dataset: Transitions) -> list[Episode]:
        """A dataset's episodes."""
        lasts, returns = np.flatnonzero(dataset.ends), dataset.returns(1.0)
        actions = self.policy.scale_action(dataset.actions).astype(np.float32)
        slices = [slice(last + 1 - n, last + 1) for last, n in zip(lasts, dataset.lengths, strict=True)]
        return [Episode(dataset.observations[one], actions[one], returns[one]) for one in slices]

    def step_on(self, callback: BaseCallback) -> bool:
        """One step of all environments; False if the callback says stop."""
        assert self.env is not None
        seen: Any = self._last_obs
        actions, state = self.policy.predict(seen, self._state, self._last_episode_starts)
        new, rewards, dones, infos = self.env.step(actions)
        check_step(new, rewards)
        self._state = self.policy.paid(state, rewards)
        self.num_timesteps += self.n_envs
        callback.update_locals(locals())
        if not callback.on_step():
            return False
        self._update_info_buffer(infos, dones)
        scaled = self.policy.scale_action(actions).astype(np.float32)
        for i, running in enumerate(self._running):
            running.append((seen[i], scaled[i], float(rewards[i])))
            if dones[i]:
                shown, acted, earned = (np.array(part, np.float32) for part in zip(*running, strict=True))
                self.own.append(Episode(shown, acted, earned[::-1].cumsum()[::-1].copy()))
                self._running[i] = []
        self.own = self.own[-self.settings.buffer_size :]
        self._last_obs, self._last_episode_starts = new, dones  # type: ignore[assignment]
        return True

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", "policy.optimizer"], []

    def _excluded_save_params(self) -> list[str]:
        unsaved = ["own", "_running", "_state"]
        return [*super()._excluded_save_params(), *unsaved]
