"""The element types of lists and dicts: parsed from the text of users and models, shown, and checked on values."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from autocoder_jupyter.agent.arguments import _inputs, _outputs
from autocoder_jupyter.calls.binding import checked_value
from autocoder_jupyter.calls.function import Interface
from autocoder_jupyter.display.parts import signature as shown_signature
from autocoder_jupyter.engine.plan import PlanAnswer, merge
from autocoder_jupyter.engine.prompt import signature
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.table import elements_of, misfit, python_type, written
from autocoder_jupyter.magics.command import parse_input, parse_output
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import InputSpec, OutputSpec
from autocoder_jupyter.versions.request_fields import RequestKey, content_key
from tests.cases import each

PLAN = {"description": "d", "approach": "a"}


@each(
    ("text", "elements"),
    [
        ("list[str]", "str"),
        ("dict[str, float]", "float"),
        ("Dict[str, List[int]]", "list[int]"),
        ("typing.List[number]", "float"),
        ("list[str | None]", "str | None"),
        ("list[dict[str, int]]", "dict[str, int]"),
        ("list[matplotlib.figure.Figure]", "Figure"),
        ("dict[str, pd.DataFrame]", "DataFrame"),
        ("list[list[DataFrame]]", ""),  # only an output itself may hold tables
        ("list[DataFrame | None]", ""),
        ("list", ""),
        ("list[Any]", ""),
        ("dict[int, str]", ""),  # keys of JSON are strings
        ("list[" * 60 + "str" + "]" * 60, ""),
        ("list[str", ""),
        ("list['str\\n']", ""),
    ],
)
def test_the_type_of_elements_is_read(text: str, elements: str) -> None:
    assert elements_of(text) == elements


@each("text", ["list[str]", "dict[str, float]", "list[dict[str, int | None]]", "dict", "list"])
def test_a_type_with_its_elements_is_written_as_it_was_read(text: str) -> None:
    kind = text.partition("[")[0]
    assert written(kind, elements_of(text)) == text
    annotation = python_type({"list": list, "dict": dict}[kind], elements_of(text))
    assert inspect.formatannotation(annotation) == text


@each(
    ("value", "elements", "problem"),
    [
        (["a", "b"], "str", ""),
        ([1, 2.5], "float", ""),
        ([], "int", ""),
        (["a", 1], "str", "element 2 is of type int, not str"),
        ([True], "int", "element 1 is of type bool, not int"),
        ({"a": 1.5, "b": None}, "float", "value 2 is of type NoneType, not float"),
        ({"a": 1.5, "b": None}, "float | None", ""),
        ([[1], ["x"]], "list[int]", "element 2 is of type list, not list[int]"),
        ([{"a": 1}], "dict[str, str]", "element 1 is of type dict, not dict[str, str]"),
        (["a", 1], "", ""),
    ],
)
def test_the_first_element_of_another_type_is_named_without_its_value(value: Any, elements: str, problem: str) -> None:
    assert misfit(value, elements) == problem


def test_elements_of_a_plan_stand_in_the_interface_that_code_and_tests_are_written_for() -> None:
    outputs = [{"name": "names", "type": "list[str]"}, {"name": "shares", "type": "Dict[str, number]"}]
    plan = merge(PlanAnswer.model_validate({**PLAN, "outputs": outputs}), (), ())
    assert signature(plan) == "def run() -> tuple[list[str], dict[str, float]]: ..."
    assert shown_signature("f", (), plan.outputs) == "f.run() -> (names: list[str], shares: dict[str, float])"


def test_what_the_plan_says_of_the_elements_of_a_declared_output_is_kept() -> None:
    declared = (OutputSpec(name="best", type="dict"),)
    answer = PlanAnswer.model_validate({**PLAN, "outputs": [{"name": "best", "type": "dict[str, str]"}]})
    assert merge(answer, (), declared).outputs[0].written_type == "dict[str, str]"
    other = PlanAnswer.model_validate({**PLAN, "outputs": [{"name": "best", "type": "list[str]"}]})
    assert merge(other, (), declared).outputs[0].written_type == "dict"


def test_a_person_declares_elements_in_a_cell_and_in_a_script() -> None:
    assert parse_output("names: list[str]").written_type == "list[str]"
    assert parse_input("tags: dict[str, float] = {'a': 1}").written_type == "dict[str, float]"
    declared = _outputs({"a": list[str], "b": "dict[str, int]"})
    assert [spec.written_type for spec in declared] == ["list[str]", "dict[str, int]"]
    assert _inputs({"a": dict[str, float]})[0].written_type == "dict[str, float]"
    with pytest.raises(InvalidRequest, match="element 1 is of type str, not int"):
        parse_input("tags: list[int] = ['a']")
    with pytest.raises(InvalidRequest, match="is not a type for -o"):
        parse_output("names: list[Foo]")


def test_arguments_refuse_elements_of_another_type() -> None:
    spec = InputSpec(name="tags", type="list", elements="int")
    assert checked_value(spec, (1, 2)) == [1, 2]
    with pytest.raises(InvalidRequest, match=r"tags must be a list\[int\]: element 2 is of type str"):
        checked_value(spec, [1, "a"])


def test_the_signature_of_a_function_says_what_it_takes_and_gives() -> None:
    spec = InputSpec(name="tags", type="list", elements="str")
    interface = Interface("x", (spec,), (OutputSpec(name="n", type="dict", elements="int"),))
    assert str(interface.signature()) == "(tags: list[str]) -> dict[str, int]"
    assert "n: dict[str, int]." in interface.documentation()


def test_a_file_of_a_stranger_cannot_smuggle_text_in_as_a_type() -> None:
    record = {"name": "x", "type": "list", "elements": "str]\nimport os  # ["}
    assert OutputSpec.model_validate(record).elements == ""


def test_a_request_without_elements_has_the_key_that_it_always_had() -> None:
    def key(elements: str = "") -> str:
        outputs = (OutputSpec(name="x", type="list", elements=elements),)
        return RequestKey.of(Request(name="f", prompt="p", outputs=outputs), ()).asked

    before = {"name": "x", "type": "list", "meaning": "", "columns": []}
    asked = {"prompt": "p", "outputs": [before]}
    assert key() == content_key(asked) != key("str")
