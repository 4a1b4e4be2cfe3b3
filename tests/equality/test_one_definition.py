"""Examples, changes by a refinement, second opinions and two runs say the same about each pair of values.

They differ only by what they ignore on purpose, which is a field of `Leniency`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.engine.acceptance import BoundExample, run_examples
from autocoder_jupyter.engine.difference_words import changes
from autocoder_jupyter.engine.evidence.comparison import BOTH_EMPTY, compared_outputs
from autocoder_jupyter.engine.sample_run import SampleRun, run_again
from autocoder_jupyter.equality import EXAMPLE, INDEPENDENT, STRICT, Leniency, compare
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.sandbox.protocol import CallOutcome, Program
from autocoder_jupyter.types import Dir, Figure, File, OutputSpec

PROGRAM = Program("", (), (OutputSpec(name="y", type="dict"),))


@dataclass
class ScriptedWorker:
    """A worker that returns one value, and the session that gives it out."""

    value: Any

    def call(self, program: Program, arguments: object, **options: object) -> CallOutcome:
        return CallOutcome({"y": self.value}, {"y": "another digest"}, (), "", "", 0.0)

    async def work(self, job: Callable[[Any], Any], **options: object) -> Any:
        return job(self)


def by_example(one: Any, other: Any) -> str:
    example = BoundExample("", {}, {"y": other})
    (outcome,) = run_examples(ScriptedWorker(one), PROGRAM, [example], Redaction(()))  # type: ignore[arg-type]
    return "equal" if outcome.passed else "different"


def by_change(one: Any, other: Any) -> str:
    return "different" if changes(compare(one, other), show_values=True) else "equal"


def by_second_opinion(one: Any, other: Any) -> str:
    found = compared_outputs({"y": one}, {"y": other}, [("y", "y")])
    if found.not_compared == [("y", BOTH_EMPTY)]:
        return "equal"
    return "different" if found.places else "equal" if found.outputs else "not compared"


async def by_two_runs(one: Any, other: Any) -> str:
    first = SampleRun((), {"y": one}, {"y": "digest"})
    run = await run_again(ScriptedWorker(other), PROGRAM, {}, first, Redaction(()), other_than=())  # type: ignore[arg-type]
    assert run is not None
    return "equal" if run.checks[0].passed else "different"


FRAME = pd.DataFrame({"month": ["a", "b"], "revenue": [1.0, 2.5], "orders": [3, 4]})
ORDERS = FRAME.set_index("month")
NESTED: Any = [[1], {"a": 2}]
BERLIN, TOKYO = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Tokyo")
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
DAY = pd.Timestamp("2024-01-01")
TWICE = pd.DataFrame([[1, 2.5], [2, 3.5]], columns=["a", "a"])

ALWAYS = [
    pytest.param(3, 3, id="int"),
    pytest.param(10**5000, 10**5000, id="a very long int"),
    pytest.param(0.1 + 0.2, 0.3, id="rounding"),
    pytest.param(0.0, 1e-13, id="a sum that cancels"),
    pytest.param(-0.0, 0.0, id="zeros"),
    pytest.param(math.inf, math.inf, id="inf"),
    pytest.param(math.nan, math.nan, id="NaN"),
    pytest.param(math.nan, None, id="NaN and None"),
    pytest.param(pd.NaT, pd.NA, id="NaT and NA"),
    pytest.param(np.float64(0.5), 0.5, id="a float of numpy"),
    pytest.param(np.bool_(True), True, id="a bool of numpy"),
    pytest.param(Decimal("0.1"), Decimal("0.10"), id="Decimal"),
    pytest.param(1 + 2j, 1 + 2j, id="complex"),
    pytest.param("a", "a", id="str"),
    pytest.param(b"a", b"a", id="bytes"),
    pytest.param(dt.date(2024, 1, 1), dt.date(2024, 1, 1), id="date"),
    pytest.param(dt.date(1, 1, 1), dt.date(1, 1, 1), id="the first date"),
    pytest.param(NOON, NOON.astimezone(TOKYO), id="one moment in two zones"),
    pytest.param(NOON, pd.Timestamp(NOON), id="datetime and Timestamp"),
    pytest.param(dt.timedelta(1), pd.Timedelta(days=1), id="timedelta"),
    pytest.param(dt.time(8), dt.time(8), id="time"),
    pytest.param({1, 2}, {2, 1}, id="set"),
    pytest.param([1, "a", None], [1, "a", math.nan], id="list"),
    pytest.param([], [], id="an empty list"),
    pytest.param({}, {}, id="an empty dict"),
    pytest.param({"a": [1.0, {"b": 0.1 + 0.2}]}, {"a": [1.0, {"b": 0.3}]}, id="nested"),
    pytest.param({"a": FRAME}, {"a": FRAME.copy()}, id="a frame in a dict"),
    pytest.param(np.array([1.0, math.nan]), np.array([1.0, math.nan]), id="array"),
    pytest.param(FRAME, FRAME.copy(), id="frame"),
    pytest.param(FRAME.head(0), FRAME.head(0), id="an empty frame"),
    pytest.param(FRAME, FRAME.set_axis([7, 9]), id="row numbers"),
    pytest.param(FRAME.set_index("month"), FRAME.set_index("month"), id="a named index"),
    pytest.param(FRAME[["month"]], FRAME[["month"]], id="a frame of keys only"),
    pytest.param(TWICE, TWICE.copy(), id="a column twice"),
    pytest.param(
        FRAME.assign(m=pd.Categorical(["x", None])), FRAME.assign(m=pd.Categorical(["x", None])), id="category"
    ),
    pytest.param(FRAME.assign(o=NESTED), FRAME.assign(o=NESTED[:]), id="lists in cells"),
    pytest.param(
        FRAME.assign(n=pd.array([1, None], "Int64")), FRAME.assign(n=pd.array([1, None], "Int64")), id="Int64"
    ),
    pytest.param(pd.Series([1, 2]), pd.Series([1, 2]), id="Series"),
]


@pytest.mark.parametrize(("one", "other"), ALWAYS)
async def test_what_is_equal_is_equal_for_all(one: Any, other: Any) -> None:
    for left, right in ((one, other), (other, one)):
        found = by_example(left, right), by_change(left, right), by_second_opinion(left, right)
        assert (*found, await by_two_runs(left, right)) == ("equal",) * 4


NEVER = [
    pytest.param(3, 4, id="int"),
    pytest.param(10**12, 10**12 + 1, id="identifiers"),
    pytest.param(10**5000, 10**5000 + 1, id="very long ints"),
    pytest.param(1.0, 1.000001, id="float"),
    pytest.param(math.inf, -math.inf, id="inf"),
    pytest.param(0, None, id="nothing and zero"),
    pytest.param(Decimal("1.5"), Decimal("1.75"), id="Decimal"),
    pytest.param("a", "A", id="str"),
    pytest.param("2024-01-01", "2024-01-02", id="dates as text"),
    pytest.param(dt.date(2024, 1, 1), dt.date(2024, 1, 2), id="date"),
    pytest.param(NOON, NOON.replace(tzinfo=BERLIN), id="zones"),
    pytest.param(DAY, DAY.tz_localize("UTC"), id="with and without a zone"),
    pytest.param(dt.timedelta(1), dt.timedelta(2), id="timedelta"),
    pytest.param({1}, {2}, id="set"),
    pytest.param({"a": 1}, {"a": 2}, id="dict"),
    pytest.param([1, 2], [1, 3], id="list"),
    pytest.param([1, 2], [1], id="the length of a list"),
    pytest.param([True], [1], id="truth in a list"),
    pytest.param([{"a": 1}], [{"a": 2}], id="nested"),
    pytest.param(np.array([1, 2]), np.array([1, 3]), id="array"),
    pytest.param(FRAME, FRAME.assign(revenue=[1.0, 9.0]), id="a cell"),
    pytest.param(FRAME, FRAME.assign(revenue=[1.0, np.nan]), id="a missing cell"),
    pytest.param(FRAME, FRAME.head(1), id="rows"),
    pytest.param(FRAME.assign(orders=[1, 10**12]), FRAME.assign(orders=[1, 10**12 + 1]), id="identifiers in a column"),
    pytest.param(ORDERS, ORDERS.set_axis(pd.Index(["a", "c"], name="month")), id="index"),
    pytest.param(TWICE, pd.DataFrame([[1, 9.5], [2, 3.5]], columns=["a", "a"]), id="a column twice"),
    pytest.param(FRAME.assign(o=NESTED), FRAME.assign(o=NESTED[::-1]), id="lists in cells"),
    pytest.param(pd.Series([1, 2]), pd.Series([1, 3]), id="Series"),
]


@pytest.mark.parametrize(("one", "other"), NEVER)
async def test_what_is_different_is_different_for_all(one: Any, other: Any) -> None:
    for left, right in ((one, other), (other, one)):
        found = by_example(left, right), by_change(left, right), by_second_opinion(left, right)
        assert (*found, await by_two_runs(left, right)) == ("different",) * 4


ON_PURPOSE = [
    pytest.param("types", 3, 3.0, id="an int for a float"),
    pytest.param("types", [1, {"a": 2}], (1, {"a": 2.0}), id="a tuple for a list"),
    pytest.param("types", 10**400, Decimal(10**400), id="a long int"),
    pytest.param("types", Decimal("0.1"), 0.1, id="Decimal and float"),
    pytest.param("types", dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), id="a day"),
    pytest.param("types", FRAME, FRAME.astype({"orders": "float64", "month": "category"}), id="dtypes"),
    pytest.param("types", FRAME, FRAME.astype({"orders": "Int64", "month": object}), id="other dtypes"),
    pytest.param("column_order", FRAME, FRAME[["orders", "revenue", "month"]], id="order of columns"),
    pytest.param("labels", pd.Series([1, 2], name="x"), pd.Series([1, 2], name="y"), id="the name of a Series"),
    pytest.param("labels", FRAME, FRAME.set_index("month"), id="an index as a column"),
    pytest.param("text_dates", DAY, "2024-01-01", id="text and a date"),
    pytest.param("text_dates", FRAME.assign(t="2024-01-01"), FRAME.assign(t=DAY), id="a column of dates"),
    pytest.param("rounding", 33.33, 33.3333333, id="a rounded number"),
    pytest.param("rounding", FRAME.assign(x=[0.33, 0.67]), FRAME.assign(x=[1 / 3, 2 / 3]), id="a rounded column"),
    pytest.param("names", FRAME, FRAME.rename(columns={"revenue": "total_revenue"}), id="names of columns"),
    pytest.param("names", {1: "a"}, {"1": "a"}, id="keys as text"),
    pytest.param("row_order", FRAME, FRAME.iloc[::-1], id="order of rows"),
]


@pytest.mark.parametrize(("field", "one", "other"), ON_PURPOSE)
async def test_each_use_ignores_what_its_leniency_names(field: str, one: Any, other: Any) -> None:
    def expected(leniency: Leniency) -> str:
        return "equal" if asdict(leniency)[field] else "different"

    assert by_example(one, other) == expected(EXAMPLE)
    assert by_change(one, other) == expected(STRICT)
    assert by_second_opinion(one, other) == expected(INDEPENDENT)
    assert await by_two_runs(one, other) == expected(STRICT)


UNLIKE = [
    pytest.param({"a": [1.0, 2.0], "b": 3.0}, pd.DataFrame({"k": ["a"], "v": [1.0]}), id="a dict beside a table"),
    pytest.param([[1.0], 2.0], pd.DataFrame({"v": [1.0, 2.0]}), id="a list beside a table"),
    pytest.param(3.5, "much", id="a number beside a text"),
    pytest.param(True, 1, id="a truth value beside a number"),
    pytest.param({"a": 1, "b": 2}, {"x": 1, "y": 5}, id="dicts with other keys"),
    pytest.param(
        pd.DataFrame({"k": ["a", "b"], "x": [1.0, 2.0], "y": [3.0, 4.0]}),
        pd.DataFrame({"k": ["a", "b"], "p": [9.0, 8.0], "q": [7.0, 6.0], "r": [1.0, 1.0]}),
        id="one more number under other names",
    ),
    pytest.param(
        pd.DataFrame({"k": ["a", "b"], "x": [1.0, 2.0]}),
        pd.DataFrame({"k": ["a", "b"], "z": ["u", "w"]}),
        id="only the key in common",
    ),
]


@pytest.mark.parametrize(("one", "other"), UNLIKE)
async def test_what_is_of_another_kind_is_different_and_of_another_author_not_compared(one: Any, other: Any) -> None:
    for left, right in ((one, other), (other, one)):
        assert by_second_opinion(left, right) == "not compared"
        assert by_example(left, right) == by_change(left, right) == await by_two_runs(left, right) == "different"


def _written(folder: Path, content: bytes) -> Path:
    folder.mkdir()
    (folder / "x").write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("content", "verdict"), [(b"a\nb", "equal"), (b"a\nc", "different"), (b"\xff\xfe\x00", "not compared")]
)
async def test_files_and_folders_are_compared_by_their_content(tmp_path: Path, content: bytes, verdict: str) -> None:
    one, other = _written(tmp_path / "one", b"a\nb"), _written(tmp_path / "other", content)
    strict = "equal" if verdict == "equal" else "different"
    assert by_change(Dir(one), Dir(other)) == by_change(File(one / "x"), File(other / "x")) == strict
    assert await by_two_runs(File(one / "x"), File(other / "x")) == strict
    assert by_second_opinion(one / "x", other / "x") == verdict  # in the sandbox, a file is a plain path


@pytest.mark.parametrize(("png", "verdict"), [(b"a", "equal"), (b"b", "not compared")])
async def test_pictures_of_two_authors_are_not_compared(png: bytes, verdict: str) -> None:
    one, other = Figure(b"a", 1, 1, spec={"x": math.nan}), Figure(png, 1, 1, spec={"x": math.nan})
    strict = "equal" if verdict == "equal" else "different"
    assert by_change(one, other) == await by_two_runs(one, other) == strict
    assert by_second_opinion(one, other) == verdict


def test_a_file_that_is_gone_is_not_compared(tmp_path: Path) -> None:
    assert compare(File(tmp_path / "a"), File(tmp_path / "b")).verdict == "not compared"


def test_what_is_not_known_is_not_compared_and_its_equality_not_called() -> None:
    class Hostile:
        def __eq__(self, other: object) -> bool:
            raise AssertionError("it was called")

        __hash__ = None  # type: ignore[assignment]

    for leniency in (STRICT, EXAMPLE, INDEPENDENT):
        found = compare(Hostile(), Hostile(), leniency)
        assert (
            found.verdict == "not compared"
            and found.not_compared[0].why == "values of the type Hostile cannot be compared"
        )
