"""Scripted road users: what they do when a policy's car comes near, as data that one small machine plays.

A script belongs to one agent (``Agent.log`` is its number) and watches the world's first agent, the *ego*, on its way
to a *place*. It waits; when the ego's front is within ``near + eta * v`` m of the place it plays, for ``seconds`` or
for good; then the agent goes on as ordinary traffic. While it waits it stands, or keeps pace: its middle is ``lead +
lag * v`` m further on towards the place than the ego is, so that it is where it has to be whatever the ego's speed.

A body that reaches into a lane is listed there, so that drivers behind see it; on the pavement it is in no lane.
"""

import math
from typing import Any

from ..compiled import compiled, merged
from ..traffic import FREE, idm
from .motion import move
from .places import advance_route, beside, put_on_lane, wrap
from .state import CAR, DRIVER, NONE, PERSON, SCRIPTED, SIM_DT, Agent, Agents, Script, World
from .tracking import near_lanes, settle

STAND, KEEP, DRIVE, BRAKE, CHANGE_LEFT, CHANGE_RIGHT, PULL_OUT, OPEN_DOOR, WALK, RUSH, SWERVE = range(11)
PLAYS = ("stand", "keep", "drive", "brake", "change-left", "change-right", "pull-out", "open-door", "walk") + (
    "rush",
    "swerve",
)
"""Names of what scripts play, by number."""
IDLE, WAITING, PLAYING, OVER = range(4)
"""Of ``Script.phase``; idle scripts are nobody's."""
DOOR = 0.9  # m
DODGE = 2.5  # m/s sideways of a swerve
GRIP, PUSH = 7.0, 3.5  # m/s2: hardest braking, and acceleration of scripts
CATCH_UP = 0.8  # 1/s: how fast who keeps pace makes up for a distance
LONGEST = 8.0  # s of a rush that has no end of its own
GONE = 60.0  # m: a straight line so long from the ego, and a script that waits is not for it


@compiled
def away(atlas: Any, route: Any, ego: Agent, lane: int, s: float) -> float:
    """Metres along the ego's route from its front to a place on ``lane``, beside it or in its junction; FREE: none."""
    base = -ego.s - 0.5 * ego.length
    for j in range(len(route)):
        if route[j] < 0:
            break
        here, there = atlas.lanes[route[j]], atlas.lanes[lane]
        level = here.junction == there.junction and (here.junction >= 0 or here.road == there.road)
        if route[j] == lane or level:
            return float(base + s)
        base += here.length
    return FREE


@compiled
def scripted(car: Agent) -> bool:
    """Whether a script moves a vehicle, which then has to attend to rules as a policy's has."""
    return car.controller == SCRIPTED and car.kind != PERSON


@compiled
def hand_over(car: Agent, script: Script) -> None:
    """From now on the agent is ordinary traffic."""
    script.phase = OVER
    car.controller = DRIVER
    car.desired = 50.0 if car.kind == CAR else max(script.speed, 2.0)
    car.pace, car.headway, car.accel, car.brake, car.politeness = 0.9, 1.4, 1.6, 1.8, 0.2
    car.patience = 5.0
    car.careless = 0


@compiled
def show(atlas: Any, car: Agent, script: Script, door: float) -> None:
    """Makes a parked body wider to the left by a door, or narrower; who has an open door is in the lane."""
    car.lane, car.width, car.d = script.home, car.width + door, car.d + 0.5 * door
    put_on_lane(atlas, atlas.lanes[car.lane], car)
    if door < 0.0:
        car.lane = NONE


@compiled
def set_off(atlas: Any, car: Agent, script: Script) -> None:
    """The ego is near: what changes at once."""
    script.phase, script.clock = PLAYING, 0.0
    if script.then == CHANGE_LEFT or script.then == CHANGE_RIGHT:
        car.side = 1 if script.then == CHANGE_LEFT else -1
        if script.target == atlas.lanes[car.lane].left or script.target == atlas.lanes[car.lane].right:
            _, s, _ = beside(atlas, car, script.target)
            car.beside, car.beside_s = script.target, s
        else:
            hand_over(car, script)
    elif script.then == PULL_OUT:
        car.lane = script.home
    elif script.then == OPEN_DOOR:
        show(atlas, car, script, DOOR)
    elif script.then == DRIVE:
        hand_over(car, script)


@compiled
def pace(cars: Agents, car: Agent, script: Script, distance: float, limit: float) -> float:
    """The acceleration of a scripted vehicle, m/s2."""
    wanted = 0.0
    if script.phase == WAITING and script.first == KEEP and distance < FREE:
        ahead = script.lead + script.lag * cars[0].v - distance - script.p
        wanted = min(max(cars[0].v + CATCH_UP * ahead, 0.0), 1.3 * limit)
    elif script.phase == PLAYING and script.then >= CHANGE_LEFT and script.then != OPEN_DOOR:
        wanted = script.speed
    a = min(max((wanted - car.v) / SIM_DT, -GRIP), PUSH)
    if car.leader > 0 or (car.leader == 0 and script.lead < 0.0):
        a = min(a, idm(car.v, cars[car.leader].v, car.gap, max(wanted, 1.0), 0.8, 2.0, 3.0))
    return max(a, -GRIP)


@compiled
def swerve(world: World, atlas: Any, stream: Any, car: Agent, route: Any, script: Script) -> bool:
    """One tick of a vehicle that leaves its lane sideways and comes back; returns False at the end of its map."""
    v = max(0.0, car.v + car.a * SIM_DT)
    way = 0.5 * (car.v + v) * SIM_DT
    goal = script.swing if script.clock < script.seconds else 0.0
    drift = min(max(goal - car.d, -DODGE * SIM_DT), DODGE * SIM_DT)
    car.v = v
    car.s += way
    car.odometer += way
    car.entry -= way
    car.d += drift
    car.turn = math.atan2(drift, max(way, 0.1))
    while car.s > atlas.lanes[car.lane].length:
        if route[1] < 0:
            return False
        advance_route(world, stream, atlas, car, route)
    put_on_lane(atlas, atlas.lanes[car.lane], car)
    return True


@compiled
def finish(atlas: Any, car: Agent, script: Script) -> None:
    """Ends a play that has done what it was for."""
    late = 0.0 < script.seconds < script.clock
    if script.then == CHANGE_LEFT or script.then == CHANGE_RIGHT:
        if car.beside < 0:
            hand_over(car, script)
    elif script.then == PULL_OUT:
        if car.d == 0.0:
            hand_over(car, script)
    elif script.then == OPEN_DOOR:
        if late:
            show(atlas, car, script, -DOOR)
            script.phase = OVER
    elif script.then == SWERVE:
        if late and car.d == 0.0:
            hand_over(car, script)
    elif late or (script.then == RUSH and script.clock > LONGEST):
        hand_over(car, script)


@compiled
def stroll(world: World, atlas: Any, car: Agent, route: Any, script: Script) -> None:
    """One tick of a person who crosses the road straight on, seen by drivers as soon as it sets off."""
    if script.phase != PLAYING:
        car.v = 0.0
        return
    car.v = script.speed
    car.x += car.v * math.cos(car.heading) * SIM_DT
    car.y += car.v * math.sin(car.heading) * SIM_DT
    car.odometer += car.v * SIM_DT
    lane, point, _, inside = near_lanes(world, atlas, car, route)
    if inside:
        script.p = 1.0  # it has reached the road
    elif script.p > 0.5 and lane == NONE:  # it has crossed it
        script.p += car.v * SIM_DT
        if script.p > 2.0:
            script.phase, car.v = OVER, 0.0
    if lane == NONE and script.p < 0.5:
        lane, point = script.home, car.point
    car.lane = lane
    if lane != NONE:
        car.point = point
        settle(atlas, car)


@merged
def play(world: World, cars: Agents, events: Any, atlas: Any, stream: Any, routes: Any, scripts: Any, me: int) -> bool:
    """One tick of a scripted agent; returns False when it leaves the map."""
    car = cars[me]
    script = scripts[car.log]
    distance = away(atlas, routes[0], cars[0], script.lane, script.s)
    if script.phase == WAITING and -GONE < distance <= script.near + script.eta * cars[0].v:
        set_off(atlas, car, script)
    if script.phase == PLAYING:
        script.clock += SIM_DT
    if script.then == RUSH:  # it has no right of way, and takes none
        car.against, car.zone, car.further = 1, NONE, NONE
    if car.kind == PERSON:
        stroll(world, atlas, car, routes[me], script)
        return True
    there = True
    if car.lane >= 0:
        car.a = max(pace(cars, car, script, distance, atlas.lanes[car.lane].limit), -car.v / SIM_DT)
        before = car.odometer
        if script.phase == PLAYING and script.then == SWERVE:
            there = swerve(world, atlas, stream, car, routes[me], script)
        elif car.v > 0.0 or car.a > 0.0 or car.beside >= 0:
            there = move(world, cars, events, atlas, stream, routes, me)
        script.p += car.odometer - before
    if there and script.phase == PLAYING:
        finish(atlas, car, script)
    return there


@compiled
def lay_on(atlas: Any, car: Agent, heading: float) -> None:
    """Puts an agent where ``lane, s, d`` say, turned by ``heading`` rad, and takes it out of the lane's list."""
    put_on_lane(atlas, atlas.lanes[car.lane], car)
    car.heading = wrap(car.heading + heading)
    car.lane = NONE
