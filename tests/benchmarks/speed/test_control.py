"""What the speed of control says where SBX's interpreter is none, or has no SBX."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[3] / "benchmarks" / "speed" / "control.py"
SPEC = importlib.util.spec_from_file_location("speed_control", PATH)
assert SPEC is not None
assert SPEC.loader is not None
control = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(control)


def test_an_interpreter_without_sbx_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="--sbx /no/where is no interpreter .No such file or directory."):
        control.sbx("/no/where", 8)()
    monkeypatch.setattr(control, "SBX", "import no_such_module")
    with pytest.raises(SystemExit, match="cannot train SBX's SAC .*no_such_module.*pip install sbx-rl there"):
        control.sbx(sys.executable, 8)()


def test_the_rate_is_what_the_interpreter_says_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "SBX", "import sys; print('compiling'); print(float(sys.argv[1]) / 2)")
    assert control.sbx(sys.executable, 8)() == 4.0


def test_without_sbx_the_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    control.loop(1, 1, "no such case")
    assert "SBX is left out" in capsys.readouterr().out
