# Two commands do all set-up: `make race` (the main job) and `make test`. Both make their own .venv on first use.
PYTHON ?= python3
BIN := .venv/bin
RUNS ?= runs/smoke
SITE ?= site
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: race test test-slow check format docs speed clean

race: .venv/core.stamp  ## train agents in all four domains (smoke suite), then print and write the leaderboard
	$(BIN)/tiltyard race smoke --out $(RUNS)
	$(BIN)/tiltyard leaderboard $(RUNS) --out $(SITE)

test: .venv/dev.stamp  ## the whole default test suite
	$(BIN)/python -m pytest -q -n auto

test-slow: .venv/dev.stamp  ## the tests that take minutes (real training, coverage simulations, a real Ray)
	$(BIN)/python -m pytest -q -m slow

check: .venv/dev.stamp  ## everything CI asks: lint, format, types, generated docs, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tiltyard.benchmarks.docs --check
	$(BIN)/python -m tiltyard.benchmarks.claims.papers --check
	$(BIN)/python -m pytest -q -n auto

format: .venv/dev.stamp  ## fix what can be fixed by a machine
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/dev.stamp  ## regenerate the tables in README.md and docs/papers.md
	$(BIN)/python -m tiltyard.benchmarks.docs
	$(BIN)/python -m tiltyard.benchmarks.claims.papers

speed: .venv/dev.stamp  ## speed beside the peers, one script a topic
	@for script in benchmarks/speed/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv runs site build dist

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Tiltyard needs Python 3.11 or newer; run: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv

.venv/core.stamp: pyproject.toml requirements.lock | $(BIN)/python
	$(BIN)/pip install -q -c requirements.lock -e .
	@touch $@

.venv/dev.stamp: pyproject.toml requirements.lock | $(BIN)/python
	$(BIN)/pip install -q -c requirements.lock -e ".[dev]"
	@touch $@ .venv/core.stamp
