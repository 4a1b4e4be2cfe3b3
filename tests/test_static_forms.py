"""A result without live widgets: in an executed notebook, its export, and a site that strips styles."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.magics.forked_kernels import run_all
from tests.sandbox.sandboxes import open_sandbox

if TYPE_CHECKING:
    import nbformat

pytestmark = [pytest.mark.local_sandbox, pytest.mark.slow]

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"

WORDS = (
    "● Ready",
    "growth.run(stocks: DataFrame)",
    "def run",
    "How to call it",
    "the tests can fail",
    "two runs agree",
    "Attempt 1",
    "Attempt 2",
    "Cause:",
    "What changed from attempt 1 to 2",
    "Exactly what was sent",
    "share=rows",
    "Schema of stocks",
    "Conversation",
    "replayed",
    "local, tier ",
    "1 core, 2Gi memory, 120 s a call",
    "Locked packages",
)
"""Texts of every section, at least one of each."""


def own_text(page: str) -> str:
    """The text of some HTML, without the styles and scripts of the page around it."""
    page = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[nbformat.NotebookNode]:
    """The `growth` of the quickstart, executed without a key or a user, and shown in three ways."""
    import nbformat

    open_sandbox("local")
    folder = tmp_path_factory.mktemp("forms") / "notebooks"
    shutil.copytree(NOTEBOOKS, folder)
    cells = nbformat.read(folder / "quickstart.ipynb", as_version=4).cells
    wanted = ("%load_ext", "%config", "import pandas", "stocks = ", "%%autocode growth")
    sources = [cell.source for cell in cells if cell.cell_type == "code" and cell.source.startswith(wanted)]
    sources += ["growth", "%autocode show growth", "%autocode show growth --report"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTOCODE_SANDBOX", "local")
        for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AUTOCODE_MODEL", "AUTOCODE_API_BASE"):
            patch.delenv(key, raising=False)
        run_all(notebook, folder)
    yield notebook


def test_a_headless_run_leaves_the_static_form_and_no_widget(executed: nbformat.NotebookNode) -> None:
    for cell in executed.cells[-3:]:
        (output,) = cell.outputs
        assert set(output.data) == {"text/html", "text/plain"}
    assert "widgets" not in executed.metadata
    page = executed.cells[-3].outputs[0].data["text/html"]
    assert len(page) < 300_000
    for words in WORDS:
        assert words in own_text(page), words


def test_show_is_the_same_and_the_report_has_the_evidence_in_view(executed: nbformat.NotebookNode) -> None:
    as_value, shown, report = (cell.outputs[0].data["text/html"] for cell in executed.cells[-3:])
    assert shown == as_value
    in_view = re.sub(r"<details.*?</details>", "", report, flags=re.DOTALL)  # what no click is needed for
    assert "✓ passed" in own_text(in_view)


def test_the_export_holds_every_section_and_nothing_to_fetch(executed: nbformat.NotebookNode) -> None:
    from nbconvert import HTMLExporter

    page, _ = HTMLExporter().from_notebook_node(executed)
    for words in WORDS:
        assert words in own_text(page), words
    form = page[page.index('class="autocode-result') :]
    form = form[: form.index("Locked packages")]
    assert "<script" not in form and not re.search(r'(?:src|href)="(?!data:)', form)
    assert "widget-view" not in page


def test_without_styles_and_inputs_it_can_still_be_read(executed: nbformat.NotebookNode) -> None:
    page = executed.cells[-3].outputs[0].data["text/html"]
    stripped = re.sub(r'\sstyle="[^"]*"', "", re.sub(r"<button.*?</button>", "", page))
    assert "<details><summary>Evidence</summary>" in stripped
    assert re.search(r"<td>\d+ −</td>|\n(<span>)?-    ", stripped)  # signs in addition to colors
    assert re.search(r"[▁▂▃▄▅▆▇█]", stripped)  # histograms
