# The front door. Every target installs what it needs first; nothing is repeated when nothing changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.run
DEV := $(VENV)/.dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	--no-emit-index-url pyproject.toml
GOLDEN ?= ../shared/golden
TRACES ?= ../shared/golden/traces
WORKERS ?= auto
# Compiling every module anew at each start takes longer than starting does.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install dev demo test collected unit lint types layers golden differential differential-all traces bench soak fuzz \
	test-engine crds docs lock sbom clean mutants dashboard screenshots claims

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

install: $(RUN) ## Create .venv with what running needs, pinned and hashed

dev: $(DEV) ## Add what developing and testing needs

$(RUN): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@echo "installing dependencies into $(VENV) ..."
	@$(PIP) --retries 2 --require-hashes -r requirements.lock > $(VENV)/pip.log 2>&1 || { echo "the dependencies could not be installed: is the package index reachable? $(VENV)/pip.log says more"; exit 1; }
	@$(PIP) --no-deps --no-build-isolation -e .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(DEV): $(RUN) requirements-dev.lock
	@echo "installing development tools into $(VENV) ..."
	@$(PIP) --require-hashes -r requirements-dev.lock
	@touch $@

demo: $(RUN) ## Start a federation, run the nginx example, look around (Ctrl-C ends it)
	@$(BIN)/karmada demo

test: $(DEV) ## Lint, types, layer contracts and all tests
	@$(MAKE) --no-print-directory -j 2 lint types layers collected
	@$(MAKE) --no-print-directory unit

# Tests are compiled once, beside mypy on the other core: every worker would compile all of them. `unit` says what fails.
collected: $(DEV)
	@$(BIN)/python -m pytest --collect-only -q > $(VENV)/collected.log 2>&1 || true

unit: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(DEV) ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV) ## Static types, strict
	$(BIN)/mypy

layers: $(DEV)
	$(BIN)/lint-imports --no-cache

golden: $(DEV) ## Compare with recorded behaviour: GOLDEN=<root, topic folder or file>
	@$(BIN)/python -m karmada.testing.golden $(GOLDEN)

differential: $(DEV) ## Random inputs, ours against ORACLE=<command> (or recordings): TOPIC= SEED= COUNT=
	@$(BIN)/python -m karmada.testing.differential $(if $(ORACLE),--oracle "$(ORACLE)") $(if $(TOPIC),--topic $(TOPIC)) \
	  $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT))

differential-all: $(DEV) ## Every topic with a fresh seed, and a table: ORACLE=<command> COUNT=
	@$(BIN)/python -m karmada.testing.differential $(if $(ORACLE),--oracle "$(ORACLE)") $(if $(COUNT),--count $(COUNT))

traces: $(DEV) ## Run recorded scenarios on a federation and compare: TRACES=<folder>
	@$(BIN)/python -m karmada.testing.traces $(TRACES)

soak: $(DEV) ## Thousands of seeds of faults: hours; interrupted, the same command goes on
	$(BIN)/python -m karmada.testing.soak --scenario mirror --seeds 5000
	$(BIN)/python -m karmada.testing.soak --scenario leadership --seeds 2000
	$(BIN)/python -m karmada.testing.soak --scenario federation --seeds 5000
	$(BIN)/python -m karmada.testing.soak --scenario propagation --seeds 5000
	$(BIN)/python -m karmada.testing.soak --scenario failover --seeds 5000
	$(BIN)/python -m karmada.testing.soak --scenario sharding --seeds 2000
	$(BIN)/python -m karmada.testing.soak --scenario replicas --seeds 2000
	$(BIN)/python -m karmada.testing.soak --scenario storage --seeds 10000
	$(BIN)/python -m karmada.testing.soak --scenario storage-etcd --seeds 50
	$(BIN)/python -m karmada.testing.soak --scenario killing --seeds 20

fuzz: $(DEV) ## Hours of hostile inputs for every decoder, then whole requests
	$(BIN)/python -m tests.fuzz --target decoders --count 100000
	$(BIN)/python -m tests.fuzz --target requests --count 1000000

test-engine: $(DEV) ## The same on a real kube-apiserver and etcd, which Go builds
	@command -v go > /dev/null || { echo "test-engine: skipped, Go is needed to build kube-apiserver and etcd"; exit 0; }; \
	$(BIN)/python -m karmada.testing.stage.programs && \
	KARMADA_ENGINE=1 $(BIN)/python -m pytest -n 0 tests/engine/stage \
		-o asyncio_default_fixture_loop_scope=session -o asyncio_default_test_loop_scope=session

.PHONY: walk

WALK ?= one-of-each

walk: $(DEV) ## Walk through docs/production.md with pods that run: WALK=as-written starts as many replicas as it says
	$(BIN)/python -m karmada.testing.stage.programs && \
	KARMADA_ENGINE=1 KARMADA_WALK=$(WALK) $(BIN)/python -m pytest -n 0 tests/engine/stage/test_production_page.py \
		-o asyncio_default_fixture_loop_scope=session -o asyncio_default_test_loop_scope=session

.PHONY: upgrade-test upgrade-test-last

upgrade-test: $(DEV) ## Data and components of earlier versions with this one, back and forth (needs the git history)
	@! command -v go > /dev/null || $(BIN)/python -m karmada.testing.stage.programs
	KARMADA_UPGRADE=1 $(BIN)/python -m pytest -n 0 tests/upgrade

upgrade-test-last: $(DEV) ## The same with the last landed version only: minutes, for CI
	@! command -v go > /dev/null || $(BIN)/python -m karmada.testing.stage.programs
	KARMADA_UPGRADE=last $(BIN)/python -m pytest -n 0 tests/upgrade/matrix

sbom: $(DEV) ## Write sbom.json: what runs in production, with hashes and licences
	$(BIN)/python tools/sbom.py > sbom.json

.PHONY: licences

licences: $(DEV) ## List the licences of what runs in production; fails on one that is not permissive
	@$(BIN)/python tools/licences.py

docs: $(DEV) ## Write the command reference from the commands themselves, and draw what runs show
	$(BIN)/python -m karmada.cli.docs
	$(BIN)/python -m tests.federation.closed_loop docs/pictures/autoscaling.svg

dashboard: ## Build the dashboard's pages into the package: needs Node
	cd dashboard && npm install --no-save && npm run build  # not `npm ci`: it demands the bundler for every other platform

screenshots: $(DEV) ## Take the pictures of docs/dashboard.md from a running federation: needs Chromium and a Chinese font
	$(BIN)/python -m tests.dashboard.browser.screenshots docs/pictures

.PHONY: pictures

pictures: $(DEV) ## Draw the pictures of README.md from a real run: needs kubectl
	$(BIN)/python tools/readme_pictures.py docs/pictures

crds: $(DEV) ## Write the CRD manifests from the types
	$(BIN)/python -m karmada.api.crd

bench: $(DEV) ## Measure speed and memory, write bench.json
	$(BIN)/python -m benchmarks

claims: $(DEV) ## Try the figures that README.md and docs/ claim, where that takes minutes only
	$(BIN)/python -m benchmarks.claims

lock: $(DEV) ## Renew the locks from pyproject.toml: to run, to run in production, to develop
	$(COMPILE) --group build --extra production --group dev -o requirements-dev.lock
	$(COMPILE) --group build -c requirements-dev.lock -o requirements.lock
	$(COMPILE) --extra production -c requirements-dev.lock -o requirements-production.lock

clean: ## Remove what the targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis bench.json

.PHONY: wheel man site

wheel: $(RUN) ## Make dist/*.whl, to install elsewhere with pip
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w dist .
	@ls dist/*.whl

man: $(RUN) ## Write manual pages of all commands to man/
	@$(BIN)/python -m karmada.cli.man man

site: $(DEV) ## Make the documentation a site in site/, without network
	@$(BIN)/python tools/site.py

MUTANTS ?= policies
SAMPLE ?= 40

mutants: $(DEV) ## Mutation tests of packages by their own tests: MUTANTS=<packages> SAMPLE=<number, 0 for all>
	@$(BIN)/python -m karmada.testing.mutants $(MUTANTS) --sample $(SAMPLE)
