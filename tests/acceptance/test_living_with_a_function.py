"""The examples of the page *Living with a function*, executed in their order in one kernel."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import LendKernel
from tests.magics.test_real_kernel import environment
from tests.runner import MARKERS, fenced
from tests.sandbox.sandboxes import open_sandbox
from tests.scripted_model import ScriptedModel, by_marker

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "living-with-a-function.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
RECORDED = next((ROOT / "notebooks" / ".autocode" / "growth").rglob("solution.py")).read_text("utf-8")

REFINED = RECORDED.replace("dict[str, str]]:", "dict[str, str], int]:").replace(
    "return monthly.reset_index(drop=True), best", "return monthly.reset_index(drop=True), best, len(monthly)"
)
PLAN = json.dumps(
    {
        "description": "Growth by month.",
        "approach": "As before; count.",
        "outputs": [
            {"name": "monthly", "type": "DataFrame"},
            {"name": "best", "type": "dict"},
            {"name": "months", "type": "int"},
        ],
        "assumptions": [],
    }
)
TESTS = '''import pandas as pd
from solution import run


def test_months():
    """Also give the number of rows of monthly as months."""
    days = pd.to_datetime(["2024-01-01", "2024-02-01"])
    assert run(stocks=pd.DataFrame({"symbol": ["A", "A"], "date": days, "price": [1.0, 2.0]}))[2] == 1
'''
CONSTRAINTS = json.dumps({"constraints": [{"number": 1, "table": "monthly", "column": "", "kind": "none"}]})
ANSWERS = {
    "constraints": [CONSTRAINTS],
    "plan": [PLAN],
    "code": [fenced(REFINED)],
    "tests": [fenced(TESTS)],
    "sort_tests": ['{"verdicts": []}'],
}


def first_cells() -> list[str]:
    """The cells of the tutorial that make `growth`."""
    cells = json.loads((ROOT / "notebooks" / "quickstart.ipynb").read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    data = next(source for source in sources if source.startswith("stocks = "))
    cell = next(source for source in sources if source.startswith("%%autocode growth"))
    return ["%load_ext autocoder_jupyter", f"from vega_datasets import data\n{data}", cell]


@pytest.mark.slow
@pytest.mark.local_sandbox
def test_each_example_of_the_page_runs(lend_kernel: LendKernel, tmp_path: Path) -> None:
    open_sandbox("local")
    shutil.copytree(
        ROOT / "notebooks" / ".autocode", tmp_path / ".autocode", ignore=shutil.ignore_patterns("outputs", "cl*")
    )
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    author = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    scripted = by_marker({MARKERS[stage]: answers for stage, answers in ANSWERS.items()})
    with ScriptedModel(scripted) as model, lend_kernel(environment(model)) as kernel:
        for source in first_cells():
            answered = kernel.run(source)
            assert answered.status == "ok", answered.error
        assert model.requests == []  # its journal is shipped
        for language, block in BLOCKS:
            if language == "bash":
                done = subprocess.run(
                    ["bash", "-ec", block], cwd=tmp_path, env={**os.environ, **author}, capture_output=True, text=True,
                    check=False,
                )  # fmt: skip
                assert done.returncode == 0 and "solution.py" in done.stdout, done.stderr
                continue
            if ".ask(" in block or "%%autocode report" in block:
                continue  # they ask a model: tests/magics/test_asking.py and test_helpers.py run such cells
            if "retest" in block:
                file = tmp_path / ".autocode" / "growth" / "solution.py"
                file.write_text(file.read_text("utf-8") + "\n# Edited.\n", "utf-8")
            answered = kernel.run(block)
            assert answered.status == "ok", f"{block}\n{answered.error}\n{answered.text}"
            assert "failed" not in answered.text.lower(), f"{block}\n{answered.text}"
            if "retest" in block:
                kernel.run("%autocode wait growth")
            if "--refine" in block:
                assert kernel.printed("growth.run().months, growth.state").endswith("ready")
        assert kernel.printed("len(by_symbol), growth.state, recorded.name") == "555 ready growth"
        assert kernel.printed("sum(len(answer.monthly) for answer in answers), len(answers)") == "555 5"
    assert len(model.requests) == len(ANSWERS) - 1 and model.unforeseen == []


def test_each_way_has_an_example() -> None:
    text = "".join(block for _, block in BLOCKS)
    for word in ("--refine", "restore", "pin", "retest", "load(", "autocode_functions", "package", "git", "rename",
                 "drift", "groupby", "FunctionTransformer", "pl.", "dask.", "reuse"):  # fmt: skip
        assert word in text, word
