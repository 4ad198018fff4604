"""Agents of a phone from one base: what imitation, filters, critics and policy gradients add to a cloned policy.

Apps are few so that half a thousand episodes are many for each template, and those of the held-out app are among them.
No condition was tuned: whatever imitates has the learning rate by which the base was cloned, PPO and GRPO have
Stable-Baselines3's default. Steps and environments are as many for all that learn online; after each 64 episodes they
do 20 updates of 64 steps (about 250 in all); PPO goes through each 2,048 steps four times (about 750 updates of 64).
"""

from typing import Any

from .suite import Comparison, Entry, Recipe, Suite, Task

_ENV, _DATA = "tiltyard/Phone-v1", "tiltyard/phone-v1/noisy-v0"
_PHONE: dict[str, Any] = {
    "level": 1,
    "apps": ["settings", "clock", "music", "notes", "maps"],
    "observation": "elements",
}
_SHARED: dict[str, Any] = {"policy_kwargs": {"base": "phone-v1-base"}, "n_envs": 64, "batch_size": 64}
_IMITATION: dict[str, Any] = {**_SHARED, "learning_rate": 1e-3, "rollouts": 64, "actor_updates": 20}
_GRPO: dict[str, Any] = {**_SHARED, "actor_updates": 20}
_PPO: dict[str, Any] = {**_SHARED, "n_steps": 32, "n_epochs": 4, "gamma": 0.95}
_STEPS, _UPDATES = 12_000, 300
_DRIFT: dict[str, Any] = {**_PHONE, "drift": 1.0}
_WHERE, _DRIFTED_WHERE = (
    f"{_ENV} with " + ", ".join(f"{name}={phone[name]}" for name in sorted(phone)) for phone in (_PHONE, _DRIFT)
)

_PAPER = (
    "Bai et al. 2024 (abstract, table 1) report of a model of 1.3 billion parameters on Android in the Wild, General: "
    "17.7% where it begins, 57.8% by filtered cloning online, 67.2% by DigiRL offline to online. That is no more than "
    "a frame for what is below: a network of 0.4 million parameters that reads elements, simulated apps, and a minute "
    "of computing."
)
_OFFLINE = (
    "From episodes of an expert half of whose actions are random. Cloning imitates them all, filtered cloning the "
    "successful episodes with their random actions, DigiRL those steps of them that its critic finds good. All three "
    "end below the base that they began from (0.33): these data are worse than what it had been cloned from."
)


def _online(agent: str, seconds: float, **params: Any) -> Entry:
    return Entry(agent, _STEPS, seconds, {**_IMITATION, **params})


GUI = Suite(
    "gui-v1",
    "Agents of Phone-v1 from one cloned policy: online, from noisy data, and both; an hour of a core",
    tasks=(
        Task(
            _ENV,
            (
                Entry("phone-bc", 64, 5, {**_IMITATION, "learning_rate": 0.0}),  # what all begin from
                _online("filtered-cloning", 50),
                _online("phone-awr", 50),
                _online("digirl", 70),
                Entry("phone-grpo", _STEPS, 45, {**_GRPO, "learning_rate": 3e-4}),
                Entry("ppo", _STEPS, 35, {**_PPO, "learning_rate": 3e-4}),
            ),
            eval_episodes=128,
            eval_points=3,
            env_kwargs=_PHONE,
        ),
        Task(
            _ENV,
            tuple(
                Entry(agent, 0, 35, {**_IMITATION, "offline_steps": _UPDATES})
                for agent in ("phone-bc", "filtered-cloning", "digirl")
            ),
            eval_episodes=128,
            eval_points=1,
            env_kwargs=_PHONE,
            dataset=_DATA,
        ),
        Task(
            _ENV,
            (_online("digirl", 85, offline_steps=_UPDATES),),
            eval_episodes=128,
            eval_points=3,
            env_kwargs=_PHONE,
            dataset=_DATA,
        ),
    ),
    seeds=tuple(range(8)),
    datasets={
        _DATA: Recipe(
            _ENV,
            "noisy-expert",
            {"episodes": 400, "noise": 0.5, "settings": {"env_kwargs": {k: _PHONE[k] for k in ("level", "apps")}}},
        )
    },
    comparisons=(
        Comparison("Every condition", (_WHERE,), "filtered-cloning", across=True, remark=_PAPER),
        Comparison("From noisy data alone", (f"{_WHERE} from noisy-v0",), "filtered-cloning", remark=_OFFLINE),
    ),
)

_WITHOUT = (
    "Each condition is DigiRL with one part of it taken away or falsified, from the same base and with the same "
    "settings as in gui-v1, which were tuned for none of them. Without its curriculum it learns from all successes; "
    "without the step filter from all steps of the episodes chosen. A noisy evaluator calls failures successes, and "
    "successes failures, with the probability stated; evaluations are by the truth."
)
_DRIFTED = (
    "The same phone after it has drifted: other apps are popular, screens slower, failures and banners "
    "twice as frequent, columns wider. phone-bc is the base as it is."
)

GUI_ABLATIONS = Suite(
    "gui-ablations-v1",
    "DigiRL on Phone-v1 without its curriculum, without its step filter, with a noisy evaluator, and under drift",
    tasks=(
        Task(
            _ENV,
            (
                _online("digirl", 70),
                _online("digirl", 70, curriculum=False),
                _online("digirl", 70, step_filter=False),
                *(
                    _online("digirl", 70, evaluator={"false_positive": rate, "false_negative": rate})
                    for rate in (0.1, 0.2, 0.3)
                ),
            ),
            eval_episodes=128,
            eval_points=3,
            env_kwargs=_PHONE,
        ),
        Task(
            _ENV,
            (
                Entry("phone-bc", 64, 5, {**_IMITATION, "learning_rate": 0.0}),
                _online("digirl", 70),
                _online("filtered-cloning", 50),
            ),
            eval_episodes=128,
            eval_points=3,
            env_kwargs=_DRIFT,
        ),
    ),
    seeds=tuple(range(8)),
    comparisons=(
        Comparison("DigiRL without its parts", (_WHERE,), "digirl", remark=_WITHOUT),
        Comparison("After drift", (_DRIFTED_WHERE,), "filtered-cloning", remark=_DRIFTED),
    ),
)

_RATES = {"filtered-cloning": 1e-3, "phone-awr": 1e-3, "digirl": 1e-4, "phone-grpo": 3e-6, "ppo": 1e-4}
_CHOSEN = (
    "Every condition has the learning rate that did best for it among six from 1e-5 to 3e-3, two tuning seeds each "
    "(docs/results/gui-v2-tuning). GRPO did best at the lowest, so two lower ones were tried for it alone "
    "(docs/results/gui-v2-tuning-grpo): at 3e-6 it is 0.02 above 1e-5, and at 1e-4 and more it loses what "
    "the base knew."
)

GUI_TUNED = Suite(
    "gui-v2",
    "Agents of Phone-v1 that learn online from one cloned policy, each with its own tuned learning rate",
    tasks=(
        Task(
            _ENV,
            (
                Entry("phone-bc", 64, 5, {**_IMITATION, "learning_rate": 0.0}),
                *(_online(agent, 60, learning_rate=_RATES[agent]) for agent in list(_RATES)[:3]),
                Entry("phone-grpo", _STEPS, 45, {**_GRPO, "learning_rate": _RATES["phone-grpo"]}),
                Entry("ppo", _STEPS, 35, {**_PPO, "learning_rate": _RATES["ppo"]}),
            ),
            eval_episodes=128,
            eval_points=3,
            env_kwargs=_PHONE,
        ),
    ),
    seeds=tuple(range(8)),
    comparisons=(Comparison("Learning online", (_WHERE,), "filtered-cloning", remark=f"{_CHOSEN} {_PAPER}"),),
)
