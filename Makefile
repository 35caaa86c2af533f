# Privet's tasks. Every target sets up what it needs in a fresh checkout: run `make demo` first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Two test workers must not each start a thread per core for linear algebra.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= auto

PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check bench format clean

help:
	@echo "make demo     every step on synthetic data: schema, model, statement, report"
	@echo "make test     run the tests (WORKERS=n for n processes)"
	@echo "make check    formatting, lint, strict types and tests: what a change must pass"
	@echo "make bench    time the minimizers beside scikit-learn"
	@echo "make format   rewrite the code in the project's format"
	@echo "make clean    remove the environment, caches and the demo's output"

demo: $(VENV)/.demo
	@$(ONE_THREAD) $(BIN)/privet demo --force

test: $(VENV)/.dev
	@$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS)

check: $(VENV)/.dev
	@echo "format"; $(BIN)/ruff format --check .
	@echo "lint"; $(BIN)/ruff check .
	@echo "types"; $(BIN)/mypy
	@echo "tests"; $(MAKE) --no-print-directory test

bench: $(VENV)/.dev
	@set -e; for file in benchmarks/[!_]*.py; do \
		echo "$$file"; $(ONE_THREAD) $(BIN)/python "$$file"; done

format: $(VENV)/.dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment, in three steps, each done once and again when pyproject.toml changes: an empty
# one with a recent pip (dependency groups need 25.1), what the demo needs, what the tests need.

$(VENV)/.pip:
	@command -v $(PYTHON) >/dev/null || { \
		echo "Privet needs Python 3.11 or newer; there is no '$(PYTHON)' here. Try make PYTHON=/path/to/python3.11." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Privet needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Try make PYTHON=/path/to/python3.11." >&2; exit 1; }
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/.pip
	@echo "Installing Privet and what the demo needs ..."
	@$(PIP) install --editable '.[cli]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.pip
	@echo "Installing Privet with every extra and the test tools (a few hundred MB, once) ..."
	@$(PIP) install --editable '.[all]' --group dev
	@touch $@ $(VENV)/.demo
