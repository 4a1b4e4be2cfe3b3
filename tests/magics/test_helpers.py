"""`@name` in a cell can be a function, class or module of the notebook, or a function that was verified before."""

from __future__ import annotations

from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.problems import find_problems
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import CodePlan, CodeSolution, ColumnSpec, OutputSpec

DATA = "import pandas as pd\nsales = pd.DataFrame({'a': [1, 2]})"
NET = 'RATE = 2\n\n\ndef net(sales):\n    """Net of a table."""\n    return sales["a"].sum() / RATE\n'
MONEY = "from dataclasses import dataclass\n\n\n@dataclass\nclass Money:\n    cents: int = 0\n"
PLAN = CodePlan(description="Total.", approach="Add.", outputs=(OutputSpec(name="total", type="float"),))


@pytest.fixture
def notebook(shell: Any) -> Any:
    for cell in (DATA, NET, MONEY):
        shell.run(cell)
    return shell


def test_a_function_and_a_class_of_cells_go_along(notebook: Any, jobs: Any) -> None:
    notebook.run("%%autocode growth\nTotal of @sales by @net, as @Money.")
    request = jobs.last.request
    assert list(request.samples) == ["sales"]
    assert [(one.name, one.kind, one.doc) for one in request.helpers.given] == [
        ("net", "function", "Net of a table."),
        ("Money", "class", ""),
    ]
    assert "RATE = 2" in request.helpers.source and "import pandas" not in request.helpers.source


def test_a_helper_is_captured_as_it_is_now(notebook: Any, jobs: Any) -> None:
    notebook.run("%%autocode growth\nTotal of @sales by @net.")
    jobs.last.end(plan=PLAN)
    before = jobs.last.request.helpers.digests
    notebook.run("RATE = 3")
    notebook.run("%%autocode growth\nTotal of @sales by @net.")
    assert jobs.last.request.helpers.digests != before


def test_a_verified_function_goes_along_as_its_code(notebook: Any, jobs: Any) -> None:
    notebook.run("%%autocode net_of\nTotal of @sales.")
    code = "def run(sales):\n    return 1.0\n"
    jobs.last.end(plan=PLAN, solution=CodeSolution(code=code), detected_packages=("scipy",))
    notebook.run("%%autocode growth\nTwice @net_of of @sales by @net.")
    helpers = jobs.last.request.helpers
    assert [(one.name, one.kind) for one in helpers.given] == [("net_of", "result"), ("net", "function")]
    assert helpers.results == {"helpers._net_of": code} and helpers.packages == ("scipy",)
    assert helpers.given[0].signature == "def net_of() -> float: ..."
    assert "net_of" not in helpers.modules(for_tests=True)["helpers"]


def test_a_function_stands_on_what_its_helper_stands_on(notebook: Any, jobs: Any) -> None:
    notebook.run("%%autocode first\nTotal of @sales by @net.")
    code = "from helpers import net\n\n\ndef run(sales):\n    return net(sales)\n"
    jobs.last.end(plan=PLAN, solution=CodeSolution(code=code), helpers=jobs.last.request.helpers)
    notebook.run("%%autocode second\nTwice @first of @sales.")
    modules = jobs.last.request.helpers.modules()
    assert list(modules) == ["helpers", "helpers._first", "helpers._first.helpers"]
    assert "from helpers._first.helpers import net" in modules["helpers._first"]


def test_what_is_not_verified_is_refused(notebook: Any, jobs: Any) -> None:
    notebook.run("%%autocode first\nTotal of @sales.")
    jobs.last.end("failed", error="It fails.")
    with pytest.raises(InvalidRequest, match="@first is not verified here, so no other function can build on it"):
        notebook.run("%%autocode second\nTwice @first of @sales.")
    with pytest.raises(InvalidRequest, match="@first is the function that this cell writes"):
        notebook.run("%%autocode first\nTwice @first of @sales.")


def test_a_cell_says_which_verified_function_computes_what_it_names(notebook: Any, jobs: Any) -> None:
    net = OutputSpec(name="sums", type="DataFrame", columns=(ColumnSpec(name="net_revenue", dtype="float64"),))
    notebook.run("%%autocode monthly\nTotals of @sales.")
    jobs.last.end(plan=PLAN.model_copy(update={"outputs": (net,)}))

    def notices(cell: str) -> tuple[str, ...]:
        notebook.run(cell)
        state: FunctionRun = jobs.last.tracker.run
        jobs.last.end(plan=PLAN)
        return state.notice

    said = "monthly, which is verified, computes net_revenue. To build on it, write @monthly in the request."
    assert notices("%%autocode top\nThe customers with the highest Net Revenues in @sales.") == (said,)
    assert notices("%%autocode best -o net_revenue:float\nThe best of @sales.") == (said,)
    assert not notices("%%autocode other\nThe net of the revenue of @sales.")
    assert not notices("%%autocode builds\nThe highest net revenue of @sales by @monthly.")
    notebook.run("sales['net_revenue'] = 1.0")
    assert not notices("%%autocode column\nThe highest net revenue of @sales.")
    assert not notices("%%autocode monthly\nThe net revenue of @sales.")


def test_only_verified_functions_are_offered_to_build_on(notebook: Any, jobs: Any) -> None:
    notebook.run("%%autocode net_revenue\nTotals of @sales.")
    jobs.last.end("failed", error="It fails.")
    notebook.run("%%autocode top\nThe highest net revenue in @sales.")
    assert not jobs.last.tracker.run.notice


def test_a_refinement_keeps_the_helpers(notebook: Any, jobs: Any) -> None:
    notebook.run("%%autocode growth\nTotal of @sales by @net.")
    jobs.last.end(plan=PLAN)
    notebook.run("del net")
    notebook.run("%%autocode growth --refine\nRounded.")
    assert list(jobs.last.request.helpers.digests) == ["net"]  # as it was then
    jobs.last.end(plan=PLAN)
    with pytest.raises(InvalidRequest, match="growth builds on net too"):
        notebook.run("%%autocode growth --refine\nAs @Money.")
    notebook.run(NET)
    notebook.run("%%autocode growth --refine\nAs @Money, by @net.")
    assert list(jobs.last.request.helpers.digests) == ["Money", "net"]


def test_what_cannot_go_along_ends_the_cell_before_a_job(notebook: Any, jobs: Any) -> None:
    notebook.run("import sqlite3\ndb = sqlite3.connect(':memory:')\ndef f(x):\n    return db.execute(x)\n")
    with pytest.raises(InvalidRequest, match=r"@f \(through db\) uses an object of type sqlite3.Connection"):
        notebook.run("%%autocode growth\nTotal of @sales by @f.")
    assert not jobs.submitted


def test_a_helper_is_no_problem_of_a_cell(notebook: Any) -> None:
    assert find_problems("%%autocode growth\nTotal of @sales by @net.", notebook.user_ns) == []


def test_a_word_that_is_no_code_is_still_refused(notebook: Any) -> None:
    with pytest.raises(InvalidRequest, match="@RATE is an int; a request can refer to a DataFrame"):
        notebook.run("%%autocode growth\nTotal of @sales by @RATE.")
