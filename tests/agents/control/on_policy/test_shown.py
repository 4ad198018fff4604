from typing import Any

import pytest
from stable_baselines3.common.callbacks import BaseCallback

from tiltyard.agents.control.on_policy.shown import Shown


class Looks(BaseCallback):
    """Notes who is there at each call, and fails at its third step."""

    def __init__(self, stage: list[str]) -> None:
        super().__init__()
        self.stage, self.seen = stage, list[str]()

    def _on_rollout_start(self) -> None:
        self.seen.append(f"start: {self.stage[-1]}")

    def _on_step(self) -> bool:
        self.seen.append(f"step: {self.stage[-1]}")
        if self.n_calls == 3:
            raise KeyboardInterrupt
        return self.n_calls < 2

    def _on_rollout_end(self) -> None:
        self.seen.append(f"end: {self.stage[-1]}")


def test_a_callback_sees_the_learnt_policy_and_the_other_one_goes_on_acting() -> None:
    stage = ["acting"]
    looks = Looks(stage)
    looks.model = type("Agent", (), {"num_timesteps": 0})()
    shown: Any = Shown(looks, lambda: stage.append("learnt"), lambda: stage.append("acting"))
    shown.on_rollout_start()
    shown.update_locals({"rewards": 1})
    assert [shown.on_step(), shown.on_step()] == [True, False]
    shown.on_rollout_end()
    assert looks.seen == ["start: learnt", "step: learnt", "step: learnt", "end: learnt"]
    assert looks.locals == {"rewards": 1}
    with pytest.raises(KeyboardInterrupt):
        shown.on_step()
    assert stage[-1] == "acting"
