"""Rows of agents that learn a model of the dynamics."""

from ..row import Row

MODEL_BASED: tuple[Row, ...] = (
    Row(
        "vagram",
        "tiltyard.agents.control.vagram:VaGraM",
        ("driving", "robotics"),
        "SAC on short rollouts of learnt dynamics models that are exact where the value function is sensitive",
    ),
    Row(
        "mbpo",
        "tiltyard.agents.control.vagram:VaGraM",
        ("driving", "robotics"),
        "SAC on short rollouts of learnt probabilistic dynamics models: MBPO, the baseline of vagram",
        settings={"*": {"model_loss": "mle"}},
        paper="vagram",
    ),
    Row(
        "wmar",
        "tiltyard.agents.control.vagram:VaGraM",
        ("driving", "robotics"),
        "MBPO whose replay buffer is half the newest transitions and half a uniform sample of all, for tasks in turn",
        settings={"*": {"model_loss": "mle", "long_term": True}},
    ),
    Row(
        "mbrcsl",
        "tiltyard.agents.control.mbrcsl:MBRCSL",
        ("driving", "robotics"),
        "Offline: RCSL on rollouts of a behaviour policy in learnt dynamics models that are better than the data",
    ),
    Row(
        "rcsl",
        "tiltyard.agents.control.rcsl:RCSL",
        ("driving", "robotics"),
        "Offline: imitates actions given the returns that followed them; asked for high ones it is mbrcsl's baseline",
        paper="mbrcsl",
    ),
    Row(
        "contrastive-ucb",
        "tiltyard.agents.control.contrastive_ucb:ContrastiveUCB",
        ("driving",),
        "Features of transitions from a contrastive loss, a bonus where they are rare, and value iteration with both",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "repo",
        "tiltyard.agents.control.repo:RePo",
        ("robotics",),
        "Latent imagination whose world model foresees rewards, and may take little from observations that it could "
        "not foresee",
    ),
    Row(
        "dreamer",
        "tiltyard.agents.control.repo:RePo",
        ("robotics",),
        "Latent imagination whose world model reconstructs observations: Dreamer, the baseline of repo",
        settings={"*": {"objective": "reconstruction"}},
        paper="repo",
    ),
)
