"""What cannot be learnt from is refused in one sentence, with weights, optimisers and everything else as they were."""

import copy

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import TransformReward

from tiltyard.agents.language.archer import ArCHer
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.wrappers.components import Curriculum, Guidance, Prompt, Reward
from tiltyard.wrappers.spaces import sb3_env

ENV, GAME = "tiltyard/Countdown-v0", "tiltyard/GuessMyCity-v0"
SMALL = {"policy": "transformer-100k", "max_answer_tokens": 6, "seed": 0, "device": "cpu"}
GROUPS = {"group_size": 4, "prompts_per_batch": 2}


class Digest(Reward):
    """Something to learn for an untrained policy, so that an update would be seen."""

    def shape(self, rollouts, context):
        return rollouts.tokens.sum(1) % 7 / 7


def agent(env=ENV, **settings) -> PolicyGradient:
    return PolicyGradient(env=env, **{**SMALL, **GROUPS, "rewards": Digest(), **settings})


def state(trained) -> dict[str, torch.Tensor]:
    """Weights and optimisers, of critics and all."""
    found = {}

    def walk(value, path):
        if isinstance(value, torch.Tensor):
            found[path] = value.clone()
        elif isinstance(value, dict):
            for key, part in value.items():
                walk(part, f"{path}/{key}")

    walk(trained.get_parameters(), "")
    return found


def assert_refused(trained, message: str, error=ValueError, act=None) -> None:
    """The error is one sentence that says ``message``, and nothing has changed."""
    before = state(trained)
    with pytest.raises(error, match=message) as caught:
        act() if act else trained.learn(16)
    assert "\n" not in str(caught.value)
    after = state(trained)
    assert before.keys() == after.keys()
    assert [name for name in before if not torch.equal(before[name], after[name])] == []


def rewarded(change, n: int = 8):
    return TransformReward(gymnasium.make_vec(ENV, n, "vector_entry_point"), change)


class OnStep:
    """A reward that goes wrong in the n-th step (from 1), and not before."""

    def __init__(self, n: int):
        self.n = n

    def __call__(self, reward):
        self.n -= 1
        return np.where(np.arange(len(reward)) == 1, np.nan, reward) if self.n == 0 else reward


@pytest.mark.parametrize("method", ["grpo", "ppo", "spo", "reinforce-plus-plus"])
def test_a_reward_that_is_no_number(method):
    assert_refused(agent(rewarded(OnStep(1)), method=method, rewards=None), "reward in environment 1 is nan")


@pytest.mark.parametrize("method", ["remax", "rl-plus"])
def test_a_reward_that_is_no_number_of_a_completion_that_is_not_sampled(method):
    """The second step grades the greedy completions, or the expert's."""
    assert_refused(agent(rewarded(OnStep(2)), method=method), "reward in environment 1 is nan")


def test_archer_refuses_what_the_others_do():
    small = {"episodes_per_iteration": 8, "gradient_steps": 2, "batch_size": 8, "critic_warm_up": 0}
    assert_refused(ArCHer(env=rewarded(OnStep(1)), **SMALL, **small), "reward in environment 1 is nan")
    assert_refused(ArCHer(env=GAME, context_length=60, **SMALL, **small), "do not fit the context of 60")


@pytest.mark.parametrize(
    ("change", "shape"),
    [
        (lambda r: np.stack([r, r], 1), "8, 2"),
        (lambda r: 1.0, ""),
        (lambda r: r[:-1], "7,"),
        (lambda r: r[None], "1, 8"),
    ],
    ids=["columns", "scalar", "short", "row"],
)
def test_a_wrapper_of_a_vector_that_returns_rewards_of_another_shape(change, shape):
    assert_refused(agent(rewarded(change)), rf"one number for each of the 8 environments, got the shape \({shape}\)")


class Rewards(gymnasium.RewardWrapper):
    def __init__(self, env, given):
        super().__init__(env)
        self.given = given

    def reward(self, reward):
        return self.given


@pytest.mark.parametrize("given", [np.zeros(2), [0.0], "much"], ids=str)
def test_a_reward_wrapper_that_returns_something_else_than_a_number(given):
    def one():
        return Rewards(gymnasium.make(ENV), given)

    for env in (one(), SyncVectorEnv([one] * 8, autoreset_mode=AutoresetMode.SAME_STEP)):
        assert_refused(agent(env), "an environment's reward is not one number")


def test_an_error_of_the_environments_own_stays_its_own():
    class Broken(gymnasium.Wrapper):
        def step(self, action):
            raise ValueError("my own words")

    assert_refused(agent(Broken(gymnasium.make(ENV))), "^my own words$")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda r: r.reward[:, None], "completions, or for each of their tokens, got the shape"),
        (lambda r: r.reward * np.nan, "Bad.shape: the reward of completion 0 is nan"),
        (lambda r: r.reward[:3], r"Bad.shape: rewards .* each of the 8 completions.*, got the shape \(3,\)"),
        (lambda r: [1.0], r"Bad.shape: .*got the shape \(1,\)"),
        (lambda r: 1.0, r"Bad.shape: .*got the shape \(\)"),
        (lambda r: None, "Bad.shape: .*got NoneType: None"),
        (lambda r: ["much"] * 8, "Bad.shape: .*got list: "),
        (lambda r: r.reward + 1j, "Bad.shape: .*got torch.complex"),
    ],
)
def test_shaped_rewards_that_are_not_one_number_a_completion(bad, message):
    class Bad(Reward):
        def shape(self, rollouts, context):
            return bad(rollouts)

    assert_refused(agent(rewards=Bad(), method="ppo"), message)


@pytest.mark.parametrize("given", [lambda r: r.reward.tolist(), lambda r: r.reward.numpy(), lambda r: r.reward == 0])
def test_what_is_as_good_as_a_tensor_of_rewards_is_taken(given):
    class Good(Reward):
        def shape(self, rollouts, context):
            return given(rollouts)

    trained = agent(rewards=[Digest(), Good()])
    assert trained.learn(8).num_timesteps == 8


class Misspelt(Reward):
    def shpae(self, rollouts, context):
        return rollouts.reward + 1


class Called(Reward):
    def __call__(self, rollouts, context):
        return rollouts.reward + 1


class Empty(Curriculum):
    """Nothing."""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"rewards": Misspelt()},
            "Misspelt overrides no method of Reward .*unknown method 'shpae'; did you mean 'shape'",
        ),
        ({"rewards": [Digest(), Called()]}, "Called overrides no method of Reward .*unknown method '__call__'"),
        ({"curriculum": Empty()}, "Empty overrides no method of Curriculum and so does nothing: override sample"),
        ({"rewards": Digest}, r"a reward is a name, .*: give an object, Digest\(\)"),
        (
            {"rewards": lambda episodes, context: episodes.reward},
            "make it the method shape of a subclass of tiltyard.wr",
        ),
        ({"rewards": [len]}, "make it the method shape of a subclass of tiltyard.wrappers.components.Reward"),
        ({"rewards": 3}, "a reward is a name, .*; got 3$"),
    ],
)
def test_a_component_that_would_do_nothing_is_refused_with_what_to_do(settings, message):
    with pytest.raises(TypeError, match=message) as caught:
        agent(**settings)
    assert "\n" not in str(caught.value)


class Chooses(Curriculum):
    def __init__(self, seeds=None, kept=None):
        self.seeds, self.kept = seeds, kept

    def sample(self, n, rng):
        return super().sample(n, rng) if self.seeds is None else self.seeds

    def keep(self, rollouts):
        return super().keep(rollouts) if self.kept is None else self.kept(rollouts)


@pytest.mark.parametrize("seeds", [[], [1, 2, 3], [-1, 1], [0.5, 1]], ids=str)
def test_a_curriculum_that_names_no_problems_or_too_many(seeds):
    assert_refused(agent(curriculum=Chooses(seeds)), r"Chooses.sample\(2\) must name 1 to 2 problems")


@pytest.mark.parametrize("kept", [lambda r: r.reward[:3] == 0, lambda r: r.reward], ids=["shape", "type"])
def test_a_curriculum_that_keeps_something_else_than_completions(kept):
    assert_refused(
        agent(curriculum=Chooses(kept=kept)), "of each of the 8 completions, or tokens, whether to learn from it"
    )


def test_a_group_that_nothing_is_kept_of_is_left_out():
    trained = agent(curriculum=Chooses(kept=lambda r: r.group == r.group.min()))  # the second group is empty
    before = state(trained)
    trained.learn(16)
    assert not torch.equal(before["/policy/network.norm.weight"], state(trained)["/policy/network.norm.weight"])
    assert all(column.isfinite().all() for column in state(trained).values())


@pytest.mark.parametrize("prompts", [[Prompt("1")], ["1", "2"], None], ids=str)
def test_guidance_that_does_not_prompt(prompts):
    class Mute(Guidance):
        def prompts(self, problems, history):
            return prompts

    assert_refused(agent(guidance=Mute()), "Mute.prompts must return a Prompt for each of the 2 problems")


@pytest.mark.parametrize("name", ["group_size", "prompts_per_batch", "n_epochs", "batch_size"])
def test_groups_and_batches_of_nothing(name):
    for size in (0, -1, 2.5):
        with pytest.raises((TypeError, ValueError), match=f"{name} must be a whole number of at least 1.*, got {size}"):
            agent(**{name: size})


def test_sampling_that_means_nothing_is_refused_at_construction():
    for settings in ({"max_answer_tokens": 0}, {"temperature": -1.0}, {"top_k": -1}, {"top_p": 0.0}):
        with pytest.raises(ValueError, match="must"):
            agent(**settings)
    with pytest.raises(TypeError, match="needs an environment"):
        agent(env=None)


@pytest.mark.parametrize("make", [agent, lambda **settings: ArCHer(env=GAME, **SMALL, **settings)])
def test_greedy_sampling_is_no_distribution_to_train(make):
    with pytest.raises(ValueError, match="temperature must be above 0 .*, got 0.*with deterministic=True") as caught:
        make(temperature=0)
    assert "\n" not in str(caught.value)


def test_settings_that_are_read_when_an_agent_is_made_are_not_changed_in_silence():
    made = agent(method="ppo")
    for name, keyword in (
        ("gamma", "method_kwargs=.'gamma': ...."),
        ("temperature", "temperature="),
        ("method", "method="),
    ):
        with pytest.raises(AttributeError, match=f"{name} is read when an agent is made: give {keyword}"):
            setattr(made, name, 0.5)
    made.n_epochs, made.notes = 2, "anything else is the user's own affair"
    critics = ArCHer(env=GAME, **SMALL)
    critics.gamma = 0.5  # read at each step
    copied = copy.deepcopy(made)
    assert copied.notes == made.notes


@pytest.mark.parametrize("make", [agent, lambda **settings: ArCHer(env=GAME, **SMALL, **settings)])
def test_answers_as_long_as_the_context_leave_no_room_for_a_prompt(make):
    with pytest.raises(ValueError, match="completions of 6 tokens .* leave no room .* context of 6: raise context_len"):
        make(context_length=6)


def test_a_prompt_that_is_longer_than_the_context():
    assert_refused(agent(context_length=20), "a prompt of 19 tokens and a completion of 6 do not fit the context of 20")
    assert_refused(agent(context_length=20, warm_start_steps=2), "demonstration of .* does not fit the context of 20")

    class Talks(Guidance):
        def prompts(self, problems, history):
            return [prompt._replace(completion_start="7" * 40) for prompt in super().prompts(problems, history)]

    assert_refused(agent(context_length=50, guidance=Talks()), "do not fit the context of 50")


def test_an_episode_that_outgrows_the_context_in_a_later_turn():
    first = agent(GAME).policy.tokenizer.prompt(gymnasium.make(GAME).reset(seed=0)[0])
    trained = agent(GAME, context_length=len(first) + 20)
    seen = []
    trained._on_step = lambda infos: bool(seen.append(len(infos))) or True
    assert_refused(trained, f"do not fit the context of {len(first) + 20}")
    assert seen  # at least a turn was played


def saved(folder, pieces: bytes | None = None):
    """A checkpoint of an agent that has learnt, with other tokens than ours."""
    trained = agent(rewards=None, method="reinforce").learn(8)
    if pieces is not None:
        text = bytes(trained.policy.pieces.tolist()).replace(b"q", pieces)
        trained.policy.pieces = torch.tensor(list(text), dtype=torch.uint8)
    trained.save(folder / "agent")
    return folder / "agent"


def test_a_checkpoint_of_another_vocabulary(tmp_path):
    path = saved(tmp_path, "ç".encode())
    with pytest.raises(ValueError, match="trained on other tokens"):
        PolicyGradient.load(path)
    trained = agent(rewards=None)
    assert_refused(trained, "trained on other tokens", act=lambda: trained.set_parameters(path))


class Accents(gymnasium.Env):
    """Completions in characters of its own."""

    observation_space = Text(20, min_length=0, charset="abcdefé")
    action_space = Text(20, min_length=0, charset="abc")

    def reset(self, *, seed=None, options=None):
        return "bébé", {}

    def step(self, action):
        return "", 0.0, True, False, {}


def test_an_environment_of_other_characters_is_refused_and_one_of_other_lengths_is_not(tmp_path):
    path = saved(tmp_path)
    with pytest.raises(ValueError, match="trained on other characters: this environment's observations also have 'é'"):
        PolicyGradient.load(path, env=Accents())
    trained = PolicyGradient.load(path, env=ENV)
    one = agent(gymnasium.make(ENV))
    assert_refused(one, "this agent was trained on other characters", act=lambda: one.set_env(Accents()))
    other = sb3_env("tiltyard/ChainSum-v0", 8, strings=True, level=1)
    assert other.action_space != trained.action_space
    trained.set_env(other)
    assert trained.learn(8, reset_num_timesteps=False).num_timesteps == 16
    assert PolicyGradient.load(path, env="tiltyard/ChainSum-v0").n_envs == 8


class InPlace(Reward):
    """Adds 1 to the rewards where they are, and returns the same tensor."""

    def shape(self, rollouts, context):
        reward = rollouts.reward
        reward += 1.0
        return reward


class Apart(Reward):
    """The same as a new tensor."""

    def shape(self, rollouts, context):
        return rollouts.reward + 1.0


def test_a_reward_that_is_changed_in_place_reaches_the_turns_as_well():
    learnt = []
    for reward in (InPlace(), Apart()):
        trained = agent(GAME, method="ppo", rewards=reward, group_size=2)
        trained.learn(4)
        learnt.append(state(trained))
    assert all(torch.equal(learnt[0][name], learnt[1][name]) for name in learnt[1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data": {"name": "stored", "path": "nowhere.jsonl"}}, "would not use data: .* give method=None with data="),
        ({"rewards": Digest(), "ent_coef": 0.1}, "would not use rewards, ent_coef: leave it out$"),
        ({"curriculum": "vade", "guidance": "ghpo"}, "would not use curriculum, guidance"),
    ],
)
def test_cloning_refuses_what_acts_on_sampled_completions(settings, message):
    with pytest.raises(ValueError, match=message):
        agent(**{"method": "sft", "rewards": None, **settings})


def test_a_gradient_that_is_not_finite_is_not_stepped_along():
    trained = agent(method="disco", method_kwargs={"tau": 0.0}, prompts_per_batch=4, rewards=Half())
    assert_refused(trained, "the gradient's norm is nan, and the step was not taken")


class Half(Reward):
    """Half of each group is correct."""

    def shape(self, rollouts, context):
        right = torch.arange(len(rollouts)) % 2 == 0
        rollouts.info["success"] = right
        return right.float()


@pytest.mark.parametrize("bad", [5, None])
def test_what_a_policy_reads_is_a_string(bad):
    class Odd(Guidance):
        def prompts(self, problems, history):
            return [Prompt(bad) for _ in problems]

    assert_refused(agent(guidance=Odd()), f"a language agent reads strings .* got .*: {bad}", TypeError)


def test_a_policy_that_is_none_is_named_as_such():
    with pytest.raises(TypeError, match="policy is the name of one .* got None"):
        PolicyGradient(None, ENV)


@pytest.mark.parametrize("name", ["tau_positive", "tau_negative"])
def test_sapos_temperatures_are_above_0(name):
    with pytest.raises(ValueError, match=f"{name} must be a number above 0, got 0"):
        agent(method="sapo", method_kwargs={name: 0})
