"""The shipped notebook after a plain install: it needs no key, replays its journal, and does not change it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from tests.sandbox.sandboxes import EACH, open_sandbox
from tests.wheel.building import ROOT

if TYPE_CHECKING:
    import nbformat

USED = """import json, autocoder_jupyter
print(json.dumps([autocoder_jupyter.__file__, growth.report.sandbox, growth.attempts]))"""

OTHERS = ("clean_cars", "climate")
"""The functions of the notebook besides `growth`, which is enough to show that a plain install reaches an engine."""


@pytest.mark.parametrize("name", EACH)
def test_the_quickstart_runs_without_a_key_or_an_extra(
    name: str, plain_python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat
    from nbclient import NotebookClient

    open_sandbox(name)  # skips, or fails in CI, where this sandbox does not answer
    for variable in list(os.environ):
        if variable.startswith("AUTOCODE_") or variable.endswith("_API_KEY") or variable == "PYTHONPATH":
            monkeypatch.delenv(variable)
    monkeypatch.setenv("AUTOCODE_EFFORT", "quick")  # the build of the site examines the same functions
    if name == "local":  # which is chosen where no engine answers
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    folder = tmp_path / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder)
    before = contents(folder / ".autocode")
    notebook = nbformat.read(folder / "quickstart.ipynb", as_version=4)
    if name == "docker":
        notebook.cells = [cell for cell in notebook.cells if not any(other in cell.source for other in OTHERS)]
    notebook.cells.append(nbformat.v4.new_code_cell(USED))
    kernel = kernel_of(plain_python, tmp_path / "kernels")
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, km=kernel, timeout=240, resources=place).execute(cleanup_kc=True)
    package, sandbox, attempts = json.loads(notebook.cells.pop().outputs[0].text)
    assert Path(package).is_relative_to(plain_python.parents[1]) and sandbox == name
    said = text_of(notebook)
    assert said.count("kept: verified on") == (3 if name == "local" else 1)  # by a shipped version; no model is asked
    assert attempts == 2  # the function was repaired once when it was generated
    assert "'MSFT': '2001-01'" in said and "DataDrift" in said
    if name == "local":
        assert "November" in said
        assert any("image/png" in o.get("data", {}) for c in notebook.cells if c.cell_type == "code" for o in c.outputs)
    assert contents(folder / ".autocode") == before


def kernel_of(python: Path, folder: Path) -> AsyncKernelManager:
    """A kernel of another interpreter, not started yet; `folder` gets its kernel spec."""
    spec = {"argv": [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "plain"}
    (folder / "plain").mkdir(parents=True)
    (folder / "plain" / "kernel.json").write_text(json.dumps(spec))
    specs = KernelSpecManager(kernel_dirs=[str(folder)], ensure_native_kernel=False)
    return AsyncKernelManager(kernel_name="plain", kernel_spec_manager=specs)


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "outputs" not in path.parts)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def text_of(notebook: nbformat.NotebookNode) -> str:
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return "\n".join(str(output.get("text") or output.get("data", {}).get("text/plain", "")) for output in outputs)
