"""Rows of agents that learn in context."""

from ..row import Row

IN_CONTEXT: tuple[Row, ...] = (
    Row(
        "dpt",
        "tiltyard.agents.control.dpt:DPT",
        ("driving",),
        "A transformer taught the optimal action given transitions of a task; in new tasks it learns from these alone",
        settings={"driving": {"expert_ratio": 1.0}},  # mixed behaviour alone leaves the road
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"*": 16},
    ),
    Row(
        "algorithm-distillation",
        "tiltyard.agents.control.algorithm_distillation:AlgorithmDistillation",
        ("driving",),
        "A transformer taught what another algorithm, such as LinUCB, does after each beginning of a task's history",
        paper="icrl-theory",
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"*": 16},
    ),
)
