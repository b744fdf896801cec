# Everything a fresh machine with Python 3.10 or newer needs. `make help` lists the targets.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help quickstart install test test-slow lint types check wheel board clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

quickstart: $(INSTALLED) ## set up, run TopGQ and then the quick suite offline, show the boards of all four kinds
	$(BIN)/benchsuite run --plugin topgq
	$(BIN)/benchsuite run --suite quick

install: $(INSTALLED) ## make the virtual environment and install into it

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

test: $(INSTALLED) ## set up and run the default test suite
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-slow: $(INSTALLED) ## the tests marked slow
	$(BIN)/python -m pytest -m slow -n 2 --dist loadfile

lint: $(INSTALLED) ## ruff, formatting included
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED) ## mypy in strict mode
	$(BIN)/mypy

check: $(INSTALLED) ## the contract's checks on every first-party plugin, and stale boards
	for plugin in plugins/*/; do $(BIN)/benchsuite check $$plugin || exit; done
	$(BIN)/benchsuite leaderboard --check

board: $(INSTALLED) ## rebuild the boards from the records
	$(BIN)/benchsuite leaderboard

clean: ## remove what the targets made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
