import pytest

from tiltyard.agents.language.tokenizer import ALPHABET, ANSWER, PAD, UNKNOWN, CharTokenizer, pad_right


def test_tokens_of_a_known_text():
    # newline is token 4, space 5, so "!" (code 33) is 6 and a letter is its code - 27: "A" (65) -> 38
    assert CharTokenizer().encode("A !\n").tolist() == [38, 5, 6, 4]
    assert CharTokenizer().vocabulary_size == 4 + 96


def test_every_character_comes_back():
    tokenizer = CharTokenizer()
    assert tokenizer.decode(tokenizer.encode(ALPHABET).tolist()) == ALPHABET


@pytest.mark.parametrize("strange", ["é", "数", "😀", "\t", "\x00"])
def test_characters_outside_the_alphabet_are_unknown_and_never_crash(strange):
    tokenizer = CharTokenizer()
    assert tokenizer.encode(f"a{strange}b")[1] == UNKNOWN
    assert tokenizer.decode(tokenizer.encode(f"a{strange}b").tolist()) == "a?b"


def test_prompt_ends_with_the_mark_and_the_given_start_of_the_answer():
    assert CharTokenizer().prompt("A", "!").tolist() == [38, ANSWER, 6]


def test_padding_is_on_the_right():
    tokenizer = CharTokenizer()
    assert pad_right([tokenizer.encode("A"), tokenizer.encode("AA")]).tolist() == [[38, PAD], [38, 38]]


def test_a_repeated_character_is_refused():
    with pytest.raises(ValueError, match="once"):
        CharTokenizer("aa")
