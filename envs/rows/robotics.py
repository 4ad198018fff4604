"""MuJoCo tasks, a row an id; see :mod:`tiltyard.envs.catalogue`."""

from ..row import Row

ROWS: tuple[Row, ...] = (
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
        random_score=114.2,  # over 200 test episodes, as above, and the expert over 100
        expert_score=5659.6,
        expert_success=0.93,
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
        max_episode_steps=40,  # the expert takes 15 at most; longer ones leave time to try without looking
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
