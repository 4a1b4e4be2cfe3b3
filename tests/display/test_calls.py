from __future__ import annotations

import pytest

from autocoder_jupyter.display.calls import call_line, example
from autocoder_jupyter.types import InputSpec
from tests.cases import each
from tests.display.inspector.results import HOSTILE, MENDED

INPUTS = (
    InputSpec(name="sales", type="DataFrame"),
    InputSpec(name="returns", type="DataFrame"),
    InputSpec(name="min_orders", type="int", required=False, default=5),
    InputSpec(name="limit", type="float"),
    InputSpec(name="two words", type="str"),
)


@each(
    ("count", "variables", "line"),
    [
        (3, {"sales": "sales", "returns": "r_2025"}, "growth.run(sales, r_2025)"),
        (3, {"sales": "sales"}, "growth.run()"),  # on the sample
        (4, {"sales": "sales", "returns": "..."}, "growth.run(sales, ..., limit=...)"),
        (5, {}, "growth.run(limit=..., **{'two words': ...})"),
    ],
)
def test_a_line_to_insert_takes_the_variables_that_there_are(count: int, variables: dict[str, str], line: str) -> None:
    assert call_line("growth", INPUTS[:count], variables) == line


def test_a_table_after_a_value_is_named() -> None:
    inputs = (INPUTS[3], INPUTS[0])
    assert call_line("growth", inputs, {"sales": "sales"}) == "growth.run(limit=..., sales=sales)"


@pytest.mark.parametrize("name", ["f; evil()", "f\nevil()", HOSTILE])
def test_a_strangers_name_never_becomes_code(name: str) -> None:
    assert call_line(name, INPUTS[:1], {}) == "result.run()"
    stranger = MENDED.model_copy(update={"name": name, "declared_inputs": (InputSpec(name=name, type="DataFrame"),)})
    assert example(stranger) == "monthly, best = result.run()"
