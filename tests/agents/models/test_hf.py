"""Policies of Hugging Face's format; what is marked ``hf`` needs transformers and peft: pytest -m hf."""

import json
import shutil
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tiltyard import MissingExtra
from tiltyard.agents.language.context import ignore
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.language.update import corrected, imitation_step
from tiltyard.agents.models.hf import parse
from tiltyard.agents.models.policy import TextPolicy
from tiltyard.agents.models.tokenizer import END, PAD, pad_right

hf = pytest.mark.hf


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny Llama with random weights and a tokenizer of bytes, saved as models are."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<eos>": 0} | {char: i + 1 for i, char in enumerate(alphabet)}
    own = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    own.pre_tokenizer, own.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    path = str(tmp_path_factory.mktemp("llama"))
    PreTrainedTokenizerFast(tokenizer_object=own, eos_token="<eos>").save_pretrained(path)
    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(vocabulary), **shape)).save_pretrained(path)
    return path


def policy(name: str) -> TextPolicy:
    made = TextPolicy(None, None, lambda _: 1e-2, size=name, max_answer_tokens=20)
    made.reseed(1)
    made.network.forbidden[END] += 3.0  # some completions end early
    return made


def test_names_by_hand():
    assert parse("hf:some/model") == ("some/model", 0)
    assert parse("hf:some/model?lora=16") == ("some/model", 16)
    assert parse("hf:~/model") == (str(Path("~/model").expanduser()), 0)
    for bad in ("hf:", "hf:some/model?lora=", "hf:some/model?lora=0", "hf:some/model?lora=x"):
        with pytest.raises(ValueError, match="hf:<path>"):
            parse(bad)


def test_without_transformers_the_install_line_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[hf\]"):
        TextPolicy(None, None, lambda _: 1e-3, size="hf:anywhere")


@hf
def test_continuations_read_what_stands_before_them(folder):
    network = policy(f"hf:{folder}").network
    prefixes = torch.randint(4, 100, (2, 9))
    starts, row, tokens = torch.tensor([9, 4, 1]), torch.tensor([0, 0, 1]), torch.randint(4, 100, (3, 3))
    before, after = network.continuations(prefixes, starts, row, tokens)
    assert torch.allclose(before, network(prefixes), atol=1e-5)
    for i, (start, prefix) in enumerate(zip(starts.tolist(), row.tolist(), strict=True)):
        whole = network(torch.cat([prefixes[prefix, :start], tokens[i]])[None])[0]
        assert torch.allclose(after[i], whole[start:], atol=1e-5)


@hf
def test_log_probabilities_of_sampling_are_those_of_training(folder):
    made = policy(f"hf:{folder}")
    prompts = [made.tokenizer.prompt(text) for text in ["a", "a", "something longer", "b"] * 3]
    written = made.write(prompts)
    assert len(set(written.length.tolist())) > 1
    rows = [np.concatenate([p, t[:n]]) for p, t, n in zip(prompts, written.tokens.numpy(), written.length, strict=True)]
    tokens = torch.from_numpy(pad_right(rows))
    mask = torch.zeros(tokens.shape, dtype=torch.bool)
    for row, p, n in zip(mask, prompts, written.length.tolist(), strict=True):
        row[len(p) : len(p) + n] = True
    made.set_training_mode(True)
    out = made.evaluate(tokens, mask)
    inside = torch.arange(written.tokens.shape[1]) < written.length[:, None]
    assert torch.allclose(out.logp[mask], written.logp[inside], atol=1e-4)
    assert torch.allclose(out.entropy[mask], written.entropy[inside], atol=1e-4)


@hf
def test_a_mask_restricts_what_is_written(folder):
    made = policy(f"hf:{folder}")
    prompts = [made.tokenizer.prompt(text) for text in ["a", "something longer", "a"]]
    free = made.write(prompts, generator=torch.Generator().manual_seed(0))
    allowed = torch.zeros(made.tokenizer.vocabulary_size, dtype=torch.bool)
    allowed[[20, 21, END]] = True
    assert not allowed[free.tokens[free.tokens != PAD]].all()
    written = made.write(prompts, mask=lambda progress: allowed.expand(len(progress.row), -1))
    assert allowed[written.tokens[written.tokens != PAD]].all()
    logits = made.network.logits(made.network(torch.from_numpy(prompts[1])[None])[:, -1])[0]
    whole, among = torch.log_softmax(logits, 0), torch.log_softmax(logits[allowed], 0)
    first = int(written.tokens[1, 0])
    assert float(written.logp[1, 0]) == pytest.approx(float(whole[first].detach()), abs=1e-4)
    place = [END, 20, 21].index(first)
    assert float(written.drawn[1, 0]) == pytest.approx(float(among[place].detach()), abs=1e-4)
    with pytest.raises(ValueError, match="the mask allows no token"):
        made.write(prompts, mask=lambda progress: torch.zeros(len(progress.row), len(allowed), dtype=torch.bool))


@hf
@pytest.mark.parametrize("lora", [0, 4])
def test_a_gradient_step_moves_what_is_trained_and_nothing_else(folder, lora):
    made = policy(f"hf:{folder}?lora={lora}" if lora else f"hf:{folder}")
    trained = {name for name, p in made.network.named_parameters() if p.requires_grad}
    assert all("lora" in name for name in trained) if lora else len(trained) == len(list(made.network.parameters()))
    before = {name: p.detach().clone() for name, p in made.network.named_parameters()}
    tokens = torch.from_numpy(pad_right([made.tokenizer.prompt("ab")] * 2))
    mask = torch.zeros(tokens.shape, dtype=torch.bool)
    mask[:, 1:] = True
    losses = [float(imitation_step(made, tokens, mask)) for _ in range(4)]
    assert losses[-1] < losses[0]
    moved = {name for name, p in made.network.named_parameters() if not torch.equal(p, before[name])}
    assert moved
    assert moved <= trained


@hf
def test_text_goes_through_and_weights_come_back(folder):
    made, other = policy(f"hf:{folder}"), policy(f"hf:{folder}")
    assert made.tokenizer.decode(made.tokenizer.encode("Grüße, 12 + 3")) == "Grüße, 12 + 3"
    with torch.no_grad():
        made.network.embedding.weight += 0.1 * torch.randn_like(made.network.embedding.weight)
    other.load_state_dict(made.state_dict())
    a, b = (p.predict(["what?", "who?"], deterministic=True)[0].tolist() for p in (made, other))
    assert a == b


@hf
def test_a_chat_template_frames_turns_by_hand(folder):
    own = policy(f"hf:{folder}").tokenizer
    written = own.encode("yes")
    assert own.message(written, "go")[0] == END
    assert own.decode(own.message(written, "go")) == "\ngo\n"
    own.own.chat_template = (
        "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}<eos>{% endfor %}"
        "{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    assert own.decode(own.prompt("hello", "so")) == "[user]hello[assistant]so"
    turn = own.message(np.append(written, END), "go")  # the template's own end after the completion is the END written
    assert own.own.decode(turn - 4) == "[user]go<eos>[assistant]"


@hf
@pytest.mark.parametrize(("lora", "settings"), [("", {"kl_coef": 0.1}), ("?lora=4", {"method": "ppo"})])
def test_the_trainer_trains_saves_and_loads_it(folder, tmp_path, lora, settings):
    small = {"group_size": 4, "prompts_per_batch": 2, "max_answer_tokens": 8, "warm_start_steps": 2, "seed": 0}
    trained = PolicyGradient(f"hf:{folder}{lora}", "tiltyard/Countdown-v0", **small, **settings)
    start = {name: value.clone() for name, value in trained.policy.state_dict().items()}
    trained.learn(16)
    assert any(not torch.equal(value, start[name]) for name, value in trained.policy.state_dict().items())
    trained.save(tmp_path / "agent")
    loaded = PolicyGradient.load(tmp_path / "agent")
    questions = ["Make 57 from 8 4 25.", "What?"]
    assert loaded.predict(questions, deterministic=True)[0].tolist() == (
        trained.predict(questions, deterministic=True)[0].tolist()
    )


@hf
@pytest.mark.parametrize("lora", ["", "?lora=4"])
def test_nlpo_restricts_it_to_an_older_copys_nucleus(folder, tmp_path, lora):
    small = {"group_size": 4, "prompts_per_batch": 2, "max_answer_tokens": 8, "warm_start_steps": 0, "seed": 0}
    sampler = {"name": "nlpo", "top_p": 0.5, "refresh": 1}
    trained = PolicyGradient(f"hf:{folder}{lora}", "tiltyard/Countdown-v0", method="nlpo", sampler=sampler, **small)
    for network in (trained.policy.network, trained.sampler.masking):
        network.forbidden[END] += 4.0  # some completions end early
    trained.learn(16)  # the copy is the policy after the first of two iterations
    context = replace(trained.context(), on_step=ignore)
    rows = corrected(trained.sampler.rollouts(context, context.problems([3, 4]), 4), "weight")
    assert len(set(rows.length.tolist())) > 1
    out = trained.policy.evaluate(rows.tokens, rows.mask, support=rows.support)
    assert torch.allclose(out.logp, rows.logp_old, atol=1e-4)
    assert (out.logp > trained.policy.evaluate(rows.tokens, rows.mask).logp + 0.1)[rows.mask].all()
    trained.save(tmp_path / "agent")
    kept = PolicyGradient.load(tmp_path / "agent").sampler.masking.state_dict()
    assert all(torch.equal(value, kept[name]) for name, value in trained.sampler.masking.state_dict().items())


@hf
def test_a_model_whose_logits_are_scaled_afterwards_is_refused(folder, tmp_path):
    from transformers import GraniteConfig, GraniteForCausalLM, PreTrainedTokenizerFast

    own = PreTrainedTokenizerFast.from_pretrained(folder)
    own.save_pretrained(tmp_path)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    GraniteForCausalLM(GraniteConfig(vocab_size=len(own), logits_scaling=4.0, **shape)).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="not a linear map of its last hidden states"):
        policy(f"hf:{tmp_path}")


@hf
@pytest.mark.parametrize("planted", ["code", "pickle"])
def test_a_folder_that_brings_code_is_not_trusted(folder, tmp_path, planted):
    witness, path = tmp_path / "ran", tmp_path / "model"
    shutil.copytree(folder, path)
    if planted == "code":
        config = json.loads((path / "config.json").read_text())
        auto = {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"}
        (path / "config.json").write_text(json.dumps({**config, "model_type": "mine", "auto_map": auto}))
        (path / "mine.py").write_text(f"from pathlib import Path\nPath({str(witness)!r}).touch()\n")
    else:
        (path / "model.safetensors").unlink()
        torch.save({}, path / "pytorch_model.bin")
    with pytest.raises(ValueError, match="cannot be read as a model without running code") as caught:
        policy(f"hf:{path}")
    assert "\n" not in str(caught.value)
    assert not witness.exists()


def saved(path, own, **config):
    """A tiny Llama for the tokenizer ``own``, both in ``path``."""
    from transformers import LlamaConfig, LlamaForCausalLM

    own.save_pretrained(path)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(**{"vocab_size": len(own), **shape, **config})).save_pretrained(path)
    return f"hf:{path}"


@pytest.fixture
def tokenizer(folder):
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(folder)


@hf
def test_nothing_is_read_beyond_what_the_model_reads(tokenizer, tmp_path):
    name = saved(tmp_path, tokenizer, max_position_embeddings=48)
    made = policy(name)
    assert made.context_length == 48
    made.predict("x" * 27)  # and a line's end, and 20 tokens of an answer
    with pytest.raises(ValueError, match="do not fit the context of 48: take a model that reads more"):
        made.predict("x" * 40)
    with pytest.raises(ValueError, match="completions of 48 tokens .* leave no room .* context of 48"):
        TextPolicy(None, None, lambda _: 1e-3, size=name, max_answer_tokens=48)


@hf
def test_a_tokenizer_of_another_model_is_refused(tokenizer, tmp_path):
    with pytest.raises(ValueError, match="has 257 tokens and the model knows 200: they do not belong together"):
        policy(saved(tmp_path, tokenizer, vocab_size=200))


@hf
def test_a_text_begins_as_the_models_tokenizer_has_it(tokenizer, tmp_path):
    from tokenizers.processors import TemplateProcessing

    assert policy(saved(tmp_path / "bare", tokenizer)).tokenizer.prompt("a")[0] != 4
    tokenizer.add_special_tokens({"bos_token": "<bos>"})
    both = [("<bos>", tokenizer.bos_token_id), ("<eos>", tokenizer.eos_token_id)]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="<bos> $A <eos>", special_tokens=both)
    own = policy(saved(tmp_path / "marked", tokenizer)).tokenizer
    assert own.prompt("hello", "so").tolist() == [own.own.bos_token_id + 4, *own.encode("hello\nso")]
    own.own.chat_template = "<bos>{% for m in messages %}{{ m['content'] }}{% endfor %}"
    assert own.prompt("hello").tolist() == [own.own.bos_token_id + 4, *own.encode("hello")]  # once


@hf
def test_a_chat_template_that_forgets_answers_is_refused_for_dialogues(folder):
    own = policy(f"hf:{folder}").tokenizer
    own.own.chat_template = "{{ messages[-1]['content'] }}"
    assert own.decode(own.prompt("hello")) == "hello"
    with pytest.raises(ValueError, match="leaves out what was answered before"):
        own.message(own.encode("yes"), "go")


@hf
def test_folders_that_are_not_there_or_damaged_are_told_in_a_sentence(folder, tmp_path):
    with pytest.raises(ValueError, match="there is no folder .*nowhere: give the folder of a model"):
        policy(f"hf:{tmp_path}/nowhere")
    shutil.copytree(folder, tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(ValueError, match="cannot be read as a model"):
        policy(f"hf:{tmp_path}/model")


@hf
def test_sampling_names_the_cache_as_the_model_does(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        policy(f"hf:{folder}").predict("what?")


@hf
@pytest.mark.parametrize("stops", [True, False])
def test_a_chat_model_ends_its_turns_as_it_was_taught(tokenizer, tmp_path, stops):
    tokenizer.add_special_tokens({"additional_special_tokens": ["<turn>"]})
    tokenizer.chat_template = (
        "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}<turn>{% endfor %}"
        "{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    ends, turn = tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<turn>")
    name = saved(tmp_path, tokenizer)
    from transformers import GenerationConfig

    GenerationConfig(eos_token_id=[ends, turn] if stops else ends).save_pretrained(tmp_path)
    made = policy(name)
    assert int(made.network.ids[END]) == (turn if stops else ends)
    assert made.network.forbidden[4 + (turn if stops else ends)] < -1000
    said = made.tokenizer.message(made.tokenizer.encode("yes"), "go")
    assert made.tokenizer.own.decode(said[1:] - 4) == ("" if stops else "<turn>") + "[user]go<turn>[assistant]"
