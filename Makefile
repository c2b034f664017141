# Every target installs what it lacks. Two commands are enough: `make demo`, `make test`.
PYTHON ?= python3
ENV := .venv
BIN := $(ENV)/bin
MADE := $(ENV)/.made

.DEFAULT_GOAL := help
.PHONY: help env demo check docs hosts test test-starts test-hdfs test-python-3.7 bench bench-faults bench-wild bench-recovery bench-agree lock clean

help: ## Show this list
	@grep -E '^[a-z0-9.-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

env: $(MADE) ## Make .venv with everything the tests need, TensorFlow included

$(MADE): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else \
	  "Holdfast needs Python 3.11 to 3.13, and $(PYTHON) is %d.%d: make PYTHON=python3.12" % v)'
	@echo "making $(ENV): TensorFlow is a large download, this takes a minute or two"
	$(PYTHON) -m venv $(ENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

demo: $(MADE) ## Train a small model on 4 tasks, break one, and see the explanation
	@$(BIN)/python bench/demo.py

check: $(MADE) ## Style, types, import rules, tidiness
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/pytest -q tests/test_tidy.py

docs: $(MADE) ## Pages of all causes in docs/causes, made from the catalogue; fails on a broken link
	$(BIN)/python -m tools.cause_pages

hosts: ## Several hosts on one machine take `ip`, other readers of HDF5 `h5dump`; both need root once
	@command -v ip >/dev/null || { test "$$(id -u)" = 0 && apt-get install -y -q iproute2; } || true
	@command -v h5dump >/dev/null || { test "$$(id -u)" = 0 && apt-get install -y -q hdf5-tools; } || true

# A cluster needs the whole machine; all else runs on two cores at once.
PROCESSES := tests --ignore tests/pure --ignore tests/cluster --ignore tests/hdfs --ignore tests/python_3_7
# Real processes that miss their time on a busy machine get a second try, alone. What fails twice fails,
# and what passes only then is listed. Exit code 1 means that tests failed: all else is never tried again.
SECOND_TRY = || { test $$? = 1 && echo "second try, one at a time, of what failed:" \
  && $(BIN)/pytest -v --last-failed --last-failed-no-failures none
test: check hosts ## All tests: the pure half with its coverage, then real processes and clusters
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -q -n 2 tests/pure
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	$(BIN)/pytest -q --durations=10 -n 2 --dist loadfile $(PROCESSES) $(SECOND_TRY) $(PROCESSES); }
	$(BIN)/pytest -q --durations=10 $(CLUSTERS) $(SECOND_TRY) $(CLUSTERS); }

STARTS := tests/cluster/test_startup.py
CLUSTERS := tests/cluster --ignore $(STARTS)
test-starts: $(MADE) hosts ## Start-ups of real clusters, broken in 40 ways (7 minutes)
	$(BIN)/pytest -q --durations=10 $(STARTS) $(SECOND_TRY) $(STARTS); }

# Not a part of `test`: Hadoop is a download of its own, and not every machine has Java or Python 3.7.
HADOOP := .envs/hdfs
COPY := org.apache.maven.plugins:maven-dependency-plugin:3.6.1
test-hdfs: $(MADE) $(HADOOP)/.made ## Rows on a real HDFS, by hdfs:// and webhdfs://; takes Java (3 minutes)
	$(BIN)/pytest -q --durations=5 tests/hdfs $(SECOND_TRY) tests/hdfs; }

$(HADOOP)/.made: tests/hdfs/pom.xml
	@command -v mvn >/dev/null || { test "$$(id -u)" = 0 && apt-get install -y -q maven; } \
	  || { echo "this takes Java and Maven: apt-get install maven"; exit 1; }
	mvn -q -B -f tests/hdfs/pom.xml $(COPY):copy-dependencies -DincludeScope=runtime \
	  -DoutputDirectory=$(abspath $(HADOOP))/jars
	@touch $@

test-python-3.7: $(MADE) ## What runs in a task, on Python 3.7 with TensorFlow 1.15 and 2.11 (3 minutes)
	$(BIN)/pytest -q tests/python_3_7

bench: $(MADE) ## Measure output, overhead and checks, break start-ups, and judge what is said; rows (7 hours)
	$(BIN)/python -m bench.output
	$(BIN)/python -m bench.diagnose --full
	$(BIN)/python -m bench.on_ray
	$(BIN)/python -m bench.overhead
	$(BIN)/python -m bench.in_task
	$(BIN)/python -m bench.check
	$(BIN)/python -m bench.attach
	$(BIN)/python bench/fuzz_spec.py
	$(BIN)/python -m bench.startup
	$(BIN)/python -m bench.peers
	$(BIN)/python -m bench.foreign
	$(BIN)/python -m bench.situations
	$(BIN)/python -m bench.soak
	$(BIN)/python -m bench.rows
	$(BIN)/python -m bench.rows.central
	$(BIN)/python -m bench.rows.merging
	$(BIN)/python -m bench.rows.crash
	$(BIN)/python -m bench.rows.stress
	$(BIN)/python -m bench.rows.guard_histories --histories 1000
	$(BIN)/python -m bench.rows.rescue

bench-faults: $(MADE) hosts ## Strike jobs while they train, in 100 ways, and judge what is said (1 hour)
	$(BIN)/python -m bench.running

bench-wild: $(MADE) ## Compose jobs from fresh seeds, break or pause them, and judge what is said (1 hour)
	$(BIN)/python -m bench.wild --jobs 200 --at-once 2

bench-recovery: $(MADE) hosts ## Strike jobs that are brought back, in every role, and judge what came of it (half an hour)
	$(BIN)/python -m bench.recovering

bench-agree: $(MADE) ## Let one task differ from the others, in 50 ways, and judge what is said (20 minutes)
	$(BIN)/python -m bench.agreeing

lock: $(MADE) ## Renew requirements.lock
	$(BIN)/python tools/lock.py

clean: ## Remove what make has made
	rm -rf $(ENV) .envs .mypy_cache .ruff_cache .pytest_cache .hypothesis
