# Two commands do everything: `make demo` and `make test`. Both set up what they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Three on two processors: some tests wait for a clock.
WORKERS ?= 3
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet
ENOUGH := import sys; sys.exit("Python 3.11 or newer is needed; try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)

.PHONY: setup demo picture test slow real retest check packages format docs site bench bench-fleet money soak coverage fuzz torture prices clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt src/oraclepack/__init__.py
	@$(PYTHON) -c '$(ENOUGH)'
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install -c constraints.txt pip
	@$(PIP) install -c constraints.txt -e . --group dev
	@touch $@

demo: $(READY)
	@rm -rf build/demo
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh build/demo

picture: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.picture
	@$(BIN)/python -m tests.tui.screenshots

# What the program does. What keeps the repository good is in tests/keep and part of `make check`.
test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q --ignore tests/keep -m "not heavy and not slow"

# The tests that take long. `.ci/run` runs them too.
slow: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q --ignore tests/keep -m "slow and not heavy"

# The tests with parts that are large or slow to start. Each installs or starts what it needs, or says why not.
real: $(READY)
	$(BIN)/python -m pytest -q --ignore tests/keep -m heavy

retest: $(READY)
	$(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.generated --check
	$(MAKE) --no-print-directory site
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -p no:cacheprovider tests/keep
	bash .ci/wheel $(BIN)/python

# Wheel and sdist with each extra in environments of their own; some minutes, and it needs the network.
PYTHONS ?= $(PYTHON)
packages: $(READY)
	bash .ci/extras $(BIN)/python $(PYTHONS)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Renews the generated pages and builds the site.
docs: $(READY)
	$(BIN)/python -m tests.generated
	@$(MAKE) --no-print-directory site

# The pages as a site in build/site; whatever mkdocs warns of is an error. It needs no network once its tools are installed.
site: $(READY)
	@$(PIP) install -c constraints.txt --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html"

bench: $(READY)
	$(BIN)/python -m bench --write docs/performance.md

# The table of money in docs/performance.md and README.md; snakemake in an environment of its own, if it can be had.
RIVALS := build/rivals
money: $(READY)
	@test -x $(RIVALS)/bin/snakemake || { $(PYTHON) -m venv $(RIVALS) && $(RIVALS)/bin/python -m pip --disable-pip-version-check -q install snakemake; } \
	  || echo "snakemake cannot be installed: it is left out"
	ORACLEPACK_BENCH_PATH="$(CURDIR)/$(RIVALS)/bin" $(BIN)/python -m bench.money --write

bench-fleet: $(READY)
	$(BIN)/python -m bench.fleet_page --growth --write

coverage: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) -q --cov --cov-report=term

torture: $(READY)
	$(BIN)/python -m tests.torture --seed 1 --write RELIABILITY.md

# Random attacks with random seeds, for an hour by default.
SOAK_MINUTES ?= 60
soak: $(READY)
	$(BIN)/python -m tests.torture.soak --minutes $(SOAK_MINUTES)

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz --count 2000 --seed 1

# The public prices of models that the package ships, from the newest genai-prices.
prices: $(READY)
	@$(PIP) install --upgrade --group prices
	$(BIN)/python -m tests.price_table

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
