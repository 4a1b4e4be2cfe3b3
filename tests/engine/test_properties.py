"""Properties that the tester names beside the tests: where they are tried, and what follows if one fails."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.display.inspector.evidence import evidence_section
from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.display.live import card_text
from autocoder_jupyter.engine.evidence.examiner import ON_SAMPLE
from autocoder_jupyter.engine.evidence.properties import TriedProperty, properties_of, try_properties
from autocoder_jupyter.engine.evidence.solution_worker import SolutionWorker
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.tests import joined, read_suite
from autocoder_jupyter.run.of_report import run_of
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.types import InputSpec, OutputSpec
from autocoder_jupyter.view.as_text import blocks_text
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced
from tests.scripted_model import Script, prompt_of

pytestmark = [pytest.mark.local_sandbox, pytest.mark.real_sandbox]

KEPT = '''

def property_revenue_is_kept(sales, total):
    """Each row counts with its price and quantity."""
    return abs(total - sum(p * q for p, q in zip(sales["price"], sales["quantity"]) if p == p)) < 1e-6
'''
BOUNDED = '''

def property_revenue_is_bounded(total):
    """No total is above 100."""
    assert total <= 100
'''
"""Wrong: no sentence says so."""

WRONG = CODE.replace('sales["quantity"]).sum()', 'sales["quantity"].clip(upper=2)).sum()')
"""Wrong for quantities above two, which no test contains."""

MENDED = json.dumps({"edits": [{"find": ".clip(upper=2)", "replace": "", "mends": ["test_property_1"]}]})
CAPPED = json.dumps({"edits": [{"find": "float((", "replace": "min(100.0, (", "mends": ["test_property_1"]}]})
SECOND = f'"""Read as:\n\n- a missing price is zero\n"""\n\nOUTPUTS = {{"total": "float"}}\n\n{CODE}'


def script(code: str, properties: str, verdict: str = "", **more: Script) -> dict[str, Script]:
    judged = {"test_name": "test_property_1", "derivation": "1 * 3 = 3", "verdict": verdict}
    answers: dict[str, Script] = {"fix_tests": [json.dumps({"verdicts": [judged]})]} if verdict else {}
    tests = [fenced(TESTS + properties)]
    return {"plan": [PLAN], "code": [fenced(code)], "tests": tests, "more_tests": [fenced("# none")], **answers, **more}


NORMAL = {"effort": "normal", "second_opinion": "off"}


def text_of(produced: Generated) -> str:
    return card_text(run_of(produced.report, "ready"))


def evidence_of(produced: Generated) -> str:
    return " ".join(" ".join(blocks_text(evidence_section(Subject(produced.report, "ready")))).split())


def question(produced: Generated, phrase: str) -> str:
    return next(prompt for prompt in map(prompt_of, produced.model.requests) if phrase in prompt)


# Which functions are properties, and on what they are tried


def tried(worker: Worker, body: str, properties: str) -> list[TriedProperty]:
    code = f"import pandas as pd\n\n\ndef run(x: pd.DataFrame):\n    {body}\n"
    program = Program(code, (InputSpec(name="x", type="DataFrame"),), (OutputSpec(name="out", type="float"),))
    table = pd.DataFrame({"n": [float(n) for n in range(40)]})
    suite = read_suite(f"import numpy as np\nfrom solution import run\n\nLIMIT = 1e-6\n\n{properties}")
    inputs = [(ON_SAMPLE, {"x": table}), ("with half", {"x": table.head(20)}), ("with two", {"x": table.head(2)})]
    side = SolutionWorker("f", worker, program)
    return try_properties(side, inputs, {}, properties_of(suite, program), TimeLimit(60))


SUM = '''
def close(one, other):
    return abs(one - other) < LIMIT


def property_sum(x, out):
    """The sum of all."""
    return close(x["n"].sum(), out)
'''


def test_a_property_that_holds_counts_the_inputs_on_which_it_does(worker: Worker) -> None:
    (one,) = tried(worker, "return float(x['n'].sum())", SUM)
    assert (one.count, one.on, one.said) == (3, "", "“The sum of all” holds")


def test_one_that_fails_has_the_smallest_input(worker: Worker) -> None:
    (one,) = tried(worker, "return float(x['n'].head(10).sum())", SUM)
    assert one.on == ON_SAMPLE and one.said == "“The sum of all” does not hold"
    assert one.tables is not None and 10 < len(one.tables["x"]) <= 12


@pytest.mark.parametrize(
    "properties",
    [
        "def property_of_more(x, out):\n    return x['other'].sum() == out",
        "def property_of_run(x, out):\n    return run(x=x) == out",
        "def property_of_what_is_not_there(y, out):\n    return True",
        "def property_with_default(out, x=None):\n    return False",
        "def property_of_nothing():\n    return False",
    ],
    ids=["raises", "calls the function", "unknown name", "default", "no parameters"],
)
def test_what_says_nothing_about_inputs_and_outputs_is_no_evidence(worker: Worker, properties: str) -> None:
    assert tried(worker, "return float(x['n'].sum())", properties) == []


def test_a_property_cannot_change_what_the_next_one_sees(worker: Worker) -> None:
    first = "def property_a(x, out):\n    x['n'] = 0.0\n    return True\n"
    assert [one.on for one in tried(worker, "return float(x['n'].sum())", first + SUM)] == ["", ""]


def test_a_kept_and_a_new_property_of_one_name_both_stay() -> None:
    suite = joined(TESTS + KEPT, f"def test_new():\n    assert run is not None\n{KEPT}")
    program = Program(CODE, (InputSpec(name="sales", type="DataFrame"),), (OutputSpec(name="total", type="float"),))
    assert [one.name for one in properties_of(suite, program)] == [
        "property_revenue_is_kept",
        "property_revenue_is_kept_2",
    ]


# What follows


async def test_a_right_function_with_a_property_needs_no_further_question(runner: Runner) -> None:
    produced = await runner.begin(script(CODE, KEPT), settings=NORMAL)
    assert produced.report.success and "fix_tests" not in produced.asked
    assert "“Each row counts with its price and quantity” holds on" in evidence_of(produced)


async def test_the_smallest_failing_input_goes_to_the_fixer_with_the_tables_of_run(runner: Runner) -> None:
    produced = await runner.begin(script(WRONG, KEPT, "stands", fix_code=[MENDED]), settings=NORMAL)
    assert produced.report.success and "clip" not in produced.code and "diagnose" not in produced.asked
    assert "test_property_1" in {outcome.id for outcome in produced.report.evidence.tests}
    assert produced.report.change == "a property found an error in version 1"
    judged, fixed = question(produced, "You check the expected values"), question(produced, "You fix one Python module")
    assert "clip" not in judged and "property_revenue_is_kept(sales, total)" in judged
    assert "this holds: Each row counts with its price and quantity." in fixed and "In test_property_1:" in fixed


async def test_a_wrong_property_rejects_no_right_function(runner: Runner) -> None:
    produced = await runner.begin(script(CODE, BOUNDED, "undecided"), settings=NORMAL)
    assert produced.report.success and produced.report.attempts == 1 and "fix_code" not in produced.asked
    assert "No total is above 100" not in text_of(produced).partition("Evidence")[0]
    assert "– rejected “No total is above 100” does not hold on the sample" in evidence_of(produced)


async def test_where_the_second_solution_has_no_such_property_either_a_person_decides(runner: Runner) -> None:
    told = script(CODE, BOUNDED, "stands", second=[fenced(SECOND)])
    produced = await runner.begin(told, settings={**NORMAL, "second_opinion": "on"})
    assert produced.report.success and produced.report.attempts == 1 and "fix_code" not in produced.asked
    assert "“No total is above 100” does not hold on the sample." in text_of(produced)


async def test_a_function_stays_if_no_change_of_it_passes_all_tests(runner: Runner) -> None:
    told = script(CODE, BOUNDED.replace("100", "7"), "stands", fix_code=[CAPPED.replace("100", "7")])
    told["diagnose"] = [json.dumps({"failures": []})]
    judged = told["fix_tests"]
    assert not callable(judged)
    told["fix_tests"] = [*judged, "no JSON"]
    produced = await runner.begin(told, settings={**NORMAL, "max_iterations": 2})
    assert produced.report.success and produced.code.strip() == CODE
    assert "“No total is above 7” does not hold on the sample." in text_of(produced)


async def test_without_an_answer_a_person_decides(runner: Runner) -> None:
    told: dict[str, Any] = script(CODE, BOUNDED) | {"fix_tests": ["no JSON"]}
    produced = await runner.begin(told, settings=NORMAL)
    assert produced.report.success and "“No total is above 100” does not hold on the sample." in text_of(produced)
