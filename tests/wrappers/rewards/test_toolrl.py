import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.toolrl import ToolRL, calls, format_reward, match, overlap

sys.path.insert(0, str(Path(__file__).parent))
from tool_calls import PIECES, ToolCallsVectorEnv  # noqa: E402


def call(name: str, **parameters):
    return {"name": name, "parameters": parameters}


def text(*made, think: str = "hm", say: str = "") -> str:
    lines = "\n".join(json.dumps(one) for one in made)
    return f"<think>{think}</think>\n<tool_call>\n{lines}\n</tool_call>{say}"


GOLD = [call("add", a=3, b=4), call("neg", x=1)]


def test_partial_calls_by_hand():
    # S_max = 1 + (1 + 2) + (1 + 1) = 6. The names are those of the gold calls: 1. add: parameters {a, b} and {a, c}
    # share one of three, and a is 3: 4/3. neg: its parameter is x, with another value: 1. S = 10/3
    made = [call("neg", x=2), call("add", a=3, c=4)]
    assert match(GOLD, made) == pytest.approx(5 / 9)
    assert ToolRL().grade(text(*made), text(*GOLD)) == pytest.approx(1 + 6 * 5 / 9 - 3)


def test_the_range_is_from_minus_3_to_4_and_order_does_not_matter():
    reward = ToolRL()
    assert reward.grade(text(*GOLD), text(*GOLD)) == 4
    assert reward.grade(text(*GOLD[::-1]), text(*GOLD)) == 4
    assert reward.grade(text(call("mul", p=1)), text(*GOLD)) == 1 - 3  # the format alone
    assert reward.grade("no idea", text(*GOLD)) == -3
    assert reward.grade("<tool_call>\nadd(3, 4)\n</tool_call>", text(*GOLD)) == -3


def test_each_call_is_matched_once_and_the_best_first_come():
    # two gold calls of one tool, one call made that equals the second: names share 1 of 2; the first gold call takes
    # it for the parameter's name (1), and the second is left with nothing: 1.5 of 1 + 2 + 2
    gold = [call("neg", x=1), call("neg", x=2)]
    assert match(gold, [call("neg", x=2)]) == pytest.approx(1.5 / 5)
    assert match(gold, [call("neg", x=2), call("neg", x=1)]) == 1  # each takes its best


def test_coarser_grains():
    made = [call("add", a=3, b=4), call("neg", x=2)]
    assert match(GOLD, made, grain="coarse") == 0
    assert match(GOLD, GOLD, grain="coarse") == 1
    assert match(GOLD, made, grain="intermediate") == pytest.approx((1 + 1) / 3)
    assert match(GOLD, made) == pytest.approx((1 + 3 + 1) / 6)


def test_overlap_counts_repetitions_by_hand():
    assert overlap(["a", "a", "b"], ["a", "c"]) == pytest.approx(1 / 4)
    assert overlap([], []) == 1
    assert overlap(["a"], []) == 0


@pytest.mark.parametrize(
    ("completion", "reference", "paid"),
    [
        (text(GOLD[0]), text(GOLD[1]), 1),
        (text(GOLD[0], say="\n<response>done</response>"), text(GOLD[1]), 0),
        (text(GOLD[0], say="\n<response>ok</response>"), text(GOLD[1], say="\n<response>done</response>"), 1),
        (text(GOLD[0]) + text(GOLD[0]), text(GOLD[1]), 0),
        ("<think>hm</think>\n<response>hi</response>", "<think></think>\n<response>hello</response>", 1),
        ("<think>hm</think>", "<think></think>", 1),
        ("hm", "<think></think>", 0),
    ],
)
def test_format_is_that_of_the_reference(completion, reference, paid):
    assert format_reward(completion, reference) == paid


@pytest.mark.parametrize("around", ["{} ", "\n{}\n\n", " {}"])
def test_white_space_around_a_completion_does_not_count(around):
    assert ToolRL().grade(around.format(text(GOLD[0])), text(GOLD[0])) == 4


def test_where_no_tool_is_to_be_called_only_the_format_counts():
    assert ToolRL().grade("<think></think>\n<response>hi</response>", "<think></think>\n<response>hey</response>") == 1


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"name": "add"}', '{"name": 3, "parameters": {}}', '{"name": "a", "parameters": [1]}', ""]
)
def test_calls_that_cannot_be_read_are_none(line):
    assert calls(f"<tool_call>\n{line}\n</tool_call>") is None
    assert calls("<tool_call>" + line) is None


def test_a_reference_that_cannot_be_read_is_an_error():
    with pytest.raises(ValueError, match="reference's tool calls"):
        ToolRL().grade(text(GOLD[0]), "<tool_call>\nadd\n</tool_call>")


@pytest.mark.parametrize("settings", [{"grain": "finest"}, {"low": 1.0, "high": 1.0}])
def test_settings_that_mean_nothing_are_refused(settings):
    with pytest.raises(ValueError, match=r"grain|low"):
        ToolRL(**settings)


def test_it_takes_the_place_of_what_the_environment_paid():
    episodes = SimpleNamespace(
        reward=torch.tensor([1.0, -0.1]),
        completions=[[text(*GOLD)], ["no idea"]],
        references=lambda: [text(*GOLD)] * 2,
    )
    assert load("toolrl").shape(episodes, None).tolist() == [4.0, -3.0]


def test_an_environment_without_tools_is_refused():
    episodes = SimpleNamespace(
        reward=torch.zeros(1), completions=[["<think></think>"]], references=lambda: ["<answer>7</answer>"]
    )
    with pytest.raises(ValueError, match="tags of the expert's texts .* have none here, such as '<answer>7</answer>'"):
        load("toolrl").shape(episodes, None)


def test_partial_calls_are_learnt_from_where_success_says_nothing():
    """After a short warm start on tool calls, whose numbers are still guesses: more groups are mixed, and it learns."""
    agent = PolicyGradient(
        "transformer-100k",
        ToolCallsVectorEnv(64),
        rewards="toolrl",
        group_size=4,
        prompts_per_batch=16,
        max_answer_tokens=12,
        pieces=PIECES,
        warm_start_steps=45,
        seed=0,
    )
    agent.warm_start()
    before = [p.detach().clone() for p in agent.policy.parameters()]
    seen, train = [], agent.train
    agent.train = lambda rollouts, objective: (seen.append(rollouts), train(rollouts, objective))
    agent.learn(64)
    (rollouts,) = seen
    paid, success = (column.float().view(16, 4) for column in (rollouts.reward, rollouts.info["success"]))
    assert (paid.std(1) > 0).sum() > (success.std(1) > 0).sum()
    assert -3 <= paid.min() < paid.max() <= 4
    assert any(not torch.equal(old, new) for old, new in zip(before, agent.policy.parameters(), strict=True))


def test_a_number_that_python_does_not_read_makes_a_call_unreadable():
    assert calls(f'<tool_call>\n{{"name": "add", "parameters": {{"a": {"9" * 5000}}}}}\n</tool_call>') is None
