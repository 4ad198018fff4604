from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import tiltyard
from tiltyard.envs import InvalidAction, catalogue
from tiltyard.envs.driving.carla.env import CarlaEnv
from tiltyard.envs.driving.carla.errors import NoServer
from tiltyard.envs.driving.carla.vocabulary import SIZE, TERMS
from tiltyard.envs.driving.metrics.log import EpisodeLog
from tiltyard.envs.driving.metrics.scores import SCORES, score

from .fake import Server

ROUTES = """<routes>
  <route id="7" town="FakeTown">
    <weathers><weather route_percentage="0" cloudiness="5.0" sun_altitude_angle="15.0"/></weathers>
    <waypoints><position x="20" y="1.75" z="0"/><position x="{x}" y="{y}" z="0"/></waypoints>
  </route>
</routes>"""


def make(server: Server, **given: Any) -> CarlaEnv:
    return CarlaEnv(client=server.module, **{"vehicles": 0, "route_length": 100.0, "patience": 1.0, **given})


def drive(env: CarlaEnv, steps: int = 2000) -> tuple[float, dict[str, Any], bool]:
    expert, total = env.expert(), 0.0
    observation = env.batched.observe()[0]
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(expert.predict(observation)[0])
        total += float(reward)
        if terminated or truncated:
            return total, info, truncated
    raise AssertionError("the episode did not end")


def test_it_is_a_gymnasium_environment() -> None:
    env = make(Server(), vehicles=3)
    check_env(env, skip_render_check=True, skip_close_check=True)
    observation, info = env.reset(seed=3)
    assert observation.shape == (SIZE,)
    assert (info["map"], info["restarts"], info["route"]) == ("FakeTown", 0, "")
    assert 90 <= info["route_length"] <= 110
    env.close()


def test_the_scripted_driver_completes_a_route_and_the_log_scores_it() -> None:
    env = make(Server())
    env.reset(seed=0)
    total, info, _ = drive(env)
    assert info["success"]
    assert 0.8 < total <= 1.0
    log = env.log()
    assert log.ended == "completed"
    assert log.completed == 1.0
    assert log.seconds == pytest.approx(0.1 * (len(log) - 1))
    for name in SCORES:
        assert info["scores"][name] == score(name, log)["score"]
    assert info["scores"]["carla-2.1"] == 100.0
    assert EpisodeLog.from_json(log.to_json()).driven == pytest.approx(log.driven)
    assert set(info["reward_terms"]) == set(TERMS)


def test_the_same_seed_gives_the_same_trajectory_on_a_fresh_server() -> None:
    def run(seed: int) -> np.ndarray:
        env = make(Server(), vehicles=5, pedestrians=2)
        seen = [env.reset(seed=seed)[0]]
        seen += [env.step(np.array([0.3, 0.0], np.float32))[0] for _ in range(15)]
        return np.array(seen)

    np.testing.assert_array_equal(run(5), run(5))
    assert (run(5) != run(6)).any()


def test_every_actor_is_removed_and_the_server_gets_its_own_time_back() -> None:
    server = Server()
    env = make(server, vehicles=4, pedestrians=2)
    env.reset(seed=1)
    first = server.bodies
    assert first == 1 + 1 + 4 + 2 * 2  # ego and its sensor, vehicles, pedestrians and their controllers
    assert server.world.settings.synchronous_mode
    assert server.world.settings.fixed_delta_seconds == 0.1
    env.reset()
    assert server.bodies == first
    env.close()
    assert server.bodies == 0
    assert not server.world.settings.synchronous_mode
    assert not server.traffic.synchronous


def test_what_a_killed_process_left_behind_is_removed() -> None:
    server = Server()
    left = make(server, vehicles=4)
    left.reset(seed=1)
    left.batched.server.drop()  # type: ignore[attr-defined]  # as if it had been killed
    env = make(server, vehicles=2)
    env.reset(seed=1)
    assert server.bodies == 1 + 1 + 2
    env.close()


def test_without_a_server_a_sentence_says_how_to_start_one() -> None:
    server = Server()
    server.alive = False
    with pytest.raises(NoServer, match=r"no CARLA server answers at 127.0.0.1:2000 .*CarlaUE4.sh -RenderOffScreen"):
        make(server).reset(seed=0)


def test_a_server_that_dies_ends_the_episode_and_the_next_restarts_its_problem() -> None:
    server = Server()
    env = make(server, vehicles=2)
    before, problem = env.reset(seed=4)
    env.reset()
    seen, second = env.reset()  # the third problem of the stream
    env.step(np.array([0.5, 0.0], np.float32))
    server.dies_at = server.ticks + 3
    rewards = []
    while True:
        _, reward, terminated, truncated, info = env.step(np.array([0.5, 0.0], np.float32))
        rewards.append(reward)
        if terminated or truncated:
            break
    assert (terminated, truncated, rewards[-1]) == (False, True, 0.0)
    assert info["lost"]
    assert "lost while advancing the world: time-out" in info["lost_because"]
    assert not info["success"]
    assert env.log().ended == "lost"
    with pytest.raises(NoServer):
        env.reset()  # still dead
    server.start()
    seen_again, again = env.reset()
    np.testing.assert_array_equal(seen_again, seen)
    assert (seen != before).any()
    assert {**again, "restarts": 0} == second
    assert again["restarts"] == 2  # the reset that found no server was a try as well
    seen_following, following = env.reset()
    assert following["restarts"] == 0
    fresh = make(Server(), vehicles=2)
    fresh.reset(seed=4)
    fresh.reset(), fresh.reset()
    seen_fresh, expected = fresh.reset()
    np.testing.assert_array_equal(seen_following, seen_fresh)
    assert following == expected  # and the stream goes on as if nothing had happened
    assert env.reset(seed=4)[1] == problem
    assert before.shape == (SIZE,)


def test_a_server_that_dies_while_an_episode_begins_is_tried_once_more() -> None:
    server = Server()
    env = make(server)
    env.reset(seed=0)
    server.start()  # died and was started again between two episodes: the old connection is worth nothing
    observation, info = env.reset()
    assert observation.shape == (SIZE,)
    assert info["restarts"] == 0
    server.dies_at = server.ticks + 3
    with pytest.raises(NoServer):
        env.reset()


def test_routes_of_the_leaderboard_are_driven(tmp_path: Path) -> None:
    file = tmp_path / "routes.xml"
    file.write_text(ROUTES.format(x=215, y=60))  # from lane -1: a lane change, then the turn to the right
    server = Server()
    env = make(server, routes=file, town=None)
    _, info = env.reset(seed=0)
    assert info["route"] == "7"
    assert info["route_length"] == pytest.approx(180 + 14.75 * np.pi / 2 + 40, abs=6)
    assert server.world.weather.cloudiness == 5.0
    _, info, _ = drive(env)
    assert info["success"], info
    file.write_text(ROUTES.format(x=150, y=-1.75))  # the other direction
    with pytest.raises(ValueError, match=r"routes.xml, line 2: no way leads from keypoint 0 to keypoint 1"):
        make(server, routes=file).reset(seed=0)
    with pytest.raises(ValueError, match="unknown route '8'"):
        make(server, routes=file, route="8")


def test_what_is_broken_is_seen_and_charged(tmp_path: Path) -> None:
    file = tmp_path / "routes.xml"
    file.write_text(ROUTES.format(x=300, y=1.75))

    def floor(rules: str) -> tuple[CarlaEnv, dict[str, Any]]:
        server = Server()
        env = make(server, routes=file, rules=rules)
        env.reset(seed=0)
        server.world.light.always = "Red"
        while True:
            _, _, terminated, truncated, info = env.step(np.array([0.6, 0.0], np.float32))
            if terminated or truncated:
                return env, info

    env, info = floor("strict")
    assert info["infraction"] == "red_light"
    assert info["reward_terms"]["penalty"] == -0.1
    assert env.log().ended == "red_light"
    env, info = floor("leaderboard")
    assert (info["infraction"], info["success"], env.log().ended) == ("", False, "completed")
    assert [event.kind for event in env.log().events] == ["red_light"]
    assert info["scores"]["carla-2.0"] == pytest.approx(70.0)
    assert info["scores"]["carla-2.1"] == pytest.approx(100 / 1.4)


def test_collisions_are_told_apart_by_fault() -> None:
    def crash(ego_waits: bool) -> tuple[dict[str, Any], CarlaEnv]:
        server = Server()
        env = make(server, route_length=150.0)
        env.reset(seed=0)
        ego = next(one for one in server.world.actors if one.attributes.get("role_name") == "hero")
        library = server.world.get_blueprint_library()
        place = ego.get_transform()
        place.location.x += (-30.0 if ego_waits else 30.0) * np.cos(ego.yaw)
        other = server.world.spawn_actor(library.find("vehicle.audi.tt"), place)
        other.control = server.module.VehicleControl(
            throttle=0.5 if ego_waits else 0.0, brake=0.0 if ego_waits else 1.0
        )
        while True:
            _, _, terminated, _, info = env.step(np.array([-1.0 if ego_waits else 0.5, 0.0], np.float32))
            if terminated:
                return info, env

    info, env = crash(ego_waits=False)
    assert (info["infraction"], info["reward_terms"]["penalty"]) == ("collision", -0.1)
    event = env.log().of("collision")[0]
    assert (event.other, event.side, event.other_speed) == ("vehicle", "front", 0.0)
    info, env = crash(ego_waits=True)
    assert (info["infraction"], info["reward_terms"]["penalty"], info["success"]) == ("struck", 0.0, False)
    assert env.log().of("collision")[0].side == "rear"
    assert info["scores"]["carla-2.0"] == pytest.approx(100 * env.log().completed)  # it stood
    assert not np.isnan(env.log().follower_accel).all()


def test_bad_input_is_refused() -> None:
    server = Server()
    env = make(server)
    env.reset(seed=0)
    before = env.batched.observe()
    for action in ([np.nan, 0.0], [1.5, 0.0], [0.0], "go"):
        with pytest.raises(InvalidAction, match="pedal and steering"):
            env.step(action)
    np.testing.assert_array_equal(env.batched.observe(), before)
    for wrong, says in (
        ({"vehicles": -1}, "vehicles must be between 0 and 200"),
        ({"route_length": float("nan")}, "route_length must be a number, got nan"),
        ({"route_length": 49.0}, "route_length must be between"),
        ({"rules": "lenient"}, "unknown rules 'lenient'"),
        ({"split": "dev"}, "unknown split"),
    ):
        with pytest.raises(ValueError, match=says):
            make(server, **wrong)


def test_its_row_is_live_and_without_the_package_it_says_what_to_install() -> None:
    row = catalogue.find("tiltyard/Carla-v0")
    assert (row.tier, row.domain, row in catalogue.INSTALLED) == ("live", "driving", True)
    assert gymnasium.spec("tiltyard/Carla-v0").nondeterministic
    made = gymnasium.make("tiltyard/Carla-v0", client=Server().module, vehicles=0)
    assert made.reset(seed=0)[0].shape == (SIZE,)
    made.close()


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "carla", None)
    with pytest.raises(tiltyard.MissingExtra, match=r'\[carla\]"$'):
        CarlaEnv()
