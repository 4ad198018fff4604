import pytest

from tiltyard.wrappers.components import Problem, Prompt
from tiltyard.wrappers.guidance.ghpo import GHPO


def problem(asked: list[int]) -> Problem:
    def solve() -> str:
        asked.append(1)
        return "12345678"

    return Problem(0, "q", solve)


@pytest.mark.parametrize(
    ("history", "hint"),
    [
        ([], ""),
        ([0.5], ""),
        ([0.0], "12"),  # a quarter of eight characters
        ([0.0, 0.0], "1234"),
        ([0.0, 0.125], "12"),  # solved with the first hint: it stays, and so no further round is asked for
        ([0.0, 0.0, 0.0], "123456"),
        ([0.0, 0.0, 0.0, 0.0], "123456"),  # the last stage is the last
    ],
)
def test_hint_grows_by_stages_until_a_completion_succeeds(history, hint):
    assert GHPO().prompts([problem([])], [history]) == [Prompt("q", hint)]


def test_a_solved_problem_never_asks_the_expert():
    asked: list[int] = []
    GHPO().prompts([problem(asked)] * 2, [[], [1.0]])
    assert not asked


def test_a_stage_that_gives_the_whole_completion_away_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        GHPO(stages=[0.5, 1.0])
    with pytest.raises(ValueError, match="stages are shares"):
        GHPO(stages=0.5)  # type: ignore[arg-type]


def test_a_short_solution_goes_on_to_the_next_stage_that_tells_more():
    """A stage that told nothing new changed no prompt, so that no further one was tried."""
    short = Problem(0, "q", lambda: "12")
    hints = [GHPO().prompts([short], [[0.0] * n])[0].completion_start for n in (1, 2)]
    assert hints == ["1", "1"]
    assert GHPO(stages=(0.1, 0.9)).prompts([short], [[0.0]]) == [Prompt("q", "1")]
