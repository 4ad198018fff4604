"""Pages of speeds are what the rates beside them say."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("script", "folder"), [("generation", "generation-speed"), ("robotics", "robotics-speed")])
def test_a_page_is_what_its_rates_say(script: str, folder: str) -> None:
    spec = importlib.util.spec_from_file_location(f"speed_{script}", ROOT / "benchmarks" / "speed" / f"{script}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kept = ROOT / "docs" / "results" / folder
    found = json.loads((kept / "results.json").read_text())
    assert (kept / "README.md").read_text(encoding="utf-8") == module.page(found)
