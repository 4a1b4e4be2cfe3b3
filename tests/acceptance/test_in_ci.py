"""The examples of the page *Teams, CI and JupyterHub*: a recorded notebook in CI, and a function from its folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.acceptance.test_living_with_a_function import first_cells
from tests.magics.test_real_kernel import environment
from tests.pages import ROOT, examples
from tests.sandbox.sandboxes import open_sandbox
from tests.scripted_model import ScriptedModel, by_marker

(_, VERIFIED), (_, COMMAND) = examples("teams.md")


def written(path: Path, cells: Iterable[str]) -> None:
    import nbformat  # slow
    from nbformat.v4 import new_code_cell, new_notebook

    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), path)


@pytest.mark.slow
@pytest.mark.kernel
@pytest.mark.local_sandbox
def test_a_recorded_notebook_runs_and_another_request_fails(tmp_path: Path) -> None:
    open_sandbox("local")
    shutil.copytree(
        ROOT / "notebooks" / ".autocode", tmp_path / ".autocode", ignore=shutil.ignore_patterns("outputs", "cl*")
    )
    load, data, cell = first_cells()
    with ScriptedModel(by_marker({})) as model:
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        known = {**os.environ, **environment(model), "PATH": path}

        def run(*cells: str) -> subprocess.CompletedProcess[str]:
            written(tmp_path / "report.ipynb", cells)
            return subprocess.run(
                ["bash", "-ec", COMMAND], cwd=tmp_path, env=known, capture_output=True, text=True, check=False
            )

        done = run(load, data, cell, "monthly, best = growth.run()", VERIFIED)
        assert done.returncode == 0, done.stderr
        done = run(load, data, f"{cell} Count them too.")
        assert done.returncode != 0 and "Locked" in done.stderr
        assert model.requests == []
