# Needs python3 (3.11 or newer), its pip (22.3 or newer) and make; everything else goes into .venv.
# A stamp file in .venv remembers what is installed, so a repeat installs nothing.

PYTHON ?= python3
PYTEST_ARGS ?=

VENV := .venv
RUN := $(VENV)/bin/python
INPUTS := pyproject.toml constraints.txt
# The system's pip installs into the environment: works without ensurepip, and where Debian
# calls its own Python externally managed.
INSTALL = $(PYTHON) -m pip --python $(RUN) --disable-pip-version-check install --quiet -c constraints.txt -e

# An environment whose Python is gone has nothing installed: forget its stamps.
$(shell test -x $(RUN) || rm -f $(VENV)/*.stamp)

.PHONY: help demo test lint types drills bench derive clean
.DELETE_ON_ERROR:
.NOTPARALLEL:

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 14

demo: $(VENV)/core.stamp  ## set up, then the main job on a table that ships with the package
	$(VENV)/bin/lowdim demo

test: $(VENV)/test.stamp  ## set up, then the tests (PYTEST_ARGS="-k name" narrows them)
	OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -n 2 -rfEs $(PYTEST_ARGS)

lint: $(VENV)/test.stamp  ## ruff
	$(RUN) -m ruff check .

types: $(VENV)/test.stamp  ## mypy over src/lowdim
	$(RUN) -m mypy

drills: $(VENV)/test.stamp  ## the full-size versions of the checks, one at a time
	$(RUN) -m pytest -m drill -rfEs $(PYTEST_ARGS)

bench: $(VENV)/bench.stamp  ## ours and the peers, in one run, as ratios
	$(RUN) benchmarks/run.py

derive: $(VENV)/core.stamp  ## write what the registry says: the public names for editors, README's table of models
	$(RUN) tools/derive.py

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(RUN):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lowdim needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv --clear --without-pip $(VENV)

# $(RUN) is order-only: it is a link to the system's Python, whose date says nothing.
$(VENV)/core.stamp: $(INPUTS) | $(RUN)
	$(INSTALL) .
	@touch $@

$(VENV)/test.stamp: $(INPUTS) | $(RUN)
	$(INSTALL) ".[test]"
	@touch $(VENV)/core.stamp $@

$(VENV)/bench.stamp: $(INPUTS) | $(RUN)
	$(INSTALL) ".[bench]"
	@touch $(VENV)/core.stamp $@
