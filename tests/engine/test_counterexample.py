"""The test that is made from a difference: it passes for the value that it asserts, and fails for another."""

from __future__ import annotations

import sys
import types
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.engine.evidence.added_tests import free_number
from autocoder_jupyter.engine.evidence.comparison import OpenPlace
from autocoder_jupyter.engine.evidence.derivation import PREFIX, Derivation, DerivedPlace, as_test
from autocoder_jupyter.engine.evidence.small_inputs import SmallInput
from autocoder_jupyter.engine.tests import read_suite
from autocoder_jupyter.types import CodePlan, ColumnSpec, OutputSpec
from tests.cases import each

FRAME = OutputSpec(name="out", type="DataFrame", columns=(ColumnSpec(name="v", dtype="float64"),))
SMALL = SmallInput({"x": pd.DataFrame({"a": [1]})}, "x = pd.DataFrame({'a': [1]})", is_synthetic=True)


def test_of(output: OutputSpec, where: str, ones: list[Any], others: list[Any]) -> str:
    plan = CodePlan(description="d", approach="a", outputs=(output,))
    place = OpenPlace(where=where, first="", second="", ones=ones, others=others)
    derivation = Derivation(derivation="sum", values=[DerivedPlace(place=where, values=others)])
    return as_test(1, SMALL, plan, [place], derivation)


test_of.__test__ = False  # type: ignore[attr-defined]


def passes(source: str, returned: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    solution = types.ModuleType("solution")
    solution.run = lambda **inputs: returned  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "solution", solution)
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    try:
        namespace["test_second_opinion_1"]()
    except AssertionError:
        return False
    return True


@each(
    ("ones", "others"),
    [
        ([1.0, 2.0], [None, 1.0]),
        ([None, 1.0], [2.0, 1.0]),
        ([1.0], [None]),
        ([1.0, 2.0], [1.5, 2.0]),
        ([0.1], [0.10001]),
    ],
)
def test_numbers_and_missing_ones(ones: list[Any], others: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    source = test_of(FRAME, "out.v", ones, others)
    right, wrong = (pd.DataFrame({"v": pd.Series(values, dtype="float64")}) for values in (others, ones))
    assert passes(source, right, monkeypatch) and not passes(source, wrong, monkeypatch)


@each(("kind", "one", "other"), [("float", 1.0, None), ("float", None, 2.0), ("str", "a", "b"), ("bool", True, False)])
def test_single_values(kind: Any, one: Any, other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = test_of(OutputSpec(name="out", type=kind), "out", [one], [other])
    nan = float("nan")
    right, wrong = (nan if value is None else value for value in (other, one))
    assert passes(source, right, monkeypatch) and not passes(source, wrong, monkeypatch)


def test_a_new_test_takes_a_name_that_is_free() -> None:
    suite = read_suite("def test_second_opinion_1(): pass\n\ndef test_second_opinion_3(): pass\n")
    assert free_number(suite, PREFIX) == 2 and free_number(read_suite("def test_a(): pass"), PREFIX) == 1
