"""Text tasks, a row an id; see :mod:`tiltyard.envs.catalogue`."""

from ..row import Row

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
)
