# Two commands do all set-up: `make race` (the main job) and `make test`. Both make their own .venv on first use.
PYTHON ?= python3
BIN := .venv/bin
RUNS ?= runs/smoke
SITE ?= site
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: race test test-slow check format docs speed clean

race: .venv/core.stamp  ## train agents in all four domains (smoke suite), then print and write the leaderboard
	$(BIN)/tiltyard race smoke --out $(RUNS)
	$(BIN)/tiltyard leaderboard $(RUNS) --out $(SITE)

test: .venv/dev.stamp  ## the whole default test suite
	$(BIN)/python -m pytest -q -n auto

test-slow: .venv/dev.stamp  ## the tests that take minutes (real training, coverage simulations, a real Ray)
	$(BIN)/python -m pytest -q -m slow

check: .venv/docs.stamp  ## everything CI asks: lint, format, types, generated tables, the site's links, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m tiltyard.benchmarks.docs --check
	$(BIN)/python -m tiltyard.benchmarks.claims.papers --check
	$(MKDOCS)
	$(BIN)/python -m pytest -q -n auto

format: .venv/dev.stamp  ## fix what can be fixed by a machine
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/docs.stamp  ## regenerate the tables in docs/, then build the documentation site, in which no link may be broken
	$(BIN)/python -m tiltyard.benchmarks.docs
	$(BIN)/python -m tiltyard.benchmarks.claims.papers
	$(MKDOCS)
	@echo "now: $(BIN)/python -m http.server -d site-docs, or open site-docs/index.html (without search)"

speed: .venv/dev.stamp  ## speed beside the peers, one script a topic
	@for script in benchmarks/speed/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv runs site site-docs build dist

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Tiltyard needs Python 3.11 or newer; run: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv

.venv/core.stamp: pyproject.toml requirements.lock | $(BIN)/python
	$(BIN)/pip install -q -c requirements.lock -e .
	@touch $@

.venv/dev.stamp: pyproject.toml requirements.lock | $(BIN)/python
	$(BIN)/pip install -q -c requirements.lock -e ".[dev]"
	@touch $@ .venv/core.stamp

.venv/docs.stamp: pyproject.toml requirements.lock | $(BIN)/python
	$(BIN)/pip install -q -c requirements.lock -e ".[dev,docs]"
	@touch $@ .venv/core.stamp .venv/dev.stamp
