"""What of a table cannot go into a sandbox is left out of it, with a word, unless somebody needs it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from autocoder_jupyter.calls.binding import bind
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.codec import encode
from autocoder_jupyter.data.crossing import that_crosses
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.errors import UnsupportedData
from autocoder_jupyter.run.events import Noticed
from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
from autocoder_jupyter.types import InputSpec
from tests.cases import each
from tests.runner import CODE, PLAN, TESTS, Runner, fenced

SCRIPT: dict[str, Any] = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}


def sales(**more: Any) -> pd.DataFrame:
    return pd.DataFrame({"price": [1.5, 2.0], "quantity": [2, 3], **more})


class Own:
    """A class of the user."""


def arrow_uuids() -> Any:
    ids = pa.array([uuid.uuid4().bytes for _ in range(2)], pa.uuid())
    return pd.arrays.ArrowExtensionArray(pa.chunked_array([ids]))


def with_attrs() -> pd.DataFrame:
    table = sales()
    table.attrs = {"source": "till", "connection": threading.Lock()}  # pandas cannot copy it
    return table


ODD: dict[str, Callable[[], pd.DataFrame]] = {
    "UUIDs of Arrow": lambda: sales(odd=arrow_uuids()),
    "memoryview": lambda: sales(odd=[memoryview(b"a"), memoryview(b"b")]),
    "path": lambda: sales(odd=[Path("a"), Path("b")]),
    "own class": lambda: sales(odd=[Own(), Own()]),
    "text and own class": lambda: sales(odd=["a", Own()]),
    "own class in lists": lambda: sales(odd=[[Own()], [Own()]]),
    "categories": lambda: sales(odd=pd.Categorical([Path("a"), Path("b")])),
    "name of a column": lambda: sales(odd=1).rename(columns={"odd": Path("odd")}),
}


@each("kind", list(ODD))
def test_an_odd_column_is_left_out_and_nothing_else(kind: str) -> None:
    table = ODD[kind]()
    made, words = that_crosses(table, lambda label: False)
    assert words.startswith("column ") and made.equals(sales()) and len(table.columns) == 3
    assert encode(made, "DataFrame").digest()
    kept, nothing = that_crosses(table, lambda label: True)
    assert kept is table and nothing == ""


def test_an_odd_attribute_is_left_out_and_nothing_else() -> None:
    for table in (with_attrs(), pd.Series([1, 2])):
        table.attrs = with_attrs().attrs
        made, words = that_crosses(table, lambda label: False)
        assert words == "attrs['connection']" and made.attrs == {"source": "till"} and len(table.attrs) == 2
        kept, nothing = that_crosses(table, lambda label: False, attrs_too=False)
        assert kept is table and nothing == ""


@each(
    "values",
    [["a", None], [1, "a"], [[1], [2]], [uuid.uuid4(), uuid.uuid4()], [b"a", b"b"], pd.Categorical(["a", "b"])],
)
def test_what_can_cross_stays_the_same_object(values: Any) -> None:
    table = sales(odd=values)
    made, words = that_crosses(table, lambda label: False)
    assert made is table and words == ""


@pytest.mark.local_sandbox
async def test_a_cell_and_its_calls_go_without_it_and_say_so(runner: Runner, tmp_path: Path) -> None:
    produced = await runner.begin(SCRIPT, samples={"sales": ODD["path"]()})
    assert produced.report.success, produced.error
    said = [event.text for event in produced.of(Noticed)]
    assert said == ["sales is used without column 'odd': the sandbox cannot take it, and nothing here needs it."]
    assert [label for label, _ in produced.report.sample_shapes["sales"]["columns"]] == ["'price'", "'quantity'"]
    function = Function.of(produced.report, {"sales": ODD["path"]()}, runner.root)
    for given in ([], [ODD["own class"]()], [with_attrs()]):
        notes: list[str] = []
        (bound,) = bind(function, given, {}, notes).values()
        assert bound.equals(sales()) and len(notes) == 1 and "sales is used without" in notes[0]


@pytest.mark.local_sandbox
async def test_what_the_request_names_is_not_left_out(runner: Runner) -> None:
    with pytest.raises(UnsupportedData, match="sales cannot be sent"):
        await runner.generate({}, samples={"sales": ODD["path"]()}, prompt="The names in odd, and the total of @sales.")


def test_what_the_code_takes_is_not_left_out() -> None:
    code = "def run(sales):\n    return len(sales['odd'])\n"
    shape = {"sales": shape_of(ODD["own class"]())}
    spec = InputSpec(name="sales", type="DataFrame")
    function = Function("count", code, (spec,), (), EnvironmentSpec((), (3, 11)), shapes=shape)
    (bound,) = bind(function, [ODD["own class"]()], {}).values()
    assert "odd" in bound
    (bound,) = bind(
        replace(function, code="def run(sales):\n    return len(sales)\n"), [ODD["own class"]()], {}
    ).values()
    assert "odd" not in bound


def test_a_period_that_the_code_takes_as_it_comes_is_not_left_out() -> None:
    code = "def run(sales):\n    return sales.drop(columns='price').astype(str)\n"
    shape = {"sales": shape_of(sales(**{"2019": ["a", 1], "2020": ["a", 1]}))}
    spec = InputSpec(name="sales", type="DataFrame")
    function = Function("texts", code, (spec,), (), EnvironmentSpec((), (3, 11)), shapes=shape)
    (bound,) = bind(function, [sales(**{"2020": ["a", 1], "2021": ["a", Own()]})], {}).values()
    assert "2021" in bound


def test_a_table_of_odd_columns_alone_stays_as_it_is() -> None:
    table = sales(odd=[Own(), Own()])[["odd"]]
    assert that_crosses(table, lambda label: False)[0] is table


def test_a_column_that_is_needed_is_not_encoded_to_find_out_whether_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []
    monkeypatch.setattr("autocoder_jupyter.data.crossing.encode", lambda value, kind: tried.append(value))
    table = sales(kind=pd.Categorical(["a", "b"]), text=pd.array(["a", "b"], dtype="string[pyarrow]"))
    made, words = that_crosses(table, lambda label: bool(label == "kind"))
    assert made is table and words == "" and tried == []
    that_crosses(table, lambda label: False)
    assert len(tried) == 1  # the categories, which nobody needs
