"""Learning that is interrupted goes on as if it had not been; callbacks see what they see in SB3's own agents."""

import copy
import csv
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback, StopTrainingOnMaxEpisodes
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import LinearSchedule

from tiltyard.agents.language.archer import ArCHer
from tiltyard.agents.language.loop import TimestepBar
from tiltyard.agents.language.providers import pav
from tiltyard.agents.language.t_ppo import TPPO
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.objectives.catalogue import ROWS
from tiltyard.wrappers.components import Curriculum, Reward
from tiltyard.wrappers.spaces import sb3_env

ONE_TURN, SEVERAL = "tiltyard/Countdown-v0", "tiltyard/GuessMyCity-v0"
SMALL = {"policy": "transformer-100k", "max_answer_tokens": 6, "seed": 0, "device": "cpu"}
GROUPS = {"group_size": 4, "prompts_per_batch": 2, "batch_size": 4, "n_epochs": 2}
SCHEDULE = LinearSchedule(3e-3, 1e-4, 0.9)
CLOCK = {"time/fps", "time/time_elapsed"}


class Digest(Reward):
    """What an untrained policy writes differs, where what it earns hardly does."""

    def shape(self, rollouts, context):
        return rollouts.tokens.sum(1) % 7 / 7


def one_a_need() -> list[str]:
    """The first method of the catalogue with each set of needs."""
    found = {row.needs: row.handle for row in reversed(ROWS)}
    return [*found.values(), "sft"]


def agent(env=ONE_TURN, **settings) -> PolicyGradient:
    rewards = None if settings.get("method") == "sft" else Digest()  # cloning samples nothing that it could shape
    return PolicyGradient(env=env, **{**SMALL, **GROUPS, "rewards": rewards, "learning_rate": SCHEDULE, **settings})


def state(trained) -> dict[str, torch.Tensor]:
    """Everything that learning goes on from, as flat columns."""
    found = {}

    def walk(value, path):
        if isinstance(value, torch.Tensor):
            found[path] = value
        elif isinstance(value, dict):
            for key, part in value.items():
                walk(part, f"{path}/{key}")

    walk(trained.get_parameters(), "")
    return found


def assert_equal(first, second):
    mine, theirs = state(first), state(second)
    assert mine.keys() == theirs.keys()
    assert [name for name in mine if not torch.equal(mine[name], theirs[name])] == []
    mine, theirs = first._counted(), second._counted()
    for counted in (mine, theirs):
        del counted["streams"]["episodes"]["t"]  # a clock's
        del counted["_num_timesteps_at_start"]  # of the last call of learn
    assert mine == theirs


def lines(folder: Path) -> list[dict[str, str]]:
    rows = list(csv.DictReader((folder / "progress.csv").open()))
    return [{name: text for name, text in row.items() if name not in CLOCK and text} for row in rows]


class Saves(BaseCallback):
    """Saves once, at the given call: in the middle of an iteration, where completions are being graded."""

    def __init__(self, path, at: int):
        super().__init__()
        self.path, self.at = path, at

    def _on_step(self) -> bool:
        if self.n_calls == self.at:
            self.model.save(self.path, exclude=["rewards"])
        return True


def interrupted(whole, build, total: int, folder: Path, at: int, **load) -> tuple:
    """``whole`` trained for ``total``, and a copy that was saved on the way and trained on in another environment."""
    whole.set_logger(configure(str(folder / "whole"), ["csv"]))
    whole.learn(total, callback=Saves(folder / "agent", at), log_interval=1)
    copy = type(whole).load(folder / "agent", env=build(), device="cpu", **load)
    begun = copy.num_timesteps
    copy.set_logger(configure(str(folder / "copy"), ["csv"]))
    copy.learn(total - begun, reset_num_timesteps=False, log_interval=1)
    assert 0 < begun < whole.num_timesteps
    after = [line for line in lines(folder / "whole") if int(line["time/total_timesteps"]) > begun]
    assert after == lines(folder / "copy") != []
    return whole, copy


class Asks(BaseCallback):
    """Evaluates on the way, as whoever watches may."""

    def __init__(self, deterministic: bool) -> None:
        super().__init__()
        self.deterministic = deterministic

    def _on_step(self) -> bool:
        self.model.predict(["Make 57 from 8 4 25.", "Make 3 from 1 2."], deterministic=self.deterministic)
        return True


@pytest.mark.parametrize("deterministic", [True, False])
def test_evaluations_on_the_way_change_nothing_of_what_is_learnt(deterministic):
    one, other = agent().learn(24), agent().learn(24, callback=Asks(deterministic))
    a, b = state(one), state(other)
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize(
    ("game", "method"),
    [(ONE_TURN, method) for method in one_a_need()] + [(SEVERAL, method) for method in ("ppo", "spo", "gigpo", "sft")],
)
def test_an_interrupted_agent_ends_where_it_would_have_ended(tmp_path, monkeypatch, game, method):
    monkeypatch.setattr(pav, "PROBLEMS", 4)  # else its completions before training would be all
    monkeypatch.setattr(pav, "GROUP", 1)
    env = lambda: sb3_env(game, 8, strings=True)  # noqa: E731
    pool = {"name": "spo", "size": 4, "offline": int(game == ONE_TURN)}  # else it is saved while it is measured
    settings = {"warm_start_steps": 1, "warm_start_batch_size": 2, "curriculum": pool} if method == "spo" else {}
    if method == "prime":  # its filter would keep nothing of so few completions, and end no iteration
        settings = {"curriculum": "uniform"}
    trained = agent(env(), method=method, **settings)
    start = trained.policy.network.embedding.weight.detach().clone()
    total, at, rewards = (4 * 11, 4, None) if method == "sft" else (48, 5, Digest())
    whole, copy = interrupted(trained, env, total, tmp_path, at=at, rewards=rewards)
    assert not torch.equal(whole.policy.network.embedding.weight, start)
    assert_equal(whole, copy)


@pytest.mark.parametrize("token_baseline", [False, True])
def test_an_interrupted_archer_ends_where_it_would_have_ended(tmp_path, token_baseline):
    small = {"episodes_per_iteration": 8, "gradient_steps": 2, "actor_steps": 1, "batch_size": 8, "critic_warm_up": 1}
    env = lambda: sb3_env(SEVERAL, 8, strings=True)  # noqa: E731
    trained = ArCHer(env=env(), token_baseline=token_baseline, buffer_size=40, **small, **SMALL)
    assert_equal(*interrupted(trained, env, 96, tmp_path, at=5))


def test_an_interrupted_t_ppo_ends_where_it_would_have_ended(tmp_path):
    env = lambda: sb3_env(ONE_TURN, 8, strings=True)  # noqa: E731
    trained = TPPO(env=env(), slots=8, window=4, top_k=50, learning_rate=SCHEDULE, **SMALL)
    whole, copy = interrupted(trained, env, 48, tmp_path, at=4)
    assert_equal(whole, copy)
    assert len(TPPO.load(tmp_path / "agent", device="cpu").unfinished) == 8  # as they were when the step began
    assert whole.generation_steps == copy.generation_steps > 4


class Rising(Curriculum):
    """Remembers what it has asked."""

    def __init__(self):
        self.asked = np.zeros(0, np.int64)

    def sample(self, n, rng):
        return [len(self.asked) + i for i in range(n)]

    def update(self, rollouts):
        self.asked = np.append(self.asked, np.unique(rollouts.seed.numpy()))

    def state_dict(self):
        return {"asked": self.asked}

    def load_state_dict(self, state):
        self.asked = state["asked"]


def test_what_a_curriculum_remembers_is_kept(tmp_path):
    trained = agent(curriculum=Rising(), method="grpo", kl_coef=0.1).learn(24)
    trained.save(tmp_path / "agent", exclude=["curriculum", "rewards"])
    copy = PolicyGradient.load(tmp_path / "agent", env=ONE_TURN, curriculum=Rising(), rewards=Digest(), device="cpu")
    assert copy.curriculum.asked.tolist() == list(range(6))
    assert copy.n_envs == 8  # an id means as many environments as there were
    for one in (trained, copy):
        one.learn(16, reset_num_timesteps=False)
    assert copy.curriculum.asked.tolist() == list(range(10))
    assert_equal(trained, copy)


def test_learning_in_parts_is_learning_at_once():
    for method in ("grpo", "sft"):
        rate = {"learning_rate": 1e-3}  # a schedule would know how long it has
        whole, parts = agent(method=method, **rate).learn(48), agent(method=method, **rate).learn(20)
        parts.learn(48 - parts.num_timesteps, reset_num_timesteps=False)
        whole._total_timesteps = parts._total_timesteps
        assert_equal(whole, parts)


def test_a_second_call_begins_its_schedule_anew():
    trained = agent(method="grpo").learn(16)
    rates = []
    trained.train = lambda *_: rates.append(trained.lr_schedule(trained._current_progress_remaining))
    trained.learn(32)
    assert rates == pytest.approx([3e-3 - progress * 2.9e-3 / 0.9 for progress in (0, 0.25, 0.5, 0.75)])


def test_another_environment_has_other_demonstrations(tmp_path):
    trained = agent(method="sft", batch_size=2).learn(6)
    trained.set_env(sb3_env(ONE_TURN, 8, strings=True, split="test"))
    trained.learn(2, reset_num_timesteps=False)
    assert trained._taken == 1
    trained.set_random_seed(4)
    again = agent(method="sft", batch_size=2)
    again.set_random_seed(4)
    assert torch.equal(*(one._demonstrated()[0] for one in (trained, again))) is False  # train and test split
    assert trained.rng.bit_generator.state["state"]["inc"] == again.rng.bit_generator.state["state"]["inc"]


def test_a_fresh_process_goes_on_with_the_same_numbers(tmp_path):
    trained = PolicyGradient(env=ONE_TURN, **{**SMALL, **GROUPS}, rewards="laser", guidance="ghpo", method="topr")
    trained.learn(16).save(tmp_path / "agent")
    code = (
        "import sys, torch; from tiltyard.agents import PolicyGradient; torch.set_num_threads(1)\n"
        f"a = PolicyGradient.load(sys.argv[1], env={ONE_TURN!r}, device='cpu')\n"
        "a.learn(16, reset_num_timesteps=False).save(sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "agent", tmp_path / "later"], check=True)
    assert_equal(
        trained.learn(16, reset_num_timesteps=False),
        PolicyGradient.load(tmp_path / "later", env=ONE_TURN, device="cpu"),
    )


def test_checkpoints_of_callbacks_hold_the_beginning_of_their_iteration(tmp_path):
    trained = agent(env=sb3_env(ONE_TURN, 4, strings=True), rewards=None)
    trained.learn(16, callback=CheckpointCallback(1, str(tmp_path)))
    counts = {path.stem: PolicyGradient.load(path).num_timesteps for path in sorted(tmp_path.iterdir())}
    assert counts == {"rl_model_4_steps": 0, "rl_model_8_steps": 0, "rl_model_12_steps": 8, "rl_model_16_steps": 8}
    trained.save(tmp_path / "end")
    assert PolicyGradient.load(tmp_path / "end").num_timesteps == 16


def test_checkpoints_from_before_streams_were_kept_can_be_loaded(tmp_path, monkeypatch):
    trained = agent(rewards=None).learn(8)
    monkeypatch.setattr(PolicyGradient, "counters", tuple(n for n in PolicyGradient.counters if n != "streams"))
    trained.save(tmp_path / "agent")
    monkeypatch.undo()
    assert PolicyGradient.load(tmp_path / "agent", env=ONE_TURN).learn(8, reset_num_timesteps=False).num_timesteps == 16


class Watches(BaseCallback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def _on_rollout_start(self):
        self.seen.append("start")

    def _on_step(self):
        assert len(self.locals["dones"]) == len(self.locals["infos"])
        self.seen.append(int(self.locals["dones"].sum()))
        return True

    def _on_rollout_end(self):
        self.seen.append("end")


def test_callbacks_are_told_of_rollouts_and_of_episodes_that_end():
    watches = Watches()
    agent(SEVERAL, rewards=None).learn(1, callback=watches)
    assert (watches.seen[0], watches.seen[-1]) == ("start", "end")
    assert watches.seen[1:3] == [0, 0]  # games have three turns, and an untrained policy wins none
    assert sum(watches.seen[1:-1]) == 8
    trained = agent(SEVERAL, rewards=None)
    trained.learn(1000, callback=StopTrainingOnMaxEpisodes(3))  # of each environment
    assert trained.num_timesteps == 3 * 24


def test_the_progress_bar_ends_with_the_timesteps():
    trained = agent(sb3_env(SEVERAL, 8, strings=True), rewards=None, group_size=4, prompts_per_batch=3).learn(1)
    bar = TimestepBar()
    trained.learn(50, callback=bar, reset_num_timesteps=False)
    assert bar.pbar.n == trained.num_timesteps - 36 == 72  # 12 games of three turns an iteration, on 8 environments
    assert bar.pbar.total == 50
    trained.learn(1, progress_bar=True)
    trained.learn(1, callback=lambda locals, globals: True, progress_bar=True)
    trained.learn(1, callback=[BarCount()], progress_bar=True)


class BarCount(BaseCallback):
    def _on_step(self):
        return True


def test_no_timesteps_are_the_warm_start_alone():
    trained = agent(warm_start_steps=2, warm_start_batch_size=2).learn(0)
    assert trained.warm_started
    assert trained.num_timesteps == 0


def test_an_agent_without_an_environment_says_what_it_lacks(tmp_path):
    agent(rewards=None).save(tmp_path / "agent")
    loaded = PolicyGradient.load(tmp_path / "agent")
    with pytest.raises(ValueError, match=r"no environment to learn in: call set_env\(env\) first"):
        loaded.learn(8)
    loaded.set_env(ONE_TURN)
    assert loaded.learn(8).num_timesteps == 8


def test_an_interrupt_leaves_an_agent_that_goes_on(tmp_path):
    class CtrlC(BaseCallback):
        def _on_step(self):
            if self.n_calls == 3:
                raise KeyboardInterrupt
            return True

    trained = agent(sb3_env(ONE_TURN, 4, strings=True), rewards=None)
    with pytest.raises(KeyboardInterrupt):
        trained.learn(100, callback=CtrlC())
    assert trained.num_timesteps == 12  # an iteration, and half of the next
    trained.save(tmp_path / "agent")
    loaded = PolicyGradient.load(tmp_path / "agent", env=sb3_env(ONE_TURN, 4, strings=True))
    for one in (trained, loaded):
        one.learn(8, reset_num_timesteps=False)
    assert_equal(trained, loaded)


def test_another_method_goes_on_from_the_policy_as_it_is_loaded(tmp_path):
    trained = agent(method="sft").learn(12)
    trained.save(tmp_path / "agent", exclude=["rewards"])
    for method in ("reinforce-plus-plus", "ppo", "spo"):
        changes = {"method": method, "rewards": Digest(), "curriculum": "uniform"}
        loaded = PolicyGradient.load(tmp_path / "agent", env=ONE_TURN, device="cpu", **changes)
        learnt = trained.policy.network.state_dict()
        for begins in {"reinforce-plus-plus": ["reference"], "ppo": ["critic.body"], "spo": []}[method]:
            begun = loaded.get_parameters()["networks." + begins.split(".")[0]]
            assert all(torch.equal(begun["body." * ("." in begins) + name], learnt[name]) for name in learnt)
        assert loaded.learn(8, reset_num_timesteps=False).num_timesteps == 20
        loaded.save(tmp_path / "critic", exclude=["rewards"])
        back = PolicyGradient.load(tmp_path / "critic", env=ONE_TURN, method="topr", rewards=Digest(), device="cpu")
        assert torch.equal(back.policy.network.norm.weight, loaded.policy.network.norm.weight)


def test_a_seam_that_is_exchanged_begins_with_nothing(tmp_path):
    agent(rewards=None).learn(8).save(tmp_path / "agent")
    loaded = PolicyGradient.load(tmp_path / "agent", env=ONE_TURN, curriculum=Rising(), device="cpu")
    assert loaded.curriculum.asked.tolist() == []


def test_checkpoints_that_kept_networks_beside_the_policy_can_be_loaded():
    trained, other = agent(method="ppo").learn(8), agent(method="ppo")
    old = {name.removeprefix("networks."): part for name, part in trained.get_parameters().items()}
    assert "critic.optimizer" in old
    other._fill_networks(old, "cpu")
    assert_networks(trained, other)


def assert_networks(first, second):
    mine, theirs = state(first), state(second)
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_a_copy_of_a_copy_is_a_copy(tmp_path):
    trained = agent(method="sft").learn(12)  # in the middle of a bucket of demonstrations
    trained.save(tmp_path / "first")
    PolicyGradient.load(tmp_path / "first").save(tmp_path / "second")
    copy = PolicyGradient.load(tmp_path / "second", env=ONE_TURN, device="cpu")
    for one in (trained, copy):
        one.learn(36, reset_num_timesteps=False)
    assert_equal(trained, copy)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("method", ["grpo", "ppo", "sft"])
def test_a_copy_of_an_agent_that_has_learnt_goes_on_as_the_agent_does(method, copied):
    trained = agent(method=method, verbose=0)
    trained.learn(8)
    twin = copied(trained)
    for one in (trained, twin):
        one.learn(8, reset_num_timesteps=False)
    assert twin.num_timesteps == trained.num_timesteps == 16
    assert all(torch.equal(value, state(twin)[name]) for name, value in state(trained).items())
