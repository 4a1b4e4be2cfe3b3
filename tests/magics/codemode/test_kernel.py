"""Code mode in a real kernel: a user who is asked, and *Run All* without a user, twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LendKernel
from tests.magics.forked_kernels import run_all
from tests.magics.warm import SOURCES
from tests.scripted_model import ScriptedModel

pytestmark = pytest.mark.kernel

CELLS = [
    "%load_ext autocoder_jupyter",
    """
from pathlib import Path
import pandas as pd
from autocoder_jupyter import tool

orders = pd.DataFrame({"region": ["North", "South", "North"], "amount": [10.0, 4.0, 2.5]})

@tool(effects=True)
def announce(text: str) -> str:
    "Tell everybody."
    with Path("announced.txt").open("a") as file:
        file.write(text + "\\n")
    return "told"
""",
    "%%autocode best --mode tools --tool announce\nAnnounce the best region of @orders.",
    "%%autocode others --mode tools --continue best\nAnd the others?",
    "print(best.summary, others.value)",
]
ANSWERS = [
    '```python\ntotals = orders.aggregate({"total": ("amount", "sum")}, by="region").sort("total", descending=True)\n'
    'best = totals.head(1)[0]["region"]\nannounce(best)\n```',
    "North.",
    '```python\n[row["region"] for row in totals.head() if row["region"] != best]\n```',
    "South.",
]


def executed(folder: Path, model: ScriptedModel) -> Any:
    import nbformat  # takes a second, and every worker collects this

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    run_all(notebook, folder)
    return notebook


def test_run_all_twice_asks_the_model_once_and_announces_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel(ANSWERS) as model:
        settings = {"AUTOCODE_MODEL": "openai/scripted", "AUTOCODE_API_BASE": model.url}
        for name, value in (SOURCES | settings).items():
            monkeypatch.setenv(name, value)
        first, second = executed(tmp_path, model), executed(tmp_path, model)
        assert len(model.requests) == 4
    for notebook in (first, second):
        assert notebook.cells[-1].outputs[0].text == "North. ['South']\n"
    assert (tmp_path / "announced.txt").read_text() == "North\n"
    assert "replayed from the journal" in str(second.cells[2].outputs)


def test_a_person_allows_a_call_while_the_kernel_is_free(lend_kernel: LendKernel) -> None:
    code = "```python\nremove('old')\n```"
    with (
        ScriptedModel([code, "Removed."]) as model,
        lend_kernel({"AUTOCODE_MODEL": "openai/scripted", "AUTOCODE_API_BASE": model.url}) as kernel,
    ):
        kernel.run("%load_ext autocoder_jupyter")
        kernel.run("import autocoder_jupyter as a\n@a.tool(ask=True)\ndef remove(name: str) -> str:\n    return name")
        kernel.run("%%autocode gone --mode tools --tool remove\nRemove the old one.")
        kernel.wait_for_card("May it call remove(name=&#x27;old&#x27;)?")
        assert kernel.printed("1 + 1") == "2"
        kernel.run("%autocode reply gone yes remove call-1")
        card = kernel.wait_for_card("● Ready")
        assert "allowed" in card
        assert kernel.printed("gone.value, gone.summary") == "old Removed."
        assert "Removed." in kernel.run("gone").displays[0]["text/html"]
