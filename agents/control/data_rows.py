"""Rows of agents that learn from data, alone or beside their own experience."""

from ..row import Row, Settings

# Four updates of the critics and one of the actor a step, as in SERL's simulated example (RLPD's own runs do 20). The
# critics are RLPD's; that the temperature begins at 0.01 and stays out of the targets is SERL's. Both codes want
# half of SAC's entropy, minus half the number of action dimensions: presets of our tasks give it (``target_entropy``);
# in other environments, and without a preset, it is SAC's.
_SERL: Settings = {
    "*": {
        "gradient_steps": 4,
        "policy_delay": 4,
        "critic_subset": 2,
        "backup_entropy": False,
        "actor_objective": "mean",
        "offline_ratio": 0.5,
        "ent_coef": "auto_0.01",
        "policy_kwargs": {"n_critics": 10, "critic_layer_norm": True},
    },
}

# Those of the authors' real car that sees numbers (fastrlap-ros, redq_config.py and training.py): eight updates a step
# on 64 samples of its own and eight on 64 prior ones, here eight on both; and a temperature that begins at 0.1, where
# rewards are metres a second. LapPractice pays a twentieth of that, and so the temperature begins at a twentieth.
_FASTRLAP: Settings = {
    "*": {
        "gradient_steps": 8,
        "policy_delay": 8,
        "batch_size": 128,
        "critic_subset": 2,
        "backup_entropy": False,
        "actor_objective": "mean",
        "offline_ratio": 0.5,
        "ent_coef": "auto_0.005",
        "target_entropy": -3.0,
        "policy_kwargs": {"n_critics": 10, "critic_layer_norm": True},
    },
}

# Mazes name goals in their observations when they are asked to.
_MAZES = ("PointMaze", "PointMazeMedium", "PointMazeLarge", "AntMaze", "AntMazeMedium", "AntMazeLarge")
_GOALS: Settings = {f"tiltyard/{name}-v0": {"goal_conditioned": True} for name in _MAZES}

FROM_DATA: tuple[Row, ...] = (
    Row(
        "serl",
        "tiltyard.agents.control.sac:SAC",
        ("driving", "robotics"),
        "RLPD: SAC with ten normalised critics, many updates a step, half of each batch from demonstrations",
        settings=_SERL,
    ),
    Row(
        "found-rl",
        "tiltyard.agents.control.found_rl:FoundRL",
        ("driving",),
        "SAC with the advice of a slow teacher, the expert, whose answers come some steps late",
        settings={"*": {"margin": 0.02, "guidance_temperature": 0.02}},  # a hundredth: an episode pays 1, not a step
    ),
    Row(
        "fastrlap",
        "tiltyard.agents.control.sac:SAC",
        ("driving",),
        "RLPD that practises laps without resets, half of each batch from slow prior laps",
        settings=_FASTRLAP,
    ),
    Row(
        "bc",
        "tiltyard.agents.control.bc:BC",
        ("driving", "robotics"),
        "Offline: behaviour cloning, which does what the data did",
    ),
    Row(
        "awr",
        "tiltyard.agents.control.awr:AWR",
        ("driving", "robotics"),
        "Offline or online: imitates actions by how much better they turned out than expected",
    ),
    Row(
        "awac",
        "tiltyard.agents.control.awac:AWAC",
        ("driving", "robotics"),
        "Offline-to-online: critics as in SAC, an actor that imitates the better of the actions seen",
    ),
    Row(
        "iql",
        "tiltyard.agents.control.iql:IQL",
        ("driving", "robotics"),
        "Offline-to-online: values of the best actions in the data, without asking for those of others",
    ),
    Row(
        "trajectory-weighting",
        "tiltyard.agents.control.iql:IQL",
        ("driving", "robotics"),
        "Offline: IQL that draws a dataset's good trajectories more often; a sampler that any offline agent takes",
        settings={"*": {"sampler": "advantage-weighting"}},
    ),
    Row(
        "hl-gauss",
        "tiltyard.agents.control.sac:SAC",
        ("driving", "robotics"),
        "SAC whose critics are classifiers: histograms of returns, learned by cross-entropy",
        settings={"*": {"policy_kwargs": {"critic_head": "hl-gauss"}}},  # the range of returns is the environment's
    ),
    Row(
        "f-dvl-recoil",
        "tiltyard.agents.control.f_dvl_recoil:FDVL",
        ("driving", "robotics"),
        "Offline-to-online: f-DVL, values of good actions in the data as the dual of staying close to it",
    ),
    Row(
        "recoil",
        "tiltyard.agents.control.recoil:ReCOIL",
        ("driving", "robotics"),
        "Offline: imitates an expert with the help of any other data, without rewards",
        paper="f-dvl-recoil",
    ),
    Row(
        "td3-bc",
        "tiltyard.agents.control.td3_bc:TD3BC",
        ("driving", "robotics"),
        "Offline: TD3 whose actor stays near the actions of the data",
    ),
    Row(
        "ss-orl",
        "tiltyard.agents.control.ss_orl:SSORL",
        ("driving", "robotics"),
        "Offline: TD3+BC on trajectories most of which came without actions, which an inverse model fills in",
    ),
    Row(
        "ota",
        "tiltyard.agents.control.ota:OTA",
        ("robotics",),
        "Offline, for goals: a policy over subgoals whose value is backed up over options, and one that acts",
        env_kwargs=_GOALS,
    ),
    Row(
        "hiql",
        "tiltyard.agents.control.ota:OTA",
        ("robotics",),
        "Offline, for goals: HIQL, a policy over subgoals and one that acts, with one value of steps",
        settings={"*": {"abstraction_factor": 1}},
        paper="ota",
        env_kwargs=_GOALS,
    ),
    Row(
        "cql",
        "tiltyard.agents.control.cql:CQL",
        ("driving", "robotics"),
        "Offline: SAC whose critics are pushed down where the data say nothing",
    ),
    Row(
        "cal-ql",
        "tiltyard.agents.control.cal_ql:CalQL",
        ("driving", "robotics"),
        "Offline-to-online: CQL whose values are never pushed below the returns of the data",
    ),
    Row(
        "h2o",
        "tiltyard.agents.control.h2o:H2O",
        ("driving", "robotics"),
        "Real data and an imperfect simulator at once, trusting the simulator where it seems right",
    ),
    Row(
        "arsq",
        "tiltyard.agents.control.arsq:ARSQ",
        ("driving", "robotics"),
        "Offline-to-online: soft Q-learning that chooses actions one dimension after the other, from coarse to fine",
    ),
    Row(
        "history-bisim",
        "tiltyard.agents.control.history_bisim:HistoryBisim",
        ("driving",),
        "Offline: conservative Q-learning on histories, whose latents a bisimulation loss makes alike by their futures",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "decision-transformer",
        "tiltyard.agents.control.lamo:DecisionTransformer",
        ("robotics",),
        "Offline: a transformer that imitates actions given the return to go",
        paper="lamo",
    ),
    Row(
        "lamo",
        "tiltyard.agents.control.lamo:DecisionTransformer",
        ("robotics",),
        "Offline: Decision Transformer on a pretrained language model that low-rank updates adapt",
        settings={"*": {"language_model": "english", "lora_rank": 8, "mlp_embedding": True, "language_weight": 0.1}},
    ),
)
