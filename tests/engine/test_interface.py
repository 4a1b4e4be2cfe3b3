from __future__ import annotations

import pytest

from autocoder_jupyter.engine.prompt import interface_problem, signature
from autocoder_jupyter.types import CodePlan, InputSpec, OutputSpec
from tests.cases import each

PLAN = CodePlan(
    description="",
    approach="",
    inputs=(
        InputSpec(name="sales", type="DataFrame"),
        InputSpec(name="min_orders", type="int", required=False, default=5),
        InputSpec(name="since", type="date", required=False, default="2024-01-01"),
    ),
    outputs=(OutputSpec(name="monthly", type="DataFrame"), OutputSpec(name="best", type="str")),
)


def test_the_signature_is_python_with_types_and_defaults() -> None:
    assert signature(PLAN) == (
        "def run(sales: pd.DataFrame, min_orders: int = 5, since: datetime.date = "
        "datetime.date.fromisoformat('2024-01-01')) -> tuple[pd.DataFrame, str]: ..."
    )


@pytest.mark.parametrize("default", ["P14DT6H56M7.5S", 1234567.5])
def test_a_duration_stands_in_the_signature_to_the_last_digit(default: float | str) -> None:
    span = InputSpec(name="span", type="timedelta", required=False, default=default)
    plan = PLAN.model_copy(update={"inputs": (span,)})
    assert "span: datetime.timedelta = datetime.timedelta(seconds=1234567.5)" in signature(plan)


def test_one_output_is_annotated_bare_and_files_are_paths() -> None:
    plan = CodePlan(description="", approach="", inputs=(), outputs=(OutputSpec(name="report", type="File"),))
    assert signature(plan) == "def run() -> pathlib.Path: ..."


@pytest.mark.parametrize(
    "code",
    [
        "def run(sales, min_orders=5, since=None):\n    return 1, 2",
        "def run(sales, *, min_orders=5, since=None, extra=1):\n    return 1, 2",
        "def run(**inputs):\n    return 1, 2",
    ],
    ids=["plain", "keyword-only", "kwargs"],
)
def test_a_module_with_the_planned_parameters_is_fine(code: str) -> None:
    assert interface_problem(code, PLAN) == ""


@each(
    ("code", "complaint"),
    [
        pytest.param("def run(sales, min_orders=5", "does not parse", id="syntax"),
        pytest.param("def main(): ...", "no function `run`", id="other function"),
        pytest.param("class A:\n    def run(self): ...", "no function `run`", id="method"),
        pytest.param("async def run(sales, min_orders, since): ...", "plain function", id="async"),
        pytest.param("def run(df, min_orders=5, since=None): ...", "lacks the parameter sales", id="renamed"),
        pytest.param("def run(sales, min_orders, since, other): ...", "demands the parameter other", id="extra"),
        pytest.param("def run(sales, min_orders, since, *, k): ...", "demands the parameter k", id="keyword extra"),
        pytest.param("def run(sales, /, min_orders, since): ...", "by keyword", id="positional only"),
    ],
)
def test_a_module_without_them_is_told_why(code: str, complaint: str) -> None:
    assert complaint in interface_problem(code, PLAN)
