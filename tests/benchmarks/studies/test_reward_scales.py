import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.benchmarks.studies import reward_scales


class Still:
    """Never pushes."""

    def predict(self, observations: Any, deterministic: bool = False) -> tuple[Any, None]:
        return np.zeros((len(observations), 1), np.float32), None


def runs(*tasks: str) -> list[dict[str, Any]]:
    """SAC's scores 0.5 higher a scale and 0.1 a seed, DSAC-T's the same at every scale; 0.2 higher in a second task."""
    return [
        {
            "task": task,
            "agent": agent,
            "scale": scale,
            "seed": seed,
            "score": 0.1 * seed + 0.2 * place + (0.5 * column if agent == "sac" else 0.0),
            "cpu_seconds": 60.0,
        }
        for place, task in enumerate(tasks)
        for seed in (2, 1, 0)
        for agent in reward_scales.AGENTS
        for column, scale in enumerate(reward_scales.SCALES)
    ]


def test_normalised_return_by_hand() -> None:
    # Half-way between -1256 and -150 is -703.
    assert reward_scales.TASKS["Pendulum-v1"].normalised(-703.0) == pytest.approx(0.5)


def test_spread_by_hand() -> None:
    # Means over the seeds: 0.1, 0.8, 0.4. The range of means is not the mean of ranges (0.7 and not 0.8).
    sac = np.array([[0.0, 1.0, 0.5], [0.2, 0.6, 0.3]])
    assert reward_scales.spread(sac) == pytest.approx(0.7)
    steady = np.array([[0.5, 0.7, 0.6], [0.5, 0.5, 0.6]])  # means 0.5, 0.6, 0.6
    assert reward_scales.spread_difference(np.concatenate([sac, steady], axis=1)) == pytest.approx(0.6)


def test_table_has_a_row_a_seed_in_order_and_averages_tasks() -> None:
    found = reward_scales.table(runs("Pendulum-v1", "InvertedDoublePendulum-v5"), "sac")
    np.testing.assert_allclose(found, [[0.1, 0.6, 1.1], [0.2, 0.7, 1.2], [0.3, 0.8, 1.3]])


def test_summary_by_hand() -> None:
    rows = reward_scales.summary(runs("Pendulum-v1", "InvertedDoublePendulum-v5"))
    assert list(rows) == ["all tasks", "Pendulum-v1", "InvertedDoublePendulum-v5"]
    assert rows["Pendulum-v1"]["sac, reward x 10"][0] == pytest.approx(1.1)  # 0.1 of the seeds, 1 of the scale
    assert rows["all tasks"]["dsac-t, reward x 0.1"][0] == pytest.approx(0.2)
    assert rows["all tasks"]["sac, spread"][0] == pytest.approx(1.0)
    assert rows["all tasks"]["dsac-t, spread"][0] == pytest.approx(0.0)
    # Seeds differ, and every seed's scores rise alike with the scale: the spread is the same whichever seeds are drawn,
    # and where nothing varies there is no interval.
    spread = rows["all tasks"]["spread of sac minus that of dsac-t"]
    assert spread == pytest.approx([1.0, math.nan, math.nan], nan_ok=True)
    assert rows["all tasks"]["dsac-t, reward x 0.1"][1:] == pytest.approx([0.1, 0.3])


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.1, 0.3, "as the paper says"), (-0.3, -0.1, "does not show"), (-0.1, 0.3, "no difference")],
)
def test_verdict_follows_the_interval(low: float, high: float, said: str) -> None:
    assert said in reward_scales.verdict({"spread of sac minus that of dsac-t": [(low + high) / 2, low, high]})


def test_agents_train_on_the_scaled_reward() -> None:
    own, tenfold = reward_scales.vector("Pendulum-v1", 2), reward_scales.scaled("Pendulum-v1", 2, 10.0)
    action = np.array([[0.5], [-1.0]], np.float32)
    for env in (own, tenfold):
        env.reset(seed=3)
    np.testing.assert_allclose(tenfold.step(action)[1], 10 * own.step(action)[1])


def test_return_is_of_one_episode_per_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reward_scales, "EPISODES", 2)
    monkeypatch.setitem(reward_scales.TASKS, "InvertedDoublePendulum-v5", reward_scales.Task(50.0, 9100.0, (8,), 1000))
    alone = []
    for seed in (5, 6):
        env = gymnasium.make("InvertedDoublePendulum-v5")
        env.reset(seed=seed)
        total, terminated = 0.0, False
        while not terminated:
            _, reward, terminated, _, _ = env.step(np.zeros(1, np.float32))
            total += float(reward)
        alone.append(total)
    assert reward_scales.mean_return(Still(), "InvertedDoublePendulum-v5", 5) == pytest.approx(np.mean(alone))


@pytest.mark.parametrize("agent", list(reward_scales.AGENTS))
def test_a_run_says_what_it_did(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task = reward_scales.Task(-1000.0, 0.0, (8, 16), 20)
    monkeypatch.setitem(reward_scales.TASKS, "Pendulum-v1", task)
    monkeypatch.setitem(reward_scales.SETTINGS, "learning_starts", 4)
    found = reward_scales.run("Pendulum-v1", agent, 0.1, 1)
    assert (found["agent"], found["scale"], found["seed"], len(found["returns"])) == (agent, 0.1, 1, 2)
    assert found["score"] == pytest.approx(1 + np.mean(found["returns"]) / 1000)
    assert -20 * 17 < found["returns"][0] < -1  # of the task's own reward, which is at least -16.3 a step


def test_page_and_figure(tmp_path: Path) -> None:
    done = runs("Pendulum-v1")
    result = {
        "command": "python benchmarks/studies/reward_scales.py --seeds 0 1 2",
        "commit": "abc",
        "hardware": "two cores",
        "versions": {"torch": "2"},
        "settings": {"batch_size": 128},
        "summary": reward_scales.summary(done),
        "runs": done,
    }
    text = reward_scales.page(result)
    assert "Command: `python benchmarks/studies/reward_scales.py --seeds 0 1 2`" in text
    assert "18 core-minutes" in text  # 2 agents, 3 scales, 3 seeds, a minute each
    assert "| sac, spread | 1.00 [" in text
    assert "over 3 seeds" in text
    assert "all tasks" not in text
    reward_scales.draw(result, tmp_path / "scales.png")
    assert (tmp_path / "scales.png").stat().st_size > 10_000
