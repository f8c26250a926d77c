# make demo  - a short real story in a temporary bundle
# make test  - lint, types, import rules, tests
# Both need only python3 with venv, make, and the package index.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PYTEST ?= $(BIN)/python -m pytest

.PHONY: demo test lint check test-slow test-servers bench clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/installed-dev: pyproject.toml $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: $(VENV)/installed
	$(BIN)/gitmem demo

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(PYTEST)

test-slow: $(VENV)/installed-dev
	$(PYTEST) -m slow

# Installs Debian's server packages (as root) and syncs through them: nginx, lighttpd, sshd, git daemon.
SERVERS := git openssh-server openssh-client nginx-light fcgiwrap lighttpd openssl
test-servers: $(VENV)/installed-dev
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(SERVERS)
	$(PYTEST) -m servers -rfs

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
