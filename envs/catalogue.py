"""One row an environment id. Everything that lists, registers, tests or documents environments reads this table.

Importing this module imports nothing heavy: entry points are strings, resolved by ``gymnasium.make``.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from gymnasium.envs.registration import register, registry

from .. import unknown

Domain = Literal["text", "gui", "driving", "robotics"]


@dataclass(frozen=True)
class Row:
    """One registered environment.

    Attributes:
        id: the Gymnasium id.
        entry_point: ``"module:Class"`` of the single environment.
        vector_entry_point: ``"module:Class"`` of the native vector environment.
        domain: which of the four worlds it belongs to.
        summary: one sentence for tables.
        max_episode_steps: Gymnasium's time limit.
        random_score: mean episode return of a random policy on the test split (normalised score 0).
        expert_score: mean episode return of the scripted expert on the test split (normalised score 1).
        expert_success: share of test episodes the expert solves; the audit checks it.
        kwargs: default keywords.
    """

    id: str
    entry_point: str
    vector_entry_point: str
    domain: Domain
    summary: str
    max_episode_steps: int
    random_score: float
    expert_score: float
    expert_success: float
    kwargs: dict[str, Any] = field(default_factory=dict)

    def normalise(self, score: float) -> float:
        """A raw mean return on the scale where 0 is a random policy and 1 the expert."""
        return (score - self.random_score) / (self.expert_score - self.random_score)


ROWS: tuple[Row, ...] = (
    Row(
        "tiltyard/Countdown-v0",
        "tiltyard.envs.text.countdown:CountdownEnv",
        "tiltyard.envs.text.countdown:CountdownVectorEnv",
        domain="text",
        summary="Reach a target number from given numbers with + - * /, reasoning aloud",
        max_episode_steps=1,
        random_score=-0.1,
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/ReasoningGym-v0",
        "tiltyard.envs.text.reasoning_gym:ReasoningGymEnv",
        "tiltyard.envs.text.reasoning_gym:ReasoningGymVectorEnv",
        domain="text",
        summary="Any honestly gradable data set of the reasoning-gym library, as one-turn questions",
        max_episode_steps=1,
        random_score=-0.1,
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/ChainSum-v0",
        "tiltyard.envs.text.chain_sum:ChainSumEnv",
        "tiltyard.envs.text.chain_sum:ChainSumVectorEnv",
        domain="text",
        summary="Add and take away numbers one after the other; levels are how many numbers of how many digits",
        max_episode_steps=1,
        random_score=-0.1,  # over 400 test episodes, and the expert over 1000: `play` of tests/contracts/test_envs.py
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/KnightsKnaves-v0",
        "tiltyard.envs.text.knights_knaves:KnightsKnavesEnv",
        "tiltyard.envs.text.knights_knaves:KnightsKnavesVectorEnv",
        domain="text",
        summary="Who tells the truth and who lies: generated puzzles with exactly one solution",
        max_episode_steps=1,
        random_score=-0.1,  # over as many, as above
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/Maze-v0",
        "tiltyard.envs.text.maze:MazeEnv",
        "tiltyard.envs.text.maze:MazeVectorEnv",
        domain="text",
        summary="Walk through a maze of characters; any walk that ends at the goal counts",
        max_episode_steps=1,
        random_score=-0.1,  # over as many, as above
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/TreeMDP-v0",
        "tiltyard.envs.text.tree_mdp:TreeMDPEnv",
        "tiltyard.envs.text.tree_mdp:TreeMDPVectorEnv",
        domain="text",
        summary="A reasoning tree small enough to enumerate: exact values, pass@k and policy gradients",
        max_episode_steps=1,
        random_score=-0.1,  # over as many, as above
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/TwentyQuestions-v0",
        "tiltyard.envs.text.twenty_questions:TwentyQuestionsEnv",
        "tiltyard.envs.text.twenty_questions:TwentyQuestionsVectorEnv",
        domain="text",
        summary="Find out which object is thought of, by yes-or-no questions answered from a table, in several turns",
        max_episode_steps=21,  # one more than a game has: losing is an end, not a truncation
        random_score=-0.1,  # over as many, as above
        expert_score=0.988,
        expert_success=0.988,
    ),
    Row(
        "tiltyard/GuessMyCity-v0",
        "tiltyard.envs.text.guess_my_city:GuessMyCityEnv",
        "tiltyard.envs.text.guess_my_city:GuessMyCityVectorEnv",
        domain="text",
        summary="Find out in which city somebody lives, by questions answered with a word, in several turns",
        max_episode_steps=13,  # as above
        random_score=-0.1,  # over as many, as above
        expert_score=0.976,
        expert_success=0.976,
    ),
    Row(
        "tiltyard/Phone-v0",
        "tiltyard.envs.gui.phone:PhoneEnv",
        "tiltyard.envs.gui.phone:PhoneVectorEnv",
        domain="gui",
        summary="A simulated phone with real apps, goals in words, pixels and an accessibility tree",
        max_episode_steps=50,
        random_score=0.0,
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/Highway-v0",
        "tiltyard.envs.driving.scenarios.highway:HighwayEnv",
        "tiltyard.envs.driving.scenarios.highway:HighwayVectorEnv",
        domain="driving",
        summary="A multi-lane road among IDM and MOBIL traffic, rewarded by route completion",
        max_episode_steps=400,
        random_score=-0.084,
        expert_score=0.971,
        expert_success=0.98,
    ),
    Row(
        "tiltyard/HalfCheetah-v5",
        "tiltyard.envs.robotics.locomotion:HalfCheetahEnv",
        "tiltyard.envs.robotics.locomotion:HalfCheetahVectorEnv",
        domain="robotics",
        summary="Gymnasium's HalfCheetah-v5, number for number, as threaded lanes",
        max_episode_steps=1000,
        random_score=-280.6,  # both over 200 test episodes, seeds 10000 on: `play` of tests/contracts/test_envs.py
        expert_score=5179.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/Hopper-v5",
        "tiltyard.envs.robotics.locomotion:HopperEnv",
        "tiltyard.envs.robotics.locomotion:HopperVectorEnv",
        domain="robotics",
        summary="Gymnasium's Hopper-v5, number for number, as threaded lanes",
        max_episode_steps=1000,
        random_score=16.8,  # both over 200 test episodes, as above
        expert_score=3179.4,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/Walker2d-v5",
        "tiltyard.envs.robotics.locomotion:Walker2dEnv",
        "tiltyard.envs.robotics.locomotion:Walker2dVectorEnv",
        domain="robotics",
        summary="Gymnasium's Walker2d-v5, number for number, as threaded lanes",
        max_episode_steps=1000,
        random_score=1.4,  # both over 200 test episodes, as above
        expert_score=2894.8,
        expert_success=0.99,
    ),
    Row(
        "tiltyard/Ant-v5",
        "tiltyard.envs.robotics.ant:AntEnv",
        "tiltyard.envs.robotics.ant:AntVectorEnv",
        domain="robotics",
        summary="Gymnasium's Ant-v5, number for number, as threaded lanes",
        max_episode_steps=1000,
        random_score=-46.5,  # over 200 test episodes, as above, and the expert over 100
        expert_score=3518.3,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/Swimmer-v5",
        "tiltyard.envs.robotics.swimmer:SwimmerEnv",
        "tiltyard.envs.robotics.swimmer:SwimmerVectorEnv",
        domain="robotics",
        summary="Gymnasium's Swimmer-v5, number for number, as threaded lanes",
        max_episode_steps=1000,
        random_score=1.9,  # both over 200 test episodes, as above
        expert_score=360.4,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/Reacher-v5",
        "tiltyard.envs.robotics.reacher:ReacherEnv",
        "tiltyard.envs.robotics.reacher:ReacherVectorEnv",
        domain="robotics",
        summary="Gymnasium's Reacher-v5, number for number, as threaded lanes",
        max_episode_steps=50,
        random_score=-42.9,  # both over 200 test episodes, as above
        expert_score=-3.62,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/Pusher-v5",
        "tiltyard.envs.robotics.pusher:PusherEnv",
        "tiltyard.envs.robotics.pusher:PusherVectorEnv",
        domain="robotics",
        summary="Gymnasium's Pusher-v5, number for number, as threaded lanes",
        max_episode_steps=100,
        random_score=-149.0,  # both over 200 test episodes, as above
        expert_score=-44.3,
        expert_success=0.635,
    ),
    Row(
        "tiltyard/InvertedPendulum-v5",
        "tiltyard.envs.robotics.pendulums:InvertedPendulumEnv",
        "tiltyard.envs.robotics.pendulums:InvertedPendulumVectorEnv",
        domain="robotics",
        summary="Gymnasium's InvertedPendulum-v5, number for number, as threaded lanes",
        max_episode_steps=1000,
        random_score=5.2,  # both over 200 test episodes, as above
        expert_score=1000.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/InvertedDoublePendulum-v5",
        "tiltyard.envs.robotics.pendulums:InvertedDoublePendulumEnv",
        "tiltyard.envs.robotics.pendulums:InvertedDoublePendulumVectorEnv",
        domain="robotics",
        summary="Gymnasium's InvertedDoublePendulum-v5, number for number, as threaded lanes",
        max_episode_steps=1000,
        random_score=46.4,  # both over 200 test episodes, as above
        expert_score=9359.9,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/Humanoid-v5",
        "tiltyard.envs.robotics.humanoid:HumanoidEnv",
        "tiltyard.envs.robotics.humanoid:HumanoidVectorEnv",
        domain="robotics",
        summary="Gymnasium's Humanoid-v5, number for number, as threaded lanes",
        max_episode_steps=1000,
        random_score=114.2,  # over 200 test episodes, as above, and the expert over 40
        expert_score=4529.3,
        expert_success=0.72,
    ),
    Row(
        "tiltyard/PegInsertion-v0",
        "tiltyard.envs.robotics.peg_insertion:PegInsertionEnv",
        "tiltyard.envs.robotics.peg_insertion:PegInsertionVectorEnv",
        domain="robotics",
        summary="An arm under impedance control puts a square peg into a hole; reward only when it is in (SERL's task)",
        max_episode_steps=100,
        random_score=0.0,  # all three over 200 test episodes, seeds 10000 on: `play` of tests/contracts/test_envs.py
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/CableRouting-v0",
        "tiltyard.envs.robotics.cable_routing:CableRoutingEnv",
        "tiltyard.envs.robotics.cable_routing:CableRoutingVectorEnv",
        domain="robotics",
        summary="An arm presses a cable, clamped at one end, into one to three springy clips (SERL's task)",
        max_episode_steps=100,
        random_score=0.0,  # all three over 200 test episodes, seeds 10000 on: `play` of tests/contracts/test_envs.py
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/DrawerDoor-v0",
        "tiltyard.envs.robotics.drawer_door:DrawerDoorEnv",
        "tiltyard.envs.robotics.drawer_door:DrawerDoorVectorEnv",
        domain="robotics",
        summary="An arm opens or closes the drawer or the door of a cabinet by its handle, as the goal says",
        max_episode_steps=100,
        random_score=0.0,  # all three over 200 test episodes, seeds 10000 on: `play` of tests/contracts/test_envs.py
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/BoardInsertion-v0",
        "tiltyard.envs.robotics.board_insertion:BoardInsertionEnv",
        "tiltyard.envs.robotics.board_insertion:BoardInsertionVectorEnv",
        domain="robotics",
        summary="The arm puts a chip's two rows of pins into a circuit board that is turned (SERL's PCB insertion)",
        max_episode_steps=100,
        random_score=0.0,  # all three over 200 test episodes, as above
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/ObjectRelocation-v0",
        "tiltyard.envs.robotics.object_relocation:ObjectRelocationEnv",
        "tiltyard.envs.robotics.object_relocation:ObjectRelocationVectorEnv",
        domain="robotics",
        summary="The arm takes a block from one bin into the other over a wall, and back: a pair that needs no resets",
        max_episode_steps=100,
        random_score=0.0,  # all three over 200 test episodes, as above
        expert_score=1.0,
        expert_success=1.0,
    ),
    Row(
        "tiltyard/PointMaze-v0",
        "tiltyard.envs.robotics.maze:PointMazeEnv",
        "tiltyard.envs.robotics.maze:PointMazeVectorEnv",
        domain="robotics",
        summary="A ball to be pushed through a U to a goal, which alone is rewarded (D4RL's Maze2D)",
        max_episode_steps=300,  # of the three mazes: D4RL's maze2d-*-v1
        random_score=0.004,  # over 4000 test episodes, seeds 50000 on
        expert_score=1.0,  # over 400 test episodes, seeds 10000 on: `play` of tests/contracts/test_envs.py
        expert_success=1.0,
    ),
    Row(
        "tiltyard/PointMazeMedium-v0",
        "tiltyard.envs.robotics.maze:PointMazeEnv",
        "tiltyard.envs.robotics.maze:PointMazeVectorEnv",
        domain="robotics",
        summary="PointMaze in D4RL's medium maze",
        max_episode_steps=600,
        random_score=0.001,  # over 1000 test episodes, as above
        expert_score=1.0,  # over 400 test episodes, as above
        expert_success=1.0,
        kwargs={"layout": "medium"},
    ),
    Row(
        "tiltyard/PointMazeLarge-v0",
        "tiltyard.envs.robotics.maze:PointMazeEnv",
        "tiltyard.envs.robotics.maze:PointMazeVectorEnv",
        domain="robotics",
        summary="PointMaze in D4RL's large maze",
        max_episode_steps=800,
        random_score=0.0,  # over 500 test episodes, as above
        expert_score=1.0,  # over 400 test episodes, as above
        expert_success=1.0,
        kwargs={"layout": "large"},
    ),
    Row(
        "tiltyard/AntMaze-v0",
        "tiltyard.envs.robotics.ant_maze:AntMazeEnv",
        "tiltyard.envs.robotics.ant_maze:AntMazeVectorEnv",
        domain="robotics",
        summary="An ant to be walked through a U to a goal, which alone is rewarded (D4RL's AntMaze)",
        max_episode_steps=700,
        random_score=0.0,  # over 30 test episodes, and the expert over 200, seeds 10000 on
        expert_score=0.98,
        expert_success=0.98,
    ),
    Row(
        "tiltyard/AntMazeMedium-v0",
        "tiltyard.envs.robotics.ant_maze:AntMazeEnv",
        "tiltyard.envs.robotics.ant_maze:AntMazeVectorEnv",
        domain="robotics",
        summary="AntMaze in D4RL's medium maze",
        max_episode_steps=1000,
        random_score=0.0,
        expert_score=0.98,  # over 100 test episodes, as above
        expert_success=0.98,
        kwargs={"layout": "medium"},
    ),
    Row(
        "tiltyard/AntMazeLarge-v0",
        "tiltyard.envs.robotics.ant_maze:AntMazeEnv",
        "tiltyard.envs.robotics.ant_maze:AntMazeVectorEnv",
        domain="robotics",
        summary="AntMaze in D4RL's large maze",
        max_episode_steps=1000,
        random_score=0.0,
        expert_score=0.94,  # over 100 test episodes, as above
        expert_success=0.94,
        kwargs={"layout": "large"},
    ),
)


def find(env_id: str) -> Row:
    """The row of ``env_id``; ``KeyError`` with the nearest valid ids otherwise."""
    for row in ROWS:
        if row.id == env_id:
            return row
    raise KeyError(unknown("environment", env_id, [row.id for row in ROWS]))


def register_all() -> None:
    """Registers every row with Gymnasium; called by Gymnasium itself through the ``gymnasium.envs`` entry point."""
    for row in ROWS:
        if row.id not in registry:
            register(
                id=row.id,
                entry_point=row.entry_point,
                vector_entry_point=row.vector_entry_point,
                max_episode_steps=row.max_episode_steps,
                kwargs=dict(row.kwargs),
            )
