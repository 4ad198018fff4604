import numpy as np

from tiltyard.envs.columns import masked, merged, names_of

LEFT, RIGHT = np.array([True, False, False]), np.array([False, False, True])


def test_infos_of_disjoint_environments_are_one_also_where_they_are_nested() -> None:
    first = masked({"score": np.array([1.0, 0, 0]), "terms": {"pace": np.array([2.0, 0, 0])}, "only": [7, 0, 0]}, LEFT)
    second = masked({"score": np.array([0, 0, 3.0]), "terms": {"pace": np.array([0, 0, 4.0])}}, RIGHT)
    both = merged(first, second)
    assert both["score"].tolist() == [1, 0, 3]
    assert both["terms"]["pace"].tolist() == [2, 0, 4]
    assert both["terms"]["_pace"].tolist() == both["_terms"].tolist() == both["_score"].tolist() == [True, False, True]
    assert both["_only"].tolist() == [True, False, False]
    assert first["score"].tolist() == [1, 0, 0]  # neither is changed


def test_arrays_are_copied_unless_they_are_known_to_be_fresh() -> None:
    own = np.array([1.0, 2.0, 3.0])
    assert masked({"height": own}, LEFT)["height"] is not own
    assert masked({"terms": {"height": own}}, LEFT, copy=False)["terms"]["height"] is own


def test_names_of_numbers_are_empty_where_these_are_0() -> None:
    names, numbers = np.array(["", "struck", "late"]), np.array([0, 2, 0, 1, 2], np.int8)
    assert names_of(names, numbers).tolist() == names[numbers].tolist() == ["", "late", "", "struck", "late"]
