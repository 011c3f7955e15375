# The doors for people. `make demo` and `make test` work from a clean clone.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet
HOT := $(shell find dissectors -name '*.pxd' -o -name '*.py' | sort)

# The compiler need not do again what it did for another clone; one that was chosen is left alone.
ifeq ($(origin CC),default)
ifneq ($(shell command -v ccache),)
export CC := ccache cc
endif
endif

.PHONY: demo test quick bench bench-spark dist lint docs clean system-packages
.DEFAULT_GOAL := demo

demo: $(VENV)/.built
	@$(VENV)/bin/amqpscope demo

# Everything, live brokers included, on all cores.
CORES := $(shell getconf _NPROCESSORS_ONLN)
PYTEST := $(PY) -m pytest -n $(CORES) --no-loadscope-reorder
test: system-packages $(VENV)/.test $(VENV)/.built tests/live/node_modules/.installed
	$(PYTEST)

# Under three minutes, nothing outside the virtual environment needed.
quick: $(VENV)/.test $(VENV)/.built
	$(PYTEST) -m "not live and not slow"

# The race against tshark on generated captures (MEGABYTES=1000 for the long distance), then
# replay against pika.
MEGABYTES ?= 250
bench: system-packages $(VENV)/.test $(VENV)/.built
	$(PY) -m bench.race --megabytes $(MEGABYTES)
	$(PY) -m bench.replay_race
	$(PY) -m bench.replay_race10

# Memory of one huge flow, cost against dissect, and how it grows; GIGABYTES="0.5 2 8" for the long distance.
GIGABYTES ?= 0.1 0.2 0.4
FLOW_GIGABYTES ?= 0.5
bench-spark: $(VENV)/.built
	$(PY) -m bench.spark --flow $(FLOW_GIGABYTES) $(GIGABYTES)

# What spark-submit ships to a cluster: see docs/spark.md.
dist: $(VENV)/.built
	$(PY) -m spark_etl.dist dist

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# Rewrites the pages that are made from the code.
docs: $(VENV)/.built
	$(PY) -m amqpscope.docs

clean:
	rm -rf $(VENV) build dist out *.egg-info
	find dissectors -name '*.so' -delete

$(PY):
	@sh .ci/make-venv $(PYTHON) $(VENV)

# AMQPSCOPE_PURE=1: the extensions are built by the next step, in place and incrementally.
$(VENV)/.installed: pyproject.toml setup.py | $(PY)
	@echo "installing amqpscope and what it needs into $(VENV) (some minutes the first time)"
	AMQPSCOPE_PURE=1 $(PIP) install --editable .
	$(PIP) install "setuptools>=77"
	@touch $@

$(VENV)/.built: $(VENV)/.installed $(HOT)
	@sh .ci/c-compiler $(PY)
	@echo "building the compiled backend (plain Python is used where that fails)"
	@mkdir -p build
	@$(PY) setup.py --quiet build_ext --inplace >build/build.log 2>&1 || cat build/build.log
	@# Python does that by itself where it may write beside the sources, and where it was not told not to.
	@$(PY) -m compileall -q -j 0 amqpscope dissectors replay spark_etl
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	AMQPSCOPE_PURE=1 $(PIP) install --editable ".[test]"
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	AMQPSCOPE_PURE=1 $(PIP) install --editable ".[test,dev]"
	@touch $@

system-packages:
	@sh .ci/system-packages

# The live tests' clients in another language.
tests/live/node_modules/.installed: tests/live/package.json | system-packages
	@npm install --prefix tests/live --no-audit --no-fund --loglevel=error
	@touch $@
