from tiltyard.benchmarks.commands_page import commands_page


def section(program):
    return commands_page().partition(f"## {program}\n")[2].partition("\n## ")[0]


def test_required_options_defaults_and_switches_are_told():
    train = section("tiltyard train")
    assert "tiltyard train --env ENV --agent AGENT [options]" in train
    assert "| `--env ENV` | required | environment id, such as tiltyard/Hopper-v5;" in train
    assert "| `--seed SEED` | `0` | seed of everything random" in train
    assert "| `--set KEY=VALUE` |  | keywords of the agent" in train
    assert "| `--resume` |  | go on from where" in train


def test_arguments_without_a_flag_stand_in_capitals():
    assert "tiltyard show NAME\n" in section("tiltyard show")
    assert "tiltyard list [WHAT] [options]" in section("tiltyard list")


def test_commands_inside_commands_have_sections_of_their_own():
    assert "tiltyard dataset show DATASET [options]" in section("tiltyard dataset show")
