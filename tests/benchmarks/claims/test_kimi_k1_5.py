import math

import pytest
import torch

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.claims import kimi_k1_5 as claim


@pytest.fixture
def student() -> claim.Student:
    return claim.Student(claim.draw_world(0), 0.1, 0)


def test_success_and_tokens_by_hand(student: claim.Student) -> None:
    # Stopping by 1/2 at every place: after n thoughts or more, if not never, by 2^-n - 2^-16; then 1/4 for the result.
    # Tokens of one who stops are his thoughts and two more: 3 - 2^-16 * (16 + 3) in sum, and 16 for those who do not.
    with torch.no_grad():
        student.stop.zero_()
        student.result.zero_()
    success, tokens = student.exact()
    needed = student.world.needed[claim.TRAINED :].double()
    assert success == pytest.approx(float(((0.5**needed - 0.5**16) / 4).mean()))
    assert tokens == pytest.approx(3 - 19 * 0.5**16 + 16 * 0.5**16)


def test_answers_come_to_what_is_exact(student: claim.Student, monkeypatch: pytest.MonkeyPatch) -> None:
    # The problems held out, for once, are those answered.
    n = claim.HELD_OUT
    for name, value in {"TRAINED": n, "PROMPTS": n, "GROUP": 200}.items():
        monkeypatch.setattr(claim, name, value)
    features, needed, right, *weights = student.world
    twice = torch.arange(n).repeat(2)
    student.world = claim.World(features[twice], needed[twice], right[twice], *weights)
    rollouts, thoughts = student.answer()
    success, tokens = student.exact()
    assert 0.1 < success < 0.9
    assert rollouts.reward.mean() == pytest.approx(success, abs=4 * math.sqrt(0.25 / len(rollouts)))
    assert rollouts.length.double().mean() == pytest.approx(tokens, abs=0.1)
    never = thoughts == claim.THOUGHTS
    assert never.any()
    assert (rollouts.length[never] == claim.THOUGHTS).all()
    assert (rollouts.reward[never] == 0).all()
    stops = rollouts.tokens.gather(1, thoughts[:, None])[~never]
    assert (stops == 1).all()


def test_brevity_pays_only_for_right_answers(student: claim.Student) -> None:
    rollouts, _ = student.answer()
    plain, brief = (load("kimi-k1-5", length_weight=w).advantage(rollouts) for w in (0.0, 1.0))
    gained = (brief - plain).view(claim.PROMPTS, -1)
    reward, length = (part.view(claim.PROMPTS, -1) for part in (rollouts.reward, rollouts.length))
    for group in range(claim.PROMPTS):
        right, wrong = reward[group] > 0, reward[group] == 0
        span = (length[group].max() - length[group].min()).clamp(min=1)
        expected = 0.5 - (length[group] - length[group].min()) / span
        expected = torch.where(wrong, expected.clamp(max=0), expected)
        torch.testing.assert_close(gained[group], (expected - expected.mean()).float(), atol=1e-5, rtol=0)
        assert right.any() or (expected <= 0).all()


def test_every_arm_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ITERATIONS": 20, "RATES": (0.1,), "WEIGHTS": (0.1, 1.0)}.items():
        monkeypatch.setattr(claim, name, value)
    monkeypatch.setattr(claim, "ARMS", {name: w for name, w in claim.ARMS.items() if "0.3" not in name})
    found = claim.measure(seeds=3)
    ends = found.details["success at the end"]
    assert ends.keys() == claim.ARMS.keys()
    assert ends["without"]["estimate"] > found.details["success before"] + 0.1
    tokens = found.details["tokens at the end"]
    assert tokens["early, 1.0"]["estimate"] < tokens["late, 1.0"]["estimate"] < tokens["without"]["estimate"]
    assert found.effect.estimate == min(part["estimate"] for part in found.details["parts"].values())
