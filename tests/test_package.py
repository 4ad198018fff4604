"""The package as users install it: light imports, registration by its import alone, links, wheel and sdist."""

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import hatchling.build
import pytest

import tiltyard
from tiltyard.benchmarks.session import TRACKERS

ROOT = Path(__file__).parents[1]
ALONE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
HEAVY = ("torch", "mujoco", "numba", "reasoning_gym", "stable_baselines3", "matplotlib", "PIL")


def run_python(code: str, *arguments: str, python: str = sys.executable, cwd: Path | None = None) -> str:
    """Runs ``code`` in a fresh interpreter and returns what it printed; another Python finds its own packages alone."""
    env = None if python == sys.executable else ALONE
    command = [python, *arguments, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "statement",
    ["import tiltyard", "import tiltyard.envs", "import tiltyard.envs.catalogue, tiltyard.agents"],
)
def test_import_stays_light(statement: str, tmp_path: Path) -> None:
    loaded = run_python(f"{statement}\nimport sys\nprint([m for m in {HEAVY} if m in sys.modules])", cwd=tmp_path)
    assert loaded == "[]"


def test_python_starts_without_us(tmp_path: Path) -> None:
    code = "import sys; print([m for m in ('gymnasium', 'numpy', 'tiltyard') if m in sys.modules])"
    assert run_python(code, cwd=tmp_path) == "[]"


@pytest.mark.parametrize(
    "code",
    [
        "import tiltyard, gymnasium; env = gymnasium.make('tiltyard/Countdown-v0')",
        "import gymnasium, tiltyard; env = gymnasium.make('tiltyard/Countdown-v0')",
        "import gymnasium; env = gymnasium.make('tiltyard:tiltyard/Countdown-v0')",
        "import gymnasium; env = gymnasium.make_vec('tiltyard:tiltyard/Countdown-v0', num_envs=2)",
        "import gymnasium, tiltyard; gymnasium.register_envs(tiltyard); env = gymnasium.make('tiltyard/Countdown-v0')",
        "from gymnasium import make_vec; import tiltyard.envs; env = make_vec('tiltyard/Countdown-v0', num_envs=2)",
        "from tiltyard import agents; import gymnasium; env = gymnasium.make('tiltyard/Countdown-v0')",
    ],
)
def test_every_door_of_gymnasium_opens(code: str, tmp_path: Path) -> None:
    code = (
        f"import warnings; warnings.simplefilter('error')\n{code}\nprint(env.spec.id, 'target' in env.reset(seed=0)[1])"
    )
    assert run_python(code, cwd=tmp_path) == "tiltyard/Countdown-v0 True"


def test_it_can_be_imported_by_a_python_that_ran_before_it_was_there(tmp_path: Path) -> None:
    code = f"import gymnasium, sys; sys.path.append({str(ROOT)!r}); import tiltyard\n"
    code += "print(gymnasium.make('tiltyard/Countdown-v0').spec.id)"
    assert run_python(code, "-I", cwd=tmp_path) == "tiltyard/Countdown-v0"


@pytest.mark.parametrize("first", ["tiltyard", "tiltyard.envs", "gymnasium", "tiltyard.envs.core", "gymnasium.envs"])
def test_registration_does_not_hang_on_import_order(first: str, tmp_path: Path) -> None:
    code = (
        "import warnings; warnings.simplefilter('error')\n"
        f"import {first}, tiltyard.envs.catalogue, gymnasium\n"
        "assert all(row.id in gymnasium.registry for row in tiltyard.envs.catalogue.ROWS)\n"
        "print('all')"
    )
    assert run_python(code, cwd=tmp_path) == "all"


@pytest.mark.parametrize("room", ["envs", "agents", "wrappers", "benchmarks"])
def test_bare_import_of_a_room_fails_loudly(room: str) -> None:
    code = f"try:\n    import {room}\nexcept ImportError as error:\n    print('beyond top-level' in str(error))"
    assert run_python(code, cwd=ROOT) == "True"


def test_every_extra_holds_what_some_code_asks_for() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    files = [path for room in ("envs", "agents", "benchmarks") for path in (ROOT / room).rglob("*.py")]
    code = "".join(path.read_text() for path in files)
    unused = [extra for extra in extras if f', "{extra}")' not in code and f'extra="{extra}")' not in code]
    assert set(unused) - set(TRACKERS) == {"dev", "docs"}  # what the Makefile asks for


def test_missing_extra_names_the_install_line_of_this_clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(tiltyard.MissingExtra, match=r"'not_there' cannot be imported .*pip install -e \"\.\[ray\]\"$"):
        tiltyard.need("not_there", extra="ray")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tiltyard.MissingExtra) as error:
        tiltyard.need("not_there", extra="ray")
    assert str(error.value).endswith(f'pip install -e "{ROOT}[ray]"')


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        (None, '"tiltyard[hf]"'),
        ({"url": "file:///home/me/tiltyard", "dir_info": {}}, '"tiltyard[hf] @ file:///home/me/tiltyard"'),
        (
            {"url": "https://host/us/tiltyard", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            '"tiltyard[hf] @ git+https://host/us/tiltyard@abc"',
        ),
    ],
)
def test_missing_extra_names_the_install_line_of_a_package(
    origin: dict[str, object] | None, line: str, tmp_path: Path
) -> None:
    package = tmp_path / "tiltyard"
    package.mkdir()
    for path in (ROOT / "tiltyard").iterdir():
        (package / path.name).symlink_to(path) if path.is_dir() else (package / path.name).write_text(path.read_text())
    metadata = tmp_path / "tiltyard-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: tiltyard\nVersion: 0.1.0\n")
    if origin is not None:
        (metadata / "direct_url.json").write_text(json.dumps(origin))
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tiltyard; tiltyard.need('not_there', 'hf')"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith(f"pip install {line}")


WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in ('transformers', 'peft', 'ray', 'optuna'):
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
sys.meta_path.insert(0, Missing())
from tiltyard.benchmarks.cli import main
for line in sys.argv[1:]:
    print('exit', main(line.split()), file=sys.stderr)
"""


def test_a_missing_extra_is_a_sentence_and_exit_code_2(tmp_path: Path) -> None:
    lines = {
        "train --env tiltyard/TreeMDP-v0 --agent grpo --steps 8 --set policy=hf:some/model": "hf",
        "race smoke --agents sft --seeds 0 --engine ray": "ray",
        "tune smoke --method random --trials 3 --agents sft": "tune",
    }
    command = [sys.executable, "-c", WITHOUT, *lines]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    said = done.stderr.split("exit 2\n")
    assert len(said) == len(lines) + 1, done.stderr
    for extra, sentence in zip(lines.values(), said, strict=False):
        assert sentence.startswith("tiltyard: ")
        assert sentence.strip().endswith(f'pip install -e "{ROOT}[{extra}]"')
    assert "Traceback" not in done.stderr


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
    settings = ["learning_rate", "learning_starts", *many]
    assert tiltyard.unknown("keyword", "lr", settings) == "unknown keyword 'lr'; did you mean 'learning_rate'?"
    assert "'learning_rate'" not in tiltyard.unknown("keyword", "l", settings)


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to build into, with the repository as the current one, as build backends want it."""
    monkeypatch.chdir(ROOT)
    return tmp_path


def test_an_editable_install_copies_nothing_but_where_the_clone_is(built: Path) -> None:
    wheel = zipfile.ZipFile(built / hatchling.build.build_editable(str(built)))
    (pth,) = [name for name in wheel.namelist() if ".dist-info/" not in name]
    assert pth.endswith(".pth")
    assert wheel.read(pth).decode().split() == [str(ROOT)]


def test_a_wheel_holds_the_package_and_nothing_that_runs_when_python_starts(built: Path) -> None:
    names = zipfile.ZipFile(built / hatchling.build.build_wheel(str(built))).namelist()
    for room in ("envs", "agents", "wrappers", "benchmarks"):
        for kind in ("*.py", "*.jinja", "*.html", "*.css", "*.js"):
            here = {f"tiltyard/{path.relative_to(ROOT)}" for path in (ROOT / room).rglob(kind)}
            assert here <= set(names)
    assert {f"tiltyard/{path.name}" for path in (ROOT / "tiltyard").iterdir() if path.is_file()} <= set(names)
    assert len(names) == len(set(names))
    assert {name.partition("/")[0] for name in names} == {"tiltyard", f"tiltyard-{tiltyard.__version__}.dist-info"}
    assert not [name for name in names if name.endswith((".pth", ".pyc"))]


@pytest.mark.slow
def test_wheel_built_from_the_sdist_works_in_a_clean_environment(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "build", "--outdir", tmp_path, ROOT], check=True, capture_output=True)
    (sdist,), (wheel,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    with tarfile.open(sdist) as archive:
        assert not [name for name in archive.getnames() if "/tests" in name]
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python, site = str(venv / "bin" / "python"), next((venv / "lib").glob("python*/site-packages"))
    pip = [python, "-m", "pip"]
    before = set(os.listdir(site))
    subprocess.run([*pip, "install", "-q", "-c", ROOT / "requirements.lock", "gymnasium"], check=True)
    code = (  # as in a notebook: Gymnasium first, installation next, then our import in the same interpreter
        "import gymnasium, subprocess\n"
        f"subprocess.run({[*pip, 'install', '-q', '-c', str(ROOT / 'requirements.lock'), str(wheel)]}, check=True)\n"
        "import tiltyard; print(tiltyard.__file__, gymnasium.make('tiltyard/Countdown-v0').spec.id)"
    )
    where, made = run_python(code, python=python, cwd=tmp_path).split()[-2:]
    assert where.startswith(str(venv))
    assert made == "tiltyard/Countdown-v0"
    code = "import gymnasium; print(gymnasium.make('tiltyard:tiltyard/Hopper-v5').spec.id)"
    assert run_python(code, python=python, cwd=tmp_path) == "tiltyard/Hopper-v5"
    command = [python, "-m", "tiltyard.benchmarks.cli", *"race smoke --agents sft --seeds 0 --engine ray".split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=ALONE, check=False)
    assert (done.returncode, done.stderr.strip().split()[-3:]) == (2, ['"tiltyard[ray]', "@", f'{wheel.as_uri()}"'])
    subprocess.run([*pip, "uninstall", "-q", "-y", "tiltyard"], check=True)
    left = [name for name in set(os.listdir(site)) - before if "tiltyard" in name.lower()]
    assert left == []
    assert run_python("import gymnasium; print('fine')", python=python, cwd=tmp_path) == "fine"
