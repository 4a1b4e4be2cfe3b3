"""A notebook that is stored as a Python script is valid Python, and becomes the same cells again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

GUIDE = (Path(__file__).parents[2] / "docs" / "guide.md").read_text("utf-8")
PROSE = '''%%autocode growth -o "total: float"
--check "total > 0"
Total revenue of @sales; don't count "returns" or """gifts.

- skip months with < 5 orders \\
# and so on'''
QUOTED = '%%autocode growth --refine\n"""\nRound it, don\'t cut it.\n"""'
TEST = "%%autocode_test growth\ndef test_it():\n    assert run() == 1"
TOOLS = "%%autocode answer --mode tools --tool fetch\nWhich of @sales aren't paid?"
CELLS = ["import pandas as pd", PROSE, QUOTED, TEST, TOOLS, "%autocode status"]


def written(path: Path, cells: Iterable[str], metadata: Mapping[str, Any] | None = None) -> None:
    import nbformat  # slow
    from nbformat.v4 import new_code_cell, new_notebook

    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells], metadata=metadata or {}), path)


def cells_of(path: Path) -> list[str]:
    import nbformat

    return [cell.source for cell in nbformat.read(path, as_version=4).cells]


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    metadata = {
        "kernelspec": {"name": "python3", "language": "python", "display_name": "Python"},
        "language_info": {"name": "python", "file_extension": ".py", "nbconvert_exporter": "python"},
    }
    path = tmp_path / "work.ipynb"
    written(path, CELLS, metadata)
    return path


def stored(path: Path, form: str) -> None:
    """What the command `jupytext --to FORM PATH` does."""
    from jupytext.cli import jupytext  # slow

    assert not jupytext(["--quiet", "--to", form, str(path)])


@pytest.mark.parametrize("form", ["py:percent", "py:light"])
def test_with_the_line_of_the_guide_jupytext_stores_every_request_as_valid_python(notebook: Path, form: str) -> None:
    (line,) = re.findall(r"`(custom_cell_magics = [^`]*)`", GUIDE)
    (notebook.parent / "jupytext.toml").write_text(f"{line}\n", "utf-8")
    stored(notebook, form)
    script = notebook.with_suffix(".py")
    tree = ast.parse(script.read_text("utf-8"))
    assert [ast.unparse(statement) for statement in tree.body] == ["import pandas as pd"]
    notebook.unlink()
    stored(script, "ipynb")
    assert cells_of(notebook) == CELLS


def test_a_request_in_triple_quotes_needs_no_setting(notebook: Path) -> None:
    written(notebook, ("x = 1", QUOTED))
    stored(notebook, "py:percent")
    ast.parse(notebook.with_suffix(".py").read_text("utf-8"))


def test_the_script_of_nbconvert_is_valid_python(notebook: Path) -> None:
    from nbconvert import ScriptExporter  # slow

    text, _ = ScriptExporter().from_filename(str(notebook))
    script = ast.parse(text)
    assert len(script.body) == len(CELLS)
