# make demo  - a short real story in a temporary bundle
# make test  - the tests, which import the built wheel
# make check - lint, types and import rules
# All three need only python3 with venv, make, and the package index.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check
# Every environment gets the versions of constraints.txt, also for what builds the wheel (pip reads one name or the other).
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
# -P: Python does not look into this directory, so that `import gitmem` finds the wheel and not the source tree.
PYTEST ?= WHEEL_IS_INSTALLED=1 $(BIN)/python -P -m pytest

# What the wheel is made of; directories too, whose time says that a file has gone.
SOURCES := $(shell find gitmem hooks templates -name __pycache__ -prune -o -print) pyproject.toml README.md LICENSE

.PHONY: demo test check pins test-lowest test-slow test-power test-servers test-clients mutants clean

$(VENV)/installed: $(SOURCES) constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) .
	touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt
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

check: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(VENV)/installed-wheel
	$(PYTEST)

# Raises every pin to the newest release that fits, on purpose; run `make test check` before committing the result.
pins: NEWEST := $(VENV)-pins
pins:
	rm -rf $(NEWEST)
	$(PYTHON) -m venv $(NEWEST)/dev && $(PYTHON) -m venv $(NEWEST)/sdk1 && $(PYTHON) -m venv $(NEWEST)/sdk2
	PIP_CONSTRAINT= PIP_BUILD_CONSTRAINT= $(NEWEST)/dev/bin/pip install --quiet '.[dev]' '$(HERMES)'
	$(NEWEST)/dev/bin/pip freeze --exclude hermes-gitmem --exclude mcp > $(NEWEST)/dev.txt
	for sdk in 1 2; do PIP_CONSTRAINT=$(NEWEST)/dev.txt $(NEWEST)/sdk$$sdk/bin/pip install --quiet "$$( \
		[ $$sdk = 1 ] && echo '$(SDK1)' || echo '$(SDK2)')" && \
		$(NEWEST)/sdk$$sdk/bin/pip freeze --exclude mcp > $(NEWEST)/sdk$$sdk.txt; done
	{ sed -n '/^#/p' constraints.txt; cat $(NEWEST)/*.txt | LC_ALL=C sort -fu; } > $(NEWEST)/constraints
	mv $(NEWEST)/constraints constraints.txt
	rm -rf $(NEWEST)

# The lowest versions that pyproject.toml allows, in an environment without the hosts.
LOWEST := $(VENV)-lowest
$(LOWEST)/installed: $(SOURCES) constraints.txt
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -c 'import re, tomllib; print(*(re.sub(">=([^,]+).*", r"==\1", each) for each in \
		tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"]), sep="\n")' > $(LOWEST)/lowest.txt
	PIP_CONSTRAINT=$(LOWEST)/lowest.txt $(LOWEST)/bin/pip install --quiet --disable-pip-version-check .
	grep -E '^(hypothesis|pytest|pytest-xdist)==' constraints.txt | \
		PIP_CONSTRAINT=$(LOWEST)/lowest.txt $(LOWEST)/bin/pip install --quiet --disable-pip-version-check -r /dev/stdin
	echo "$(CURDIR)" > "$$($(LOWEST)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tests.pth"
	touch $@

test-lowest: $(LOWEST)/installed
	$(LOWEST)/bin/python -P -m pytest tests/okf tests/git tests/test_config.py tests/test_files.py \
		tests/cli/test_main.py tests/cli/test_memory.py tests/cli/test_terminal.py tests/cli/test_demo.py

test-slow: $(VENV)/installed-wheel
	$(PYTEST) -m slow

# Installs Debian's tools for xfs and btrfs (as root) and cuts the power of images of each file system; CUTS=100.
test-power: $(VENV)/installed-wheel
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends e2fsprogs xfsprogs btrfs-progs
	$(PYTEST) -m power -rs

# Installs Debian's server packages (as root) and syncs through them: nginx, lighttpd, sshd, git daemon.
SERVERS := git openssh-server openssh-client nginx-light fcgiwrap lighttpd openssl
test-servers: $(VENV)/installed-wheel
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(SERVERS)
	$(PYTEST) -m servers -rfs

# Real MCP clients, each in an environment of its own: the official SDK, 1.x and 2.x, Hermes' client, and the Codex CLI.
# Where npm is missing it is installed (as root); a client that cannot be had here is skipped, and that is printed.
CLIENTS := $(VENV)-clients
ENVIRONMENT = $(PYTHON) -m venv $(@D) && $(@D)/bin/pip install --quiet --disable-pip-version-check --retries 10
HERMES := hermes-agent[mcp]==0.19.0
SDK1   := mcp==1.30.0
SDK2   := mcp==2.3.0
$(CLIENTS)/sdk1/installed: pyproject.toml constraints.txt
	$(ENVIRONMENT) '$(SDK1)'
	touch $@
$(CLIENTS)/sdk2/installed: pyproject.toml constraints.txt
	$(ENVIRONMENT) '$(SDK2)'
	touch $@
# hermes-agent ends with Python 3.13.
$(CLIENTS)/hermes/installed: pyproject.toml
	if $(PYTHON) -c 'import sys; sys.exit(sys.version_info >= (3, 14))'; \
	then $(ENVIRONMENT) '$(HERMES)'; else mkdir -p $(@D); fi
	touch $@
$(CLIENTS)/codex/installed: pyproject.toml
	mkdir -p $(@D)
	command -v npm >/dev/null || DEBIAN_FRONTEND=noninteractive \
		sh -c 'apt-get update -qq; apt-get install -y -qq --no-install-recommends nodejs npm' || true
	for attempt in 1 2 3; do \
		npm install --silent --no-fund --no-audit --prefix $(@D) @openai/codex@0.166.0 && touch $@ && break; \
		echo "npm could not install @openai/codex (attempt $$attempt)"; done; true

test-clients: $(VENV)/installed-wheel $(CLIENTS)/sdk1/installed $(CLIENTS)/sdk2/installed \
		$(CLIENTS)/hermes/installed $(CLIENTS)/codex/installed
	CLIENTS="$(CURDIR)/$(CLIENTS)" $(PYTEST) -n 1 -m clients -rfs tests/clients

# Changes code in small ways, one at a time, and runs the tests on each: an hour or two. Which files and tests, is in
# pyproject.toml; what survives, and why, in docs/testing.md. ONLY="gitmem.okf.merge*" takes a part of it.
MUTANTS := $(VENV)-mutants
$(MUTANTS)/installed: pyproject.toml
	$(PYTHON) -m venv $(MUTANTS)
	PIP_CONSTRAINT= $(MUTANTS)/bin/pip install --quiet --disable-pip-version-check --editable '.[mutants]'
	touch $@

mutants: $(MUTANTS)/installed
	$(MUTANTS)/bin/mutmut run --max-children 2 $(ONLY)
	$(MUTANTS)/bin/mutmut results

clean:
	rm -rf $(VENV) $(MUTANTS) $(CLIENTS) $(LOWEST) mutants build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
