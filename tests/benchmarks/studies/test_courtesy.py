from tiltyard.benchmarks.studies import courtesy
from tiltyard.benchmarks.studies._driving_study import Ride, summary


def test_braking_is_counted_a_km_by_hand():
    rides = [Ride(1.0, 1.0, True, "", 40.0, 300.0, 2, 7.0), Ride(0.0, 0.5, False, "collision", 9.0, 200.0, 1, 6.0)]
    found = summary(rides)
    assert found["pushed a km"] == 3 / 0.5
    assert found[courtesy.BRAKING] == (7.0 + 6.0) * 0.2 / 0.5  # steps of 0.2 s, over half a km
    assert (found["success"], found["collisions"]) == (0.5, 0.5)


def test_the_verdict_says_which_way_and_whether_it_can_be_told():
    low, high = [1.0, 1.1, 1.2, 1.3, 1.4], [2.0, 2.1, 2.2, 2.3, 2.4]
    assert "imposes less braking than" in courtesy.verdict([high, low])
    assert "imposes more braking than" in courtesy.verdict([low, high])
    assert "cannot be told" in courtesy.verdict([[1.0, 2.0, 3.0, 4.0], [1.1, 2.1, 2.9, 4.1]])
    assert courtesy.verdict([[1.0], [2.0]]) == "Too few seeds for a verdict."
