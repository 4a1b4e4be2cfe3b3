"""The notebook that ships: it runs without a key, replays its journal, and leaves it as it was."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.sandbox.sandboxes import EACH, open_sandbox

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "outputs" not in path.parts)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def text_of(notebook: nbformat.NotebookNode) -> str:
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return "\n".join(str(output.get("text") or output.get("data", {}).get("text/plain", "")) for output in outputs)


@pytest.mark.parametrize("name", EACH)
def test_the_quickstart_runs_without_a_key(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_sandbox(name)  # skips, or fails in CI, where this sandbox does not answer
    monkeypatch.setenv("AUTOCODE_SANDBOX", name)
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AUTOCODE_MODEL", "AUTOCODE_API_BASE"):
        monkeypatch.delenv(key, raising=False)
    folder = tmp_path / "notebooks"
    shutil.copytree(NOTEBOOKS, folder)
    before = contents(folder / ".autocode")
    notebook = nbformat.read(folder / "quickstart.ipynb", as_version=4)
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(folder)}}).execute()
    said = text_of(notebook)
    assert said.count("replayed from the journal") == 3
    assert "2 attempts" in said  # the growth is mended once
    assert "'MSFT': '2001-01'" in said and "November" in said and "DataDrift" in said
    assert any("image/png" in o.get("data", {}) for c in notebook.cells if c.cell_type == "code" for o in c.outputs)
    assert contents(folder / ".autocode") == before
