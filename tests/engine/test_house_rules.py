"""House rules reach the model, and their checks are tested where the function has the values that they name."""

from __future__ import annotations

import json

import pandas as pd

from autocoder_jupyter.display.live import card_text
from autocoder_jupyter.engine.sample_run import checks_of
from autocoder_jupyter.request import HouseRule, Request
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import CodePlan, ColumnSpec, InputSpec, OutputSpec
from tests.cases import each
from tests.runner import CODE, PLAN, TESTS, Runner, fenced

SALES = pd.DataFrame({"amount": [5.0, 2.0], "refund": [1.0, 0.0]})

RULE = HouseRule("Revenue", "Revenue is net: `amount` minus `refund`.\ncheck: total < sales.amount.sum()")


@each(
    ("check", "is_tested"),
    [
        ("total > 0", True),
        ("total <= sales.amount.sum()", True),
        ("sales['amount'].sum() >= total", True),
        ("sales[sales.amount > 0].shape[0] > 0", True),
        ("all(value > 0 for value in sales.amount)", True),
        ("pd.notna(total) and np.isfinite(total)", True),
        ("(monthly.revenue >= 0).all()", True),
        ("monthly.month.is_unique", False),  # a column that the plan does not have
        ("sales['price'].sum() >= total", False),
        ("orders > 0", False),
    ],
)
def test_a_check_of_a_rule_is_tested_where_its_values_are(check: str, is_tested: bool) -> None:
    plan = CodePlan(
        description="",
        approach="",
        inputs=(InputSpec(name="sales", type="DataFrame"),),
        outputs=(
            OutputSpec(name="total", type="float"),
            OutputSpec(name="monthly", type="DataFrame", columns=(ColumnSpec(name="revenue", dtype="float64"),)),
        ),
    )
    request = Request(
        "x", "", samples={"sales": SALES}, checks=("total > 1",), rules=(HouseRule("", f"check: {check}"),)
    )
    assert checks_of(request, plan) == ("total > 1", *([check] if is_tested else []))


async def test_a_rule_is_sent_and_code_that_breaks_its_check_is_mended(runner: Runner) -> None:
    plan = json.dumps(
        {
            "description": "The net revenue.",
            "approach": "Sum.",
            "outputs": [{"name": "total", "type": "float", "meaning": "the revenue"}],
            "assumptions": [],
        }
    )
    code = "def run(sales):\n    return float(sales['amount'].sum())"
    edit = {
        "find": "sales['amount'].sum()",
        "replace": "(sales['amount'] - sales['refund']).sum()",
        "mends": list(RULE.checks),
    }
    tests = fenced(
        "import pandas as pd\nfrom solution import run\n\n\ndef test_one_row():\n"
        '    """The revenue of a row."""\n'
        "    assert run(sales=pd.DataFrame({'amount': [5.0], 'refund': [0.0]})) == 5.0"
    )
    produced = await runner.generate(
        {"plan": [plan], "code": [fenced(code)], "tests": [tests], "fix_code": [json.dumps({"edits": [edit]})]},
        prompt="Total revenue of @sales.",
        samples={"sales": SALES},
        rules=(RULE,),
        settings={"effort": "quick"},
    )
    assert produced.report.success and "refund" in produced.code
    assert produced.report.house_rules == ("Revenue: Revenue is net: `amount` minus `refund`.",)
    shown = FunctionRun("growth")
    for event in produced.events:
        shown = shown.apply(event)
    assert "house rules: Revenue: Revenue is net: `amount` minus `refund`." in card_text(shown)
    first = str(produced.model.requests[0])
    assert "<house_rules>" in first and "Revenue is net: `amount` minus `refund`." in first
    assert produced.asked == ["code", "tests", "fix_code"]
    assert [(check.name, check.passed) for check in produced.report.evidence.acceptance] == [(RULE.checks[0], True)]


async def test_without_rules_the_questions_are_as_before(runner: Runner) -> None:
    produced = await runner.generate({"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]})
    assert "house_rules" not in str(produced.model.requests)
