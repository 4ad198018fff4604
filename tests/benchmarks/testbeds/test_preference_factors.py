"""Preference factors: what each level changes, and what says nothing about DPO."""

import pytest

from tiltyard.benchmarks.testbeds.alignment import Alignment
from tiltyard.benchmarks.testbeds.preference_factors import Levels, PreferenceFactors

BED = PreferenceFactors(bed=Alignment(completions=32, trained=24, held_out=24, pairs=256, steps=60))


def test_reward_model_and_prompts_say_nothing_about_dpo() -> None:
    dpo = [BED.run(Levels(True, False, model, prompts), 3.0, 0) for model in (False, True) for prompts in (False, True)]
    assert len(set(dpo)) == 1
    gradient = [BED.run(Levels(True, True, model, True), 1.0, 0) for model in (False, True)]
    assert gradient[0] != gradient[1]
    assert BED.run(Levels(True, True, True, False), 1.0, 0) != gradient[1]


@pytest.mark.parametrize("algorithm", [False, True])
def test_both_algorithms_learn_and_better_data_change_them(algorithm: bool) -> None:
    found = [BED.run(Levels(data, algorithm, True, True), 3.0 if not algorithm else 1.0, 1) for data in (False, True)]
    assert min(found) > 0.52
    assert found[0] != found[1]
