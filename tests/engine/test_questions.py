"""The text of the questions: their length, and the part that a provider's cache can serve."""

from __future__ import annotations

import pandas as pd
import pytest

from autocoder_jupyter.data.tokens import estimate_tokens
from autocoder_jupyter.engine.evidence.second_writer import second_messages
from autocoder_jupyter.engine.first_answer import first_messages
from autocoder_jupyter.engine.plan import PlanAnswer, merge
from autocoder_jupyter.engine.prepare import prepare
from autocoder_jupyter.engine.prompt import Brief, code_rules, plan_text
from autocoder_jupyter.engine.tests import tests_messages as messages_of_tests
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.types import CodePlan, InputSpec, OutputSpec, TypeName
from tests.questions import shared, texts_of_all_stages
from tests.runner import PLAN
from tests.tables import mixed_table


@pytest.fixture(scope="module")
def questions() -> dict[str, str]:
    """The texts of the first question, of tests, diagnosis and fix, for a table of 20 columns."""
    return texts_of_all_stages(mixed_table(10_000))


def test_of_what_is_sent_after_the_first_question_a_cache_can_serve_three_quarters(questions: dict[str, str]) -> None:
    later = [questions[stage] for stage in ("tests",)]
    served = sum(len(shared(questions["code"], text)) for text in later)
    assert served >= 0.75 * sum(map(len, later))


def test_what_no_cache_can_serve_is_short(questions: dict[str, str]) -> None:
    first, *later = (questions[stage] for stage in ("code", "tests"))
    assert len(first) + sum(len(text) - len(shared(first, text)) for text in later) < 11_700


def test_what_is_shared_ends_with_the_data_and_is_long_enough_to_be_kept(questions: dict[str, str]) -> None:
    for stage in ("tests", "diagnose", "fix"):
        common = shared(questions["code"], questions[stage])
        assert "</environment>" in common
        assert estimate_tokens(common) > 1_024  # no provider caches less


def test_a_fix_begins_as_its_diagnosis_does_up_to_the_code(questions: dict[str, str]) -> None:
    assert "</solution>" in shared(questions["diagnose"], questions["fix"])


def test_what_a_stage_wants_stands_last(questions: dict[str, str]) -> None:
    for stage, words in {
        "code": "Begin the module with a docstring",
        "tests": "You write the tests of one Python function",
        "fix": "You fix one Python module",
    }.items():
        assert questions[stage].index(words) > questions[stage].index("</data>")


def test_only_files_and_figures_that_there_are_have_rules() -> None:
    def rules(kind: TypeName) -> str:
        return code_rules(merge(PlanAnswer.model_validate_json(PLAN), (), (OutputSpec(name="x", type=kind),)))

    assert "current directory" in rules("File") and "matplotlib" not in rules("File")
    assert "matplotlib" in rules("Figure") and "current directory" not in rules("Figure")
    assert "matplotlib" not in rules("float")


def test_other_libraries_of_figures_are_spoken_of_where_the_request_does() -> None:
    def asked(prompt: str) -> str:
        return first_messages(Request(name="x", prompt=prompt), (), "")[1]["content"]

    assert "altair" in asked("A bar chart with Altair.")
    assert "plotly" not in asked("A bar chart.")


@pytest.mark.parametrize(
    "rule",
    [
        "Where the request is wrong about the data (a format, name, dtype or value), follow the data",
        "Do not hard-code values of the data unless the request or the plan\n  names them",
        "A statistic that is undefined (too few values, no variance, division by zero) is NaN",
        'False, and "" or the request\'s own word for anything else',
        "Nothing is rounded unless the request asks for it; then halves go to even",
        "unless the request, the plan or the meaning of an output says otherwise",
        "For a p-value, assert the side of the threshold",
    ],
)
def test_every_stage_knows_what_nobody_says_otherwise(questions: dict[str, str], rule: str) -> None:
    assert all(rule in text for text in questions.values())


def test_every_question_says_what_a_list_of_fixed_length_and_a_dict_of_fixed_keys_give_for_no_rows() -> None:
    orders = pd.DataFrame({"day": ["Mon", "Sun", "Mon"], "n": [1, 2, 3]})
    outputs = (OutputSpec(name="by_weekday", type="list", elements="int"),)
    request = Request("weekdays", "Orders of each weekday in @orders.", {"orders": orders}, outputs=outputs)
    prepared = prepare(request, AgentConfig())
    plan = merge(PlanAnswer.model_validate_json(PLAN), prepared.inputs, outputs)
    brief = Brief(request, plan, prepared.context.text)
    asked = {
        "code": first_messages(request, prepared.inputs, brief.context),
        "tests": messages_of_tests(brief),
        "second": second_messages(request, prepared.inputs, brief.context),
    }
    rule = "A list of fixed length keeps its length and a dict its\n  fixed keys"
    for stage, (system, told) in asked.items():
        assert rule in system["content"], stage
        assert "list[int]" in told["content"], stage
    assert "for a list of fixed length, the meaning\n  of each position" in asked["code"][1]["content"]


def test_a_stage_is_told_what_is_not_its_part(questions: dict[str, str]) -> None:
    assert all("If you write tests, write one pytest module" in text for text in questions.values())
    assert "no tests and no example call" in questions["code"]


def test_where_a_plan_contradicts_itself_it_says_what_holds(questions: dict[str, str]) -> None:
    assert "these assumptions override the meanings above:" in questions["tests"]
    assert "refer to it by name in meanings" in questions["code"]
    assert "(`orders_in_2019`)" in questions["code"]


def test_if_one_input_has_a_meaning_all_are_listed() -> None:
    inputs = (InputSpec(name="sales", type="DataFrame"), InputSpec(name="least", type="int", meaning="orders a month"))
    plan = CodePlan(description="d", approach="a", inputs=inputs, outputs=(OutputSpec(name="x", type="float"),))
    assert "Inputs:\n- sales (DataFrame)\n- least (int): orders a month" in plan_text(plan)
    bare = plan.model_copy(update={"inputs": inputs[:1]})
    assert "Inputs:" not in plan_text(bare)


def test_the_second_question_speaks_of_no_plan_and_shows_its_outputs_beside_the_function() -> None:
    request = Request(name="x", prompt="p", outputs=(OutputSpec(name="total", type="float"),))
    asked = second_messages(request, (InputSpec(name="sales", type="DataFrame"),), "")[1]["content"]
    assert '<interface>\nOUTPUTS = {"total": "float"}\n\ndef run(sales: pd.DataFrame): ...\n</interface>' in asked
    plain = " ".join(asked.split())
    assert "There are no plan and no tests: where the rules above refer to the plan, you decide." in plain
    assert "say what a colleague could misunderstand" in asked and "as this user most likely means it" not in asked
    assert "determines something that this user may not expect, follow the rule" in plain
    assert "list[str], dict[str, float] and\n  the like (with the type of their elements)" in asked
