"""Parameters that change with progress, by hand and in training."""

import pytest

from tiltyard.agents import make
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.objectives.registry import load
from tiltyard.agents.schedules import at
from tiltyard.benchmarks.runs import Run

SMALL = {"policy": "transformer-100k", "group_size": 2, "prompts_per_batch": 2, "max_answer_tokens": 4, "seed": 0}
FALLING = {"schedule": "linear", "start": 1.0, "end": 0.0}


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        (FALLING, [1.0, 0.75, 0.5, 0.0]),
        ({**FALLING, "schedule": "cosine"}, [1.0, 0.5 + 0.5 * 0.5**0.5, 0.5, 0.0]),
        ({**FALLING, "schedule": "step", "finish": 0.5}, [1.0, 1.0, 0.0, 0.0]),
        ({**FALLING, "begin": 0.25, "finish": 0.75}, [1.0, 1.0, 0.5, 0.0]),
        (lambda progress: 3 * progress, [0.0, 0.75, 1.5, 3.0]),
        (7, [7, 7, 7, 7]),
    ],
)
def test_values_by_hand(schedule, values):
    assert [at(schedule, progress) for progress in (0.0, 0.25, 0.5, 1.0)] == pytest.approx(values)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"schedule": "lineer", "start": 1, "end": 0}, "did you mean 'linear'"),
        ({"schedule": "linear", "start": 1}, "has numbers start, end"),
        ({**FALLING, "begin": 0.8, "finish": 0.2}, "begin <= finish"),
    ],
)
def test_what_is_no_schedule_is_refused_at_construction(bad, message):
    with pytest.raises(ValueError, match=message):
        load("grpo", kl_coef=bad)


def test_an_objective_is_at_its_progress_and_keeps_what_it_needs():
    objective = load("grpo", kl_coef=FALLING)
    assert objective.params["kl_coef"] == 1.0
    ended = objective.at(1.0)
    assert ended.params["kl_coef"] == 0.0
    assert "logp_ref" in objective.needs & ended.needs
    assert load("grpo").at(0.5).params == load("grpo").params


def test_the_length_reward_of_kimi_k1_5_is_switched_on_later():
    objective = load("kimi-k1-5")
    assert [objective.at(progress).params["length_weight"] for progress in (0.0, 0.49, 0.5, 1.0)] == [0, 0, 0.5, 0.5]


def test_training_evaluates_schedules_at_each_iteration_and_checkpoints_keep_them(tmp_path):
    seen = []
    settings = {"method_kwargs": {"kl_coef": FALLING}, **SMALL}
    agent = PolicyGradient(env="tiltyard/ChainSum-v0", **settings)
    train = agent.train
    agent.train = lambda rollouts, objective: (seen.append(objective.params["kl_coef"]), train(rollouts, objective))
    agent.learn(16)
    assert seen == [1.0, 0.75, 0.5, 0.25]
    agent.save(tmp_path / "agent")
    again = PolicyGradient.load(tmp_path / "agent")
    assert again.objective.given["kl_coef"] == FALLING


def test_a_control_agent_takes_a_schedule_by_name_and_checkpoints_keep_it(tmp_path):
    falling = {"schedule": "linear", "start": 1e-3, "end": 0.0}
    agent = make("fast-ppo", "tiltyard/InvertedPendulum-v5", n_envs=4, n_steps=8, batch_size=16, learning_rate=falling)
    agent.learn(64)
    assert agent.lr_schedule(0.25) == pytest.approx(2.5e-4)
    assert agent.policy.optimizer.param_groups[0]["lr"] == 0.0  # of the last rollout, after which nothing remains
    agent.save(tmp_path / "agent")
    assert type(agent).load(tmp_path / "agent").lr_schedule(0.5) == pytest.approx(5e-4)


@pytest.mark.parametrize(
    "bad", [{"schedule": "linaer", "start": 1.0, "end": 0.0}, {"schedule": "linear", "start": 1.0}]
)
def test_a_control_agents_schedule_is_refused_before_a_run_starts(bad):
    with pytest.raises(ValueError, match="schedule"):
        make("fast-ppo", "tiltyard/InvertedPendulum-v5", learning_rate=bad)
    with pytest.raises(ValueError, match="schedule"):
        Run("tiltyard/InvertedPendulum-v5", "fast-ppo", 0, 100, {"learning_rate": bad}).check()
