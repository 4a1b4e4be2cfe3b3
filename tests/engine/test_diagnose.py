"""The use of a diagnosis: no failure is forgotten, one cause is reported once, unreported deviations count."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.engine.prompt import Brief
from autocoder_jupyter.engine.repair import DiagnosisAnswer, complete, diagnosis_messages
from autocoder_jupyter.engines.staged.writer import CodeFix, fix_messages
from autocoder_jupyter.models.answers import read_record
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan, OutputSpec, TestOutcome

PLAN = CodePlan(description="d", approach="a", outputs=(OutputSpec(name="total", type="float"),))
BRIEF = Brief(Request(name="f", prompt="p"), PLAN, "")
FAILING = [
    TestOutcome(id="test_sum", outcome="failed", message="E   assert 1 == 2\nE   more"),
    TestOutcome(id="TestEdges::test_empty", outcome="failed", message="E   KeyError: 'a'"),
]


def answer(**fields: Any) -> DiagnosisAnswer:
    return DiagnosisAnswer.model_validate(fields)


def test_tests_with_one_cause_share_what_is_told_of_it() -> None:
    told = {"test_name": "test_sum", "root_cause": "It counts.", "error_type": "test_error"}
    found = complete(answer(failures=[{**told, "same_cause": ["TestEdges::test_empty"]}]), FAILING)
    assert [failure.test_name for failure in found.failures] == ["test_sum", "TestEdges::test_empty"]
    assert {failure.root_cause for failure in found.failures} == {"It counts."}
    assert {failure.error_type for failure in found.failures} == {"test_error"}
    assert [failure.error_message for failure in found.failures] == ["assert 1 == 2", "KeyError: 'a'"]


def test_what_is_told_of_a_test_itself_counts_before_what_is_told_of_another() -> None:
    first = {"test_name": "test_sum", "error_type": "test_error", "same_cause": ["test_empty"]}
    second = {"test_name": "test_empty", "error_type": "logic", "root_cause": "its own"}
    found = complete(answer(failures=[first, second]), FAILING)
    assert [failure.error_type for failure in found.failures] == ["test_error", "logic"]


def test_a_test_that_is_not_spoken_of_is_the_fault_of_the_function() -> None:
    assert [failure.error_type for failure in complete(answer(), FAILING).failures] == ["logic", "logic"]


def test_departures_that_no_test_shows_are_faults_of_the_function() -> None:
    found = complete(answer(departures=["It rounds.", " It  rounds. ", "", "It sorts.", "x" * 2000]), FAILING)
    departures = found.failures[2:]
    assert [failure.test_name for failure in departures] == [f"departs from the plan ({n})" for n in (1, 2, 3)]
    assert [failure.error_message for failure in departures] == ["It rounds.", "It sorts.", "x" * 500]
    assert {failure.error_type for failure in departures} == {"logic"}


def test_a_diagnosis_in_the_form_of_before_is_understood() -> None:
    text = '{"failures": [{"test_name": "test_sum", "error_message": "?", "error_type": "test_error"}]}'
    found = complete(read_record(text, DiagnosisAnswer), FAILING)
    assert [failure.error_type for failure in found.failures] == ["test_error", "logic"]


def test_the_mender_is_told_of_departures_beside_failures() -> None:
    faults = complete(answer(departures=["It rounds."]), FAILING).failures
    asked = fix_messages(BRIEF, "def run(): ...", faults, "")[1]["content"]
    assert "- departs from the plan (1)\n  what happened: It rounds." in asked


def test_the_diagnosis_sees_code_failing_tests_and_reports() -> None:
    tests = "def test_sum():\n    assert run() == 2\n\n\ndef test_other():\n    assert run() == 3\n"
    messages = diagnosis_messages(BRIEF, "def run(): return 1", tests, FAILING[:1])
    asked = messages[1]["content"]
    assert "def run(): return 1" in asked and "def test_sum" in asked and "def test_other" not in asked
    assert "E   more" in asked


def test_a_fix_may_be_edits_of_the_form_of_before() -> None:
    fix = read_record('{"edits": [{"find": "a", "replace": "b"}]}', CodeFix)
    assert fix.imports == [] and fix.edits[0].mends == []
