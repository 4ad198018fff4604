"""MEX: TD3 whose critics are also pulled up where the actor acts.

Paper: Liu et al., One Objective to Rule Them All: A Maximization Objective Fusing Estimation and Planning for
Exploration (2023), its model-free form MEX-MF. "The authors' code" is github.com/agentification/MEX, MEX_MF/IO.py.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch as th
from torch import Tensor

from .actor_critic import ActorCritic, Metrics
from .explicit import Step, explicit, improvement
from .networks import Critics
from .replay import Batch
from .settings import takes
from .td3 import TD3, TD3Settings, delayed_improvement, smoothed_target, smoothing
from .td3 import critic_gradients as td3_gradients


@dataclass(frozen=True)
class MEXSettings(TD3Settings):
    """Those of MEX, beside TD3's.

    Args:
        optimism_coef: eta', the weight of optimism against the squared error; 0 is TD3.
        soft_optimism: whether values of other actions are held down in exchange.
    """

    _: KW_ONLY
    optimism_coef: float = 0.005
    soft_optimism: bool = True


def optimism(values: Tensor, *, soft: bool) -> tuple[Tensor, Tensor]:
    r"""What the critics climb beside the squared error, ``[n, B]``, and its gradient by ``values`` ``[n, B, K]``.

    :math:`Q(s, \pi(s)) - \log \sum_k \exp Q(s, a_k)`, or without ``soft`` the first term alone. The first value of each
    sample is that of the actor's own action, which the sum leaves out.
    """
    own, others = values[..., :1], values[..., 1:]
    gain, by_own = own.squeeze(-1), th.ones_like(own)
    if not soft:
        return gain, th.cat([by_own, th.zeros_like(others)], dim=-1)
    return gain - others.logsumexp(dim=-1), th.cat([by_own, -others.softmax(dim=-1)], dim=-1)


def critic_gradients(
    actor: Any,
    critic: Critics,
    target: Critics,
    target_actor: Any,
    batch: Batch,
    noise: Tensor,
    uniform: Tensor,
    coef: float,
    soft: bool,
) -> tuple[Step, Tensor]:
    """What the critics learn, and by how much the actor's action is worth more to them than others."""
    y = smoothed_target(target, target_actor, batch, noise)
    chosen = actor(batch.observations).detach(), batch.actions, actor(batch.next_observations).detach(), uniform
    actions = th.stack(chosen, dim=1)  # [B, K, A]: the actor's, the one taken, the actor's at s', a uniform one
    b, k, _ = actions.shape
    features = critic.inputs(batch.observations, None).repeat_interleave(k, dim=0)
    passed, head = critic.net.passed(th.cat([features, actions.flatten(0, 1)], dim=1)), critic.head
    values, of_taken = head.value(passed.out).view(-1, b, k), passed.out[:, 1::k]
    gain, by_values = optimism(values, soft=soft)
    g = head.value_slope(passed.out) * (-0.5 * coef / b * by_values).flatten(1).unsqueeze(-1)
    g[:, 1::k] += head.loss_slope(of_taken, y) / b
    loss = (head.loss(of_taken, y) - 0.5 * coef * gain).mean(dim=1).sum()
    return Step(loss, passed.gradients(g), values[..., 1].detach().mean()), gain.detach().mean()


class MEX(ActorCritic):
    r"""Maximise to explore: TD3 (:class:`~.td3.TD3`) with optimistic critics.

    Averaged over the batch they minimise

    .. math::
        (Q(s, a) - r - \gamma \min_i Q'_i(s', \pi'(s') + \epsilon))^2
        - \eta' (Q(s, \pi(s)) - \log \sum_k \exp Q(s, a_k))

    The second term is CQL's with the opposite sign: of all values that agree with experience those are learnt that
    promise most. The actor, the targets and the delay are TD3's. In the sum are, as in the authors'
    code, the action taken, the actor's at s' and a uniform one; ``soft_optimism=False`` leaves the sum out, which is
    the objective before they soften it for stability. :math:`\eta'` is theirs for sparse rewards, 0.005 (0.001 for
    dense ones).

    Departures: each critic's sum holds its own values, where theirs has the first critic's value of the action taken in
    both. The head's loss is half the squared error, so that half of :math:`\eta'` stands beside it.
    """

    policy_defaults: ClassVar[dict[str, Any]] = TD3.policy_defaults
    settings: MEXSettings

    @takes(MEXSettings)
    def __init__(self, settings: MEXSettings) -> None:
        self.construct(settings)

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        asked, critic = self.settings, self.critic
        noise = smoothing(batch, asked.target_policy_noise, asked.target_noise_clip)
        if asked.optimism_coef:
            networks = self.actor, critic, self.critic_target, self.policy.actor_target
            random = batch, noise, th.empty_like(batch.actions).uniform_(-1, 1)
            step, gain = self.compute(critic_gradients, *networks, *random, asked.optimism_coef, asked.soft_optimism)
        else:
            step = self.compute(td3_gradients, critic, self.critic_target, self.policy.actor_target, batch, noise)
            gain = th.zeros(())
        metrics = {"critic_loss": critic.descend(*step[:2]), "q": step.seen, "optimism": gain}
        return metrics | delayed_improvement(self, asked, batch, improvement, "first")
