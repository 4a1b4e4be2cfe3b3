from __future__ import annotations

import json
from typing import Any

import pytest

from autocoder_jupyter.engine.budget import Budget
from autocoder_jupyter.engine.conversation import Conversation
from autocoder_jupyter.engine.evidence.second_writer import read_second
from autocoder_jupyter.engine.first_answer import FirstAnswer, first_messages, read_docstring
from autocoder_jupyter.engine.plan import PlanAnswer, merge, reading
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.models.answers import Unreadable
from autocoder_jupyter.models.client import LiteLLMModel
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan, ColumnSpec, InputSpec, OutputSpec
from tests.cases import each
from tests.scripted_model import ScriptedModel

INPUTS = (
    InputSpec(name="limit", type="int", required=False, default=3),
    InputSpec(name="sales", type="DataFrame"),
)


def answer(**fields: object) -> PlanAnswer:
    return PlanAnswer.model_validate({"description": "d", "approach": "a", "outputs": []} | fields)


def test_declared_outputs_keep_their_types_and_gain_meaning_and_columns() -> None:
    plan = merge(
        answer(
            outputs=[
                {
                    "name": "monthly",
                    "type": "pd.DataFrame",
                    "meaning": "one row a month",
                    "columns": [{"name": "m", "dtype": "str"}],
                },
                {"name": "unasked", "type": "int"},
            ]
        ),
        INPUTS,
        (OutputSpec(name="monthly", type="DataFrame"), OutputSpec(name="best", type="str")),
    )
    assert [output.name for output in plan.outputs] == ["monthly", "best"]
    assert plan.outputs[0].columns == (ColumnSpec(name="m", dtype="str"),)
    assert plan.outputs[0].meaning == "one row a month"


def test_undeclared_outputs_are_proposed() -> None:
    plan = merge(answer(outputs=[{"name": "chart", "type": "matplotlib.figure.Figure"}]), (), ())
    assert plan.outputs == (OutputSpec(name="chart", type="Figure"),)


@each(
    ("said", "understood"),
    [
        ("list[str]", "list"),
        ("typing.List[dict]", "list"),
        ("dict[str, float]", "dict"),
        ("string", "str"),
        ("Literal['up', 'down']", "str"),
        ("number", "float"),
        ("Union[int, float]", "float"),
        ("numpy.float64", "float"),
        ("decimal.Decimal", "float"),
        ("integer", "int"),
        ("tuple", "list"),
        ("array", "list"),
        ("array of numbers", "list"),
        ("np.ndarray", "list"),
        ("pandas.DataFrame", "DataFrame"),
        ("data frame with one row a month", "DataFrame"),
        ("DataFrame (one row a month)", "DataFrame"),
        ("Series[float]", "Series"),
        ("pd.Timestamp", "datetime"),
        ("datetime64[ns]", "datetime"),
        ("datetime.date", "date"),
        ("`bool`", "bool"),
        ("pathlib.Path", "File"),
        ("plotly.graph_objects.Figure", "Figure"),
    ],
)
def test_types_are_understood_as_models_write_them(said: str, understood: str) -> None:
    plan = merge(answer(outputs=[{"name": "x", "type": said}]), (), ())
    assert [output.type for output in plan.outputs] == [understood]


@each("said", ["float | None", "Optional[float]", "float or None", "Union[None, int, float]"])
def test_an_output_that_may_be_none_says_what_stands_for_it(said: str) -> None:
    (output,) = merge(answer(outputs=[{"name": "mean", "type": said, "meaning": "in euros"}]), (), ()).outputs
    assert output.type == "float"
    assert output.meaning == "in euros (where there is none: NaN, never None)"


@each(
    ("output", "complaint"),
    [
        ({"name": "x", "type": "Wormhole"}, "Output 'x': 'Wormhole' is not one of the types str, int, float"),
        ({"name": "x", "type": "str | int"}, "'str | int' is not one of the types"),
        ({"name": "x", "type": "list["}, "is not one of the types"),
        ({"name": "x", "type": "a" * 999}, "longer than 200 characters"),
        ({"name": "x", "type": "date | None"}, "Say which date stands for none"),
        (
            {"name": "x", "type": "dict[str, list[pd.DataFrame]]"},
            "holds a DataFrame, which must be an output of its own",
        ),
        ({"name": "€", "type": "int"}, "Output '€': it must be a name in Python"),
        ({"name": "2024", "type": "int"}, "no digit first"),
    ],
)
def test_an_output_that_cannot_be_understood_is_asked_again_and_not_dropped(
    output: dict[str, str], complaint: str
) -> None:
    with pytest.raises(Unreadable) as caught:
        merge(answer(outputs=[{"name": "good", "type": "int"}, output]), (), ())
    assert complaint in str(caught.value)


def test_a_plan_without_outputs_is_asked_again() -> None:
    with pytest.raises(Unreadable, match="names no output"):
        merge(answer(outputs=[]), (), ())


def test_all_that_is_wrong_with_a_plan_is_said_at_once() -> None:
    with pytest.raises(Unreadable) as caught:
        merge(
            answer(outputs=[{"name": "x", "type": "Wormhole"}], parameters=[{"name": "n", "type": "int"}]),
            (),
            (),
        )
    assert str(caught.value).splitlines()[1] == (
        "Parameter 'n': it has no default. Give the value that the request means."
    )


def test_names_that_python_does_not_know_are_repaired() -> None:
    outputs = [{"name": "total revenue", "type": "float"}, {"name": "class", "type": "str"}]
    plan = merge(answer(outputs=outputs, parameters=[{"name": "min-orders", "type": "int", "default": 5}]), (), ())
    assert [output.name for output in plan.outputs] == ["total_revenue", "class_"]
    assert plan.inputs[0].name == "min_orders"


def test_names_that_repair_makes_equal_are_asked_again() -> None:
    outputs = [{"name": "total revenue", "type": "float"}, {"name": "total_revenue", "type": "int"}]
    with pytest.raises(Unreadable, match="'total revenue' and 'total_revenue' would be the same name"):
        merge(answer(outputs=outputs), (), ())


def test_what_is_said_of_declared_outputs_and_given_inputs_need_not_be_understood() -> None:
    declared = (OutputSpec(name="best", type="str"),)
    said = answer(outputs=[{"name": "best", "type": "Wormhole"}], parameters=[{"name": "sales", "type": "?"}])
    assert merge(said, INPUTS, declared).outputs == declared


async def planned(conversation: Conversation) -> CodePlan:
    request = Request(name="r", prompt="Sum it up.")
    messages = first_messages(request, (), "", plan_only=True)
    return (await FirstAnswer(conversation, messages, reading(request, ()), plan_only=True).head()).plan


async def test_the_model_hears_what_is_wrong_with_its_plan_and_none_of_its_outputs_is_lost() -> None:
    bad = {"name": "trend", "type": "Trendline"}
    said = {"description": "d", "approach": "a", "outputs": [{"name": "total", "type": "number"}, bad]}
    good = {**said, "outputs": [said["outputs"][0], {**bad, "type": "list[float]"}]}
    with ScriptedModel([json.dumps({"plan": said}), json.dumps({"plan": good})]) as endpoint:
        conversation = Conversation(LiteLLMModel(endpoint.config()), Budget(), lambda event: None)
        plan = await planned(conversation)
    assert [(output.name, output.type) for output in plan.outputs] == [("total", "float"), ("trend", "list")]
    assert "Output 'trend': 'Trendline' is not one of the types" in endpoint.requests[1]["messages"][-1]["content"]


async def test_a_plan_that_is_never_understood_ends_with_the_reason() -> None:
    said = {"description": "d", "approach": "a", "outputs": [{"name": "trend", "type": "Trendline"}]}
    with ScriptedModel([json.dumps(said)] * 3) as endpoint, pytest.raises(UnusableAnswer) as caught:
        conversation = Conversation(LiteLLMModel(endpoint.config()), Budget(), lambda event: None)
        await planned(conversation)
    assert "'Trendline' is not one of the types" in caught.value.why
    assert all(help in caught.value.hint for help in ("retry", "-m", "--effort quick", "larger context window"))


def test_what_a_plan_names_twice_is_there_once() -> None:
    twice = [{"name": "x", "type": "int", "default": 1}, {"name": "x", "type": "int", "default": 2}]
    plan = merge(answer(outputs=twice, parameters=twice), (), ())
    assert [spec.name for spec in plan.inputs] == [spec.name for spec in plan.outputs] == ["x"]


def test_required_inputs_come_before_optional_ones() -> None:
    assert [spec.name for spec in merge(answer(outputs=[{"name": "x", "type": "int"}]), INPUTS, ()).inputs] == [
        "sales",
        "limit",
    ]


@each(
    ("said", "kind", "default"),
    [
        ({"type": "integer", "default": 5}, "int", 5),
        ({"type": "number", "default": 1}, "float", 1.0),
        ({"type": "float | None", "default": None}, "float", None),
        ({"type": "Optional[str]", "default": "EU"}, "str", "EU"),
        ({"type": "list[str]", "default": ["EU", "US"]}, "list", ["EU", "US"]),
        ({"type": "date", "default": "2024-01-31"}, "date", "2024-01-31"),
    ],
)
def test_parameters_are_understood_as_models_write_them(
    said: dict[str, Any] | dict[str, str], kind: str, default: object
) -> None:
    plan = merge(answer(outputs=[{"name": "x", "type": "int"}], parameters=[{"name": "p", **said}]), INPUTS, ())
    assert (plan.inputs[-1].type, plan.inputs[-1].default, plan.inputs[-1].required) == (kind, default, False)
    assert type(plan.inputs[-1].default) is type(default)


@each(
    ("said", "complaint"),
    [
        ({"type": "int", "default": True}, "the default 'True' is no int"),
        ({"type": "int", "default": None}, "it has no default"),
        ({"type": "float", "default": "many"}, "the default 'many' is no float"),
        ({"type": "date", "default": "last May"}, "Parameter 'p': Invalid isoformat string"),
        ({"type": "DataFrame"}, "a DataFrame can be no parameter"),
        ({"type": "Wormhole", "default": 1}, "'Wormhole' is not one of the types"),
    ],
)
def test_a_parameter_that_cannot_be_one_is_asked_again_and_not_dropped(
    said: dict[str, Any] | dict[str, str], complaint: str
) -> None:
    with pytest.raises(Unreadable) as caught:
        merge(answer(outputs=[{"name": "x", "type": "int"}], parameters=[{"name": "p", **said}]), INPUTS, ())
    assert complaint in str(caught.value)


def test_properties_that_can_be_tested_are_kept_in_one_form_and_others_left_out() -> None:
    said = ["order", "groups: shop, day", "rows", "is right", "groups:", "order", " twice "]
    plan = merge(answer(outputs=[{"name": "x", "type": "int"}], holds=said), INPUTS, ())
    assert plan.holds == ("order", "groups:shop,day", "rows", "twice")


def test_a_second_solution_says_its_types_in_the_same_words() -> None:
    module = 'OUTPUTS = {"names": "list[str]", "mean": "number"}\n\n\ndef run(): ...\n'
    assert [output.type for output in read_second(module, ()).outputs] == ["list", "float"]


def test_a_conclusion_is_kept_if_it_names_an_output() -> None:
    outputs = [{"name": "lift", "type": "float"}]
    plan = merge(answer(outputs=outputs, conclusion="effect lift, outcome revenue, groups customer"), (), ())
    assert plan.conclusion is not None and plan.conclusion.text == "effect lift, outcome revenue, groups customer"
    assert merge(answer(outputs=outputs, conclusion="effect other"), (), ()).conclusion is None
    assert read_docstring("Lift.\n\nOutputs:\n- lift (float)\nHolds: order\nConclusion: effect lift\n").conclusion == (
        "effect lift"
    )
    assert not read_docstring("Lift.\n\nOutputs:\n- lift (float)\nConclusion: none\n").conclusion
