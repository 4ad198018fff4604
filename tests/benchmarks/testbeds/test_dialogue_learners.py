"""Games to a goal, and what the claim about ArCHer makes of them."""

from dataclasses import replace

import numpy as np
import pytest

from tiltyard import agents
from tiltyard.benchmarks.claims.archer import CLAIM, FORMS, details, mean_success, parts
from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.evaluation import evaluate
from tiltyard.benchmarks.testbeds.dialogue_learners import Curve, DialogueLearners, Player

GAMES = np.array([0.0, 100.0, 200.0, 400.0, 800.0])


def curve(*success: float, games: np.ndarray = GAMES) -> Curve:
    return Curve(games, np.array(success))


def test_games_to_a_goal_are_those_of_the_first_time_there() -> None:
    rising = curve(0.0, 0.1, 0.3, 0.2, 0.4)
    assert rising.games_to(0.2) == pytest.approx(150)
    assert rising.games_to(0.3) == 200
    assert rising.games_to(0.35) == pytest.approx(700)
    assert rising.games_to(0.5) == 800  # never: all it was given
    assert rising.games_to(0.0) == 1
    assert rising.games_to(-1.0) == 1


def test_where_an_agent_ends_is_the_mean_of_its_last_two_evaluations() -> None:
    rising = curve(0.1, 0.1, 0.3, 0.4, 0.6)
    assert rising.end == pytest.approx(0.5)
    assert rising.risen(0.5) == pytest.approx(0.3)
    assert rising.risen(0.0) == pytest.approx(0.1)
    assert rising.after(300) == pytest.approx(0.35)
    assert mean_success(rising) == pytest.approx(0.35)


def found(ours: Curve, theirs: Curve) -> Found[Player, Curve]:
    runs = {"archer": [ours] * 4, "ppo": [theirs] * 4}
    outcomes = {name: Outcome(CLAIM.conditions[name], 0.1, of) for name, of in runs.items()}
    return Found(CLAIM, CLAIM.testbed, outcomes, {})


def test_the_effect_is_how_much_sooner_it_is_where_ppo_ends() -> None:
    quick = curve(0.0, 0.2, 0.3, 0.5, 0.5, games=GAMES / 100)
    slow = curve(0.0, 0.1, 0.2, 0.4, 0.4)
    judged = parts(found(quick, slow))
    ends, half, equal = judged.values()
    assert ends.sample.mean == pytest.approx(np.log10(400 / 3))
    assert ends.highest == pytest.approx(np.log10(400 / 1))
    assert half.sample.mean == pytest.approx(np.log10(200 / 1))
    assert equal.sample.mean == pytest.approx(0.5 - 0.1 * 8 / 100)
    assert [ends.decides, half.decides, equal.decides] == [True, False, False]
    told = details(found(quick, slow))
    assert told["runs of ArCHer that get where PPO ends"] == 4
    assert told["what PPO learns"] == pytest.approx(0.4)
    assert told["mean success by games"]["ppo"] == {0: 0.0, 100: 0.1, 200: 0.2, 400: 0.4, 800: 0.4}


def test_an_archer_that_never_learns_gets_no_more_than_a_tenth() -> None:
    never, slow = (
        curve(0, 0, 0.05, 0, 0, games=GAMES * 256 / 800),
        curve(0, 0.1, 0.2, 0.3, 0.3, games=GAMES * 2560 / 800),
    )
    judged = found(never, slow)
    assert parts(judged)["to where PPO ends"].sample.mean < 1.0
    assert details(judged)["runs of ArCHer that get where PPO ends"] == 0


def test_iterations_end_at_the_points_of_every_form() -> None:
    for forms in FORMS.values():
        for form in forms:
            late = [point for point in form.points if point >= form.games]
            assert all(point % form.games == 0 for point in late)
            assert form.points == tuple(sorted(form.points))
    assert {form.points[-1] for form in FORMS["archer"]} == {256}
    assert {form.points[-1] for form in FORMS["ppo"]} == {2560}


def test_an_agent_is_evaluated_before_training_and_after_the_games_it_has_played() -> None:
    bed = DialogueLearners(env_id="tiltyard/GuessMyCity-v0", evaluated=16)
    settings = FORMS["archer"][0].settings | {"gradient_steps": 1, "critic_warm_up": 0, "fresh_turns": 8}
    first = bed.run(Player("archer", 8, (8, 20), settings), 1e-3, 0)
    again = bed.run(Player("archer", 8, (8, 20), settings), 1e-3, 0)
    assert first.games.tolist() == [0, 8, 24]
    assert replace(bed, most=8).run(Player("archer", 8, (8, 20), settings), 1e-3, 0).games.tolist() == [0, 8]
    assert (first.success == again.success).all()
    assert ((first.success >= 0) & (first.success <= 1)).all()


def test_answers_are_sampled() -> None:
    bed = DialogueLearners(env_id="tiltyard/GuessMyCity-v0", evaluated=128)
    base = replace(bed, most=0).run(Player("grpo", 64, (64,), FORMS["ppo"][0].settings), 1e-12, 0).success[0]
    greedy = evaluate(agents.make("grpo", bed.env_id, seed=0), bed.env_id, episodes=128)
    assert base != greedy.success_rate


def test_the_rate_is_the_policys() -> None:
    bed = DialogueLearners(env_id="tiltyard/GuessMyCity-v0", evaluated=64)
    still = bed.run(Player("grpo", 64, (64,), FORMS["ppo"][0].settings), 1e-12, 0)
    moved = bed.run(Player("grpo", 64, (64,), FORMS["ppo"][0].settings), 0.1, 0)
    assert still.success[0] == moved.success[0]
    assert moved.success[1] < still.success[1]  # a step that large destroys a policy
