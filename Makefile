# Every target works in a fresh clone: it makes the environment it needs and then runs.
# The stamps depend on pyproject.toml, so that a second run installs nothing.

PYTHON ?= python3
VENV ?= .venv
VENV_MINIMUM ?= .venv-minimum
VENV_TORCH ?= .venv-torch
WORKERS ?= 2
PYTEST_ARGS ?=

BIN := $(VENV)/bin
# Test workers share the cores: BLAS threads on top of them would wait for each other. Tests of
# threads ask for two themselves.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-torch test-gpu test-tables test-all test-exhaustive test-slow test-cluster test-minimum coverage mutants lint bench docs wheel-check clean

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' \
		| awk -F'|' '{ printf "  make %-14s %s\n", $$1, $$2 }'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.stamp-demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[plot]"
	@touch $@

$(VENV)/.stamp-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	@touch $(VENV)/.stamp-demo $@

$(VENV)/.stamp-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	@touch $(VENV)/.stamp-demo $(VENV)/.stamp-test $@

$(VENV_MINIMUM)/.stamp: pyproject.toml requirements/minimum.txt
	$(PYTHON) -m venv --clear $(VENV_MINIMUM)
	$(VENV_MINIMUM)/bin/python -m pip install --quiet --requirement requirements/minimum.txt --editable .
	@touch $@

demo: $(VENV)/.stamp-demo ## fit, choose and plot on small data sets
	$(BIN)/python examples/demo.py

test: $(VENV)/.stamp-test ## tests and doctests (PYTEST_ARGS="-k loo" for some)
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m "not slow and not thorough" $(PYTEST_ARGS)

test-all: $(VENV)/.stamp-test ## the same with many more combinations of parameters
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m "not slow and not exhaustive" $(PYTEST_ARGS)

test-exhaustive: $(VENV)/.stamp-test ## every combination of parameters
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m "not slow" $(PYTEST_ARGS)

test-tables: $(VENV)/.stamp-test ## all tables of SQUAREONE_DATA through the commands
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) tests/cli/test_real_tables.py $(PYTEST_ARGS)

test-slow: $(VENV)/.stamp-test ## tests that take longer
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m slow $(PYTEST_ARGS)

test-cluster: $(VENV)/.stamp-test ## worker processes that are killed at many random times
	$(ONE_THREAD) $(BIN)/python -m pytest -m slow tests/estimators/test_dask.py $(PYTEST_ARGS)

# PyTorch in an environment of its own: its usual wheels for Linux bring CUDA, some gigabytes, which
# no other target needs. Where pip is given an index of its CPU wheels, it takes those.
$(VENV_TORCH)/.stamp: pyproject.toml requirements/torch.txt
	$(PYTHON) -m venv --clear $(VENV_TORCH)
	$(VENV_TORCH)/bin/python -m pip install --quiet --requirement requirements/torch.txt
	$(VENV_TORCH)/bin/python -m pip install --quiet --editable ".[test,torch]"
	@touch $@

TORCH_TESTS := tests/devices tests/laws

test-torch: $(VENV_TORCH)/.stamp ## the laws with matrices as torch's tensors, on the processor
	$(ONE_THREAD) $(VENV_TORCH)/bin/python -m pytest -n $(WORKERS) -m "not slow and not thorough" --device torch:cpu $(TORCH_TESTS) $(PYTEST_ARGS)

test-gpu: $(VENV_TORCH)/.stamp ## the same on a GPU
	$(VENV_TORCH)/bin/python -m pytest -m "not slow and not thorough" --device cuda $(TORCH_TESTS) $(PYTEST_ARGS)

# Tests of what versions of the libraries may change.
MINIMUM_TESTS := tests/laws $(addprefix tests/estimators/test_,sklearn_checks.py good_input.py files.py rows.py streaming.py hierarchical.py dask.py) tests/tables

test-minimum: $(VENV_MINIMUM)/.stamp ## the laws and most tests of estimators on the oldest supported versions
	$(ONE_THREAD) $(VENV_MINIMUM)/bin/python -m pytest -n $(WORKERS) -m "not slow and not thorough" $(MINIMUM_TESTS) $(PYTEST_ARGS)

# One run of `make test-all`; which of its tests are those of `make test` is known. A test that fails
# because it takes longer this way is no reason to lose the figures.
coverage: $(VENV)/.stamp-dev ## statements executed by make test and by make test-all
	-$(ONE_THREAD) $(BIN)/python -m tools.mutation --folder out/coverage map -- -n $(WORKERS) -m "not slow and not exhaustive"
	$(BIN)/python -m tools.mutation --folder out/coverage coverage

# More than an hour: what `make test` and `make test-all` notice of small faults in the numerical code.
mutants: $(VENV)/.stamp-dev ## change lines of the numerical code, and see which tests notice
	$(ONE_THREAD) $(BIN)/python -m tools.mutation map -- -n $(WORKERS)
	$(BIN)/python -m tools.mutation coverage
	$(BIN)/python -m tools.mutation run

lint: $(VENV)/.stamp-dev ## ruff, mypy and the order of the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.stamp-dev ## compare with other libraries and with the machine
	$(BIN)/python -m benchmarks.run

docs: $(VENV)/.stamp-dev ## the documentation, into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

wheel-check: $(VENV)/.stamp-dev ## build wheel and sdist, check them, and use the wheel elsewhere (DIST=dist keeps them)
	PYTHON="$(PYTHON)" BUILD_PYTHON="$(BIN)/python" DIST="$(DIST)" .ci/wheel-check

clean: ## remove what was built, the environments too
	rm -rf $(VENV) $(VENV_MINIMUM) $(VENV_TORCH) build dist docs/_build docs/auto_examples docs/reference/generated
	rm -rf docs/sg_execution_times.rst .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
