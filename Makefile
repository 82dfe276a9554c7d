# `make demo` installs fathoms and runs the demo. `make test` installs the test dependencies and runs the tests.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip
LOCK   := -c requirements.lock
DEMO   = '.[embedded,llamaindex]'
# One worker more than there are cores: many tests wait for servers, limits and processes.
WORKERS = -n $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )) --dist loadfile --no-loadscope-reorder
TESTS   = -m pytest $(WORKERS)

export PIP_DISABLE_PIP_VERSION_CHECK = 1
# The tests start hundreds of processes. Without cached bytecode, each of them would take seconds longer to start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-fast check lint types slow core lowest bench verify-real docs reference packages clean

# Runs the demo with small models on this machine: how many of the pages that hold the answers are found, against
# these pages themselves, which asks no language model; then questions with and without retrieval.
demo: $(VENV)/.demo
	$(BIN)/fathoms models pull smollm2-135m minilm-l6-v2
	$(BIN)/fathoms run --retrieval-only configs/demo.yaml configs/gold-pages.yaml
	$(BIN)/fathoms run configs/demo.yaml configs/closed-book.yaml

# Runs all tests with coverage, except the long ones (`make slow`), and lists the 20 that took longest.
test: $(VENV)/.test
	$(BIN)/fathoms models pull smollm2-135m minilm-l6-v2 minilm-l6-v2-torch easyocr-en layout-cdla
	$(BIN)/python $(TESTS) --cov --cov-report=term:skip-covered --cov-fail-under=90 --durations=20

# Runs only the tests that take less than about 0.15 seconds of CPU each.
test-fast: $(VENV)/.test
	$(BIN)/python $(TESTS) -m "not slow and not long"

# Runs the long simulations and benchmarks, the properties with fifty times the examples, `make core` and
# `make lowest`.
slow: $(VENV)/.test
	$(BIN)/python -m pytest -m long -o faulthandler_timeout=3600
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile thorough -o faulthandler_timeout=3600
	$(MAKE) core
	$(MAKE) lowest

# Runs the quick tests of the core on a copy of the package without fathoms/extras/.
core: $(VENV)/.test
	$(BIN)/python -m tests.support.without_extras $(WORKERS)

# Runs the quick tests and those of the extras with the lowest versions of dependencies that pyproject.toml allows.
lowest: $(VENV)/.test
	$(PIP) install $(LOCK) nox
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python -m nox -s lowest

# Measures the goals for speed and memory, prints a table of them, and fails where one is missed (15 to 25 minutes).
bench: $(VENV)/.test
	$(BIN)/python benchmarks/runner --work .bench --goals --rounds 3; missed=$$?; \
	  $(BIN)/python benchmarks/parsing --only pdfium --rounds 3 || missed=1; \
	  $(BIN)/python benchmarks/parsing --only docling --rounds 1 || missed=1; exit $$missed

# Runs what the tests run only with a stand-in with trained weights, vendors' APIs and released files, as far as
# there are keys and a hub (at most 10 minutes and one dollar), and writes what ran into CONTRIBUTING.md.
verify-real: $(VENV)/.test
	$(BIN)/python -m tests.real

# Checks lint, formatting and types, and runs the tests.
check: lint types test

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

# Builds the documentation as a site in site/.
docs: $(VENV)/.test
	$(BIN)/python -m mkdocs build --strict

# Writes the generated reference pages and JSON schemas in docs/.
reference: $(VENV)/.test
	$(BIN)/python docs/generate

# Builds the wheel and the sdist, and tries them in empty environments. EXTRAS=1 takes each extra alone, too, which
# downloads several GB.
packages: $(VENV)/.test
	$(PIP) install $(LOCK) nox
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python -m nox -db uv
	if [ -n "$(EXTRAS)" ]; then PATH=$(abspath $(BIN)):$$PATH $(BIN)/python -m nox -s extra; fi

# Deletes the caches of the development tools.
clean:
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage*

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# uv, where there is one that finds the packages, needs a third of the time.
install = { command -v uv > /dev/null && uv pip install --python $(BIN)/python --compile-bytecode $(LOCK) -e $(1); } || \
  $(PIP) install $(LOCK) -e $(1)

# The core fetches the weights while the extras are installed; it runs from this folder, because its package is
# installed anew with them.
$(VENV)/.demo: $(BIN)/python pyproject.toml requirements.lock
	$(call install,.)
	$(BIN)/python -m fathoms models pull smollm2-135m minilm-l6-v2 & weights=$$!; \
	  $(call install,$(DEMO)); installed=$$?; wait $$weights && exit $$installed
	touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml requirements.lock
	$(PIP) install $(LOCK) -e '.[test]'
	touch $@
