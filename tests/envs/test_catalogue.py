"""Which ids the catalogue knows, ours and others."""

import sys
from pathlib import Path

import gymnasium
import pytest

from tiltyard.envs import catalogue
from tiltyard.wrappers import sb3_env

MODULE = "import gymnasium\ngymnasium.register('{0}/Far-v0', 'gymnasium.envs.classic_control:CartPoleEnv')\n"


def test_a_row_without_scores_leaves_returns_as_they_are() -> None:
    row = catalogue.find("CartPole-v1")
    assert (row.domain, row.scored, row.splits, row.max_episode_steps) == ("other", False, False, 500)
    assert row.normalise(37.5) == 37.5
    assert catalogue.find("tiltyard:tiltyard/Hopper-v5") is catalogue.find("tiltyard/Hopper-v5")
    assert all(ours.splits for ours in catalogue.ROWS)


def test_rows_keep_what_their_tier_promises() -> None:
    assert catalogue.ROWS
    for row in catalogue.ROWS:
        assert row.vector_entry_point or not row.promises("vector"), row.id
        scored = row.scored and None not in (row.blind_score, row.blind_success)
        assert scored or not row.promises("scored"), row.id
        assert gymnasium.spec(row.id).nondeterministic is not row.promises("deterministic")


def test_what_needs_scores_refuses_them() -> None:
    with pytest.raises(ValueError, match="CartPole-v1 has no known scores"):
        catalogue.find_scored("CartPole-v1")


def test_module_and_id_are_imported_when_resolved_not_when_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "far_away_package"
    (tmp_path / f"{name}.py").write_text(MODULE.format(name))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    env_id = f"{name}:{name}/Far-v0"
    assert catalogue.find(env_id).id == env_id
    assert name not in sys.modules
    assert catalogue.resolve(env_id).id == env_id
    assert sb3_env(env_id, 2).reset().shape == (2, 4)
    with pytest.raises(KeyError, match=f"importing '{name}' registers no 'Other-v0'"):
        catalogue.resolve(f"{name}:Other-v0")
    with pytest.raises(KeyError, match="there is no module 'nowhere_at_all' to import it from"):
        catalogue.resolve("nowhere_at_all.inner:Other-v0")
    gymnasium.registry.pop(f"{name}/Far-v0")


@pytest.mark.parametrize(
    ("env_id", "says"),
    [
        ("tiltyard/Hoper-v5", r"did you mean 'tiltyard/Hopper-v5'(?!.*CartPole)"),
        ("CartPole-v7", r"did you mean 'CartPole-v1' or 'CartPole-v0'.*given as module:CartPole-v7"),
        ("<b>:x", "unknown environment '<b>:x'"),
        ("os.path:a b", "unknown environment"),
        (":CartPole-v1", "unknown environment"),
    ],
)
def test_unknown_ids_name_the_nearest(env_id: str, says: str) -> None:
    with pytest.raises(KeyError) as error:
        catalogue.find(env_id)
    import re

    assert re.search(says, error.value.args[0])
