"""The text of the questions: their length, and the part that a provider's cache can serve."""

from __future__ import annotations

import pytest

from autocoder_jupyter.data.tokens import estimate_tokens
from autocoder_jupyter.engine.brief import Brief
from autocoder_jupyter.engine.plan import plan_messages
from autocoder_jupyter.engine.plan_answer import PlanAnswer, merge
from autocoder_jupyter.engines.staged.code import code_messages
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import OutputSpec, TypeName
from tests.questions import shared, texts_of_all_stages
from tests.runner import PLAN
from tests.tables import mixed_table


@pytest.fixture(scope="module")
def questions() -> dict[str, str]:
    """The texts of plan, code, tests, diagnosis and fix, for a table of 20 columns."""
    return texts_of_all_stages(mixed_table(10_000))


def test_of_what_is_sent_after_the_first_question_a_cache_can_serve_four_fifths(questions: dict[str, str]) -> None:
    later = [questions[stage] for stage in ("code", "tests")]
    served = sum(len(shared(questions["plan"], text)) for text in later)
    assert served >= 0.8 * sum(map(len, later))


def test_what_no_cache_can_serve_is_short(questions: dict[str, str]) -> None:
    first, *later = (questions[stage] for stage in ("plan", "code", "tests"))
    assert len(first) + sum(len(text) - len(shared(first, text)) for text in later) < 9_000


def test_what_is_shared_ends_with_the_data_and_is_long_enough_to_be_kept(questions: dict[str, str]) -> None:
    for stage in ("code", "tests", "diagnose", "fix"):
        common = shared(questions["plan"], questions[stage])
        assert "</environment>" in common
        assert estimate_tokens(common) > 1_024  # no provider caches less


def test_a_fix_begins_as_its_diagnosis_does_up_to_the_code(questions: dict[str, str]) -> None:
    assert "</solution>" in shared(questions["diagnose"], questions["fix"])


def test_what_a_stage_wants_stands_last(questions: dict[str, str]) -> None:
    for stage, words in {
        "plan": "You plan one Python function",
        "code": "You write one module",
        "tests": "You test one Python function",
        "fix": "You mend one Python module",
    }.items():
        assert questions[stage].index(words) > questions[stage].index("</data>")


def test_only_files_and_figures_that_there_are_have_rules() -> None:
    def rules(kind: TypeName) -> str:
        plan = merge(PlanAnswer.model_validate_json(PLAN), (), (OutputSpec(name="x", type=kind),))
        return code_messages(Brief(Request(name="x", prompt="p"), plan, ""), None)[1]["content"]

    assert "current folder" in rules("File") and "matplotlib" not in rules("File")
    assert "matplotlib" in rules("Figure") and "current folder" not in rules("Figure")
    assert "matplotlib" not in rules("float")


def test_other_libraries_of_figures_are_spoken_of_where_the_request_does() -> None:
    def asked(prompt: str) -> str:
        return plan_messages(Request(name="x", prompt=prompt), (), "")[1]["content"]

    assert "altair" in asked("A bar chart with Altair.")
    assert "plotly" not in asked("A bar chart.")
