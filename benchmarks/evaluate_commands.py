"""``tiltyard evaluate`` and ``tiltyard play``: what an agent earns on held-out problems, and how it looks."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from . import commands
from .options import Whole
from .runs import read_run

if TYPE_CHECKING:
    from .evaluation import Evaluation


@dataclass
class Evaluate:
    """Evaluates a trained agent (or "expert" or "random") on held-out problems."""

    agent: tyro.conf.Positional[str]
    """a run folder, a checkpoint file, "expert", "random", or "trained": the one that is shipped for --env"""
    env: str | None = None
    """environment id; a run folder knows its own, with its keywords"""
    episodes: Whole | None = None
    """how many; as many as a run's own evaluation has, otherwise 100"""
    trust: bool = False
    """import what a run folder names as module:Class or module:id, which runs its code"""

    def run(self) -> int:
        """Plays the episodes and prints return and success with intervals."""
        policy = commands.find_policy(self.agent, self.env, trust=self.trust)
        found = policy.evaluate(self.episodes)
        commands.print_evaluation(found.scores, found.successes, policy.env_id, policy.task, policy.actions)
        return self._compared(found)

    def _compared(self, found: "Evaluation") -> int:
        """Prints a run's new evaluation beside the stored one, if they are of the same problems; 1 if they differ."""
        from .comparing import compare

        if not Path(self.agent).is_dir():
            return 0
        stored = read_run(self.agent)
        if self.env not in (None, stored.run.env_id) or len(found.scores) != len(stored.scores):
            return 0
        comparison = compare(found, stored)
        print(f"stored: {comparison.said}")
        return int(not comparison.agrees)


@dataclass
class Play:
    """Writes a video of an environment being played by its expert, at random, or by an agent."""

    env: str | None = None
    """environment id; a run folder knows its own"""
    agent: str = "expert"
    """a run folder, a checkpoint file, "expert", "random", or "trained": the one that is shipped for --env"""
    video: Path = Path("play.mp4")
    """file to write, .mp4 or .gif"""
    episodes: Whole = 3
    """how many"""
    steps: Whole = 1000
    """stop after so many steps in all"""
    seed: int | None = None
    """play the problems of these seeds and the following, instead of the published evaluation problems"""
    trust: bool = False
    """import what a run folder names as module:Class or module:id, which runs its code"""

    def run(self) -> int:
        """Records, then prints what was played."""
        from .evaluation import evaluation_seeds
        from .play import play

        policy = commands.find_policy(self.agent, self.env, trust=self.trust)
        with commands.bar(f"recording {policy.task}", self.steps) as progress:
            played = play(
                policy.env_id,
                policy.agent,
                video=self.video,
                episodes=self.episodes,
                steps=self.steps,
                seed=evaluation_seeds(policy.seed, 1)[0] if self.seed is None else self.seed,
                deterministic=policy.deterministic,
                progress=progress,
                **policy.env_kwargs,
            )
        for i, episode in enumerate(played):
            verdict = {True: ", success", False: ", no success", None: ""}[episode.success]
            print(f"episode {i}: return {episode.score:.2f}, {episode.steps} steps{verdict}")
        print(f"wrote {self.video}")
        return 0
