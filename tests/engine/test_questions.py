"""What the model is asked, as text: how long it is, and how much of it a provider's cache can serve."""

from __future__ import annotations

from itertools import takewhile

import pytest

from autocoder_jupyter.engine.code import code_messages
from autocoder_jupyter.engine.fix_code import fix_messages
from autocoder_jupyter.engine.plan import plan_messages
from autocoder_jupyter.engine.plan_answer import PlanAnswer, merge
from autocoder_jupyter.engine.prepare import prepare
from autocoder_jupyter.engine.tests import tests_messages as messages_for_tests
from autocoder_jupyter.models.structured import with_schema
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.types import OutputSpec
from tests.tables import mixed_table
from tests.theatre import CODE, PLAN

PROMPT = "Monthly revenue growth from @sales, one row a month; skip months with fewer than 5 orders."


@pytest.fixture(scope="module")
def questions():
    """The texts of plan, code and tests of a first attempt, and of a fix, for a table of 20 columns."""
    request = Request(name="growth", prompt=PROMPT, samples={"sales": mixed_table(10_000)})
    prepared = prepare(request, AgentConfig())
    context = prepared.context.text
    plan = merge(PlanAnswer.model_validate_json(PLAN), prepared.inputs, ())
    asked = {
        "plan": with_schema(plan_messages(request, prepared.inputs, context), PlanAnswer),
        "code": code_messages(request, plan, context, None),
        "tests": messages_for_tests(request, plan, context),
        "fix": fix_messages(request, plan, context, CODE, (), ""),
    }
    return {stage: "\n".join(message["content"] for message in messages) for stage, messages in asked.items()}


def test_the_three_questions_of_a_first_attempt_are_short(questions):
    assert sum(len(questions[stage]) for stage in ("plan", "code", "tests")) < 15_000


def test_most_of_every_later_question_is_what_the_first_began_with(questions):
    for stage in ("code", "tests", "fix"):
        pairs = zip(questions["plan"], questions[stage], strict=False)
        common = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        assert common.endswith("</data>\n\n")
        assert len(common) > 0.6 * len(questions[stage])


def test_what_a_stage_wants_stands_last(questions):
    for stage, words in {
        "plan": "You plan one Python function",
        "code": "You write one module",
        "tests": "You test one Python function",
        "fix": "You mend one Python module",
    }.items():
        assert questions[stage].index(words) > questions[stage].index("</data>")


def test_only_files_and_figures_that_there_are_have_rules():
    def rules(kind):
        plan = merge(PlanAnswer.model_validate_json(PLAN), (), (OutputSpec(name="x", type=kind),))
        return code_messages(Request(name="x", prompt="p"), plan, "", None)[1]["content"]

    assert "current folder" in rules("File") and "matplotlib" not in rules("File")
    assert "matplotlib" in rules("Figure") and "current folder" not in rules("Figure")
    assert "matplotlib" not in rules("float")


def test_other_libraries_of_figures_are_spoken_of_where_the_request_does():
    def asked(prompt):
        return plan_messages(Request(name="x", prompt=prompt), (), "")[1]["content"]

    assert "altair" in asked("A bar chart with Altair.")
    assert "plotly" not in asked("A bar chart.")
