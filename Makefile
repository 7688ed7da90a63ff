# Needs python3 (3.11 or newer), its pip (22.3 or newer) and make; everything else goes into .venv.
# A stamp file in .venv remembers what is installed, so a repeat installs nothing.

PYTHON ?= python3
PYTEST_ARGS ?=

VENV := .venv
RUN := $(VENV)/bin/python
LOWEST := .venv-lowest
INPUTS := pyproject.toml constraints.txt
# The system's pip installs into the environment: works without ensurepip, and where Debian
# calls its own Python externally managed.
INSTALL = $(PYTHON) -m pip --python $(RUN) --disable-pip-version-check install --quiet -c constraints.txt -e

# Compiled tests and modules are kept: collecting all tests takes half the time in every run but the first.
export PYTHONDONTWRITEBYTECODE :=

# An environment whose Python is gone has nothing installed: forget its stamps.
$(shell test -x $(RUN) || rm -f $(VENV)/*.stamp)

.PHONY: help demo test slow kernels lowest lint types script drills bench docs derive clean
.DELETE_ON_ERROR:
.NOTPARALLEL:

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 14

demo: $(VENV)/core.stamp  ## set up, then the main job on a table that ships with the package
	$(VENV)/bin/lowdim demo

test: $(VENV)/test.stamp  ## set up, then the tests (PYTEST_ARGS="-k name" narrows them)
	OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -n 2 -rfEs --durations=15 $(PYTEST_ARGS)

slow: $(VENV)/test.stamp  ## the tests that take more than a few seconds each
	OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -n 2 -rfEs -m "slow and not drill" --durations=10 $(PYTEST_ARGS)

# What OpenBLAS and NumPy do on other processors: their kernels differ in the last bits. How tables are read, and what is
# refused, no kernel changes; whether a verdict hangs on a last bit is asked once, of the kernels most processors have.
NUMERICAL := tests/laws/test_laws.py::test_law tests/laws/test_metamorphic.py tests/oracles tests/maths tests/models/linear tests/references
NO_AVX512 := AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4
kernels: $(VENV)/test.stamp  ## the numerical tests as on other processors
	OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell \
		NPY_DISABLE_CPU_FEATURES="$$($(RUN) tools/cpu_features.py $(NO_AVX512))" \
		$(RUN) -m pytest -n 2 -q -rfE $(NUMERICAL) tests/judge $(PYTEST_ARGS)
	OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Sandybridge $(RUN) -m pytest -n 2 -q -rfE $(NUMERICAL) $(PYTEST_ARGS)

# What the versions of dependencies can change: every room that calls them, scikit-learn's contract, one model on every kind
# of source, the commands that parse, stream and draw. All tests pass there (make lowest LOWEST_TESTS=tests); CI runs these.
LOWEST_TESTS ?= $(addprefix tests/,text maths storage table sources engine models/base models/linear jobs plot report docs \
	$(addprefix laws/test_laws.py::test_every_,law_on source_of_one_table_has_the_same_blocks source_of_one_table_gives_the_same_bits) \
	cli/about cli/run cli/table/test_fit.py cli/test_entry.py cli/test_streaming.py)
lowest: $(LOWEST)/test.stamp  ## the tests with the lowest versions that pyproject.toml admits
	OPENBLAS_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -n 2 -q -rfE $(LOWEST_TESTS) $(PYTEST_ARGS)

lint: $(VENV)/test.stamp  ## ruff: rules and format
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .

types: $(VENV)/test.stamp  ## mypy --strict over src/lowdim
	$(RUN) -m mypy

# The explorer's JavaScript is written with types in its comments; the checker is npm's and is needed nowhere else.
TYPESCRIPT := 5.9.3
script:  ## tsc --checkJs over the explorer's JavaScript, where npm is installed
	@if command -v npm >/dev/null; then \
		npm install --silent --no-audit --no-fund --prefix $(VENV)/typescript typescript@$(TYPESCRIPT) >/dev/null && \
		$(VENV)/typescript/node_modules/.bin/tsc -p tools/jsconfig.json && echo "script: types of the explorer's JavaScript hold"; \
	else echo "script: no npm, so the types of the explorer's JavaScript are not checked"; fi

drills: $(VENV)/test.stamp  ## the full-size versions of the checks, one at a time
	$(RUN) -m pytest -m drill -rfEs $(PYTEST_ARGS)

bench: $(VENV)/bench.stamp  ## ours and the peers, in one run, as ratios
	$(RUN) benchmarks/run.py

# Pages that take more than a few seconds are shown and not executed with QUICK=1; --fresh-env forgets an older build.
docs: $(VENV)/docs.stamp  ## the documentation, into build/docs (QUICK=1: without the slow pages of the gallery)
	LOWDIM_DATA="$${LOWDIM_DATA:-$(abspath ../shared/data)}" QUICK=$(QUICK) OPENBLAS_NUM_THREADS=1 $(RUN) -m sphinx --builder html --fail-on-warning --keep-going --fresh-env --quiet \
		docs build/docs
	$(RUN) tools/check_site.py build/docs

derive: $(VENV)/core.stamp  ## write what the registry says: the public names for editors, README's table of models
	$(RUN) tools/derive.py

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) $(LOWEST) build dist docs/_generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
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

$(LOWEST)/test.stamp: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv --clear --without-pip $(LOWEST)
	$(PYTHON) -m pip --python $(LOWEST)/bin/python --disable-pip-version-check install --quiet -c constraints-lowest.txt \
		-e ".[test]"
	@touch $@

$(VENV)/bench.stamp: $(INPUTS) | $(RUN)
	$(INSTALL) ".[bench]"
	@touch $(VENV)/core.stamp $@

$(VENV)/docs.stamp: $(INPUTS) | $(RUN)
	$(INSTALL) ".[docs]"
	@touch $(VENV)/core.stamp $@
