# Targets for people and for continuous integration; `make help` lists them.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: docs dist help setup demo test quick processors interpreters mutate lint bench clean
MAKEFLAGS += --no-print-directory

RUN := . scripts/env.sh && pkm_runtime_environment &&
PYTHON_OF_CHECKOUT := "$$PKM_ROOT/.venv/bin/python"
PACKAGES := pkm_description pkm_dynamics pkm_identification pkm_control pkm_bringup

# A file of tests belongs to one process; they come in the order of tests/conftest.py.
PROCESSES ?= auto
IN_PROCESSES = -n $(PROCESSES) --maxprocesses 8 --dist loadfile --no-loadscope-reorder --max-worker-restart 0
# Further arguments: make test ARGS="-k dynamics", make demo ARGS="--output DIR"
ARGS ?=

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## environment: ROS 2 (sourced or from wheels), requirements, messages, packages
	@scripts/setup.sh

demo: setup ## identify a simulated parallel robot and control it with the result
	@$(RUN) $(PYTHON_OF_CHECKOUT) -m pkm_bringup.cli demo $(ARGS)

test: setup ## all tests, in PROCESSES processes (default: one for each core, at most 8)
	@$(RUN) $(PYTHON_OF_CHECKOUT) -m pytest $(IN_PROCESSES) $(ARGS)

quick: setup ## tests of the inner loop: no slow ones, none that start ROS nodes
	@$(RUN) $(PYTHON_OF_CHECKOUT) -m pytest $(IN_PROCESSES) -m "not slow and not ros" $(ARGS)

processors: setup ## tests with the kernels of other processor types and with one and four threads
	@$(RUN) PROCESSES=$(PROCESSES) scripts/processors.sh $(ARGS)

interpreters: ## make quick with Python 3.10, 3.12, 3.12 with NumPy 1, 3.13: ARGS="python3.12+numpy1"
	@scripts/interpreters.sh $(ARGS)

mutate: setup ## how many small changes of the code the tests notice: ARGS="--sample 40 control"
	@$(RUN) test -d .build/mutation/cosmic_ray || $(PYTHON_OF_CHECKOUT) -m pip install -q \
		--target .build/mutation -r requirements/mutation.txt
	@$(RUN) $(PYTHON_OF_CHECKOUT) scripts/mutate.py $(ARGS)

docs: setup ## the documentation as a site, in .build/docs; a dead link inside is an error
	@$(RUN) cmp -s doc/requirements.txt .build/sphinx/requirements.txt || { rm -rf .build/sphinx && \
		$(PYTHON_OF_CHECKOUT) -m pip install -q --target .build/sphinx -r doc/requirements.txt && \
		cp doc/requirements.txt .build/sphinx/requirements.txt; }
	@$(RUN) PYTHONPATH="$$PKM_ROOT/.build/sphinx$${PYTHONPATH:+:$$PYTHONPATH}" $(PYTHON_OF_CHECKOUT) \
		-m sphinx -q -W --keep-going -b $(or $(BUILDER),html) -c doc . .build/docs $(ARGS)
	@echo "documentation: .build/docs/index.html"

lint: setup ## ruff (rules and format) and mypy
	@$(RUN) $(PYTHON_OF_CHECKOUT) -m ruff check .
	@$(RUN) $(PYTHON_OF_CHECKOUT) -m ruff format --check .
	@$(RUN) $(PYTHON_OF_CHECKOUT) -m mypy

dist: setup ## a wheel and an sdist of each package, in .build/dist
	@rm -rf .build/dist
	@$(RUN) $(PYTHON_OF_CHECKOUT) scripts/distributions.py .build/dist $(PACKAGES) \
		$$([ "$$PKM_ROS" = sourced ] || echo pkm_msgs)

bench: setup ## control loop: missed deadlines, rate, latency, compute time
	@$(RUN) $(PYTHON_OF_CHECKOUT) -m pkm_bringup.cli bench $(ARGS)

clean: ## remove the environment, builds, logs and caches of this checkout
	rm -rf .venv .build build install log .pytest_cache .mypy_cache .ruff_cache
	find $(PACKAGES) tests -name __pycache__ -prune -exec rm -rf {} +
	rm -rf $(foreach package,$(PACKAGES),$(package)/*.egg-info $(package)/build)
