from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.magics.command import parse_cell
from autocoder_jupyter.magics.references import (
    collect_samples,
    data_names,
    find_references,
    hints,
    kind_of,
    read_schema,
)
from autocoder_jupyter.types import Dir, File
from tests.cases import each


@pytest.fixture
def namespace(here: Path) -> dict[str, Any]:
    for name in ("report.pdf", "a b.txt"):
        (here / name).write_text("")
    for name in ("data", "x"):
        (here / name).mkdir()
    return {
        "sales": pd.DataFrame({"a": [1, 2]}),
        "prices": pd.Series([1.0]),
        "report": File("report.pdf"),
        "folder": Dir("data"),
        "limit": 5,
        "names": ["a"],
        "notes": "amounts in EUR",
        "_hidden": pd.DataFrame(),
    }


def collect(line: str, prose: str, namespace: dict[str, Any]) -> dict[str, Any]:
    return collect_samples(parse_cell(f"g {line}", prose), namespace)


@each(
    ("prose", "names"),
    [
        pytest.param("@a joined to @b", ("a", "b"), id="two"),
        pytest.param("@b, @a and @b again", ("b", "a"), id="first mention, once"),
        pytest.param("me@example.org and first.last@example.org", (), id="mail addresses"),
        pytest.param("@@property", (), id="doubled sign"),
        pytest.param("(@a) '@b' @c.", ("a", "b", "c"), id="punctuation"),
        pytest.param("@a.column and @b's", ("a", "b"), id="what follows the name"),
        pytest.param("@ a, @1", (), id="no name"),
        pytest.param("@été", (), id="starts outside ASCII"),
    ],
)
def test_references_are_names_behind_an_at_sign(prose: str, names: tuple[str, ...]) -> None:
    assert find_references(prose) == names


def test_samples_come_in_order_of_mention_and_then_as_given(namespace: dict[str, Any]) -> None:
    samples = collect("-s x=sales.head(1) -s folder", "@prices, @report and @sales", namespace)
    assert list(samples) == ["prices", "report", "sales", "x", "folder"]
    assert len(samples["x"]) == 1


def test_a_frame_is_captured_as_it_is_now(namespace: dict[str, Any]) -> None:
    samples = collect("", "@sales", namespace)
    namespace["sales"].loc[0, "a"] = 99
    namespace["sales"]["b"] = 1
    assert samples["sales"].to_dict("list") == {"a": [1, 2]}


def test_a_sample_given_by_expression_is_what_its_name_refers_to(namespace: dict[str, Any]) -> None:
    samples = collect("-s sales=sales.tail(1)", "@sales", namespace)
    assert samples["sales"]["a"].tolist() == [2]


def test_file_and_dir_need_no_import(namespace: dict[str, Any]) -> None:
    samples = collect('-s f=File("a b.txt") -s d=Dir("x")', "Count lines.", namespace)
    assert samples == {"f": File(Path("a b.txt").resolve()), "d": Dir(Path("x").resolve())}


def test_data_of_flyte_is_fetched(namespace: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    from flyte import io

    frame = io.DataFrame.from_df(pd.DataFrame({"v": [1]}))
    namespace |= {"paper": io.File(path="report.pdf"), "inbox": io.Dir(path="data"), "frame": frame}
    assert data_names(namespace)[-3:] == ["paper", "inbox", "frame"]
    assert kind_of(io.File) is None
    samples = collect("-s more=paper", "@frame of @paper and @inbox", namespace)
    pd.testing.assert_frame_equal(samples.pop("frame"), pd.DataFrame({"v": [1]}))
    report = File(Path("report.pdf").resolve())
    assert samples == {"paper": report, "inbox": Dir(Path("data").resolve()), "more": report}
    assert hints(parse_cell("g", "Count the v of frame"), namespace) == (
        "frame is a table of the notebook, and the request does not pass it. Write @frame to pass it.",
    )
    namespace["gone"] = io.File(path="nosuch://b/x.csv")
    with pytest.raises(InvalidRequest, match="Flyte could not fetch the File"):
        collect("", "@gone", namespace)


def test_a_table_of_another_library_is_converted(namespace: dict[str, Any]) -> None:
    class Table:
        def to_pandas(self) -> pd.DataFrame:
            return pd.DataFrame({"x": [1]})

    samples = collect("", "@other", {**namespace, "other": Table()})
    assert isinstance(samples["other"], pd.DataFrame)


def test_a_declared_input_may_be_mentioned(namespace: dict[str, Any]) -> None:
    assert list(collect('-i "limit: int = 5" -i threshold:float', "@sales above @limit or @threshold", namespace)) == [
        "sales"
    ]


@pytest.mark.parametrize(
    ("line", "prose", "message"),
    [
        pytest.param("", "@sale by month", "Did you mean @sales?", id="unknown name"),
        pytest.param("", "@nothing_like_it", "Available: @sales, @prices", id="unknown name, far from all"),
        pytest.param("", "@limit", '-i "limit: int = 5"', id="a number"),
        pytest.param("", "@limit", "or write the value itself", id="a number, written"),
        pytest.param("", "@names", '-i "names: list"', id="a list"),
        pytest.param("", "@notes", "is a str", id="a text"),
        pytest.param("", "@array", "Make a Series of it: array = pd.Series(array).", id="an array"),
        pytest.param("", "@matrix", "Make a DataFrame of it: matrix = pd.DataFrame(matrix).", id="an array of two"),
        pytest.param("-s missing", "x", "there is no 'missing'", id="sample that is not there"),
        pytest.param("-s x=sales.nope", "x", "AttributeError", id="expression that fails"),
        pytest.param("-s x=limit+1", "x", "-s x is an int", id="expression that gives a number"),
        pytest.param("-i sales:Series", "@sales", "declared as Series, but the sample is a DataFrame", id="other type"),
        pytest.param("-o sales:DataFrame", "@sales", "both an input and an output", id="output that is mentioned"),
    ],
)
def test_what_cannot_be_referred_to_is_refused(line: str, prose: str, message: str, namespace: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        collect(line, prose, namespace | {"array": np.arange(3), "matrix": np.eye(2)})
    assert message in str(caught.value)


def test_hidden_names_and_other_values_are_not_offered(namespace: dict[str, Any]) -> None:
    assert data_names(namespace) == ["sales", "prices", "report", "folder"]


@pytest.mark.parametrize(
    ("given", "read"), [(None, None), ("text @notes", "text @notes"), ("@notes", "amounts in EUR")]
)
def test_a_schema_is_text_or_a_variable(given: str | None, read: str | None, namespace: dict[str, Any]) -> None:
    assert read_schema(given, namespace) == read


@pytest.mark.parametrize(
    ("given", "message"),
    [("@note", "Did you mean @notes?"), ("@limit", "is an int, neither a string nor a pandera schema")],
)
def test_a_schema_variable_must_be_text(given: str, message: str, namespace: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_schema(given, namespace)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("line", "prose", "words"),
    [
        pytest.param("", "Growth of sales by month", ["sales"], id="a frame"),
        pytest.param("", "sales, (prices) and sales again; report", ["sales", "prices", "report"], id="each once"),
        pytest.param("", "Growth of @sales; sales are weekly", [], id="handed over by an at sign elsewhere"),
        pytest.param("-s sales=prices", "sales", [], id="handed over by an option"),
        pytest.param("-i sales:DataFrame", "sales", [], id="declared as an input"),
        pytest.param("-o sales:float", "sales", [], id="declared as an output"),
        pytest.param("", "limit and names", [], id="no data"),
        pytest.param("", "_hidden", ["_hidden"], id="a hidden frame"),
        pytest.param("", "me@sales, sales@example.org, x.sales, a presales", [], id="parts of other words"),
        pytest.param("", "The mean of prices in @wide", [], id="a column of what is handed over"),
        pytest.param("", "Take a letter: q", [], id="a single letter"),
    ],
)
def test_data_that_is_named_without_an_at_sign_is_hinted_at(
    line: str, prose: str, words: list[str], namespace: dict[str, Any]
) -> None:
    namespace |= {"wide": pd.DataFrame({"prices": [1.0], 5: [1]}), "q": pd.DataFrame()}
    said = hints(parse_cell(f"g {line}", prose), namespace)
    assert [hint.split()[0] for hint in said] == words
    assert all(hint.endswith(f"Write @{word} to pass it.") for hint, word in zip(said, words, strict=True))


def test_a_subclass_of_dataframe_is_refused_by_its_name() -> None:
    class GeoDataFrame(pd.DataFrame):
        pass

    with pytest.raises(InvalidRequest, match=r"towns is a .*GeoDataFrame, but only a plain DataFrame"):
        collect_samples(parse_cell("g", "Count @towns."), {"towns": GeoDataFrame({"a": [1]})})
