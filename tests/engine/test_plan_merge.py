import pytest

from autocoder_jupyter.engine.plan import PlanAnswer, merge
from autocoder_jupyter.errors import UnusableAnswer
from autocoder_jupyter.types import ColumnSpec, InputSpec, OutputSpec

INPUTS = (
    InputSpec(name="limit", type="int", required=False, default=3),
    InputSpec(name="sales", type="DataFrame"),
)


def answer(**fields):
    return PlanAnswer.model_validate({"description": "d", "approach": "a", "outputs": []} | fields)


def test_declared_outputs_keep_their_types_and_gain_meaning_and_columns():
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


def test_undeclared_outputs_are_proposed():
    plan = merge(answer(outputs=[{"name": "chart", "type": "matplotlib.figure.Figure"}]), (), ())
    assert plan.outputs == (OutputSpec(name="chart", type="Figure"),)


def test_a_plan_without_any_usable_output_is_an_error():
    with pytest.raises(UnusableAnswer, match="no output"):
        merge(answer(outputs=[{"name": "not a name", "type": "int"}, {"name": "x", "type": "Wormhole"}]), (), ())


def test_what_a_plan_names_twice_is_there_once():
    twice = [{"name": "x", "type": "int", "default": 1}, {"name": "x", "type": "int", "default": 2}]
    plan = merge(answer(outputs=twice, parameters=twice), (), ())
    assert [spec.name for spec in plan.inputs] == [spec.name for spec in plan.outputs] == ["x"]


def test_required_inputs_come_before_optional_ones():
    assert [spec.name for spec in merge(answer(outputs=[{"name": "x", "type": "int"}]), INPUTS, ()).inputs] == [
        "sales",
        "limit",
    ]


def test_only_optional_scalars_with_fitting_defaults_are_taken_as_parameters():
    parameters = [
        {"name": "min_orders", "type": "int", "default": 5},
        {"name": "rate", "type": "float", "default": 1},
        {"name": "flag", "type": "int", "default": True},
        {"name": "frame", "type": "DataFrame"},
        {"name": "sales", "type": "int", "default": 1},
        {"name": "class", "type": "int", "default": 1},
        {"name": "none", "type": "int", "default": None},
    ]
    plan = merge(answer(outputs=[{"name": "x", "type": "int"}], parameters=parameters), INPUTS, ())
    assert [(spec.name, spec.default) for spec in plan.inputs[2:]] == [("min_orders", 5), ("rate", 1.0)]
    assert isinstance(plan.inputs[3].default, float)
