"""The words that this back end shares with our own towns: entries of the observation, terms of the reward, infractions.

They are those of :mod:`tiltyard.envs.driving.town.observe` and ``.town.episode``, entry by entry, so that a policy that
was trained there reads the same vector here.
"""

OWN = (
    "speed / 20",
    "(speed - limit) / 10",
    "limit / 30",
    "acceleration / 5",
    "steering angle / 0.5",
    "yaw rate / 1",
    "lateral acceleration / 5",
    "heading relative to the lane / (pi / 2)",
    "offset from the middle of the lane / half its width",
    "distance to the left edge of the lane / 4",
    "distance to the right edge of the lane / 4",
    "a lane to the left",
    "a lane to the right",
    "share of the route left",
    "metres of the route left / 200",
    "share of the time left",
    "speed needed to be in time / limit",
    "time across a marking / 3",
    "lane change of a manoeuvre: 1 to the left, -1 to the right",
    "(wanted speed of a manoeuvre - speed) / 10",
    "seconds of standing / 30",
)
AHEAD = (4.0, 8.0, 14.0, 22.0, 32.0, 44.0, 60.0, 80.0)
"""Where the route is looked at, m along it."""
WAYPOINT = ("x / 80", "y / 40", "heading / pi", "half the lane's width / 4", "limit / 30")
RULES = (
    "distance to the next stop line of the route / 80 (1: none within 80 m)",
    "it has a signal",
    "it has a stop sign",
    "it says give way",
    "the signal is red",
    "amber",
    "green",
    "it has stopped at the sign",
    "distance to the next crossing of the route / 80 (1: none within 80 m)",
    "somebody is on it",
    "gap to the vehicle ahead / 80 (1: nobody)",
    "its relative speed / 15",
)
NEIGHBOURS = 16
SIGHT = 80.0  # m
NEIGHBOUR = (
    "there is one",
    "x / 80",
    "y / 80",
    "cosine of its relative heading",
    "sine of its relative heading",
    "relative velocity along x / 20",
    "relative velocity along y / 20",
    "length / 10",
    "width / 3",
    "kind: -1 a pedestrian, 0 a bicycle, 1 a motor vehicle",
)
SIZE = len(OWN) + len(AHEAD) * len(WAYPOINT) + len(RULES) + NEIGHBOURS * len(NEIGHBOUR)
INFRACTIONS = (
    "",
    "collision",
    "struck",
    "red_light",
    "stop_sign",
    "off_road",
    "wrong_way",
    "off_route",
    "blocked",
    "late",
)
"""What ends an episode without success; ``struck`` is a collision that was the other's fault and costs no penalty."""
OFFENCES = ("", "outside_lanes", "speeding", "straddling", "right_of_way", "imposed_braking")
"""What costs success without ending the episode."""
TERMS = ("route_completion", "speed", "ttc", "gap", "comfort", "lane", "courtesy", "penalty")
