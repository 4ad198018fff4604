"""A point mass that hovers, and attacks on what it observes that are to hold it somewhere else.

The victim is SAC, which is paid for being near the origin. A teacher wants it a quarter of a unit away, in a direction
of the seed. Attackers may move each number of an observation by epsilon: RAT, by preferences of the teacher; an
attacker paid for the victim's losses; or chance.
"""

from ast import literal_eval
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ...agents import make
from ...envs.seeding import generator

Floats32 = npt.NDArray[np.float32]
Attack = Callable[[Any], npt.ArrayLike]
STEPS, THRUST, DRAG, AWAY = 30, 0.08, 0.7, 0.25
TEST, TARGET, CHANCE = 0, 1, 2  # streams of seeds
SHARED: dict[str, Any] = {
    "learning_starts": 200,
    "batch_size": 64,
    "gamma": 0.95,
    "policy_kwargs": {"net_arch": [32, 32]},
    "device": "cpu",
}
RAT: dict[str, Any] = {
    "inner_interval": 20,
    "inner_updates": 10,
    "outer_interval": 100,
    "segment_length": 10,
    "preferences_per_session": 64,
    "preference_interval": 500,
    "reward_learning_rate": 1e-3,
    "switch_steps": STEPS,
}


def target(seed: int) -> npt.NDArray[np.float64]:
    """Where the teacher of a seed wants the mass, ``[2]``."""
    angle = generator(seed, TARGET).uniform(0, 2 * np.pi)
    return AWAY * np.array([np.cos(angle), np.sin(angle)])


def moved(state: npt.NDArray[np.float64], actions: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """States ``[..., 4]``, position and velocity, after actions ``[..., 2]`` in [-1, 1]."""
    velocity = DRAG * state[..., 2:] + THRUST * np.clip(actions, -1, 1)
    return np.concatenate([state[..., :2] + velocity, velocity], axis=-1)


class Hovering(gymnasium.Env[Floats32, Floats32]):
    """The mass: observations are position and velocity ``[4]``, actions thrusts ``[2]``, rewards minus the distance.

    ``info["target_score"]`` is minus the distance to where the teacher wants it. Episodes end after 30 steps.

    Args:
        wanted: by the teacher, ``[2]``.
    """

    observation_space = Box(-np.inf, np.inf, (4,), np.float32)
    action_space = Box(-1, 1, (2,), np.float32)

    def __init__(self, wanted: npt.ArrayLike = (AWAY, 0.0)) -> None:
        self.wanted = np.asarray(wanted, np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Floats32, dict[str, Any]]:
        """At rest, at most half a unit away in each direction."""
        super().reset(seed=seed)
        self.state, self.count = np.concatenate([self.np_random.uniform(-0.5, 0.5, 2), np.zeros(2)]), 0
        return self.state.astype(np.float32), {}

    def step(self, action: Floats32) -> tuple[Floats32, float, bool, bool, dict[str, Any]]:
        """Moves it."""
        self.state, self.count = moved(self.state, action), self.count + 1
        place = self.state[:2]
        info = {"target_score": -float(np.hypot(*(place - self.wanted)))}
        return self.state.astype(np.float32), -float(np.hypot(*place)), False, self.count == STEPS, info


class Deceiving(Hovering):
    """What an attacker acts in that is paid for a victim's losses: actions ``[4]`` in [-1, 1] are perturbations.

    Args:
        victim: with ``predict``.
        epsilon: by which actions are multiplied.
    """

    action_space = Box(-1, 1, (4,), np.float32)

    def __init__(self, victim: Any, epsilon: float) -> None:
        super().__init__()
        self.victim, self.epsilon = victim, epsilon

    def step(self, action: Floats32) -> tuple[Floats32, float, bool, bool, dict[str, Any]]:
        """The victim acts on what it is shown."""
        shown = self.state + self.epsilon * np.clip(action, -1, 1)
        seen, reward, *rest = super().step(self.victim.predict(shown.astype(np.float32), deterministic=True)[0])
        return seen, -reward, *rest  # type: ignore[return-value]


@dataclass(frozen=True)
class Attacker:
    """A condition: RAT, with settings of its own, an attacker of the victim's return, or uniform noise."""

    kind: Literal["rat", "return", "noise"]
    settings: Mapping[str, Any] = field(default_factory=dict)


class Deceived(NamedTuple):
    """Of one seed.

    Attributes:
        held: how near the victim is held to the target in the second half of episodes: 1 there, 0 as far off as the
            origin is, and below 0 farther.
        distance: from the origin then.
        free: that distance without an attack.
        sought: what the attacker trains for: `distance` where it is paid for the victim's losses, else `held`.
    """

    held: float
    distance: float
    free: float
    sought: float


@dataclass(frozen=True, kw_only=True)
class DeceivedMass:
    """The testbed.

    Attributes:
        epsilon: most by which a number observed is moved; positions begin within 0.5, the largest speed is 0.27.
        victim_steps: of its training.
        steps: of an attacker's.
        episodes: of a test.
        settings: of all agents.
    """

    epsilon: float = 0.1
    victim_steps: int = 3000
    steps: int = 2500
    episodes: int = 50
    settings: Mapping[str, Any] = field(default_factory=SHARED.copy)

    def run(self, condition: Attacker, rate: float, seed: int) -> Deceived:
        """Trains an attacker at a learning rate against the victim of the seed."""
        victim = trained_victim(self.victim_steps, repr(dict(self.settings)), seed)
        attack = self.attack(condition, victim, rate, seed)
        places, free = (followed(victim, one, self.episodes) for one in (attack, np.zeros_like))
        held = held_at(places, target(seed))
        distance, undisturbed = (float(np.linalg.norm(one, axis=-1).mean()) for one in (places, free))
        return Deceived(held, distance, undisturbed, distance if condition.kind == "return" else held)

    def attack(self, condition: Attacker, victim: Any, rate: float, seed: int) -> Attack:
        """What an attacker adds to observations ``[B, 4]`` after its training."""
        epsilon, given = self.epsilon, {**self.settings, "learning_rate": rate, "seed": seed, **condition.settings}
        if condition.kind == "noise":
            rng = generator(seed, CHANCE)
            return lambda seen: rng.uniform(-epsilon, epsilon, np.shape(seen))
        if condition.kind == "return":
            agent: Any = make("sac", Deceiving(victim, epsilon), **given).learn(self.steps)
            return lambda seen: epsilon * agent.predict(seen, deterministic=True)[0]
        made: Any = make("rat", Hovering(target(seed)), epsilon=epsilon, adversary_learning_rate=rate, **RAT, **given)
        perturbation: Attack = made.against(victim).learn(self.steps).perturbation
        return perturbation

    def smallest(self) -> Self:
        """Few steps."""
        return replace(self, victim_steps=220, steps=220, episodes=2)


def held_at(places: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]) -> float:
    """1 less the mean distance of places ``[..., 2]`` from ``wanted`` ``[2]``, in units of that of the origin."""
    return float(1 - np.linalg.norm(places - wanted, axis=-1).mean() / np.linalg.norm(wanted))


@lru_cache(maxsize=64)
def trained_victim(steps: int, settings: str, seed: int) -> Any:
    """The victim of a seed: SAC at a learning rate of 0.003; ``settings`` as they are written."""
    victim: Any = make("sac", Hovering(), seed=seed, learning_rate=3e-3, **literal_eval(settings))
    return victim.learn(steps)


def followed(victim: Any, attack: Attack, episodes: int) -> npt.NDArray[np.float64]:
    """Where a victim under attack is in the second half of test episodes, the same for all: ``[steps, n, 2]``."""
    rng, places = generator(0, TEST), []
    state = np.concatenate([rng.uniform(-0.5, 0.5, (episodes, 2)), np.zeros((episodes, 2))], axis=1)
    for _ in range(STEPS):
        seen = state.astype(np.float32)
        shown = (seen + np.asarray(attack(seen))).astype(np.float32)
        state = moved(state, victim.predict(shown, deterministic=True)[0])
        places.append(state[:, :2])
    return np.array(places[STEPS // 2 :])
