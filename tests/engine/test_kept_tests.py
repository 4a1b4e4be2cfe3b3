"""Tests of an earlier version beside new ones: unchanged, callable, and without conflicts."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from autocoder_jupyter.engine.tests import joined, same_test, with_earlier_outputs, without_tests
from autocoder_jupyter.types import OutputSpec

SUITE = '''\
import pandas as pd
from solution import run


def frame():
    return pd.DataFrame({"a": [1]})


class TestEdges:
    def test_empty(self):
        """Nothing of nothing."""
        assert run(a=frame().head(0)) == 0


def test_total():
    """Total."""
    assert run(a=frame()) == 1  # wärme, run(…) in a comment stays
'''


def outputs(*names: str) -> list[OutputSpec]:
    return [OutputSpec(name=name, type="float") for name in names]


def test_a_class_that_loses_all_its_tests_goes_with_them_and_helpers_stay() -> None:
    left = without_tests(SUITE, ["TestEdges::test_empty"])
    assert "class TestEdges" not in left and "def frame" in left and "test_total" in left
    ast.parse(left)
    assert "test_empty" in without_tests(SUITE, ["test_total"])


def test_calls_of_kept_tests_get_the_outputs_that_there_were() -> None:
    adapted = with_earlier_outputs(SUITE, outputs("total"), outputs("mean", "total"))
    namespace: dict[str, Any] = {"run": lambda *args, **inputs: ("mean", "total")}
    exec(adapted.replace("from solution import run", ""), namespace)
    assert namespace["earlier_run"]() == "total"
    assert adapted.count("run(a=frame()") == adapted.count("earlier_run(a=frame()") == 2
    assert "run(…) in a comment stays" in adapted


def test_an_output_of_many_that_is_alone_now_and_one_that_is_gone() -> None:
    adapted = with_earlier_outputs(SUITE, outputs("mean", "total"), outputs("total"))
    namespace: dict[str, Any] = {"run": lambda *args, **inputs: 7.0}
    exec(adapted.replace("from solution import run", ""), namespace)
    assert namespace["earlier_run"]() == (None, 7.0)


def test_what_returns_the_same_outputs_is_left_as_it_is() -> None:
    assert with_earlier_outputs(SUITE, outputs("total"), outputs("total")) == SUITE


def test_a_second_refinement_goes_through_the_first_one() -> None:
    once = with_earlier_outputs(SUITE, outputs("total"), outputs("total", "mean"))
    twice = with_earlier_outputs(once, outputs("total", "mean"), outputs("total", "mean", "best"))
    namespace: dict[str, Any] = {"run": lambda *args, **inputs: ("total", "mean", "best")}
    exec(twice.replace("from solution import run", ""), namespace)
    assert namespace["earlier_run_2"]() == ("total", "mean") and namespace["earlier_run"]() == "total"


def test_new_tests_come_below_and_may_not_take_a_name_of_the_others() -> None:
    suite = joined(SUITE, "from __future__ import annotations\nfrom solution import run\ndef test_new():\n    run()\n")
    assert suite.ids == ("TestEdges::test_empty", "test_total", "test_new")
    compile(suite.source, "suite", "exec")
    with pytest.raises(ValueError, match=r"already: frame\."):
        joined(SUITE, "def frame():\n    return 1\n\ndef test_total():\n    assert frame()\n")
    with pytest.raises(ValueError, match="pd"):
        joined(SUITE, "import polars as pd\n\ndef test_new():\n    run()\n")


def test_a_new_test_with_the_name_of_a_kept_one_is_renamed() -> None:
    added = "@mark\ndef test_total():\n    run()\n\nclass TestEdges:\n    def test_a(self): 1\n"
    suite = joined(SUITE, added)
    assert suite.ids == ("TestEdges::test_empty", "test_total", "test_total_2", "TestEdges_2::test_a")
    assert joined(suite.source, added).ids[-2:] == ("test_total_3", "TestEdges_3::test_a")


def test_a_kept_test_is_the_same_under_the_name_of_the_earlier_call_and_not_with_another_number() -> None:
    adapted = with_earlier_outputs(SUITE, outputs("total"), outputs("total", "mean"))
    assert same_test(SUITE, adapted, "test_total") and same_test(SUITE, adapted, "TestEdges::test_empty")
    assert not same_test(SUITE, adapted.replace("== 1", "== 2"), "test_total")
    assert not same_test(SUITE, without_tests(adapted, ["test_total"]), "test_total")
