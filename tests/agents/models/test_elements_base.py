"""Bases of phone policies: written, read, begun from, and refused when they are of no use."""

import json
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from tiltyard.agents.control.cloning import Cloning
from tiltyard.agents.control.elements_policy import ElementsPolicy
from tiltyard.agents.models.elements import Shape
from tiltyard.agents.models.elements_base import BASES, PARTS, read_elements_base, write_elements_base
from tiltyard.agents.models.pretrained import FOLDER, read_weights
from tiltyard.envs.gui.elements import spaces

sys.path.insert(0, str(Path(__file__).parents[1] / "control"))
from phones import SMALL, tiny

SIZES = SMALL["policy_kwargs"]


def policy(**keywords):
    return ElementsPolicy(*spaces(), lambda _: 1e-3, **keywords)


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "small.safetensors"
    torch.manual_seed(3)
    write_elements_base(
        policy(**SIZES).state_dict(), Shape(**SIZES), made, env="tiltyard/Phone-v1", command="by hand", versions="{}"
    )
    return made


def test_a_policy_begins_from_what_was_written_but_for_its_values(file):
    torch.manual_seed(4)
    begun = policy(base=str(file))
    assert begun.shape == Shape(**SIZES)
    shape, weights = read_elements_base(str(file))
    assert shape == begun.shape
    assert all(name.startswith(PARTS) for name in weights)
    for name, value in begun.state_dict().items():
        if name in weights:
            assert torch.equal(value, weights[name].float())
    torch.manual_seed(5)
    other = policy(base=str(file))
    assert torch.equal(other.network.tokens.weight, begun.network.tokens.weight)
    assert not torch.equal(other.value[0].weight, begun.value[0].weight)


def test_an_agent_takes_a_base_and_is_loaded_with_what_it_learnt(file, tmp_path):
    agent = Cloning(env=tiny(), **SMALL | {"policy_kwargs": {"base": str(file)}})
    with torch.no_grad():
        agent.policy.network.start += 1.0
    agent.save(tmp_path / "agent")
    loaded = Cloning.load(tmp_path / "agent")
    for kept, now in zip(agent.policy.parameters(), loaded.policy.parameters(), strict=True):
        assert torch.equal(kept, now)


def test_what_is_no_base_is_refused_in_a_sentence(file, tmp_path):
    weights, bad = load_file(file), tmp_path / "bad.safetensors"

    def refused(said, error=ValueError):
        with pytest.raises(error, match=said):
            policy(base=str(bad))

    refused("there is no base checkpoint", FileNotFoundError)
    bad.write_bytes(file.read_bytes()[:-50])
    refused("is no base checkpoint, or is damaged")
    save_file(weights, bad)
    refused("no base of a phone's policy")
    save_file(weights, bad, {"shape": json.dumps({"width": 16, "depth": 2})})
    refused("no base of a phone's policy")
    save_file({name: value for name, value in weights.items() if name != "heads.longer"}, bad, {"shape": "{}"})
    refused("of another network")
    save_file(weights, bad, {"shape": json.dumps({**SIZES, "width": 32})})
    refused("of another network")
    with pytest.raises(ValueError, match="unknown base 'phone-v1-bass'; did you mean 'phone-v1-base'"):
        policy(base="phone-v1-bass")


@pytest.mark.parametrize("name", BASES)
def test_a_shipped_base_says_what_made_it(name):
    about, weights = read_weights(FOLDER / f"{name}.safetensors")
    assert about["command"] == BASES[name]
    assert about["env"] == "tiltyard/Phone-v1"
    assert policy(base=name).shape == read_elements_base(name)[0]
    assert sum(value.numel() for value in weights.values()) > 100_000
