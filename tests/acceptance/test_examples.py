"""The shipped examples run without a key, return the right values, and are saved with their outputs."""

from __future__ import annotations

import importlib
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LendKernel
from tests.sandbox.sandboxes import open_sandbox

EXAMPLES = Path(__file__).parents[2] / "notebooks" / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))

LOCAL = re.compile(r"/(?:tmp|home|root|work|Users|var)/|[A-Z]:\\\\|0x[0-9a-f]{8}")
"""Patterns of text that is specific to one machine or process."""

DURATION = re.compile(r"(?: ·|  ) ?[\d.]+ s(?: ·|\n|<|$)|>[\d.]+ s<")


def code_cells(name: str) -> list[Any]:
    import nbformat  # takes a second, and every worker collects this

    cells = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code"]


def in_a_kernel(name: str) -> Any:
    """Examples that import a module beside them get their own kernel, because the import stays in it."""
    return pytest.param(name, marks=[pytest.mark.own_kernel] if name.startswith(("durable", "revenue")) else [])


@pytest.mark.slow
@pytest.mark.local_sandbox
@pytest.mark.parametrize("name", [in_a_kernel(name) for name in NAMES])
def test_an_example_runs_without_a_key_and_finds_its_known_answers(
    name: str, lend_kernel: LendKernel, tmp_path: Path
) -> None:
    open_sandbox("local")
    shutil.copytree(EXAMPLES, tmp_path, ignore=shutil.ignore_patterns("outputs"), dirs_exist_ok=True)
    before = journals(tmp_path)
    env = {"AUTOCODE_SANDBOX": "local", "AUTOCODE_SECOND_OPINION": "on"}
    for script in tmp_path.glob("nightly*.py"):  # it asks the same; other examples examine what they make
        text = script.read_text("utf-8")
        assert text.count("second_opinion=") == 1
        script.write_text(text.replace("second_opinion=", 'effort="quick", second_opinion='), "utf-8")
    with lend_kernel(env) as kernel:
        for cell in code_cells(name):
            answered = kernel.run(cell.source)
            assert answered.status == "ok", f"{cell.source}\n{answered.error}"
    assert journals(tmp_path) == before  # nothing was asked, so nothing was recorded


def test_the_played_model_finds_journals_of_both_layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    played_model = importlib.import_module("played_model")

    (journal,) = (EXAMPLES / ".autocode" / "week_totals").rglob("journal.jsonl")
    earlier, now = tmp_path / "earlier", tmp_path / "now"
    shutil.copytree(journal.parent, earlier / journal.parent.name)
    shutil.copytree(journal.parent, now / "versions" / journal.parent.name)
    for folder in (earlier, now):
        model = played_model.PlayedModel(folder)
        model.close()
        assert {exchange["stage"] for _, exchange in model._answers} >= {"code", "tests"}


def journals(folder: Path) -> dict[str, bytes]:
    files = (path for path in (folder / ".autocode").rglob("*") if path.is_file() and "outputs" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_shown_as_executed_and_as_it_would_be_anywhere(name: str) -> None:
    cells = code_cells(name)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for output in (output for cell in cells for output in cell.outputs):
        assert output.output_type != "error" and output.get("name") != "stderr"
        said = "\n".join(str(part) for part in [output.get("text", ""), *output.get("data", {}).values()])
        assert not LOCAL.search(said) and not DURATION.search(said), said


def test_the_list_of_examples_names_each_once() -> None:
    listed = re.findall(r"\]\((\w+)\.ipynb\)", (EXAMPLES / "README.md").read_text("utf-8"))
    assert sorted(listed) == NAMES
