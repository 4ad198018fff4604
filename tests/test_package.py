"""The package as users install it: light imports, registration without an import of ours, links, wheel and sdist."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import tiltyard

ROOT = Path(__file__).parents[1]


def run_python(code: str, *arguments: str, python: str = sys.executable, cwd: Path | None = None) -> str:
    """Runs ``code`` in a fresh interpreter and returns what it printed."""
    done = subprocess.run([python, *arguments, "-c", code], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


HEAVY = ("torch", "mujoco", "numba", "reasoning_gym", "stable_baselines3", "matplotlib", "PIL")


@pytest.mark.parametrize(
    "statement",
    ["import gymnasium", "import tiltyard", "import tiltyard.envs", "import tiltyard.envs.catalogue, tiltyard.agents"],
)
def test_import_stays_light(statement: str, tmp_path: Path) -> None:
    loaded = run_python(f"{statement}\nimport sys\nprint([m for m in {HEAVY} if m in sys.modules])", cwd=tmp_path)
    assert loaded == "[]"


def test_python_starts_without_importing_gymnasium_or_numpy(tmp_path: Path) -> None:
    code = "import sys; print([m for m in ('gymnasium', 'numpy', 'difflib', 'tiltyard.envs') if m in sys.modules])"
    assert run_python(code, cwd=tmp_path) == "[]"


def test_gymnasium_makes_our_environments_with_no_import_of_ours(tmp_path: Path) -> None:
    code = (
        "import gymnasium\n"
        "env = gymnasium.make('tiltyard/Countdown-v0')\n"
        "observation, info = env.reset(seed=0)\n"
        "vector = gymnasium.make_vec('tiltyard/Countdown-v0', num_envs=3, vectorization_mode='vector_entry_point')\n"
        "print(len(info['numbers']), vector.num_envs)"
    )
    assert run_python(code, cwd=tmp_path) == "3 3"


@pytest.mark.parametrize("first", ["tiltyard.envs", "gymnasium", "tiltyard.envs.core", "gymnasium.envs"])
def test_registration_does_not_hang_on_import_order(first: str, tmp_path: Path) -> None:
    code = (
        "import warnings; warnings.simplefilter('error')\n"
        f"import {first}, tiltyard.envs.catalogue, gymnasium\n"
        "assert all(row.id in gymnasium.registry for row in tiltyard.envs.catalogue.ROWS)\n"
        "print('all')"
    )
    assert run_python(code, cwd=tmp_path) == "all"


def test_entry_point_group_is_declared() -> None:
    from importlib.metadata import entry_points

    (entry,) = entry_points(group="gymnasium.envs", name="tiltyard")
    assert entry.load().__name__ == "register_all"


@pytest.mark.parametrize("room", ["envs", "agents", "wrappers", "benchmarks"])
def test_bare_import_of_a_room_fails_loudly(room: str) -> None:
    code = f"try:\n    import {room}\nexcept ImportError as error:\n    print('beyond top-level' in str(error))"
    assert run_python(code, cwd=ROOT) == "True"


def test_missing_extra_names_the_install_line() -> None:
    with pytest.raises(tiltyard.MissingExtra, match=r'pip install "tiltyard\[carla\]"'):
        tiltyard.need("a_module_that_does_not_exist", extra="carla")


def test_unknown_names_the_nearest() -> None:
    message = tiltyard.unknown("agent", "ppoo", ["ppo", "sac"])
    assert message == "unknown agent 'ppoo'; did you mean 'ppo'? (valid: ppo, sac)"
    assert tiltyard.unknown("suite", "zzz", ["smoke"]) == "unknown suite 'zzz'; (valid: smoke)"
    assert (
        tiltyard.unknown("agent", "PPO", ["ppo", "sac"]) == "unknown agent 'PPO'; did you mean 'ppo'? (valid: ppo, sac)"
    )
    many = [f"name-{i}" for i in range(40)]
    assert (
        tiltyard.unknown("id", "name7", many) == "unknown id 'name7'; did you mean 'name-7' or 'name-37' or 'name-27'?"
    )
    assert tiltyard.unknown("id", "qq1", many) == "unknown id 'qq1'; nearest of 40: name-1, name-31, name-21"


@pytest.mark.slow
def test_wheel_built_from_the_sdist_works_in_a_clean_environment(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "build", "--outdir", tmp_path, ROOT], check=True, capture_output=True)
    (sdist,), (wheel,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    with tarfile.open(sdist) as archive:
        assert not [name for name in archive.getnames() if "/tests" in name]
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("tiltyard/py.typed", "tiltyard/envs/catalogue.py", "tiltyard/benchmarks/claims/papers.tsv"):
        assert needed in names
    assert "tiltyard_gymnasium.pth" in names
    assert not [name for name in names if name.startswith(("tests", "envs")) or name.endswith(".pyc")]
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = str(venv / "bin" / "python")
    constraints = ["-c", str(ROOT / "requirements.lock")]
    subprocess.run([python, "-m", "pip", "install", "-q", *constraints, wheel], check=True)
    code = "import gymnasium; print(gymnasium.make('tiltyard/Countdown-v0').reset(seed=0)[1]['target'] > 0)"
    assert run_python(code, python=python, cwd=tmp_path) == "True"
    assert run_python("import tiltyard; print(tiltyard.__file__)", python=python, cwd=tmp_path).startswith(str(venv))
