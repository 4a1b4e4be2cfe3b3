"""The sections: functions from records to HTML."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.display.calls import example
from autocoder_jupyter.display.inspector.conversation import (
    CONVERSATION_LIVE,
    ConversationBounds,
    TraceBounds,
    conversation_section,
    trace_section,
)
from autocoder_jupyter.display.inspector.data import SCHEMA_CHARACTERS, data_section, data_tab, sent_blocks
from autocoder_jupyter.display.inspector.document import LOCK_LINES, environment_section, result_section
from autocoder_jupyter.display.inspector.evidence import (
    attempts_section,
    attempts_with_changes,
    changes_blocks,
    evidence_section,
)
from autocoder_jupyter.display.parts import MESSAGE_CHARACTERS, source_block
from autocoder_jupyter.run.events import SampleOutputs
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import (
    CheckOutcome,
    Difference,
    Evidence,
    OutputSpec,
    Report,
    Resources,
    SecondOpinion,
    Secret,
    TestOutcome,
)
from autocoder_jupyter.types.evidence import BEYOND
from autocoder_jupyter.types.records import Glimpse
from autocoder_jupyter.view.as_html import blocks_html
from tests.cases import each
from tests.display.inspector.results import MENDED, SENT, TRACED, subject

NOTHING = Report(name="growth", run_id="r", prompt="p", success=False, error="No key.")


def changed(**fields: Any) -> Report:
    return MENDED.model_copy(update=fields)


# Result and code


def test_the_function_says_what_it_does_and_how_it_is_called(read: Any) -> None:
    page = read(result_section(subject())).text
    for words in (
        "Growth by month.",
        "growth.run(sales: DataFrame, min_orders: int = 5)",
        "ties keep their order",
        "one row an order",
        "monthly, best = growth.run(sales)",
        "Add up, then compare.",
        "month:",
    ):
        assert words in page


def test_an_example_can_be_typed() -> None:
    assert example(MENDED).splitlines()[-1] == "monthly, best = growth.run(sales)"
    odd = changed(declared_inputs=(), declared_outputs=(OutputSpec(name="summary.csv", type="File"),))
    assert example(odd) == "summary_csv = growth.run()"


def test_what_failed_before_there_was_code_says_why(read: Any) -> None:
    declared = NOTHING.model_copy(update={"declared_outputs": MENDED.declared_outputs})
    for report in (NOTHING, declared):
        text = read(result_section(subject(report))).text
        assert "No key." in text and "growth.run(" not in text, "its inputs are not known"
    seen = SampleOutputs((Glimpse("best", "2024-12"),), is_verified=False)
    card = FunctionRun("growth", outputs=seen)
    failed = read(result_section(subject(changed(success=False, error="Not solved."), card=card))).text
    assert "def run" in failed and "How to call it" not in failed
    assert failed.index("Not solved.") < failed.index("2024-12"), "the reason comes first"


def test_source_can_be_copied_inserted_and_downloaded() -> None:
    block = blocks_html([source_block("print('<x>')\n", "x.py")])
    assert block.count("data-autocode-block") == block.count("data-autocode-source") == 1
    buttons = re.findall(r'<button type="button" class="autocode-action" data-autocode-action="(\w+)"[^>]*>', block)
    assert buttons == ["copy", "insert"]
    assert block.count("display:none") == 2  # they do nothing without the extension, which shows them
    encoded = re.search(r'download="x.py" href="data:text/x-python;base64,([^"]+)"', block)
    assert encoded and base64.b64decode(encoded[1]).decode() == "print('<x>')\n"
    assert blocks_html([source_block("  \n", "x.py")]) == ""


# Evidence


def test_every_test_stands_with_its_sentence_and_what_it_proves(read: Any) -> None:
    page = read(evidence_section(subject())).text
    for words in (
        "adds up",
        "test_sum",
        "12 ms",
        "two runs agree",
        "Tests that pass on stub functions, whatever the stubs return: test_nothing",
        "Tests changed since they were first written: test_sum",
        "def test_sum",
    ):
        assert words in page


def test_each_section_has_rows_of_its_own(read: Any) -> None:
    first, evidence = read(result_section(subject())).text, read(evidence_section(subject())).text
    assert "Sandbox" not in first and "adds up" not in first and "Call" in first
    for words in ("ties keep their order", "growth.run("):
        assert words in first and words not in evidence


def test_a_failed_test_says_why_and_not_without_end(read: Any) -> None:
    loud = TestOutcome(id="t", outcome="failed", message="E  assert 1 == 2\n" + "x" * 10 * MESSAGE_CHARACTERS)
    page = read(evidence_section(subject(changed(evidence=Evidence(tests=(loud,))))))
    assert "assert 1 == 2" in page.text and len(page.text) < 2 * MESSAGE_CHARACTERS


def test_without_any_evidence_it_says_so(read: Any) -> None:
    assert "ended before a test" in read(evidence_section(subject(NOTHING))).text


# Attempts


def test_each_attempt_says_how_it_went_and_what_was_made_of_it(read: Any) -> None:
    page = read(attempts_section(MENDED)).text
    for words in (
        "Attempt 1",
        "✗ 0 of 1 test passed",
        "assert 3 == 4",
        "the code is wrong",
        "diff is not a share",
        "a share",
        "a difference",
        "use pct_change",
        "Attempt 2",
        "✓ 1 of 1 test passed",
        "the result",
    ):
        assert words in page
    assert page.count("the result") == 1


def test_an_attempt_that_passed_its_tests_and_was_changed_says_so(read: Any) -> None:
    passed = TestOutcome(id="t", outcome="passed")
    doubted = MENDED.history[0].model_copy(
        update={"error": "On a small input it departs.", "evidence": Evidence(tests=(passed,))}
    )
    page = read(attempts_section(changed(history=(doubted,)))).text
    assert "✗ 1 of 1 test passed, but not accepted" in page and "On a small input it departs." in page


def test_neighbours_are_compared_in_the_static_form(read: Any) -> None:
    page = read(attempts_with_changes(MENDED))
    assert "What changed from attempt 1 to 2" in page.text and {"ins", "del"} <= page.tags


def test_of_many_attempts_the_last_changes_are_saved_and_the_way_to_the_others(read: Any) -> None:
    many = tuple(MENDED.history[0].model_copy(update={"number": n, "code": f"x = {n}\n"}) for n in range(1, 8))
    page = read(attempts_with_changes(changed(history=many))).text
    assert "from attempt 6 to 7" in page and "from attempt 1 to 2" not in page
    assert "%autocode diff growth A B" in page


def test_changed_tests_are_compared_as_well(read: Any) -> None:
    first, second = MENDED.history
    page = read(changes_blocks(first, second.model_copy(update={"tests": "def test_product(): ...\n"}))).text
    assert "Tests" in page and "test_product" in page
    assert "Tests" not in read(changes_blocks(first, second)).text


def test_without_an_attempt_it_says_so(read: Any) -> None:
    assert "There were no attempts." in read(attempts_section(NOTHING)).text


# Data


def test_what_was_sent_is_there_to_the_letter(read: Any) -> None:
    page = read(data_tab(subject())).text
    for words in (SENT["text"], "share=rows", "2 emails", "Left out of sales: rows", "pa.DataFrameSchema"):
        assert str(words) in page


def test_without_its_record_what_was_sent_is_taken_from_the_report(read: Any) -> None:
    page = read(data_tab(subject(sent={}))).text
    assert "sales: 3 rows" in page and "share=" not in page
    assert "Nothing about data" in read(data_tab(subject(NOTHING, sent={}))).text


def test_a_long_schema_is_cut_in_the_saved_form_only(read: Any) -> None:
    long = changed(generated_schemas={"sales": "#" * 3 * SCHEMA_CHARACTERS})
    saved, live = read(data_section(subject(long), {})).text, read(data_tab(subject(long))).text
    assert f"{2 * SCHEMA_CHARACTERS:,} more characters: growth.generated_schemas['sales']" in saved
    assert "#" * 3 * SCHEMA_CHARACTERS in live


# Conversation


def test_every_exchange_has_its_cost_and_its_words(read: Any) -> None:
    page = read(conversation_section(MENDED, CONVERSATION_LIVE)).text
    for words in (
        "Plan",
        "openai/m",
        "1.2K",
        "800",
        "$0.004",
        "2.5 s",
        "You plan.",
        "Part one",
        "the plan",
        "unknown",
        "replayed",
        "ended by length",
        "3.5 s",
    ):
        assert words in page


def test_a_saved_conversation_is_cut_and_says_where_the_whole_is(read: Any) -> None:
    page = read(conversation_section(MENDED, ConversationBounds(message=4, exchanges=1))).text
    assert "You plan." not in page and "the messages of the first 1" in page.lower()
    assert "4 more characters" in page and "growth.conversation_history" in page
    assert "journal.jsonl of version r1" in page


def test_a_report_from_disk_tells_where_the_words_are(read: Any) -> None:
    page = read(conversation_section(changed(conversation_history=()), CONVERSATION_LIVE)).text
    assert "only in the journal" in page and "journal.jsonl of version r1" in page
    assert "The model was not asked." in read(conversation_section(NOTHING, CONVERSATION_LIVE)).text


# Environment


def test_the_environment_tells_the_limits_and_no_secret(read: Any) -> None:
    options = CallOptions(
        resources=Resources(cpu=2, memory="4Gi"),
        timeout=30,
        env_vars={"MODE": "hidden-value"},
        secrets=(Secret(key="DB_TOKEN"),),
    )
    page = read(environment_section(MENDED, options)).text
    for words in (
        "docker",
        "autocode:abc",
        "3.11",
        "2 cores, 4Gi memory, 30 s a call",
        "none",
        "MODE",
        "DB_TOKEN (secret)",
        "scikit-learn",
        "scikit-learn==1.7",
    ):
        assert words in page
    assert "hidden-value" not in page
    assert "Network allowed" in read(environment_section(MENDED, CallOptions(network=True))).text


@each(
    ("sandbox", "tier", "said"),
    [
        ("docker", "docker", "docker (a container without privileges): your files"),
        ("docker", None, "docker (a container without privileges): your files"),
        ("local", "full", "local, tier full (Landlock and namespaces): your files and processes are hidden; memory"),
        ("local", "namespaces", "there is one layer of protection, where `full` has two"),
        ("local", None, "local; its isolation was not recorded"),
        ("local", "<b>full</b>", "local; its isolation was not recorded"),
    ],
)
def test_the_environment_names_the_tier_that_ran(sandbox: str, tier: str | None, said: str, read: Any) -> None:
    page = read(environment_section(changed(sandbox=sandbox, sandbox_tier=tier), None)).text
    assert all(words in page for words in said.split(": "))
    assert "<b>" not in page


def test_a_long_lock_is_cut_and_its_hashes_are_left_out(read: Any) -> None:
    lock = tuple(f"p{n}==1 --hash=sha256:{'0' * 64}" for n in range(LOCK_LINES + 7))
    page = read(environment_section(changed(lock=lock), None)).text
    assert "and 7 more: growth.report.pins" in page and "p3==1\n" in page and "sha256" not in page


def test_without_a_sandbox_it_says_so(read: Any) -> None:
    assert "ended before a sandbox" in read(environment_section(NOTHING, None)).text


@pytest.mark.parametrize("state", ["ready", "failed"])
def test_what_passed_is_listed_however_it_ended(state: Any, read: Any) -> None:
    assert "✓ passed two runs agree" in read(evidence_section(subject(MENDED, state))).text


def test_a_run_that_replayed_says_that_it_sent_nothing(read: Any) -> None:
    asked = MENDED.conversation_history
    replayed = MENDED.model_copy(
        update={"conversation_history": tuple(said.model_copy(update={"replayed": True}) for said in asked)}
    )
    assert "This run sent nothing" in read(sent_blocks(subject(replayed))).text
    fresh = MENDED.model_copy(
        update={"conversation_history": tuple(said.model_copy(update={"replayed": False}) for said in asked)}
    )
    assert "3 requests to the model" in read(sent_blocks(subject(fresh, sent={**SENT, "requests": [{}, {}, {}]}))).text


def test_what_the_person_demands_is_a_part_of_its_own(read: Any) -> None:
    mine = CheckOutcome(name="your test test_mine", passed=False, message="assert 3 == 4")
    evidence = MENDED.evidence.model_copy(update={"acceptance": (mine,)})
    text = read(evidence_section(subject(changed(evidence=evidence, own_tests="def test_mine(): ...")))).text
    assert 0 <= text.index("Your tests") < text.index("your test test_mine") < text.index("assert 3 == 4")
    assert "Source of your tests" in text and "def test_mine" in text
    assert "Your tests" not in read(evidence_section(subject())).text


# Trace


def test_each_call_stands_under_its_turn_with_what_was_asked_and_told(read: Any) -> None:
    page = read(trace_section(TRACED, TraceBounds(calls=100, characters=1_000)))
    words = " ".join(page.text.split())
    assert "Turn 1✓ ok Bash ls · safe · 0.2 sResultsales.csv" in words
    assert "Turn 2⊘ denied Bash curl x.example · no networkResultDenied: no network." in words
    assert "✗ failed Bash python - <<EOF … (+2 lines) · safeWhole argumentpython - <<EOF print(1) EOF" in words
    assert words.count("Whole argument") == 1


def test_a_trace_can_show_one_class_only(read: Any) -> None:
    page = read(trace_section(TRACED, TraceBounds(calls=100, characters=0), "denied")).text
    assert "curl x.example" in page and "solution.py" not in page and "Result" not in page


def test_a_long_trace_shows_its_end_and_says_where_the_beginning_is(read: Any) -> None:
    page = read(trace_section(TRACED, TraceBounds(calls=1, characters=0))).text
    assert "3 earlier calls: see growth.trace.calls." in page
    assert "python - <<EOF" in page and "curl" not in page


def test_blind_tests_are_counted_and_shown_apart(read: Any) -> None:
    outcomes = tuple(TestOutcome(id=name, outcome="passed") for name in ("test_a", "blind::test_b", "blind::test_c"))
    told = read(result_section(subject(changed(evidence=Evidence(tests=outcomes))))).text
    assert "Verified – in part: 3 tests" in told
    page = read(evidence_section(subject(TRACED))).text
    assert "Source of the blind tests, which the agent did not see" in page and "def test_other" in page
    assert "blind" not in read(evidence_section(subject())).text


def test_the_evidence_tells_who_changed_which_tests(read: Any) -> None:
    page = read(evidence_section(subject(TRACED))).text
    assert "Tests changed by the agent since it first wrote them: test_sum" in page


def test_rows_that_break_a_contract_are_shown_to_the_person_and_not_saved(read: Any) -> None:
    broken = CheckOutcome(
        name="monthly satisfies Monthly on the sample",
        passed=False,
        message="growth: not_nullable: 1 of 12 rows\nrevenue: ge: 1 of 12 rows",
        in_full="growth: not_nullable: 1 of 12 rows (row 0: missing)\nrevenue: ge: 1 of 12 rows (row 3: -7)",
    )
    report = changed(evidence=Evidence(acceptance=(broken,)))
    saved, live = (
        read(evidence_section(subject(report))).text,
        read(evidence_section(subject(report), in_full=True)).text,
    )
    assert "revenue: ge: 1 of 12 rows" in saved and "-7" not in saved
    assert "revenue: ge: 1 of 12 rows (row 3: -7)" in live
    assert "in_full" not in report.model_dump_json()


def test_what_goes_beyond_the_profile_is_said_once(read: Any) -> None:
    places = ("with shuffled rows", f"{BEYOND}with new groups", f"{BEYOND}with a leap day")
    difference = Difference(where="best", on=places[1], first="a", second="b")
    opinion = SecondOpinion(state="agree", tried=places, differences=(difference,), differs_on=places[1:])
    page = read(evidence_section(subject(changed(second_opinion=opinion)))).text
    assert "Inputs tried with shuffled rows" in page
    assert page.count("Beyond the profile of the sample: with new groups, with a leap day") == 2
    assert BEYOND not in page and "the sample with new groups, beyond its profile" in page
