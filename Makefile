# make demo    install into .venv, index this repository's own documents, run three searches
# make test    install what tests need, run them all in four processes
# make quick   the same without those that take more than a second
# make cluster run the tests of the engine for OpenSearch on a real node, which it installs (Java 17 or 21, Maven)
# make fuzz    run the property tests with many random examples
# make check   format, lint, types, import layers, structure; with --jobs 2 beside each other
# make bench   list what can be measured; NAME=program ARGS='its arguments' runs one (see bench/README.md)
# make docs    build the documentation into site/; warnings and broken links are errors
# make release build wheels, with compiled kernels and without, and source distribution, install each in an empty
#              environment, search with it; export a server, start and kill it
# make model   build the bundled embedder anew from its original weights

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# How many processes run tests: twice the cores of a small machine, as many tests wait for services, browsers and disks.
PROCESSES ?= 4
# A process takes all tests of a file, which share what they set up, and files in the order of tests/conftest.py.
SPREAD = --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder

.PHONY: demo environment test quick cluster fuzz check style types layers structure format bench docs release model clean
.DELETE_ON_ERROR:

# A Debian without python3-venv can make an environment, only not put pip in it; the outer pip installs into it then.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || $(PYTHON) -m venv --without-pip --clear $(VENV)

PIP = $(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check install --quiet

$(VENV)/.user: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dev,docs,integrations]'
	@touch $@ $(VENV)/.user $(VENV)/.docs

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[bench]'
	@touch $@

demo: $(VENV)/.user
	@scripts/demo.sh $(BIN)/rifflux

environment: $(VENV)/.dev

# Modules are compiled once for all processes of the tests, also where Python is told to write nothing.
test quick: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(SPREAD)

quick: $(VENV)/.dev
	$(BIN)/python -m pytest $(SPREAD) -m "not slow and not cluster"

# The node takes as much of the processors as a process of tests.
cluster: PROCESSES = 3
cluster: $(VENV)/.dev
	$(BIN)/python scripts/cluster.py run -- $(BIN)/python -m pytest $(SPREAD) -m cluster tests/cluster

# What it finds is kept in .hypothesis and tried first the next time; as an @example of the test it is tried always.
fuzz: $(VENV)/.dev
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -m hypothesis

# Types take as long as all others together: they come first, so that two processes end at about the same time.
check: types style layers structure

types: $(VENV)/.dev
	$(BIN)/mypy

style: $(VENV)/.dev
	$(BIN)/ruff format --check
	$(BIN)/ruff check

layers: $(VENV)/.dev
	$(BIN)/lint-imports

structure: $(VENV)/.dev
	$(BIN)/python -m bench structure --check

format: $(VENV)/.dev
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(VENV)/.bench
	$(BIN)/python -m bench $(NAME) $(ARGS)

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[docs]'
	@touch $@

docs: $(VENV)/.docs
	$(BIN)/python scripts/docs.py

release: | $(BIN)/python
	$(PIP) -e '.[release,serve]'
	PYTHON=$(PYTHON) scripts/release.sh $(BIN)/python
	$(BIN)/python scripts/exported.py

model: | $(BIN)/python
	$(PIP) -e '.[model]'
	$(BIN)/python scripts/build_minilm.py

clean:
	rm -rf $(VENV) site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .rifflux
