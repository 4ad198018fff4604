"""Guessing games in words: how many games a language agent plays until it has learnt as much as another one.

Agents of the catalogue begin from the base checkpoint that ships for the game, and are evaluated with sampled answers
on the same held-out games at given numbers of games played.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from ..statistics import Floats

TUNED = 1000
"""Seeds from here on tune; they are scored on problems of their own."""


@dataclass(frozen=True)
class Player:
    """A condition.

    Attributes:
        agent: of the catalogue.
        games: of an iteration.
        points: numbers of games after which it is evaluated, ascending; training ends with the last.
        settings: of the agent, where they are not its row's.
    """

    agent: str
    games: int
    points: tuple[int, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


class Curve(NamedTuple):
    """Held-out success of one agent before training and at its points, both ``[1 + points]``."""

    games: Floats
    success: Floats

    @property
    def end(self) -> float:
        """Success at the end: the mean of the last two evaluations."""
        return float(self.success[-2:].mean())

    def risen(self, share: float) -> float:
        """Success after a share of what is learnt: 0 before training, 1 at the end."""
        return float(self.success[0] + share * (self.end - self.success[0]))

    def games_to(self, goal: float) -> float:
        """Games after which success first reached ``goal``, between evaluations by a line; all games if never.

        An agent whose base checkpoint has reached the goal already counts as needing one game.
        """
        there = np.flatnonzero(self.success >= goal)
        if not len(there):
            return float(self.games[-1])
        i = int(there[0])
        if i == 0:
            return 1.0
        return max(1.0, float(np.interp(goal, self.success[i - 1 : i + 1], self.games[i - 1 : i + 1])))

    def after(self, games: float) -> float:
        """Success after so many games, between evaluations by a line."""
        return float(np.interp(games, self.games, self.success))


@dataclass(frozen=True, kw_only=True)
class DialogueLearners:
    """The testbed.

    Attributes:
        env_id: of the game.
        evaluated: held-out games of each evaluation.
        most: games to which anybody goes on after its first evaluation; None for each player's own.
    """

    env_id: str
    evaluated: int = 300
    most: int | None = None

    def run(self, condition: Player, rate: float, seed: int) -> Curve:
        """Trains an agent at a learning rate of its policy, and evaluates it on the way."""
        from ... import agents
        from ..evaluation import TUNING_FROM, evaluation_env, evaluation_seeds, play_episodes

        settings = {"learning_rate": rate, **condition.settings}
        agent: Any = agents.make(condition.agent, self.env_id, seed=seed, **settings)
        judged = evaluation_env(self.env_id, condition.agent, self.evaluated)
        seeds, played = evaluation_seeds(TUNING_FROM if seed >= TUNED else 0, judged.num_envs), 0
        first, *later = condition.points
        points = [0, first, *(point for point in later if self.most is None or point <= self.most)]
        games, success = [], []
        for point in points:
            while played < point:
                agent.learn(1, reset_num_timesteps=False, log_interval=None)
                played += condition.games
            found = play_episodes(agent, judged, self.evaluated, seeds=seeds, deterministic=False)
            games.append(played)
            success.append(found.success_rate)
        judged.close()
        agent.get_env().close()
        return Curve(np.array(games, np.float64), np.array(success))

    def smallest(self) -> Self:
        """Everybody's first evaluations, of few games."""
        return replace(self, evaluated=4, most=32)
