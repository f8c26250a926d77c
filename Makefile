# make demo  - a short real story in a temporary bundle
# make test  - lint, types, import rules, and the tests, which import the built wheel
# Both need only python3 with venv, make, and the package index.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check
# -P: Python does not look into this directory, so that `import gitmem` finds the wheel and not the source tree.
PYTEST ?= WHEEL_IS_INSTALLED=1 $(BIN)/python -P -m pytest

# What the wheel is made of; directories too, whose time says that a file has gone.
SOURCES := $(shell find gitmem hooks templates -name __pycache__ -prune -o -print) pyproject.toml README.md LICENSE

.PHONY: demo test lint check test-slow test-servers mutants bench clean

$(VENV)/installed: $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(PIP) .
	touch $@

$(VENV)/installed-dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) '.[dev]'
	touch $@

# The .pth file comes last on Python's path: `tests` and `benchmarks` are found there, and gitmem before it.
$(VENV)/installed-wheel: $(SOURCES) $(VENV)/installed-dev
	$(PIP) --no-deps --no-build-isolation --force-reinstall .
	echo "$(CURDIR)" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tests.pth"
	touch $@

demo: $(VENV)/installed
	$(BIN)/gitmem demo

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint $(VENV)/installed-wheel
	$(PYTEST)

test-slow: $(VENV)/installed-wheel
	$(PYTEST) -m slow

# Installs Debian's server packages (as root) and syncs through them: nginx, lighttpd, sshd, git daemon.
SERVERS := git openssh-server openssh-client nginx-light fcgiwrap lighttpd openssl
test-servers: $(VENV)/installed-wheel
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(SERVERS)
	$(PYTEST) -m servers -rfs

# Changes code in small ways, one at a time, and runs the tests on each: an hour or two. Which files and tests, is in
# pyproject.toml; what survives, and why, in docs/testing.md. ONLY="gitmem.okf.merge*" takes a part of it.
MUTANTS := $(VENV)-mutants
$(MUTANTS)/installed: pyproject.toml
	$(PYTHON) -m venv $(MUTANTS)
	$(MUTANTS)/bin/pip install --quiet --disable-pip-version-check --editable '.[mutants]'
	touch $@

mutants: $(MUTANTS)/installed
	$(MUTANTS)/bin/mutmut run --max-children 2 $(ONLY)
	$(MUTANTS)/bin/mutmut results

clean:
	rm -rf $(VENV) $(MUTANTS) mutants build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
