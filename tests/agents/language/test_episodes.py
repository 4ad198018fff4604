"""Episodes of several turns: token-exact histories, masks, rewards and states of turns, environments that end early."""

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.evaluation import evaluate_policy

from tiltyard.agents.language import episodes
from tiltyard.agents.language.collect import Collector, by_turns
from tiltyard.agents.language.context import Context
from tiltyard.agents.language.episodes import Completion, Turn, Written, assemble, play, state_number
from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.language.warm_start import demonstration_batches, demonstrator, spoken
from tiltyard.agents.models.tokenizer import ANSWER, END, Tokenizer
from tiltyard.agents.objectives.parts.ops import turn_ends
from tiltyard.wrappers.components import Curriculum, Guidance, Prompt, Reward
from tiltyard.wrappers.spaces import sb3_env

GAMES = ("tiltyard/TwentyQuestions-v0", "tiltyard/GuessMyCity-v0")
SMALL = {"policy": "transformer-100k", "group_size": 4, "prompts_per_batch": 2, "max_answer_tokens": 6, "seed": 0}


def agent(env=GAMES[1], **settings) -> PolicyGradient:
    return PolicyGradient(env=env, **{**SMALL, **settings})


def filled(trained: PolicyGradient, guidance: Guidance | None = None, **components) -> Rollouts:
    context = Context(trained.policy, trained.env, np.random.default_rng(0), guidance=guidance or Guidance())
    return Collector(context, 3, **components).fill(2)


def scripted(texts: list[list[str]]):
    """Says the given texts, turn by turn."""
    tokenizer, said = Tokenizer(), [0] * len(texts)

    def speak(episodes, histories):
        found = []
        for i in episodes:
            tokens = np.append(tokenizer.encode(texts[i][said[i]]), END)
            said[i] += 1
            found.append(Written(texts[i][said[i] - 1], tokens, np.full(len(tokens), -1.0), np.ones(len(tokens))))
        return found

    return speak


def test_a_batch_of_two_turns_by_hand():
    first = Turn(np.array([9, ANSWER]), np.array([5, END]), np.array([-1.0, -2.0]), np.array([0.1, 0.2]), -0.5, 7)
    second = Turn(np.array([8, ANSWER]), np.array([6]), np.array([-3.0]), np.array([0.3]), 1.0, 11)
    short = Turn(np.array([9, ANSWER]), np.array([END]), np.array([-4.0]), np.array([0.4]), 0.0, 7)
    batch = assemble([(0, Completion((first, second), True, "x")), (0, Completion((short,), False, "y"))], [3], "cpu")
    assert batch.tokens.tolist() == [[9, ANSWER, 5, END, 8, ANSWER, 6], [9, ANSWER, END, 0, 0, 0, 0]]
    assert batch.mask.int().tolist() == [[0, 0, 1, 1, 0, 0, 1], [0, 0, 1, 0, 0, 0, 0]]
    assert batch.turn[0].tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert batch.step_reward.tolist() == [[0, 0, 0, -0.5, 0, 0, 1.0], [0] * 7]
    assert batch.state[0].tolist() == [7, 7, 7, 7, 11, 11, 11]
    assert batch.logp_old[0].tolist() == [0, 0, -1, -2, 0, 0, -3]
    assert batch.reward.tolist() == [0.5, 0.0]
    assert batch.length.tolist() == [3, 1]
    assert batch.info["success"].tolist() == [True, False]


def test_a_message_follows_an_end_written_or_not():
    tokenizer = Tokenizer()
    no = tokenizer.encode("no").tolist()
    assert tokenizer.message(np.array([50, END]), "no").tolist() == [*no, ANSWER]
    assert tokenizer.message(np.array([50]), "no").tolist() == [END, *no, ANSWER]


def test_states_are_equal_where_environment_and_problem_say_so():
    assert state_number(5, ("a", 1)) == state_number(5, ("a", 1)) != state_number(5, ("a1",))
    assert state_number(6, "a") != state_number(5, "a")
    assert state_number(5, np.int64(3)) == state_number(5, 3) != state_number(5, "3")
    assert state_number(5, np.array([1, 2])) == state_number(5, [1, 2])
    assert state_number(5, "a") == 7304968403450184927  # in every process


def test_an_episode_is_cut_off_after_so_many_turns_unless_it_ends_with_the_last_of_them(monkeypatch):
    env = sb3_env(GAMES[1], 8, strings=True)
    games = [list(held.utterances) for held in demonstrator(env).conversations(range(8))]
    prompts = [Tokenizer().prompt("")] * 8

    def played(texts, turns):
        return play(env, Tokenizer(), range(8), prompts, scripted(texts), lambda infos: True, turns)

    whole = played(games, None)
    longest = max(len(one.turns) for one, game in zip(whole, games, strict=True) if one.success)
    for turns in (longest, longest - 1):
        cut = played(games, turns)
        assert [len(one.turns) for one in cut] == [min(len(one.turns), turns) for one in whole]
        assert [one.success for one in cut] == [one.success and len(one.turns) <= turns for one in whole]
        assert [one.reward for one in cut] == [sum(turn.reward for turn in one.turns[:turns]) for one in whole]
    assert sum(one.success for one in cut) < sum(one.success for one in whole)
    monkeypatch.setattr(episodes, "succeeded", lambda info, reward: True)  # whatever an environment says on the way
    goes_on = [len(one.turns) > 1 for one in whole]
    assert any(goes_on)
    assert [one.success for one in played(games, 1)] == [not more for more in goes_on]


def states_of(env, texts: list[list[str]], seed: int = 3) -> list[list[int]]:
    """The number of the state in which each turn of each episode began."""
    prompts = [Tokenizer().prompt("?")] * len(texts)
    completions = play(env, Tokenizer(), [seed] * len(texts), prompts, scripted(texts), lambda infos: True)
    return [[turn.state for turn in completion.turns] for completion in completions]


def test_states_are_what_is_known_not_what_was_said():
    """Three turns: the same two questions in either order, and one that is asked twice, or not understood."""
    first, second = "which continent?", "is it a capital?"
    texts = [[first, second, "?"], [second, first, "?"], [first, first, first], ["?", "?", second]]
    one, other, again, unclear = states_of(sb3_env(GAMES[1], 4, strings=True), texts)
    assert one[0] == other[0] == again[0] == unclear[0] == unclear[1] == unclear[2]
    assert one[1] == again[1] == again[2] != one[0]
    assert one[2] == other[2]
    assert other[1] not in (one[0], one[1])


def test_an_environment_without_states_stands_where_its_last_observation_says():
    class Silent(gymnasium.Wrapper):
        """Tells no state."""

        def reset(self, **kwargs):
            observed, info = self.env.reset(**kwargs)
            return observed, {key: value for key, value in info.items() if key != "state"}

        def step(self, action):
            *step, info = self.env.step(action)
            return *step, {key: value for key, value in info.items() if key != "state"}

    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    vector = gymnasium.vector.SyncVectorEnv([lambda: Silent(gymnasium.make(GAMES[1]))] * 2, autoreset_mode=mode)
    one, other = states_of(PolicyGradient._wrap_env(vector), [["x", "x", "x"], ["y", "is it paris, or rome?", "z"]])
    assert one == other  # the prompt, then "unclear" twice, whatever was said
    assert one[0] != one[1] == one[2]


@pytest.mark.parametrize("game", GAMES)
def test_histories_are_token_exact_and_masks_are_what_the_policy_wrote(game):
    trained = agent(game)
    env = gymnasium.make(game)
    rollouts = Collector(Context(trained.policy, trained.env, trained.rng), 3).collect([4, 9])
    tokenizer = trained.policy.tokenizer
    for row in range(len(rollouts)):
        observed, _ = env.reset(seed=int(rollouts.seed[row]))
        expected, total, n_turns = tokenizer.prompt(observed).tolist(), 0.0, int(rollouts.turn[row].max()) + 1
        for turn in range(n_turns):
            own = rollouts.mask[row] & (rollouts.turn[row] == turn)
            assert own.nonzero()[0] == len(expected)
            written = rollouts.tokens[row][own]
            observed, reward, over, _, info = env.step(tokenizer.decode(written.tolist()))
            assert rollouts.step_reward[row][own][-1].item() == pytest.approx(reward)
            assert (rollouts.step_reward[row][own][:-1] == 0).all()
            expected += written.tolist()
            assert over == (turn + 1 == n_turns)
            expected += [] if over else tokenizer.message(written.numpy(), observed).tolist()
            total += reward
        assert rollouts.tokens[row, : len(expected)].tolist() == expected
        assert not rollouts.mask[row, len(expected) :].any()
        assert rollouts.reward[row].item() == pytest.approx(total, abs=1e-6)
        assert rollouts.info["success"][row] == info["success"]
    out = trained.policy.evaluate(rollouts.tokens, rollouts.mask)
    assert torch.allclose(out.logp, rollouts.logp_old, atol=1e-4)


def test_environments_that_end_early_say_no_more():
    env = sb3_env(GAMES[1], 4, strings=True)
    seeds = [1, 2, 3]
    targets = []
    for seed in seeds:
        targets.append(gymnasium.make(GAMES[1]).reset(seed=seed)[1]["target"])
    right = [f"is it {target}?" for target in targets]
    texts = [[right[0]], ["which sea?", right[1]], ["which sea?", "what climate?", "nothing"]]
    steps = []
    completions = play(
        env,
        Tokenizer(),
        seeds,
        [Tokenizer().prompt("?")] * 3,
        scripted(texts),
        lambda infos: bool(steps.append(len(infos))) or True,
    )
    assert [len(completion.turns) for completion in completions] == [1, 2, 3]
    assert [completion.success for completion in completions] == [True, True, False]
    assert [completion.reward for completion in completions] == pytest.approx([1.0, 1.0, -0.1 / 3])
    assert steps == [3, 2, 1]
    assert completions[1].final == right[1]
    assert completions[1].turns[1].read[-1] == ANSWER


def test_shaped_rewards_join_the_last_turn():
    class Double(Reward):
        def shape(self, rollouts, context):
            return rollouts.reward * 2 + 1

    trained = agent()
    shaped = filled(trained, rewards=[Double()])
    plain = filled(agent())
    assert torch.allclose(shaped.reward, plain.reward * 2 + 1)
    assert torch.allclose(shaped.step_reward.sum(1), shaped.reward, atol=1e-6)
    last = turn_ends(torch.zeros_like(shaped.turn), shaped.mask)
    assert torch.equal(shaped.step_reward[~last], plain.step_reward[~last])
    assert by_turns(plain) is plain


def test_batches_of_one_turn_and_of_several_are_joined_with_their_turns():
    trained, guide = agent(), Guidance()

    class Told(Guidance):
        """Says the correct completion in the first round only."""

        def prompts(self, problems, history):
            if problems[0].seed != 0:
                return guide.prompts(problems, history)
            target = gymnasium.make(GAMES[1]).reset(seed=0)[1]["target"]
            return [Prompt(problem.question, f"is it {target}?") for problem in problems]

    class Seeds(Curriculum):
        def __init__(self):
            self.next = 0

        def sample(self, n, rng):
            self.next += 1
            return [self.next - 1]

    with torch.no_grad():  # writes END at once
        trained.policy.network.embedding.weight[END] = 10 * trained.policy.network.embedding.weight[ANSWER]
        trained.policy.network.forbidden[END] = 1e3
    rollouts = filled(trained, Told(), curriculum=Seeds())
    assert rollouts.turn[rollouts.mask].max() == 2
    assert rollouts.reward[:3].tolist() == [1.0] * 3
    assert rollouts.step_reward.sum(1).tolist() == pytest.approx(rollouts.reward.tolist(), abs=1e-6)
    assert rollouts.state[0, 0] == 0


@pytest.mark.parametrize(
    "method", ["grpo", "reinforce", "ppo", "gigpo", "pure", "remax", "rl-plus", "filtered-bc", "sft"]
)
def test_methods_train_on_several_turns(method):
    class Digest(Reward):
        """An untrained policy earns the same in nearly every game; what it writes differs."""

        def shape(self, rollouts, context):
            return rollouts.tokens.sum(1) % 7 / 7

    trained = agent(
        method=method,
        rewards=None if method == "sft" else Digest(),
        warm_start_steps=1,
        warm_start_batch_size=4,
        batch_size=4,
        n_epochs=2,
    )
    trained.warm_start()
    before = torch.cat([p.detach().flatten() for p in trained.policy.parameters()])
    trained.learn(8)
    after = torch.cat([p.detach().flatten() for p in trained.policy.parameters()])
    assert after.isfinite().all()
    assert not torch.equal(before, after)


def test_each_turn_counts_as_a_timestep():
    trained = agent()
    trained.learn(1)
    turns = trained.num_timesteps
    assert 16 <= turns <= 24  # 8 games of at most 3 turns, hardly any won
    assert len(trained.ep_info_buffer) == 8


def test_the_experts_games_are_spoken_as_they_are_played():
    trained = agent()
    (held,) = trained.env.unwrapped.conversations([3])
    tokens, own = spoken(trained.policy.tokenizer, held)
    (completion,) = play(
        trained.env,
        trained.policy.tokenizer,
        [3],
        [trained.policy.tokenizer.prompt(held.prompt)],
        scripted([held.utterances]),
        lambda infos: True,
    )
    batch = assemble([(0, completion)], [3], torch.device("cpu"))
    assert batch.tokens[0].tolist() == tokens.tolist()
    assert batch.mask[0].tolist() == own.tolist()
    assert completion.success


def test_warm_starts_learn_the_experts_words_alone():
    trained = agent()
    batches = demonstration_batches(
        trained.env, trained.policy.tokenizer, batch_size=3, noise=0.5, rng=np.random.default_rng(0)
    )
    tokens, mask = next(batches)
    for row in range(3):
        said = trained.policy.tokenizer.decode(tokens[row][mask[row]].tolist())
        assert "?" in said
        assert "Cities" not in said
        assert (tokens[row][mask[row]] == END).sum() >= 2


def test_a_state_of_other_episodes_is_refused_in_a_sentence():
    trained = agent()
    state = trained.predict(["a", "b"], episode_start=np.ones(2, bool))[1]
    with pytest.raises(ValueError, match="1 observations need .* as many episodes, got 2 and 1"):
        trained.predict(["a"], state=state)
    with pytest.raises(ValueError, match="2 observations need .* as many episodes, got 2 and 1"):
        trained.predict(["a", "b"], state=state, episode_start=np.ones(1, bool))


def test_predict_carries_the_history_as_state():
    trained = agent()
    env = sb3_env(GAMES[1], 3, strings=True)
    observed, state, start = env.reset(), None, np.ones(3, bool)
    tokens = [trained.policy.tokenizer.prompt(question) for question in observed]
    for _ in range(4):  # one turn more than a game has
        said, state = trained.predict(observed, state=state, episode_start=start, deterministic=True)
        written = trained.policy.write(tokens, deterministic=True)
        assert trained.policy.texts(written) == said.tolist()
        observed, _, start, _ = env.step(said)
        for i in range(3):
            own = written.tokens[i, : written.length[i]].numpy()
            again = trained.policy.tokenizer.prompt(observed[i])
            more = trained.policy.tokenizer.message(own, observed[i])
            tokens[i] = again if start[i] else np.concatenate([tokens[i], own, more])
    assert trained.predict("hello")[1] is None
    returns, lengths = evaluate_policy(
        trained, sb3_env(GAMES[1], 2, strings=True), n_eval_episodes=4, return_episode_rewards=True
    )
    assert len(returns) == 4
    assert max(lengths) == 3


def test_a_context_that_is_too_short_is_refused_before_any_update():
    for settings in ({}, {"warm_start_steps": 2}, {"method": "sft"}):
        trained = agent(context_length=40, **settings)
        before = torch.cat([p.detach().flatten() for p in trained.policy.parameters()])
        with pytest.raises(ValueError, match="do(es)? not fit the context of 40: raise context_length"):
            trained.learn(8)
        assert torch.equal(before, torch.cat([p.detach().flatten() for p in trained.policy.parameters()]))
        assert trained.num_timesteps == 0
