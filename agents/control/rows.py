"""Control agents, a row a name; see :mod:`tiltyard.agents.catalogue`."""

from typing import Any

from ..row import Row, Settings

# Four lanes, one update a step taken; a few thousand steps show progress, a million are no worse for it.
_OFF_POLICY: Settings = {
    "*": {"gradient_steps": -1},
    "driving": {"learning_starts": 1000, "buffer_size": 300_000},
    "robotics": {"learning_starts": 1000, "buffer_size": 300_000},
    # Small networks, so that a race of minutes leaves time for enough updates.
    "tiltyard/Hopper-v5": {"learning_rate": 1e-3, "gradient_steps": 2, "policy_kwargs": {"net_arch": [128, 128]}},
}
# Twelve drawn actions a state instead of thirty: an update costs a third, and the gap is a mean over the batch anyway.
_CONSERVATIVE: Settings = {**_OFF_POLICY, "*": {"gradient_steps": -1, "n_actions": 4}}
_OFF_POLICY_LANES = {"driving": 4, "robotics": 4}

# The paper's settings for locomotion, and its others where success is rare and worth 1.
_ARM = {  # and half of its actions' dimensions
    "PegInsertion-v0": 2.0,
    "BoardInsertion-v0": 2.0,
    "CableRouting-v0": 2.0,
    "ObjectRelocation-v0": 2.5,
    "DrawerDoor-v0": 2.5,
}
_BALL = ("PointMaze-v0", "PointMazeMedium-v0", "PointMazeLarge-v0")
_ANT = ("AntMaze-v0", "AntMazeMedium-v0", "AntMazeLarge-v0")
_SPARSE = (*_ARM, *_BALL, *_ANT)
_IQL: Settings = {
    **_OFF_POLICY,
    **{f"tiltyard/{name}-v5": {"reward_scale": "auto"} for name in ("HalfCheetah", "Walker2d", "Ant")},
    "tiltyard/Hopper-v5": {**_OFF_POLICY["tiltyard/Hopper-v5"], "reward_scale": "auto"},
    **{f"tiltyard/{name}": {"expectile": 0.9, "beta": 10.0} for name in _SPARSE},
}

# Rewards as f-DVL wants them, about 1 a step; success alone is worth 1 as it is.
_F_DVL: Settings = {
    **_OFF_POLICY,
    **{f"tiltyard/{name}-v5": {"reward_scale": "auto"} for name in ("HalfCheetah", "Walker2d", "Ant")},
    "tiltyard/Hopper-v5": {**_OFF_POLICY["tiltyard/Hopper-v5"], "reward_scale": "auto"},
    **{f"tiltyard/{name}": {"divergence": "total-variation", "temperature": 0.8, "beta": 10.0} for name in _SPARSE},
}


def _hl_gauss(low: float, high: float, **policy_kwargs: Any) -> dict[str, Any]:
    """Critics whose histograms reach from ``low`` to ``high``."""
    head = {"critic_head": "hl-gauss", "critic_head_kwargs": {"v_min": low, "v_max": high}}
    return {"policy_kwargs": policy_kwargs | head}


# What 100 steps at each environment's best and worst pace return (gamma is 0.99), entropy's share included; where only
# success pays, entropy's share is the larger, and begins smaller.
_HL_GAUSS: Settings = {
    "*": {"gradient_steps": -1},
    "driving": {**_OFF_POLICY["driving"], "ent_coef": "auto_0.1", **_hl_gauss(-20.0, 20.0)},
    "robotics": {**_OFF_POLICY["robotics"], "ent_coef": "auto_0.1", **_hl_gauss(-20.0, 20.0)},
    "tiltyard/HalfCheetah-v5": {"ent_coef": "auto", **_hl_gauss(-300.0, 1500.0)},
    "tiltyard/Hopper-v5": {
        **_OFF_POLICY["tiltyard/Hopper-v5"],
        "ent_coef": "auto",
        **_hl_gauss(-100.0, 600.0, net_arch=[128, 128]),
    },
    "tiltyard/Walker2d-v5": {"ent_coef": "auto", **_hl_gauss(-100.0, 800.0)},
    "tiltyard/Ant-v5": {"ent_coef": "auto", **_hl_gauss(-300.0, 1000.0)},
}

_SMALL: dict[str, Any] = {"learning_rate": 1e-3, "batch_size": 128, "policy_kwargs": {"net_arch": [64, 64]}}

# One lane, four updates of the critics and one of the actor a step, as in SERL's simulated example (RLPD's own runs do
# 20). The critics are RLPD's; that the temperature begins at 0.01 and stays out of the targets is SERL's; both want an
# entropy of minus half the action's dimensions.
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
    "driving": {**_OFF_POLICY["driving"], "target_entropy": -1.0},
    "robotics": _OFF_POLICY["robotics"],
    "tiltyard/Hopper-v5": {"target_entropy": -1.5, "learning_rate": 1e-3, "policy_kwargs": {"net_arch": [128, 128]}},
    **{f"tiltyard/{name}-v5": {"target_entropy": -3.0} for name in ("HalfCheetah", "Walker2d")},
    "tiltyard/Ant-v5": {"target_entropy": -4.0},
    # Small networks and batches, large steps. With 20 demonstrations all of 32 test problems were solved after 3,000
    # steps of peg insertion and 8,000 of the U maze (one seed each, on four lanes); of 50, on a tuning seed each, 94%
    # after 5,000 of board insertion, 88% after 830 of cable routing, all after 4,000 of relocation, 98% after 4,700 of
    # drawer and door (of cable, drawer and door as they were, less varied).
    **{f"tiltyard/{name}": {"target_entropy": -half, "learning_starts": 400, **_SMALL} for name, half in _ARM.items()},
    **{f"tiltyard/{name}": {"target_entropy": -1.0, **_SMALL} for name in _BALL},
    **{f"tiltyard/{name}": {"target_entropy": -4.0} for name in _ANT},
}

# Smaller networks and batches than the paper's, whose bins are kept: 2 levels of 7, or 1 of 41.
_ARSQ: Settings = {
    **_OFF_POLICY,
    "*": {"gradient_steps": -1, "batch_size": 256, "policy_kwargs": {"net_arch": [256, 256]}},
    "tiltyard/HalfCheetah-v5": {"levels": 1, "bins": 41},
    "tiltyard/Walker2d-v5": {"levels": 1, "bins": 41},
}

ROWS: tuple[Row, ...] = (
    Row(
        "ppo",
        "tiltyard.agents.control.stock:PPO",
        ("gui", "driving", "robotics"),
        "Stable-Baselines3's PPO",
        settings={
            "driving": {
                "n_steps": 128,
                "batch_size": 512,
                "n_epochs": 8,
                "learning_rate": 1e-3,
                "gamma": 0.98,
                "ent_coef": 0.01,
                "device": "cpu",
            },
            "gui": {
                "n_steps": 32,
                "batch_size": 256,
                "n_epochs": 6,
                "learning_rate": 1e-3,
                "gamma": 0.9,
                "ent_coef": 0.02,
                "device": "cpu",
            },
            "robotics": {"n_steps": 256, "batch_size": 64, "policy_kwargs": {"log_std_init": -1.0}, "device": "cpu"},
        },
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"gui": 16, "driving": 16, "robotics": 8},
    ),
    Row(
        "sac",
        "tiltyard.agents.control.sac:SAC",
        ("driving", "robotics"),
        "Soft actor-critic with fast updates",
        settings=_OFF_POLICY,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "td3",
        "tiltyard.agents.control.td3:TD3",
        ("driving", "robotics"),
        "Twin delayed deterministic policy gradient with fast updates",
        settings=_OFF_POLICY,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "sb3-sac",
        "tiltyard.agents.control.stock:SB3SAC",
        ("driving", "robotics"),
        "Stable-Baselines3's SAC, to race against",
        settings=_OFF_POLICY,
        n_envs=_OFF_POLICY_LANES,
        paper="sac",
    ),
    Row(
        "sb3-td3",
        "tiltyard.agents.control.stock:SB3TD3",
        ("driving", "robotics"),
        "Stable-Baselines3's TD3, to race against",
        settings={**_OFF_POLICY, "*": {"gradient_steps": -1, "action_noise": 0.1}},  # by itself it explores not at all
        n_envs=_OFF_POLICY_LANES,
        paper="td3",
    ),
    Row(
        "tqc",
        "tiltyard.agents.control.stock:TQC",
        ("driving", "robotics"),
        "sb3-contrib's truncated quantile critics, to race against",
        settings=_OFF_POLICY,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "dqn",
        "tiltyard.agents.control.stock:DQN",
        ("gui", "driving"),
        "Stable-Baselines3's DQN",
        settings={
            "gui": {
                "learning_starts": 2000,
                "buffer_size": 100_000,
                "batch_size": 128,
                "learning_rate": 1e-3,
                "gamma": 0.9,
                "n_steps": 3,  # success is rare and comes last: one-step targets carry it back too slowly
                "train_freq": 1,
                "gradient_steps": 2,
                "target_update_interval": 1000,
                "exploration_fraction": 0.5,
                "exploration_final_eps": 0.1,
                "policy_kwargs": {"net_arch": [128, 128]},
                "device": "cpu",
            },
            "driving": {
                "learning_starts": 2000,
                "buffer_size": 100_000,
                "batch_size": 128,
                "learning_rate": 1e-3,
                "gamma": 0.98,
                "train_freq": 1,
                "gradient_steps": 4,
                "target_update_interval": 100,
                "exploration_fraction": 0.15,
                "device": "cpu",
            },
        },
        env_kwargs={"driving": {"action": "discrete"}},
        n_envs={"gui": 16, "driving": 16},
    ),
    Row(
        "dsac-t",
        "tiltyard.agents.control.dsac_t:DSACT",
        ("driving", "robotics"),
        "SAC with Gaussian return critics and three refinements",
        settings={**_OFF_POLICY, "*": {"gradient_steps": -1, "learning_rate": 3e-4}},
        n_envs=_OFF_POLICY_LANES,
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
        "bc",
        "tiltyard.agents.control.bc:BC",
        ("driving", "robotics"),
        "Offline: behaviour cloning, which does what the data did",
        settings=_OFF_POLICY,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "awr",
        "tiltyard.agents.control.awr:AWR",
        ("driving", "robotics"),
        "Offline or online: imitates actions by how much better they turned out than expected",
        settings={"*": {"train_freq": 512}},  # of four lanes: the paper's 2048 steps
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "awac",
        "tiltyard.agents.control.awac:AWAC",
        ("driving", "robotics"),
        "Offline-to-online: critics as in SAC, an actor that imitates the better of the actions seen",
        settings=_OFF_POLICY,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "iql",
        "tiltyard.agents.control.iql:IQL",
        ("driving", "robotics"),
        "Offline-to-online: values of the best actions in the data, without asking for those of others",
        settings=_IQL,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "trajectory-weighting",
        "tiltyard.agents.control.iql:IQL",
        ("driving", "robotics"),
        "Offline: IQL that draws a dataset's good trajectories more often; a sampler that any offline agent takes",
        settings={**_IQL, "*": {**_IQL["*"], "sampler": "advantage-weighting"}},
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "hl-gauss",
        "tiltyard.agents.control.sac:SAC",
        ("driving", "robotics"),
        "SAC whose critics are classifiers: histograms of returns, learned by cross-entropy",
        settings=_HL_GAUSS,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "f-dvl-recoil",
        "tiltyard.agents.control.f_dvl_recoil:FDVL",
        ("driving", "robotics"),
        "Offline-to-online: f-DVL, values of good actions in the data as the dual of staying close to it",
        settings=_F_DVL,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "recoil",
        "tiltyard.agents.control.recoil:ReCOIL",
        ("driving", "robotics"),
        "Offline: imitates an expert with the help of any other data, without rewards",
        paper="f-dvl-recoil",
        settings=_OFF_POLICY,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "td3-bc",
        "tiltyard.agents.control.td3_bc:TD3BC",
        ("driving", "robotics"),
        "Offline: TD3 whose actor stays near the actions of the data",
        settings=_OFF_POLICY,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "cql",
        "tiltyard.agents.control.cql:CQL",
        ("driving", "robotics"),
        "Offline: SAC whose critics are pushed down where the data say nothing",
        settings=_CONSERVATIVE,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "cal-ql",
        "tiltyard.agents.control.cal_ql:CalQL",
        ("driving", "robotics"),
        "Offline-to-online: CQL whose values are never pushed below the returns of the data",
        settings=_CONSERVATIVE,
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "h2o",
        "tiltyard.agents.control.h2o:H2O",
        ("driving", "robotics"),
        "Real data and an imperfect simulator at once, trusting the simulator where it seems right",
        settings={**_OFF_POLICY, "*": {"gradient_steps": -1, "next_state_scale": 0.03}},
        n_envs=_OFF_POLICY_LANES,
    ),
    Row(
        "arsq",
        "tiltyard.agents.control.arsq:ARSQ",
        ("driving", "robotics"),
        "Offline-to-online: soft Q-learning that chooses actions one dimension after the other, from coarse to fine",
        settings=_ARSQ,
        n_envs=_OFF_POLICY_LANES,
    ),
)
