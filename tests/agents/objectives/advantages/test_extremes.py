from tiltyard.agents.objectives.advantages.extremes import extremes


def test_best_and_worst_are_marked(answers):
    group = [0, 0, 0, 0, 7, 7]
    rollouts, _ = answers([1.0, 1.0, 0.0, 0.5, 0.3, 0.3], [[-1.0]] * 6, group=group)
    assert extremes(rollouts).tolist() == [1.0, 1.0, -1.0, 0.0, 0.0, 0.0]
