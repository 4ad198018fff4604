"""Language agents, a row a name; see :mod:`tiltyard.agents.catalogue`."""

from ..row import Row

# Shipped bases, all of level 1, with the noise that they were made with; completions of levels 2 and 3 fit.
_BASES = {
    f"tiltyard/{env}-v0": {
        "policy": policy,
        "warm_start_steps": 0,
        "warm_start_noise": noise,
        "max_answer_tokens": tokens,
    }
    for env, policy, noise, tokens in (
        ("Countdown", "countdown-warm", 0.4, 112),
        ("ChainSum", "chain-sum-base", 0.8, 48),
        ("KnightsKnaves", "knights-knaves-base", 0.5, 64),
        ("Maze", "maze-base", 0.7, 48),
        ("TreeMDP", "tree-mdp-base", 0.2, 16),
        ("TwentyQuestions", "twenty-questions-base", 0.7, 24),
        ("GuessMyCity", "guess-my-city-base", 0.9, 16),
    )
}
_LANGUAGE = {"warm_start_steps": 2000, "warm_start_batch_size": 8, "warm_start_learning_rate": 2e-3}

ROWS: tuple[Row, ...] = (
    Row(
        "grpo",
        "tiltyard.agents.language.trainer:PolicyGradient",
        ("text",),
        "Group-relative policy optimisation of a small transformer after a supervised warm start",
        settings={
            "*": {"policy": "transformer-1m", "method": "grpo", "kl_coef": 0.0, "prompts_per_batch": 32},
            "text": _LANGUAGE | {"learning_rate": 2.5e-4, "batch_size": 64},
            **_BASES,
            "tiltyard/Countdown-v0": _BASES["tiltyard/Countdown-v0"] | {"batch_size": None},  # as its results have it
        },
        n_envs={"text": 256},
    ),
    Row(
        "sft",
        "tiltyard.agents.language.trainer:PolicyGradient",
        ("text",),
        "The same transformer and warm start, then more demonstrations in place of reinforcement learning",
        settings={
            "*": {"policy": "transformer-1m", "method": "sft"},
            "text": _LANGUAGE | {"learning_rate": 2.5e-4},
            **_BASES,
        },
    ),
    Row(
        "filtered-bc",
        "tiltyard.agents.language.trainer:PolicyGradient",
        ("text",),
        "Imitation of the best of its own episodes, after the same warm start",
        paper="archer",
        settings={
            "*": {"policy": "transformer-1m", "method": "filtered-bc", "prompts_per_batch": 32},
            "text": _LANGUAGE | {"learning_rate": 2.5e-4},
            **_BASES,
        },
        n_envs={"text": 256},
    ),
    Row(
        "archer",
        "tiltyard.agents.language.archer:ArCHer",
        ("text",),
        "Off-policy critics of whole utterances and a policy gradient inside them, for tasks of several turns",
        settings={
            "*": {"policy": "transformer-1m", "batch_size": 128, "critic_warm_up": 4, "actor_steps": 4},
            "text": _LANGUAGE | {"learning_rate": 2.5e-4},
            **_BASES,
        },
        n_envs={"text": 128},
    ),
    Row(
        "t-ppo",
        "tiltyard.agents.language.t_ppo:TPPO",
        ("text",),
        "PPO on windows of completions, of which unfinished ones are carried on in the next step",
        settings={
            "*": {"policy": "transformer-1m", "slots": 64, "window": 16},
            "text": _LANGUAGE | {"learning_rate": 2.5e-4},
            **_BASES,
        },
        n_envs={"text": 64},
    ),
)
