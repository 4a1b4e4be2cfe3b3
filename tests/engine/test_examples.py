"""Examples that cannot be called are refused before a model is asked."""

from __future__ import annotations

import pandas as pd
import pytest

from autocoder_jupyter.engine.acceptance import bind, check_examples
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import Example
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.cases import each

ORDERS = pd.DataFrame({"price": [1.0]})
INPUTS = (
    InputSpec(name="orders", type="DataFrame"),
    InputSpec(name="rate", type="float"),
    InputSpec(name="least", type="int", required=False, default=3),
)
OUTPUTS = (OutputSpec(name="total", type="float"),)


@each(
    "given",
    [
        (("rate", 2.0),),
        (("orders", ORDERS), ("rate", 2.0)),
        (("", ORDERS), ("", 2.0)),
        (("", ORDERS), ("rate", 2.0), ("least", 1)),
    ],
)
def test_an_example_may_leave_out_what_has_a_sample_or_a_default(given: tuple[tuple[str, object], ...]) -> None:
    example = Example("@few -> 2.0", given, (("", 2.0),))
    check_examples([example], INPUTS, OUTPUTS, {"orders": ORDERS})
    assert "rate" in bind(example, INPUTS, OUTPUTS, {"orders": ORDERS}).arguments


@pytest.mark.parametrize(
    ("given", "samples", "lacking"),
    [
        ((("orders", ORDERS),), {"orders": ORDERS}, "rate"),
        ((("", ORDERS),), {}, "rate"),
        ((("least", 1),), {}, "orders, rate"),
    ],
)
def test_an_example_without_an_input_that_nothing_else_gives_is_refused_before_the_model_is_asked(
    given: tuple[tuple[str, object], ...], samples: dict[str, object], lacking: str
) -> None:
    example = Example("@few -> 2.0", given, (("", 2.0),))
    with pytest.raises(InvalidRequest, match=f"it has no value for {lacking}, and there is no sample of that name"):
        check_examples([example], INPUTS, OUTPUTS, samples)
