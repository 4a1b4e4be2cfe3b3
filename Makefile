# Two commands do everything on a fresh machine: `make demo` and `make test`. Both set up .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.synced

.PHONY: demo test check format bench lock clean

# The quickstart notebook, really executed in a kernel; its journal holds the model's answers, so it needs no key.
demo: $(STAMP)
	$(BIN)/python tools/run_notebook.py notebooks/quickstart.ipynb

test: $(STAMP)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/python -m pytest tests/benchmarks --benchmark-only --benchmark-group-by=group $(PYTEST_ARGS)

# Pins with hashes, without addresses. Run after a change of dependencies in pyproject.toml.
lock: $(VENV)/bin/uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-header --no-annotate --quiet --upgrade -o requirements/all.txt
	printf 'uv\n' | $(BIN)/uv pip compile - --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-header --no-annotate --quiet --upgrade -o requirements/uv.txt

$(VENV)/bin/uv: requirements/uv.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	touch $@

$(STAMP): $(VENV)/bin/uv requirements/all.txt pyproject.toml
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements/all.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
