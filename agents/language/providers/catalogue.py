"""One row a provider, in the order in which they supply; importing this imports nothing heavy.

``needs=`` of an objective's row, or of a component, names them. A new need is a class and a row here.
"""

from collections.abc import Collection
from importlib import import_module
from typing import TYPE_CHECKING

from .... import unknown

if TYPE_CHECKING:
    from .base import Provider

_HERE = __package__

PROVIDERS: dict[str, str] = {
    "expert": f"{_HERE}.experts:Experts",
    "greedy": f"{_HERE}.greedy:Greedy",
    "logp_ref": f"{_HERE}.reference:Reference",
    "logp_prm": f"{_HERE}.prime:OnlinePRM",
    "logp_mean": f"{_HERE}.vocabulary:VocabularyMeans",
    "values": f"{_HERE}.values:Values",
    "verifier": f"{_HERE}.pav:Verifier",
    "tracker": f"{_HERE}.spo:ValueTracker",
    "steps": f"{_HERE}.turns:Turns",
    "states": f"{_HERE}.turns:Turns",
    "groups": f"{_HERE}.base:Provider",
}
"""``"module:Class"`` by name."""

SUPPLIES = {
    "expert": "an expert's completion among each problem's, Rollouts.info['expert']",
    "greedy": "the reward of the greedy completion of each row's problem, Rollouts.baseline",
    "logp_ref": "log-probabilities under a reference policy, Rollouts.logp_ref",
    "logp_prm": "log-probabilities under an implicit process reward model that learns online, Rollouts.logp_prm",
    "logp_mean": "mean log-probabilities over the vocabulary, Rollouts.logp_mean_old and PolicyOut.logp_mean",
    "values": "a critic, Rollouts.values",
    "verifier": "the chance of success under the policy before training, learnt beforehand, Rollouts.values",
    "tracker": "a running estimate of the success at each row's problem, Rollouts.baseline",
    "steps": "a reward for each turn, Rollouts.step_reward",
    "states": "the state in which each turn began, Rollouts.state",
    "groups": "all completions of a problem in one gradient step and one piece of it, for a loss that pairs them",
}
"""The same in words."""


def check_needs(needs: Collection[str], *, of: str) -> None:
    """Raises ``ValueError`` if ``of`` (such as ``"method 'grpo'"``) needs what no provider supplies."""
    for need in sorted(set(needs) - set(PROVIDERS)):
        raise ValueError(
            f"{of} needs {need!r}, which PolicyGradient does not supply: {unknown('need', need, PROVIDERS)}"
        )


def load(needs: Collection[str]) -> "dict[str, Provider]":
    """A provider for each of ``needs``, by name, in the order in which they supply; names of one class share an object.

    Raises:
        ValueError: a name that no provider supplies.
    """
    check_needs(needs, of="a component")
    made: dict[str, Provider] = {}
    for name in (name for name in PROVIDERS if name in needs):
        if PROVIDERS[name] not in made:
            module, _, kind = PROVIDERS[name].partition(":")
            made[PROVIDERS[name]] = getattr(import_module(module), kind)()
    return {name: made[PROVIDERS[name]] for name in PROVIDERS if name in needs}
