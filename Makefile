# Privet's tasks. Every target sets up what it needs in a fresh checkout: run `make demo` first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Two test workers must not each start a thread per core for linear algebra. Hundreds of processes are
# started: each would compile the package anew where the environment says that bytecode is not kept.
ONE_THREAD := env -u PYTHONDONTWRITEBYTECODE \
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= auto

PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-servers test-service test-spark browser check audit bench dist format clean lock oldest sbom

help:
	@echo "make demo     every step on synthetic data: schema, model, statement, report"
	@echo "make test     run the tests (WORKERS=n for n processes)"
	@echo "make test-servers  the tests that start a database, the service, a cluster or many processes"
	@echo "make test-spark  the tests of the Spark engine, where there is Java"
	@echo "make test-service   the service with killed workers, made-up requests and a browser"
	@echo "make browser  install Chromium from the system's packages, where that is possible"
	@echo "make check    formatting, lint, strict types and tests: what a change must pass"
	@echo "make audit    attack every mechanism and release, and every planted bug: docs/audit.md"
	@echo "make bench    time the minimizers beside scikit-learn"
	@echo "make format   rewrite the code in the project's format"
	@echo "make dist     wheel and source archive, built twice and compared byte for byte"
	@echo "make sbom     list every package of an installation in dist/sbom.cdx.json (CycloneDX)"
	@echo "make lock     choose the versions that the tests run with anew: requirements/*.lock"
	@echo "make oldest   some tests with the oldest versions that pyproject.toml admits"
	@echo "make clean    remove the environment, caches and the demo's output"

demo: $(VENV)/.demo
	@$(ONE_THREAD) $(BIN)/privet demo --force

test: $(VENV)/.dev
	@$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m "not servers"

test-servers: $(VENV)/.dev
	@$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m servers

# Spark is large and needs Java, so it has a target of its own; without Java its tests are skipped.
test-spark: $(VENV)/.dev
	@$(PIP) install 'pyspark>=3.5,<5'
	@$(ONE_THREAD) PRIVET_SPARK=1 $(BIN)/python -m pytest -rs tests/rows/test_spark_engine.py

# Servers, killed workers and made-up requests: a few minutes.
test-service: $(VENV)/.dev
	@$(ONE_THREAD) PRIVET_TEST_SERVICE=1 $(BIN)/python -m pytest -rs tests/service tests/handover

# Never an error, and at most a minute: where apt, its archive or the right to install is missing, the
# tests with a browser are skipped by name. What may hang is the network, so only that is cut off; an
# installation that was begun is let finish.
APT := apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=10
CHROMIUM := install -y --no-install-recommends chromium
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
		{ timeout 15 $(APT) update; timeout 40 $(APT) $(CHROMIUM) --download-only \
			&& $(APT) $(CHROMIUM) --no-download; } >/dev/null 2>&1 </dev/null \
		|| echo "Chromium could not be installed: tests with a browser are skipped."; }

check: $(VENV)/.dev
	@echo "format"; $(BIN)/ruff format --check .
	@echo "lint"; $(BIN)/ruff check .
	@echo "types"; $(BIN)/mypy
	@echo "tests"; $(MAKE) --no-print-directory test
	@echo "tests with servers"; $(MAKE) --no-print-directory test-servers

audit: $(VENV)/.dev
	@$(ONE_THREAD) $(BIN)/python -m reproduce.full_audit

bench: $(VENV)/.dev
	@set -e; for file in benchmarks/[!_]*.py; do \
		echo "$$file"; $(ONE_THREAD) $(BIN)/python "$$file"; done

format: $(VENV)/.dev
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

dist: | $(VENV)/.tools
	@$(TOOLS)/python deploy/rebuild.py dist

# What is installed with every extra, by name, version and hash; the tools stay out of .venv.
sbom: requirements/all.lock | $(VENV)/.tools
	@mkdir -p dist
	@$(TOOLS)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
		--output-file dist/sbom.cdx.json requirements/all.lock
	@echo "dist/sbom.cdx.json"

# --no-emit-index-url: a lock names no host, so that any registry or mirror will do.
COMPILE := uv pip compile pyproject.toml --extra all --universal --python-version 3.11 --upgrade \
	--generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links --quiet
lock: | $(VENV)/.tools
	@$(TOOLS)/$(COMPILE) --group dev --output-file requirements/ci.lock
	@$(TOOLS)/$(COMPILE) --constraint requirements/ci.lock --output-file requirements/all.lock

OLDEST := $(VENV)/oldest
oldest: | $(VENV)/.tools
	@$(PYTHON) -m venv --clear $(OLDEST)
	@$(TOOLS)/uv pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct \
		--editable '.[all]' --group oldest
	@$(ONE_THREAD) $(OLDEST)/bin/python -m pytest -W default -n $(WORKERS) $(OLDEST_TESTS)
# without tests/schema/test_encode.py, whose tables of endless numbers pandas cannot make with numpy 2.0
OLDEST_TESTS := tests/test_store.py tests/test_seeded_releases.py tests/ledger/test_ledger.py \
	tests/schema/test_csv.py tests/schema/test_containers.py tests/schema/test_toml.py \
	tests/models/test_linear.py tests/cli/test_train_predict.py tests/cli/test_hostile.py tests/report

clean:
	rm -rf $(VENV) build dist demo-output .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment, in three steps, each done once and again when pyproject.toml changes: an empty
# one with a recent pip, what the demo needs, what the tests need. The tests have exactly the versions
# of the lock, each checked against its hash.

$(VENV)/.pip:
	@command -v $(PYTHON) >/dev/null || { \
		echo "Privet needs Python 3.11 or newer; there is no '$(PYTHON)' here. Try make PYTHON=/path/to/python3.11." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Privet needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Try make PYTHON=/path/to/python3.11." >&2; exit 1; }
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade 'pip>=25.1'
	@touch $@

TOOLS := $(VENV)/tools/bin
$(VENV)/.tools: | $(VENV)/.pip
	@$(PYTHON) -m venv $(VENV)/tools
	@$(TOOLS)/python -m pip --disable-pip-version-check -qq install 'uv>=0.9' 'cyclonedx-bom>=7' \
		'build>=1.2' 'setuptools>=77'
	@touch $@

$(VENV)/.demo: pyproject.toml | $(VENV)/.pip
	@echo "Installing Privet and what the demo needs ..."
	@$(PIP) install --editable '.[cli]'
	@touch $@

$(VENV)/.dev: pyproject.toml requirements/ci.lock | $(VENV)/.pip
	@echo "Installing Privet with every extra and the test tools (a few hundred MB, once) ..."
	@$(PIP) install --requirement requirements/ci.lock
	@$(PIP) install --no-deps --editable .
	@touch $@ $(VENV)/.demo
