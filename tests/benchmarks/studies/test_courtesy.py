from tiltyard.benchmarks.studies import courtesy
from tiltyard.benchmarks.studies._driving_study import Ride, summary
from tiltyard.benchmarks.studies._study import said


def test_braking_is_counted_a_km_by_hand():
    rides = [Ride(1.0, 1.0, True, "", 40.0, 300.0, 2, 7.0), Ride(0.0, 0.5, False, "collision", 9.0, 200.0, 1, 6.0)]
    found = summary(rides)
    assert found["pushed a km"] == 3 / 0.5
    assert found[courtesy.BRAKING] == (7.0 + 6.0) * 0.2 / 0.5  # steps of 0.2 s, over half a km
    assert (found["success"], found["collisions"]) == (0.5, 0.5)


def test_the_verdict_says_which_way_with_an_interval():
    low, high = [1.0, 1.1, 1.2, 1.3, 1.4], [2.0, 2.1, 2.2, 2.3, 2.4]
    # The difference of means is 1; each mean's variance 0.025 / 5; Student's t with 4 degrees of freedom is 2.776.
    assert courtesy.verdict([high, low]).startswith("The charged impose less braking: charged minus not charged -1.00")
    assert "-1.00 [-1.28, -0.72] m/s a km" in courtesy.verdict([high, low])
    assert courtesy.verdict([low, high]).startswith("The charged impose more braking")
    found = courtesy.verdict([[1.0, 2.0, 3.0, 4.0], [1.1, 2.1, 2.9, 4.1]])
    assert found.startswith("No significant difference in the braking imposed: charged minus not charged 0.05")
    assert courtesy.verdict([[1.0], [2.0]]) == "Too few seeds for a verdict."


def test_runs_that_are_all_alike_have_no_interval():
    assert said([0.0] * 5) == "0.00 (no interval: 5 identical runs)"
    assert said([1.0, 2.0, 3.0]) == "2.00 [-0.48, 4.48]"
