"""The study of half precision: what a run records, and what the page says of made-up ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.studies import half_precision as study

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [8, 8]}, "learning_starts": 10, "batch_size": 8}


def test_a_run_is_scored_at_five_checkpoints_with_its_own_products(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, str]] = []

    def score(agent: Any, normaliser: Any, task: str, episodes: int) -> float:
        seen.append((agent.num_timesteps, agent.matmul_precision))
        weights = agent.actor.net.params[0]
        return float(weights.detach().abs().sum())

    monkeypatch.setattr(study, "score", score)
    found = {name: study.run(name, 0, 40, compiled=False, **SMALL) for name in ("fp32", "bf16")}
    assert seen == [(step, name) for name in ("fp32", "bf16") for step in (32, 34, 36, 38, 40)]
    assert len(set(found["fp32"]["scores"])) == 5
    assert found["fp32"]["scores"] != found["bf16"]["scores"]


@pytest.mark.parametrize(
    ("difference", "deviation", "judged"),
    [(0.0, 0.02, "equivalent"), (-0.2, 0.02, "worse"), (-0.04, 0.1, "undecided")],
)
def test_the_page_judges_the_difference(tmp_path: Path, difference: float, deviation: float, judged: str) -> None:
    with pytest.raises(ValueError, match="fewer than four runs with fp32 or bf16"):
        study.report([], tmp_path)
    off = np.linspace(-1.5, 1.5, 10)
    spread = deviation * off / off.std(ddof=1)
    for name, mean in (("fp32", 0.4), ("bf16", 0.4 + difference)):
        for seed, off in enumerate(spread):
            made = {"precision": name, "seed": seed, "scores": [mean + off - 0.1, mean + off + 0.1], "seconds": 400.0}
            study.once(tmp_path, f"{name}-s{seed}", {"steps": 40_000}, lambda made=made: made)  # type: ignore[misc]
    study.report(study.stored(tmp_path), tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert f"| `bf16` | {difference:+.3f} [" in page
    assert f"] | {judged} |" in page
    half = 2.2622 * deviation / np.sqrt(10)
    assert f"| `fp32` | 0.400 [{0.4 - half:.3f}, {0.4 + half:.3f}] | {deviation:.3f} | 10 | 100 |" in page
