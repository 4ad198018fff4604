"""What a batch of actions must be, what is refused, and what ``invalid_action="clip"`` makes of the rest."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.envs import InvalidAction
from tiltyard.envs.actions import bounded, numbers, quoted, strings


def test_numbers_of_the_shape_pass_in_their_own_type() -> None:
    for given in (
        np.ones((2, 1), np.float32),
        [[1], [2]],
        [np.array([0.5]), np.array([1.0])],
        np.ones((2, 1), np.uint8),
    ):
        np.testing.assert_array_equal(numbers(given, (2, 1), kinds="fiu", wanted="w"), given)
    assert numbers(np.ones((2, 1), np.float32), (2, 1), kinds="fiu", wanted="w").dtype == np.float32


class Stubborn:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("call detach() first")


class Torn:
    """Prints more than anybody reads."""

    def __repr__(self) -> str:
        return "z" * 1000


@pytest.mark.parametrize(
    "bad",
    [3, None, "ab", [[1.0]], [[1.0], [1.0, 2.0]], np.ma.masked_array([[1.0], [2.0]], [[True], [False]]), Stubborn()]
    + [np.ma.masked_array([[1.0], [2.0]]), [[np.ma.masked], [1.0]], [np.ma.masked_array([1.0]), [2.0]], [["1"], ["2"]]]
    + [np.ones((2, 1), complex), np.ones((2, 1), bool), np.array([[1], [Torn()]], object), [[10**400], [1]]],
    ids=lambda bad: type(bad).__name__,
)
@pytest.mark.filterwarnings("error")
def test_whatever_is_no_batch_of_numbers_is_refused_in_few_words(bad: Any) -> None:
    with pytest.raises(InvalidAction, match="^two numbers, got") as caught:
        numbers(bad, (2, 1), kinds="fiu", wanted="two numbers")
    assert len(str(caught.value)) < 300


def test_at_most_200_characters_are_quoted() -> None:
    assert quoted("x" * 10**7) == "'" + 199 * "x"
    assert quoted(Torn()) == 200 * "z"
    assert quoted(0.5) == "0.5"


def test_bounds_raise_or_clip_and_no_number_is_never_clipped() -> None:
    batch = np.array([[0.5, -3.0], [1.0 + 1e-7, 0.0]], np.float32)
    with pytest.raises(InvalidAction, match=r"^w, got \[0.5, -3.0\] in environment 0"):
        bounded(batch, -1.0, 1.0, wanted="w", slack=1e-6)
    assert bounded(batch[1:], -1.0, 1.0, wanted="w", slack=1e-6) is not None
    clipped = bounded(batch, -1.0, 1.0, wanted="w", invalid_action="clip")
    assert clipped.tolist() == [[0.5, -1.0], [1.0, 0.0]]
    assert clipped.dtype == np.float32
    assert batch[0, 1] == -3.0  # the caller's own is left alone
    for bad in (np.nan, np.inf):
        with pytest.raises(InvalidAction, match="in environment 1"):
            bounded(np.array([[9.0], [bad]]), -1.0, 1.0, wanted="w", invalid_action="clip")


def test_strings_come_as_any_sequence_of_them() -> None:
    for given in (["a", "b"], ("a", "b"), np.array(["a", "b"]), np.array(["a", "b"], object)):
        assert strings(given, 2, wanted="w") == ["a", "b"]
        assert all(type(one) is str for one in strings(given, 2, wanted="w"))
    masked = np.ma.masked_array(["a", "b"], [False, True])
    for bad in ("ab", b"ab", {"a": 1, "b": 2}, {"a", "b"}, 3, None, ["a"], np.array("ab"), masked, [["a"], ["b"]]):
        with pytest.raises(InvalidAction, match="^w"):
            strings(bad, 2, wanted="w")


BOXES = ("tiltyard/Highway-v0", "tiltyard/PegInsertion-v0", "tiltyard/PointMaze-v0", "tiltyard/AntMaze-v0")


@pytest.mark.parametrize("env_id", BOXES)
def test_an_environment_told_to_clip_takes_the_nearest_action_of_its_space(env_id: str) -> None:
    kind, exact = gymnasium.make(env_id, invalid_action="clip"), gymnasium.make(env_id)
    vector = gymnasium.make_vec(env_id, 2, "vector_entry_point", invalid_action="clip")
    kind.reset(seed=0), exact.reset(seed=0), vector.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(5):
        wild = rng.uniform(-3, 3, exact.action_space.shape).astype(np.float32)
        tame = wild.clip(exact.action_space.low, exact.action_space.high)
        (seen, reward, *_), (expected, paid, *_) = kind.step(wild), exact.step(tame)
        np.testing.assert_array_equal(seen, expected)
        np.testing.assert_array_equal(vector.step(np.stack([wild, wild]))[0][0], expected)
        assert reward == paid
    for env in (exact, kind):
        with pytest.raises(InvalidAction, match="nan"):
            env.step(np.full_like(wild, np.nan))
    with pytest.raises(InvalidAction, match="got"):
        exact.step(wild * 99)


def test_only_boxes_can_be_clipped_and_only_two_words_are_known() -> None:
    with pytest.raises(ValueError, match="unknown invalid_action 'clp'; did you mean 'clip'"):
        gymnasium.make("tiltyard/PointMaze-v0", invalid_action="clp")
    with pytest.raises(ValueError, match='needs action="box"'):
        gymnasium.make("tiltyard/Highway-v0", action="discrete", invalid_action="clip")
    for env_id in ("tiltyard/Hopper-v5", "tiltyard/Countdown-v0", "tiltyard/Phone-v0"):
        with pytest.raises(TypeError, match="unexpected keyword argument 'invalid_action'"):
            gymnasium.make(env_id, invalid_action="clip")


def test_a_wrong_shape_is_told_of_one_environment() -> None:
    with pytest.raises(InvalidAction, match=r"three numbers, got shape \(5,\) for \(3,\)"):
        numbers(np.zeros((1, 5)), (1, 3), kinds="f", wanted="three numbers")
    with pytest.raises(InvalidAction, match="three numbers, got 2 for 4 environments"):
        numbers(np.zeros((2, 3)), (4, 3), kinds="f", wanted="three numbers")
