# The front door. Every target installs what it needs first; nothing is repeated when nothing changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
GOLDEN ?= ../shared/golden
TRACES ?= ../shared/golden/traces
WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help install demo test unit lint types layers golden traces bench soak test-engine crds docs lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

install: $(STAMP) ## Create .venv with everything, pinned and hashed

$(STAMP): requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing dependencies into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP) ## Start a federation, run the nginx example, look around (Ctrl-C ends it)
	@$(BIN)/karmada demo

test: lint types layers unit ## Lint, types, layer contracts and all tests

unit: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(STAMP) ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## Static types, strict
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports --no-cache

golden: $(STAMP) ## Compare with recorded behaviour: GOLDEN=<root, topic folder or file>
	@$(BIN)/python -m karmada.testing.golden $(GOLDEN)

traces: $(STAMP) ## Run recorded scenarios on a federation and compare: TRACES=<folder>
	@$(BIN)/python -m karmada.testing.traces $(TRACES)

soak: $(STAMP) ## Thousands of seeds of faults: an hour and more
	$(BIN)/python -m karmada.testing.soak --scenario mirror --seeds 5000
	$(BIN)/python -m karmada.testing.soak --scenario leadership --seeds 2000
	$(BIN)/python -m karmada.testing.soak --scenario federation --seeds 5000
	$(BIN)/python -m karmada.testing.soak --scenario propagation --seeds 5000
	$(BIN)/python -m karmada.testing.soak --scenario killing --seeds 20

test-engine: $(STAMP) ## The same on a real kube-apiserver and etcd, which Go builds
	@command -v go > /dev/null || { echo "test-engine: skipped, Go is needed to build kube-apiserver and etcd"; exit 0; }; \
	$(BIN)/python -m karmada.testing.stage.programs && \
	KARMADA_ENGINE=1 $(BIN)/python -m pytest -n 0 tests/engine/stage \
		-o asyncio_default_fixture_loop_scope=session -o asyncio_default_test_loop_scope=session

docs: $(STAMP) ## Write the command reference from the commands themselves
	$(BIN)/python -m karmada.cli.docs

crds: $(STAMP) ## Write the CRD manifests from the types
	$(BIN)/python -m karmada.api.crd

bench: $(STAMP) ## Measure speed and memory, write bench.json
	$(BIN)/python -m benchmarks

lock: $(STAMP) ## Renew requirements.lock from pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --group dev pyproject.toml -o requirements.lock

clean: ## Remove what the targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis bench.json
