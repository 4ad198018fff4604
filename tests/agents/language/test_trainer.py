import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.logger import configure

from tiltyard.agents import make
from tiltyard.agents.language.collect import Collector
from tiltyard.agents.language.context import Context
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.language.update import reference_logp
from tiltyard.agents.models.policy import TextPolicy
from tiltyard.wrappers.components import Curriculum, Guidance
from tiltyard.wrappers.spaces import sb3_env

ENV = "tiltyard/Countdown-v0"
SMALL = {"policy": "transformer-100k", "group_size": 4, "prompts_per_batch": 4, "max_answer_tokens": 24, "seed": 0}


def env(n_envs: int = 16, **kwargs):
    return sb3_env(ENV, n_envs, strings=True, **kwargs)


def agent(n_envs: int = 16, **settings) -> PolicyGradient:
    return PolicyGradient(env=env(n_envs, seed=0), **{**SMALL, **settings})


def weights(trained: PolicyGradient) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in trained.policy.parameters()])


class Count(BaseCallback):
    def __init__(self, stop_after: int = 10**9):
        super().__init__()
        self.stop_after = stop_after

    def _on_step(self) -> bool:
        return self.n_calls < self.stop_after


def test_an_id_makes_one_environment_for_each_completion_of_an_iteration():
    by_id = PolicyGradient(env=ENV, **SMALL)
    assert by_id.n_envs == 16
    assert by_id.learn(16).num_timesteps == 16


def test_timesteps_are_completions_and_iterations_are_whole():
    trained = agent()
    count = Count()
    assert trained.learn(17, callback=count) is trained
    assert trained.num_timesteps == 32  # two iterations of 4 problems x 4 completions
    assert count.n_calls == 2
    trained.learn(16, reset_num_timesteps=False)
    assert trained.num_timesteps == 48


@pytest.mark.parametrize("n_envs", [1, 6, 40])
def test_any_number_of_environments_trains_on_the_same_problems(n_envs):
    trained = agent(n_envs)
    seen = []
    count = {"on_step": lambda infos: bool(seen.append(len(infos))) or True}
    collector = Collector(Context(trained.policy, trained.env, trained.rng, **count), 2)
    rollouts = collector.collect([5, 9, 12])
    assert rollouts.seed.tolist() == [5, 5, 9, 9, 12, 12]
    assert rollouts.group.tolist() == [0, 0, 1, 1, 2, 2]
    assert sum(seen) == 6
    single = gymnasium.make(ENV)
    for row in (0, 2, 4):
        question, _ = single.reset(seed=int(rollouts.seed[row]))
        prompt = trained.policy.tokenizer.prompt(question).tolist()
        assert (
            rollouts.tokens[row, : len(prompt)].tolist() == rollouts.tokens[row + 1, : len(prompt)].tolist() == prompt
        )


def test_rewards_and_masks_are_those_of_the_completions():
    trained = agent()
    rollouts = Collector(Context(trained.policy, trained.env, trained.rng), 3).collect([1, 2])
    single = gymnasium.make(ENV)
    for row in range(6):
        text = trained.policy.tokenizer.decode(rollouts.tokens[row][rollouts.mask[row]].tolist())
        single.reset(seed=int(rollouts.seed[row]))
        assert single.step(text)[1] == pytest.approx(rollouts.reward[row].item())
        assert rollouts.mask[row].sum() == rollouts.length[row]


def test_the_policy_has_not_moved_when_its_completions_are_evaluated():
    trained = agent()
    rollouts = Collector(Context(trained.policy, trained.env, trained.rng), 2).collect([1, 2, 3])
    out = trained.policy.evaluate(rollouts.tokens, rollouts.mask)
    assert torch.allclose(out.logp, rollouts.logp_old, atol=1e-4)
    assert torch.allclose(out.entropy, rollouts.entropy, atol=1e-4)


def test_learning_repeats_with_the_seed_and_leaves_global_randomness_alone():
    torch.manual_seed(3)
    np.random.seed(3)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()
    first, again, other = (agent(seed=seed, warm_start_steps=2).learn(16) for seed in (1, 1, 2))
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))
    assert torch.equal(before[0], torch.get_rng_state())
    assert (before[1] == np.random.get_state()[1]).all()


def test_a_callback_stops_training():
    trained = agent(n_envs=4)
    trained.learn(10_000, callback=Count(stop_after=3))
    assert trained.num_timesteps == 12


def test_sb3_evaluation_works_on_strings(tmp_path):
    trained = agent()
    mean, _ = evaluate_policy(trained, env(8, split="test"), n_eval_episodes=16)
    assert -0.1 <= mean <= 1
    callback = EvalCallback(env(8, split="test"), n_eval_episodes=8, eval_freq=1, log_path=str(tmp_path), verbose=0)
    trained.learn(32, callback=callback)
    found = np.load(tmp_path / "evaluations.npz")
    assert found["timesteps"].tolist() == [16, 32]
    assert found["successes"].shape == (2, 8)


def test_logs_hold_what_sb3_users_look_for(tmp_path):
    trained = agent(warm_start_steps=1)
    trained.set_logger(configure(str(tmp_path), ["csv"]))
    trained.learn(32, log_interval=1)
    header = (tmp_path / "progress.csv").read_text().splitlines()[0].split(",")
    assert {"rollout/ep_rew_mean", "rollout/success_rate", "time/fps", "train/learning_rate", "warm_start/loss"} <= set(
        header
    )


def test_predict_takes_a_string_or_many():
    trained = agent()
    question = "Make 57 from 8 4 25."
    alone, state = trained.predict(question, deterministic=True)
    assert isinstance(alone, str)
    assert state is None
    many, _ = trained.predict(np.array([question, question], dtype=object), deterministic=True)
    assert many.tolist() == [alone, alone] == trained.predict([question] * 2, deterministic=True)[0].tolist()
    for no_text in (np.zeros(3), None, 3, b"bytes", ["a", 3], np.array("alone", dtype=object)):
        with pytest.raises(TypeError, match="completes strings, got"):
            trained.predict(no_text)


def test_a_checkpoint_brings_back_the_agent(tmp_path):
    trained = agent(warm_start_steps=3, guidance="ghpo", rewards={"name": "laser", "target": 20}, kl_coef=0.1)
    trained.learn(16)
    trained.save(tmp_path / "agent")
    loaded = PolicyGradient.load(tmp_path / "agent")
    assert torch.equal(weights(loaded), weights(trained))
    assert loaded.predict("Make 1 from 2 3 4.", deterministic=True) == trained.predict(
        "Make 1 from 2 3 4.", deterministic=True
    )
    assert loaded.rewards[0].target == 20
    assert (loaded.num_timesteps, loaded.warm_started) == (64, True)  # no completion is correct: three rounds of hints
    for kept, now in zip(trained.networks.reference.parameters(), loaded.networks.reference.parameters(), strict=True):
        assert torch.equal(kept, now)
    loaded.set_env(env())
    assert loaded.warm_start() == []  # it has been done
    assert loaded.learn(16, reset_num_timesteps=False).num_timesteps == 128


def test_weights_trained_on_other_tokens_are_refused():
    ours, theirs = agent().policy, TextPolicy(None, None, lambda _: 1e-3, size="transformer-100k", pieces="ab")
    with pytest.raises(ValueError, match="other tokens"):
        ours.load_state_dict(theirs.state_dict())


def test_the_reference_is_the_policy_as_it_was_after_the_warm_start():
    trained = agent(kl_coef=0.1, warm_start_steps=2)
    trained.warm_start()
    collector = Collector(Context(trained.policy, trained.env, trained.rng), 2)
    rollouts = collector.collect([1, 2])
    assert torch.allclose(
        reference_logp(trained.policy, trained.networks.reference, rollouts), rollouts.logp_old, atol=1e-4
    )
    with torch.no_grad():
        trained.policy.network.norm.weight.mul_(2.0)
    assert torch.allclose(
        reference_logp(trained.policy, trained.networks.reference, rollouts), rollouts.logp_old, atol=1e-4
    )
    assert not hasattr(agent(kl_coef=0.0).networks, "reference")


def test_supervised_learning_counts_demonstrations_and_grades_nothing():
    trained = agent(method="sft", batch_size=10)
    start = weights(trained)
    trained.learn(25)
    assert trained.num_timesteps == 30
    assert not trained.ep_info_buffer
    assert not torch.equal(weights(trained), start)


def test_a_curriculum_that_keeps_nothing_leaves_the_policy_as_it_was():
    class Nothing(Curriculum):
        def keep(self, rollouts):
            return torch.zeros(len(rollouts.reward), dtype=torch.bool)

    trained = agent(curriculum=Nothing())
    start = weights(trained)
    trained.learn(1)
    assert torch.equal(weights(trained), start)
    assert trained.num_timesteps == 8 * 16  # all the rounds were paid for


def test_a_batch_filled_in_rounds_keeps_its_groups_apart():
    class Half(Curriculum):
        def keep(self, rollouts):
            return rollouts.group % 2 == rollouts.group.min() % 2

    trained = agent(curriculum=Half())
    trained._callback = trained._setup_learn(16)[1]
    rollouts = trained._sample(trained.context())
    seeds_of = {group: set(rollouts.seed[rollouts.group == group].tolist()) for group in set(rollouts.group.tolist())}
    assert len(seeds_of) == 4
    assert all(len(seeds) == 1 for seeds in seeds_of.values())


def test_hints_carry_no_loss_and_are_graded_as_part_of_the_completion():
    trained = agent(max_answer_tokens=4)
    seed = 7
    solution = trained.env.unwrapped.conversations([seed])[0].utterances[0]

    class Whole(Guidance):
        def prompts(self, problems, history):
            return [prompt._replace(completion_start=solution) for prompt in super().prompts(problems, history)]

    rollouts = Collector(Context(trained.policy, trained.env, trained.rng, guidance=Whole()), 2).collect([seed])
    assert rollouts.info["success"].all()  # whatever the network adds after </answer>
    assert (rollouts.mask.sum(1) <= 4).all()


def test_guidance_asks_again_only_where_all_failed():
    trained = agent(guidance={"name": "ghpo", "stages": [0.5]}, max_answer_tokens=8)
    trained.learn(1)
    assert trained.num_timesteps == 32  # no completion of 8 tokens is correct: each group is sampled twice


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"policy": "transformer-1mm"}, ValueError, "transformer-1m"),
        ({"method": "grppo"}, KeyError, "grpo"),
        ({"method": "sft", "clip_low": 0.1}, TypeError, "takes no clip_low"),
        ({"method_kwargs": {"scal": True}}, TypeError, "scale"),
        ({"curriculum": "vad"}, KeyError, "unknown curriculum"),
        ({"guidance": "ghp"}, KeyError, "ghpo"),
        ({"rewards": "lazer"}, KeyError, "laser"),
        ({"groupsize": 4}, TypeError, "group_size"),
        ({"group_size": 0}, ValueError, "at least 1"),
    ],
)
def test_bad_settings_are_refused_at_construction(settings, error, message):
    with pytest.raises(error, match=message):
        agent(**settings)


def test_another_method_goes_on_from_a_checkpoint_with_its_own_parameters(tmp_path):
    small = {**SMALL, "kl_coef": 0.2, "method_kwargs": {"scale": False}}
    trained = PolicyGradient(env=ENV, **small).learn(16)
    trained.save(tmp_path / "grpo")
    for method, params in (("rloo", {}), ("gspo", {"clip_low": 0.0003, "clip_high": 0.0004})):
        agent = PolicyGradient.load(tmp_path / "grpo", ENV, method=method)
        assert (agent.method, agent.objective.params) == (method, params)
        for name, value in trained.policy.state_dict().items():
            assert torch.equal(agent.policy.state_dict()[name], value)
        assert agent.learn(16).num_timesteps == 16
    kept = PolicyGradient.load(tmp_path / "grpo", ENV, method="grpo")
    assert kept.objective.params == trained.objective.params == {"kl_coef": 0.2, "scale": False}


def test_an_environment_that_does_not_speak_is_refused():
    with pytest.raises(TypeError, match="needs Text observations"):
        PolicyGradient(env=gymnasium.make("CartPole-v1"), **SMALL)
    phone = sb3_env("tiltyard/Phone-v1", 16, observation="tree", strings=True)
    with pytest.raises(TypeError, match="needs Text observations .one string in place of a Dict., got Dict") as caught:
        PolicyGradient(env=phone, **SMALL)
    assert "\n" not in str(caught.value)


def test_a_single_environment_and_a_gymnasium_vector_will_do():
    for given in (gymnasium.make(ENV), gymnasium.make_vec(ENV, 4, "vector_entry_point")):
        assert PolicyGradient(env=given, **SMALL).learn(16).num_timesteps == 16


def test_grpo_learns_what_is_rewarded():
    """Direction only: a reward for completions that begin with '7' makes them common within seconds."""

    class Sevens(gymnasium.Wrapper):
        def step(self, action):
            observation, _, terminated, truncated, info = self.env.step(action)
            return observation, float(action.startswith("7")), terminated, truncated, info

    vector = gymnasium.vector.SyncVectorEnv(
        [lambda: Sevens(gymnasium.make(ENV))] * 16, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP
    )
    trained = PolicyGradient(env=vector, **{**SMALL, "max_answer_tokens": 2, "learning_rate": 3e-3, "group_size": 16})
    questions = ["Make 57 from 8 4 25."] * 200

    def sevens() -> float:
        return float(np.mean([completion.startswith("7") for completion in trained.predict(questions)[0]]))

    before = sevens()
    trained.learn(64 * 15)
    assert sevens() > before + 0.5


def test_rows_of_the_catalogue_build_and_learn():
    for name in ("grpo", "sft"):
        small = {**SMALL, "warm_start_steps": 1, "warm_start_batch_size": 4, "batch_size": 4}
        assert make(name, ENV, n_envs=8, **small).learn(4).num_timesteps >= 4
