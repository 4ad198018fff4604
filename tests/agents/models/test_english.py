"""The small language model of English: its text, its loss, and the weights that are shipped."""

import hashlib
import math
from pathlib import Path

import pytest
import torch

from tiltyard.agents.models.english import (
    SHIPPED,
    english_batch,
    english_model,
    english_tokens,
    held_out_loss,
    language_loss,
    main,
    pretrained,
    untrained_model,
)
from tiltyard.agents.models.tokenizer import ALPHABET, Tokenizer

DIGEST = "0471af82f0d74788e96ff8123c3b67c549ada69067dab3757b65e462b2884057"


def test_the_shipped_weights_are_those_that_were_made() -> None:
    assert hashlib.sha256(SHIPPED.read_bytes()).hexdigest() == DIGEST


def test_it_reads_english_far_better_than_chance_and_the_untrained_network_does_not() -> None:
    torch.manual_seed(0)
    assert math.exp(held_out_loss(english_model())) < 6
    assert math.exp(held_out_loss(untrained_model())) > 50


def test_what_is_held_out_is_the_last_tenth() -> None:
    tokens = english_tokens()
    assert len(tokens) > 300_000
    text = Tokenizer(tuple(ALPHABET)).decode(tokens.tolist())
    for held_out in (False, True):
        found = english_batch(200, 40, held_out=held_out)
        places = [text.find(Tokenizer(tuple(ALPHABET)).decode(row.tolist())) for row in found]
        assert min(places) >= 0
        if held_out:
            assert max(places) > 0.9 * len(tokens)
        else:
            assert max(places) + 40 <= round(0.9 * len(tokens))


def test_the_loss_of_a_network_that_knows_nothing_is_that_of_equal_chances() -> None:
    model = untrained_model()
    with torch.no_grad():
        model.embedding.weight.zero_()
        loss = float(language_loss(model, english_batch(4, 20)))
    assert loss == pytest.approx(math.log(model.embedding.num_embeddings - 2))  # two tokens are never written


def test_reading_lowers_the_loss() -> None:
    torch.manual_seed(0)
    before = held_out_loss(untrained_model(), size=8)
    assert held_out_loss(pretrained(30, batch_size=4, length=32), size=8) < before - 0.5


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no language model"):
        english_model(tmp_path / "none.safetensors")
    (tmp_path / "other.safetensors").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="holds no language model of transformer-100k"):
        english_model(tmp_path / "other.safetensors")


def test_its_command_writes_weights_that_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--out", str(tmp_path / "mine.safetensors"), "--steps", "1"])
    assert "perplexity a character on held-out text" in capsys.readouterr().out
    assert english_model(tmp_path / "mine.safetensors").embedding.weight.isfinite().all()
