"""The examples of the pages about large tables and about many inputs, executed in their order in one kernel."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.acceptance.test_living_with_a_function import first_cells
from tests.conftest import LendKernel
from tests.magics.test_real_kernel import environment
from tests.pages import ROOT, examples
from tests.sandbox.sandboxes import open_sandbox
from tests.scripted_model import ScriptedModel, by_marker

ALL = [block for _, block in (*examples("large-tables.md"), *examples("beyond-one-machine.md"))]
OF_CLUSTERS = [block for block in ALL if block.startswith(("from pyspark", "import ray"))]
"""Executed by `tests/scaling/clusters`."""
BLOCKS = [block for block in ALL if block not in OF_CLUSTERS]


@pytest.mark.slow
@pytest.mark.local_sandbox
def test_each_example_of_the_pages_runs(lend_kernel: LendKernel, tmp_path: Path) -> None:
    open_sandbox("local")
    shutil.copytree(
        ROOT / "notebooks" / ".autocode", tmp_path / ".autocode", ignore=shutil.ignore_patterns("outputs", "cl*")
    )
    (tmp_path / "flyte.yaml").write_text("{}")
    # Flyte reports errors to its authors, and keeps outcomes beside its settings, by default in the home folder.
    of_flyte = {"DO_NOT_TRACK": "1", "FLYTECTL_CONFIG": str(tmp_path / "flyte.yaml")}
    with ScriptedModel(by_marker({})) as model, lend_kernel({**environment(model), **of_flyte}) as kernel:
        for source in (*first_cells(), *BLOCKS):
            answered = kernel.run(source)
            assert answered.status == "ok", answered.error
            if "one.map(" in source and ".errors" not in source:
                assert kernel.printed("len(one.map.last.errors)") == "0", source
        shown = kernel.printed("type(mapped.errors[0].error).__name__, len(mapped.outcomes), split.kind")
        assert shown == "DataDrift 1 groups"
        of_symbols = kernel.run("print(len(run.outputs()[0]) == len(tables) > 1)")
        assert of_symbols.text.strip() == "True", of_symbols.error
        by_query = kernel.run(
            "by = ['symbol', 'month']; mine = one(stocks).sort_values(by, ignore_index=True)\n"
            "print(same[by].astype(str).equals(mine[by].astype(str)), (same.growth - mine.growth).abs().max() < 0.011)"
        )
        assert by_query.text.split() == ["True", "True"], (by_query.text, by_query.error)
        preview = kernel.run("%%autocode daily --dry-run\nThe number of @trades a day.")
        assert preview.status == "ok" and "came as a polars LazyFrame" in str(preview.displays)
        assert model.requests == []
