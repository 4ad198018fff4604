"""Control agents, a row a name, with what makes its method out of the class; see :mod:`tiltyard.agents.catalogue`.

Values are the papers', where they are not the class's own already. What was tuned for environments stands in presets
(:mod:`tiltyard.agents.presets`).
"""

from ..row import Row, Settings
from .in_context_rows import IN_CONTEXT
from .model_based_rows import MODEL_BASED
from .phone_rows import PHONES

# Four updates of the critics and one of the actor a step, as in SERL's simulated example (RLPD's own runs do 20). The
# critics are RLPD's; that the temperature begins at 0.01 and stays out of the targets is SERL's.
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

ROWS: tuple[Row, ...] = (
    Row(
        "ppo",
        "tiltyard.agents.control.stock:PPO",
        ("gui", "driving", "robotics"),
        "Stable-Baselines3's PPO",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "fast-ppo",
        "tiltyard.agents.control.on_policy.fast_ppo:FastPPO",
        ("gui", "driving", "robotics"),
        "PPO over native vectors of many environments, observations and rewards normalised",
        paper="ppo",
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"*": 128, "gui": 16},
    ),
    Row(
        "recurrent-ppo",
        "tiltyard.agents.control.on_policy.recurrent_ppo:RecurrentPPO",
        ("gui", "driving", "robotics"),
        "PPO as fast-ppo, with an LSTM that remembers the episode",
        paper="ppo",
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"*": 64, "gui": 16},
    ),
    Row(
        "s5-rl",
        "tiltyard.agents.control.on_policy.s5_rl:S5PPO",
        ("gui", "driving", "robotics"),
        "PPO as recurrent-ppo, with S5 state-space layers in place of the LSTM",
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"*": 64, "gui": 16},
    ),
    Row(
        "sb3-ppo",
        "tiltyard.agents.control.stock:PPO",
        ("gui", "driving", "robotics"),
        "Stable-Baselines3's PPO, as ppo, under the name of the baseline of ours",
        paper="ppo",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "hnpg",
        "tiltyard.agents.control.hnpg:HNPG",
        ("driving", "robotics"),
        "PPO with a dataset beside: its critic learns from returns and from TD targets, its actor at both's states",
    ),
    Row(
        "pi-rl",
        "tiltyard.agents.control.on_policy.pi_rl:PiRL",
        ("driving", "robotics"),
        "PPO that fine-tunes a cloned flow-matching policy by the log-probabilities of its denoising steps",
        n_envs={"*": 32},
    ),
    Row(
        "simplevla-rl",
        "tiltyard.agents.control.on_policy.simplevla_rl:SimpleVLARL",
        ("driving", "robotics"),
        "GRPO on the success of whole episodes, over the action tokens of a policy cloned from few demonstrations",
        n_envs={"*": 64},
    ),
    Row(
        "gbrl",
        "tiltyard.agents.control.on_policy.gbrl:GBRL",
        ("driving", "robotics"),
        "PPO whose actor and critic are an ensemble of regression trees, which grows by one a minibatch",
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"*": 32},
    ),
    Row(
        "stax",
        "tiltyard.agents.control.stax:STAX",
        ("driving", "robotics"),
        "Novelty search in a behaviour space that an autoencoder learns, in turn with small evolution strategies on "
        "the rewards found",
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"*": 4},
    ),
    Row(
        "protected",
        "tiltyard.agents.control.protected:PROTECTED",
        ("robotics",),
        "PPO that discovers a few policies, each the best against some attack on observations, and a bandit over them",
        n_envs={"*": 16},
    ),
    Row(
        "n-pg-igt-harpg",
        "tiltyard.agents.control.n_pg_igt_harpg:MomentumPG",
        ("driving", "robotics"),
        "REINFORCE with a corrected momentum and steps of fixed length, without a value function",
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"*": 8},
    ),
    Row(
        "barfi",
        "tiltyard.agents.control.barfi:BARFI",
        ("driving", "robotics"),
        "REINFORCE on a reward that is learnt too: how much of an auxiliary reward serves the primary one",
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"*": 16},
    ),
    Row(
        "explors",
        "tiltyard.agents.control.explors:ExploRS",
        ("driving",),
        "PPO with an intrinsic reward that learns what serves the extrinsic one, and a bonus for rare states",
        paper="rewarddesign-thesis",
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"*": 16},
    ),
    Row(
        "ramario-reptile",
        "tiltyard.agents.control.on_policy.ramario_reptile:RAMarioReptile",
        ("driving", "robotics"),
        "Reptile over levels, each learnt by PPO: parameters from which few updates suit a new level",
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"*": 16},
    ),
    Row(
        "sac",
        "tiltyard.agents.control.sac:SAC",
        ("driving", "robotics"),
        "Soft actor-critic with fast updates",
    ),
    Row(
        "td3",
        "tiltyard.agents.control.td3:TD3",
        ("driving", "robotics"),
        "Twin delayed deterministic policy gradient with fast updates",
    ),
    Row(
        "fast-td3",
        "tiltyard.agents.control.parallel.fast_td3:FastTD3",
        ("driving", "robotics"),
        "TD3 over native vectors of many environments, with distributional critics and mixed exploration noise",
        n_envs={"*": 64},
    ),
    Row(
        "fast-sac",
        "tiltyard.agents.control.parallel.fast_sac:FastSAC",
        ("driving", "robotics"),
        "SAC over native vectors of many environments, with distributional critics",
        n_envs={"*": 64},
    ),
    Row(
        "mex",
        "tiltyard.agents.control.mex:MEX",
        ("driving", "robotics"),
        "TD3 with optimistic critics: of values that agree with experience those that promise most",
    ),
    Row(
        "sb3-sac",
        "tiltyard.agents.control.stock:SB3SAC",
        ("driving", "robotics"),
        "Stable-Baselines3's SAC, the baseline of ours",
        paper="sac",
    ),
    Row(
        "sb3-td3",
        "tiltyard.agents.control.stock:SB3TD3",
        ("driving", "robotics"),
        "Stable-Baselines3's TD3, the baseline of ours",
        settings={"*": {"action_noise": 0.1}},  # the paper's: by itself it explores not at all
        paper="td3",
    ),
    Row(
        "tqc",
        "tiltyard.agents.control.stock:TQC",
        ("driving", "robotics"),
        "sb3-contrib's truncated quantile critics, a baseline",
    ),
    Row(
        "crossq",
        "tiltyard.agents.control.stock:CrossQ",
        ("driving", "robotics"),
        "sb3-contrib's CrossQ: SAC without target networks, with batch-normalised critics, a baseline",
    ),
    Row(
        "dqn",
        "tiltyard.agents.control.stock:DQN",
        ("gui", "driving"),
        "Stable-Baselines3's DQN",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "spr",
        "tiltyard.agents.control.spr:SPR",
        ("driving",),
        "Double Q-learning from pixels (or vectors) whose encoder learns to predict its own latents some steps ahead",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "tscac",
        "tiltyard.agents.control.tscac:TSCAC",
        ("driving",),
        "Actor-critic in two stages: a policy for each auxiliary reward, then one for the main reward that stays near",
        settings={"driving": {"auxiliary": ["ttc", "comfort"]}},
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "dsac-t",
        "tiltyard.agents.control.dsac_t:DSACT",
        ("driving", "robotics"),
        "SAC with Gaussian return critics and three refinements",
    ),
    Row(
        "stream-x",
        "tiltyard.agents.control.stream_x:StreamAC",
        ("driving", "robotics"),
        "Actor and critic that learn from each step once, without replay or batches, in constant memory",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
    Row(
        "stream-q",
        "tiltyard.agents.control.stream_x:StreamQ",
        ("driving",),
        "Q-learning from each step once, without replay or batches, in constant memory",
        paper="stream-x",
        env_kwargs={"driving": {"action": "discrete"}},
    ),
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
    *IN_CONTEXT,
    *MODEL_BASED,
    *PHONES,
)
