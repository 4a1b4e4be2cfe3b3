from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from autocoder_jupyter.display.inspector.document import example
from autocoder_jupyter.display.inspector.form import Argument, call_code, call_line
from autocoder_jupyter.types import File, InputSpec
from tests.cases import each
from tests.display.inspector.results import HOSTILE, MENDED

INPUTS = (
    InputSpec(name="sales", type="DataFrame"),
    InputSpec(name="returns", type="DataFrame"),
    InputSpec(name="min_orders", type="int", required=False, default=5),
    InputSpec(name="two words", type="str", required=False),
)

FRAME = Argument.of_variable("sales_2025")


@each(
    ("given", "code"),
    [
        ({}, "growth.run()"),
        ({"sales": FRAME, "min_orders": Argument.of_value(3)}, "growth.run(sales_2025, min_orders=3)"),
        ({"sales": FRAME, "returns": Argument.of_variable("r")}, "growth.run(sales_2025, r)"),
        ({"returns": FRAME}, "growth.run(returns=sales_2025)"),  # the first one is left out
        ({"min_orders": Argument.of_value(3)}, "growth.run(min_orders=3)"),
        ({"two words": Argument.of_value("it's")}, "growth.run(**{'two words': \"it's\"})"),
    ],
)
def test_the_line_says_what_was_chosen_and_no_more(given: Any, code: str) -> None:
    assert call_code("growth", INPUTS, given) == code


def test_a_line_to_insert_takes_the_variables_that_there_are() -> None:
    inputs = (*INPUTS, InputSpec(name="limit", type="float"))
    assert call_line("growth", inputs[:3], {"sales": 1, "returns": 2}) == "growth.run(sales, returns)"
    assert call_line("growth", inputs[:3], {"sales": 1}) == "growth.run()"  # on the sample
    assert call_line("growth", inputs, {"sales": 1, "returns": 2}) == "growth.run(sales, returns, limit=...)"


@pytest.mark.parametrize("name", ["f; evil()", "f\nevil()", HOSTILE])
def test_a_strangers_name_never_becomes_code(name: str) -> None:
    assert call_code(name, INPUTS, {}) == "result.run()"
    stranger = MENDED.model_copy(update={"name": name, "declared_inputs": (InputSpec(name=name, type="DataFrame"),)})
    assert example(stranger) == "monthly, best = result.run()"


def test_what_the_line_needs_is_imported() -> None:
    inputs = (InputSpec(name="day", type="date"), InputSpec(name="source", type="File"))
    given = {"day": Argument.of_value(dt.date(2025, 1, 31)), "source": Argument.of_value(File("a.csv"))}
    code = call_code("f", inputs, given)
    said: dict[str, Any] = {}
    exec(code.replace("f.run", "said.update"), {"said": said})
    assert said == {"day": dt.date(2025, 1, 31), "source": File("a.csv")}
