"""Agents that learn from asynchronous rollouts: real worker processes, which are also killed."""

import os
import signal
import threading
import time

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure

from tests.agents.language.test_loop import Digest, assert_equal, lines
from tests.agents.language.test_supplies import odd
from tiltyard.agents import make
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.objectives.catalogue import ROWS
from tiltyard.wrappers.components import Curriculum, Guidance

ENV, GAME = "tiltyard/Countdown-v0", "tiltyard/TwentyQuestions-v0"
SMALL = {"policy": "transformer-100k", "max_answer_tokens": 6, "seed": 0, "device": "cpu", "learning_rate": 3e-3}
GROUPS = {"group_size": 4, "prompts_per_batch": 4}


def agent(env=ENV, **settings) -> PolicyGradient:
    return PolicyGradient(env=env, **{**SMALL, **GROUPS, "rewards": Digest(), **settings})


def weights(trained: PolicyGradient) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in trained.policy.parameters()])


class Ledger(Curriculum):
    """Problems 0, 1, 2, ..., and which of them have been learnt from; it may take the odd ones alone."""

    def __init__(self, odd: bool = False) -> None:
        self.odd, self.drawn, self.used = odd, 0, []

    def sample(self, n, rng):
        self.drawn += n
        return list(range(self.drawn - n, self.drawn))

    def update(self, episodes):
        self.used += list(dict.fromkeys(zip(episodes.seed.tolist(), episodes.group.tolist(), strict=True)))

    def keep(self, episodes):
        return (episodes.seed % 2 == 1) | torch.tensor(not self.odd)


class Delays(gymnasium.Wrapper):
    """Takes a random time, in each process another one."""

    def step(self, action):
        time.sleep(0.02 * (time.time_ns() % 7 == 0))
        return self.env.step(action)


def delayed(n: int = 16) -> gymnasium.vector.SyncVectorEnv:
    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    return gymnasium.vector.SyncVectorEnv([lambda: Delays(gymnasium.make(ENV))] * n, autoreset_mode=mode)


class Kills(BaseCallback):
    """Kills a worker as it is at its task, at the given iterations."""

    def __init__(self, *at: int) -> None:
        super().__init__()
        self.at, self.begun, self.killed = at, 0, 0

    def _on_rollout_end(self) -> None:  # the learner has its batch, and the workers are at the next ones
        self.begun += 1
        pool = self.model.collection.pool
        if self.begun in self.at and pool.pids:
            os.kill(pool.pids[self.killed % len(pool.pids)], signal.SIGKILL)
            self.killed += 1

    def _on_step(self) -> bool:
        return True


CASES = [
    pytest.param(ENV, {"n_epochs": 2, "batch_size": 8, "curriculum": "half", "top_p": 0.9}, id="grpo"),
    pytest.param(GAME, {"method": "arpo", "batch_size": 8}, id="several-turns", marks=pytest.mark.slow),
    *(
        pytest.param(ENV, {"method": m}, id=m, marks=pytest.mark.slow)
        for m in ("ppo", "spo", "remax", "guide", "rl-plus")
    ),
]


@pytest.mark.parametrize(("game", "settings"), CASES)
def test_at_staleness_0_all_is_as_without_workers_bit_for_bit(tmp_path, game, settings):
    found = []
    for workers in (0, 1):
        half = {"curriculum": Ledger(odd=True)} if settings.get("curriculum") == "half" else {}
        one = agent(game, rollout_workers=workers, **{**settings, **half})
        one.set_logger(configure(str(tmp_path / str(workers)), ["csv"]))
        found.append(one.learn(48, log_interval=1))
    assert_equal(*found)
    assert lines(tmp_path / "0") == lines(tmp_path / "1") != []
    assert not torch.equal(weights(found[0]), weights(agent(game)))


@pytest.mark.slow
def test_with_an_exact_staleness_nothing_depends_on_workers_delays_and_deaths():
    """The learner alone, and two workers of which one is killed at its task: the same weights."""
    lag = {"max_staleness": 2, "exact_staleness": True, "groups_per_task": 1}
    alone = agent(**lag).learn(96)
    kills = Kills(2)
    killed = agent(delayed(), rollout_workers=2, **lag).learn(96, callback=kills)
    assert kills.killed == 1
    assert torch.equal(weights(alone), weights(killed))
    assert alone.num_timesteps == killed.num_timesteps == 96
    other = agent(max_staleness=1, exact_staleness=True).learn(96)
    assert not torch.equal(weights(alone), weights(other))


@pytest.mark.slow
@pytest.mark.parametrize("odd", [False, True])
def test_no_completion_is_lost_or_used_twice_as_workers_are_delayed_killed_added_and_sent_away(tmp_path, odd):
    ledger, kills = Ledger(odd), Kills(1, 3)
    trained = agent(delayed(), curriculum=ledger, rollout_workers=2, max_staleness=2, groups_per_task=1)
    trained.set_logger(configure(str(tmp_path), ["csv"]))

    class Resizes(BaseCallback):
        def _on_rollout_start(self) -> None:
            if self.model.num_timesteps:
                self.model.collection.resize(1 + self.model.num_timesteps // 16 % 3)

        def _on_step(self) -> bool:
            return True

    trained.learn(128, callback=[kills, Resizes()], log_interval=1)
    assert kills.killed == 2
    kept = trained.collection.pipeline
    used = [seed for seed, _ in ledger.used]
    assert len(set(used)) == len(used)
    assert set(used) <= set(range(ledger.drawn))
    waiting = ledger.drawn - len(used)
    assert 0 < waiting <= 2 * 4
    assert trained.num_timesteps == 4 * len(ledger.used)
    assert trained.num_timesteps == trained._episode_num
    assert max(float(line["rollout/staleness_max"]) for line in lines(tmp_path)) <= 2
    trained.learn(4 * waiting, reset_num_timesteps=False)  # what had been drawn comes first
    used = [seed for seed, _ in ledger.used]
    assert len(set(used)) == len(used)
    assert ledger.drawn - len(used) <= 2 * 4
    assert trained.collection.pipeline is kept


def test_workers_end_with_learning_and_with_its_errors():
    class Stops(Kills):
        def _on_rollout_end(self) -> None:
            self.pids = self.model.collection.pool.pids
            raise ZeroDivisionError

    trained, stops = agent(rollout_workers=1, max_staleness=1), Stops()
    with pytest.raises(ZeroDivisionError):
        trained.learn(64, callback=stops)
    assert stops.pids
    for pid in stops.pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert trained.collection.pool is None


class Breaks(gymnasium.Wrapper):
    """Pays what is no number."""

    def step(self, action):
        return *self.env.step(action)[:1], float("nan"), True, False, {}


class Dies(gymnasium.Wrapper):
    """Ends the process in which it is stepped."""

    def step(self, action):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("wrapper", "message"),
    [
        (Breaks, "a rollout worker failed: ValueError: the environment's reward in environment 0 is nan"),
        pytest.param(Dies, "4 rollout workers in a row were killed, the last by SIGKILL", marks=pytest.mark.slow),
    ],
)
def test_a_worker_that_cannot_work_is_named(wrapper, message):
    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    env = gymnasium.vector.SyncVectorEnv([lambda: wrapper(gymnasium.make(ENV))] * 2, autoreset_mode=mode)
    with pytest.raises(RuntimeError, match=message):
        agent(env, rollout_workers=1, max_staleness=1).learn(16)


class Remembers(Guidance):
    def state_dict(self):
        return {"seen": 1}


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"max_staleness": 1}, ValueError, "max_staleness=1 needs processes that sample while the learner updates"),
        ({"micro_batch_groups": 0}, ValueError, "micro_batch_groups must be a whole number of at least 1"),
        ({"rollout_workers": -1}, ValueError, "rollout_workers must be a whole number from 0 to 1024"),
        ({"rollout_workers": 1, "guidance": Remembers()}, TypeError, "Remembers remembers what it has seen"),
        ({"rollout_workers": 1, "method": "sft"}, ValueError, "samples no completions"),
    ],
)
def test_bad_settings_are_one_sentence(settings, error, message):
    with pytest.raises(error, match=message):
        agent(**{"rewards": None, **settings}).learn(1)


def test_an_environment_that_cannot_be_sent_is_one_sentence():
    class Holds(gymnasium.Wrapper):
        def __init__(self, env):
            super().__init__(env)
            self.lock = threading.Lock()

    env = Holds(gymnasium.make(ENV))
    with pytest.raises(TypeError, match="cannot be sent to another process"):
        agent(env, rollout_workers=1).learn(1)


def test_resizing_needs_workers():
    with pytest.raises(ValueError, match="0 rollout workers cannot become 2"):
        agent().collection.resize(2)
    with pytest.raises(ValueError, match="1 rollout workers cannot become 0"):
        agent(rollout_workers=1).collection.resize(0)


def test_another_environment_begins_anew():
    trained = agent(max_staleness=1, exact_staleness=True).learn(16)
    assert trained.collection.pipeline.version == 0
    trained.set_env(agent().env)
    assert trained.collection.pipeline is None
    trained.learn(16, reset_num_timesteps=False)


def test_older_weights_are_corrected_as_the_agent_says():
    """Exact lag 1: the second batch was written by the weights before the first update."""
    seen = {}
    for correction in ("weight", "ratio", "none"):
        one = agent(max_staleness=1, exact_staleness=True, correction=correction)
        one._callback = one._setup_learn(64)[1]
        one.train(one.readied(one._sample(one.context()), one.context()), one.objective)
        found = one.readied(one._sample(one.context()), one.context())
        now = one.context().score(found.tokens, found.mask)
        seen[correction] = (torch.allclose(found.logp_old, now, atol=1e-4), found.behaviour_logp is None)
        if correction == "weight":
            assert not torch.allclose(found.behaviour_logp, now, atol=1e-2)
    assert seen == {"weight": (True, False), "ratio": (False, True), "none": (True, True)}


QUICK = {row.needs: row.handle for row in reversed(ROWS)}.values()  # one with each set of needs
EVERY = [pytest.param(row.handle, marks=[pytest.mark.slow] * (row.handle not in QUICK)) for row in ROWS]


@pytest.mark.usefixtures("small_verifier")
@pytest.mark.parametrize("method", EVERY)
def test_every_method_learns_from_older_completions(method):
    """By the same pipeline as workers, in one process."""
    kwargs = {"max_entropy": 10.0} if method == "gtpo" else {}  # it leaves out what an untrained policy writes
    pool = {"curriculum": "uniform"} if method == "spo" else {}  # its own is measured first, by many episodes
    how = {"max_staleness": 1, "exact_staleness": True, "rollout_workers": 0, "batch_size": 8, **pool}
    trained = agent(odd(), method=method, method_kwargs=kwargs, rewards=None, **how)
    start = weights(trained)
    trained.learn(32)
    assert weights(trained).isfinite().all()
    assert not torch.equal(weights(trained), start)


def test_the_rows_of_the_papers_are_settings():
    llamarl, asyncflow = (make(name, ENV, n_envs=4) for name in ("llamarl", "asyncflow"))
    for one in (llamarl, asyncflow):
        assert (one.collection.workers, one.collection.max_staleness, one.correction) == (1, 1, "ratio")
    assert (llamarl.micro_batch_groups, asyncflow.micro_batch_groups) == (None, 4)
    own = make("llamarl", ENV, n_envs=4, rollout_workers=3, max_staleness=4)
    assert (own.collection.workers, own.collection.max_staleness) == (3, 4)


def test_an_asynchronous_agent_is_saved_and_goes_on(tmp_path):
    trained = agent(method="llamarl", rollout_workers=0, exact_staleness=True).learn(32)
    trained.save(tmp_path / "agent", exclude=["rewards"])
    loaded = PolicyGradient.load(tmp_path / "agent", env=agent().env)
    assert torch.equal(weights(loaded), weights(trained))
    assert loaded.learn(16, reset_num_timesteps=False).num_timesteps == 48
    assert np.isfinite(weights(loaded).numpy()).all()
