# Two commands set everything up: `make demo` runs the main job, `make test` passes the tests.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip
LOCK   := -c requirements.lock

export PIP_DISABLE_PIP_VERSION_CHECK = 1
# tests start hundreds of processes: where modules are not kept compiled, each takes seconds more
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-fast check lint types slow docs reference clean

demo: $(VENV)/.demo
	$(BIN)/fathoms models pull smollm2-135m minilm-l6-v2
	$(BIN)/fathoms run configs/demo.yaml configs/closed-book.yaml

test: $(VENV)/.test
	$(BIN)/fathoms models pull smollm2-135m minilm-l6-v2 minilm-l6-v2-torch easyocr-en layout-cdla
	$(BIN)/python -m pytest -n auto --dist loadfile --cov --cov-report=term:skip-covered --cov-fail-under=90

test-fast: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not long"

slow: $(VENV)/.test
	$(BIN)/python -m pytest -m long

check: lint types test

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

docs: $(VENV)/.test
	$(BIN)/python -m mkdocs build --strict

reference: $(VENV)/.test
	$(BIN)/python docs/generate

clean:
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage*

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml requirements.lock
	$(PIP) install $(LOCK) -e '.[embedded,llamaindex]'
	touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml requirements.lock
	$(PIP) install $(LOCK) -e '.[test]'
	touch $@
