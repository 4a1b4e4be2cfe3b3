"""The examples of the page *Living with a function*, executed in their order in one kernel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import LendKernel
from tests.magics.test_real_kernel import environment
from tests.pages import ROOT, examples
from tests.runner import MARKERS, fenced, said
from tests.sandbox.sandboxes import open_sandbox
from tests.scripted_model import ScriptedModel, by_marker

BLOCKS = examples("living-with-a-function.md")
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

WHY = '''"""How March compares with the other months.

Outputs:
- answer (str): a sentence with both means
- evidence (DataFrame): the mean growth of March and of the other months
    - month (str)
    - growth (float64)
"""
import pandas as pd
from helpers import growth


def run(stocks: pd.DataFrame, monthly: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    found = growth(stocks)[0]
    means = found.groupby(found["month"].dt.month == 3)["growth"].mean().reindex([True, False])
    evidence = pd.DataFrame({"month": ["March", "others"], "growth": means.to_numpy(dtype="float64")})
    return f"In March prices grew by {means[True]:.2f} %, in other months by {means[False]:.2f} %.", evidence
'''
TESTS_OF_WHY = '''import pandas as pd
from solution import run


def test_march_is_compared_with_other_months():
    """Why did March fall?"""
    days = pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"])
    stocks = pd.DataFrame({"symbol": "A", "date": days, "price": [1.0, 2.0, 1.0]})
    answer, evidence = run(stocks=stocks, monthly=stocks[["symbol"]])
    assert answer == "In March prices grew by -50.00 %, in other months by 100.00 %."
    assert list(evidence["growth"]) == [-50.0, 100.0]
'''
REPORT = '''"""The best month of each symbol, of net prices.

Outputs:
- months (DataFrame): one row a symbol
    - symbol (str)
    - month (str): YYYY-MM
"""
import pandas as pd
from helpers import growth, net


def run(stocks: pd.DataFrame) -> pd.DataFrame:
    best = growth(net(stocks))[1]
    return pd.DataFrame({"symbol": list(best), "month": list(best.values())}, dtype="str")
'''
TESTS_OF_REPORT = '''import pandas as pd
from solution import run


def test_each_symbol_has_its_best_month():
    """The best month of each symbol"""
    days = pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01"])
    stocks = pd.DataFrame({"symbol": "A", "date": days, "price": [1.0, 2.0, 1.0]})
    assert run(stocks=stocks).values.tolist() == [["A", "2024-02"]]
'''
OTHERS = {"Why did March fall?": (WHY, TESTS_OF_WHY), "The best month of each symbol of": (REPORT, TESTS_OF_REPORT)}
"""By a text of the request, the answers to questions about other functions than `growth`."""


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
    of_growth = by_marker({MARKERS[stage]: answers for stage, answers in ANSWERS.items()})
    scripted = said(OTHERS, of_growth)
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
        assert kernel.printed("why.wait().state, why.run().answer").startswith("ready In March prices grew by ")
        assert kernel.printed("report.wait().state, len(report.run())") == "ready 5"
        assert kernel.printed("len(by_symbol), growth.state, recorded.name") == "555 ready growth"
        assert kernel.printed("sum(len(answer.monthly) for answer in answers), len(answers)") == "555 5"
    assert len(model.requests) == len(ANSWERS) - 1 + 2 * len(OTHERS) and model.unforeseen == []


def test_each_way_has_an_example() -> None:
    text = "".join(block for _, block in BLOCKS)
    for word in ("--refine", "restore", "pin", "retest", "load(", "autocode_functions", "package", "git", "rename",
                 "drift", "groupby", "FunctionTransformer", "pl.", "dask.", "reuse"):  # fmt: skip
        assert word in text, word
