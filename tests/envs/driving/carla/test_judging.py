from dataclasses import replace
from math import nan

import pytest

from tiltyard.envs.driving.carla.judging import Judge
from tiltyard.envs.driving.carla.recording import Recorder, _side
from tiltyard.envs.driving.carla.scene import body, kind_of, wrapped

from .fake import Server
from .scenes import car, scene

NOBODY = (nan, nan)


def judged(judge: Judge, now: object, happened: list[str] | None = None, **given: object) -> Judge:
    facts: dict[str, object] = {"follower": NOBODY, "ttc": 9.0, **given}
    judge.step(now, happened or [], facts["follower"], facts["ttc"])  # type: ignore[arg-type]
    return judge


def fresh(rules: str = "strict") -> Judge:
    judge = Judge(rules, 100.0, 60.0)  # type: ignore[arg-type]
    judge._last = (10.0, 0.0, 0.0, 0.0)
    return judge


def test_the_reward_is_progress_times_factors() -> None:
    judge = judged(fresh(), scene(s=2.0))
    assert judge.reward == pytest.approx(0.02)
    assert not judge.ended
    slow = judged(fresh(), scene(s=2.0), ttc=0.9)
    assert slow.reward == pytest.approx(0.01)
    harsh = judged(fresh(), scene(s=2.0), follower=(-4.0, 0.0))  # 4 m/s2 imposed: courtesy one half
    assert (harsh.reward, harsh.terms["courtesy"]) == (pytest.approx(0.01), 0.5)
    assert harsh.offence == ""
    assert judged(fresh(), scene(s=2.0), follower=(-4.1, 0.0)).offence == "imposed_braking"
    off = replace(scene().place, outside=0.2)
    assert judged(fresh(), scene(s=2.0, place=off)).reward == 0.0
    assert judged(fresh(), scene(s=2.0), ["red_light"]).reward == pytest.approx(0.02 - 0.1)
    assert judged(fresh(), scene(s=2.0), ["struck"]).reward == pytest.approx(0.02)


def test_how_an_episode_ends() -> None:
    done = judged(fresh(), scene(s=101.0))
    assert (done.ended, done.success, done.ended_as) == (True, True, "completed")
    assert judged(fresh(), scene(aside=31.0)).ended_as == "deviation"
    assert judged(fresh(), scene(), ["struck"]).ended_as == "collision"
    late = fresh()
    late.clock = 60.0
    assert judged(late, scene()).ended_as == "timeout"
    still = fresh("leaderboard")
    still.still = 100.0
    assert not judged(still, scene(ego=car(v=0.0))).ended
    still.still = 180.0
    assert judged(still, scene(ego=car(v=0.0))).ended_as == "blocked"


def test_on_the_leaderboard_a_route_goes_on_and_is_no_success() -> None:
    judge = judged(fresh("leaderboard"), scene(s=2.0), ["collision"])
    assert (judge.ended, judge.terms["penalty"]) == (False, 0.0)
    judged(judge, scene(s=101.0))
    assert (judge.complete, judge.success) == (True, False)


def test_what_was_touched_is_told_from_the_tick_before() -> None:
    assert _side(car(), car(2, x=5.5, v=2.0)) == "front"  # half a metre before the bumper, closing
    assert _side(car(), car(2, x=-5.2, v=15.0)) == "rear"
    assert _side(car(), car(2, y=2.1)) == "side"
    assert _side(car(), None) == "front"
    assert _side(car(v=-2.0), None) == "rear"


def test_a_contact_is_one_collision_for_as_long_as_it_lasts() -> None:
    class Told:
        def __init__(self, number: int, type_id: str) -> None:
            self.other_actor = type("Actor", (), {"id": number, "type_id": type_id})()

    recorder = Recorder(100.0, {})
    ahead = car(2, x=5.2, v=0.0)
    recorder.see(scene(ahead), [])
    assert recorder.see(scene(ahead, s=1.0), [Told(2, "vehicle.audi.tt")]) == [True]
    assert recorder.see(scene(ahead, s=1.0), [Told(2, "vehicle.audi.tt")]) == []
    assert recorder.see(scene(ahead, s=1.0), [Told(0, "static.wall"), Told(0, "static.wall")]) == [True]
    log = recorder.log("collision")
    assert [(event.other, event.other_id, event.time) for event in log.events] == [
        ("vehicle", 2, pytest.approx(0.1)),
        ("static", -1, pytest.approx(0.3)),
    ]
    assert log.ttc[0] == pytest.approx(0.1)  # 0.2 m at 10 m/s
    assert log.ttc[3] == float("inf")  # whom it has hit already is no longer about to be hit


def test_actors_are_turned_into_our_frame() -> None:
    server = Server()
    make = server.module
    blueprint = server.world.get_blueprint_library().find("vehicle.bh.crossbike")
    actor = server.world.spawn_actor(
        blueprint, make.Transform(make.Location(3.0, 4.0, 0.5), make.Rotation(0.0, 90.0, 0.0))
    )
    actor.v, actor.a, actor.turn = 2.0, 1.0, 0.5  # south in our frame, turning to the right
    found = body(actor)
    assert (found.kind, found.x, found.y, found.z) == ("cyclist", 3.0, -4.0, 0.5)
    assert wrapped(found.heading) == pytest.approx(-1.5707963)
    assert (found.v, found.accel, found.lateral_accel, found.yaw_rate) == pytest.approx((2.0, 1.0, -1.0, -0.5))
    assert (found.length, found.width) == (1.8, 0.6)
    assert kind_of("traffic.stop") == kind_of("sensor.camera.rgb") == "static"
    assert kind_of("vehicle.kawasaki.ninja") == "vehicle"
