from hashlib import sha256

import pytest
import torch
from safetensors.torch import load_file, save_file

from tiltyard.agents import make
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.models.policy import TextPolicy
from tiltyard.agents.models.pretrained import PRETRAINED, read_base, write_base
from tiltyard.agents.models.tokenizer import PIECES

ENV = "tiltyard/TreeMDP-v0"
ABOUT = {"size": "transformer-100k", "env": ENV, "level": "1", "command": "tiltyard pretrain ...", "versions": "{}"}
SMALL = {"group_size": 2, "prompts_per_batch": 2, "max_answer_tokens": 8, "seed": 0}


def policy(**settings) -> TextPolicy:
    return TextPolicy(None, None, lambda _: 1e-3, **{"size": "transformer-100k", **settings})


def digest(name: str) -> str:
    found = sha256()
    for key, value in sorted(read_base(name).weights.items()):
        found.update(key.encode() + value.numpy().tobytes())
    return found.hexdigest()


@pytest.fixture
def file(tmp_path):
    write_base(policy(), tmp_path / "a.safetensors", ABOUT)
    return tmp_path / "a.safetensors"


def test_a_base_has_the_weights_in_half_precision_and_says_what_made_it(tmp_path):
    trained = policy()
    with torch.no_grad():
        trained.network.norm.weight.fill_(0.1)
    write_base(trained, tmp_path / "a.safetensors", ABOUT)
    base = read_base(str(tmp_path / "a.safetensors"))
    assert base.about == ABOUT
    assert base.size == "transformer-100k"
    assert (
        base.weights["network.norm.weight"].tolist() == [0.0999755859375] * 64
    )  # 0.1 in 11 binary digits: 1638 / 2^14
    assert trained.network.norm.weight[0].item() == pytest.approx(0.1, abs=1e-8)
    other = policy()
    base.fill(other)
    assert other.network.norm.weight.tolist() == [0.0999755859375] * 64
    assert (tmp_path / "a.safetensors").stat().st_size < 2.1 * sum(p.numel() for p in trained.parameters()) + 5000


def test_a_file_is_a_policy_wherever_a_shipped_name_is(file):
    wanted = load_file(file)["network.embedding.weight"].float()
    for agent in (
        PolicyGradient(str(file), ENV, **SMALL),
        PolicyGradient(file, ENV, **SMALL),
        make("grpo", ENV, policy=str(file), n_envs=4, **SMALL),
        make("archer", ENV, policy=str(file), n_envs=4, max_answer_tokens=8, warm_start_steps=0),
    ):
        assert torch.equal(agent.policy.network.embedding.weight, wanted)


def test_an_agent_is_loaded_without_the_base_it_began_from(file, tmp_path):
    agent = PolicyGradient(str(file), ENV, **SMALL)
    agent.learn(4)
    agent.save(tmp_path / "agent")
    file.unlink()
    loaded = PolicyGradient.load(tmp_path / "agent")
    for kept, now in zip(agent.policy.parameters(), loaded.policy.parameters(), strict=True):
        assert torch.equal(kept, now)


def test_a_base_of_other_tokens_brings_them(tmp_path):
    pieces = (*PIECES, " is", " knave")
    theirs = policy(pieces=pieces)
    write_base(theirs, tmp_path / "b.safetensors", ABOUT)
    agent = PolicyGradient(str(tmp_path / "b.safetensors"), ENV, **SMALL)
    assert agent.policy.tokenizer.pieces == pieces
    assert len(agent.policy.tokenizer.encode(" is knave")) == 2
    agent.learn(4)
    agent.save(tmp_path / "agent")
    assert PolicyGradient.load(tmp_path / "agent").policy.tokenizer.pieces == pieces
    with pytest.raises(ValueError, match="trained on other tokens"):
        PolicyGradient("transformer-100k", ENV, **SMALL).set_parameters(agent.get_parameters())


def test_what_is_no_base_of_this_version_is_refused_in_a_sentence(file, tmp_path):
    state = load_file(file)

    def refused(match: str, error: type[Exception] = ValueError, name: str = "b") -> None:
        with pytest.raises(error, match=match):
            PolicyGradient(str(tmp_path / f"{name}.safetensors"), ENV, **SMALL)

    refused("there is no base checkpoint .*none.safetensors: tiltyard pretrain makes one", FileNotFoundError, "none")
    (tmp_path / "b.safetensors").write_bytes(file.read_bytes()[:-100])
    refused("b.safetensors is no base checkpoint, or is damaged")
    save_file(state, tmp_path / "b.safetensors")
    refused("does not say of which network or tokens it is")
    for pieces in (torch.full((3,), 300), torch.tensor([255], dtype=torch.uint8), torch.zeros(2)):
        save_file({**state, "pieces": pieces}, tmp_path / "b.safetensors", ABOUT)
        refused("b.safetensors is no base checkpoint, or is damaged")
    save_file({k: v for k, v in state.items() if k != "pieces"}, tmp_path / "b.safetensors", ABOUT)
    refused("does not say of which network or tokens it is")
    save_file(state, tmp_path / "b.safetensors", {"size": "transformer-100"})
    refused("unknown size 'transformer-100'; did you mean 'transformer-100k'")
    save_file(state, tmp_path / "b.safetensors", {"size": "transformer-300k"})
    refused(r"another network: network.embedding.weight is \(492, 64\) there, and here \(492, 96\)")
    save_file({**state, "pieces": policy(pieces="ab").pieces}, tmp_path / "b.safetensors", ABOUT)
    refused(r"is not what it says: .* network.embedding.weight is \(492, 64\) there, and here \(6, 64\)")
    with pytest.raises(ValueError, match="unknown policy 'countdown-worm'; did you mean 'countdown-warm'"):
        PolicyGradient("countdown-worm", ENV)


def test_weights_of_another_network_leave_a_policy_as_it_was():
    ours, theirs = policy(), policy(size="transformer-300k")
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    wrong = {**policy().state_dict(), "network.norm.weight": theirs.network.norm.weight}
    for given in (
        wrong,
        {k: v for k, v in before.items() if k != "network.norm.weight"},
        {**before, "more": before["pieces"]},
    ):
        with pytest.raises(ValueError, match="another network: "):
            ours.load_state_dict(given)
        assert all(torch.equal(value, before[name]) for name, value in ours.state_dict().items())


def test_weights_that_are_no_numbers_are_not_written(tmp_path):
    astray = policy()
    with torch.no_grad():
        astray.network.norm.weight[3] = 1e6  # above 65504, the largest number of half precision
    with pytest.raises(ValueError, match="not finite"):
        write_base(astray, tmp_path / "a.safetensors", ABOUT)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("countdown-warm", "029239a5f0e9a82588f970a89f1e8984b30777fb15acd761e4a2778e022f2895"),
        ("chain-sum-base-2", "37c4d4ee4b6f2e7bbc6ff9d9049ca4adb8b0750c27b3e92febd2318021670521"),
        ("maze-base-2", "66e588306ff7afa4c8ebfad8bd63b444ec57492b7577452b05dc3b525b20c586"),
        ("countdown-warm-2", "db6eb4036949081a2d44a646ff9ff5374bb53779a4795eb2bb73d2efbd4c120c"),
        ("twenty-questions-base-2", "e0415680e3aa9cf1c81f351a65d3ef5898d250d432cf536538093c94155e6254"),
    ],
)
def test_a_base_is_the_one_that_results_rest_on(name, weights):
    assert digest(name) == weights


@pytest.mark.parametrize("name", PRETRAINED)
def test_a_shipped_base_says_what_the_table_says(name):
    about = read_base(name).about
    assert about["command"] == PRETRAINED[name]
    assert about["command"].endswith(f"--out {name}.safetensors")
